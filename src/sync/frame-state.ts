/**
 * What this machine knows of the frames at a target, beside its ledger. Only what is costly to find out: if it is lost,
 * copies are compared with what is there, byte by byte, once.
 */

import { pieceKey, type VaultPiece } from "../backends/frame-store.ts"
import { hashName, readJson, writeJson } from "../util/json-files.ts"
import { join } from "../util/path.ts"
import { isFetchedCopy, machineOf } from "../vault/layout.ts"
import { syncFolder } from "./sync-ledger.ts"

/** How far a copy was fetched, and a hash of what was there then. */
export interface Fetched {
  readonly to: number
  readonly digest: string
}

const pieceHash = ({ to, sha256, frame }: VaultPiece): string =>
  `${to} ${sha256.slice(0, 16)} ${Bun.hash.xxHash64(frame).toString(36)}`

export class FrameState {
  /** By the copy's id: the file as it was when it was last compared with what is there. */
  readonly compared = new Map<string, string>()
  /** By the copy's id: how far it was there when the last sync ended. */
  readonly sent = new Map<string, number>()
  /** Of the files there that this machine writes, as they were then. */
  stamps: Readonly<Record<string, string>>
  /** By `<machine>/<id>`. */
  readonly fetched = new Map<string, Fetched>()
  /** Pieces that are not what they say, and a hash of each: they are not unpacked again until they are others. */
  readonly #refused = new Map<string, string>()
  /** Hash of what was taken out of lines by anybody, when the turns were last looked at. */
  fills: string
  /** What was told of damage there, which is told once. */
  told: readonly string[]
  /** Machines of which something was fetched. */
  readonly #machines: Set<string>
  readonly #file: string

  /** @param target the backend's id */
  constructor(dataHome: string, target: string) {
    this.#file = join(syncFolder(dataHome), `${hashName(target)}.frames.json`)
    const { machines, compared, sent, stamps, told, fetched, fills, refused } = (readJson(this.#file) ??
      {}) as {
      machines?: readonly string[]
      refused?: Record<string, string>
      fills?: string
      told?: readonly string[]
      sent?: Record<string, number>
      stamps?: Record<string, string>
      compared?: Record<string, string>
      fetched?: Record<string, Fetched>
    }
    this.#machines = new Set(machines)
    this.fills = fills ?? ""
    this.told = told ?? []
    this.stamps = stamps ?? {}
    for (const [id, to] of Object.entries(sent ?? {})) this.sent.set(id, to)
    for (const [id, stamp] of Object.entries(compared ?? {})) this.compared.set(id, stamp)
    for (const [name, one] of Object.entries(fetched ?? {})) this.fetched.set(name, one)
    for (const [name, hash] of Object.entries(refused ?? {})) this.#refused.set(name, hash)
  }

  /** Notes, before anything is fetched, whose copies may come. */
  expect(machines: readonly string[]): void {
    if (machines.every((machine) => this.#machines.has(machine))) return
    for (const machine of machines) this.#machines.add(machine)
    this.save()
  }

  /** Whether a copy of the vault mirrors one at this target: whoever sent its bytes has sent its turns, too. */
  isTheirs(copy: string): boolean {
    return isFetchedCopy(copy) && this.#machines.has(machineOf(copy))
  }

  isRefused(piece: VaultPiece): boolean {
    const known = this.#refused.get(pieceKey(piece))
    return known !== undefined && known === pieceHash(piece)
  }

  /** Notes whether a piece is what it says. */
  judge(piece: VaultPiece, isSound: boolean): void {
    if (isSound) this.#refused.delete(pieceKey(piece))
    else this.#refused.set(pieceKey(piece), pieceHash(piece))
  }

  /** Drops what is noted of pieces that are no more. */
  keepRefused(there: ReadonlySet<string>): void {
    for (const name of this.#refused.keys()) if (!there.has(name)) this.#refused.delete(name)
  }

  save(): void {
    const machines = [...this.#machines]
    const compared = Object.fromEntries(this.compared)
    writeJson(this.#file, {
      machines,
      fills: this.fills,
      told: this.told,
      compared,
      sent: Object.fromEntries(this.sent),
      stamps: this.stamps,
      fetched: Object.fromEntries(this.fetched),
      refused: Object.fromEntries(this.#refused),
    })
  }
}
