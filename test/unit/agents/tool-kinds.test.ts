import { expect, test } from "bun:test"
import { isShell, isTool, toolKind, toolsOf } from "../../../src/agents/tool-kinds.ts"

test("kinds of tools by name; none for servers' and unknown ones, nor for names that objects have", () => {
  expect(["Bash", "MultiEdit", "WebSearch", "Agent"].map(toolKind)).toEqual(["run", "edit", "fetch", "agent"])
  expect(["mcp__x__Bash", "bash", "", "constructor"].map(toolKind)).toEqual(Array(4).fill(undefined))
  expect(["Bash", "PowerShell", "Monitor", undefined].map(isShell)).toEqual([true, true, false, false])
})

test("a condition for one tool is an equation, which the views' index of commands needs", () => {
  expect(isTool("c.name", "run")).toBe("c.name = 'Bash'")
  expect(isTool("name", "write", "edit")).toBe("name IN ('Write', 'Edit', 'MultiEdit', 'NotebookEdit')")
  expect(toolsOf("run", "run-other")).toEqual(["Bash", "PowerShell"])
})
