/** Whatever a conversation holds and however it goes on: what pruning may never do to it. */
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import {
  currentPrompt,
  findCut,
  type HandleOf,
  type PruneOptions,
  prunable,
  pruneAt,
  UNCUT,
} from "../../src/prune/prune-messages.ts"
import { pruneMessages } from "../support/pruned.ts"

interface Message {
  readonly role: string
  readonly content: string | readonly Block[]
}

type Block = Readonly<Record<string, unknown>>

const RUNS = 200

const words = fc.oneof(
  fc.string({ unit: "binary", maxLength: 200, size: "max" }),
  fc.string({ unit: "grapheme", maxLength: 200, size: "max" }),
  fc.constantFrom("", "\n \n", "\ud83d".repeat(90), "🛡️".repeat(60), `${"x".repeat(79)}😀${"y".repeat(90)}`),
)

const reminder = words.map((text) => `<system-reminder>${text}</system-reminder>`)
const pasted = words.map((text) => `see <pasted_content id="a1">\n${text}</pasted_content id="a1"> there`)
const summary = words.map(
  (text) => `This session is being continued from a previous conversation that ran out of context.\n${text}`,
)
const command = words.map(
  (text) => `<command-name>/review</command-name>\n<command-args>${text}</command-args>`,
)
const userText = fc.oneof(
  { weight: 5, arbitrary: words },
  reminder,
  pasted,
  summary,
  command,
  words.map((text) => `<bash-input>${text}</bash-input>`),
  fc.tuple(reminder, words).map((parts) => parts.join("\n")),
)

const textBlock = (text: fc.Arbitrary<string>): fc.Arbitrary<Block> =>
  fc.record(
    {
      type: fc.constant("text"),
      text,
      citations: fc.constantFrom(null, ["a citation"]),
      cache_control: fc.constant({ type: "ephemeral" }),
    },
    { requiredKeys: ["type", "text"] },
  )

const image: Block = {
  type: "image",
  source: { type: "base64", media_type: "image/png", data: "x".repeat(400) },
}
const unknownBlock: fc.Arbitrary<Block> = fc.constantFrom(
  image,
  { type: "document", source: { type: "text", data: "y".repeat(400) } },
  { type: "hologram", text: "z".repeat(400) },
  { type: "text", text: 7 },
  { text: "t".repeat(400) },
  null as unknown as Block,
)

const thinking: fc.Arbitrary<Block> = fc.oneof(
  fc.record({ type: fc.constant("thinking"), thinking: words, signature: fc.string() }),
  fc.record({ type: fc.constant("redacted_thinking"), data: fc.string() }),
)

const output = fc.oneof(words, fc.array(fc.oneof(textBlock(words), unknownBlock), { maxLength: 3 }))

/** A prompt, calls of tools with what they returned, and an answer. Any of these may be missing. */
const turn = fc
  .record({
    prompt: fc.oneof(userText, fc.array(fc.oneof(textBlock(userText), unknownBlock), { maxLength: 3 })),
    calls: fc.array(
      fc.record({
        before: fc.array(fc.oneof(thinking, textBlock(words), unknownBlock), { maxLength: 2 }),
        input: words,
        output,
        beside: fc.array(textBlock(userText), { maxLength: 1 }),
      }),
      { maxLength: 3 },
    ),
    answer: fc.option(
      fc.oneof(words, fc.array(fc.oneof(thinking, textBlock(words), unknownBlock), { maxLength: 3 })),
      { nil: undefined },
    ),
    system: fc.option(words, { nil: undefined, freq: 8 }),
  })
  .map(({ prompt, calls, answer, system }) => (n: number): Message[] => [
    { role: "user", content: prompt },
    ...calls.flatMap(({ before, input, output: content, beside }, m): Message[] => {
      const id = `toolu_${n}_${m}`
      return [
        { role: "assistant", content: [...before, { type: "tool_use", id, name: "Bash", input: { input } }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: id, content }, ...beside] },
      ]
    }),
    ...(answer === undefined ? [] : [{ role: "assistant", content: answer }]),
    ...(system === undefined ? [] : [{ role: "system", content: system }]),
  ])

const conversation: fc.Arbitrary<Message[]> = fc
  .array(turn, { minLength: 1, maxLength: 14, size: "max" })
  .map((turns) => turns.flatMap((made, n) => made(n)))

const options: fc.Arbitrary<PruneOptions> = fc.record({
  keep: fc.integer({ min: 0, max: 4 }),
  threshold: fc.constantFrom(0, 1, 300, 1500),
  step: fc.constantFrom(0, 1, 200, 800),
  maxChars: fc.constantFrom(0, 1, 20, 80),
  results: fc.boolean(),
})

/** A vault that lacks some blocks, mostly none: always the same ones. */
const vault: fc.Arbitrary<HandleOf> = fc.constantFrom(1e9, 1e9, 30, 6, 2).map((nth): HandleOf => {
  return (block) => {
    const hash = Bun.hash.xxHash32(JSON.stringify(block))
    return hash % nth === 0 ? undefined : `ctx:${(hash % 1679616).toString(36).padStart(4, "0")}`
  }
})

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))
const blocksOf = ({ content }: Message): readonly Block[] =>
  typeof content === "string" ? [{ type: "text", text: content }] : content

function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const inner of Object.values(value)) frozen(inner)
  }
  return value
}

/** Enough of the conversations must be pruned: of others, a property says little. */
function always(check: (messages: Message[], options: PruneOptions, handleOf: HandleOf) => void): void {
  let cuts = 0
  fc.assert(
    fc.property(conversation, options, vault, (messages, how, handleOf) => {
      if (pruneMessages(messages, how, handleOf).pruned.length > 0) cuts++
      check(messages, how, handleOf)
    }),
    { numRuns: RUNS },
  )
  expect(cuts).toBeGreaterThan(RUNS / 10)
}

describe("once", () => {
  test("it takes nothing from its input, and a second time changes nothing", () => {
    always((messages, how, handleOf) => {
      const json = JSON.stringify(messages)
      const once = pruneMessages(frozen(messages), how, handleOf)
      expect(JSON.stringify(messages)).toBe(json)
      const twice = pruneMessages(once.messages, how, handleOf)
      expect(twice.pruned).toEqual([])
      expect(twice.messages).toBe(once.messages)
    })
  })

  test("it is smaller by at least what it says, or the same", () => {
    always((messages, how, handleOf) => {
      const { messages: after, pruned } = pruneMessages(messages, how, handleOf)
      const saved = pruned.reduce((sum, one) => sum + one.saved, 0)
      expect(pruned.filter((one) => one.saved <= 0)).toEqual([])
      expect(bytesOf(after)).toBeLessThanOrEqual(bytesOf(messages) - saved)
      expect(after === messages).toBe(pruned.length === 0)
      // A surrogate pair that was whole is whole.
      const isWhole = JSON.stringify(messages).isWellFormed() && !JSON.stringify(messages).includes("\\ud")
      if (isWhole) expect(JSON.stringify(after)).not.toContain("\\ud")
    })
  })

  test("every call and every result stays, in its order and with its id", () => {
    const pairs = (messages: readonly unknown[]): unknown[] =>
      (messages as Message[]).flatMap((message) =>
        blocksOf(message).flatMap((block) => {
          if (block?.["type"] === "tool_use") return [block]
          return block?.["type"] === "tool_result" ? [block["tool_use_id"]] : []
        }),
      )
    always((messages, how, handleOf) => {
      expect(pairs(pruneMessages(messages, how, handleOf).messages)).toEqual(pairs(messages))
    })
  })

  test("what the vault lacks stays, and so does all that is neither words, thinking nor output", () => {
    always((messages, how, handleOf) => {
      const { messages: after, pruned } = pruneMessages(messages, how, handleOf)
      const left = new Set(
        (after as Message[]).flatMap(({ content }) => (typeof content === "string" ? [] : content)),
      )
      const places = new Map(pruned.map((one) => [`${one.message}/${one.block}`, one]))
      for (const [n, message] of messages.entries()) {
        for (const [m, block] of blocksOf(message).entries()) {
          const place = places.get(`${n}/${m}`)
          if (place === undefined) {
            expect(typeof message.content === "string" ? after.includes(message) : left.has(block)).toBe(true)
            continue
          }
          expect(handleOf(block, message.role as "user")).toBe(place.handle)
          const types = {
            text: ["text"],
            thinking: ["thinking", "redacted_thinking"],
            result: ["tool_result"],
          }
          expect(types[place.kind]).toContain(block["type"] as string)
          if (place.kind === "result") expect(how.results).toBe(true)
        }
      }
    })
  })

  test("the current prompt and all that follows it stay whole", () => {
    always((messages, how, handleOf) => {
      const after = pruneMessages(messages, how, handleOf).messages
      const isPrompt = ({ role, content }: Message): boolean =>
        role === "user" && !(Array.isArray(content) && content.some((block) => block?.type === "tool_result"))
      const current = messages.findLastIndex(isPrompt)
      const rest = messages.slice(current)
      const left = after.slice(-rest.length)
      for (const [n, message] of rest.entries()) expect(left[n]).toBe(message)
    })
  })

  test("anything else passes as it is", () => {
    const anything = fc.array(
      fc.oneof(
        fc.jsonValue(),
        fc.record({ role: fc.constantFrom("system", "tool", 1, null), content: fc.jsonValue() }),
        fc.record({
          role: fc.constantFrom("user", "assistant"),
          content: fc.constantFrom(null, 1, {}, [1], [[]]),
        }),
      ),
    )
    fc.assert(
      fc.property(anything, options, vault, (messages, how, handleOf) => {
        expect(pruneMessages(messages, how, handleOf)).toEqual({ messages, pruned: [] })
      }),
    )
  })
})

describe("as the conversation goes on", () => {
  test("what was pruned is pruned in the same way ever after", () => {
    always((messages, how, handleOf) => {
      let before: string[] = []
      for (let length = 1; length <= messages.length; length++) {
        const { pruned } = pruneMessages(messages.slice(0, length), how, handleOf)
        const now = pruned.map((one) => JSON.stringify(one))
        expect(before.filter((one) => !now.includes(one))).toEqual([])
        before = now
      }
    })
  })

  test("what was sent is sent again byte for byte, unless a human speaks and a step is gained", () => {
    let moves = 0
    always((messages, how, handleOf) => {
      let before = pruneMessages([], how, handleOf)
      for (const [n, message] of messages.entries()) {
        const now = pruneMessages(messages.slice(0, n + 1), how, handleOf)
        const isPrefix = JSON.stringify(now.messages).startsWith(JSON.stringify(before.messages).slice(0, -1))
        if (!isPrefix) {
          moves++
          expect(message.role).toBe("user")
          expect(blocksOf(message).some((block) => block?.["type"] === "tool_result")).toBe(false)
          const gained = now.pruned.filter(({ kind }) => kind !== "thinking")
          const had = before.pruned.filter(({ kind }) => kind !== "thinking")
          const sum = (list: typeof gained): number => list.reduce((total, one) => total + one.saved, 0)
          expect(sum(gained) - sum(had)).toBeGreaterThanOrEqual(Math.max(1, how.step))
        }
        before = now
      }
    })
    expect(moves).toBeGreaterThan(RUNS / 10)
  })

  test("no thinking is left that was signed with what has changed since", () => {
    always((messages, how, handleOf) => {
      // What the API saw when each message was made.
      const seen = messages.map((_, n) =>
        JSON.stringify(pruneMessages(messages.slice(0, n), how, handleOf).messages),
      )
      const after = pruneMessages(messages, how, handleOf).messages as Message[]
      for (const [n, message] of messages.entries()) {
        const thoughts = blocksOf(message).filter(
          (block) => message.role === "assistant" && `${block?.["type"]}`.endsWith("thinking"),
        )
        const stays = after.findIndex(
          ({ content }) => typeof content !== "string" && content?.includes(thoughts[0]!),
        )
        if (stays === -1) continue
        expect(JSON.stringify(after.slice(0, stays))).toBe(seen[n]!)
      }
    })
  })
})

describe("a cut that is remembered", () => {
  test("moves forward only, to a prompt, and never past the current one", () => {
    always((messages, how, handleOf) => {
      let before = UNCUT
      for (let length = 1; length <= messages.length; length++) {
        const said = messages.slice(0, length)
        const now = findCut(said, how, handleOf)
        expect(now.texts).toBeGreaterThanOrEqual(before.texts)
        expect(now.thoughts).toBeGreaterThanOrEqual(before.thoughts)
        if (now.texts !== before.texts) {
          expect(now.thoughts).toBe(currentPrompt(said)!)
          expect(now.texts).toBeLessThanOrEqual(now.thoughts)
        }
        before = now
      }
    })
  })

  test("takes the same from the same, whatever follows it, and touches nothing behind it", () => {
    always((messages, how, handleOf) => {
      const cut = findCut(messages, how, handleOf)
      const end = Math.max(cut.texts, cut.thoughts)
      const whole = pruneAt(messages, cut, how, handleOf)
      for (let length = end; length <= messages.length; length++) {
        const { messages: pruned } = pruneAt(messages.slice(0, length), cut, how, handleOf)
        const behind = length - end
        expect(pruned.slice(pruned.length - behind)).toEqual(messages.slice(end, length))
        expect(JSON.stringify(whole.messages.slice(0, pruned.length))).toBe(JSON.stringify(pruned))
      }
      for (const { kind, message } of whole.pruned)
        expect(message).toBeLessThan(kind === "thinking" ? cut.thoughts : cut.texts)
    })
  })

  test("the current prompt is the first that was said since the last answer, or before it", () => {
    always((messages) => {
      const kinds = messages.map((message) => prunable(message, WHOLE, () => undefined))
      const last = kinds.findLastIndex(({ isPrompt }) => isPrompt)
      const answered = kinds.slice(0, Math.max(0, last)).findLastIndex(({ role }) => role === "assistant")
      const first = kinds.findIndex(({ isPrompt }, n) => n > answered && isPrompt)
      expect(currentPrompt(messages)).toBe(first === -1 ? undefined : first)
    })
  })
})

const WHOLE = { maxChars: Number.POSITIVE_INFINITY, results: false }
