/** However a patched client's conversation goes on: the API gets nothing that it would refuse, or has to read anew. */
import { expect, test } from "bun:test"
import fc from "fast-check"
import { answerPatch, type PatchQuestion } from "../../src/prune/patch/answer-patch.ts"
import type { PruneOptions } from "../../src/prune/prune-messages.ts"
import { misplacedThought, signed } from "../host/bound-thoughts.ts"
import type { Message } from "../host/mock-api.ts"
import { inserted, type OwnBlock, type OwnMessage } from "../support/inserted.ts"

const RUNS = 200
const HANDLE = "ctx:abc123"

const length = fc.constantFrom(10, 150, 400, 900)

interface Step {
  readonly prompt: number
  /** Or a block, and then all of an answer is one message. */
  readonly isString: boolean
  readonly answer: number
  readonly calls: readonly boolean[]
  readonly thinks: boolean
  /** The vault gets what was said only at the next prompt but one. */
  readonly lags: boolean
  /** What is asked does not answer, or in another way. */
  readonly answers: "well" | "not" | "nonsense"
  /** What Claude Code adds to a prompt by itself. */
  readonly reminds: boolean
  /** The user went back to the prompt before. */
  readonly goesBack: boolean
  /** Something else asks, with what was said so far. */
  readonly forks: boolean
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    prompt: length,
    isString: fc.boolean(),
    answer: length,
    calls: fc.array(fc.boolean(), { maxLength: 3 }),
    thinks: fc.boolean(),
    lags: fc.boolean(),
    answers: fc.constantFrom("well", "well", "well", "not", "nonsense"),
    reminds: fc.boolean(),
    goesBack: fc.integer({ min: 0, max: 7 }).map((n) => n === 0),
    forks: fc.boolean(),
  }),
  { minLength: 3, maxLength: 12, size: "max" },
)

const options: fc.Arbitrary<PruneOptions> = fc.record({
  keep: fc.integer({ min: 1, max: 3 }),
  threshold: fc.constantFrom(300, 800, 2000),
  step: fc.constantFrom(1, 400),
  maxChars: fc.constantFrom(0, 20),
  results: fc.constant(false),
})

/** As Claude Code sends its own messages. */
function sentAs(messages: readonly OwnMessage[]): Message[] {
  const all: { role: string; content: OwnBlock[] }[] = []
  for (const { type, message } of messages) {
    if (message === undefined) continue
    const content = typeof message.content === "string" ? [text(message.content)] : message.content
    const last = all.at(-1)
    if (last?.role === type) last.content.push(...content)
    else all.push({ role: type, content: [...content] })
  }
  return all
}

const text = (words: string): OwnBlock => ({ type: "text", text: words })

const blocksOf = (sent: readonly Message[]): string[] =>
  sent.flatMap(({ role, content }) => (content as OwnBlock[]).map((block) => JSON.stringify([role, block])))

interface Played {
  readonly moves: number
  readonly changes: number
}

async function play(turns: readonly Step[], how: PruneOptions): Promise<Played> {
  const held = new Set<string>()
  let late: string[] = []
  let answers: Step["answers"] = "well"
  let moves = 0
  let furthest = 0
  let getsOn = true
  const vault = {
    refresh() {},
    handleOf: (block: object) => (held.has(JSON.stringify(block)) ? HANDLE : undefined),
  }
  const { prune, applied } = inserted((question) => {
    if (answers === "not") throw new Error("it is gone")
    if (answers === "nonsense") return '{"cut":{},"edits":[{"message":-1}]}'
    const told = answerPatch(JSON.parse(question) as PatchQuestion, vault, { ...how, results: false })
    if (told.cut !== undefined) {
      moves++
      // Each cut has its price, so it must get on.
      getsOn &&= told.cut.whole > furthest
      furthest = told.cut.whole
    }
    return JSON.stringify(told)
  })

  let count = 0
  let stored: OwnMessage[] = []
  let before: string[] = []
  let changes = 0
  const own = (type: string, content: string | OwnBlock[], flags = {}): OwnMessage =>
    deepFrozen({ type, uuid: `u${count++}`, ...flags, message: { content } })

  async function sent(messages: readonly OwnMessage[], isOwn = true) {
    const pruned = await prune(messages, isOwn ? {} : { agentId: "a1" })
    const request = sentAs(pruned)
    expect(misplacedThought(request)).toBeUndefined()
    if (isOwn) {
      const blocks = blocksOf(request)
      if (before.some((block, n) => block !== blocks[n])) changes++
      before = blocks
    }
    // What it has sent, it may hand on.
    expect(JSON.stringify(applied(pruned))).toBe(JSON.stringify(pruned))
    return { pruned, request }
  }

  const turnsAt: number[] = []
  for (const turn of turns) {
    answers = turn.answers
    if (turn.goesBack && turnsAt.length > 1) {
      stored = stored.slice(0, turnsAt.pop())
      before = []
      furthest = 0
    }
    turnsAt.push(stored.length)
    const words = `${count} ${"p".repeat(turn.prompt)}`
    const asked: OwnMessage[] = [{ type: "progress", uuid: `u${count++}` }]
    if (turn.reminds) asked.push(own("user", "m".repeat(900), { isMeta: true }))
    asked.push(own("user", turn.isString ? words : [text(words)]))
    stored.push(...asked)
    let running: readonly OwnMessage[] = [...stored]
    const say = async (thinks: boolean, block: OwnBlock): Promise<void> => {
      const { pruned, request } = await sent(running)
      const last = request.at(-1)!
      // What is worked on is whole.
      expect(JSON.stringify(last)).not.toContain(HANDLE)
      if (turn.reminds) expect(JSON.stringify(request)).toContain("m".repeat(900))
      const thought = { type: "thinking", thinking: `thought ${count}`, signature: signed(request) }
      const said = turn.isString
        ? [...(thinks ? [own("assistant", [thought])] : []), own("assistant", [block])]
        : [own("assistant", thinks ? [thought, block] : [block])]
      stored.push(...said)
      running = [...pruned, ...said]
    }
    for (const thinks of turn.calls) {
      const id = `toolu_${count++}`
      await say(thinks, { type: "tool_use", id, name: "Bash", input: {} })
      const output = own("user", [{ type: "tool_result", tool_use_id: id, content: "o".repeat(900) }])
      stored.push(output)
      running = [...running, output]
    }
    await say(turn.thinks, text(`${count} ${"a".repeat(turn.answer)}`))
    if (turn.forks) await sent([...stored, own("user", "What next?")], false)

    for (const name of late) held.add(name)
    late = stored.slice(turnsAt.at(-1)).flatMap(({ message }) => {
      const content = message?.content ?? []
      return (typeof content === "string" ? [text(content)] : content).map((block) => JSON.stringify(block))
    })
    if (!turn.lags) for (const name of late.splice(0)) held.add(name)
  }
  expect(getsOn).toBe(true)
  return { moves, changes }
}

function deepFrozen<T>(value: T): T {
  if (typeof value === "object" && value !== null) for (const part of Object.values(value)) deepFrozen(part)
  return Object.freeze(value)
}

test("no thought is sent after something else than what led to it, and each cut changes what was sent once", async () => {
  let moved = 0
  await fc.assert(
    fc.asyncProperty(steps, options, async (turns, how) => {
      const { moves, changes } = await play(turns, how)
      expect(changes).toBeLessThanOrEqual(moves)
      if (moves > 0) moved++
    }),
    { numRuns: RUNS },
  )
  expect(moved).toBeGreaterThan(RUNS / 10)
})
