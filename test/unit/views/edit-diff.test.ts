import { describe, expect, test } from "bun:test"
import { editDiff } from "../../../src/views/edit-diff.ts"

const shown = (tool: string, input: unknown): string[][] | undefined =>
  editDiff(tool, input)?.map((hunk) => hunk.map(({ mark, text }) => mark + text))

describe("what a call changed", () => {
  test("an edit: replaced lines between those that stay", () => {
    expect(
      shown("Edit", { file_path: "/p/a.ts", old_string: "one\ntwo\nthree", new_string: "one\n2\nthree" }),
    ).toEqual([[" one", "-two", "+2", " three"]])
  })

  test("several edits: a hunk each, in their order", () => {
    const edits = [
      { old_string: "a", new_string: "b" },
      { old_string: "c\n", new_string: "" },
    ]
    expect(shown("MultiEdit", { file_path: "/p/a.ts", edits })).toEqual([["-a", "+b"], ["-c"]])
  })

  test("changes far apart in one edit are hunks of their own", () => {
    const lines = Array.from({ length: 20 }, (_, n) => `line ${n}`)
    const before = lines.join("\n")
    const after = lines.map((line, n) => (n === 1 || n === 18 ? `${line}!` : line)).join("\n")
    const hunks = shown("Edit", { old_string: before, new_string: after })
    expect(hunks?.map((hunk) => hunk.filter((line) => line[0] !== " "))).toEqual([
      ["-line 1", "+line 1!"],
      ["-line 18", "+line 18!"],
    ])
  })

  test("a file that was written: its lines; a cell of a notebook: its new source", () => {
    expect(shown("Write", { file_path: "/p/a", content: "x\ny\n" })).toEqual([["+x", "+y"]])
    expect(shown("NotebookEdit", { notebook_path: "/p/a", new_source: "z" })).toEqual([["+z"]])
  })

  test("very long texts are not compared", () => {
    const long = (word: string): string => Array.from({ length: 3000 }, (_, n) => `${word} ${n}`).join("\n")
    const [hunk] = shown("Edit", { old_string: long("a"), new_string: long("b") })!
    expect([hunk!.length, hunk![0], hunk!.at(-1)]).toEqual([6000, "-a 0", "+b 2999"])
  })

  test("other tools, and inputs that tell nothing, have none", () => {
    expect([editDiff("Bash", { command: "ls" }), editDiff("Edit", {}), editDiff("Write", null)]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })
})
