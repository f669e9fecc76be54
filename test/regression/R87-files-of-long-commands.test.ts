/**
 * Files that a command names were taken from the one short line that the views hold of it: what stood behind its first 300
 * characters was missing, and the lines of a here-document counted as names of files. By that line a refused edit was
 * looked for, too, and not found where the path did not fit on it.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

const MANY = Array.from({ length: 40 }, (_, n) => `/src/loom/thread-${n}.ts`)
const SCRIPT = `cat > /src/loom/weave.sh <<'EOF'\nsort /srv/wool/never-named.txt\nEOF\nchmod +x /src/loom/weave.sh\nwc -l /src/loom/after.md`
const LONG = `/src/${"a-folder-with-a-long-name/".repeat(12)}shuttle.ts`
const BLANKS = "/src/two  blanks.ts"
const REFUSED = "The user doesn't want to proceed with this tool use."

const edit = (path: string, isError = false) => ({
  tool: "Edit",
  input: { file_path: path, old_string: "a", new_string: "b" },
  output: isError ? REFUSED : "ok",
  isError,
})

let machine: Machine

beforeAll(async () => {
  machine = new Machine()
  const session = machine.session()
  session.turn("Weave", [
    { tool: "Bash", input: { command: `wc -l ${MANY.join(" ")}` }, output: "" },
    { tool: "Bash", input: { command: SCRIPT }, output: "" },
  ])
  session.turn("Change the shuttle", [edit(LONG, true), edit(BLANKS, true)])
  session.turn("Change it after all", [edit(LONG), edit(BLANKS), edit(BLANKS, true)])
  await machine.hook("stop", session.flush())
})
afterAll(() => machine[Symbol.dispose]())

/** What was done with a file, by the number of the turn. */
async function blame(path: string): Promise<unknown> {
  const { code, stdout, stderr } = await run(["blame", path, "--json"], machine)
  expect(stderr).toBe("")
  if (code === 3) return []
  return JSON.parse(stdout).found.map(({ seq, ops }: { seq: number; ops: string[] }) => [seq, ...ops])
}

test("each file that a command names", async () => {
  for (const path of [MANY[0]!, MANY[39]!, "/src/loom/weave.sh", "/src/loom/after.md"])
    expect(await blame(path)).toEqual([[1, "command"]])
})

test("no file that only stands in the lines of a here-document", async () => {
  expect(await blame("/srv/wool/never-named.txt")).toEqual([])
})

test("an edit that was refused, however long the path is, and with its blanks", async () => {
  for (const path of [LONG, BLANKS]) expect(await blame(path)).toEqual([[3, "edit"]])
})
