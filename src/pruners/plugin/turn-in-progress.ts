/**
 * The turn that an automatic compaction interrupts: its prompt stays a message of its own, and what was done since is
 * told in words. Claude Code could keep the calls as they are, but then it finds the way back past the compaction when
 * the session is resumed (seen in 2.1.330). Pure.
 */
import { userTextParts } from "../../claude/user-text.ts"
import { blockQuote, quoteInert } from "../../restore/quote.ts"
import { isObject, type JsonObject, stringOf } from "../../transcript/json.ts"
import { cut } from "../../util/text.ts"

/** A message as the plugin tells it. */
interface Message {
  readonly role: string
  /** Its beginning. */
  readonly text: string
  readonly isResult: boolean
  readonly calls: readonly Call[]
}

interface Call {
  readonly tool: string
  readonly input: unknown
  /** The beginning of what it returned. */
  readonly output: string
}

export interface TurnInProgress {
  /** Index of its prompt among the messages. */
  readonly prompt: number
  /** The beginning of the prompt. */
  readonly asked: string
  /** What was done since, oldest first. */
  readonly steps: readonly Message[]
}

/** @returns undefined if no turn was interrupted */
export function turnInProgress(trigger: unknown, messages: unknown): TurnInProgress | undefined {
  if (trigger !== "auto" || !Array.isArray(messages)) return undefined
  const told = messages.map(messageOf)
  const prompt = told.findLastIndex(isPrompt)
  return prompt < 0 ? undefined : { prompt, asked: told[prompt]!.text.trim(), steps: told.slice(prompt + 1) }
}

const isPrompt = ({ role, text, isResult }: Message): boolean =>
  role === "user" &&
  !isResult &&
  userTextParts(text, "human").some((part) => part.kind === "prompt" && part.via === "typed")

function messageOf(value: unknown): Message {
  const { role, text, isResult, calls } = isObject(value) ? value : ({} as JsonObject)
  return {
    role: stringOf(role) ?? "",
    text: stringOf(text) ?? "",
    isResult: isResult === true,
    calls: (Array.isArray(calls) ? calls : []).filter(isObject).map(({ tool, input, output }) => ({
      tool: stringOf(tool) ?? "",
      input,
      output: stringOf(output) ?? "",
    })),
  }
}

const SAID = 500
const CALL = 120
const OUTPUT = 2500
/** The latest steps are what the next one rests on. */
const STEPS = 30
const OUTPUTS = 3

/** @param most characters @returns `""` if nothing was done yet */
export function stepsText({ steps }: TurnInProgress, most: number): string {
  const lines: string[] = []
  let left = most
  let outputs = OUTPUTS
  for (const { role, text, calls } of steps.slice(-STEPS).toReversed()) {
    const told = calls.toReversed().flatMap(({ tool, input, output }) => {
      const line = `- ${callText(tool, input)}`
      if (output === "" || outputs-- <= 0) return [line]
      return [`${line}\n${blockQuote(cut(output.trimEnd(), OUTPUT))}`]
    })
    if (role === "assistant" && text.trim() !== "") told.push(blockQuote(cut(text.trim(), SAID)))
    for (const line of told) {
      if (line.length + 1 > left) return lines.toReversed().join("\n")
      lines.push(line)
      left -= line.length + 1
    }
  }
  return lines.toReversed().join("\n")
}

/** What a call is about is its first text, which tools put first. */
export function callText(tool: string, input: unknown): string {
  const values = isObject(input) ? Object.values(input) : []
  const first = values.find((value) => typeof value === "string")
  const name = quoteInert(tool, 60).slice(1, -1)
  return first === undefined ? name : `${name} ${quoteInert(first, CALL)}`
}
