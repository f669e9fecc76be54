/** A session whose tokens are known, with a pause before each prompt: what pruning it would save can be foretold. */
import type { Transcript } from "./transcript.ts"

const START = Date.parse("2026-05-04T08:00:00Z")
const CALLS = 4

interface Paused {
  readonly turns: number
  /** Minutes before each prompt. What was sent stays in the cache for five. */
  readonly pause: number
  /** Characters of each tool's output. */
  readonly output?: number
  readonly model?: string
}

/** Written, not yet flushed. Three units of JSON are a token, and 30,000 tokens come before all messages. */
export function pausedSession(
  it: Transcript,
  { turns, pause, output = 9_000, model = "claude-opus-4-6" }: Paused,
): Transcript {
  let time = START
  let sent = 0
  let units = 0
  const stamped = () => ({ timestamp: new Date(time).toISOString() })
  const said = (content: object[]): object[] => {
    units += content.reduce((sum, block) => sum + JSON.stringify(block).length, 0)
    return content
  }
  const answer = (block: { type: string }, isCold: boolean): void => {
    const tokens = 30_000 + Math.round(units / 3)
    const cached = isCold ? 0 : sent
    const usage = {
      input_tokens: 0,
      cache_read_input_tokens: cached,
      cache_creation_input_tokens: tokens - cached,
      output_tokens: 50,
    }
    it.message().block(block, stamped(), { usage, model })
    said([block])
    sent = tokens
  }
  for (let turn = 0; turn < turns; turn++) {
    time += pause * 60_000
    it.user(said([{ type: "text", text: `Make part ${turn} of the boat, please.` }]), stamped())
    for (let call = 0; call < CALLS; call++) {
      const id = `toolu_${turn}_${call}`
      answer(
        { type: "tool_use", id, name: "Bash", input: { command: "make" } } as { type: string },
        call === 0 && pause >= 5,
      )
      time += 2_000
      it.user(
        said([{ type: "tool_result", tool_use_id: id, content: `${id} ${"o".repeat(output)}` }]),
        stamped(),
      )
    }
    answer({ type: "text", text: `Part ${turn} is made.` } as { type: string }, false)
  }
  return it
}
