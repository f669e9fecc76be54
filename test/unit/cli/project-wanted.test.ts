/** Which project `--project` means. */
import { expect, test } from "bun:test"
import { mkdirSync, realpathSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { Machine } from "../../support/machine.ts"

/** Prints which project is meant, and what of Node was loaded to tell. */
const program = (project: string): string => `
const loaded = []
const own = process.getBuiltinModule
process.getBuiltinModule = (name) => (loaded.push(name), own(name))
const { projectWanted } = await import(${JSON.stringify(join(import.meta.dir, "../../../src/cli/project-wanted.ts"))})
const project = projectWanted({ args: { project: ${JSON.stringify(project)} }, env: { cwd: process.cwd() } })
console.log(JSON.stringify({ project, loaded }))
`

/** `search --project <folder>` loaded node:path, and node:fs where the folder is there, which took an eighth of its time. */
test.if(process.platform === "linux").each(["there", "link", "gone", "/gone/too"])(
  "which project %s is, the C library tells",
  (name) => {
    using machine = new Machine()
    const cwd = realpathSync(machine.cwd)
    mkdirSync(join(cwd, "there"))
    symlinkSync("there", join(cwd, "link"))
    const { stdout, stderr, exitCode } = Bun.spawnSync([process.execPath, "-e", program(name)], { cwd })
    const project = name.startsWith("/") ? name : join(cwd, name === "link" ? "there" : name)
    expect({ stdout: JSON.parse(stdout.toString()), stderr: stderr.toString(), exitCode }).toEqual({
      stdout: { project, loaded: [] },
      stderr: "",
      exitCode: 0,
    })
  },
)
