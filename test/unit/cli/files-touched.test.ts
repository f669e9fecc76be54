/** Which files a turn has touched, as `files` and `blame` tell. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { Inside, run } from "../../support/inside.ts"
import type { Machine } from "../../support/machine.ts"

/** A file that a command names from the session's folder, and a tool in full, was told as two: twice in each turn. */
test("blame and files tell a file once, whichever way it was named", async () => {
  using machine = new Inside()
  const whole = `${machine.cwd}/src/kiln.ts`
  const session = machine.session()
  session.turn("Make the kiln hotter", [
    { tool: "Edit", input: { file_path: whole, old_string: "1", new_string: "2" }, output: "updated" },
    { tool: "Bash", input: { command: "npx prettier ./src/kiln.ts && git add src/kiln.ts" }, output: "" },
    { tool: "Bash", input: { command: "wc -l src/glaze.ts" }, output: "9 src/glaze.ts" },
  ])
  expect(await run(["import", session.flush().path], machine)).toMatchObject({ code: 0, stderr: "" })
  const found = async (...args: readonly string[]): Promise<unknown> => {
    const { code, stdout, stderr } = await run([...args, "--json"], machine)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return JSON.parse(stdout).found
  }
  expect(await found("blame", "kiln.ts")).toMatchObject([{ path: whole, ops: ["command", "edit"] }])
  // Named in one way only, as it was named.
  expect(await found("blame", "glaze.ts")).toMatchObject([{ path: "src/glaze.ts", ops: ["command"] }])
  const files = await found("files", "kiln hotter")
  expect(files).toMatchObject([
    { path: whole, ops: ["command", "edit"], turns: 1 },
    { path: "src/glaze.ts", ops: ["command"] },
  ])
  expect(files).toHaveLength(2)
})

/**
 * Files that a command names were taken from the one short line that the views hold of it: what stood behind its first 300
 * characters was missing, and the lines of a here-document counted as names of files. By that line a refused edit was
 * looked for, too, and not found where the path did not fit on it.
 */
describe("files that a long command names", () => {
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
    machine = new Inside()
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
})
