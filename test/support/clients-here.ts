/** Programs named `claude` on a machine of tests: of a package, native, or one that says its version only when run. */
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Machine } from "./machine.ts"

const folderIn = (machine: Machine, name: string): string => {
  const folder = join(machine.root, name)
  mkdirSync(folder, { recursive: true })
  return folder
}

/** As npm installs it. Whoever calls `claude` by name gets this one. */
export function packagedClient(machine: Machine, version: string): string {
  const folder = folderIn(machine, "node_modules/@anthropic-ai/claude-code")
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "@anthropic-ai/claude-code", version }))
  const cli = join(folder, "cli.js")
  // It would fail if it were run.
  writeFileSync(cli, "#!/usr/bin/env node\nprocess.exit(1)\n")
  chmodSync(cli, 0o755)
  const path = join(folderIn(machine, "bin"), "claude")
  symlinkSync(cli, path)
  machine.env["PATH"] = `${join(machine.root, "bin")}:/usr/bin:/bin`
  return path
}

/** Where the installer for one user puts it. */
export function scriptClient(machine: Machine, version: string): string {
  const path = join(folderIn(machine, "home/.local/bin"), "claude")
  writeFileSync(path, `#!/bin/sh\necho '${version} (Claude Code)'\n`)
  chmodSync(path, 0o755)
  machine.env["PATH"] ??= "/usr/bin:/bin"
  return path
}
