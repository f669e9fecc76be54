/** Alternatives that could be given back within the same number of characters, for comparison. Pure. */
import { importance } from "../../learn/importance.ts"
import { FACT_KINDS } from "../../transcript/facts.ts"
import type { Part, TranscriptRecord } from "../../transcript/types.ts"
import { oneLine } from "../../util/text.ts"
import type { FactsSeen } from "./needed-facts.ts"

/** Characters of a turn shown by the first design's rankings. */
const PREVIEW = 300

interface OldTurn {
  text: string
  tools: Set<string>
  files: Set<string>
  time: number
}

/** Turns as the first design kept them: a prompt, then answers, tools and files. */
export function oldTurns(records: readonly TranscriptRecord[]): OldTurn[] {
  const turns: OldTurn[] = []
  for (const { parts, sidechain, timestamp } of records) {
    if (sidechain) continue
    for (const part of parts) {
      if (part.kind === "prompt") {
        const time = Date.parse(timestamp ?? "") || 0
        turns.push({ text: part.text, tools: new Set(), files: new Set(), time })
      } else addTo(turns.at(-1), part)
    }
  }
  return turns
}

function addTo(turn: OldTurn | undefined, part: Part): void {
  if (turn === undefined) return
  if (part.kind === "text") turn.text += ` | ${part.text}`
  if (part.kind !== "toolUse") return
  turn.tools.add(part.name)
  const path = (part.input as { file_path?: unknown } | null)?.file_path
  if (typeof path === "string") turn.files.add(path)
}

/** Newest first. */
export const byRecency = (turns: readonly OldTurn[], budget: number): string =>
  listed([...turns].reverse(), budget)

/** Nothing has been used yet when a session is compacted. */
export function byImportance(turns: readonly OldTurn[], budget: number): string {
  const now = Math.max(0, ...turns.map(({ time }) => time))
  const score = ({ time: born, tools, files }: OldTurn): number =>
    importance({ born, uses: 0, hasTools: tools.size > 0, hasFiles: files.size > 0 }, now)
  return listed(
    [...turns].reverse().sort((a, b) => score(b) - score(a)),
    budget,
  )
}

function listed(turns: readonly OldTurn[], budget: number): string {
  let text = ""
  for (const { text: words, tools, files } of turns) {
    const line = `- ${oneLine(words).slice(0, PREVIEW)} Tools: ${[...tools].join(", ")} Files: ${[...files].join(", ")}\n`
    if (text.length + line.length > budget) break
    text += line
  }
  return text
}

/** The last characters of the conversation. */
export function rawTail(records: readonly TranscriptRecord[], budget: number): string {
  let text = ""
  for (let n = records.length - 1; n >= 0 && text.length < budget; n--) {
    if (records[n]!.sidechain) continue
    for (const part of [...records[n]!.parts].reverse()) text = `${textOf(part)}\n${text}`
  }
  return text.slice(-budget)
}

function textOf(part: Part): string {
  if (part.kind === "toolUse") return JSON.stringify(part.input) ?? ""
  return part.kind === "prompt" || part.kind === "text" || part.kind === "toolResult" ? part.text : ""
}

/** Bare lists, with a quarter of the characters for each kind. */
export function bareLists(before: FactsSeen, budget: number): string {
  const now = Math.max(
    0,
    ...FACT_KINDS.flatMap((kind) => [...before[kind].values()].map(({ latest }) => latest)),
  )
  let text = ""
  for (const kind of FACT_KINDS) {
    const ranked = [...before[kind]].sort(([, a], [, b]) => weight(b) - weight(a))
    let room = Math.floor(budget / FACT_KINDS.length)
    for (const [fact] of ranked) {
      if (fact.length + 1 > room) break
      text += `${fact}\n`
      room -= fact.length + 1
    }
  }
  return text
  function weight({ times, latest }: { times: number; latest: number }): number {
    return times / (now - latest + 1)
  }
}
