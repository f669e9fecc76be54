/** A turn's parts in the order of a page: each call with its result, each compaction with what belongs to it. Pure. */

import { isGivenBack } from "../../../record/our-marks.ts"
import type { Part } from "../../../record/types.ts"
import type { ToldPart, TurnMessage } from "../../../views/turn.ts"

type Of<K extends Part["kind"]> = Extract<ToldPart, { readonly kind: K }>

export interface CallItem {
  readonly kind: "call"
  /** Undefined: the turn has only the result. */
  readonly use: Of<"toolUse"> | undefined
  /** Undefined while unanswered. */
  readonly result: Of<"toolResult"> | undefined
  readonly media: readonly Of<"media">[]
}

export interface CompactionItem {
  readonly kind: "compaction"
  readonly boundary: Of<"boundary">
  readonly time: string | null
  readonly summary: string | undefined
  readonly restored: string | undefined
}

interface PlainItem {
  readonly kind: "part"
  readonly part: ToldPart
}

export type TurnItem = CallItem | CompactionItem | PlainItem

/** Items of the turn itself, or of a subagent that worked within its transcript. */
interface Stretch {
  readonly sidechain: boolean
  readonly items: readonly TurnItem[]
}

export function stretchesOf(messages: readonly TurnMessage[]): Stretch[] {
  const taken = new Set<ToldPart>()
  const results = resultsIn(messages)
  const stretches: { sidechain: boolean; items: TurnItem[] }[] = []
  for (const [n, { parts, sidechain, time }] of messages.entries()) {
    for (const part of parts) {
      if (taken.has(part)) continue
      const item = itemOf(part, () => ({ results, taken, later: messages.slice(n), time }))
      if (item === undefined) continue
      if (stretches.at(-1)?.sidechain !== sidechain) stretches.push({ sidechain, items: [] })
      stretches.at(-1)!.items.push(item)
    }
  }
  return stretches
}

interface Result {
  readonly part: Of<"toolResult">
  readonly media: readonly Of<"media">[]
}

interface Around {
  readonly results: ReadonlyMap<string, Result>
  readonly taken: Set<ToldPart>
  readonly later: readonly TurnMessage[]
  readonly time: string | null
}

function itemOf(part: ToldPart, around: () => Around): TurnItem | undefined {
  switch (part.kind) {
    case "toolUse":
    case "toolResult": {
      const { results, taken } = around()
      const found = results.get(part.id)
      const use = part.kind === "toolUse" ? part : undefined
      if (found === undefined || taken.has(found.part))
        return {
          kind: "call",
          use,
          result: use === undefined ? (part as Of<"toolResult">) : undefined,
          media: [],
        }
      for (const one of [found.part, ...found.media]) taken.add(one)
      return { kind: "call", use, result: found.part, media: found.media }
    }
    case "boundary":
      return compaction(part, around())
    case "title":
      return undefined
    default:
      return { kind: "part", part }
  }
}

/** The first result of each call, with the images behind it. */
function resultsIn(messages: readonly TurnMessage[]): Map<string, Result> {
  const found = new Map<string, Result>()
  for (const { parts } of messages) {
    for (const [n, part] of parts.entries()) {
      if (part.kind !== "toolResult" || found.has(part.id)) continue
      const behind = parts.slice(n + 1)
      const end = behind.findIndex(({ kind }) => kind !== "media")
      found.set(part.id, { part, media: behind.slice(0, end < 0 ? undefined : end) as Of<"media">[] })
    }
  }
  return found
}

/** With the summary and the restored text that follow before anything is said. */
function compaction(boundary: Of<"boundary">, { later, taken, time }: Around): CompactionItem {
  let summary: string | undefined
  let restored: string | undefined
  let isBehind = false
  for (const part of later.flatMap(({ parts }) => parts)) {
    if (part === boundary) isBehind = true
    else if (isBehind && (part.kind === "boundary" || part.kind === "text" || part.kind === "toolUse")) break
    else if (isBehind && part.kind === "summary" && summary === undefined) {
      summary = part.text
      taken.add(part)
    } else if (isBehind && isGivenBack(part) && restored === undefined && "text" in part) {
      restored = part.text
      taken.add(part)
    }
  }
  return { kind: "compaction", boundary, time, summary, restored }
}
