/**
 * What no longer is as it was when the quoted turns were said: the user says that something decided there does not hold,
 * or files that were changed there have been changed since. Nothing is ever said to be as it was.
 */
import { replacedTexts } from "../agents/tool-kinds.ts"
import { statsOf, tryTo } from "../base/files.ts"
import { readFileSync, statSync } from "../base/fs.ts"
import { dirname } from "../base/path.ts"
import { callIn } from "../claude/line-texts.ts"
import { HANDLE_PREFIX } from "../record/our-marks.ts"
import type { Database } from "../views/database.ts"
import type { Labels } from "../views/labels.ts"
import { filesChangedIn } from "../views/queries/calls.ts"
import { placesOf } from "../views/queries/messages.ts"
import { type FileSince, filesOfTurns, movedText } from "../views/queries/touched-files.ts"
import { turnId } from "../views/queries/turns.ts"
import { type ArchivedLines, LONGEST_LINE } from "../views/records.ts"
import type { Brief, FileInFlight, Material } from "./material.ts"
import { verdictIn } from "./quote.ts"

/** Characters of why something does not hold. */
const WHY = 80
/** Turns of the session itself that are looked at, the latest, and of others. */
const OWN_TURNS = 20
const OTHER_TURNS = 9
/** Files of a turn that are compared with what is there now, and bytes of one. */
const COMPARED = 5
const COMPARED_TURNS = 3
const LARGEST = 256 << 10
/** Bytes of all files that a restore compares. */
const MOST_READ = 2 << 20

/** Whether there is time, and room, to read this many more bytes of the user's files. */
type MayRead = (bytes: number) => boolean

/** @param until ms of performance.now(): what is not compared by then may be as it was */
export function readingUntil(until: number): MayRead {
  let left = MOST_READ
  return (bytes) => {
    if (performance.now() >= until || bytes > left) return false
    left -= bytes
    return true
  }
}

/** What is said of a turn behind its line, by its handle without a prefix. */
type After = ReadonlyMap<string, string>

type Row = { readonly handle: string; readonly after?: string }

const added = <One extends Row>(rows: readonly One[], after: After): One[] =>
  rows.map((row) => {
    const told = after.get(row.handle)
    return told === undefined ? row : { ...row, after: `${row.after ?? ""}; ${told}` }
  })

function addedToBrief<Some extends Brief>(material: Some, after: After): Some {
  if (after.size === 0) return material
  const { notes, turns, related } = material
  const told = notes && { notes: { ...notes, latest: added(notes.latest, after) } }
  return { ...material, ...told, turns: added(turns, after), related: added(related, after) }
}

/** With what the user says does not hold. */
export function judged<Some extends Brief>(material: Some, marks: Labels): Some {
  const after = new Map<string, string>()
  for (const { handle } of marks.all) {
    const verdict = handle === null ? undefined : marks.verdictOn(handle)
    if (verdict !== undefined) after.set(handle!.slice(HANDLE_PREFIX.length), verdictIn(verdict, WHY))
  }
  return addedToBrief(material, after)
}

/** The same for all that is quoted of a session. */
export function judgedAll(material: Material, marks: Labels): Material {
  if (marks.all.length === 0) return material
  const judge = (rows: Material["decisions"]): Material["decisions"] =>
    rows.map((row) => {
      const verdict = marks.verdictOn(HANDLE_PREFIX + row.handle)
      return verdict === undefined ? row : { ...row, after: `; ${verdictIn(verdict, WHY)}`, isOver: true }
    })
  const { focused, constraints, answers, decisions, refuted } = material
  return {
    ...judged(material, marks),
    ...(focused && { focused: judged({ ...material, related: focused }, marks).related }),
    constraints: judge(constraints),
    answers: judge(answers),
    decisions: judge(decisions),
    refuted: judge(refuted),
  }
}

/** To compare files of turns with what is in them now. */
interface Comparing {
  readonly lines: ArchivedLines
  readonly mayRead: MayRead
}

/**
 * With turns whose files have been changed since: the session's own by other sessions, since it tells itself what it did
 * later; those of others by anybody.
 *
 * @param kin sessions whose changes the session's own turns know of
 * @param comparing files of others' turns; undefined: only turns are asked
 */
export function moved<Some extends Brief>(
  db: Database,
  material: Some,
  kin: readonly string[],
  comparing?: Comparing,
): Some {
  const handles = (rows: readonly Row[], most: number): string[] =>
    rows.slice(0, most).map(({ handle }) => handle)
  const after = new Map<string, string>()
  const tell = (
    turns: readonly string[],
    except: readonly string[],
    isOther: (file: FileSince) => boolean,
  ): void => {
    for (const [handle, files] of Map.groupBy(filesOfTurns(db, turns, except), (file) => file.handle)) {
      const changed = files.filter((file) => file.isChanged || isOther(file)).length
      if (changed > 0) after.set(handle, movedText({ files: files.length, changed }))
    }
  }
  tell(handles(material.turns, OWN_TURNS), kin, () => false)
  const others = handles(material.related, OTHER_TURNS)
  const known = comparing && changedOnDisk(db, others, comparing)
  tell(others, [], ({ handle, path }) => known?.has(`${handle} ${path}`) === true)
  return addedToBrief(material, after)
}

/** `handle path` of the files that are not as these turns left them. */
function changedOnDisk(db: Database, handles: readonly string[], { lines, mayRead }: Comparing): Set<string> {
  const calls = handles
    .slice(0, COMPARED_TURNS)
    .flatMap((handle) => filesChangedIn(db, turnId(db, handle), COMPARED))
  const places = new Map(
    placesOf(
      db,
      calls.map(({ latest }) => latest),
    ).map((place) => [place.id, place]),
  )
  const changed = calls.filter(({ path, call, latest }) => {
    const place = places.get(latest)
    if (place === undefined || place.length >= LONGEST_LINE || !mayRead(0)) return false
    const made = callIn(lines.at(place), call)
    return made !== undefined && sinceCall(path, made, mayRead) !== undefined
  })
  return new Set(changed.map(({ handle, path }) => `${handle} ${path}`))
}

/* By content: what a call wrote into a file, and what is in the file now. */

/**
 * What became of a file since a call wrote to it.
 *
 * @returns undefined if it may be as it was, or nobody can tell, as where its folder is not there either
 */
export function sinceCall(
  path: string,
  call: { readonly name: string; readonly input: unknown },
  mayRead: MayRead,
): FileInFlight["since"] {
  // Of several edits in a call, a later one may have changed what an earlier one wrote.
  const written = replacedTexts(call.name, call.input)?.at(-1)?.after
  // A notebook's file has its cells as JSON.
  if (written === undefined || !path.startsWith("/") || path.endsWith(".ipynb") || !mayRead(0))
    return undefined
  const stats = tryTo(() => statSync(path, { throwIfNoEntry: false }) ?? null)
  if (stats === undefined) return undefined
  if (stats === null) return statsOf(dirname(path))?.isDirectory() ? "gone" : undefined
  if (!stats.isFile() || stats.size > LARGEST || !mayRead(stats.size)) return undefined
  const now = tryTo(() => readFileSync(path, "utf8"))
  if (now === undefined) return undefined
  const there = linesIn(now).join("\n")
  return stretchesOf(linesIn(written)).some((text) => !there.includes(text)) ? "changed" : undefined
}

/** Lines that follow each other, up to one with a secret. An edit may begin and end within a line of the file. */
function stretchesOf(lines: readonly string[]): string[] {
  const stretches: string[][] = [[]]
  for (const line of lines) {
    if (isFilled(line)) stretches.push([])
    else stretches.at(-1)!.push(line)
  }
  return stretches.map((stretch) => stretch.join("\n"))
}

/** Without their indentation and ends, which tools and editors change. */
const linesIn = (text: string): string[] =>
  text.split("\n").flatMap((line) => {
    const trimmed = line.trim()
    return trimmed === "" ? [] : [trimmed]
  })

/** In the vault, asterisks stand for secrets: what is in the file is not known then. */
const isFilled = (line: string): boolean => line.includes("****")
