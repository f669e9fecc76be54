/** What the model kept with `remember`, as far as it is to be taken back: single notes, and those of forgotten sessions. */
import { toolTarget } from "../agents/tool-input.ts"
import type { Database } from "../archive/database.ts"
import { isNotesSession } from "../archive/notes-session.ts"
import { rememberCalls } from "../archive/queries/calls.ts"
import type { Source } from "../archive/view-sources.ts"
import { type LineFinder, spanFinder } from "../transcript/find-text.ts"
import { objectOf, stringOf } from "../transcript/json.ts"
import { parseJson } from "../util/parse-json.ts"
import type { Tombstone } from "../vault/tombstones.ts"
import { findText, type TextFound } from "./forget-text.ts"

/** A line of a note. */
interface NoteLine {
  /** The session that holds it. */
  readonly session: string
  readonly text: string
  /** ISO 8601. */
  readonly time: string | undefined
  /** The session in which it was kept, if it says so. */
  readonly keptIn: string | undefined
}

/**
 * @param isMeant whether a note is to be taken back
 * @param known tombstones that are about to be written
 */
export const findNotes = (
  dataHome: string,
  isMeant: (note: NoteLine) => boolean,
  now: number,
  known: readonly Tombstone[] = [],
): TextFound =>
  findText(dataHome, (source) => noteFinder(source, isMeant), {
    now,
    known: new Map(known.map((one) => [one.session, one])),
    wanted: ({ session }) =>
      isNotesSession(session) && known.every((one) => one.session !== session || !one.whole),
  })

function noteFinder({ session }: Source, isMeant: (note: NoteLine) => boolean): LineFinder {
  return (bytes) => {
    const line = objectOf(parseJson(Buffer.from(bytes).toString("utf8")))
    const text = stringOf(line["text"])
    if (line["type"] !== "ctxbridge-note" || text === undefined) return []
    const [time, keptIn] = [stringOf(line["timestamp"]), stringOf(line["keptIn"])]
    if (!isMeant({ session, text, time, keptIn })) return []
    return spanFinder((one) => (one === text ? [[0, one.length]] : []))(bytes)
  }
}

/**
 * Whether a note was kept in one of these sessions and in no other. The server knows the session that it was started
 * in; after `/clear`, and with older hosts, only the transcript of the call tells.
 *
 * Must be made while the views still hold the sessions.
 */
export function keptInOneOf(db: Database, sessions: readonly string[]): (note: NoteLine) => boolean {
  const owners = new Map<string, Set<string>>()
  for (const { session, target } of rememberCalls(db)) {
    const known = owners.get(target) ?? new Set()
    owners.set(target, known.add(session))
  }
  const isOne = (id: string): boolean => sessions.some((one) => id === one || id.startsWith(`${one}/`))
  return ({ text, keptIn }) => {
    const callers = owners.get(toolTarget(REMEMBER, { text }))
    if (callers !== undefined) return [...callers].every(isOne)
    return keptIn !== undefined && isOne(keptIn)
  }
}

const REMEMBER = "mcp__ctxbridge__remember"
