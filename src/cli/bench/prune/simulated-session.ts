/** A session that nobody had: what people ask, how many tools are used, and how long everything is, by seeded dice. Pure. */
import type { SentMessage } from "../../../prune/savings.ts"
import { Dice, quantiles } from "../seeded-random.ts"
import type { PlayedSession, SessionStep } from "./prune-steps.ts"

const PROMPT = quantiles("0 20, 0.5 180, 0.9 1500, 0.98 8000, 1 40000")
const ANSWER = quantiles("0 60, 0.5 600, 0.9 3000, 1 9000")
const REMARK = quantiles("0 20, 0.5 120, 1 600")
const THOUGHT = quantiles("0 100, 0.5 500, 0.9 3000, 1 12000")
const OUTPUT = quantiles("0 20, 0.5 700, 0.9 8000, 0.98 25000, 1 60000")
const INPUT = quantiles("0 30, 0.5 150, 0.9 2500, 1 12000")
const CALLS = quantiles("0 0, 0.3 1, 0.7 5, 1 15")

/** As measured over real sessions (docs/measurements/prune-costs.md). */
const UNITS_PER_TOKEN = 3
const OVERHEAD = 40_000

const WORDS = "kiln glaze shelf cone clay slip batch ramp soak probe relay valve chart alarm vent".split(" ")

export function simulatedSession(seed: number, turns: number): PlayedSession {
  const dice = new Dice(seed)
  const steps: SessionStep[] = []
  let count = 0

  const words = (length: number): string => {
    let text = `${count++}`
    while (text.length < length) text += ` ${dice.pick(WORDS)}`
    return text.slice(0, Math.max(length, 1))
  }
  const text = (length: number) => ({ type: "text", text: words(length) })
  const thinking = () =>
    dice.chance(0.5)
      ? [{ type: "thinking", thinking: words(dice.sample(THOUGHT)), signature: dice.base64(400) }]
      : []
  const step = (news: SentMessage, content: SentMessage["content"]): void => {
    const units = content.reduce((sum, block) => sum + JSON.stringify(block).length, 0)
    steps.push({
      news: [news],
      answer: { role: "assistant", content },
      output: Math.round(units / UNITS_PER_TOKEN),
    })
  }

  for (let turn = 0; turn < turns; turn++) {
    let news: SentMessage = { role: "user", content: [text(dice.sample(PROMPT))] }
    for (let call = dice.sample(CALLS); call > 0; call--) {
      const id = dice.id("toolu")
      const remark = dice.chance(0.4) ? [text(dice.sample(REMARK))] : []
      const use = { type: "tool_use", id, name: "Bash", input: { command: words(dice.sample(INPUT)) } }
      step(news, [...thinking(), ...remark, use])
      const content = words(dice.sample(OUTPUT))
      news = { role: "user", content: [{ type: "tool_result", tool_use_id: id, content }] }
    }
    step(news, [...thinking(), text(dice.sample(ANSWER))])
  }
  return { name: `simulated, ${turns} turns`, unitsPerToken: UNITS_PER_TOKEN, overhead: OVERHEAD, steps }
}
