/**
 * Finds what ctxbridge itself has carried from sessions that are to be forgotten into the transcripts of others:
 * restores, pointers at startup, answers of our tools and output of our commands. All of these name the turns that they
 * quote, or the session. What a human or the model said about it later is theirs, and stays.
 */

import { shellCommand } from "../agents/tool-input.ts"
import { statsOf } from "../base/files.ts"
import { parseJson } from "../base/json-files.ts"
import { type ByteSpan, type LineFinder, spanFinder } from "../record/find-text.ts"
import { isObject, objectOf, stringOf } from "../record/json.ts"
import { MARK } from "../record/our-marks.ts"
import { CLOSE } from "../restore/render.ts"
import type { Tombstone } from "../vault/tombstone.ts"
import type { Database } from "../views/database.ts"
import { HANDLE_PREFIX } from "../views/handle-prefix.ts"
import { sessionsThatAsked } from "../views/queries/calls.ts"
import { OBSERVATION_PREFIX, observationHandles } from "../views/queries/summaries.ts"
import { forkedTurns } from "../views/queries/transcripts.ts"
import { handlesOf } from "../views/queries/turns.ts"
import { toldOf } from "../views/session-traces.ts"
import { isOwnTool } from "../views/tool-rows.ts"
import type { Source } from "../views/view-sources.ts"
import { findText, type TextFound } from "./forget-text.ts"

/** What tells that a text is about sessions that are to be forgotten. */
export interface Names {
  /** Their ids, and the beginnings by which lists show them. */
  readonly ids: ReadonlySet<string>
  /** Ids that do not look like those of the host: of sessions from other tools. */
  readonly otherIds: readonly string[]
  /** The handles of their turns, and of what a model has observed in them. */
  readonly handles: ReadonlySet<string>
  /** Those of turns that a fork has as well, by fork. */
  readonly shared: ReadonlyMap<string, ReadonlySet<string>>
  /** Sessions that may have been told about them. */
  readonly told: ReadonlySet<string>
}

/** Letters of an id that are enough to name its session in a list. */
const SHORT_ID = 8

/** Must be called while the views still hold the sessions. */
export function namesOf(db: Database, sessions: readonly string[]): Names {
  const shared = new Map<string, Set<string>>()
  for (const { child, handle } of forkedTurns(db, sessions)) {
    const known = shared.get(child) ?? new Set()
    shared.set(child, known.add(handle))
  }
  return {
    ids: new Set(sessions.flatMap((id) => (id.includes("/") ? [] : [id, id.slice(0, SHORT_ID)]))),
    otherIds: sessions.filter((id) => !matches(id, ID, (found) => found === id)),
    handles: new Set([...handlesOf(db, sessions), ...observationHandles(db, sessions)]),
    shared,
    told: new Set([...toldOf(db, new Set(sessions)), ...sessionsThatAsked(db)]),
  }
}

/** A session that was told about sessions that are to be forgotten. */
export interface ToldSession {
  readonly session: string
  /** Places in its copies that are overwritten. */
  readonly places: number
  /** Where the host keeps or kept its transcripts, and how many of these still exist. */
  readonly transcripts: readonly string[]
  readonly onDisk: number
}

interface CarriedFound {
  readonly told: readonly ToldSession[]
  readonly failed: TextFound["failed"]
  readonly tombstones: readonly Tombstone[]
}

/** Looks for what was carried. Looks again only where something was found, or where a copy has changed since. */
export class CarriedSearch {
  readonly #dataHome: string
  readonly #names: Names
  /** Copies that leave the vault as a whole. */
  readonly #leaving: ReadonlySet<string>
  /** Sessions that were there from the beginning: only later ones may be told besides `names.told`. */
  readonly #known = new Set<string>()
  #isFirst = true
  readonly #seen = new Map<string, number>()

  constructor(dataHome: string, names: Names, leaving: ReadonlySet<string>) {
    this.#dataHome = dataHome
    this.#names = names
    this.#leaving = leaving
  }

  /** @param tombstones that are about to be written: what is found is added to them */
  find(now: number, tombstones: readonly Tombstone[] = []): CarriedFound {
    const paths = new Map<string, Set<string>>()
    const found = findText(this.#dataHome, (source) => carriedFinder(this.#names, source), {
      now,
      known: new Map(tombstones.map((one) => [one.session, one])),
      wanted: (source) => {
        const { session, path } = source
        const isWanted = this.#isWanted(source)
        if (isWanted) paths.set(session, (paths.get(session) ?? new Set()).add(path))
        return isWanted
      },
    })
    this.#isFirst = false
    const told = new Map<string, number>()
    for (const { copy, session, places } of found.copies) {
      told.set(session, (told.get(session) ?? 0) + places)
      this.#seen.delete(copy)
    }
    return {
      told: [...told].map(([session, places]) => {
        const transcripts = [...paths.get(session)!]
        const onDisk = transcripts.filter((path) => statsOf(path) !== undefined).length
        return { session, places, transcripts, onDisk }
      }),
      failed: found.failed,
      tombstones: found.tombstones,
    }
  }

  #isWanted({ session, copy, bytes }: Source): boolean {
    if (this.#isFirst) this.#known.add(session)
    if (this.#leaving.has(copy) || this.#seen.get(copy) === bytes) return false
    if (!this.#names.told.has(session) && this.#known.has(session)) return false
    this.#seen.set(copy, bytes)
    return true
  }
}

/** Finds what was carried into one transcript, whose lines must be given in order. */
export function carriedFinder({ ids, otherIds, handles, shared }: Names, { session }: Source): LineFinder {
  const own = shared.get(session)
  const tells = (text: string): boolean =>
    matches(text, HANDLE, (handle) => handles.has(handle) && own?.has(handle) !== true) ||
    matches(text, ID, (id) => ids.has(id)) ||
    otherIds.some((id) => text.includes(id))
  const calls: Calls = new Map()
  return (line) => {
    const bytes = Buffer.from(line.buffer, line.byteOffset, line.byteLength)
    if (!OURS.some((words) => bytes.includes(words)) && ![...calls.keys()].some((id) => bytes.includes(id)))
      return []
    // It may be half a line that begins a frame, or one that the host has never finished.
    const answers = answersIn(parseJson(bytes.toString("utf8")), calls, tells)
    if (answers.size === 0 && !bytes.includes(TAG)) return []
    return spanFinder((text) =>
      answers.has(text)
        ? [[0, text.length]]
        : framesIn(text).filter(([from, to]) => tells(text.slice(from, to))),
    )(line)
  }
}

const TAG = "ctxbridge-restore"
/** One of these is in each line that begins something of ours. */
const OURS = ["ctxbridge", HANDLE_PREFIX, OBSERVATION_PREFIX] as const

const HANDLE = new RegExp(`(?:${HANDLE_PREFIX}|${OBSERVATION_PREFIX})([0-9a-z]+)`, "g")
/** An id, or the beginning of one. */
const ID = /(?<![\w-])([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{8})(?![\w-])/g

function matches(text: string, pattern: RegExp, isWanted: (found: string) => boolean): boolean {
  for (const [, found] of text.matchAll(pattern)) if (isWanted(found!)) return true
  return false
}

/** What is inside our frames. Their first words stay, by which restores are known to have arrived. */
function framesIn(text: string): ByteSpan[] {
  const found: ByteSpan[] = []
  for (let at = text.indexOf(MARK); at >= 0; at = text.indexOf(MARK, at + 1)) {
    const end = text.indexOf(CLOSE, at)
    found.push([at + MARK.length, end < 0 ? text.length : end])
  }
  return found
}

/** Shorter strings in an answer are the host's: kinds and states. So are ids and times. */
const SHORTEST = 20
const HOSTS = /^(?:[0-9a-f-]{36}|\d{4}-\d\d-\d\dT[\d:.]+Z|[a-z]+_[0-9A-Za-z]+)$/

/** Calls of our tools and commands, and whether they name the sessions. */
type Calls = Map<string, boolean>

/** The strings of a line that are an answer of ours, if it tells of the sessions. Adds the calls in it to `calls`. */
function answersIn(line: unknown, calls: Calls, tells: (text: string) => boolean): Set<string> {
  if (!isObject(line)) return new Set()
  const attachment = objectOf(line["attachment"])
  if (stringOf(attachment["type"])?.startsWith("hook_") === true)
    return new Set(stringsIn(attachment).filter((text) => !text.includes(MARK) && tells(text)))
  const content = objectOf(line["message"])["content"]
  const found: string[] = []
  let isAsked = false
  for (const block of Array.isArray(content) ? content.filter(isObject) : []) {
    const id = stringOf(block["type"] === "tool_use" ? block["id"] : block["tool_use_id"])
    if (id === undefined) continue
    if (block["type"] === "tool_use") {
      const { input } = block
      if (isOurs(stringOf(block["name"]) ?? "", input)) calls.set(id, tells(JSON.stringify(input ?? "")))
      continue
    }
    const asked = calls.get(id)
    if (asked === undefined) continue
    isAsked ||= asked
    found.push(...stringsIn(block["content"]), ...stringsIn(line["toolUseResult"]))
  }
  return new Set(isAsked || found.some(tells) ? found : [])
}

const isOurs = (tool: string, input: unknown): boolean =>
  isOwnTool(tool) || /\bctxbridge\b/.test(shellCommand(tool, objectOf(input)) ?? "")

function stringsIn(value: unknown): string[] {
  if (typeof value === "string") return value.length < SHORTEST || HOSTS.test(value) ? [] : [value]
  if (Array.isArray(value)) return value.flatMap(stringsIn)
  return isObject(value) ? Object.values(value).flatMap(stringsIn) : []
}
