/**
 * Former versions of turns at a target, which may hold what has been taken out since: those that the ledger has noted
 * and, where it may have lost count, those that the target says this archive has put there.
 */

import type { Tombstone } from "../vault/tombstone.ts"
import { ownerOf } from "../vault/tombstones.ts"
import { listPending } from "../views/pending.ts"
import { type Ledger, machineName } from "./sync-ledger.ts"
import { type Entry, entryId, isOfSession } from "./targets/entry.ts"
import type { SentVersion, Target } from "./targets/target.ts"

/** Whether something was taken out of a session since the last sync, here or by another machine. */
export type MayHold = (session: string) => boolean

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
    const noted = new Set([...ledger.turns.values()].map(({ id }) => id))
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
