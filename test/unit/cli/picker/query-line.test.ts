/** Editing the query. */
import { expect, test } from "bun:test"
import type { PickerAction } from "../../../../src/cli/picker/query-line.ts"
import { edited, lineWith, withTyped } from "../../../../src/cli/picker/query-line.ts"

/** The text with a bar where the cursor is. */
const after = (text: string, ...actions: readonly (PickerAction | `+${string}`)[]): string => {
  let line = lineWith(text)
  for (const action of actions)
    line = action.startsWith("+") ? withTyped(line, action.slice(1)) : edited(line, action as PickerAction)!
  return `${line.text.slice(0, line.cursor)}|${line.text.slice(line.cursor)}`
}

test.each<[string, readonly (PickerAction | `+${string}`)[], string]>([
  ["", ["+a", "+b"], "ab|"],
  ["ac", ["left", "+b"], "ab|c"],
  ["abc", ["start", "delete-forward", "end", "delete-back"], "b|"],
  ["one two  three", ["word-left", "word-left"], "one |two  three"],
  ["one two", ["start", "word-right"], "one| two"],
  ["one two ", ["delete-word"], "one |"],
  ["one two", ["left", "delete-all"], "|"],
  ["", ["left", "right", "delete-back", "delete-forward", "delete-word"], "|"],
  // A character is what the reader sees as one.
  ["a👨‍👩‍👧b", ["left", "left"], "a|👨‍👩‍👧b"],
  ["a👨‍👩‍👧", ["delete-back"], "a|"],
  ["e\u0301x", ["start", "right"], "e\u0301|x"],
  ["语言", ["delete-back"], "语|"],
])("%j %j", (text, actions, expected) => {
  expect(after(text, ...actions)).toBe(expected)
})

test("a query has an end", () => {
  expect(after("x".repeat(5000), `+${"y".repeat(10)}`).length).toBe(4001)
  expect(after("x".repeat(3999), "+🛡️").isWellFormed()).toBe(true)
})

test("another key's action is none of the line's", () => {
  expect(edited(lineWith("x"), "open")).toBeUndefined()
})
