/**
 * Of a turn that changes many files, those that come first in the alphabet were told as "written or edited last"; and
 * changes that were refused, or failed, were told as made.
 */
import { expect, test } from "bun:test"
import { run } from "../support/binary.ts"
import { contextOf, Machine } from "../support/machine.ts"

const REFUSED =
  "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the " +
  "new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."

test("the files changed last are told, the newest first", async () => {
  using machine = new Machine()
  const names = ["zebra", "yak", "ant", "bee", "cat", "dog", "eel"]
  const session = machine.session({ version: "1.0.0" })
  session.turn(
    "Write them all",
    names.toReversed().map((name) => ({
      tool: "Write",
      input: { file_path: `/w/${name}.ts`, content: "export {}" },
      output: "File created successfully",
    })),
  )
  await machine.hook("stop", session.flush())
  const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
  const told = [...given.matchAll(/^- `\/w\/(\w+)\.ts`: write, 1 time/gm)].map(([, name]) => name)
  expect(told).toEqual(names.slice(0, 5))
})

test("what was not changed is neither in flight nor blamed", async () => {
  using machine = new Machine()
  const edit = (path: string, output: string, isError: boolean) => ({
    tool: "Edit",
    input: { file_path: path, old_string: "a", new_string: "b" },
    output,
    isError,
  })
  const session = machine.session()
  session.turn("Change both", [
    edit("/w/made.ts", "The file has been updated", false),
    edit(
      "/w/made.ts",
      "<tool_use_error>String to replace not found in file.\nString: a</tool_use_error>",
      true,
    ),
    edit("/w/refused.ts", REFUSED, true),
  ])
  await machine.hook("stop", session.flush())
  const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
  expect(given).toContain("## Files in flight\n")
  expect(given).toContain("made.ts`: edit, 1 time (")
  expect(given).not.toContain("refused.ts`: edit")
  expect(await run(["blame", "made.ts", "--json"], machine)).toMatchObject({ code: 0, stderr: "" })
  expect(await run(["blame", "refused.ts", "--json"], machine)).toMatchObject({ code: 3 })
})
