/**
 * A folder of sessions' pages, with the index that they are searched by. In the data folder, a page is only made again
 * when its session has changed, or ctxbridge has.
 */
import { mkdirSync } from "node:fs"
import { basename, join } from "node:path"
import { statsOf } from "../base/files.ts"
import { hashName, readJson } from "../base/json-files.ts"
import type { Database } from "../views/database.ts"
import { dropOldPages, keptFile, pagesFolder, programState } from "../views/kept-pages.ts"
import { type Labels, readLabels } from "../views/labels.ts"
import { givenMarks } from "../views/queries/restores.ts"
import type { CountedSession } from "../views/queries/sessions.ts"
import { latestSummary } from "../views/queries/summaries.ts"
import { copiesOfPage, lineageOf } from "../views/queries/transcripts.ts"
import { pageName, sessionPageBytes } from "./html-pages.ts"
import type { PageLink } from "./pages/html/document.ts"
import { refuseExisting, writeExport } from "./pages/output-file.ts"
import type { TurnTexts } from "./pages/search-format.ts"
import {
  hasTexts,
  type IndexState,
  searchFolder,
  textsOfTurn,
  writeIndex,
  writeTexts,
} from "./pages/search-index.ts"

/** The page that lists the sessions, and what it is called in theirs. */
export const INDEX: PageLink = { file: "index.html", name: "Sessions" }

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

interface KeptPage {
  /** Says all that the page was made of. */
  readonly mark: string
  readonly bytes: number
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

  /** Whether there is, or is going to be, a page that lists the sessions. */
  hasIndex(isListed: boolean): boolean {
    return isListed || (this.isKept && statsOf(join(this.folder, INDEX.file)) !== undefined)
  }

  /**
   * @param isListed whether there is going to be a page that lists them
   * @param onProgress called with turns that are done, of all that have to be
   * @param files that get pages as well
   */
  writePages(
    sessions: readonly CountedSession[],
    isListed: boolean,
    onProgress: (done: number, total: number) => void,
    files?: PagesOfFiles,
  ): WrittenPage[] {
    const fileOf = ({ id }: CountedSession): string => join(this.folder, pageName(id))
    refuseExisting(
      [
        ...sessions.map(fileOf),
        ...(isListed ? [join(this.folder, INDEX.file)] : []),
        ...(files?.names.map((name) => join(this.folder, name)) ?? []),
      ],
      this.force,
    )
    mkdirSync(isListed || this.#kept ? searchFolder(this.folder) : this.folder, {
      recursive: true,
      mode: 0o700,
    })
    const isUp = this.hasIndex(isListed)
    const due = sessions.map((session) => ({
      session,
      file: fileOf(session),
      mark: this.#mark(session, isUp, files),
    }))
    const isDue = (one: (typeof due)[number]): boolean => this.#current(one) === undefined
    const total = due.filter(isDue).reduce((sum, { session }) => sum + session.turns, 0)
    let done = 0
    let made = 0
    const pages = due.map((one) => {
      const { session, file, mark } = one
      const bytes = this.#current(one)
      if (bytes !== undefined) return { session: session.id, file, bytes }
      const texts = new Map<string, TurnTexts>()
      const size = writeExport(
        file,
        sessionPageBytes(this.#db, this.#dataHome, [{ session }], {
          onProgress: (turns) => onProgress(done + turns, total),
          onTurn: (turn) => {
            // A fork's first turns are found as its origin's.
            const isOwn = turn.session === session.id || turn.session.startsWith(`${session.id}/`)
            const found = isOwn && !texts.has(turn.handle) ? textsOfTurn(turn, session.cwd) : undefined
            if (found !== undefined) texts.set(turn.handle, found)
          },
          labels: this.#labels,
          ...(isUp && { index: INDEX }),
          ...(files && { pageOf: (path) => files.pageOf(path) }),
        }),
        this.force,
      )
      if (isListed || this.#kept) writeTexts(this.folder, nameOf(file), [...texts.values()])
      done += session.turns
      if (this.#kept) {
        this.#kept.pages[nameOf(file)] = { mark, bytes: size }
        if (++made % NOTED === 0) this.#note()
      }
      return { session: session.id, file, bytes: size }
    })
    if (made > 0) this.#note()
    return pages
  }

  /** @returns names of the segments that a page is searched by */
  writeIndex(pages: readonly WrittenPage[]): readonly string[] {
    const own = pages.map(({ file }) => nameOf(file))
    const kept = this.#kept
    if (kept === undefined) return writeIndex(this.folder, own, new Set(own)).segments
    // Pages that were made for another list are searched there. Those that have gone are not.
    for (const name of Object.keys(kept.pages))
      if (!own.includes(name) && !this.#isThere(name)) delete kept.pages[name]
    const names = Object.keys(kept.pages)
    const changed = new Set(names.filter((name) => kept.pages[name]!.indexed !== kept.pages[name]!.mark))
    const before = kept.index
    kept.index = writeIndex(this.folder, names, changed, before)
    if (kept.index === before) return before.segments
    for (const name of changed) kept.pages[name] = { ...kept.pages[name]!, indexed: kept.pages[name]!.mark }
    this.#note()
    return kept.index.segments
  }

  /** All that decides what is in a session's page: two that are the same are the same page. */
  #mark(session: CountedSession, isUp: boolean, files: PagesOfFiles | undefined): string {
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
        isUp,
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

const nameOf = (file: string): string => basename(file, ".html")
