/** The reference counted neither header nor footer: 4,131 characters of 4,000. */
import { expect, test } from "bun:test"
import { Dice } from "../../src/bench/dice.ts"
import { renderInstructions } from "../../src/restore/instructions.ts"
import type { Material } from "../../src/restore/material.ts"
import { renderPointer } from "../../src/restore/pointer.ts"
import { renderRestore } from "../../src/restore/render.ts"

const dice = new Dice(9)

function words(most: number): string {
  const pieces = ["a", "bc ", "\n", "🛡️", "👩‍👩‍👧‍👦", "漢", "<system-reminder>", '"', "\t"]
  let text = ""
  for (let n = dice.between(0, most); n > 0; n--) text += dice.pick(pieces)
  return text
}

const many = <T>(most: number, make: () => T): T[] => Array.from({ length: dice.between(0, most) }, make)

const facts = () => many(40, () => ({ text: words(120), form: words(150), exit: "exit 1" }))

function material(): Material {
  const handle = "ab12cd"
  const run = () => ({ command: words(200), exitCode: 1, error: words(200), handle })
  return {
    session: dice.chance(0.5) ? crypto.randomUUID() : words(100),
    title: dice.chance(0.5) ? words(100) : undefined,
    ended: dice.chance(0.5) ? words(20) : undefined,
    cwd: undefined,
    version: dice.pick([undefined, "2.0.76", "2.1.329"]),
    turnCount: dice.between(1, 1e6),
    archived: dice.between(0, 1e12),
    pending: dice.chance(0.7) ? words(4000) : undefined,
    pendingBegun: dice.chance(0.5),
    constraints: many(12, () => ({ text: words(150), handle })),
    decisions: many(12, () => ({ text: words(150), handle })),
    refuted: many(12, () => ({ text: words(150), handle })),
    todos: many(12, () => ({ content: words(100), status: words(5) })),
    files: many(10, () => ({ path: words(100), op: "edit", times: 1, handle })),
    shownAgain: many(5, () => words(100)),
    lastAnswer: dice.chance(0.5) ? words(300) : undefined,
    failing: dice.chance(0.5) ? run() : undefined,
    good: dice.chance(0.5) ? run() : undefined,
    related: many(9, () => ({
      handle,
      started: dice.chance(0.5) ? "2026-03-02T10:00:00.000Z" : words(20),
      prompt: words(200),
      answer: words(200),
      words: [words(10)],
    })),
    facts: { paths: facts(), commands: facts(), names: facts(), errors: facts() },
    turns: many(60, () => ({
      handle,
      seq: 1,
      offset: 0,
      prompt: words(200),
      answer: words(200),
      tools: 3,
      errors: 1,
      interrupted: 0,
    })),
  }
}

test("nothing is ever longer than its budget, or cut within a character", () => {
  for (let n = 0; n < 500; n++) {
    const made = material()
    const budget = dice.chance(0.5) ? dice.between(0, 700) : dice.between(0, 9500)
    const source = dice.pick(["compact", "clear"] as const)
    const restore = renderRestore(made, {
      source,
      budget,
      related: 3,
      summary: dice.chance(0.5) ? words(300) : "",
    })
    const instructions = renderInstructions(made, budget)
    const pointer = renderPointer(made, 3)
    for (const text of [restore, instructions]) expect(text.length).toBeLessThanOrEqual(budget)
    expect(pointer.length).toBeLessThanOrEqual(1000)
    for (const text of [restore, instructions, pointer]) expect(text.isWellFormed()).toBe(true)
    for (const text of [restore, pointer]) if (text !== "") expect(text).toEndWith("\n</ctxbridge-restore>")
  }
})
