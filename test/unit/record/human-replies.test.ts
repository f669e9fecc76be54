/**
 * What a human answers in the form by which the model asks: their words, in every shape that Claude Code has written.
 */
import { expect, test } from "bun:test"
import { decodeLine } from "../../../src/agents/agents.ts"
import { findSessions } from "../../../src/views/queries/sessions.ts"
import { openSession } from "../../../src/views/session-list.ts"
import { Inside, run } from "../../support/inside.ts"
import { contextOf } from "../../support/machine.ts"

const GLAZE = "Which glaze should the sample use?"
const STORE = 'Where do "orders" go, and why?'
const QUESTIONS = [
  {
    question: GLAZE,
    header: "Glaze",
    options: [{ label: "Celadon" }, { label: "Tenmoku" }],
    multiSelect: true,
  },
  {
    question: STORE,
    header: "Store",
    options: [{ label: "Postgres" }, { label: "A file" }],
    multiSelect: false,
  },
]
const beside = (answers: object, more: object = {}) => ({ questions: QUESTIONS, answers, ...more })
const NOW = ". You can now continue with the user's answers in mind."
const THESE = ". You can now continue with these answers in mind."
const CAREFULLY =
  ". Read the answers carefully — they may request clarification, changes, or that you not proceed — and follow what they actually say."
const REFUSED = (how: string): string =>
  "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). To tell you how to proceed, the user said:\n" +
  `${how}\n\nNote: The user's next message may contain a correction or preference.`
const FORM = (lead: string, body: string): string => `${lead}\n\n    Questions asked:\n${body}`

interface Shape {
  readonly text: string
  readonly beside?: unknown
  readonly isError?: boolean
  readonly feedback?: string
  readonly said: readonly (readonly [question: string, answer: string])[]
}

const SHAPES: Readonly<Record<string, Shape>> = {
  "two choices, 2.0": {
    text: `User has answered your questions: "${GLAZE}"="Celadon", "${STORE}"="Postgres"${NOW}`,
    beside: beside({ [GLAZE]: "Celadon", [STORE]: "Postgres" }),
    said: [
      [GLAZE, "Celadon"],
      [STORE, "Postgres"],
    ],
  },
  "typed instead of a choice, 2.1": {
    text: `The user answered: "${GLAZE}"="the ash one, please"${CAREFULLY}`,
    beside: beside({ [GLAZE]: "the ash one, please" }, { annotations: {} }),
    said: [[GLAZE, "the ash one, please"]],
  },
  "several choices as a list": {
    text: `Your questions have been answered: "${GLAZE}"="Celadon,Tenmoku"${THESE}`,
    beside: beside({ [GLAZE]: ["Celadon", "Tenmoku"] }),
    said: [[GLAZE, "Celadon, Tenmoku"]],
  },
  "notes beside a choice with a preview": {
    text: `The user answered: "${GLAZE}"="Celadon" selected preview:\n  green notes: thinner${CAREFULLY}`,
    beside: beside(
      { [GLAZE]: "Celadon" },
      { annotations: { [GLAZE]: { preview: "  green", notes: "thinner" } } },
    ),
    said: [[GLAZE, "Celadon\nthinner"]],
  },
  "notes and no choice": {
    text: `The user answered: "${GLAZE}"=(no option selected) notes: ask me tomorrow${CAREFULLY}`,
    beside: beside({ [GLAZE]: "(notes only)" }, { annotations: { [GLAZE]: { notes: "ask me tomorrow" } } }),
    said: [[GLAZE, "ask me tomorrow"]],
  },
  "words instead of any answer": {
    text: "The user responded: neither, show me both",
    beside: beside({}, { response: "neither, show me both" }),
    said: [["", "neither, show me both"]],
  },
  "one more round of questions": {
    text: `The user asked for more questions before you proceed. So far they answered: "${GLAZE}"="Celadon". Call AskUserQuestion again with follow-up questions`,
    beside: beside({ [GLAZE]: "Celadon" }, { followUp: true }),
    said: [[GLAZE, "Celadon"]],
  },
  "nobody there, with something selected": {
    text: `No response after 60s — the user may be away from keyboard.\n\nBefore going idle the user had selected: "${GLAZE}"="Celadon".`,
    beside: beside({ [GLAZE]: "Celadon" }, { afkTimeoutMs: 60_000 }),
    said: [[GLAZE, "Celadon"]],
  },
  "nobody there": {
    text: "No response after 60s — the user may be away from keyboard. Proceed using your best judgment.",
    beside: beside({}, { afkTimeoutMs: 60_000 }),
    said: [],
  },
  "no answer": { text: "The user did not answer the questions.", beside: beside({}), said: [] },
  "a number that was asked for": {
    text: `Your questions have been answered: "${GLAZE}"="3"${THESE}`,
    beside: beside({ [GLAZE]: 3 }),
    said: [[GLAZE, "3"]],
  },
  "the text alone, 2.0": {
    text: `User has answered your questions: "${GLAZE}"="take "x", or the ash one", "${STORE}"="A file"${NOW}`,
    said: [
      [GLAZE, 'take "x", or the ash one'],
      [STORE, "A file"],
    ],
  },
  "the text alone, with preview and notes": {
    text: `The user answered: "${GLAZE}"="Celadon" selected preview:\ngreen\n\nvery notes: thinner, "${STORE}"=(no option selected) notes: later${CAREFULLY}`,
    beside: "The user answered",
    said: [
      [GLAZE, "Celadon\nthinner"],
      [STORE, "later"],
    ],
  },
  "the text alone of 2.1.112": {
    text: `User has answered your questions: "${GLAZE}"="Celadon" user notes: thinner${NOW}`,
    said: [[GLAZE, "Celadon\nthinner"]],
  },
  "the text alone, nobody there": {
    text: `No response after 60s — the user may be away.\n\nBefore going idle the user had selected: "${GLAZE}"="Celadon".`,
    said: [[GLAZE, "Celadon"]],
  },
  "a refused form that was filled in part": {
    text: REFUSED(
      FORM(
        "The user wants to clarify these questions.\n    This means they may have additional information.",
        `- "${GLAZE}"\n  Answer: the ash one\n  User notes: not too thick\n- "${STORE}"\n  (No answer provided)`,
      ),
    ),
    isError: true,
    said: [[GLAZE, "the ash one\nnot too thick"]],
  },
  "the same in a field of its own": {
    text: "The user doesn't want to proceed with this tool use. The tool use was rejected.",
    feedback: FORM(
      "The user wants to clarify these questions.",
      `- "${GLAZE}"\n  Answer: kaolin,\nash one\n- "${STORE}"\n  Answer: A file`,
    ),
    isError: true,
    said: [
      [GLAZE, "kaolin,\nash one"],
      [STORE, "A file"],
    ],
  },
  "a refused form without answers": {
    text: REFUSED(FORM("The user wants to clarify these questions.", `- "${GLAZE}"\n  (No answer provided)`)),
    isError: true,
    said: [],
  },
  "enough answers for a plan": {
    text: REFUSED(
      `The user has indicated they have provided enough answers for the plan interview.\nStop asking clarifying questions.\n\nQuestions asked and answers provided:\n- "${GLAZE}"\n  Answer: Celadon`,
    ),
    isError: true,
    said: [[GLAZE, "Celadon"]],
  },
}

const lineOf = ({ text, beside: toolUseResult, isError, feedback }: Shape, speaker: object = {}): string =>
  JSON.stringify({
    type: "user",
    ...speaker,
    message: {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "q", content: text, ...(isError ? { is_error: true } : {}) },
      ],
    },
    ...(toolUseResult === undefined ? {} : { toolUseResult }),
    ...(feedback === undefined ? {} : { userFeedback: feedback }),
  })

const replies = (line: string) =>
  decodeLine(line).parts.flatMap((part) => (part.kind === "reply" ? [[part.question, part.text]] : []))

test.each(Object.entries(SHAPES))("%s", (_name, shape) => {
  const { parts } = decodeLine(lineOf(shape))
  expect(replies(lineOf(shape))).toEqual(shape.said.map((one) => [...one]))
  expect(parts[0]).toMatchObject({ kind: "toolResult", text: shape.text })
  // Nobody's prompt: what Claude Code writes around the answers is no human's.
  expect(parts.some(({ kind }) => kind === "prompt")).toBe(false)
  // No human speaks in a subagent's lines.
  expect(replies(lineOf(shape, { isSidechain: true }))).toEqual([])
})

test("a refusal in the user's own words is still a prompt", () => {
  const line = lineOf({ text: REFUSED("No, ask me about the kiln first."), isError: true, said: [] })
  expect(decodeLine(line).parts.slice(1)).toMatchObject([
    { kind: "prompt", text: "No, ask me about the kiln first." },
  ])
})

/** A question, its answer, and what follows; `name` is the tool that answers. */
async function answered(machine: Inside, shape: Shape, name = "AskUserQuestion") {
  const session = machine.session().user("set up the order page").message()
  session.block({ type: "tool_use", id: "q", name, input: { questions: QUESTIONS } })
  const { message, ...fields } = JSON.parse(lineOf(shape))
  session
    .line({ ...fields, message })
    .message()
    .say("The page is set up.")
  await machine.hook("stop", session.turn("go on with the tests").flush())
  return session
}

const found = async (machine: Inside, ...words: string[]) => {
  const { code, stdout } = await run(["search", ...words, "-a", "--json"], machine)
  return code === 3 ? [] : JSON.parse(stdout).hits
}

test("a rule and a choice come back after a compaction, with the question, and are found as the user's words", async () => {
  using machine = new Inside()
  const session = await answered(machine, {
    text: `The user answered: "${GLAZE}"="Never use a lead glaze anywhere, take the ash one", "${STORE}"="Postgres"${CAREFULLY}`,
    beside: beside({ [GLAZE]: "Never use a lead glaze anywhere, take the ash one", [STORE]: "Postgres" }),
    said: [],
  })
  for (const query of ["lead glaze", "postgres"]) {
    expect(await found(machine, query, "--role", "human")).toMatchObject([
      {
        role: "human",
        tool: "AskUserQuestion",
        prompt: "set up the order page",
        answer: "The page is set up.",
      },
    ])
    expect(await found(machine, query, "--role", "tool")).toEqual([])
  }
  session.boundary().summary("They set up the page.").flush()
  const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
  const [, rules = ""] = /## Standing user constraints\n((?:- .*\n)+)/.exec(given) ?? []
  const [, answers = ""] = /## The user's answers to questions\n((?:- .*\n)+)/.exec(given) ?? []
  expect(rules).toMatch(
    /^- "Never use a lead glaze anywhere, take the ash one \(asked: Which glaze should the sample use\?\)" \(ctx:\w+\)\n$/,
  )
  expect(answers).toMatch(/^- "Postgres \(asked: Where do \\"orders\\" go, and why\?\)" \(ctx:\w+\)\n$/)
  // The answer belongs to the turn in which it was asked for.
  using db = machine.views()
  const { turns } = openSession(db, findSessions(db, session.session)[0]!)
  expect(turns.map(({ prompt }) => prompt)).toEqual(["set up the order page", "go on with the tests"])
  const shown = await run(["show", turns[0]!.handle], machine)
  expect(shown.stdout).toContain(
    `── reply ──\n${GLAZE}\n→ Never use a lead glaze anywhere, take the ash one\n`,
  )
})

test("what the summary says of an answer is not said again", async () => {
  using machine = new Inside()
  const session = await answered(machine, SHAPES["two choices, 2.0"]!)
  session.boundary().summary("Celadon it is, in Postgres.").flush()
  const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
  expect(given).not.toContain("answers to questions")
})

test("an answer of any shape is found as the user's, and in the rebuilt views", async () => {
  for (const [name, shape] of Object.entries(SHAPES)) {
    using machine = new Inside()
    await answered(machine, shape)
    const look = async () =>
      Promise.all(
        shape.said.map(([, answer]) => found(machine, `"${answer.split("\n")[0]}"`, "--role", "human")),
      )
    const before = await look()
    for (const hits of before) expect([name, hits.length]).toEqual([name, 1])
    await run(["rebuild"], machine)
    expect(await look()).toEqual(before)
  }
})

test("another tool cannot put words into the user's mouth", async () => {
  for (const name of ["mcp__forms__ask", "Bash", "WebFetch"]) {
    using machine = new Inside()
    const session = await answered(machine, SHAPES["typed instead of a choice, 2.1"]!, name)
    expect(await found(machine, "ash", "--role", "human")).toEqual([])
    expect(await found(machine, "ash", "--role", "tool")).toMatchObject([{ role: "tool" }])
    session.boundary().summary("They set up the page.").flush()
    const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
    expect(given).not.toContain("ash one")
  }
})

test("a refusal in the user's own words is found as the user's", async () => {
  using machine = new Inside()
  await answered(machine, { text: REFUSED("No, never ask about the kiln."), isError: true, said: [] })
  expect(await found(machine, "kiln", "--role", "human")).toMatchObject([{ role: "human" }])
})
