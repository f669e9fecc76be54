/** What the inserted function asks, when, and what it does with the answer. */
import { describe, expect, test } from "bun:test"
import { answerPatch, type PatchQuestion } from "../../../src/prune/patch/answer-patch.ts"
import { inserted, type OwnBlock, type OwnMessage } from "../../support/inserted.ts"

const MARK = "[earlier context pruned]"
const LONG = "and so on, ".repeat(40)
const OPTIONS = { keep: 1, threshold: 0, step: 0, maxChars: 12, results: false } as const

const text = (words: string): OwnBlock => ({ type: "text", text: words })
let count = 0
const own = (type: string, content: string | OwnBlock[], flags = {}): OwnMessage => ({
  type,
  uuid: `u${count++}`,
  ...flags,
  message: { content },
})

/** Everything is held. */
function patched(env: Record<string, string> = {}, options: Parameters<typeof answerPatch>[2] = OPTIONS) {
  const questions: PatchQuestion[] = []
  const functions = inserted((question) => {
    questions.push(JSON.parse(question))
    return JSON.stringify(
      answerPatch(questions.at(-1)!, { refresh() {}, handleOf: () => "ctx:ab12" }, options),
    )
  }, env)
  return { ...functions, questions }
}

const textsOf = (messages: readonly OwnMessage[]) =>
  messages.map(({ message }) => {
    const content = message?.content ?? ""
    return typeof content === "string"
      ? content
      : content.map((block) => block["text"] ?? block.type).join("|")
  })

const TALK = (): OwnMessage[] => [
  own("user", `Make it so\n${LONG}`),
  own("assistant", [{ type: "thinking", thinking: "hm", signature: "s" }]),
  own("assistant", [text(`I will. ${LONG}`)]),
  own("assistant", [{ type: "tool_use", id: "t1", name: "Bash", input: { command: LONG } }]),
  own("user", [{ type: "tool_result", tool_use_id: "t1", content: LONG }]),
  own("assistant", [text("Done.")]),
]

describe("what is left out", () => {
  test("old texts end in the mark, thinking goes, and all else is the same object", async () => {
    const before = [...TALK(), own("user", LONG)]
    const after = await patched().prune(before, {})
    expect(textsOf(after)).toEqual([
      `Make it so\nctx:ab12 ${MARK}`,
      `I will. and\nctx:ab12 ${MARK}`,
      "tool_use",
      "tool_result",
      "Done.",
      LONG,
    ])
    expect(after.slice(2)).toEqual(before.slice(3))
    for (const message of after.slice(2)) expect(before).toContain(message)
  })

  test("never what Claude Code says by itself, images, or half of a character", async () => {
    const image = { type: "image", source: { type: "base64", data: "A".repeat(5000) } }
    const before = [
      own("user", LONG, { isMeta: true }),
      own("user", LONG, { isCompactSummary: true, isVisibleInTranscriptOnly: true }),
      own("user", [text(`${"a".repeat(11)}🗜🗜${LONG}`), image]),
      own("assistant", LONG, { isApiErrorMessage: true }),
      { type: "attachment", uuid: "a1", attachment: LONG },
      own("assistant", [text(`<system-reminder>${LONG}</system-reminder>`)]),
      own("user", [text(`<system-reminder>${LONG}</system-reminder>`)]),
      own("assistant", [text("Yes.")]),
      own("user", "Now?"),
    ]
    const { prune, questions } = patched()
    const after = await prune(before, {})
    const same = after.map((message, n) => message === before[n])
    expect(same).toEqual([true, true, false, true, true, false, true, true, true])
    expect(textsOf(after)[2]).toBe(`${"a".repeat(11)}\nctx:ab12 ${MARK}|image`)
    // What it is not asked about is not handed out either.
    expect(JSON.stringify(questions)).not.toContain("AAAA")
  })

  test("stays out while tools are at work, in forks, and in a summary, and comes back if the user goes back", async () => {
    const { prune, applied, questions } = patched()
    const stored = [...TALK(), own("user", "Next?")]
    const first = await prune(stored, {})
    const answer = own("assistant", [{ type: "tool_use", id: "t2", name: "Bash", input: {} }])
    const output = own("user", [{ type: "tool_result", tool_use_id: "t2", content: "out" }])
    expect(await prune([...stored, answer, output], {})).toEqual([...first, answer, output])
    expect(await prune([...first, answer, output], {})).toEqual([...first, answer, output])
    expect(await prune([...stored, own("user", "Title?")], { agentId: "a1" })).toHaveLength(first.length + 1)
    expect(applied(stored)).toEqual(first)
    expect(questions).toHaveLength(1)
    const back = stored.slice(0, -1)
    expect(applied(back)).toBe(back)
  })
})

describe("what is summarised", () => {
  test("is what was sent last", async () => {
    const { prune, summarised } = patched()
    const stored = [...TALK(), own("user", "Next?")]
    const sent = await prune(stored, {})
    expect(summarised(stored)).toEqual(sent)
    const thought = own("assistant", [{ type: "thinking", thinking: "so", signature: "s" }])
    expect(summarised([...stored, thought])).toEqual([...sent, thought])
  })

  test("has no thoughts of a session that was resumed, whoever summarises", async () => {
    const stored = TALK()
    expect(patched().summarised(stored)).toEqual(stored.toSpliced(1, 1))
    const request = own("user", "Summarise.")
    const { prune, summarised } = patched()
    expect(await prune([...stored, request], { agentId: "a1" })).toEqual([...stored.toSpliced(1, 1), request])
    await prune([own("user", "first")], {})
    expect(summarised(stored)).toBe(stored)

    let session = "a"
    const other = inserted(
      () => "{}",
      {},
      () => session,
    )
    await other.prune([own("user", "first")], {})
    session = "b"
    expect(other.summarised(stored)).toEqual(stored.toSpliced(1, 1))
    await other.prune([own("user", "first")], {})
    expect(other.summarised(stored)).toBe(stored)
    expect(patched({ CLAUDE_TEXT_PRUNE_DISABLE: "1" }).summarised(stored)).toBe(stored)
  })
})

describe("nobody is asked", () => {
  const cases: [string, OwnMessage[], object][] = [
    ["at the first prompt", [own("user", LONG)], {}],
    ["while tools are at work", TALK().slice(0, 5), {}],
    ["after an answer", TALK(), {}],
  ]
  test.each(cases)("%s", async (_, messages, context) => {
    const { prune, questions } = patched()
    expect(await prune(messages, context)).toBe(messages)
    expect(questions).toEqual([])
  })

  test("by a subagent, nor by what asks on the side", async () => {
    const { prune, questions } = patched()
    const messages = [...TALK(), own("user", LONG)]
    await prune([own("user", "first")], {})
    expect(await prune(messages, { agentId: "a1" })).toBe(messages)
    expect(questions).toEqual([])
  })

  test("if it is switched off", async () => {
    const { prune, applied, questions } = patched({ CLAUDE_TEXT_PRUNE_DISABLE: "1" })
    const messages = [...TALK(), own("user", LONG)]
    expect(await prune(messages, {})).toBe(messages)
    expect(applied(messages)).toBe(messages)
    expect(questions).toEqual([])
  })

  test("before so much more was said as was answered, unless the conversation is another", async () => {
    const { prune, questions } = patched({}, { ...OPTIONS, threshold: 3000 })
    const stored = TALK()
    const prompt = async (words: string) => {
      stored.push(own("user", words))
      await prune([...stored], {})
      stored.push(own("assistant", [text("Yes.")]))
      return questions.length
    }
    expect(await prompt("first")).toBe(1)
    expect(await prompt("second")).toBe(1)
    expect(await prompt(LONG)).toBe(1)
    stored.push(own("user", LONG.repeat(8)), own("assistant", [text("Yes.")]))
    expect(await prompt("third")).toBe(2)
    stored.splice(0, stored.length, ...TALK())
    expect(await prompt("anew")).toBe(3)
  })

  test("twice at the same prompt, whatever was answered", async () => {
    let asked = 0
    const { prune } = inserted(() => {
      asked++
      throw new Error("it is gone")
    })
    const messages = [...TALK(), own("user", LONG)]
    expect(await prune(messages, {})).toBe(messages)
    expect(await prune(messages, {})).toBe(messages)
    expect(asked).toBe(1)
  })
})

test.each([
  "",
  "{",
  "null",
  "[]",
  '{"cut":{}}',
  '{"wait":0,"cut":{"prompt":0,"whole":0},"edits":[{"message":99}]}',
])("an answer that is none (%s) changes nothing", async (answer) => {
  const { prune } = inserted(() => answer)
  const messages = [...TALK(), own("user", LONG)]
  expect(await prune(messages, {})).toBe(messages)
})

test("messages of a shape that is not known are sent as they are", async () => {
  const { prune } = patched()
  for (const odd of [
    null,
    7,
    { type: "user" },
    { type: "user", uuid: "x", message: { content: 7 } },
    { type: "assistant", message: { content: [null] } },
  ]) {
    const messages = [...TALK(), odd as unknown as OwnMessage, own("user", LONG)]
    const after = await prune(messages, {})
    expect(after.length).toBeGreaterThanOrEqual(messages.length - 1)
    expect(after).toContain(odd as unknown as OwnMessage)
  }
})
