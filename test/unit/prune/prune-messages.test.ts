/** What is pruned of a conversation, on examples that can be read. test/property/prune.test.ts has what holds for all. */
import { describe, expect, test } from "bun:test"
import { type PruneOptions, pruneMessages } from "../../../src/prune/prune-messages.ts"

/** Moves at every prompt, so that an example can be short. */
const AT_ONCE: PruneOptions = { keep: 1, threshold: 0, step: 0, maxChars: 20, results: false }

const MARK = "ctx:ab12 [earlier context pruned]"
const LONG = "a long text, ".repeat(20)
const SHORTENED = `a long text, a long\n${MARK}`

const user = (...content: unknown[]) => ({ role: "user", content })
const assistant = (...content: unknown[]) => ({ role: "assistant", content })
const text = (words: string) => ({ type: "text", text: words })
const thinking = (signature: string) => ({ type: "thinking", thinking: "hm, ".repeat(30), signature })
const call = (id: string, input: unknown = {}) => ({ type: "tool_use", id, name: "Bash", input })
const result = (id: string, content: unknown) => ({ type: "tool_result", tool_use_id: id, content })
const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "x".repeat(300) } }

const holdsAll = () => "ctx:ab12"

/** What remains of messages once the conversation has gone on. */
function remains(messages: readonly unknown[], options: Partial<PruneOptions> = {}): unknown[] {
  const after = [assistant(text("done")), user(text("and now?"))]
  const all = [...messages, ...after]
  const { messages: left } = pruneMessages(all, { ...AT_ONCE, ...options }, holdsAll)
  expect(left.slice(-2)).toEqual(after)
  return left.slice(0, -2)
}

/** Some old text that makes the cut move in any case. */
const OLD = [user(text(LONG)), assistant(text("yes"))]
const OLD_LEFT = [user(text(SHORTENED)), assistant(text("yes"))]

const staysWhole = (...messages: unknown[]): void =>
  expect(remains([...OLD, ...messages])).toEqual([...OLD_LEFT, ...messages])

test("old prompts and answers are shortened, and the latest ones stay", () => {
  const before = [
    { role: "user", content: `make a kiln controller\n${LONG}` },
    assistant(text(`I will begin with the sensor.\n${LONG}`), call("t1", { command: LONG })),
    user(result("t1", LONG)),
    assistant(text("The sensor is there.")),
    user(text(LONG)),
    assistant(text(LONG)),
    user(text(LONG)),
  ]
  const { messages, pruned } = pruneMessages(before, { ...AT_ONCE, keep: 2, maxChars: 80 }, holdsAll)
  expect(messages).toEqual([
    { role: "user", content: `make a kiln controller\n${MARK}` },
    assistant(text(`I will begin with the sensor.\n${MARK}`), call("t1", { command: LONG })),
    ...before.slice(2),
  ])
  const saved = LONG.length - MARK.length - 1
  expect(pruned).toMatchObject([
    { message: 0, block: 0, kind: "text", handle: "ctx:ab12", saved },
    { message: 1, block: 0, kind: "text", handle: "ctx:ab12", saved },
  ])
})

describe("the cut", () => {
  /** As many turns, each with 260 units of prompt. What remains saves about 200. */
  const turns = (count: number): unknown[] =>
    Array.from({ length: count }, () => [assistant(text("yes")), user(text(LONG))]).flat()
  const prunedOf = (count: number, options: Partial<PruneOptions>): number =>
    pruneMessages(turns(count), { ...AT_ONCE, ...options }, holdsAll).pruned.length
  const each = Array.from({ length: 12 }, (_, n) => n + 1)

  test("moves with every prompt if nothing holds it", () => {
    expect(each.map((count) => prunedOf(count, {}))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
    expect(each.map((count) => prunedOf(count, { keep: 4 }))).toEqual([0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8])
  })

  test("moves in steps", () => {
    const steps = each.map((count) => prunedOf(count, { step: 600 }))
    expect(steps).toEqual([0, 0, 0, 3, 3, 3, 6, 6, 6, 9, 9, 9])
  })

  test("waits until there is much behind it, the latest prompts included", () => {
    const waiting = each.map((count) => prunedOf(count, { keep: 3, threshold: 1000 }))
    expect(waiting).toEqual([0, 0, 0, 0, 0, 3, 3, 3, 6, 6, 6, 9])
  })

  test("keeps the current prompt, whatever is asked", () => {
    expect(each.map((count) => prunedOf(count, { keep: 0 }))).toEqual(each.map((count) => count - 1))
  })

  test("does not move at all if an option is no number", () => {
    for (const name of ["keep", "threshold", "step"]) expect(prunedOf(9, { [name]: Number.NaN })).toBe(0)
  })

  test("counts what humans say, not what tools return", () => {
    const loop = Array.from({ length: 6 }, (_, n) => [
      assistant(call(`t${n}`)),
      user(result(`t${n}`, "ok")),
    ]).flat()
    const messages = [user(text(LONG)), ...loop]
    expect(pruneMessages(messages, AT_ONCE, holdsAll)).toEqual({ messages, pruned: [] })
  })

  test("counts prompts that were typed one after the other as one", () => {
    const messages = [user(text(LONG)), user(text(LONG)), user(text("go"))]
    expect(pruneMessages(messages, AT_ONCE, holdsAll).messages).toBe(messages)
  })

  test("is where it was when the conversation goes on without a human", () => {
    const begun = [...OLD, user(text(LONG))]
    const on = [...begun, assistant(text(LONG), call("t1")), user(result("t1", LONG))]
    const { messages } = pruneMessages(on, AT_ONCE, holdsAll)
    expect(messages).toEqual([...pruneMessages(begun, AT_ONCE, holdsAll).messages, ...on.slice(3)])
  })
})

describe("thinking", () => {
  test("goes if it is older than the prompt at which the cut moved, and stays if it is younger", () => {
    const before = [
      user(text(LONG)),
      assistant(thinking("s1"), text("yes")),
      user(text("go on")),
      assistant({ type: "redacted_thinking", data: "x".repeat(90) }, call("t1")),
      user(result("t1", "ok")),
      assistant(thinking("s2")),
      user(text("and then?")),
      assistant(thinking("s3"), call("t2")),
      user(result("t2", "ok")),
    ]
    const { messages, pruned } = pruneMessages(before, { ...AT_ONCE, keep: 3 }, holdsAll)
    expect(messages).toBe(before)
    expect(pruned).toEqual([])
    expect(pruneMessages(before, { ...AT_ONCE, keep: 2 }, holdsAll).messages).toEqual([
      user(text(SHORTENED)),
      assistant(text("yes")),
      user(text("go on")),
      assistant(call("t1")),
      user(result("t1", "ok")),
      // Nothing was left of the one that was only thought.
      ...before.slice(6),
    ])
  })

  test("that the vault lacks stays, and so must all that it was signed with", () => {
    const [first, second] = [user(text(LONG)), user(text(LONG))]
    const before = [
      first,
      assistant(text("yes")),
      second,
      assistant(thinking("s1"), text("yes")),
      user(text("go")),
    ]
    const lacking = (block: object) => ("signature" in block ? undefined : "ctx:ab12")
    expect(pruneMessages(before, AT_ONCE, lacking).messages).toEqual([
      user(text(SHORTENED)),
      assistant(text("yes")),
      ...before.slice(2),
    ])
  })
})

test("what the vault lacks stays", () => {
  const before = [user(text(LONG), text(`b${LONG}`)), assistant(text("yes")), user(text("go"))]
  const lacking = ({ text: words }: { text?: unknown }) => (words === LONG ? undefined : "ctx:ab12")
  const { messages } = pruneMessages(before, AT_ONCE, lacking)
  expect(messages[0]).toEqual(user(text(LONG), text(`ba long text, a long\n${MARK}`)))
})

describe("stays whole", () => {
  test("the summary of a compaction", () => {
    staysWhole(
      user(text(`This session is being continued from a previous conversation that ran out. ${LONG}`)),
    )
  })

  test("what Claude Code says of itself, also beside a human's words", () => {
    const reminder = `<system-reminder>${LONG}</system-reminder>`
    staysWhole(user(text(reminder)))
    staysWhole(user(text(`${reminder}\n${LONG}`)))
    staysWhole(user(text(`<task-notification>${LONG}</task-notification>`)))
    staysWhole({ role: "system", content: LONG })
    expect(remains([user(text(reminder), text(LONG))])).toEqual([user(text(reminder), text(SHORTENED))])
  })

  test("a command, and the skill that it loads", () => {
    staysWhole(user(text("<command-name>/review</command-name>"), text(LONG)))
    staysWhole(user(text(`/review ${LONG}`)))
    staysWhole(assistant(call("t1")), user(result("t1", "Launching skill"), text(LONG)))
  })

  test("a command that a human runs, with its output", () => {
    staysWhole(user(text(`<bash-input>${LONG}</bash-input>`), text(`<bash-stdout>${LONG}</bash-stdout>`)))
  })

  test("what a tool is told and returns, images and documents", () => {
    const document = { type: "document", source: { type: "text", media_type: "text/plain", data: LONG } }
    staysWhole(
      user(image, document, text("look")),
      assistant(call("t1", { command: LONG })),
      user(result("t1", LONG)),
    )
  })

  test("a text that something refers to, and one of which nobody knows all fields", () => {
    staysWhole(assistant({ ...text(LONG), citations: [{ type: "char_location", cited_text: "a" }] }))
    staysWhole(assistant({ ...text(LONG), parsed: {} }))
    const known = { citations: null, cache_control: { type: "ephemeral" } }
    const left = assistant({ ...text(SHORTENED), ...known })
    expect(remains([user(text("hi")), assistant({ ...text(LONG), ...known })])).toEqual([
      user(text("hi")),
      left,
    ])
  })

  test("what is shorter than the mark would be", () => {
    const limit = 20 + 1 + MARK.length
    staysWhole(assistant(text("x".repeat(limit + 1))))
    expect(remains([...OLD, assistant(text("x".repeat(limit + 2)))])).toEqual([
      ...OLD_LEFT,
      assistant(text(`${"x".repeat(20)}\n${MARK}`)),
    ])
  })

  test("what has no shape that is known", () => {
    const odd = [
      null,
      7,
      "words",
      [],
      {},
      { role: "user" },
      { role: "assistant", content: {} },
      user(null, 7, LONG),
    ]
    staysWhole(...odd, user({ type: "text" }), assistant({ type: "hologram", text: LONG }))
  })
})

describe("what tools returned, if it is to be pruned", () => {
  const shorter = (content: unknown): unknown =>
    remains([user(text("hi")), assistant(call("t1")), user(result("t1", content))], { results: true })[2]

  test("is its handle", () => {
    expect(shorter(LONG)).toEqual(user(result("t1", MARK)))
    expect(shorter([text(LONG), image])).toEqual(user(result("t1", [text(MARK), image])))
  })

  test("stays if that is not shorter, or there is no text", () => {
    for (const content of ["ok", [], [image], undefined, 7])
      expect(shorter(content)).toEqual(user(result("t1", content)))
  })

  test("keeps whether it failed", () => {
    const failed = { ...result("t1", LONG), is_error: true }
    const left = remains([user(text("hi")), assistant(call("t1")), user(failed)], { results: true })
    expect(left[2]).toEqual(user({ ...failed, content: MARK }))
  })
})

describe("what remains of a text", () => {
  const beginning = (words: string, maxChars: number): string => {
    const [left] = remains([user(text(words))], { maxChars }) as [{ content: [{ text: string }] }]
    return left.content[0].text
  }

  test("is its first line that is not blank", () => {
    expect(beginning(`\n\n  build it\r\nwith care ${LONG}`, 80)).toBe(`build it\n${MARK}`)
  })

  test("does not end in half a character", () => {
    expect(beginning(`abc😀${LONG}`, 3)).toBe(`abc\n${MARK}`)
    expect(beginning(`abc😀${LONG}`, 4)).toBe(`abc\n${MARK}`)
    expect(beginning(`abc😀${LONG}`, 5)).toBe(`abc😀\n${MARK}`)
    expect(beginning(`abc😀${LONG}`, 0)).toBe(`\n${MARK}`)
  })

  test("is the same for what was pasted", () => {
    const pasted = `look: <pasted_content id="a1">\n${LONG}</pasted_content id="a1">`
    expect(beginning(pasted, 5)).toBe(`look:\n${MARK}`)
  })
})
