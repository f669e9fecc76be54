/** What is shown of an entry that was found elsewhere. Others may have written it: its texts are filtered again. Pure. */
import type { Entry } from "../backends/entry.ts"
import { cut, oneLine } from "../util/text.ts"
import { farHandle } from "./far-handle.ts"
import type { Hit } from "./hit.ts"
import { roomOfHits } from "./hit-budget.ts"
import { passagesOf } from "./passages.ts"
import type { Sought } from "./snippet.ts"

/** Where it was found. */
export interface FarPlace {
  /** As shown to people: a path, or an address without its password. */
  readonly target: string
  /** Name of the computer that sent it. */
  readonly machine: string | null
  /** The entry's. */
  readonly id: string
}

export interface FarHit extends Omit<Hit, "role"> {
  /** `far:` and the beginning of the entry's id, or `ctx:` and the turn's own handle if the archive here has it, too. */
  readonly handle: string
  /** An entry is a whole turn, which nobody said alone. */
  readonly role: null
  readonly summary: string
  readonly far: FarPlace
}

/** UTF-16 units for all hits, for the summary of one, and the least for its passages. */
const ROOM = 4000
const LONGEST_SUMMARY = 150
const LEAST = 100
/** Of names that others made up. */
const LONGEST_NAME = 400

export type FarEntry = Omit<Entry, "vector">

/** @param filter fills secrets in a text */
export const filtered = (entry: FarEntry, filter: (text: string) => string): FarEntry => ({
  ...entry,
  summary: cut(filter(entry.summary), LONGEST_SUMMARY),
  content: filter(entry.content),
  metadata: {
    ...entry.metadata,
    ...(entry.metadata.machine !== undefined && { machine: nameOf(entry.metadata.machine, filter) }),
    sessionId: nameOf(entry.metadata.sessionId, filter),
    project: entry.metadata.project === null ? null : nameOf(entry.metadata.project, filter),
    toolNames: entry.metadata.toolNames.map((name) => nameOf(name, filter)),
    filePaths: entry.metadata.filePaths.map((path) => nameOf(path, filter)),
  },
})

const nameOf = (text: string, filter: (text: string) => string): string =>
  cut(oneLine(filter(text)), LONGEST_NAME)

/** @param handleHere the handle of the turn if the archive here has it */
export function farHitsOf(
  entries: readonly FarEntry[],
  sought: Sought,
  target: string,
  handleHere: (entry: FarEntry) => string | undefined,
): FarHit[] {
  const rooms = roomOfHits(
    entries.map(({ content }) => ({ score: 1, wants: content.length })),
    ROOM,
  )
  return entries.map((entry, n) => {
    const { id, summary, content, metadata } = entry
    const part = { text: content, isProse: true, isFound: true, isLast: false }
    const [passages] = passagesOf([part], sought, Math.max(LEAST, rooms[n]! - summary.length))
    return {
      handle: handleHere(entry) ?? farHandle(id),
      session: metadata.sessionId,
      seq: metadata.chunkIndex,
      uuid: null,
      project: metadata.project,
      time: metadata.timestamp,
      role: null,
      tool: null,
      score: 0,
      why: [],
      snippet: passages!.text,
      marks: passages!.marks,
      prompt: null,
      answer: null,
      also: [],
      summary,
      far: { target, machine: metadata.machine ?? null, id },
      ...(metadata.takenBack && { takenBack: true as const }),
    }
  })
}
