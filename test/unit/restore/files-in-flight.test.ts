/** Files that were changed last, where they are now. */
import { describe, expect, test } from "bun:test"
import { movesIn } from "../../../src/restore/moved-files.ts"
import { Inside, run } from "../../support/inside.ts"
import { contextOf } from "../../support/machine.ts"

const REFUSED =
  "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the " +
  "new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."

/**
 * Of a turn that changes many files, those that come first in the alphabet were told as "written or edited last"; and
 * changes that were refused, or failed, were told as made.
 */
test("the files changed last are told, the newest first", async () => {
  using machine = new Inside()
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
  using machine = new Inside()
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

/** "Files in flight" named files that a command had moved or deleted since. */
describe("files that were moved or deleted", () => {
  const moves = (script: string) =>
    movesIn(script, "/w", () => true).map(({ from, to }) => `${from} → ${to ?? "?"}`)

  test.each([
    ["git mv a.ts b.ts", ["/w/a.ts → /w/b.ts"]],
    ["mv -f './my door.ts' src/", ["/w/my door.ts → /w/src/my door.ts"]],
    ["cd app && git mv a.ts ../b.ts && git status", ["/w/app/a.ts → /w/b.ts"]],
    ["cd /v/app && rm -rf out ../old.ts", ["/v/app/out → ?", "/v/old.ts → ?"]],
    ["mv a.ts b.ts src", ["/w/a.ts → /w/src/a.ts", "/w/b.ts → /w/src/b.ts"]],
    ["git mv docs/kiln docs/archive/2026-kiln", ["/w/docs/kiln → /w/docs/archive/2026-kiln"]],
    // It may be a folder, and then it stands within.
    ["mv kiln oven", ["/w/kiln → ?"]],
    ["git rm -q a.ts && git diff | head -3", ["/w/a.ts → ?"]],
    // Not plain, or nobody knows whether it did so.
    ["rm *.ts", []],
    ['mv "$A" b.ts', []],
    ["git rm --cached a.ts", []],
    ["mv -n a.ts b.ts", []],
    ["mv -t src a.ts", []],
    ["rm a.ts; ls", []],
    ["rm a.ts || true", []],
    ["rm a.ts 2>/dev/null", []],
    ["cd - && rm a.ts", []],
    ["npm rm kiln", []],
  ])("%s", (script, told) => expect(moves(script)).toEqual(told))

  test("a restore tells of each where it is now", async () => {
    using machine = new Inside()
    const { cwd } = machine
    // Five paths have to fit however long the folder for temporary files is called.
    machine.env["CTXBRIDGE_RESTORE_BUDGET"] = "9500"
    const session = machine.session()
    const edit = (name: string) => ({
      tool: "Edit",
      input: { file_path: `${cwd}/${name}`, old_string: "a", new_string: "b" },
      output: "ok",
    })
    const bash = (command: string, isError = false) => ({
      tool: "Bash",
      input: { command },
      output: isError ? "Exit code 1\nno" : "",
      isError,
    })
    session.turn("Change them", [
      edit("door.ts"),
      edit("shelf.ts"),
      edit("kept.ts"),
      // The shell may stand in the folder of the other.
      edit("index.ts"),
      edit("sub/index.ts"),
      bash("rm index.ts"),
      edit("sub/door.test.ts"),
      edit("door.test.ts"),
      bash(`cd ${cwd} && rm door.test.ts && cd sub && rm door.test.ts`),
      edit("again.ts"),
      edit("door.ts"),
      bash("git mv door.ts src/gate.ts && git status --short"),
      bash("rm shelf.ts again.ts && cat kept.ts"),
      // Nobody knows which of these has failed, nor where the one ends in the views.
      bash("rm kept.ts\ncat door.ts"),
      bash("rm sub/index.ts", true),
      edit("again.ts"),
      edit("src/gate.ts"),
    ])
    await machine.hook("stop", session.flush())
    const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
    const [, section = ""] = given.split("## Files in flight\n")
    const lines = section.split("\n## ")[0]!.split("\n")
    const files = lines.map((line) => /^- `([^`]+)`: edit, (\d)/.exec(line)?.slice(1).join(" "))
    expect(files.map((file) => file?.replace(`${cwd}/`, ""))).toEqual([
      "src/gate.ts 3",
      "again.ts 2",
      "sub/index.ts 1",
      "index.ts 1",
      "kept.ts 1",
    ])
  })
})
