/** Files that were changed last, where they are now. */
import { describe, expect, test } from "bun:test"
import { rmSync } from "node:fs"
import { join } from "node:path"
import { ArchivedLines } from "../../../src/restore/archived-line.ts"
import { gather, movesIn } from "../../../src/restore/gather.ts"
import { withLastChanges } from "../../../src/restore/restore.ts"
import { Archive } from "../../support/archive.ts"
import { frameProblems } from "../../support/frame.ts"
import { Inside, run } from "../../support/inside.ts"
import { contextOf, type Machine } from "../../support/machine.ts"
import { Transcript } from "../../support/transcript.ts"

const REFUSED =
  "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the " +
  "new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."

/** Spelled in parts, so that nothing takes this file for one with a secret. */
const SECRET = `gh${"p_"}${"7Kd2mQx9RtB4vN1zLs8c".repeat(2).slice(0, 36)}`

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
  const told = [...given.matchAll(/^- `\/w\/(\w+)\.ts`: written, 1 line \(/gm)].map(([, name]) => name)
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
  expect(given).toContain("made.ts`: edited (")
  expect(given).not.toContain("refused.ts`: edit")
  expect(await run(["blame", "made.ts", "--json"], machine)).toMatchObject({ code: 0, stderr: "" })
  expect(await run(["blame", "refused.ts", "--json"], machine)).toMatchObject({ code: 3 })
})

/** "edit, 16 times" told nothing of what had been done. */
describe("what was last done to each", () => {
  const told = async (machine: Machine, session: Transcript): Promise<string[]> => {
    await machine.hook("stop", session.flush())
    const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
    expect(frameProblems(given)).toEqual([])
    return given
      .split("## Files in flight\n")[1]!
      .split("\n## ")[0]!
      .split("\n")
      .map((line) => line.slice(2, -13))
  }
  const edit = (name: string, old_string: string, new_string: string) => ({
    tool: "Edit",
    input: { file_path: `/w/${name}`, old_string, new_string },
    output: "The file has been updated",
  })

  test("the first telling line of the last change, or how much was written", async () => {
    using machine = new Inside()
    const session = machine
      .session({ version: "1.0.0" })
      .turn("Change them", [
        edit("gone.ts", "open(door)\nshut(door)", "shut(door)"),
        edit("door.ts", "x", "first(change)"),
        { tool: "Write", input: { file_path: "/w/new.ts", content: "a\nb\n" }, output: "File created" },
        edit("door.ts", "const WIDTH = 3", `// Wider.\nconst WIDTH = ${"4".repeat(80)}`),
        edit("key.ts", "x", `const key = ${SECRET}`),
      ])
    expect(await told(machine, session)).toEqual([
      // The filler that stands in the vault.
      expect.stringMatching(/^`\/w\/key\.ts`: added "const key = (?!gh).+"$/),
      `\`/w/door.ts\`: added "const WIDTH = ${"4".repeat(45)}…"`,
      "`/w/new.ts`: written, 2 lines",
      '`/w/gone.ts`: removed "open(door)"',
    ])
  })

  test("shorter, so that all have room", async () => {
    using machine = new Inside()
    const names = ["a", "b", "c", "d", "e"].map((name) => `${name.repeat(30)}.ts`)
    const session = machine.session({ version: "1.0.0" }).turn(
      "Change them",
      names.map((name) => edit(name, "", `openTheDoor(${"9".repeat(60)})`)),
    )
    const lines = await told(machine, session)
    expect(lines).toHaveLength(5)
    for (const line of lines) expect(line).toMatch(/: added "openTheDoor\(9+…"$/)
  })

  test("not in a subagent's words", () => {
    using archive = new Archive()
    const session = archive.session("s1").turn("Let it be changed").flush()
    archive.follow(session)
    const path = join(session.path.replace(/\.jsonl$/, ""), "subagents", "agent-a1.jsonl")
    const agent = new Transcript({ ...session.options, path, agent: "a1" })
    archive.follow(agent.turn("Change it", [edit("door.ts", "", "wordsOfTheSubagent()")]).flush())
    const { files } = gather(archive.db, "s1")
    const told = withLastChanges(archive.db, files, new ArchivedLines(archive.dataHome)).map(
      ({ path, change }) => [path, change],
    )
    expect(told).toEqual([["/w/door.ts", undefined]])
  })

  test("nothing of it where the vault lost the line, or it is too long", async () => {
    using archive = new Archive()
    const session = archive
      .session("s1")
      .turn("Change them", [edit("long.ts", "", "x".repeat(70_000)), edit("door.ts", "", "open(door)")])
    const taken = archive.follow(session.flush())
    const { files } = gather(archive.db, "s1")
    const changes = () =>
      withLastChanges(archive.db, files, new ArchivedLines(archive.dataHome)).map(({ change }) => change)
    expect(changes()).toEqual([{ added: "open(door)" }, undefined])
    rmSync(archive.file(taken))
    expect(changes()).toEqual([undefined, undefined])
  })
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
    const files = lines.map((line) => /^- `([^`]+)`: /.exec(line)?.[1])
    expect(files.map((file) => file?.replace(`${cwd}/`, ""))).toEqual([
      "src/gate.ts",
      "again.ts",
      "sub/index.ts",
      "index.ts",
      "kept.ts",
    ])
  })
})
