/**
 * A target: where entries and, in some, the bytes of vaults are kept besides the archive. The vault is the truth and the
 * views are always local; no hook knows of a target. One file for each kind does what is said here, and
 * `test/unit/sync/contract.ts` runs over all of them.
 *
 * What holds for every method:
 *
 * - **Safe when it returns.** What was put or forgotten is on the disk there, and no crash, here or there, loses it. Whoever
 *   is killed before has put all of a call, or nothing, or in a folder whole lines of it: none is ever there in half.
 * - **Again is nothing.** Whoever does not know whether a call came through repeats it.
 * - **In any order.** Several machines may put and forget at once; all see the same in the end.
 * - **Errors** are `CtxError`s with the codes of docs/sync.md: `target-unwritable`, `-full`, `-busy`, `-denied`, `-closed`,
 *   `-silent`, `-damaged`, `-failed`. What was committed before stays. A row or line that cannot be read is no error: it is
 *   passed over, and costs itself alone.
 */
import { CtxError } from "../../base/errors.ts"
import { statsOf } from "../../base/files.ts"
import { dirname } from "../../base/path.ts"
import type { Entry, EntryVector } from "./entry.ts"
import type { LineFills, PieceAbout, PieceName, VaultPiece } from "./pieces.ts"

export interface Target {
  /** Names what is kept here, wherever it is reached. Another one is there when it was made anew. */
  readonly id: string
  /** Of a folder, and of a server where this user's rows are encrypted. */
  readonly folder?: FolderState
  /** Whether nothing can be found there, because what is kept can be read at home alone. */
  readonly isBlind?: boolean
  /** Undefined: this kind keeps entries only. */
  readonly frames?: FrameStore
  /** Undefined: whoever can read what is there reads all of it. */
  readonly shares?: ShareStore
  /**
   * Keeps the latest version of each turn (`isLater`), whoever brought which first, but nothing that anybody has forgotten.
   * Even without entries, takes out what others have forgotten of that which this machine keeps there. All or nothing, but
   * in a folder.
   */
  put(entries: readonly Entry[]): Promise<PutReport>
  /** Does ahead what `put` of this very list has to do here, while a former one is on its way. Changes nothing there. */
  prepare?(entries: readonly Entry[]): void
  /** Best first; of each turn its latest version, without what is forgotten. What others have written is not proven. */
  find(query: EntryQuery): Promise<readonly FoundEntry[]>
  /** @param id an id, or at least its first 16 digits: of fewer, none is found */
  get(id: string): Promise<Entry | undefined>
  /**
   * Final: the same content is refused from then on, whoever brings it, even if he had looked before. Its text is gone from
   * all finds at once, and from what this machine keeps there when this returns; from another's when that puts next.
   *
   * @returns number of entries that are gone now
   */
  forget(what: Forgetting): Promise<number>
  stats(): Promise<TargetStats>
  /**
   * A look that is much cheaper than `lacking`: where no writer has less than before, nothing of what was sent is missing.
   * Undefined: `lacking` is as cheap.
   */
  tally?(): Promise<Tally>
  /** What of this is no longer there, or in an earlier version only, though nobody has forgotten it. In the given order. */
  lacking<T extends SentVersion>(sent: Iterable<T>): Promise<readonly T[]>
  /**
   * What this archive has put of these sessions and their subagents, or of all sessions, as far as it is still there.
   *
   * @param machine name of this computer, where archives are not known from each other
   */
  ownThere(machine: string, sessions?: readonly string[]): Promise<readonly SentVersion[]>
  /** Ids and sessions that are refused. Less than before: something was lost. */
  forgottenThere(): Promise<number>
  /**
   * Takes out what cannot be read, so that it is missing, and whoever sent it sends it again.
   *
   * @returns number of entries; 0 for a folder, which does so whenever its own files are opened for writing
   */
  mend(): Promise<number>
  /** Own files out of which lines were taken that could not be read, since it was opened. */
  mendedIn?(): readonly DamagedFile[]
  /** Loses nothing that was put. Nothing else is called from then on. */
  close(): Promise<void>
}

/**
 * The bytes of vaults, so that another machine can have this one's copies. They go by ranges of the transcript and not by
 * the frames of a copy, because small frames are merged later. Each machine has its own copies there, whole: what one of
 * them forgets or rewrites leaves no gap in another's. What is forgotten is told by `Target.forget`.
 */
export interface FrameStore {
  /** Whether nobody but the user can have written what is there: it takes the passphrase, or the role's own rows. */
  readonly isOwn: boolean
  /**
   * Keeps pieces under their names (`pieceKey`): one that is there is not replaced. Pieces of forgotten sessions are
   * refused. As `Target.put`, even without pieces.
   */
  put(pieces: readonly VaultPiece[]): Promise<PutReport>
  /**
   * What is kept, without what anybody has forgotten, in order within each copy (`byCopy`).
   *
   * @param writer only what this one sent
   */
  list(writer?: string): Promise<readonly PieceAbout[]>
  /** The pieces with these names that are still there, in the given order. Whether they are what they say is not proven. */
  get(wanted: readonly PieceName[]): Promise<readonly VaultPiece[]>
  /** Removes copies that this machine sent, to send them anew. Nobody else's go with them. */
  drop(copies: readonly string[]): Promise<void>
  /** What text anybody has taken out. */
  fills(): Promise<readonly LineFills[]>
  /**
   * Sessions that are refused; where their names cannot be told, those among the given ones.
   *
   * @param among with those that they are subagents of
   */
  forgotten(among: readonly string[]): Promise<readonly string[]>
  /** Copies with pieces that could not be read when all was last listed; undefined: as many as `damagedIn` tells. */
  unreadable?(): number
  /**
   * Where a piece was when it was last listed, for people; undefined: nowhere in particular. `stamps` has another value for
   * a file of this machine's whenever somebody has written to it.
   */
  fileOf?(piece: PieceName): string | undefined
  stamps?(): Readonly<Record<string, string>>
  /** Files with lines that could not be read when all was last listed. */
  damagedIn?(): readonly DamagedFile[]
}

/** What must never be kept again. It is final: the same content is refused from then on, whoever brings it. */
export interface Forgetting {
  /** Of entries. */
  readonly ids?: readonly string[]
  /** Whole sessions, with their subagents: their entries and their frames. */
  readonly sessions?: readonly string[]
  /** Text that was taken out of lines. Told to whoever sends these lines; nothing where no frames are kept. */
  readonly fills?: readonly LineFills[]
}

/** Of each that was given, one of these. */
export interface PutReport {
  /** New, or a later version of a turn that was there. */
  readonly stored: number
  /** There already, in this version or a later one; or there is a later one among those that were given. */
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
  /** The more the better. Not comparable between targets. */
  readonly score: number
  /** Of what another user shares: his role, for which the server vouches. */
  readonly by?: string
}

/** What users of one server show each other, if both say so. Projects are paths as in the entries' metadata. */
export interface ShareStore {
  /** Own ones of which something is there. */
  projects(): Promise<readonly string[]>
  /**
   * Offers a project to the members of a role.
   *
   * @returns whether it was not offered to them before
   * @throws CtxError `not-found`: there is no such role
   */
  offer(project: string, team: string): Promise<boolean>
  /**
   * From then on, nobody sees anything of it; whoever had agreed must agree anew to another offer.
   *
   * @param team undefined: all that it was offered to
   * @returns number of offers that are gone
   */
  stop(project: string, team: string | undefined): Promise<number>
  /** Own offers. One whose role is no more is not open; `readers`: who has agreed, and is still in the role. */
  offers(): Promise<readonly OwnOffer[]>
  /** Offers of others to roles that the user is in. */
  offered(): Promise<readonly OthersOffer[]>
  /** @returns number of open offers of this owner that it was, 0: there is none */
  accept(owner: string, project: string): Promise<number>
  /** @returns number of offers that had been accepted */
  leave(owner: string, project: string): Promise<number>
  /** A turn that others share. */
  get(id: string): Promise<{ readonly entry: Entry; readonly by: string } | undefined>
}

export interface OwnOffer {
  readonly project: string
  readonly team: string
  readonly isOpen: boolean
  readonly readers: readonly string[]
}

export interface OthersOffer {
  readonly owner: string
  readonly project: string
  readonly teams: readonly string[]
  readonly isAccepted: boolean
}

export interface TargetStats {
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
  /** Rows in clear text where what the user keeps is encrypted; only if there are any. They are passed over. */
  readonly clear?: number
}

/** How a folder is kept, or what a user has at a server. */
export interface FolderState {
  readonly encrypted: boolean
  /** What was made when it was opened: all of it, what encrypts the user's rows, or another key. */
  readonly made: "folder" | "server" | "key" | null
  /** What was there in clear text, and is encrypted now. */
  readonly replaced?: {
    readonly turns: number
    readonly pieces: number
    /** Why some of it is still in clear text, for people. */
    readonly left?: string
  }
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

/**
 * Of a target that is one file. Its folder must be there: one on a stick that is not plugged in must not be made.
 *
 * @param isReader whether the file must be there, too
 * @throws CtxError `target-missing`
 */
export function mustBeThere(file: string, isReader: boolean): void {
  if (statsOf(isReader ? file : dirname(file)) !== undefined) return
  const what = isReader ? `file: ${file}` : `folder: ${dirname(file)}`
  throw new CtxError("target-missing", `no such ${what}`, { hint: "is the drive or share mounted?" })
}
