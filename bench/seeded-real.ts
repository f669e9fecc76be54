/**
 * Transcripts whose turns are as long as those of real sessions, 35 KB of content in the mean and 10 KB in the median: the
 * same ones for the same seed.
 */
import { Dice, quantiles } from "../src/cli/bench/seeded-random.ts"
import { sentence } from "./seeded-words.ts"

/** UTF-16 units of a turn: log-normal, with its long tail cut off. */
const TURN = quantiles(
  "0 150, 0.1 1300, 0.25 3400, 0.5 10000, 0.75 29000, 0.9 76000, 0.95 135000, 0.99 395000, 1 600000",
)
/** The same of what one tool gives back. */
const RESULT = quantiles("0 20, 0.5 1500, 0.9 12000, 1 60000")

/** What tools print: code, lists of files, logs. */
function printed(dice: Dice, length: number): string {
  const lines: string[] = []
  // What belongs together repeats its names.
  const names = sentence(dice, 60).split(" ")
  for (let have = 0; have < length; have += lines.at(-1)!.length + 1) {
    const [a, c, d] = [names, names, names].map((from) => dice.skewed(from)) as [string, string, string]
    const b = names[(names.indexOf(a) + dice.between(1, 3)) % names.length]!
    const kind = dice.between(0, 9)
    if (kind < 4)
      lines.push(`${dice.between(1, 900)}\t  const ${a}${capital(b)} = ${c}.get${capital(d)}(${a}, "${b}")`)
    else if (kind < 5)
      lines.push(`src/${a}/${b}-${c}.ts:${dice.between(1, 900)}: ${c} ${sentence(dice, 2)} ${d}`)
    else if (kind < 6)
      lines.push(`${dice.chance(0.3) ? dice.hex(9) : c} ${a}_${b} ${dice.between(0, 99999)} ms`)
    else if (kind < 7) lines.push(`      return ${a} === ${b} ? ${c}() : { ${d}: ${dice.between(0, 99)} }`)
    else lines.push(Array.from({ length: dice.between(3, 18) }, () => dice.skewed(names)).join(" "))
  }
  return lines.join("\n")
}

const capital = (word: string): string => word[0]!.toUpperCase() + word.slice(1)

/** Of one session. */
export function realTranscript(seed: number, turns: number): { id: string; lines: string[] } {
  const dice = new Dice(seed)
  const id = dice.uuid()
  const start = Date.UTC(2026, 0, 1) + seed * 3_600_000
  const lines: string[] = []
  const add = (type: "user" | "assistant", content: unknown): void => {
    const message = type === "user" ? { role: type, content } : { id: dice.id("msg"), role: type, content }
    const timestamp = new Date(start + lines.length * 2000).toISOString()
    const cwd = `/home/dev/project-${seed % 20}`
    lines.push(JSON.stringify({ type, uuid: dice.uuid(), sessionId: id, cwd, timestamp, message }))
  }
  for (let turn = 0; turn < turns; turn++) {
    let left = dice.sample(TURN)
    add("user", sentence(dice, dice.between(4, 40)))
    while (left > 300) {
      const tool = dice.id("toolu")
      const length = Math.min(left, dice.sample(RESULT))
      add("assistant", [{ type: "tool_use", id: tool, name: "Bash", input: { command: sentence(dice, 5) } }])
      add("user", [{ type: "tool_result", tool_use_id: tool, content: printed(dice, length) }])
      left -= length + 100
    }
    add("assistant", [{ type: "text", text: sentence(dice, dice.between(10, 60)) }])
  }
  return { id, lines }
}
