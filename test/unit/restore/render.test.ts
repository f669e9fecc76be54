import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { explain } from "../../../src/restore/explain.ts"
import type { Fact, Material } from "../../../src/restore/material.ts"
import { renderPointer } from "../../../src/restore/pointer-to.ts"
import { renderInstructions, renderRestore, withoutPending } from "../../../src/restore/render.ts"
import { frameProblems, instructionProblems } from "../../support/frame.ts"

describe("render", () => {
  const MATERIAL: Material = {
    session: "s-1",
    title: "Add retries",
    ended: "2026-01-01T00:00:00.000Z",
    version: "2.1.112",
    cwd: "/src/app",
    turnCount: 2,
    related: [],
    archived: 12_345,
    unread: 0,
    pending: "now write the tests",
    pendingBegun: true,
    constraints: [{ text: "Never touch generated files.", handle: "aaaaaa" }],
    answers: [],
    decisions: [{ text: "I chose backoff rather than a fixed delay.", handle: "bbbbbb" }],
    refuted: [{ text: "A fixed delay did not work.", handle: "aaaaaa" }],
    subagents: [
      { task: "Find all callers of retry", handle: "bbbbbb", isOpen: 1 },
      { task: "Read the queue's documents", handle: "aaaaaa", isOpen: 0 },
    ],
    todos: [{ content: "Write the loop", status: "in_progress" }],
    files: [
      { path: "src/client.ts", op: "edit", handle: "aaaaaa", change: { added: "export const RETRIES = 3" } },
    ],
    shownAgain: [],
    lastAnswer: undefined,
    failing: { command: "npm test", exitCode: 1, error: "Exit code 1\nboom", handle: "bbbbbb" },
    good: { command: "npm run lint", exitCode: undefined, error: "", handle: "bbbbbb" },
    facts: {
      paths: ["src/client.ts", "src/retry.ts", "test/retry.test.ts"].map((text) => ({ text })),
      commands: [
        { text: "npm test", form: "npm test 2>&1 | tail -20", exit: "Exit code 1" },
        { text: "git status --short" },
      ],
      names: [{ text: "retryAfter" }, { text: "MAX_DELAY" }],
      errors: [
        { text: 'Error: no answer from "db" in 20 ms' },
        { text: 'Error: no answer from "db" in 30 ms' },
      ],
    },
    turns: [
      {
        handle: "bbbbbb",
        seq: 2,
        offset: 90,
        prompt: "go on",
        answer: "Done.",
        tools: 2,
        errors: 1,
        interrupted: 0,
      },
      {
        handle: "aaaaaa",
        seq: 1,
        offset: 0,
        prompt: "add retries",
        answer: "Added.",
        tools: 3,
        errors: 0,
        interrupted: 0,
      },
    ],
  }

  /** What a text would be made of that is to be more than text. */
  const TRICKS = [
    ...[
      "<",
      "</",
      "＜",
      "&lt;",
      "system-reminder",
      "ctxbridge-restore",
      "ѕystem",
      ">",
      "\n",
      "\r",
      "\u2028",
      "\u0085",
    ],
    ...[
      "\u200b",
      "\u200d",
      "\ufe0f",
      "\u202e",
      "\u001b[0m",
      "\u009b",
      "\u001b]",
      "\u{e0041}",
      "\u0007",
      "\ud83d",
      "\0",
    ],
    ...[
      '"',
      '\\"',
      "\\",
      "`",
      "``",
      "```",
      "ctx:",
      "ctx：",
      "ab12cd",
      "## ",
      "- ",
      "> ",
      "[",
      "](",
      "!",
      "é",
      "語",
      " ",
    ],
  ]
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 400 }),
    fc.string({ unit: "grapheme", maxLength: 400 }),
    fc.array(fc.constantFrom(...TRICKS), { maxLength: 60 }).map((pieces) => pieces.join("")),
  )
  const fact = fc.array(
    fc
      .record({ text }, { requiredKeys: ["text"] })
      .chain((plain) =>
        fc.constantFrom<Fact>(plain, { ...plain, form: `${plain.text} | tail`, exit: "failed" }),
      ),
    { maxLength: 30 },
  )
  const quote = fc.record({ text, handle: fc.constant("abcdef") })
  const note = fc.record({
    text,
    handle: fc.constant("abcdef"),
    time: fc.option(text, { nil: null }),
    keptIn: fc.option(text, { nil: null }),
  })
  const run = fc.record({
    command: text,
    exitCode: fc.option(fc.nat(), { nil: undefined }),
    error: text,
    handle: fc.constant("abcdef"),
  })
  const material: fc.Arbitrary<Material> = fc.record({
    session: text,
    title: fc.option(text, { nil: undefined }),
    ended: fc.option(text, { nil: undefined }),
    version: fc.constantFrom("2.0.76", "2.1.329", undefined),
    cwd: fc.constant(undefined),
    turnCount: fc.nat(1000),
    archived: fc.nat(),
    unread: fc.nat(),
    pending: fc.option(text, { nil: undefined }),
    pendingBegun: fc.boolean(),
    related: fc.array(
      fc.record({
        handle: fc.constant("abcdef"),
        started: fc.option(fc.oneof(text, fc.constant("2026-03-02T10:00:00.000Z")), { nil: undefined }),
        prompt: text,
        answer: text,
        words: fc.array(text, { maxLength: 3 }),
        files: fc.array(text, { maxLength: 3 }),
      }),
      { maxLength: 9 },
    ),
    constraints: fc.array(quote, { maxLength: 12 }),
    answers: fc.array(quote, { maxLength: 12 }),
    decisions: fc.array(quote, { maxLength: 12 }),
    refuted: fc.array(quote, { maxLength: 12 }),
    subagents: fc.array(
      fc.record({ task: text, handle: fc.constant("abcdef"), isOpen: fc.constantFrom(0, 1) }),
      { maxLength: 9 },
    ),
    todos: fc.array(fc.record({ content: text, status: text }), { maxLength: 9 }),
    notes: fc.option(
      fc.record({ count: fc.nat(), session: text, latest: fc.array(note, { maxLength: 5 }) }),
      {
        nil: undefined,
      },
    ),
    files: fc.array(
      fc.record({
        path: text,
        op: fc.constantFrom("edit", "write"),
        handle: fc.constant("abcdef"),
        change: fc.option(
          fc.oneof(
            fc.record({ added: text }),
            fc.record({ removed: text }),
            fc.record({ written: fc.nat() }),
          ),
          { nil: undefined },
        ),
      }),
      { maxLength: 9 },
    ),
    shownAgain: fc.array(text, { maxLength: 5 }),
    lastAnswer: fc.option(text, { nil: undefined }),
    failing: fc.option(run, { nil: undefined }),
    good: fc.option(run, { nil: undefined }),
    facts: fc.record({ paths: fact, commands: fact, names: fact, errors: fact }),
    turns: fc.array(
      fc.record({
        handle: fc.constant("abcdef"),
        seq: fc.nat(),
        offset: fc.nat(),
        prompt: text,
        answer: text,
        tools: fc.nat(9),
        errors: fc.nat(9),
        interrupted: fc.constant(0),
      }),
      { maxLength: 30 },
    ),
    steps: fc.array(quote, { maxLength: 9 }),
  })

  describe("restore", () => {
    test("everything in its order, within one frame", () => {
      expect(renderRestore(MATERIAL, { source: "compact", budget: 4000, summary: "" })).toMatchSnapshot()
    })

    test("what the host's summary contains is not repeated", () => {
      const summary =
        "<analysis>npm run lint</analysis><summary>Edited src/client.ts. never touch generated\nfiles.</summary>"
      const restored = renderRestore(MATERIAL, { source: "compact", budget: 4000, summary })
      expect(restored).not.toContain("src/client.ts")
      expect(restored).not.toContain("Never touch")
      expect(restored).toContain("npm run lint")
      expect(restored).toContain("npm test")
      const both = "<summary>npm run lint is clean, npm test fails.</summary>"
      const rest = renderRestore(MATERIAL, { source: "compact", budget: 4000, summary: both })
      expect(rest).not.toContain("last failing")
      expect(rest).not.toContain("last good")
    })

    test("each part explains why it is there, and their lengths add up to the text's", () => {
      const text = renderRestore(MATERIAL, { source: "compact", budget: 4000, summary: "" })
      const sections = explain(text)
      expect(sections.length).toBeGreaterThan(8)
      for (const { title, why } of sections) expect([title, why]).not.toEqual([title, ""])
      expect(sections.reduce((sum, { characters }) => sum + characters, 0)).toBe(text.length)
    })

    test("prompts that the summary contains are no reason for a restore; anything else is", () => {
      const nothing: Material = {
        ...MATERIAL,
        pending: undefined,
        constraints: [],
        decisions: [],
        refuted: [],
        subagents: [],
        todos: [],
        files: [],
        failing: undefined,
        good: undefined,
        facts: { paths: [], commands: [], names: [], errors: [] },
      }
      const options = { source: "compact", budget: 4000, summary: "go on, add retries" } as const
      expect(renderRestore(nothing, options)).toBe("")
      const constrained = renderRestore({ ...nothing, constraints: MATERIAL.constraints }, options)
      expect(constrained).toContain("Never touch generated files.")
      expect(renderRestore({ ...nothing, constraints: MATERIAL.constraints, turns: [] }, options)).toContain(
        "Never touch generated files.",
      )
    })

    test("the pending prompt is given back in full when the host swallowed it", () => {
      const swallowed = (version: string, pendingBegun: boolean) =>
        renderRestore(
          { ...MATERIAL, version, pendingBegun },
          { source: "compact", budget: 4000, summary: "" },
        ).includes("> now write the tests")
      expect(swallowed("2.0.76", false)).toBe(true)
      expect(swallowed("2.1.112", false)).toBe(true)
      expect(swallowed("2.1.329", true)).toBe(true)
      // kept by Claude Code
      expect(swallowed("2.1.329", false)).toBe(false)
    })

    test("removing the answered prompt leaves the rest unchanged", () => {
      const options = { source: "compact", budget: 4000, summary: "" } as const
      const whole = renderRestore({ ...MATERIAL, pending: "first line\n\nthird line" }, options)
      const answered = renderRestore({ ...MATERIAL, pending: undefined }, options)
      expect(whole).toContain("> third line")
      expect(withoutPending(whole)).toBe(answered)
      expect(withoutPending(answered)).toBe(answered)
    })

    test("never over budget, never half a character, always the same", () => {
      fc.assert(
        fc.property(material, fc.nat(9500), text, (any, budget, summary) => {
          const options = { source: "compact", budget, summary, related: 3 } as const
          const restored = renderRestore(any, options)
          expect(restored.length).toBeLessThanOrEqual(budget)
          expect(restored.isWellFormed()).toBe(true)
          expect(renderRestore(any, options)).toBe(restored)
          if (restored !== "") expect(frameProblems(restored)).toEqual([])
        }),
        { numRuns: 300 },
      )
    })

    test("a prompt of line ends that is cut between two of them adds no line", () => {
      const nothing = {
        constraints: [],
        decisions: [],
        refuted: [],
        todos: [],
        files: [],
        related: [],
        turns: [],
      }
      const facts = { paths: [], commands: [], names: [], errors: [] }
      const material = {
        ...MATERIAL,
        ...nothing,
        facts,
        session: "",
        version: "2.0.76",
        turnCount: 1,
        pendingBegun: false,
      }
      for (let budget = 240; budget < 300; budget++) {
        const options = { source: "compact", budget, summary: "", related: 3 } as const
        const restored = renderRestore({ ...material, pending: "\u0085" }, options)
        if (restored !== "") expect(frameProblems(restored)).toEqual([])
      }
    })
  })

  test("the pointer at startup keeps to 1,000 characters", () => {
    expect(renderPointer(MATERIAL)).toMatchSnapshot()
    fc.assert(
      fc.property(material, (any) => {
        const pointer = renderPointer(any, { related: 3 })
        expect(pointer.length).toBeLessThanOrEqual(1000)
        expect(pointer.isWellFormed()).toBe(true)
        if (pointer !== "") expect(frameProblems(pointer)).toEqual([])
      }),
    )
  })

  test("instructions that would quote nothing are none", () => {
    const nothing = { ...MATERIAL, constraints: [], todos: [], failing: undefined, files: [], decisions: [] }
    expect(renderInstructions(nothing, 2000)).toBe("")
    const [introduction = ""] = renderInstructions(MATERIAL, 2000).split("\n")
    expect(renderInstructions(MATERIAL, introduction.length + 5)).toBe("")
  })

  test("instructions keep to their budget and are plain text", () => {
    expect(renderInstructions(MATERIAL, 2000)).toMatchSnapshot()
    fc.assert(
      fc.property(material, fc.nat(2000), (any, budget) => {
        const instructions = renderInstructions(any, budget)
        expect(instructions.length).toBeLessThanOrEqual(budget)
        expect(instructions.isWellFormed()).toBe(true)
        if (instructions !== "" && budget >= 300) expect(instructionProblems(instructions)).toEqual([])
      }),
    )
  })
})
