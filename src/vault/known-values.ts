/**
 * What was recognised as a secret once in a session is filled wherever it occurs in it (docs/adr/0014).
 *
 * Nothing of a value is kept: `known/` has one file per session, which says where in Claude Code's transcripts its
 * values are. They are read there when they are needed.
 */

import { statsOf, tryTo, writeWhole } from "../base/files.ts"
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from "../base/fs.ts"
import { parseLines } from "../base/json-files.ts"
import { dirname, join } from "../base/path.ts"
import type { Paths } from "../config/load.ts"
import { fill } from "../secrets/fill.ts"
import { filterLines, type SecretSettings } from "../secrets/filter.ts"
import { formsOf, isKeyLine, isMemorable, type Known, knownPlaces } from "../secrets/known.ts"
import { asItIs, type KnownLines, type KnownValues } from "./capture.ts"
import { readExactly } from "./copy-file.ts"
import { knownFile, vaultFile, vaultPath } from "./layout.ts"
import { tailOf } from "./reader.ts"
import { follows, sameButForFiller, withSource } from "./source-file.ts"
import { ownerOf } from "./tombstones.ts"

/** Values of one session. More than these come from tests and examples, and looking for each costs time. */
const MOST = 200
/** Lines of private keys of one session besides, of which a key of 4096 bits has 50. */
const MOST_LINES = 400

interface Place {
  readonly path: string
  /** Id of the transcript's copy: another means that Claude Code has rewritten it. */
  readonly id: string
  /** First byte of each value in the transcript, and the one after its last. */
  readonly spans: readonly (readonly [from: number, to: number])[]
}

type KnownPlace = Pick<Paths, "dataHome" | "home">

/** @param session as named in the views */
export const knownOf = (place: KnownPlace, session: string, path: string): SessionValues =>
  new SessionValues(place, ownerOf(session, path))

export class ValuesInMemory implements KnownValues {
  /** In the order in which they were recognised. */
  readonly known = new Map<string, readonly string[]>()
  #lines = 0

  fill({ path, id, from, original, filtered, edit }: KnownLines): Uint8Array {
    if (filtered.values.length === 0 && this.known.size === 0) return edit(filtered.content, from)
    const bytes = Buffer.from(original.buffer, original.byteOffset, original.length)
    const text = bytes.toString("latin1")
    const fresh = filtered.values.filter(({ start, end }) => this.add(text.slice(start, end)))
    if (fresh.length > 0)
      this.note({ path, id, spans: fresh.map(({ start, end }) => [from + start, from + end]) })
    let content = edit(filtered.content, from)
    for (const forms of this.known.values()) {
      const places = knownPlaces(bytes, text, forms)
      // Tombstones know lines as they were when fewer values were known.
      if (places.length > 0) content = edit(fill(content, places), from)
    }
    return content
  }

  /** @returns whether it is new */
  protected add(value: string): boolean {
    if (this.known.has(value) || !isMemorable(value)) return false
    const isLine = isKeyLine(value)
    if (isLine ? this.#lines >= MOST_LINES : this.known.size - this.#lines >= MOST) return false
    if (isLine) this.#lines++
    this.known.set(value, formsOf(value))
    return true
  }

  protected note(_place: Place): void {}
}

class SessionValues extends ValuesInMemory {
  readonly #file: string
  /** Whether all that was noted is still where it was. */
  readonly isWhole: boolean

  /** @param owner the session, without a subagent */
  constructor(place: KnownPlace, owner: string) {
    super()
    this.#file = knownFile(place.dataHome, owner)
    const kept = placesKept(this.#file).map((one) => ({ noted: one.spans, values: valuesAt(place, one) }))
    for (const value of kept.flatMap(({ values }) => values)) this.add(value)
    this.isWhole = kept.every(({ noted, values }) => noted.length === values.length)
  }

  /** Notes the values of lines that are archived already. */
  learn(lines: Omit<KnownLines, "filtered" | "edit">, secrets: SecretSettings): void {
    this.fill({ ...lines, filtered: filterLines(lines.original, 0, secrets), edit: asItIs })
  }

  /** Before anything of the lines with the values is archived. */
  protected override note(place: Place): void {
    // What cannot be noted is still known to this call. The job looks again at what had to be archived elsewhere.
    tryTo(() => {
      mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 })
      appendFileSync(this.#file, `${JSON.stringify(place)}\n`, { mode: 0o600 })
    })
  }
}

/**
 * Fills values in what is archived already.
 *
 * @param original the same bytes in the transcript, where nothing is filled; undefined if it no longer has them
 */
export function withoutValues(
  content: Uint8Array,
  original: Uint8Array | undefined,
  known: Known,
): Uint8Array {
  const isSame = original !== undefined && sameButForFiller(content, original) === undefined
  const searched = Buffer.from(isSame ? original : content)
  const text = searched.toString("latin1")
  const places = [...known.values()].flatMap((forms) => knownPlaces(searched, text, forms))
  return places.length === 0 ? content : fill(content, places)
}

/** None yet, or we may not look: then better archive what rules alone have filtered, elsewhere, than nothing. */
const placesKept = (file: string): Place[] =>
  tryTo(() => parseLines(readFileSync(file, "utf8")) as Place[]) ?? []

/** The values that a transcript still has where it had them when they were noted. */
const valuesAt = ({ dataHome, home }: KnownPlace, { path, id, spans }: Place): string[] =>
  tryTo(() => {
    const tail = tailOf(vaultFile(dataHome, vaultPath(path, home)))
    if (tail?.header.id !== id) return []
    return withSource(path, (fd, size) =>
      follows(fd, { size }, tail)
        ? spans.map(([from, to]) => Buffer.from(readExactly(fd, from, to - from)).toString("latin1"))
        : [],
    )
  }) ?? []

const doneFile = (file: string): string => file.replace(/\.jsonl$/, ".done")

/** A file that says more than when everything archived of its session was last searched for its values. */
export interface Due {
  readonly file: string
  readonly size: number
  readonly paths: readonly string[]
}

export function dueKnown(dataHome: string): Due[] {
  const folder = dirname(knownFile(dataHome, ""))
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => join(folder, name))
    .filter(isDue)
    .map((file) => ({ file, size: statSync(file).size, paths: placesKept(file).map(({ path }) => path) }))
}

/** @param file of a session */
export function isDue(file: string): boolean {
  const done = tryTo(() => readFileSync(doneFile(file), "utf8")) ?? ""
  return done !== String(statsOf(file)?.size ?? "")
}

/**
 * Has the job search again, if something became known while lines were archived without it: the job may have been there
 * in between.
 *
 * @param size of the file before
 */
export function refreshDue(file: string, size: number): void {
  if (statsOf(file)?.size !== size) tryTo(() => appendFileSync(file, "\n", { mode: 0o600 }))
}

export const settleKnown = ({ file, size }: Due): void => writeWhole(doneFile(file), String(size))

export function removeKnown(dataHome: string, owner: string): void {
  const file = knownFile(dataHome, owner)
  for (const one of [file, doneFile(file)]) rmSync(one, { force: true })
}
