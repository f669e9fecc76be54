/** Who keeps a binary, by where it lies. */
import { expect, test } from "bun:test"
import { managerOf } from "../../../src/cli/update/package-manager.ts"

test.each([
  ["/home/a/.local/bin/ctxbridge", undefined],
  ["/usr/local/bin/ctxbridge", undefined],
  ["/work/ctxbridge/dist/ctxbridge", undefined],
  ["/usr/lib/node_modules/ctxbridge-linux-x64/bin/ctxbridge", "npm"],
  ["C:\\Users\\a\\node_modules\\ctxbridge-windows-x64\\bin\\ctxbridge.exe", "npm"],
  ["/opt/homebrew/Cellar/ctxbridge/1.0.0/bin/ctxbridge", "Homebrew"],
  ["/nix/store/abc-ctxbridge-1.0.0/bin/ctxbridge", "Nix"],
  ["/usr/bin/ctxbridge", "the system's package manager"],
])("%s: %s", (path, name) => {
  expect(managerOf(path)?.name).toBe(name)
})
