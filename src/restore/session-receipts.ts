/**
 * Receipts of archived sessions. They are derived from the vault whenever they are asked for, so they cannot go stale; only
 * their numbers are kept, for sums over many.
 */
import { tryTo } from "../base/files.ts"
import { hashName, readJson, writeJson } from "../base/json-files.ts"
import { vaultFile } from "../vault/layout.ts"
import { tailOf } from "../vault/reader.ts"
import type { Database } from "../views/database.ts"
import { fileState, keptFile, programState } from "../views/kept-pages.ts"
import { boundariesIn, compactedSessions } from "../views/queries/boundaries.ts"
import { givenAfterCompactions } from "../views/queries/restores.ts"
import { recordsFrom } from "../views/records.ts"
import { transcriptsOf } from "../views/transcript-rows.ts"
import { byKind, type GivenText, type KindCounts, type Receipt, receiptsIn } from "./receipt.ts"

interface ReceiptFilter {
  /** Undefined: all projects. */
  readonly project?: string | undefined
  readonly session?: string | undefined
  /** Name of an agent. */
  readonly program?: string | undefined
  /** ISO 8601 in UTC: sessions that were compacted last before it are not read. */
  readonly since?: string | undefined
  readonly limit: number
  readonly onProgress?: (done: number, total: number) => void
}

/** What is counted of a compaction, without a word of what was in it. */
type CountedReceipt = Pick<Receipt, "time" | "offset" | "kinds" | "delivery">

/** The latest receipts, newest first, plus one if there are older ones. */
export const receiptsOf = (db: Database, dataHome: string, filter: ReceiptFilter): Receipt[] =>
  latestOf(db, filter, (session) => ofSession(db, dataHome, session, givenTo(db, session)))

/** The numbers of the same. A transcript is read again only if its copy has changed, or what was given back in it. */
export function countedReceipts(db: Database, dataHome: string, filter: ReceiptFilter): CountedReceipt[] {
  const file = keptFile(dataHome, "receipts")
  type Kept = Record<string, { state: string; counted: CountedReceipt[] }>
  const kept = (readJson(file) ?? {}) as Kept
  const fresh: Kept = {}
  const found = latestOf(db, filter, (session) => {
    const given = givenTo(db, session)
    const copies = transcriptsOf(db, session).map(({ copy }) => [copy, fileState(vaultFile(dataHome, copy))])
    const state = hashName(JSON.stringify([programState(), copies, given]))
    const known = kept[session]
    if (known?.state === state) return known.counted
    const counted = ofSession(db, dataHome, session, given).map(({ time, offset, kinds, delivery }) => ({
      ...{ time, offset, kinds, delivery },
    }))
    fresh[session] = { state, counted }
    return counted
  })
  // Where nothing can be written, they are counted each time.
  if (Object.keys(fresh).length > 0) tryTo(() => writeJson(file, { ...kept, ...fresh }))
  return found
}

function latestOf<T extends Pick<Receipt, "time" | "offset">>(
  db: Database,
  filter: ReceiptFilter,
  ofSession: (session: string) => readonly T[],
): T[] {
  const { project = null, session = null, program = null, since = "", limit, onProgress } = filter
  const sessions = compactedSessions(db, session, project, program)
  let found: T[] = []
  for (const [n, { session: id, latest }] of sessions.entries()) {
    // All that follows is older than what is wanted.
    if (latest < since) break
    if (found.length > limit && latest < (found[limit]!.time ?? "")) break
    onProgress?.(n, sessions.length)
    found = [...found, ...ofSession(id)].sort(newestFirst)
  }
  onProgress?.(sessions.length, sessions.length)
  return found.slice(0, limit + 1)
}

const newestFirst = (a: Pick<Receipt, "time" | "offset">, b: Pick<Receipt, "time" | "offset">): number => {
  const [first, second] = [a.time ?? "", b.time ?? ""]
  return first === second ? b.offset - a.offset : first < second ? 1 : -1
}

/** One receipt per compaction: earlier copies of a rewritten transcript contain the same ones. */
function ofSession(db: Database, dataHome: string, session: string, given: readonly GivenText[]): Receipt[] {
  const once = new Map<string, Receipt>()
  const copies = transcriptsOf(db, session)
  const begun = Math.min(
    ...copies.map(
      ({ copy }) => tailOf(vaultFile(dataHome, copy))?.header.created ?? Number.POSITIVE_INFINITY,
    ),
  )
  for (const { copy } of copies) {
    const boundaries = boundariesIn(db, copy)
    const records = recordsFrom(vaultFile(dataHome, copy))
    for (const receipt of receiptsIn(session, records, (offset) => nearest(given, boundaries, offset)))
      once.set(
        receipt.time ?? `at ${receipt.offset}`,
        isBefore(receipt, begun) ? unarchived(receipt) : receipt,
      )
  }
  return [...once.values()]
}

const isBefore = ({ time, delivery }: Receipt, begun: number): boolean =>
  delivery === "nothing-given" && time !== null && Date.parse(time) < begun

const unarchived = (receipt: Receipt): Receipt => ({ ...receipt, delivery: "not-archived" })

/** What hooks gave after compactions, and how long the transcript was then. */
function givenTo(db: Database, session: string): GivenText[] {
  return givenAfterCompactions(db, session).flatMap(({ mark, text }) => {
    const at = /^(?:at|late) (\d+)$/.exec(mark)?.[1]
    return at === undefined ? [] : [{ at: Number(at), text }]
  })
}

/** A restore belongs to the nearest boundary, which Claude Code writes shortly before or after it. */
function nearest(given: readonly GivenText[], boundaries: readonly number[], offset: number): string {
  const isNearest = ({ at }: GivenText): boolean =>
    boundaries.every((other) => Math.abs(other - at) >= Math.abs(offset - at))
  return given.findLast(isNearest)?.text ?? ""
}

/* The sums over several receipts. Pure. */

export const totalOf = (receipts: readonly Pick<Receipt, "kinds">[]): Receipt["kinds"] =>
  byKind((kind) => sumOf(receipts.map(({ kinds }) => kinds[kind])))

/** @param all of one kind in several receipts, or of all kinds in one */
export const sumOf = (all: readonly KindCounts[]): KindCounts =>
  all.reduce(
    (a, b) => ({
      before: a.before + b.before,
      kept: a.kept + b.kept,
      given: a.given + b.given,
      lost: a.lost + b.lost,
    }),
    { before: 0, kept: 0, given: 0, lost: 0 },
  )
