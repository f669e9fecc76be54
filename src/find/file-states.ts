/**
 * Every state of a file that the archive can prove: what sessions of Claude Code wrote, edited and read of it, where it
 * says itself what the file was. Whatever else changes files (editors, commands, git) is seen only where a session met it
 * later, and a state of which a part is not known is never put together by guessing: not even from what the same session
 * had written before, since Claude Code goes on editing a file that others have changed once it has told the model so.
 */
import { replacedTexts, toolFiles, toolKind } from "../agents/tool-kinds.ts"
import { parseJson } from "../base/json-files.ts"
import { withSlashes } from "../base/path.ts"
import { fileResultOf } from "../claude/content.ts"
import { objectOf, stringOf } from "../record/json.ts"
import { isFetchedCopy } from "../vault/layout.ts"
import type { CopyReaders } from "../vault/reader.ts"
import type { Database } from "../views/database.ts"
import { textDiff } from "../views/edit-diff.ts"
import { placesOf } from "../views/queries/messages.ts"
import { callsOnFiles, type FileEdit } from "../views/queries/touched-files.ts"
import { lineInVault } from "./message-text.ts"
import { WholeCalls } from "./whole-matches.ts"

/** The call that made a state. */
type MadeBy = Pick<FileEdit, "tool" | "handle" | "session" | "seq" | "prompt"> & {
  readonly takenBack: boolean
}

export interface ProvenState {
  readonly time: string | null
  /** undefined: a session found the file so. Something else had changed it. */
  readonly by: MadeBy | undefined
  /** undefined: the archive has the change, but not all of the file. */
  readonly content: string | undefined
  /** Lines, against the state before; undefined where that is not known. */
  readonly added: number | undefined
  readonly removed: number | undefined
}

/** What one call says of the file. */
interface FileEvent {
  readonly kind: "read" | "write" | "edit"
  readonly time: string | null
  readonly by: MadeBy
  /** All of the file just before, where Claude Code says it. */
  readonly before: string | undefined
  /** All of the file then, where the call says it. */
  readonly after: string | undefined
  /** Whether Claude Code says of this text that it is what became of the file. */
  readonly fits: (text: string) => boolean
  /** What an edit replaced. */
  readonly replaced: readonly { readonly before: string; readonly after: string }[]
  readonly replacesAll: boolean
}

/** @param path absolute */
export const fileStates = (
  db: Database,
  dataHome: string,
  readers: CopyReaders,
  path: string,
): ProvenState[] => statesOf(eventsOn(db, dataHome, readers, path, callsWith(db, path)))

interface LastState {
  readonly content: string
  readonly time: string | null
  /** Whether a session changed the file later, and the archive lacks what all of it was then. */
  readonly isChangedSince: boolean
}

/**
 * @param path absolute
 * @param calls that read, wrote or edited it
 * @returns undefined if no state is proven
 */
export function lastState(
  db: Database,
  dataHome: string,
  readers: CopyReaders,
  path: string,
  calls: readonly FileEdit[],
): LastState | undefined {
  const events = eventsOn(db, dataHome, readers, path, calls)
  let isChangedSince = false
  for (const event of events.reverse()) {
    const { kind, time, before } = event
    const content = kind === "read" ? event.after : contentMade(event)
    if (content !== undefined) return { content, time, isChangedSince }
    if (kind !== "read") isChangedSince = true
    if (before !== undefined) return { content: before, time, isChangedSince }
  }
  return undefined
}

/** What a call and its answer say, line by line. */
interface ToldLines {
  readonly session: string
  /** Whether it was archived on another machine. */
  readonly isFetched: boolean
  readonly lines: ReadonlySet<string>
}

/** Lines without the white space around them. Of calls, their answers and what Claude Code notes of both. */
export function* linesTold(
  db: Database,
  dataHome: string,
  readers: CopyReaders,
  calls: readonly FileEdit[],
): Generator<ToldLines> {
  const sessions = new Map(
    calls.flatMap(({ use, result, session }) => [use, result].map((id) => [id, session] as const)),
  )
  for (const [id, session] of sessions) {
    const [place] = id === null ? [] : placesOf(db, [id])
    const line = place && lineInVault(dataHome, readers, place)
    if (line === undefined) continue
    const lines = new Set([...stringsIn(parseJson(line))].flatMap(linesIn))
    yield { session, isFetched: isFetchedCopy(place!.copy), lines }
  }
}

function* stringsIn(value: unknown): Generator<string> {
  if (typeof value === "string") yield value
  else if (typeof value === "object" && value !== null)
    for (const one of Object.values(value)) yield* stringsIn(one)
}

/** Each also without the number or the sign that a listing or a patch puts before it. */
const linesIn = (text: string): string[] =>
  text.split(/\r?\n/).flatMap((line) => [line.trim(), line.replace(/^(?: *\d+[→\t]|[-+])/, "").trim()])

const callsWith = (db: Database, path: string): FileEdit[] =>
  callsOnFiles(
    db,
    { sql: "f.path = ?", values: [withSlashes(path)] },
    { project: undefined, program: undefined },
    ["read", "edit", "write"],
  )

/** In their order. */
function eventsOn(
  db: Database,
  dataHome: string,
  readers: CopyReaders,
  path: string,
  rows: readonly FileEdit[],
): FileEvent[] {
  const calls = new WholeCalls(db, dataHome, readers)
  const events = rows.toReversed().flatMap((row): FileEvent[] => {
    const [use, result] = [row.use, row.result].map((id) => (id === null ? undefined : placesOf(db, [id])[0]))
    // What was done on another machine, or what nobody says was done, is not this file's past.
    if (use === undefined || result === undefined || isFetchedCopy(use.copy)) return []
    const input = calls.input(row)
    if (!toolFiles(row.tool, input).some((file) => file.path === row.path)) return []
    const line = objectOf(parseJson(lineInVault(dataHome, readers, result) ?? ""))
    // When it was done, not when the model asked for it: somebody may have had to agree.
    const time = stringOf(line["timestamp"]) ?? row.time
    return [eventOf({ ...row, time }, input, fileResultOf(line, path))]
  })
  return events.sort((a, b) => (a.time ?? "").localeCompare(b.time ?? ""))
}

function eventOf(row: FileEdit, input: unknown, told: ReturnType<typeof fileResultOf>): FileEvent {
  const { tool, handle, session, seq, prompt, takenBack, time } = row
  const kind = toolKind(tool)
  const texts = replacedTexts(tool, input) ?? []
  // The user may have changed it before it was written: then what the model asked for is not what the file has.
  const isTold = told?.isUserModified === false
  const written = kind === "write" && isTold && texts.length === 1 ? texts[0]!.after : undefined
  return {
    kind: kind === "read" || kind === "write" ? kind : "edit",
    time,
    by: { tool, handle, session, seq, prompt, takenBack: takenBack === 1 },
    before: told?.before,
    after: kind === "read" ? told?.content : written,
    fits: (text) => told?.fits(text) === true,
    replaced: isTold
      ? texts.flatMap(({ before, after }) => (before === undefined ? [] : { before, after }))
      : [],
    replacesAll: objectOf(input)["replace_all"] === true,
  }
}

/**
 * The states that these events prove, in order. An edit proves one where Claude Code says what all of the file was before
 * it, and the lines that it says were there afterwards are where it says. Pure.
 *
 * @param events in their order
 */
function statesOf(events: readonly FileEvent[]): ProvenState[] {
  const states: ProvenState[] = []
  const find = (content: string, time: string | null): void => {
    const last = states.at(-1)
    if (last?.content !== content)
      states.push({ time, by: undefined, content, ...changed(last?.content, content) })
  }
  for (const event of events) {
    const { kind, time, by, before, after } = event
    if (kind === "read") {
      if (after !== undefined) find(after, time)
      continue
    }
    if (before !== undefined) find(before, time)
    const content = contentMade(event)
    states.push({ time, by, content, ...changed(before ?? states.at(-1)?.content, content) })
  }
  return states
}

/** All of the file after a call that changed it, if that is known. */
function contentMade({ kind, before, after, fits, replaced, replacesAll }: FileEvent): string | undefined {
  const made = after ?? (before === undefined ? undefined : edited(before, replaced, replacesAll))
  return made !== undefined && (kind === "write" || fits(made)) ? made : undefined
}

/** @returns undefined if it cannot be told where a text was replaced */
function edited(content: string, replaced: FileEvent["replaced"], replacesAll: boolean): string | undefined {
  if (replaced.length === 0) return undefined
  let text = content
  for (const { before: asked, after } of replaced) {
    // Claude Code takes out the end of a line, too, of which nothing is left.
    const isLine = after === "" && !asked.endsWith("\n") && text.includes(`${asked}\n`)
    const before = isLine ? `${asked}\n` : asked
    const at = text.indexOf(before)
    if (before === "" || at < 0) return undefined
    if (replacesAll) text = text.replaceAll(before, () => after)
    else if (text.includes(before, at + 1)) return undefined
    else text = text.slice(0, at) + after + text.slice(at + before.length)
  }
  return text
}

function changed(
  before: string | undefined,
  after: string | undefined,
): Pick<ProvenState, "added" | "removed"> {
  if (before === undefined || after === undefined) return { added: undefined, removed: undefined }
  const [a, b] = [before, after].map((text) => text.replace(/\n$/, "").split("\n")) as [string[], string[]]
  // A diff of long texts takes long, and most of them is the same.
  let head = 0
  while (head < Math.min(a.length, b.length) && a[head] === b[head]) head++
  let tail = 0
  while (tail < Math.min(a.length, b.length) - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++
  const [middleA, middleB] = [a, b].map((lines) => lines.slice(head, lines.length - tail)) as [
    string[],
    string[],
  ]
  if (middleA.length === 0 || middleB.length === 0) return { added: middleB.length, removed: middleA.length }
  const marks = textDiff(middleA.join("\n"), middleB.join("\n")).flatMap((hunk) =>
    hunk.map(({ mark }) => mark),
  )
  return {
    added: marks.filter((mark) => mark === "+").length,
    removed: marks.filter((mark) => mark === "-").length,
  }
}
