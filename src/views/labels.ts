/**
 * What a person has said of a session or a turn since: its tags, that it is pinned, and that what was decided in it does
 * not hold. In a file of the data folder, for the vault holds only what was said, and views come and go. A turn goes by
 * its handle, which is made of its content: forks, views made anew and other archives call it the same.
 */
import { CtxError, codeOf, throwBusy } from "../base/errors.ts"
import { flush, tryTo, writePrivate } from "../base/files.ts"
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "../base/fs.ts"
import { parseJson, readJson } from "../base/json-files.ts"
import { withLockFile } from "../base/lock.ts"
import { dirname, join } from "../base/path.ts"
import { isObject, listedStrings, stringOf } from "../record/json.ts"
import { forgottenOf } from "../vault/tombstones.ts"

/** What holds of a turn or session, as hits and documents tell it. */
export interface LabelShown {
  readonly tags: readonly string[]
  readonly pinned: boolean
  /** Of a turn: what was decided in it does not hold. */
  readonly verdict: "rejected" | "superseded" | null
  /** Handle, with its prefix, of the turn that holds instead. */
  readonly by: string | null
  /** Why, in the person's words. */
  readonly note: string | null
  /** When the verdict was given, in ISO 8601. */
  readonly judged: string | null
  /** Whether it was given at a terminal outside any agent: then it is the user's. */
  readonly byUser: boolean
}

export interface Label extends LabelShown {
  /** The session, or that of the turn when it was labelled. */
  readonly session: string
  /** With its prefix; null: the session itself is labelled. */
  readonly handle: string | null
  /** When it was changed last, in ISO 8601. */
  readonly time: string
}

const NO_LABEL: LabelShown = {
  tags: [],
  pinned: false,
  verdict: null,
  by: null,
  note: null,
  judged: null,
  byUser: false,
}

/** ms to wait for another process that changes them. */
const PATIENCE = 3000

const fileOf = (dataHome: string): string => join(dataHome, "labels.json")

/** What a label is on; a session's id has no colon. */
const subjectOf = ({ handle, session }: Pick<Label, "handle" | "session">): string => handle ?? session

const saysNothing = ({ tags, pinned, verdict }: Label): boolean =>
  tags.length === 0 && !pinned && verdict === null

/** As they are now. What cannot be read of the file counts as not being there. */
export class Labels {
  readonly all: readonly Label[]
  readonly #bySubject: ReadonlyMap<string, Label>

  constructor(all: readonly Label[]) {
    this.all = all
    this.#bySubject = new Map(all.map((label) => [subjectOf(label), label]))
  }

  /** @param subject a handle with its prefix, or a session's id */
  on(subject: string): Label | undefined {
    return this.#bySubject.get(subject)
  }

  /** What holds of a turn: its own label, with the tags and the pin of its session. */
  ofTurn(handle: string, session: string): LabelShown | undefined {
    const [own, around] = [this.on(handle), this.on(session)]
    if (around === undefined) return own && shown(own)
    const { tags, pinned } = around
    const of = shown(own ?? NO_LABEL)
    return { ...of, tags: [...new Set([...of.tags, ...tags])], pinned: of.pinned || pinned }
  }

  /** Whether what was decided in a turn does not hold. */
  verdictOn(handle: string): Verdict | undefined {
    const label = this.on(handle)
    return label?.verdict ? (label as Verdict) : undefined
  }

  /** Sessions and turns with this tag, in upper or lower case; without one, those that are pinned. */
  named(tag?: string): LabelledNames {
    const wanted = tag?.toLowerCase()
    const found = this.all.filter(({ tags, pinned }) =>
      wanted === undefined ? pinned : tags.some((one) => one.toLowerCase() === wanted),
    )
    return {
      sessions: found.filter(({ handle }) => handle === null).map(({ session }) => session),
      handles: found.flatMap(({ handle }) => handle ?? []),
    }
  }
}

export type Verdict = LabelShown & { readonly verdict: "rejected" | "superseded" }

export interface LabelledNames {
  readonly sessions: readonly string[]
  /** With their prefix. */
  readonly handles: readonly string[]
}

const shown = ({ tags, pinned, verdict, by, note, judged, byUser }: LabelShown): LabelShown => ({
  ...{ tags, pinned, verdict, by, note, judged, byUser },
})

export const readLabels = (dataHome: string): Labels => new Labels(labelsIn(readJson(fileOf(dataHome))) ?? [])

/** Somebody may have edited the file. */
const HANDLE = /^ctx:[0-9a-z]{1,20}$/

/** @returns undefined if it is no list of labels */
function labelsIn(document: unknown): Label[] | undefined {
  if (!isObject(document) || !Array.isArray(document["labels"])) return undefined
  return document["labels"].filter(isObject).flatMap((one) => {
    const session = stringOf(one["session"])
    if (session === undefined) return []
    const verdict = one["verdict"]
    return {
      session,
      handle: stringOf(one["handle"]) ?? null,
      tags: listedStrings(one["tags"]),
      pinned: one["pinned"] === true,
      verdict: verdict === "rejected" || verdict === "superseded" ? verdict : null,
      by: HANDLE.exec(stringOf(one["by"]) ?? "")?.[0] ?? null,
      note: stringOf(one["note"]) ?? null,
      judged: stringOf(one["judged"]) ?? null,
      byUser: one["byUser"] === true,
      time: stringOf(one["time"]) ?? "",
    }
  })
}

/** @throws CtxError `labels-damaged` */
function soundLabels(file: string): readonly Label[] {
  if (!existsSync(file)) return []
  const labels = labelsIn(parseJson(tryTo(() => readFileSync(file, "utf8")) ?? ""))
  if (labels !== undefined) return labels
  throw new CtxError("labels-damaged", `${file} cannot be read as a list of labels`, {
    hint: "mend it or move it away: nothing else holds the labels",
  })
}

/**
 * Changes them while nobody else does.
 *
 * @param change gets the labels as they are, and returns them as they are to be; the same list: nothing is written
 * @throws CtxError `busy`; `labels-damaged`: what a person wrote is not overwritten because it could not be read
 */
export function changeLabels(
  dataHome: string,
  change: (labels: readonly Label[]) => readonly Label[],
): Labels {
  mkdirSync(dataHome, { recursive: true, mode: 0o700 })
  const file = fileOf(dataHome)
  const work = (): Labels => {
    const before = soundLabels(file)
    const after = change(before)
    if (after === before) return new Labels(before)
    const left = after.filter((label) => !saysNothing(label))
    if (left.length === 0) rmSync(file, { force: true })
    else writeKept(file, `${JSON.stringify({ labels: left }, null, 1)}\n`)
    return new Labels(left)
  }
  return withLockFile(join(dataHome, "labels.lock"), PATIENCE, work, () =>
    throwBusy("another process is changing the labels", "try again"),
  )
}

/** On the disk when it returns, as nobody can make it again. */
function writeKept(file: string, text: string): void {
  const temporary = `${file}.${process.pid}`
  writePrivate(temporary, text)
  flush(temporary)
  renameSync(temporary, file)
  flush(dirname(file))
}

/**
 * Labels the subject as `change` says.
 *
 * @param time ISO 8601
 */
export function withLabel(
  labels: readonly Label[],
  subject: Pick<Label, "session" | "handle">,
  change: (label: LabelShown) => LabelShown,
  time: string,
): Label[] {
  const name = subjectOf(subject)
  const known = labels.find((label) => subjectOf(label) === name)
  const changed = { ...shown(change(known ?? NO_LABEL)), ...subject, time }
  return [...labels.filter((label) => label !== known), changed]
}

interface Leaves {
  /** Whether the user wants something forgotten of these bytes, which are a string in JSON. */
  readonly matches?: (bytes: Uint8Array) => boolean
  /** The sessions in whose labels it is forgotten; undefined: in all. */
  readonly within?: ReadonlySet<string> | undefined
  /** Handles of the turns of sessions that were forgotten, with their prefix. */
  readonly handles?: ReadonlySet<string>
}

/** What was done to the labels while other things were removed. */
interface LabelsCleaned {
  /** How many were changed or taken out, or would be. */
  readonly labels: number
  /** The file, if it could not be read: nobody knows what it holds, and nothing else holds the labels. */
  readonly failed: readonly { readonly copy: string; readonly error: string }[]
}

/** Takes out labels of what was forgotten, and words that were. */
export function forgetLabels(
  dataHome: string,
  { matches, within, handles = new Set() }: Leaves,
  dryRun = false,
): LabelsCleaned {
  const isGone = ({ session, handle }: Label): boolean =>
    (handle !== null && handles.has(handle)) || forgottenOf(dataHome, session, session)?.whole === true
  // In JSON, as a number would be JSON by itself, in which only strings are searched.
  const isFound = (text: string): boolean =>
    matches?.(new TextEncoder().encode(JSON.stringify(text))) === true
  return cleaned(
    dataHome,
    (label) => {
      if (isGone(label)) return undefined
      const { tags, note, by, session } = label
      const isWithin = within?.has(session.split("/", 1)[0]!) ?? true
      const isMeant = (text: string): boolean => isWithin && isFound(text)
      const isKept = tags.every((tag) => !isMeant(tag)) && (note === null || !isMeant(note))
      if (isKept && (by === null || !handles.has(by))) return label
      return {
        ...label,
        tags: tags.filter((tag) => !isMeant(tag)),
        note: note !== null && isMeant(note) ? null : note,
        by: by !== null && handles.has(by) ? null : by,
      }
    },
    dryRun,
  )
}

/** Fills what `filter` does in them. */
export function redactLabels(
  dataHome: string,
  filter: (text: string) => string,
  dryRun: boolean,
): LabelsCleaned {
  const filled = (label: Label): Label => {
    const tags = label.tags.map(filter)
    const note = label.note === null ? null : filter(label.note)
    return note === label.note && tags.every((tag, n) => tag === label.tags[n])
      ? label
      : { ...label, tags, note }
  }
  return cleaned(dataHome, filled, dryRun)
}

/**
 * Does not throw if the file is damaged: that must not stop whoever has more to remove.
 *
 * @param become the same label: it stays; undefined: it goes
 */
function cleaned(
  dataHome: string,
  become: (label: Label) => Label | undefined,
  dryRun = false,
): LabelsCleaned {
  const file = fileOf(dataHome)
  if (!existsSync(file)) return { labels: 0, failed: [] }
  const other = (labels: readonly Label[]): number => labels.filter((label) => become(label) !== label).length
  let changed = 0
  try {
    if (dryRun) changed = other(soundLabels(file))
    else {
      changeLabels(dataHome, (labels) => {
        changed = other(labels)
        return changed === 0 ? labels : labels.flatMap((label) => become(label) ?? [])
      })
    }
    return { labels: changed, failed: [] }
  } catch (error) {
    if (codeOf(error) !== "labels-damaged") throw error
    const told =
      "it is no list of labels, and may hold what has to go: mend it and run this again, or delete it"
    return { labels: 0, failed: [{ copy: "labels.json", error: told }] }
  }
}

/** A session or turn with its own label, if it has one. */
export function withItsLabel<One extends { readonly id: string } | { readonly handle: string }>(
  one: One,
  labels: Labels,
): One & { readonly label?: LabelShown } {
  const label = labels.on("handle" in one ? one.handle : one.id)
  return label === undefined ? one : { ...one, label: shown(label) }
}

/* What is said of a label where a person reads it. Pure. */

/** `rejected: too slow on ARM`, `superseded by ctx:cd34ef`; not yet made safe to print. */
const verdictText = ({ verdict, by, note }: Verdict): string =>
  `${verdict}${by === null ? "" : ` by ${by}`}${note === null ? "" : `: ${note}`}`

/** Each in a word or a few, not yet made safe to print: `pinned`, `#release`, the verdict. */
export const labelWords = (label: LabelShown | undefined): string[] =>
  label === undefined
    ? []
    : [
        ...(label.pinned ? ["pinned"] : []),
        ...label.tags.map((tag) => `#${tag}`),
        ...(label.verdict === null ? [] : [verdictText(label as Verdict)]),
      ]
