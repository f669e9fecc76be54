/** Who keeps a binary, by where it lies. */
import { expect, test } from "bun:test"
import { isRemovable, managerOf } from "../../../src/cli/update/replace-running.ts"

test.each([
  ["/home/a/.local/bin/ctxbridge", undefined],
  ["/usr/local/bin/ctxbridge", undefined],
  ["/srv/ctxbridge/dist/ctxbridge", undefined],
  ["/usr/lib/node_modules/ctxbridge-linux-x64/bin/ctxbridge", "npm"],
  ["C:\\Users\\a\\node_modules\\ctxbridge-windows-x64\\bin\\ctxbridge.exe", "npm"],
  ["/opt/homebrew/Cellar/ctxbridge/1.0.0/bin/ctxbridge", "Homebrew"],
  ["/nix/store/abc-ctxbridge-1.0.0/bin/ctxbridge", "Nix"],
  ["/usr/bin/ctxbridge", "the system's package manager"],
])("%s: %s", (path, name) => {
  expect(managerOf(path)?.name).toBe(name)
})

test.each([
  ["/home/a/.local/bin/ctxbridge", true],
  ["/usr/local/bin/ctxbridge", true],
  ["/usr/bin/ctxbridge", false],
  ["/usr/lib/node_modules/ctxbridge-linux-x64/bin/ctxbridge", false],
  ["/srv/ctxbridge/dist/ctxbridge", false],
  ["/home/a/bin/ctxbridge-0.1.0-linux-x64", false],
  ["C:/Users/a/.local/bin/ctxbridge.exe", false],
])("%s is removed by --purge: %p", (path, is) => {
  expect(isRemovable(path)).toBe(is)
})
