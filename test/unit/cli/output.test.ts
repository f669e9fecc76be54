/** What output asks the terminal for. */
import { expect, test } from "bun:test"
import { join } from "node:path"

const PROGRAM = `
const asked = []
for (const name of ["stdout", "stderr"]) Object.defineProperty(process, name, { get: () => void asked.push(name) })
const { createOutput } = await import(${JSON.stringify(join(import.meta.dir, "../../../src/cli/output.ts"))})
const out = createOutput({ json: false, color: () => false })
out.print("done")
out.progress("working", 1, 2)
out.flush()
out.print(JSON.stringify(asked))
out.flush()
`

/** Every command that writes for people asked Node's stream for stderr whether it is a terminal: 3 ms, a fifth of a search. */
test("who is told nothing on stderr is not asked for", () => {
  const { stdout, stderr, exitCode } = Bun.spawnSync([process.execPath, "-e", PROGRAM])
  expect({ stdout: stdout.toString(), stderr: stderr.toString(), exitCode }).toEqual({
    stdout: "done\n[]\n",
    stderr: "",
    exitCode: 0,
  })
})
