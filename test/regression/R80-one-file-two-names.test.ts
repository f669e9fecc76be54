/** A file that a command names from the session's folder, and a tool in full, was told as two: twice in each turn. */
import { expect, test } from "bun:test"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

test("blame and files tell a file once, whichever way it was named", async () => {
  using machine = new Machine()
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
