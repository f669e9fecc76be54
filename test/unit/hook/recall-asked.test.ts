/**
 * Which first prompts after a compaction plainly ask for something earlier, in everyday words, and what they are given.
 * The list is of our own making: half of it must fetch nothing.
 */
import { describe, expect, test } from "bun:test"
import { asksForEarlier } from "../../../src/hook/asks-for-earlier.ts"
import { frameProblems } from "../../support/frame.ts"
import { Inside } from "../../support/inside.ts"
import { contextOf, type Machine } from "../../support/machine.ts"
import type { Transcript } from "../../support/transcript.ts"

const PARSER = "I chose a recursive parser rather than a table, because its errors name the line."
const STORAGE = "We settled on plain files for the storage."
const CACHE = "I rejected the cache because it went stale between two runs."
const TESTS = "./run-all --tests --twice"
const BUILD = "error: cannot link the build: symbol twice is defined twice"

/** A long session in everyday words, compacted: what was decided at its beginning stands in no summary. */
async function compacted(machine: Machine, summary = "Labels were aligned."): Promise<Transcript> {
  const session = machine.session()
  const bash = (command: string, output: string, isError = false) => ({
    tool: "Bash",
    input: { command },
    output,
    isError,
  })
  session.turn("Write the parser", [], PARSER)
  session.turn("Where does the storage go", [], STORAGE)
  session.turn("Does the cache help", [], CACHE)
  session.turn("Run everything", [bash(TESTS, "ok")], "All good.")
  session.turn("Make the build", [bash("make build", `Exit code 2\n${BUILD}`, true)], "It stops at a symbol.")
  session.turn("Once more", [bash("make build", "linked")], "Now it links.")
  for (let n = 0; n < 60; n++) {
    const said = `Page ${n} is done, with the parser, the storage, the cache, the tests and the build as they were.`
    session.turn(`Align the labels of page ${n} for the parser`, [bash(`npm run align -- ${n}`, "ok")], said)
  }
  await machine.hook("stop", session.flush())
  await machine.hook("pre-compact", session, { trigger: "manual" })
  const options = { env: { CTXBRIDGE_RESTORE_BUDGET: "300" } }
  await machine.hook("session-start", session, { source: "compact" }, options)
  session.boundary("manual").summary(summary).flush()
  return session
}

async function prompted(machine: Machine, session: Transcript, prompt: string): Promise<string | undefined> {
  const ran = await machine.hook("user-prompt-submit", session, { prompt })
  expect(ran).toMatchObject({ code: 0, stderr: "" })
  const text = contextOf(ran)
  if (text === undefined) expect(ran.stdout).toBe("")
  else {
    expect(frameProblems(text)).toEqual([])
    expect(text.length).toBeLessThanOrEqual(1000)
  }
  return text
}

test("no core for the hook: what the first prompt asks for is given when the next one asks again", async () => {
  using machine = new Inside()
  const session = await compacted(machine)
  const asked = "what did we decide about the parser?"
  machine.isStarved = true
  expect(await prompted(machine, session, asked)).toBeUndefined()
  machine.isStarved = false
  session.turn(asked, [], "I do not know.").flush()
  expect(await machine.hook("stop", session)).toMatchObject({ code: 0, stdout: "", stderr: "" })
  expect(await prompted(machine, session, asked)).toContain(PARSER)
  session.turn(asked, [], "A recursive one.").flush()
  expect(await prompted(machine, session, "why did you reject the cache?")).toBeUndefined()
})

describe("a question in everyday words", () => {
  test.each([
    ["what did we decide about the parser?", PARSER],
    ["Which parser did we choose?", PARSER],
    ["why did we go for that parser again?", PARSER],
    ["Did we decide on a parser?", PARSER],
    ["Was haben wir zum Parser entschieden?", PARSER],
    ["remind me what we settled on for the storage", STORAGE],
    ["why did you reject the cache?", CACHE],
    ["what was the command for the tests?", TESTS],
    ["Which script did we use to run all tests?", TESTS],
    ["what was the error in the build?", BUILD],
    ["Why did the build fail when we ran it?", BUILD],
  ])("%s", async (prompt, given) => {
    using machine = new Inside()
    const session = await compacted(machine)
    const text = (await prompted(machine, session, prompt))!
    expect(text).toContain(given)
    // What only mentions the same words is left out where something answers.
    expect(text).not.toContain("as they were")
    expect(await prompted(machine, session, prompt)).toBeUndefined()
  })

  test.each([
    ["what did we decide about the window?", "Labels were aligned."],
    ["what did we decide?", "Labels were aligned."],
    ["what did we decide about the parser?", `Labels were aligned. ${PARSER}`],
    ["what was the command for the release?", "Labels were aligned."],
    ["what was the error in the parser?", "Labels were aligned."],
    ["remind me to test the parser", "Labels were aligned."],
  ])("%s: nothing fits, or the new context tells", async (prompt, summary) => {
    using machine = new Inside()
    const session = await compacted(machine, summary)
    expect(await prompted(machine, session, prompt)).toBeUndefined()
  })

  test("to which only passages answer is given those with all of its words", async () => {
    using machine = new Inside()
    const session = await compacted(machine)
    const text = (await prompted(machine, session, "Where did you stop with page 7?"))!
    expect(text).toContain("Align the labels of page 7 for the parser")
  })
})

test.each([
  ["what did we decide about the parser?", "decision"],
  ["why did we drop the old format?", "decision"],
  ["which database did we choose", "decision"],
  ["What was the decision on caching?", "decision"],
  ["what was the reason for the second table?", "decision"],
  ["so did we agree on tabs or spaces?", "decision"],
  ["warum haben wir die Tabelle verworfen?", "decision"],
  ["what was the command for the migration", "command"],
  ["what's the command again for the tests", "command"],
  ["which script did you run for the release?", "command"],
  ["wie war der Befehl für die Tests?", "command"],
  ["what was that error with the login?", "error"],
  ["what error did we get in the build?", "error"],
  ["welcher Fehler war das beim Login, wir hatten ihn vorhin", "error"],
  ["where were we?", undefined],
  ["what did you do with the page?", undefined],
  ["do you remember how the queue is named?", undefined],
  ["remind me how the queue works", undefined],
  ["what were you doing in the parser?", undefined],
  ["which files did you touch for the login?", undefined],
] as const)("asks: %s", (prompt, kind) => {
  const asked = asksForEarlier(prompt)
  expect([asked?.inWords, asked?.kind]).toEqual([true, kind])
})

test.each([
  // Orders
  "continue",
  "go on with the parser",
  "fix the parser",
  "run the tests again",
  "decide on a parser and write it",
  "choose the database that fits best",
  "commit what we have",
  "Remind me to push before lunch",
  "remind me to run the command",
  "erinnere mich daran, zu pushen",
  "use the command from the README",
  "explain the error",
  "why is the build failing?",
  "what command runs the tests?",
  "Which database should we choose?",
  "what do we use for the parser?",
  // Chat
  "thanks, that was what I wanted",
  "ok",
  "yes, that one",
  "good morning, what shall we do today?",
  "I decided to go for lunch",
  "we did it!",
  // Code and output
  "const parser = why(did, we)",
  "```\nwhat did we decide about the parser?\n```",
  "error: the build failed\n  at parse (parser:12)",
  "> what did we decide about the parser?\n\nplease answer him politely",
])("asks for nothing: %s", (prompt) => {
  expect(asksForEarlier(prompt)).toBeUndefined()
})
