/** Transcripts of made-up sessions: the same ones for the same seed. */
import { Dice } from "../src/cli/bench/seeded-random.ts"
import { sentence } from "./seeded-words.ts"

const PROJECTS = 20

interface Wanted {
  readonly turns: number
  /** In each turn, with their results. */
  readonly calls: number
}

/** Turns of a prompt, calls with their results, and an answer. */
export function seededTranscript(seed: number, { turns, calls }: Wanted): { id: string; lines: string[] } {
  const dice = new Dice(seed)
  const id = dice.uuid()
  const cwd = `/home/dev/project-${seed % PROJECTS}`
  const start = Date.UTC(2026, 0, 1) + seed * 3_600_000
  const lines: string[] = []
  const add = (type: "user" | "assistant", content: unknown): void => {
    const message = type === "user" ? { role: type, content } : { id: dice.id("msg"), role: type, content }
    const timestamp = new Date(start + lines.length * 2000).toISOString()
    lines.push(JSON.stringify({ type, uuid: dice.uuid(), sessionId: id, cwd, timestamp, message }))
  }
  for (let turn = 0; turn < turns; turn++) {
    add("user", sentence(dice, dice.between(4, 40)))
    for (let call = 0; call < calls; call++) {
      const tool = dice.id("toolu")
      const command = sentence(dice, dice.between(3, 10))
      add("assistant", [{ type: "tool_use", id: tool, name: "Bash", input: { command } }])
      add("user", [{ type: "tool_result", tool_use_id: tool, content: sentence(dice, dice.between(5, 120)) }])
    }
    add("assistant", [{ type: "text", text: sentence(dice, dice.between(10, 60)) }])
  }
  return { id, lines }
}
