/** However a conversation goes on while it is pruned: the API gets nothing that it would refuse, or has to read anew. */
import { expect, test } from "bun:test"
import fc from "fast-check"
import { prunedConversation } from "../../src/prune/held-blocks.ts"
import type { PruneOptions } from "../../src/prune/prune-messages.ts"
import { pruneMessages } from "../support/pruned.ts"

interface Block {
  readonly type: string
  readonly [field: string]: unknown
}

interface Message {
  readonly role: "user" | "assistant"
  readonly content: readonly Block[]
}

const RUNS = 300

/** Signs a thought with all that precedes it, as the API does. */
const signature = (before: readonly unknown[]): string => String(Bun.hash.xxHash64(JSON.stringify(before)))

const isThinking = ({ type }: Block): boolean => type === "thinking"

/** What the API would refuse: thoughts after something else than what led to them. */
function refused(sent: readonly Message[]): string[] {
  return sent.flatMap(({ content }, n) =>
    content
      .filter(isThinking)
      .filter((block) => block["signature"] !== signature(sent.slice(0, n)))
      .map((block) => `message ${n} of ${sent.length}: ${String(block["thinking"])}`),
  )
}

const length = fc.constantFrom(10, 150, 400, 900)

interface Step {
  readonly prompt: number
  readonly answer: number
  /** Requests of this turn before the last one, each followed by a tool's output. */
  readonly calls: readonly { readonly thinks: boolean; readonly output: number; readonly isAside: boolean }[]
  readonly thinks: boolean
  /** The vault gets what was said only at the next prompt but one. */
  readonly lags: boolean
  /** Whoever prunes begins anew, as when a proxy was restarted. */
  readonly restarts: boolean
  /** So much time has passed that the API's cache has expired. */
  readonly pauses: boolean
  /** The request gets no answer and is sent again. */
  readonly retries: boolean
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    prompt: length,
    answer: length,
    calls: fc.array(fc.record({ thinks: fc.boolean(), output: length, isAside: fc.boolean() }), {
      maxLength: 3,
    }),
    thinks: fc.boolean(),
    lags: fc.boolean(),
    restarts: fc.boolean(),
    pauses: fc.boolean(),
    retries: fc.boolean(),
  }),
  { minLength: 3, maxLength: 12, size: "max" },
)

const options: fc.Arbitrary<PruneOptions> = fc.record({
  keep: fc.integer({ min: 1, max: 3 }),
  threshold: fc.constantFrom(300, 800, 2000),
  step: fc.constantFrom(1, 400),
  maxChars: fc.constantFrom(0, 20),
  results: fc.boolean(),
  keepResults: fc.integer({ min: 1, max: 3 }),
  afterPause: fc.boolean(),
})

interface Played {
  readonly sent: readonly Message[][]
  readonly cuts: number
}

/** Plays a conversation whose client never changes what it has sent, and checks each request. */
function play(turns: readonly Step[], how: PruneOptions, allowed: { restarts: boolean }): Played {
  const held = new Set<string>()
  let late: string[] = []
  const nameOf = (block: Block): string => JSON.stringify(block)
  const begin = () =>
    prunedConversation(
      { refresh() {}, handleOf: (block) => (held.has(nameOf(block as Block)) ? "ctx:abc123" : undefined) },
      how,
    )
  let pruner = begin()
  /** As in the proxy: a conversation that goes on need not wait for a pause. */
  let [isOurs, moves] = [true, true]
  const messages: Message[] = []
  const sent: Message[][] = []
  let before: readonly Message[] = []
  let cuts = 0
  let count = 0

  function send(all: readonly Message[]): readonly Message[] {
    const pruned = pruner.prune(all, moves) as readonly Message[]
    if (pruned !== all) isOurs = true
    expect(refused(pruned)).toEqual([])
    sent.push([...pruned])
    return pruned
  }
  function request(thinks: boolean, block: Block): void {
    const pruned = send(messages)
    if (JSON.stringify(pruned.slice(0, before.length)) !== JSON.stringify(before)) cuts++
    before = pruned
    const thought = { type: "thinking", thinking: `thought ${count++}`, signature: signature(pruned) }
    messages.push({ role: "assistant", content: [...(thinks ? [thought] : []), block] })
  }

  for (const { prompt, answer, calls, thinks, lags, restarts, pauses, retries } of turns) {
    // If the vault lacks what was thought last, nobody can tell after what it was sent.
    if (allowed.restarts && restarts && late.length === 0) {
      pruner = begin()
      isOurs = false
    }
    moves = how.afterPause !== true || pauses || !isOurs
    const from = messages.length
    messages.push({ role: "user", content: [{ type: "text", text: `${count++} ${"p".repeat(prompt)}` }] })
    if (retries) send(messages)
    for (const call of calls) {
      const id = `toolu_${count++}`
      request(call.thinks, { type: "tool_use", id, name: "Bash", input: {} })
      const output = { type: "tool_result", tool_use_id: id, content: "o".repeat(call.output) }
      messages.push({ role: "user", content: [output] })
      if (call.isAside)
        send([...messages, { role: "user", content: [{ type: "text", text: "by the way?" }] }])
    }
    request(thinks, { type: "text", text: `${count++} ${"a".repeat(answer)}` })
    for (const name of late) held.add(name)
    late = []
    const said = messages.slice(from).flatMap(({ content }) => content.map(nameOf))
    if (lags) late = said
    else for (const name of said) held.add(name)
  }
  return { sent, cuts }
}

test("no thought is sent after something else than what led to it, and what was sent stays as it is between cuts", () => {
  let cut = 0
  fc.assert(
    fc.property(steps, options, (turns, how) => {
      const { sent, cuts } = play(turns, how, { restarts: false })
      const lengths = new Set(sent.map((messages) => prunedIn(messages)))
      expect(cuts).toBeLessThan(lengths.size)
      if (cuts > 0) cut++
    }),
    { numRuns: RUNS },
  )
  expect(cut).toBeGreaterThan(RUNS / 10)
})

test("and whoever prunes may begin anew in the middle", () => {
  fc.assert(
    fc.property(steps, options, (turns, how) => {
      play(turns, how, { restarts: true })
    }),
    { numRuns: RUNS },
  )
})

test("with everything in the vault, the texts are those of the rule alone", () => {
  fc.assert(
    fc.property(steps, options, (turns, asked) => {
      const how = { ...asked, afterPause: false }
      const swift = turns.map((turn) => ({
        ...turn,
        lags: false,
        calls: turn.calls.map((call) => ({ ...call, isAside: false })),
      }))
      const plain = swift.map((turn) => ({
        ...turn,
        thinks: false,
        calls: turn.calls.map((call) => ({ ...call, thinks: false })),
      }))
      const { sent } = play(plain, how, { restarts: false })
      const { sent: whole } = play(
        plain,
        { ...how, threshold: Number.POSITIVE_INFINITY },
        { restarts: false },
      )
      const last = whole.at(-1)!
      expect(pruneMessages(last, how, () => "ctx:abc123").messages).toEqual(sent.at(-1)!)
    }),
    { numRuns: RUNS },
  )
})

const prunedIn = (messages: readonly Message[]): number =>
  messages.flatMap(({ content }) => content).filter((block) => JSON.stringify(block).includes("ctx:abc123"))
    .length
