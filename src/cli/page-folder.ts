/**
 * A folder of sessions' pages, with the index that they are searched by. In the data folder, a page is only made again
 * when its session has changed, or ctxbridge has.
 */
import { mkdirSync } from "node:fs"
import { basename, join } from "node:path"
import { isShell, toolKind } from "../agents/tool-kinds.ts"
import { CtxError } from "../base/errors.ts"
import { statsOf, tryTo } from "../base/files.ts"
import { existsSync, lstatSync, readFileSync, rmSync } from "../base/fs.ts"
import { fileNamesIn, hashName, readJson } from "../base/json-files.ts"
import { cut } from "../base/text.ts"
import { wordSet } from "../base/words.ts"
import type { Database } from "../views/database.ts"
import { dropOldPages, keptFile, pagesFolder, programState } from "../views/kept-pages.ts"
import { type Labels, readLabels } from "../views/labels.ts"
import { inputText } from "../views/part-text.ts"
import { folderOf } from "../views/project.ts"
import { givenMarks } from "../views/queries/restores.ts"
import type { CountedSession } from "../views/queries/sessions.ts"
import { latestSummary } from "../views/queries/summaries.ts"
import { copiesOfPage, lineageOf } from "../views/queries/transcripts.ts"
import type { WholeTurn } from "../views/turn.ts"
import { pageName, sessionPageBytes } from "./html-pages.ts"
import type { PageLink } from "./pages/html/document.ts"
import { refuseExisting, writeExport } from "./pages/output-file.ts"
import {
  type Catalogue,
  dataScript,
  LOADER,
  lengthLetter,
  listInScript,
  packed,
  SEGMENTS,
  TEXT_KINDS,
  type TurnTexts,
  type WordShard,
} from "./pages/search-format.ts"

/** What a list narrows to. */
interface Listed {
  /** As the archive calls it; undefined: all projects. */
  readonly project: string | undefined
  readonly program: string | undefined
  /** As it was typed. */
  readonly since: string | undefined
}

/** The page that lists all sessions of a folder, and what it is called in theirs. */
const INDEX: PageLink = { file: "index.html", name: "Sessions" }
const NARROWED = "list-"

function listPage({ project, program, since }: Listed): PageLink {
  if (program !== undefined || since !== undefined)
    return { ...INDEX, file: `${NARROWED}${hashName(JSON.stringify([project, program, since]))}.html` }
  return project === undefined ? INDEX : { ...INDEX, file: `project-${hashName(project)}.html` }
}

export interface WrittenPage {
  readonly session: string
  readonly file: string
  readonly bytes: number
}

interface PagesOfFiles {
  /** What all of these pages are called. */
  readonly names: readonly string[]
  /** What the page of a file is called; undefined: it has none. */
  readonly pageOf: (path: string) => string | undefined
}

interface PagesWanted {
  /** The page that is going to list them. */
  readonly list: PageLink | undefined
  /** By session, at list prices. */
  readonly costs: ReadonlyMap<string, number>
  /** Called with turns that are done, of all that have to be. */
  readonly onProgress: (done: number, total: number) => void
  /** Those that get pages as well. */
  readonly files: PagesOfFiles | undefined
}

interface KeptPage {
  /** Says all that the page was made of. */
  readonly mark: string
  readonly bytes: number
  /** File name of the list that it leads back to. */
  readonly up?: string | undefined
  /** Mark of the page whose texts are in the index. */
  readonly indexed?: string
}

interface Kept {
  pages: Record<string, KeptPage>
  index?: IndexState
}

/** Pages after which it is noted which there are, so that whoever stops it goes on from there. */
const NOTED = 40

export class PageFolder {
  readonly folder: string
  readonly #db: Database
  readonly #dataHome: string
  readonly #labels: Labels
  /** Undefined: a folder that the user named, whose pages are always made. */
  readonly #kept: Kept | undefined
  /** Whether pages of that name may be there already. */
  readonly force: boolean

  /** The one in the data folder. */
  static kept(db: Database, dataHome: string): PageFolder {
    const folder = pagesFolder(dataHome)
    dropOldPages(dataHome, Date.now())
    const kept = (readJson(keptFile(dataHome, "pages")) as Kept | undefined) ?? { pages: {} }
    return new PageFolder(db, dataHome, folder, true, kept)
  }

  constructor(db: Database, dataHome: string, folder: string, force: boolean, kept?: Kept) {
    this.#db = db
    this.#dataHome = dataHome
    this.#labels = readLabels(dataHome)
    this.folder = folder
    this.force = force
    this.#kept = kept
  }

  get isKept(): boolean {
    return this.#kept !== undefined
  }

  /** Each question has its own page in the data folder, so that a bookmark finds what it was made of. */
  listOf(listed: Listed): PageLink {
    return this.isKept ? listPage(listed) : INDEX
  }

  /**
   * The list that a page leads back to: as before, so that not every list makes it anew. A list that is narrowed may not
   * have it the next time.
   *
   * @param before where it led
   * @param list that is being made
   */
  upFrom(before: string | undefined, list: PageLink | undefined): PageLink | undefined {
    const isGood =
      before !== undefined && !before.startsWith(NARROWED) && statsOf(join(this.folder, before)) !== undefined
    return isGood ? { ...INDEX, file: before } : list
  }

  writePages(
    sessions: readonly CountedSession[],
    { list, costs, onProgress, files }: PagesWanted,
  ): WrittenPage[] {
    const fileOf = ({ id }: CountedSession): string => join(this.folder, pageName(id))
    refuseExisting(
      [
        ...sessions.map(fileOf),
        ...(list ? [join(this.folder, list.file)] : []),
        // Its files have names of their own, and those of a former index go.
        ...(list && !this.isKept ? [searchFolder(this.folder)] : []),
        ...(files?.names.map((name) => join(this.folder, name)) ?? []),
      ],
      this.force,
    )
    if (isLink(searchFolder(this.folder)))
      throw new CtxError("link", `${searchFolder(this.folder)} is a link`, {
        hint: "the index of pages is written into a folder: choose another with --output",
      })
    mkdirSync(list || this.#kept ? searchFolder(this.folder) : this.folder, {
      recursive: true,
      mode: 0o700,
    })
    const due = sessions.map((session) => {
      const file = fileOf(session)
      const up = this.upFrom(this.#kept?.pages[nameOf(file)]?.up, list)
      return {
        session,
        file,
        up,
        mark: this.#mark(session, [up?.file, costs.get(session.id)?.toFixed(4)], files),
      }
    })
    const isDue = (one: (typeof due)[number]): boolean => this.#current(one) === undefined
    const total = due.filter(isDue).reduce((sum, { session }) => sum + session.turns, 0)
    let done = 0
    let made = 0
    const pages = due.map((one) => {
      const { session, file, up, mark } = one
      const bytes = this.#current(one)
      if (bytes !== undefined) return { session: session.id, file, bytes }
      const texts = new Map<string, TurnTexts>()
      const folders = [session.cwd ?? [], session.project === null ? [] : folderOf(session.project)].flat()
      const size = writeExport(
        file,
        sessionPageBytes(this.#db, this.#dataHome, [{ session }], {
          onProgress: (turns) => onProgress(done + turns, total),
          onTurn: (turn) => {
            // A fork's first turns are found as its origin's.
            const isOwn = turn.session === session.id || turn.session.startsWith(`${session.id}/`)
            const found = isOwn && !texts.has(turn.handle) ? textsOfTurn(turn, folders) : undefined
            if (found !== undefined) texts.set(turn.handle, found)
          },
          labels: this.#labels,
          costs,
          ...(up && { index: up }),
          ...(files && { pageOf: (path) => files.pageOf(path) }),
        }),
        this.force,
      )
      if (list || this.#kept) writeTexts(this.folder, nameOf(file), [...texts.values()])
      done += session.turns
      if (this.#kept) {
        this.#kept.pages[nameOf(file)] = { mark, bytes: size, up: up?.file }
        if (++made % NOTED === 0) this.#note()
      }
      return { session: session.id, file, bytes: size }
    })
    if (made > 0) this.#note()
    return pages
  }

  /** What its lists are searched by. */
  writeIndex(pages: readonly WrittenPage[]): void {
    const own = pages.map(({ file }) => nameOf(file))
    const kept = this.#kept
    if (kept === undefined) {
      writeIndex(this.folder, own, new Set(own))
      return
    }
    // Pages that were made for another list are searched there. Those that have gone are not.
    for (const name of Object.keys(kept.pages))
      if (!own.includes(name) && !this.#isThere(name)) delete kept.pages[name]
    const names = Object.keys(kept.pages)
    const changed = new Set(names.filter((name) => kept.pages[name]!.indexed !== kept.pages[name]!.mark))
    const before = kept.index
    kept.index = writeIndex(this.folder, names, changed, before)
    if (kept.index === before) return
    for (const name of changed) kept.pages[name] = { ...kept.pages[name]!, indexed: kept.pages[name]!.mark }
    this.#note()
  }

  /** All that decides what is in a session's page: two that are the same are the same page. */
  #mark(session: CountedSession, around: readonly unknown[], files: PagesOfFiles | undefined): string {
    if (this.#kept === undefined) return ""
    const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
    const copies = copiesOfPage(this.#db, session.id)
    const summary = latestSummary(this.#db, session.id)?.time
    const given = givenMarks(this.#db, session.id)
    const lineage = lineageOf(this.#db, session.id)
    const own = [session.id, ...lineage.subagents, ...lineage.parents.map((parent) => parent.session)]
    const labels = this.#labels.all.filter((one) => own.includes(one.session))
    return hashName(
      JSON.stringify([
        programState(),
        timeZone,
        ...around,
        session,
        copies,
        summary,
        given,
        lineage,
        labels,
        files !== undefined,
      ]),
    )
  }

  /** The page's bytes; undefined: it has to be made. */
  #current({ file, mark }: { readonly file: string; readonly mark: string }): number | undefined {
    const name = nameOf(file)
    const known = this.#kept?.pages[name]
    return known?.mark === mark && this.#isThere(name) ? known.bytes : undefined
  }

  #isThere(name: string): boolean {
    const size = statsOf(join(this.folder, `${name}.html`))?.size
    return size !== undefined && size === this.#kept?.pages[name]?.bytes && hasTexts(this.folder, name)
  }

  /** Makes no folder: where something was forgotten just then, nothing may come back. */
  #note(): void {
    const file = keptFile(this.#dataHome, "pages")
    writeExport(file, [new TextEncoder().encode(JSON.stringify(this.#kept))], true)
  }
}

/** Whoever made the folder may have put one there that leads elsewhere. */
const isLink = (path: string): boolean => tryTo(() => lstatSync(path).isSymbolicLink()) === true

const nameOf = (file: string): string => basename(file, ".html")

/*
 * The search index of a folder of pages (pages/search-format.ts): the texts of each session, and in two segments which
 * words are where. What has changed since the large segment was written is in the small one, until that has grown too
 * much of the whole.
 */

/** UTF-16 units that are searched of each text. */
const MOST = { prompt: 20_000, answer: 20_000, command: 2000, error: 2000, file: 2000 } as const
/** UTF-16 units of a shard, about: it is loaded within a tenth of the time that somebody notices. */
const SHARD = 64 << 10
/** The part of all turns that may be in the small segment. */
const SMALL = 0.2

/** Kinds of tools whose target is a file. */
const FILE_KINDS: ReadonlySet<string> = new Set(["read", "write", "edit"])

const searchFolder = (pages: string): string => join(pages, "search")

/**
 * What is searched of a turn; undefined: nothing.
 *
 * @param folders of its session: what lies in one of them is named from there
 */
function textsOfTurn(turn: WholeTurn, folders: readonly string[]): TurnTexts | undefined {
  const texts: (number | string)[] = []
  const targets = new Map(turn.tools.map(({ id, target }) => [id, target]))
  const add = (kind: (typeof TEXT_KINDS)[number], text: string): void => {
    if (/\S/.test(text)) texts.push(TEXT_KINDS.indexOf(kind), cut(text.trim(), MOST[kind], ""))
  }
  for (const { parts } of turn.messages) {
    for (const part of parts) {
      if (part.kind === "prompt" || part.kind === "brief") add("prompt", part.text)
      else if (part.kind === "reply") add("prompt", `${part.question} ${part.text}`)
      else if (part.kind === "text") add("answer", part.text)
      else if (part.kind === "toolUse" && toolKind(part.name) !== "todo") {
        const target = isShell(part.name) ? "" : (targets.get(part.id) ?? "")
        const folder = folders.find((one) => target.startsWith(`${one}/`))
        const text = folder === undefined ? target : target.slice(folder.length + 1)
        const isFile = target !== "" && FILE_KINDS.has(toolKind(part.name) ?? "")
        add(isFile ? "file" : "command", text || inputText(part.name, part.input))
      } else if (part.kind === "toolResult" && part.isError) add("error", part.text)
      else if (part.kind === "apiError") add("error", part.text)
    }
  }
  return texts.length === 0 ? undefined : [turn.handle, turn.seq, turn.started, ...texts]
}

/** Which files there are; whoever makes the page of sessions remembers it for the next time. */
interface IndexState {
  /** Names of texts' files, in the segment's order. */
  readonly large: readonly string[]
  readonly small: readonly string[]
  /** Goes up with each segment that is written, so that a page that is open finds its own or nothing. */
  readonly number: number
  /** Names of the segments, those first that count. */
  readonly segments: readonly string[]
}

const NOTHING: IndexState = { large: [], small: [], number: 0, segments: [] }

const textsFile = (folder: string, name: string): string => join(folder, `d-${name}.js`)

/** @param turns of one session and its subagents */
function writeTexts(pages: string, name: string, turns: readonly TurnTexts[]): void {
  writeData(searchFolder(pages), `d-${name}`, turns)
}

/** Makes no folder: where somebody has forgotten something just then, there is none, and nothing may come back. */
function writeData(folder: string, name: string, list: readonly unknown[]): void {
  writeExport(join(folder, `${name}.js`), [new TextEncoder().encode(dataScript(name, list))], true)
}

const hasTexts = (pages: string, name: string): boolean => existsSync(textsFile(searchFolder(pages), name))

/**
 * Makes the index what these texts are.
 *
 * @param names of all texts that are to be found
 * @param changed those that were written since `before`
 */
function writeIndex(
  pages: string,
  names: readonly string[],
  changed: ReadonlySet<string>,
  before: IndexState = NOTHING,
): IndexState {
  const folder = searchFolder(pages)
  const wanted = new Set(names)
  const known = new Set(before.large)
  const isThere = [SEGMENTS, ...before.segments.map((segment) => `c-${segment}`)].every((name) =>
    existsSync(join(folder, `${name}.js`)),
  )
  const small = names.filter((name) => changed.has(name) || before.small.includes(name) || !known.has(name))
  const gone = before.large.filter((name) => !wanted.has(name)).length
  const isLarge = !isThere || small.length + gone > SMALL * names.length
  const isSame =
    !isLarge && changed.size === 0 && small.length === before.small.length && before.segments.length > 0
  if (isSame) return before
  const state = isLarge
    ? { large: names, small: [], number: before.number + 1, segments: [`a${before.number + 1}`] }
    : {
        ...{ large: before.large, small, number: before.number + 1 },
        segments: [`b${before.number + 1}`, ...before.segments.filter((one) => one.startsWith("a"))],
      }
  writeSegment(folder, state.segments[0]!, isLarge ? names : small)
  writeData(folder, SEGMENTS, state.segments)
  for (const file of fileNamesIn(folder)) {
    const [, segment, name] = /^(?:[ct]-([ab]\d+)(?:-\d+)?|d-(.+))\.js$/.exec(file) ?? []
    const isOld = segment !== undefined && !state.segments.includes(segment)
    const isGone = isOld || (name !== undefined && !wanted.has(name))
    if (isGone) tryTo(() => isOurs(join(folder, file)) && rmSync(join(folder, file)))
  }
  return state
}

/** In a folder of the user's, other files may have such names. */
const isOurs = (path: string): boolean => readFileSync(path, "utf8").startsWith(`${LOADER}(`)

function writeSegment(folder: string, segment: string, names: readonly string[]): void {
  const postings = new Map<string, number[]>()
  const files: (string | number)[] = []
  let lengths = ""
  let turn = 0
  for (const name of names) {
    const turns = listInScript(readFileSync(textsFile(folder, name), "utf8")) as TurnTexts[]
    for (const one of turns) {
      const words = kindsOfWords(one)
      for (const [word, kinds] of words) {
        const row = postings.get(word)
        if (row === undefined) postings.set(word, [(turn << 4) | kinds])
        else row.push((turn << 4) | kinds)
      }
      lengths += lengthLetter(words.size)
      turn++
    }
    files.push(name, turns.length)
  }
  const first = writeShards(folder, segment, postings)
  const catalogue: Catalogue = [files, lengths, first]
  writeData(folder, `c-${segment}`, catalogue)
}

function kindsOfWords(turn: TurnTexts): Map<string, number> {
  const found = new Map<string, number>()
  for (let n = 3; n < turn.length; n += 2) {
    const kind = TEXT_KINDS[Number(turn[n])]!
    const bit = 1 << TEXT_KINDS.indexOf(kind === "file" ? "command" : kind)
    for (const word of wordSet(String(turn[n + 1]))) found.set(word, (found.get(word) ?? 0) | bit)
  }
  return found
}

/** @returns the first word of each */
function writeShards(
  folder: string,
  segment: string,
  postings: ReadonlyMap<string, readonly number[]>,
): string[] {
  const first: string[] = []
  let words: string[] = []
  let turns: string[] = []
  let size = 0
  const flush = (): void => {
    if (words.length === 0) return
    const shard: WordShard = [words.join(" "), turns.join(" ")]
    writeData(folder, `t-${segment}-${first.length}`, shard)
    first.push(words[0]!)
    words = []
    turns = []
    size = 0
  }
  for (const word of [...postings.keys()].sort()) {
    const row = packed(postings.get(word)!)
    words.push(word)
    turns.push(row)
    size += word.length + row.length + 2
    if (size >= SHARD) flush()
  }
  flush()
  return first
}
