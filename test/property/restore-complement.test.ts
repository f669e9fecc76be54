/**
 * What is given back is in no part of the new context already: not in the summary, nor in what Claude Code adds to it.
 */
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { lastTwo } from "../../src/restore/complement.ts"
import { explain } from "../../src/restore/explain.ts"
import type { Material } from "../../src/restore/material.ts"
import { renderRestore } from "../../src/restore/render.ts"

/** Words that are in no other: whether a text holds one is plain. */
const word = (kind: string, n: number): string => `${kind}${String.fromCharCode(65 + n)}x`
const upTo = (most: number) => fc.uniqueArray(fc.nat(most - 1), { maxLength: most })
const texts = (kind: string, form: (name: string) => string) =>
  upTo(12).map((numbers) => numbers.map((n) => form(word(kind, n))))
const facts = (kind: string, form: (name: string) => string) =>
  texts(kind, form).map((all) => all.map((text, age) => ({ text, times: 2, age })))
const quotes = (kind: string) =>
  texts(kind, (name) => `Say ${name} to them.`).map((all) => all.map((text) => ({ text, handle: "abcdef" })))

const material: fc.Arbitrary<Material> = fc.record({
  session: fc.constant("s1"),
  title: fc.constant(undefined),
  ended: fc.constant(undefined),
  version: fc.constantFrom("2.0.76", "2.1.112", "2.1.329"),
  cwd: fc.constant("/app"),
  turnCount: fc.constant(3),
  archived: fc.constant(1000),
  unread: fc.constant(0),
  pending: fc.constant(undefined),
  pendingBegun: fc.constant(false),
  constraints: quotes("rule"),
  answers: quotes("reply"),
  decisions: quotes("choice"),
  refuted: quotes("vain"),
  subagents: texts("agent", (name) => `Look for ${name}`).map((all) =>
    all.map((task) => ({ task, handle: "abcdef", isOpen: 0 as const })),
  ),
  todos: texts("todo", (name) => `Do ${name}`).map((all) =>
    all.map((content) => ({ content, status: "open" })),
  ),
  files: texts("file", (name) => `/app/${name}/a.ts`).map((all) =>
    all.map((path) => ({ path, op: "edit" as const, handle: "abcdef" })),
  ),
  shownAgain: texts("file", (name) => `/app/${name}/a.ts`),
  lastAnswer: fc.option(
    texts("name", (name) => name).map((all) => all.join(" ")),
    { nil: undefined },
  ),
  failing: fc.constant(undefined),
  good: fc.constant(undefined),
  facts: fc.record({
    paths: facts("file", (name) => `${name}/a.ts`),
    commands: facts("run", (name) => `make ${name} now`),
    names: facts("name", (name) => name),
    errors: facts("fault", (name) => `error: no ${name} found`),
  }),
  related: fc.constant([]),
  turns: upTo(8).map((numbers) =>
    numbers.map((n) => ({
      handle: "abcdef",
      seq: n,
      offset: n,
      prompt: `Please do ${word("ask", n)}.`,
      answer: "Done.",
      tools: 1,
      errors: 0,
      interrupted: 0,
    })),
  ),
})

const all = ({
  constraints,
  answers,
  decisions,
  refuted,
  subagents,
  todos,
  facts: lists,
}: Material): string[] => [
  ...[...constraints, ...answers, ...decisions, ...refuted].map(({ text }) => text),
  ...todos.map(({ content }) => content),
  ...subagents.map(({ task }) => task),
  ...[...lists.paths, ...lists.commands, ...lists.names, ...lists.errors].map(({ text }) => text),
]

/** A text that holds some of what there is over lines and, but for names of code, in other letters. */
const holding = (any: Material): fc.Arbitrary<string> => {
  const names = any.facts.names.map(({ text }) => text)
  const written = (text: string): string => (names.includes(text) ? text : text.toUpperCase())
  return fc
    .subarray(all(any))
    .map((some) => `<summary>${some.map(written).join(";\n").replaceAll(" ", "  \n")}</summary>`)
}

const givenIn = (restored: string): string =>
  explain(restored)
    .filter(({ title }) => title !== "" && title !== "Turns")
    .flatMap(({ lines }) => lines)
    .join("\n")

const folded = (text: string): string => text.toLowerCase().replace(/\s+/g, " ")

describe("a restore", () => {
  const cases = material.chain((any) =>
    fc.record({ any: fc.constant(any), summary: holding(any), standing: holding(any) }),
  )

  test("repeats nothing that stands in the new context, and gives all the rest when there is room", () => {
    fc.assert(
      fc.property(cases, ({ any, summary, standing }) => {
        const restored = renderRestore(any, { source: "compact", budget: 9500, summary, standing })
        const given = givenIn(restored)
        const isKept = any.version === "2.1.329"
        const context = folded(`${summary} ${standing} ${isKept ? (any.lastAnswer ?? "") : ""}`)
        const isShown = (text: string): boolean => any.shownAgain.includes(`/app/${text}`)
        const isHeld = (text: string): boolean => context.includes(folded(text))
        const listed = any.files.slice(0, 5).map(({ path }) => lastTwo(path))
        for (const text of all(any)) {
          const wanted = !isHeld(text) && (!isShown(text) || listed.includes(text))
          expect({ text, given: given.includes(text) }).toEqual({ text, given: wanted })
        }
      }),
      { numRuns: 200 },
    )
  })

  test("is empty when all of it stands there", () => {
    fc.assert(
      fc.property(material, (any) => {
        const prompts = any.turns.map(({ prompt }) => prompt)
        const files = any.files.map(({ path }) => path)
        const summary = [...all(any), ...prompts, ...files].join("\n")
        expect(renderRestore(any, { source: "compact", budget: 4000, summary })).toBe("")
      }),
      { numRuns: 100 },
    )
  })
})
