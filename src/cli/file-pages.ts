/**
 * The pages of the files that sessions changed: each as it is on disk or, where it is gone or lies elsewhere, as the
 * archive last had it, and the turn that each line comes from.
 */
import { readFileSync } from "node:fs"
import { version } from "../../package.json"
import { toolKind } from "../agents/tool-kinds.ts"
import { messageOf } from "../base/errors.ts"
import { statsOf, tryTo } from "../base/files.ts"
import { existsSync, type FileStats, realpathSync, statSync } from "../base/fs.ts"
import { hashName, readJson, writeJson } from "../base/json-files.ts"
import { basename, dirname, join } from "../base/path.ts"
import { bytes, count } from "../base/text.ts"
import type { PathsAndPolicy } from "../config/load.ts"
import { lastState, linesTold } from "../find/file-states.ts"
import { type LineSource, sourcesOfLines } from "../find/line-question.ts"
import { filterText } from "../secrets/filter.ts"
import { isMemorable, type Known, withoutKnown } from "../secrets/known.ts"
import { knownOf } from "../vault/known-values.ts"
import { CopyReaders } from "../vault/reader.ts"
import type { Database } from "../views/database.ts"
import { isExcludedFolder } from "../views/excluded.ts"
import { fileState, keptFile, programState } from "../views/kept-pages.ts"
import { checkoutOf, folderOf, namesApart } from "../views/project.ts"
import type { Session } from "../views/queries/sessions.ts"
import {
  type ChangedPath,
  callsOnManyFiles,
  type FileEdit,
  ownAmong,
  pathsChangedIn,
  startersOf,
} from "../views/queries/touched-files.ts"
import { htmlBytes, PAGE_WORDS, pageName } from "./html-pages.ts"
import type { PageLink } from "./pages/html/document.ts"
import { type FileOnPage, filePage, type ListedFile, type WritingTurn } from "./pages/html/file-page.ts"
import { anchorOf } from "./pages/html/turn-html.ts"
import { writeExport } from "./pages/output-file.ts"

/** Bytes and lines of a file that a page shows. */
const LARGEST = 1 << 20
const MOST_LINES = 20_000

/** What the pages of files are made from. */
interface FilesWanted {
  readonly db: Database
  readonly place: PathsAndPolicy
  readonly sessions: readonly Session[]
}

/** Where pages are written. */
interface PagesPlace {
  readonly folder: string
  /** Whether it is the one in the data folder, where a page is only made again when something of it has changed. */
  readonly isKept: boolean
  readonly force: boolean
  /** The list that a page leads back to, which it may have led to before. */
  readonly upFrom: (before: string | undefined, list: PageLink | undefined) => PageLink | undefined
}

export interface FilePages {
  /** Where they are. */
  readonly folder: string
  readonly listed: readonly ListedFile[]
  /** Of all pages. */
  readonly bytes: number
}

/** A page that is there, and all that decides what is in it. */
interface KeptPage {
  readonly mark: string
  readonly bytes: number
  /** File name of the list that it leads back to. */
  readonly up?: string | undefined
  readonly reason?: string | undefined
}

interface World extends FilesWanted {
  readonly readers: CopyReaders
  /** Values that were recognised as secrets in any session that read or changed one of the files. */
  readonly known: Known
  /** Those of the sessions of which not all values can be read any more. */
  readonly lost: ReadonlySet<string>
  /** The address of a turn, if its session has a page in the folder. */
  readonly addressOf: (edit: FileEdit) => string | undefined
}

/** The pages of all files that these sessions changed. Those of the sessions have to be there already. */
export class FilesChanged {
  readonly #wanted: FilesWanted
  readonly #changed: readonly ChangedPath[]
  readonly #names: ReadonlyMap<string, string>

  constructor(wanted: FilesWanted) {
    const ids = wanted.sessions.map(({ id }) => id)
    this.#wanted = wanted
    this.#changed = pathsChangedIn(wanted.db, ids)
    this.#names = new Map(this.#changed.map(({ path }) => [path, filePageName(path)]))
  }

  /** What the page of a file is called; undefined: it has none. */
  pageOf(path: string): string | undefined {
    return this.#names.get(path)
  }

  get names(): string[] {
    return [...this.#names.values()]
  }

  /**
   * @param list the page that is going to list them
   * @param onProgress called with the number of files that are done, and of all
   */
  write(
    at: PagesPlace,
    list: PageLink | undefined,
    onProgress: (done: number, total: number) => void,
  ): FilePages {
    const { db, place, sessions } = this.#wanted
    using readers = new CopyReaders()
    const calls = callsOnManyFiles(db, this.#changed, ["read", "edit", "write"])
    const values = valuesOf(place, [...sessions.map(({ id }) => id), ...calls.map(({ session }) => session)])
    const world = { ...this.#wanted, readers, ...values, addressOf: addresses(db, calls, at.folder) }
    const keptAt = keptFile(place.dataHome, "files")
    const before = at.isKept ? (readJson(keptAt) as Record<string, KeptPage> | undefined) : undefined
    const kept: Record<string, KeptPage> = {}
    const listed: ListedFile[] = []
    const subjects = subjectsOf(world, this.#changed, calls)
    for (const subject of subjects) {
      onProgress(listed.length, subjects.length)
      const { path, name, turns, last } = subject
      const file = filePageName(path)
      const target = join(at.folder, file)
      const there = before?.[file]
      const up = at.upFrom(there?.up, list)
      const mark = at.isKept ? markOf(world, subject, up) : ""
      const isThere = there !== undefined && there.mark === mark && statsOf(target)?.size === there.bytes
      const page = isThere
        ? there
        : { mark, up: up?.file, ...writePage(world, subject, { force: at.force, target, up }) }
      kept[file] = page
      listed.push({ file, name, turns, last, reason: page.reason })
    }
    if (at.isKept && listed.length > 0) tryTo(() => writeJson(keptAt, { ...before, ...kept }))
    return {
      folder: at.folder,
      listed,
      bytes: Object.values(kept).reduce((sum, page) => sum + page.bytes, 0),
    }
  }
}

function valuesOf(place: PathsAndPolicy, sessions: readonly string[]): Pick<World, "known" | "lost"> {
  const all = [...new Set(sessions)].map((id) => ({ id, values: knownOf(place, id, "") }))
  return {
    known: new Map(all.flatMap(({ values }) => [...values.known])),
    lost: new Set(all.filter(({ values }) => !values.isWhole).map(({ id }) => id)),
  }
}

const filePageName = (path: string): string => `file-${hashName(path)}.html`

interface PageMade {
  readonly target: string
  readonly up: PageLink | undefined
}

function writePage(
  world: World,
  subject: Subject,
  { force, target, up }: Pick<PagesPlace, "force"> & PageMade,
): Omit<KeptPage, "mark"> {
  const text = textOf(world, subject)
  const html = filePage(dataOf(world, subject, text, up), PAGE_WORDS, version)
  const size = writeExport(target, htmlBytes(html), force)
  return { bytes: size, ...("reason" in text && { reason: text.reason }) }
}

/** Two that are the same are of the same page. */
function markOf(world: World, subject: Subject, up: PageLink | undefined): string {
  const { path, folder, calls, elsewhere } = subject
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  const isOnDisk = statsOnDisk(world, subject) !== undefined
  return hashName(
    JSON.stringify([
      ...[programState(), timeZone, up, folder, fileState(path), isOnDisk, subject.turns],
      ...[world.known.size, [...world.lost].sort(), world.place.secrets],
      ...[...calls, ...elsewhere].map((edit) => [edit, world.addressOf(edit)]),
    ]),
  )
}

function addresses(db: Database, edits: readonly FileEdit[], folder: string): World["addressOf"] {
  const starters = startersOf(db, [...new Set(edits.map(({ session }) => session))])
  const isThere = new Map<string, boolean>()
  return ({ session, handle }) => {
    const starter = starters.get(session) ?? session
    const page = pageName(starter)
    if (!isThere.has(page)) isThere.set(page, existsSync(join(folder, page)))
    return isThere.get(page) === true ? `${encodeURIComponent(page)}#${anchorOf(handle)}` : undefined
  }
}

/** A file that has a page. */
interface Subject extends ChangedPath, Placed {
  /** That read or changed it. */
  readonly calls: readonly FileEdit[]
  /** Edits of it, and of the same file in other checkouts and worktrees; the newest first, and none of others. */
  readonly here: readonly FileEdit[]
  readonly elsewhere: readonly FileEdit[]
}

/** In the order of their names. */
function subjectsOf(
  world: World,
  changed: readonly ChangedPath[],
  all: ReturnType<typeof callsOnManyFiles>,
): Subject[] {
  const folders = foldersOf(world)
  const calls = Map.groupBy(all, ({ path }) => path)
  const edits = Map.groupBy(
    all.filter(({ tool, isOthers }) => toolKind(tool) !== "read" && isOthers === 0),
    ({ path }) => path,
  )
  const inRepository = repositoriesOf(world)
  const checkouts = Map.groupBy(edits.keys(), inRepository)
  return changed
    .map((one) => {
      const placed = placeIn(folders, one.path)
      const named = inRepository(one.path)
      const others =
        named === undefined ? [] : (checkouts.get(named) ?? []).filter((other) => other !== one.path)
      const elsewhere = others.flatMap((other) => edits.get(other) ?? []).sort(latestFirst)
      return {
        ...one,
        ...placed,
        calls: calls.get(one.path) ?? [],
        here: edits.get(one.path) ?? [],
        elsewhere,
      }
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

const latestFirst = (a: FileEdit, b: FileEdit): number => ((a.time ?? "") < (b.time ?? "") ? 1 : -1)

/** Where the file lies, seen from its project. */
interface Placed {
  readonly path: string
  /** One of the project's; undefined: it lies elsewhere. */
  readonly folder: string | undefined
  readonly name: string
}

/** A folder of a project or a worktree, and what its files are called by where there are several projects. */
interface Folder {
  readonly path: string
  readonly prefix: string
}

/** What lies in none of these lies elsewhere. Whoever writes a session names its folder, so others' do not count. */
function foldersOf({ db, sessions: wanted, place: { home } }: FilesWanted): Folder[] {
  const own = ownAmong(
    db,
    wanted.map(({ id }) => id),
  )
  const sessions = wanted.filter(({ id }) => own.has(id))
  const projects = new Set(sessions.flatMap(({ project }) => project ?? []))
  const names = namesApart(projects)
  const all = [
    ...[...projects].map((one) => ({ path: folderOf(one), prefix: `${names.get(one)}/` })),
    ...[...new Set(sessions.flatMap(({ cwd }) => cwd ?? []))].map((path) => ({
      path,
      prefix: `${basename(path)}/`,
    })),
  ]
  // A session may have been in the home folder, or above it, where everything lies.
  return all
    .filter(({ path }) => !isBelow(path, home))
    .map(({ path, prefix }) => ({ path, prefix: projects.size > 1 ? prefix : "" }))
}

const isBelow = (folder: string, path: string): boolean =>
  path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`)

function placeIn(folders: readonly Folder[], path: string): Placed {
  const folder = folders.find((one) => isBelow(one.path, path))
  const name = folder === undefined ? path : folder.prefix + path.slice(folder.path.length + 1)
  return { path, folder: folder?.path, name }
}

/**
 * What a file is called in its repository, the same in each checkout and worktree, and where the repository was before it
 * was moved; undefined: it lies in none.
 */
function repositoriesOf({
  db,
  sessions,
  place: { home },
}: FilesWanted): (path: string) => string | undefined {
  const own = ownAmong(
    db,
    sessions.map(({ id }) => id),
  )
  const projects = new Map<string, string>()
  const gone: [folder: string, project: string][] = []
  for (const { id, project, cwd } of sessions) {
    if (project === null || !own.has(id)) continue
    const former = own.get(id) ?? project
    for (const one of [project, former]) projects.set(folderOf(one), project)
    const checkout = cwd === null ? undefined : checkoutOf(cwd, [project, former])
    if (checkout !== undefined) projects.set(checkout, project)
    else if (cwd !== null) gone.push([cwd, project])
  }
  // What nobody knows any more to be a worktree's folder may have been one below it, or below the project's.
  for (const [folder, project] of gone.sort(([a], [b]) => a.length - b.length))
    if (![...projects].some(([above, its]) => its === project && isBelow(above, folder)))
      projects.set(folder, project)
  const folders = [...projects.keys()]
    .filter((folder) => !isBelow(folder, home))
    .sort((a, b) => b.length - a.length)
  return (path) => {
    const folder = folders.find((one) => isBelow(one, path))
    return folder && JSON.stringify([projects.get(folder), path.slice(folder.length + 1)])
  }
}

/* What is shown of a file. */

interface Shown {
  readonly lines: readonly string[]
  readonly state: string
}

type Text = Shown | { readonly reason: string }

function textOf(world: World, subject: Subject): Text {
  const stats = statsOnDisk(world, subject)
  return stats === undefined ? archived(world, subject) : onDisk(world, subject, subject.folder!, stats)
}

/** Whether what is on disk may be on a page: only what lies in a project in which the user's own sessions changed it. */
const isMeant = ({ place }: World, { path, folder, isOwn }: Subject): boolean =>
  isOwn === 1 && folder !== undefined && !isExcludedFolder(place, dirname(path))

const statsOnDisk = (world: World, subject: Subject): FileStats | undefined =>
  isMeant(world, subject) ? tryTo(() => statSync(subject.path)) : undefined

function onDisk(world: World, subject: Subject, folder: string, stats: FileStats): Text {
  const { path } = subject
  if (!isBelow(realpathSync(folder), realpathSync(path)))
    return { reason: "it is a link that leads out of the project" }
  if (!stats.isFile()) return { reason: "it is not a file" }
  if (stats.size > LARGEST) return { reason: TOO_LARGE }
  let text: string
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(path))
  } catch (error) {
    return {
      reason: error instanceof TypeError ? "it is not text" : `it cannot be read: ${messageOf(error)}`,
    }
  }
  if (text.includes("\0")) return { reason: "it is not text" }
  const filled = withoutTold(withoutSecrets(text, world), world, subject)
  if (filled === undefined) return archived(world, subject, UNSURE)
  const time = new Date(stats.mtimeMs).toISOString()
  return shown(filled, `as it is on disk, changed ${PAGE_WORDS.moment(time)}`)
}

const UNSURE = "on disk it may hold a secret that can no longer be recognised"

function archived(
  world: World,
  subject: Subject,
  where = isMeant(world, subject) ? "it is deleted" : "it is outside the project",
): Text {
  const { db, place, readers } = world
  const { path } = subject
  const last = lastState(db, place.dataHome, readers, path, subject.calls)
  if (last === undefined) return { reason: `${where}, and no session says what all of it was` }
  const { content, time, isChangedSince } = last
  if (content.length > LARGEST) return { reason: TOO_LARGE }
  const since = isChangedSince ? ", and changed since in a way of which the archive has only a part" : ""
  const state = `${where.replace(/^it is /, "")}; as a session last knew it, ${PAGE_WORDS.moment(time)}${since}`
  return shown(withoutSecrets(content, world), state)
}

const TOO_LARGE = `it is larger than ${bytes(LARGEST)}`

function shown(text: string, state: string): Text {
  const lines = text
    .replace(/^\uFEFF/, "")
    .replace(/\r?\n$/, "")
    .split(/\r?\n/)
  return lines.length > MOST_LINES
    ? { reason: `it has more than ${count(MOST_LINES, "line")}` }
    : { lines, state }
}

/** What is on disk did not come through the archive's filter. Each line stays where it is. */
function withoutSecrets(text: string, { place: { secrets }, known }: World): string {
  if (!secrets.enabled) return text
  const filled = Buffer.from(withoutKnown(filterText(text, secrets), known))
  const original = Buffer.from(text)
  for (let at = original.indexOf("\n"); at >= 0; at = original.indexOf("\n", at + 1)) filled[at] = 0x0a
  return filled.toString()
}

/** As long as a run of fillers has to be to stand for a value that others cannot be mistaken for. */
const FILLED = /\*{8,}/
const ALL_FILLED = /(\*{8,})/

/**
 * Fills what the archive has filled, where its values can no longer be read.
 *
 * @param text without what can be recognised
 * @returns undefined if something else may be one of those values
 */
function withoutTold(text: string, world: World, { calls, elsewhere }: Subject): string | undefined {
  if (!world.place.secrets.enabled) return text
  const { db, place, readers, lost } = world
  const asItIs = new Set<string>()
  const filled = new Map<string, { isLost: boolean }>()
  for (const told of linesTold(db, place.dataHome, readers, [...calls, ...elsewhere])) {
    const isLost = told.isFetched || lost.has(told.session)
    for (const line of told.lines) {
      if (!FILLED.test(line)) asItIs.add(line)
      else if (!/^[\s/#*]*[/#][\s/#*]*$/.test(line))
        filled.set(line, { isLost: isLost || filled.get(line)?.isLost === true })
    }
  }
  let result = text
  const missed: number[] = []
  for (const [line, { isLost }] of filled) {
    const [without, isFound] = filledLike(result, line)
    result = without
    if (isLost && !isFound) missed.push(FILLED.exec(line)![0].length)
  }
  if (missed.length === 0) return result
  const shortest = Math.min(...missed)
  const mayHold = (line: string): boolean => !asItIs.has(line) && Buffer.byteLength(line) >= shortest
  return result.split(/\r?\n/).some((line) => !filled.has(line.trim()) && mayHold(line.trim()))
    ? undefined
    : result
}

/** @returns also whether the text has the line */
function filledLike(text: string, line: string): [text: string, isFound: boolean] {
  const pieces = line.split(ALL_FILLED)
  const isBare = pieces.every((piece) => FILLED.test(piece) || !/[\p{L}\p{N}]/u.test(piece))
  if (!isBare && !pieces.every((piece) => FILLED.test(piece) || text.includes(piece))) return [text, false]
  const source = pieces.map((piece) => {
    if (!FILLED.test(piece)) return `(${isBare ? "" : RegExp.escape(piece)})`
    // A byte each, and of what had to be escaped in the transcript one more.
    return isBare ? `(?<!\\w)(\\S{${piece.length}})(?!\\w)` : `(.{1,${piece.length}})`
  })
  let isFound = false
  const result = text.replace(new RegExp(source.join(""), "g"), (...found: string[]) =>
    found
      .slice(1, 1 + pieces.length)
      .map((piece, n) => {
        if (n % 2 === 0) return piece
        if (FILLED.test(piece)) isFound = true
        if (!isMemorable(piece)) return piece
        isFound = true
        return "*".repeat(Buffer.byteLength(piece))
      })
      .join(""),
  )
  return [result, isFound]
}

/* Lines, and the turns that they come from. */

function dataOf(world: World, subject: Subject, text: Text, index: PageLink | undefined): FileOnPage {
  const { path, folder, turns: changes, here, elsewhere } = subject
  const name = folder === undefined ? path : path.slice(folder.length + 1)
  const page = { name, path, index, changes }
  if ("reason" in text) return { ...page, ...{ state: "", unknown: 0, turns: [] }, ...text }
  const { lines, state } = text
  const file = { lines, here, elsewhere }
  const sources = sourcesOfLines(world.db, world.place.dataHome, world.readers, file)
  const found = new Map(
    sources.flatMap((one) => (typeof one === "string" ? [] : [[one.edit.handle, one.edit] as const])),
  )
  const turns = [...found.values()].sort(latestFirst)
  const numbers = new Map(turns.map(({ handle }, n) => [handle, n]))
  const runs = Array.from(runsOf(sources), ({ from, to, source }) => ({
    from: from + 1,
    lines: lines.slice(from, to).map((line, n) => ({ text: line, isCommon: sources[from + n] === "common" })),
    source:
      typeof source === "string"
        ? source
        : { turn: numbers.get(source.edit.handle)!, isPiece: source.isPiece },
  }))
  const unknown = sources.filter((one) => one === "unknown").length
  return { ...page, state, unknown, turns: turns.map((edit) => turnOf(edit, world)), runs }
}

interface Run {
  readonly from: number
  readonly to: number
  readonly source: LineSource
}

/** Lines one below the other of the same source, from `from` up to `to`, with the common ones between them. */
function* runsOf(sources: readonly LineSource[]): Generator<Run> {
  for (let from = 0, to = 0; from < sources.length; from = to) {
    const source = sources[from]!
    to = from + 1
    for (let next = to; next < sources.length; next++) {
      if (isSame(source, sources[next]!)) to = next + 1
      else if (source === "common" || sources[next] !== "common") break
    }
    yield { from, to, source }
  }
}

const isSame = (a: LineSource, b: LineSource): boolean =>
  a === b ||
  (typeof a === "object" &&
    typeof b === "object" &&
    a.edit.handle === b.edit.handle &&
    a.isPiece === b.isPiece)

function turnOf(edit: FileEdit, { addressOf }: World): WritingTurn {
  const { handle, time, prompt, answer, takenBack } = edit
  return { handle, time, prompt, answer, isTakenBack: takenBack === 1, address: addressOf(edit) }
}
