/**
 * Where entries are kept besides the archive, and from where they are found and fetched. The vault is the truth and
 * the views are always local; no hook knows of a backend.
 */
import type { Entry, EntryVector } from "./entry.ts"

/** What must never be kept again. It is final: the same content is refused from then on, whoever brings it. */
export interface Forgetting {
  readonly ids?: readonly string[]
  /** Whole sessions, with their subagents. */
  readonly sessions?: readonly string[]
}

export interface PutReport {
  /** New, or a later version of a turn that was there. */
  readonly stored: number
  /** There already, in this version or a later one. */
  readonly known: number
  /** Forgotten before. */
  readonly refused: number
}

/** What entries are wanted: all that is said must hold. */
export interface EntriesWanted {
  readonly limit: number
  /** With its subagents. */
  readonly session?: string | undefined
  /** Path of the project, as in the entries' metadata. */
  readonly project?: string | undefined
  /** Name of the project's folder: the same project lies elsewhere on another machine. */
  readonly projectName?: string | undefined
  /** ISO 8601 in UTC. Turns that ended at this time or later, and turns that began earlier. */
  readonly since?: string | undefined
  readonly until?: string | undefined
  /** A tool that was called in the turn. */
  readonly tool?: string | undefined
  /** A file that the turn touched: its path, the end of its path, or a pattern. */
  readonly file?: string | undefined
  /** Whether what is found comes with its content. */
  readonly withContent?: boolean | undefined
}

/**
 * By words, of which an entry has all or, if wanted so, at least one, those with more of them first; or by meaning. Without
 * words: the newest.
 */
export type EntryQuery = EntriesWanted &
  ({ readonly words: string; readonly isAny?: boolean } | { readonly vector: EntryVector })

export interface FoundEntry extends Pick<Entry, "id" | "key" | "summary" | "metadata"> {
  /** Only if it was asked for. */
  readonly content?: string
  /** The more the better. Not comparable between backends. */
  readonly score: number
}

export interface BackendStats {
  /** Turns; of each, one version counts. */
  readonly entries: number
  readonly sessions: number
  /** Ids and sessions that are refused. */
  readonly forgotten: number
  /** Lines that cannot be read. They are passed over. */
  readonly damaged: number
  /** The files that they are in; only if there are any. */
  readonly damagedIn?: readonly DamagedFile[]
  /** Turns that are left out, because their session's name is none; where it is known. */
  readonly misnamed?: number
}

/** How a folder is kept. */
export interface FolderState {
  readonly encrypted: boolean
  /** What was made when it was opened: all of it, or its key. */
  readonly made: "folder" | "key" | null
}

export interface DamagedFile {
  /** Below the target's folder. */
  readonly file: string
  readonly lines: number
}

/** A version of a turn that was sent. */
export interface SentVersion extends Pick<Entry, "id" | "key"> {
  readonly session: string
  readonly messages: number
}

/** How many turns each writer keeps there, and how many lines of transcripts these have. */
export type Tally = Readonly<Record<string, readonly [turns: number, lines: number]>>

export interface Backend {
  /** Names what is kept here, wherever it is reached. Another one is there when it was made anew. */
  readonly id: string
  /** Of a folder. */
  readonly folder?: FolderState
  /**
   * Even without entries, takes out what others have forgotten of that which this machine keeps there.
   *
   * @returns when everything is safe there
   */
  put(entries: readonly Entry[]): Promise<PutReport>
  /** Does ahead what `put` of this very list has to do here, while a former one is on its way. */
  prepare?(entries: readonly Entry[]): void
  /** Best first. */
  find(query: EntryQuery): Promise<readonly FoundEntry[]>
  /** @param id an id, or at least its first 16 digits */
  get(id: string): Promise<Entry | undefined>
  /** @returns number of entries that are gone now */
  forget(what: Forgetting): Promise<number>
  stats(): Promise<BackendStats>
  /**
   * A look that is much cheaper than `lacking`: where no writer has less than before, nothing of what was sent is missing.
   * Undefined: `lacking` is as cheap.
   */
  tally?(): Promise<Tally>
  /** What of this is no longer there, or in an earlier version only, though nobody has forgotten it. */
  lacking<T extends SentVersion>(sent: Iterable<T>): Promise<readonly T[]>
  /**
   * What this archive has put of these sessions and their subagents, or of all sessions, as far as it is still there.
   *
   * @param machine name of this computer, where archives are not known from each other
   */
  ownThere(machine: string, sessions?: readonly string[]): Promise<readonly SentVersion[]>
  /** Ids and sessions that are refused. */
  forgottenThere(): Promise<number>
  /**
   * Takes out what cannot be read, so that it is missing, and whoever sent it sends it again.
   *
   * @returns number of entries
   */
  mend(): Promise<number>
  /** Own files out of which lines were taken that could not be read, since it was opened. */
  mendedIn?(): readonly DamagedFile[]
  close(): Promise<void>
}

/** Whether something was lost since. */
export const hasLess = (now: Tally, before: Tally): boolean =>
  Object.entries(before).some(([writer, [turns, lines]]) => {
    const [turnsNow, linesNow] = now[writer] ?? [0, 0]
    return turnsNow < turns || linesNow < lines
  })

/** What all writers have forgotten. */
export interface ForgottenThere {
  readonly ids: ReadonlySet<string>
  readonly sessions: ReadonlySet<string>
}

export const isForgottenThere = (
  { id, session }: Pick<SentVersion, "id" | "session">,
  { ids, sessions }: ForgottenThere,
): boolean => ids.has(id) || (sessions.size > 0 && [...sessions].some((owner) => isOfSession(session, owner)))

export const nameOfEntry = ({ id, metadata }: Entry): Pick<SentVersion, "id" | "session"> => ({
  id,
  session: metadata.sessionId,
})

/** Whether a session is one of these, or a subagent of one; undefined: of any. */
export const isOfAny = (session: string, owners: readonly string[] | undefined): boolean =>
  owners?.some((owner) => isOfSession(session, owner)) ?? true

/** Whether a session is a given one, or a subagent of it. */
export const isOfSession = (session: string, owner: string): boolean =>
  session === owner || session.startsWith(`${owner}/`)
