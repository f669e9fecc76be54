/** A restore and the instructions for a compaction keep to their budget, and fill it with what matters most. */
import { expect, test } from "bun:test"
import { Dice } from "../../../src/cli/bench/seeded-random.ts"
import { gather } from "../../../src/restore/gather.ts"
import { renderInstructions } from "../../../src/restore/instructions.ts"
import type { Material } from "../../../src/restore/material.ts"
import { renderPointer } from "../../../src/restore/pointer-to.ts"
import { renderRestore } from "../../../src/restore/render.ts"
import { Archive } from "../../support/archive.ts"
import { Inside } from "../../support/inside.ts"

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
    answers: many(12, () => ({ text: words(150), handle })),
    decisions: many(12, () => ({ text: words(150), handle })),
    refuted: many(12, () => ({ text: words(150), handle })),
    todos: many(12, () => ({ content: words(100), status: words(5) })),
    files: many(10, () => ({ path: words(100), op: "edit" as const, handle, change: { added: words(90) } })),
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

/** Header and footer count, too. */
test("nothing is ever longer than its budget, or cut within a character", () => {
  for (let n = 0; n < 200; n++) {
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
    const pointer = renderPointer(made, { related: 3 })
    for (const text of [restore, instructions]) expect(text.length).toBeLessThanOrEqual(budget)
    expect(pointer.length).toBeLessThanOrEqual(1000)
    for (const text of [restore, instructions, pointer]) expect(text.isWellFormed()).toBe(true)
    for (const text of [restore, pointer]) if (text !== "") expect(text).toEndWith("\n</ctxbridge-restore>")
  }
})

/** What is too long for the room that is left does not end a list. */
test("a turn whose line does not fit does not keep older, shorter ones out", () => {
  using archive = new Archive()
  const transcript = archive.session("s1")
  transcript.turn("short and old", [], "Done.")
  transcript.turn("long ".repeat(40), [], "long ".repeat(40))
  transcript.turn("short and new", [], "Done.")
  archive.follow(transcript.flush())
  const options = { source: "compact", summary: "" } as const
  const text = renderRestore(gather(archive.db, "s1"), { ...options, budget: 360 })
  expect(text).toContain("short and new")
  expect(text).toContain("short and old")
  expect(text).not.toContain("long long")
})

test("a constraint that does not fit does not keep others out", () => {
  using archive = new Archive()
  const transcript = archive.session("s1")
  transcript
    .turn("Never use tabs.")
    .turn(`Never ${"ever ".repeat(50)}use spaces.`)
    .turn("Always sign commits.")
  archive.follow(transcript.flush())
  const options = { source: "compact", summary: "" } as const
  const text = renderRestore(gather(archive.db, "s1"), { ...options, budget: 900 })
  const section = text.slice(text.indexOf("## Standing"), text.indexOf("## Turns"))
  expect(section).toContain("Never use tabs.")
  expect(section).toContain("Always sign commits.")
  expect(section).not.toContain("use spaces.")
})

/** Not the oldest, nor after each restore the same ones. */
test("of 35 turns, the newest are given back, at every restore", () => {
  using archive = new Archive()
  const transcript = archive.session("s1")
  for (let n = 1; n <= 35; n++) transcript.turn(`what was said in turn ${n}`, [], "Done.")
  for (const last of [35, 36, 37]) {
    archive.follow(transcript.flush())
    const options = { source: "compact", budget: 1500, summary: "" } as const
    const text = renderRestore(gather(archive.db, "s1"), options)
    const told = [...text.matchAll(/turn (\d+)"/g)].map(([, n]) => Number(n))
    expect(told.length).toBeGreaterThan(5)
    expect(told).toEqual(Array.from({ length: told.length }, (_, n) => last - told.length + 1 + n))
    transcript.turn(`what was said in turn ${last + 1}`, [], "Done.")
  }
})

/** However long ago it was said. */
test("what was asked in the first of 400 turns is still asked", () => {
  using archive = new Archive()
  const transcript = archive.session("s1").turn("Never touch the generated files.")
  for (let n = 0; n < 400; n++)
    transcript.turn(`step ${n}`, [{ tool: "Bash", input: { command: "ls" }, output: "" }])
  archive.follow(transcript.flush())
  const text = renderInstructions(gather(archive.db, "s1"), 2000)
  expect(text).toContain("401 turns")
  expect(text).toContain("Never touch the generated files.")
})

/** Ten files with long paths left no room for a decision in what the compaction is told to keep. */
test("decisions have room before the files that were changed long ago", async () => {
  using machine = new Inside()
  const session = machine.session()
  const steps = Array.from({ length: 10 }, (_, n) => ({
    tool: "Write",
    input: { file_path: `/home/someone/${"a-folder-with-a-long-name/".repeat(5)}${n}.ts`, content: "" },
    output: "created",
  }))
  const decision = "I chose a slow kiln rather than a hot one because the glaze cracks otherwise."
  await machine.hook("stop", session.turn("Write them", steps, decision).flush())
  const { stdout } = await machine.hook("pre-compact", session, { trigger: "auto" })
  expect(stdout).toContain(decision)
  const files = [...stdout.matchAll(/^- file in flight: .*\/(\d)\.ts/gm)].map(([, n]) => Number(n))
  expect(files.slice(0, 5)).toEqual([9, 8, 7, 6, 5])
  expect(files.length).toBeGreaterThan(5)
})
