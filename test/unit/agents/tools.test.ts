import { describe, expect, test } from "bun:test"
import { AGENTS } from "../../../src/agents/agents.ts"
import { fileChange, isShell, isTool, toolKind, toolsOf } from "../../../src/agents/tool-kinds.ts"
import { Archive } from "../../support/archive.ts"

/** What a call did to a file, in one line. */
describe("file change", () => {
  const edit = (old_string: string, new_string: string) => fileChange("Edit", { old_string, new_string })

  describe("the line that tells most of an edit", () => {
    test.each([
      ["const a = 1\nconst b = 2", "const a = 1\nconst b = 3", { added: "const b = 3" }],
      ["door()", "  // Twice, since it jams.\n  door()\n  open(door)", { added: "open(door)" }],
      ["", 'import { kiln } from "./kiln.ts"\n}\n', { added: 'import { kiln } from "./kiln.ts"' }],
      ["import (", 'import (\n\t"errors"', { added: '"errors"' }],
      ["open(door)\nclose(door)", "close(door)", { removed: "open(door)" }],
      ["<<<<<<< HEAD\nopen(door)\n=======\n>>>>>>> theirs", "open(door)", undefined],
      ["open(door)", "  open(door)", undefined],
      ["a", "b", undefined],
      ["", "}\nreturn;\n", undefined],
    ])("%j → %j", (before, after, change) => {
      expect(edit(before, after)).toEqual(change)
    })

    test("of several edits in one call, the last that tells anything", () => {
      const edits = [
        { old_string: "", new_string: "open(door)" },
        { old_string: "", new_string: "close(door)" },
        { old_string: "", new_string: "}" },
      ]
      expect(fileChange("MultiEdit", { edits })).toEqual({ added: "close(door)" })
      expect(fileChange("MultiEdit", { edits: [null, "x"] })).toBeUndefined()
    })

    test("a cell of a notebook", () => {
      expect(fileChange("NotebookEdit", { new_source: "kiln.fire()" })).toEqual({ added: "kiln.fire()" })
    })
  })

  test("lines that were written, without an empty last one", () => {
    const written = (content: unknown) => fileChange("Write", { content })
    expect(written("a\nb\n")).toEqual({ written: 2 })
    expect(written("a\n\nb")).toEqual({ written: 3 })
    expect(written("")).toBeUndefined()
    expect(written(3)).toBeUndefined()
  })

  test("nothing of an input that is none", () => {
    for (const input of [undefined, null, "text", [], {}]) expect(fileChange("Edit", input)).toBeUndefined()
  })
})

describe("tool kinds", () => {
  test("kinds of tools by name; none for servers' and unknown ones, nor for names that objects have", () => {
    expect(["Bash", "MultiEdit", "WebSearch", "Agent"].map(toolKind)).toEqual([
      "run",
      "edit",
      "fetch",
      "agent",
    ])
    expect(["mcp__x__Bash", "bASH", "", "constructor"].map(toolKind)).toEqual(Array(4).fill(undefined))
    expect(["Bash", "PowerShell", "Monitor", undefined].map(isShell)).toEqual([true, true, false, false])
  })

  test("a session's latest scripts are found by an index, whatever their tool is called", () => {
    using archive = new Archive()
    const plan = archive.db
      .query<{ detail: string }, []>(
        `EXPLAIN QUERY PLAN SELECT target FROM tool_calls c WHERE c.session = 's' AND c.turn <= 9
           AND ${isTool("c.name", "run")} AND c.is_error = 0 ORDER BY c.result DESC LIMIT 1`,
      )
      .all()
    expect(plan.map(({ detail }) => detail)).toEqual([
      "SEARCH c USING INDEX tool_calls_commands (session=? AND is_error=?)",
    ])
  })

  test("the condition for tools of a kind", () => {
    expect(isTool("name", "skill")).toMatch(/^name IN \('[\w', ]*'Skill'\)$/)
    expect(isTool("name", "write")).toMatch(/^name IN \('[\w', ]*'Write'\)$/)
    expect(toolsOf("plan")).toContain("ExitPlanMode")
  })

  test("what two agents call the same, both do", () => {
    const kinds = new Map<string, string>()
    for (const { tools } of AGENTS)
      for (const [name, { kind }] of Object.entries(tools)) {
        expect(`${name} ${kinds.get(name) ?? kind}`).toBe(`${name} ${kind}`)
        kinds.set(name, kind)
      }
  })
})
