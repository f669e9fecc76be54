/**
 * Makes entries of the turns in the archive, a batch at a time: what was said and done in each as text, without secrets.
 * What must not be sent is left out.
 */
import { codeOf } from "../base/errors.ts"
import { cut, oneLine } from "../base/text.ts"
import type { PathsAndPolicy } from "../config/load.ts"
import { modelState } from "../find/embed/model-files.ts"
import { filterText } from "../secrets/filter.ts"
import { listPending } from "../vault/pending.ts"
import { CopyReaders } from "../vault/reader.ts"
import type { Tombstone } from "../vault/tombstone.ts"
import { forgottenOf, ownerOf } from "../vault/tombstones.ts"
import type { Database } from "../views/database.ts"
import { isExcludedSession } from "../views/excluded-session.ts"
import { callsIn, partText } from "../views/part-text.ts"
import { compactionOfTurn } from "../views/queries/boundaries.ts"
import { projectOfSession } from "../views/queries/projects.ts"
import { turnByHandle } from "../views/queries/turns.ts"
import { currentTranscript } from "../views/transcript-rows.ts"
import { linesOfTurn, readTurn, turnOf, type WholeTurn } from "../views/turn.ts"
import { meanVector } from "../views/vectors.ts"
import { type Ledger, machineName, type SentTurn } from "./sync-ledger.ts"
import type { SyncWorld } from "./sync-steps.ts"
import { type Entry, type EntryVector, entryId, entryOf, isOfSession } from "./targets/entry.ts"
import type { SentVersion, Target } from "./targets/target.ts"

/** Entries and UTF-16 units of a batch. */
const MOST_ENTRIES = 1000
const MOST_TEXT = 2_000_000
/** Turns that are read before anything else has its turn. */
const AT_ONCE = 50

export interface TurnToSend {
  /** With `ctx:`. */
  readonly handle: string
  readonly state: string
  /** Its own machine sends it by now. What this one has sent of it must not hold what was taken out since. */
  readonly isTheirs: boolean
}

export interface Batch {
  readonly entries: Entry[]
  /** Of former versions, which hold what must not be kept. */
  readonly outdated: string[]
  readonly sent: SentTurn[]
  /** Sessions of turns that could not be sent, and may be next time. */
  readonly left: string[]
  excluded: number
  unreadable: number
  /** Turns with a text that another machine has taken out. */
  withheld: number
  /** Number of turns looked at. */
  looked: number
}

/** @param from how many of them have gone before */
export async function nextBatch(
  all: readonly TurnToSend[],
  from: number,
  formers: FormerVersions,
  world: SyncWorld,
): Promise<Batch> {
  const { place, look, others } = world
  const due = all.slice(from, from + MOST_ENTRIES)
  const counted = { excluded: 0, unreadable: 0, withheld: 0, looked: 0 }
  const batch: Batch = { entries: [], outdated: [], sent: [], left: [], ...counted }
  const embedder = modelState(place.dataHome).model?.embedder
  let length = 0
  const take = (maker: EntryMaker, { handle, state, isTheirs }: TurnToSend): void => {
    const made = maker.entryOf(handle)
    if (made === undefined) return
    if ("leftOut" in made) {
      formers.unseen(made.session)
      batch.left.push(made.session)
      if (!isTheirs) batch[made.leftOut]++
    } else if (made.isWithheld) {
      batch.outdated.push(...formers.allOf(handle, made.entry))
      batch.left.push(made.entry.metadata.sessionId)
      if (!isTheirs) batch.withheld++
    } else if (isTheirs) batch.outdated.push(...formers.staleOf(handle, made.entry))
    else {
      const { id, key, content, metadata, vector } = made.entry
      const { sessionId: session, messages } = metadata
      batch.outdated.push(...formers.outdatedBy(handle, made.entry))
      batch.entries.push(made.entry)
      batch.sent.push({ handle, state, id, key, session, messages, hasVector: vector !== undefined })
      length += content.length
    }
  }
  const isFull = (): boolean => batch.looked >= due.length || length >= MOST_TEXT
  while (!isFull()) {
    look((db) => {
      using maker = new EntryMaker(db, place, embedder, (session) => others?.fillerFor(session))
      // As they were at one moment, whatever others write meanwhile.
      db.transaction(() => {
        for (let n = 0; n < AT_ONCE && !isFull(); n++) take(maker, due[batch.looked++]!)
      })()
    })
    // Lets what is on its way go on.
    await new Promise((resolve) => setImmediate(resolve))
  }
  return batch
}

type Fillers = (session: string) => ((line: Uint8Array) => Uint8Array) | undefined

/** What there is to say of a turn elsewhere. */
type MadeEntry =
  | { readonly entry: Entry; readonly isWithheld: boolean }
  | { readonly session: string; readonly leftOut: "excluded" | "unreadable" }

/** What holds for all turns of a session. */
interface SessionAtHand {
  readonly isForgotten: boolean
  readonly isExcluded: boolean
  /** Path. */
  readonly project: string | null
}

export class EntryMaker implements Disposable {
  readonly #db: Database
  readonly #place: PathsAndPolicy
  readonly #embedder: string | undefined
  readonly #fillerFor: Fillers
  readonly #readers = new CopyReaders()
  readonly #sessions = new Map<string, SessionAtHand>()

  /**
   * @param embedder whose vectors are sent; undefined: none
   * @param fillerFor what other machines have taken out
   */
  constructor(db: Database, place: PathsAndPolicy, embedder: string | undefined, fillerFor: Fillers) {
    this.#db = db
    this.#fillerFor = fillerFor
    // Whatever the user has switched off: what leaves the machine is filtered.
    this.#place = { ...place, secrets: { ...place.secrets, enabled: true } }
    this.#embedder = embedder
  }

  [Symbol.dispose](): void {
    this.#readers.close()
  }

  /**
   * @param handle with `ctx:`
   * @returns undefined for a turn that is gone, or about to be; `isWithheld`: it has a text that another machine has taken out
   */
  entryOf(handle: string): MadeEntry | undefined {
    const row = turnByHandle(this.#db, handle)
    if (row === null) return undefined
    const { isForgotten, isExcluded } = this.#session(row.session)
    if (isForgotten) return undefined
    if (isExcluded) return { session: row.session, leftOut: "excluded" }
    const { dataHome } = this.#place
    const turn = readIfReadable(() => readTurn(this.#db, dataHome, turnOf(row), this.#readers))
    if (turn === "unreadable") return { session: row.session, leftOut: turn }
    const fill = this.#fillerFor(row.session)
    const lines = fill === undefined ? [] : [...linesOfTurn(this.#db, dataHome, turnOf(row), this.#readers)]
    return { entry: this.entryOfTurn(turn), isWithheld: lines.some((line) => fill?.(line) !== line) }
  }

  /** Of a turn that is in the archive, whatever is to be left out of what is sent. */
  entryOfTurn(turn: WholeTurn): Entry {
    const { id, answer } = turnByHandle(this.#db, turn.handle)!
    return entryOfTurn(turn, {
      project: this.#session(turn.session).project,
      machine: machineName(),
      answer,
      compaction: compactionOfTurn(this.#db, id),
      vector: this.#vectorOf(turn.handle),
      filter: (text) => filterText(text, this.#place.secrets),
    })
  }

  #session(session: string): SessionAtHand {
    const known = this.#sessions.get(session)
    if (known !== undefined) return known
    const [db, place] = [this.#db, this.#place]
    const path = currentTranscript(db, session)?.path ?? ""
    const found = {
      isForgotten: forgottenOf(place.dataHome, session, path)?.whole === true,
      isExcluded: isExcludedSession(db, place, session),
      project: projectOfSession(db, session)?.path ?? null,
    }
    this.#sessions.set(session, found)
    return found
  }

  #vectorOf(handle: string): EntryVector | undefined {
    const embedder = this.#embedder
    const values = embedder === undefined ? undefined : meanVector(this.#db, handle, embedder)
    return values && { embedder: embedder!, values }
  }
}

function readIfReadable<T>(read: () => T): T | "unreadable" {
  try {
    return read()
  } catch (error) {
    // `verify` reports it.
    if (codeOf(error).startsWith("vault-")) return "unreadable"
    throw error
  }
}

/** UTF-16 units of a summary, of one message's part, and of a turn. What is longer is whole in the vault. */
const SUMMARY = 300
const LONGEST_PART = 100_000
const LONGEST = 1_000_000
/** Files that the summary names. */
const MOST_FILES = 5

interface EntryContext {
  /** Path of the session's project. */
  readonly project: string | null
  /** Name of this computer. */
  readonly machine: string
  /** What the model answered, as the views keep it. */
  readonly answer: string
  readonly compaction: ReturnType<typeof compactionOfTurn>
  readonly vector: EntryVector | undefined
  /** Fills secrets in a text. */
  readonly filter: (text: string) => string
}

function entryOfTurn(turn: WholeTurn, context: EntryContext): Entry {
  const { project, machine, compaction, vector, filter } = context
  const toolNames = [...new Set(turn.tools.map(({ name }) => name).filter((name) => name !== ""))]
  const filePaths = [...new Set(turn.files.map(({ path }) => filter(path)))]
  return entryOf({
    summary: summaryOf(turn, toolNames, filePaths, context),
    content: cut(contentOf(turn, filter), LONGEST),
    metadata: {
      sessionId: turn.session,
      chunkIndex: turn.seq,
      timestamp: turn.started,
      ended: turn.ended,
      project,
      machine,
      toolNames,
      filePaths,
      messages: turn.messages.length,
      takenBack: turn.takenBack === true,
      ...(turn.usage.length === 0 ? {} : { usage: turn.usage }),
      ...(compaction && { trigger: compaction.trigger }),
      ...(compaction && compaction.preTokens !== null && { preTokens: compaction.preTokens }),
    },
    ...(vector === undefined ? {} : { vector }),
  })
}

/** The prompt, the tools, the files and how the model answered, as the design documents put it. */
function summaryOf(
  turn: WholeTurn,
  tools: readonly string[],
  files: readonly string[],
  { answer, filter }: EntryContext,
): string {
  const names = files.slice(0, MOST_FILES).map((path) => path.split("/").slice(-2).join("/"))
  const parts = [
    cut(oneLine(filter(cut(turn.prompt, LONGEST_PART))), 120),
    tools.length === 0 ? "" : `Tools: ${tools.join(", ")}`,
    names.length === 0 ? "" : `Files: ${names.join(", ")}`,
    oneLine(filter(answer)),
  ]
  return cut(parts.filter((part) => part !== "").join(" | "), SUMMARY)
}

function contentOf(turn: WholeTurn, filter: EntryContext["filter"]): string {
  const callOf = callsIn(turn.tools)
  return turn.messages
    .flatMap(({ parts }) => parts.map((part) => partText(part, callOf)))
    .flatMap((shown) =>
      shown === undefined ? [] : [`${shown.title}\n${filter(cut(shown.text, LONGEST_PART))}`],
    )
    .join("\n\n")
}

/*
 * Former versions of turns at a target, which may hold what has been taken out since: those that the ledger has noted
 * and, where it may have lost count, those that the target says this archive has put there.
 */

/** Whether something was taken out of a session since the last sync, here or by another machine. */
type MayHold = (session: string) => boolean

/** Tombstones whose session has no name but the path of a transcript: a path must not leave the machine. */
export const isNamedByPath = ({ session }: Tombstone): boolean => session.startsWith("/")

export const mayBeAbout = (tombstone: Tombstone, session: string): boolean =>
  isNamedByPath(tombstone) ? session.startsWith(`${NAMELESS}/`) : ownerOf(session, "") === tombstone.session

/** Subagents whose session is not known have it in its place. */
const NAMELESS = "unknown"

/**
 * @param news what was forgotten here since the last sync
 * @param filled sessions out of which others have taken a text since then
 */
export const mayHoldOf =
  (news: readonly Tombstone[], filled: readonly string[]): MayHold =>
  (session) =>
    news.some((one) => mayBeAbout(one, session)) || filled.some((owner) => isOfSession(session, owner))

export class FormerVersions {
  readonly #ledger: Ledger
  readonly #mayHold: MayHold
  /** By key: what is there and was not noted here. */
  readonly #unnoted: ReadonlyMap<string, SentVersion>
  /** Keys of turns that are here. */
  readonly #met = new Set<string>()
  /** Sessions of which a turn could not be looked at. */
  readonly #unseen = new Set<string>()
  /** Handles of turns that were noted and are not there, where a sync was interrupted: it may have ended in between. */
  readonly absent: ReadonlySet<string>

  constructor(ledger: Ledger, mayHold: MayHold, there: readonly SentVersion[], isUnsure = false) {
    const ids = new Set(there.map(({ id }) => id))
    const absent = isUnsure ? [...ledger.turns].filter(([, { id }]) => !ids.has(id)) : []
    this.absent = new Set(absent.map(([handle]) => handle))
    // What is noted need not be read to say of nothing that it was not.
    const noted = new Set(there.length === 0 ? [] : [...ledger.turns.values()].map(({ id }) => id))
    this.#ledger = ledger
    this.#mayHold = mayHold
    this.#unnoted = new Map(there.filter(({ id }) => !noted.has(id)).map((one) => [one.key, one]))
  }

  /** Looks at the target where a sync was killed, or all that was noted is lost, and where something was taken out. */
  static async there(
    target: Target,
    ledger: Ledger,
    { news, filled, all }: { news: readonly Tombstone[]; filled: readonly string[]; all: boolean },
  ): Promise<FormerVersions> {
    const sessions = [
      ...new Set([...news.map((one) => (isNamedByPath(one) ? NAMELESS : one.session)), ...filled]),
    ]
    const isUnsure = all || !ledger.isWhole
    const there =
      isUnsure || sessions.length > 0
        ? await target.ownThere(machineName(), isUnsure ? undefined : sessions)
        : []
    return new FormerVersions(ledger, mayHoldOf(news, filled), there, !ledger.isWhole)
  }

  /** Sessions of what was not noted. */
  get sessions(): ReadonlySet<string> {
    return new Set([...this.#unnoted.values()].map(({ session }) => session))
  }

  /** Notes that there is a turn of a session whose key is not known. */
  unseen(session: string): void {
    this.#unseen.add(session)
  }

  /** Ids of what must be forgotten there before a turn is sent as it is now. */
  outdatedBy(handle: string, { id, key, metadata: { messages } }: Entry): string[] {
    const [noted, unnoted] = this.#of(handle, key)
    const found = new Set<string>()
    // A later version takes the place of an earlier one by itself. One that was changed otherwise must be forgotten.
    const hasOnlyGrown = (one: SentVersion): boolean =>
      messages > one.messages && one.key === key && !this.#mayHold(one.session)
    if (noted !== undefined && !hasOnlyGrown(noted)) found.add(noted.id)
    // Nobody knows here how a longer one has come about.
    if (unnoted !== undefined && (this.#mayHold(unnoted.session) || unnoted.messages === messages))
      found.add(unnoted.id)
    found.delete(id)
    return [...found]
  }

  /** The same of a turn that is not to be there at all. */
  allOf(handle: string, { key }: Entry): string[] {
    return this.#of(handle, key).flatMap((one) => one?.id ?? [])
  }

  /**
   * The same of a turn that its own machine sends, and maybe under the same id: what it holds no more. Where nothing was
   * taken out, what is there is left to that machine, however it is told here by now.
   */
  staleOf(handle: string, { key, content }: Entry): string[] {
    return this.#of(handle, key).flatMap((one) => {
      if (one === undefined || one.id === entryId(one.key, content)) return []
      return this.#mayHold(one.session) ? [one.id] : []
    })
  }

  /**
   * Ids of what was not noted of turns that are gone or have another number by now, in sessions of which something was
   * forgotten here, and those of these sessions of which the views may still lack turns: the next sync looks at them. Call
   * when all turns were looked at.
   */
  gone(news: readonly Tombstone[], dataHome: string): { dead: string[]; waiting: string[] } {
    const found = [...this.#unnoted.values()].filter(
      ({ key, session }) =>
        !this.#met.has(key) && !this.#unseen.has(session) && news.some((one) => mayBeAbout(one, session)),
    )
    const pending = new Set(found.length === 0 ? [] : listPending(dataHome).map(({ session }) => session))
    const dead = found.filter(({ session }) => !pending.has(session)).map(({ id }) => id)
    return { dead, waiting: found.map(({ session }) => session).filter((session) => pending.has(session)) }
  }

  #of(handle: string, key: string): [noted: SentVersion | undefined, unnoted: SentVersion | undefined] {
    this.#met.add(key)
    return [this.#ledger.former(handle, key), this.#unnoted.get(key)]
  }
}
