/** What the picker reads from the archive. It is open only while somebody types: who replaces the database must not wait. */

import { AGENT_NAMES } from "../../agents/agents.ts"
import { momentOf } from "../../base/local-time.ts"
import { nearNames } from "../../base/text.ts"
import type { Config } from "../../config/options.ts"
import { correctionNote, LOOSE_NOTE } from "../../find/corrected-query.ts"
import type { Hit } from "../../find/hit.ts"
import { type Narrowing, typedPath } from "../../find/narrowing.ts"
import { ROLES } from "../../find/parse-query.ts"
import { previewTurn } from "../../find/preview-turn.ts"
import type { VectorChild } from "../../find/query-vectors.ts"
import { type Begun, begun, type FoundTurns } from "../../find/search-turns.ts"
import { sessionSummary, tellingTitles } from "../../find/session-summary.ts"
import { WholeCalls } from "../../find/whole-matches.ts"
import { ownCommand, startRenewing } from "../../job/spawn.ts"
import { CopyReaders } from "../../vault/reader.ts"
import type { Database } from "../../views/database.ts"
import { changeLabels, type LabelShown, readLabels, withLabel } from "../../views/labels.ts"
import { openCurrent } from "../../views/open-current.ts"
import { folderOf, namesApart, projectOf } from "../../views/project.ts"
import { filesChangedIn, filesOpenedIn, lastCommand, toolsCalled } from "../../views/queries/calls.ts"
import {
  knownAs,
  latestProjects,
  projectId,
  projectNamer,
  projectPaths,
} from "../../views/queries/projects.ts"
import { findSessions } from "../../views/queries/sessions.ts"
import { turnId } from "../../views/queries/turns.ts"
import type { ChosenFilters, Found, TurnInSession } from "./picker-state.ts"

/** UTF-16 units of a hit's texts, of which what was found gets three sevenths: enough for a line of a wide terminal. */
const ROOM = 400

/** Pinned sessions and turns that are shown before the others. */
const MOST_PINNED = 12
/** Projects that are named to whoever has typed one that there is not. */
const LATEST = 3

/** Where the archive and the user are, and what the user wants. */
interface Place {
  readonly config: Pick<Config, "search.meaning">
  readonly dataHome: string
  readonly stateHome: string
  readonly cwd: string
  readonly home: string
}

interface PickerSearch {
  readonly text: string
  /** Whether the cursor is at the end, so that the last word may go on. */
  readonly isTyping: boolean
  readonly filters: ChosenFilters
  readonly limit: number
}

/** A search that meaning could add something to. */
interface Open {
  /** Whether the model has been asked. */
  isAsked: boolean
  readonly begun: Begun
  /** As they were typed. */
  readonly words: string
  readonly narrowing: Narrowing
  readonly told: (found: FoundTurns) => Found
}

export class PickerArchive {
  readonly #place: Place
  readonly #program: readonly string[]
  #db: Database | undefined
  #readers: CopyReaders | undefined
  #last: FoundTurns | undefined
  /** Of the sessions that have been found. */
  #titles = new Map<string, string>()
  #unmeant: Open | undefined
  #model: Promise<VectorChild | undefined> | undefined

  /** @param program what starts ctxbridge */
  constructor(place: Place, program = ownCommand()) {
    this.#place = place
    this.#program = program
  }

  get #open(): { db: Database; readers: CopyReaders } {
    this.#db ??= openCurrent(this.#place.dataHome, "command", startRenewing)
    this.#readers ??= new CopyReaders()
    return { db: this.#db, readers: this.#readers }
  }

  /** Closes what is open. The next question opens it again. */
  close(): void {
    this.#readers?.close()
    this.#db?.close()
    this.#readers = undefined
    this.#db = undefined
    this.#unmeant = undefined
    this.#titles = new Map()
  }

  [Symbol.dispose](): void {
    this.close()
    this.endModel()
  }

  /** Name of the project that the user is in; undefined if nothing of it is archived. */
  here(): string | undefined {
    const { db } = this.#open
    const project = knownAs(db, projectOf(this.#place.cwd))!
    return projectId(db, project) === undefined ? undefined : projectNamer(db)(project)
  }

  tools(): string[] {
    return toolsCalled(this.#open.db)
  }

  /** @param now ms since the epoch */
  search({ text, isTyping, filters, limit }: PickerSearch, now: number): Found {
    const { db, readers } = this.#open
    this.#unmeant = undefined
    const typed = typedQuery(text, now)
    const { words } = typed
    const { query, short } = isTyping ? whileTyping(words) : { query: words, short: undefined }
    const narrowing = this.#narrowing(db, filters, typed, now)
    const nameOf = projectNamer(db)
    if (typeof narrowing === "string")
      return { hits: [], titles: this.#titles, nameOf, more: false, note: narrowing }
    const asked = { ...narrowing, limit, isBrief: true, room: ROOM }
    const begin = (some: string): Begun => begun(db, this.#place.dataHome, { ...asked, query: some }, readers)
    let search = begin(query)
    let found = search.finish()
    // A word that is not finished is no mistyped one, unless none that was ever written begins so.
    const isUnknown = query !== words && !found.terms.some(({ isPrefix }) => isPrefix)
    const instead = short !== undefined && found.hits.length === 0 ? short : isUnknown ? words : undefined
    if (instead !== undefined) {
      search = begin(instead)
      found = search.finish()
    }
    const misread = typed.misread && `${typed.misread} needs a date or an age, such as 7d`
    const isNewest = words.trim() === "" && !(narrowing.role || narrowing.tool || narrowing.error)
    const pinned = isNewest ? this.#pinned(db, readers, narrowing) : []
    const told = ({ hits: all, more, isLoose, corrections }: FoundTurns): Found => {
      const known = new Set(pinned.map(({ handle }) => handle))
      const hits = [...pinned, ...all.filter(({ handle }) => !known.has(handle))]
      return {
        hits,
        titles: this.#titlesOf(db, hits),
        nameOf,
        ...(isNewest && { isNewest }),
        more,
        note: misread ?? (isLoose && hits.length > 0 ? LOOSE_NOTE : correctionNote(corrections)),
      }
    }
    this.#last = found
    const isWanted = this.#place.config["search.meaning"] === "auto"
    if (isWanted && search.coverage()?.isOpen)
      this.#unmeant = { isAsked: false, begun: search, words, narrowing, told }
    return told(found)
  }

  /** The latest turn of each pinned session, and pinned turns: those that the filters let through. */
  #pinned(db: Database, readers: CopyReaders, narrowing: Narrowing): Hit[] {
    const { sessions, handles } = readLabels(this.#place.dataHome).named()
    const each = [
      ...sessions.map((session) => ({ sessions: [session], handles: [] })),
      ...handles.map((handle) => ({ sessions: [], handles: [handle] })),
    ]
    const asked = { ...narrowing, query: "", limit: 1, isBrief: true, room: ROOM }
    return each.slice(0, MOST_PINNED).flatMap((labelled) => {
      const { hits } = begun(db, this.#place.dataHome, { ...asked, labelled }, readers).finish()
      return hits
    })
  }

  /**
   * Pins the session of a turn, or takes its pin off.
   *
   * @param now ms since the epoch
   * @returns whether it is pinned now
   */
  pin({ session }: Hit, now: number): boolean {
    const { dataHome } = this.#place
    const flipped = (label: LabelShown): LabelShown => ({ ...label, pinned: !label.pinned })
    const after = changeLabels(dataHome, (all) =>
      withLabel(all, { session, handle: null }, flipped, new Date(now).toISOString()),
    )
    return after.on(session)?.pinned === true
  }

  #titlesOf(db: Database, hits: readonly Hit[]): ReadonlyMap<string, string> {
    const known = this.#titles
    const sessions = [...new Set(hits.map(({ session }) => session))].filter((id) => !known.has(id))
    for (const [id, title] of tellingTitles(db, sessions)) known.set(id, title)
    return known
  }

  /** Whether the last search has left something open that the model has not been asked. */
  get isOpenToMeaning(): boolean {
    return this.#unmeant?.isAsked === false
  }

  /** Has the model loaded, if there is one, by a process of its own: whoever types goes on. */
  wakeModel(): Promise<VectorChild | undefined> {
    this.#model ??= this.#startModel().catch(() => undefined)
    return this.#model
  }

  /** The next search that is open to meaning starts it again. */
  endModel(): void {
    void this.#model?.then((model) => model?.[Symbol.dispose]())
    this.#model = undefined
  }

  async #startModel(): Promise<VectorChild | undefined> {
    const { modelState } = await import("../../find/embed/model-files.ts")
    if (
      this.#place.config["search.meaning"] === "off" ||
      modelState(this.#place.dataHome).model === undefined
    )
      return undefined
    const { VectorChild } = await import("../../find/query-vectors.ts")
    return new VectorChild(this.#program, this.#place)
  }

  /**
   * What the last search finds with meaning besides.
   *
   * @returns undefined if there is no model, or another search has begun since
   */
  async meaning(): Promise<Found | undefined> {
    const asked = this.#unmeant
    if (asked === undefined || asked.isAsked) return undefined
    asked.isAsked = true
    const model = await this.wakeModel()
    if (model === undefined || this.#unmeant !== asked) return undefined
    const { begun, words, narrowing, told } = asked
    const { similarByModel } = await import("../../find/search-by-meaning.ts")
    if (this.#unmeant !== asked) return undefined
    const alike = await similarByModel(this.#place, this.#open.db, words, narrowing, async (_, query) => {
      const meant = await model.ask(query)
      return this.#unmeant === asked ? meant : undefined
    })
    if (alike === undefined) return undefined
    const found = begun.finish(alike)
    this.#last = found
    const shown = told(found)
    return { ...shown, note: [shown.note, alike.note].filter(Boolean).join("; ") || undefined }
  }

  /** @returns undefined if the turn is gone, or its copy cannot be read */
  preview(hit: Hit): TurnInSession | undefined {
    const { db, readers } = this.#open
    const { dataHome } = this.#place
    const turn = this.#last && previewTurn(db, dataHome, readers, hit, this.#last)
    return turn && { ...turn, summary: sessionSummary({ db, dataHome, readers }, hit.session) }
  }

  /** The last shell command of the turn, in full. */
  command(hit: Hit): string | undefined {
    const { db, readers } = this.#open
    const call = lastCommand(db, turnId(db, hit.handle))
    if (call === null) return undefined
    return new WholeCalls(db, this.#place.dataHome, readers).target(call) ?? call.target
  }

  /** The file that the turn changed last, or else read last. */
  path(hit: Hit): string | undefined {
    const { db } = this.#open
    const turn = turnId(db, hit.handle)
    return filesChangedIn(db, turn, 1)[0]?.path ?? filesOpenedIn(db, turn, 1)[0]
  }

  /** @returns why nothing can be found, if so. What is typed comes before what is chosen. */
  #narrowing(db: Database, chosen: ChosenFilters, typed: TypedQuery, now: number): Narrowing | string {
    const { cwd, home } = this.#place
    const project =
      typed.project === undefined
        ? chosen.isHere
          ? knownAs(db, projectOf(cwd))
          : undefined
        : projectNamed(db, typed.project)
    if (project === undefined && typed.project !== undefined) return noProject(db, typed.project)
    const session = typed.session === undefined ? undefined : findSessions(db, typed.session)[0]?.id
    if (session === undefined && typed.session !== undefined) return `no session ${typed.session}`
    const program = AGENT_NAMES.find((name) => name.startsWith(typed.agent?.toLowerCase() ?? name))
    if (program === undefined) return `no agent named ${typed.agent}: it is one of ${AGENT_NAMES.join(", ")}`
    return {
      project,
      session,
      program: typed.agent === undefined ? undefined : program,
      role: chosen.role && ROLES[chosen.role],
      tool: chosen.tool,
      since: typed.since ?? (chosen.since && momentOf(chosen.since, now)),
      until: typed.until,
      file: typed.file && typedPath(typed.file, cwd, home),
      error: typed.error ?? chosen.errors,
    }
  }
}

/** The project of this folder or name, or whose name begins so or has it. */
function projectNamed(db: Database, typed: string): string | undefined {
  const wanted = typed.toLowerCase()
  const all = [...namesApart(projectPaths(db))].map(([path, name]) => ({ path, name: name.toLowerCase() }))
  const found =
    all.find(({ path }) => path === typed || folderOf(path) === typed) ??
    all.find(({ name }) => name === wanted) ??
    all.find(({ name }) => name.endsWith(`/${wanted}`)) ??
    all.find(({ name }) => name.startsWith(wanted)) ??
    all.find(({ name }) => name.includes(wanted))
  return found?.path
}

function noProject(db: Database, typed: string): string {
  const near = nearNames(typed, projectPaths(db).map(projectNamer(db)))
  const latest = latestProjects(db, LATEST).map(projectNamer(db)).join(", ")
  return `no project is called ${typed}: ${near.length === 0 ? `the latest are ${latest}` : `did you mean ${near.join(" or ")}?`}`
}

/* Filters that are typed in the query, `since:7d` and the like, apart from what is searched for. Pure. */

/** What the search's own parser knows, `role:` and `tool:`, stays in `words`. */
export interface TypedQuery {
  readonly words: string
  /** A project's name or path as it was typed. */
  readonly project?: string
  /** A session's id, or its beginning. */
  readonly session?: string
  /** An agent's name, or its beginning. */
  readonly agent?: string
  readonly file?: string
  /** ISO 8601 in UTC. */
  readonly since?: string
  readonly until?: string
  readonly error?: boolean
  /** A filter whose value means nothing, as it was typed. */
  readonly misread?: string
}

const FILTER = /(?<!\S)(project|session|agent|file|since|until|errors?):(\S*)/gi

/** @param now ms since the epoch */
export function typedQuery(text: string, now: number): TypedQuery {
  const found: { -readonly [Name in keyof TypedQuery]: TypedQuery[Name] } = { words: "" }
  found.words = text.replace(FILTER, (typed: string, name: string, value: string) => {
    const filter = name.toLowerCase()
    if (filter.startsWith("error")) found.error = true
    // It is being typed.
    else if (value === "") return ""
    else if (filter === "since" || filter === "until") {
      const moment = momentOf(value, now)
      if (moment === undefined) found.misread = typed
      else found[filter] = moment
    } else found[filter as "project" | "session" | "agent" | "file"] = value
    return ""
  })
  return found
}

/** Letters of a word's beginning that are enough to look for all words that begin so. */
const ENOUGH = 3
/** A word that may go on: neither a phrase's, nor an operator, nor one with a role or tool. */
const UNFINISHED = /(?:^|[\s(])(?!(?:AND|OR|NOT)$)[^\s():*"]*?[\p{L}\p{N}]+$/u
const END = /[\p{L}\p{N}]+$/u

/**
 * The query while its last word is being typed: that word stands for all that begin so. One of fewer letters would stand
 * for a tenth of the archive, so it is searched as it is.
 *
 * @returns `short`: the query without that last word, if it was too short
 */
export function whileTyping(words: string): { query: string; short?: string } {
  const end = END.exec(words)?.[0]
  if (end === undefined || words.split('"').length % 2 === 0 || !UNFINISHED.test(words))
    return { query: words }
  if ([...end].length >= ENOUGH) return { query: `${words}*` }
  return { query: words, short: words.replace(/\S+$/, "") }
}
