/** What of a prompt was typed, as far as its looks tell: rules in pasted text are nobody's rules. */
import { describe, expect, test } from "bun:test"
import { withoutPlan } from "../../../src/agents/origin.ts"
import { constraintsIn } from "../../../src/record/noted-sentences.ts"

const TYPED = "Never touch the kiln."
/** Contains a rule in every line. */
const DOCUMENT = Array.from(
  { length: 60 },
  (_, n) => `The door number ${n} must never be left open at night.`,
)

describe("only what was typed has rules", () => {
  test.each([
    ["a comment", "// The kiln must not be opened.\nWhy does it say so?"],
    ["a block comment", "  /*\n   * Never open it.\n   */\nIs that right?"],
    ["a page's comment", "<!-- Never open it. -->\nIs that right?"],
    ["a comment after code", "open(door)  // never do this twice\nIs that right?"],
    ["a change", "+       // Always open it first\n-       You must not open it\nIs that right?"],
    ["code", 'throw new Error("you must not open it");\nWhat does it mean?'],
    ["indented text", "    You must always open it first\nWhat does it mean?"],
    ["a log", "2026-01-02 03:04:05 You must always open it first\nWhat does it mean?"],
    ["a level", "WARN: never open the kiln\nWhat does it mean?"],
    ["a package manager", "npm ERR! You must always open it first\nWhat does it mean?"],
    ["a frame", "│ You must always open it first │\nWhat does it mean?"],
    ["a terminal", "$ kiln open\n  9→You must always close it\nWhat does it mean?"],
    ["a value", '"hint": "never open the kiln",\nWhat does it mean?'],
    ["an output", "I got this error:\nYou must always open it first\n\nWhat does it mean?"],
    ["somebody's words", "The reviewer says:\n\nNever open the kiln.\nAlways close it.\n\nIs that right?"],
    ["a comment on a change", "Look at this review comment:\n- Never open the kiln.\n\nIs that right?"],
    [
      "feedback of several paragraphs",
      "I got this feedback:\n\nNever open the kiln.\n\nAlways close it.\n\nIs that right?",
    ],
    ["a document", `Read this\n\n${DOCUMENT.join("\n")}\n\nWhat does it mean?`],
  ])("%s", (_name, text) => {
    expect(constraintsIn(text)).toEqual([])
    // Typed before it, and after it.
    expect(constraintsIn(`${TYPED}\n\n${text}`)).toEqual([TYPED])
    expect(constraintsIn(`${text}\n\n${TYPED}`)).toEqual([TYPED])
  })

  test.each([
    ["/kiln:open keep each door working", ["keep each door working"]],
    ["My rules:\n- Never touch the kiln.", ["Never touch the kiln."]],
    ["Rules for the log output:\n- Never log the keys.", ["Never log the keys."]],
    ["if you can (it is late): never touch the kiln", ["if you can (it is late): never touch the kiln"]],
    ["Import nothing new;\nnever touch the kiln;", ["never touch the kiln;"]],
    ["- Never touch the kiln.\n    - Always close it.", ["Never touch the kiln.", "Always close it."]],
  ])("typed: %j", (text, rules) => {
    expect(constraintsIn(text)).toEqual(rules)
  })
})

test("a plan that the model wrote has no rules of the human", () => {
  expect(withoutPlan("Implement the following plan:\n\n# Doors\n\nNever open the kiln.")).toBe("")
  expect(withoutPlan("Implement the plan. Never open the kiln.")).toBe(
    "Implement the plan. Never open the kiln.",
  )
})
