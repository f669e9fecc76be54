/** The HTML pages of sessions and projects, with all that the archive knows of them. */
import { version } from "../../package.json"
import { mediaOfLine } from "../agents/agents.ts"
import { hashName } from "../base/json-files.ts"
import { localDate } from "../base/local-time.ts"
import { type SessionSummary, sessionSummary, summaryParts, summarySource } from "../find/session-summary.ts"
import { HANDLE_PREFIX } from "../record/our-marks.ts"
import type { Part } from "../record/types.ts"
import { receiptsOf, totalOf } from "../restore/session-receipts.ts"
import { formatTokens } from "../restore/window/zone.ts"
import { CopyReaders } from "../vault/reader.ts"
import type { Database } from "../views/database.ts"
import { type Labels, labelWords } from "../views/labels.ts"
import { findSessions, type Session, withUse } from "../views/queries/sessions.ts"
import { contextOfTurns } from "../views/queries/token-use.ts"
import { openSession } from "../views/session-list.ts"
import { linesOfTurn, readTurn, type Turn, turnsOfSession, type WholeTurn } from "../views/turn.ts"
import type {
  CompactionOnPage,
  Html,
  PageLink,
  PageWords,
  SessionData,
  SubagentData,
  WordsAbout,
} from "./pages/html/document.ts"
import { type ProjectData, projectPage, sessionPage } from "./pages/html/project-page.ts"
import { PROOFS } from "./render-receipts.ts"
import { dollars } from "./render-session.ts"
import { dated, hourAt, period } from "./screen.ts"

/** A page is read in other years, so its dates have theirs. */
const ANY_YEAR = 0

export const PAGE_WORDS: PageWords = {
  tokens: formatTokens,
  dollars,
  moment: (time) => dated(time, ANY_YEAR),
  period: (from, to) => period(from, to, ANY_YEAR),
  day: (time) => localWords(time, localDate),
  hour: (time) => localWords(time, hourAt),
}

function localWords(time: string | null, write: (ms: number) => string): string {
  const ms = Date.parse(time ?? "")
  return Number.isNaN(ms) ? "unknown" : write(ms)
}

/** A session to show, or only a turn of it. */
export interface PageSubject {
  readonly session: Session
  readonly only?: Turn
}

interface PageOptions {
  /** Only what was said. */
  readonly isConversation?: boolean
  /** What the user has labelled sessions and turns with; without it, nobody is told. */
  readonly labels?: Labels
  /** By session, at list prices. */
  readonly costs?: ReadonlyMap<string, number>
  /** The page beside it that lists it. */
  readonly index?: PageLink
  /** File name of the page of a file that is beside it. */
  readonly pageOf?: (path: string) => string | undefined
  /** Called with the number of turns that are done. */
  readonly onProgress?: (done: number) => void
  /** Called with each turn of the page, its subagents' included, and maybe twice. */
  readonly onTurn?: (turn: WholeTurn) => void
}

/** The bytes of a page of these sessions, read from the archive as they are asked for. */
export function* sessionPageBytes(
  db: Database,
  dataHome: string,
  wanted: readonly PageSubject[],
  options: PageOptions = {},
): Generator<Uint8Array> {
  using readers = new CopyReaders()
  const sessions = wanted.map((one) => sessionData(db, dataHome, one, readers, options))
  yield* htmlBytes(sessionPage(sessions, PAGE_WORDS, version, options.index))
}

export const projectPageBytes = (data: ProjectData): Iterable<Uint8Array> =>
  htmlBytes(projectPage(data, PAGE_WORDS, version))

export const htmlBytes = (pieces: Iterable<Html>): Generator<Uint8Array> => inBlocks(textsOf(pieces))

function* textsOf(pieces: Iterable<Html>): Generator<string> {
  for (const { text } of pieces) yield text
}

/** Such an id is the name of its page. No other has it where upper and lower case are the same, nor has a list or a file. */
const PLAIN_ID = /^(?!(?:index|(?:list|project|file)-[0-9a-f]+)$)[a-z0-9][a-z0-9._-]{0,99}$/
/** UTF-16 units of any other id. */
const RECOGNIZABLE = 60

/** What a session's page is called in a folder of pages. Ids may be anything. */
export function pageName(id: string): string {
  if (PLAIN_ID.test(id)) return `${id}.html`
  return `${id.replace(/[^\w.-]+/g, "-").slice(0, RECOGNIZABLE)}-${hashName(id)}.html`
}

function sessionData(
  db: Database,
  dataHome: string,
  wanted: PageSubject,
  readers: CopyReaders,
  { isConversation = false, onProgress, onTurn, labels, costs, pageOf = () => undefined }: PageOptions,
): SessionData {
  const { session, lineage, shared, turns: own } = openSession(db, wanted.session)
  const all = [...shared, ...own]
  const outline = wanted.only === undefined ? all : [wanted.only]
  const origins = new Set(all.map((turn) => turn.session).filter((one) => one !== session.id))
  const read = (turn: Turn): WholeTurn => {
    const whole = readTurn(db, dataHome, turn, readers)
    onTurn?.(whole)
    return isConversation ? spokenTurn(whole) : whole
  }
  const turns = outline.values().map((turn, n) => {
    onProgress?.(n)
    return read(turn)
  })
  return {
    session,
    labelsOf: (subject) => labelWords(labels?.on(subject)),
    lineage,
    estimate: costs?.get(session.id),
    about:
      wanted.only === undefined && !isConversation
        ? wordsAbout(sessionSummary({ db, dataHome, readers }, session.id))
        : [],
    outline,
    context: contextIn(db, [session.id, ...lineage.subagents, ...origins]),
    compactions: compactionsOf(db, dataHome, session.id),
    subagents: isConversation ? [] : subagentsOf(db, lineage.subagents, read),
    isWhole: wanted.only === undefined,
    turns,
    mediaOf: (turn) => mediaOfTurn(db, dataHome, turn, readers),
    pageOf,
  }
}

/** What the session was about, above its turns; nothing if there is nothing to tell. */
function wordsAbout(summary: SessionSummary): WordsAbout[] {
  const observations = summary.kind === "model" ? summary.observations : []
  const items = [
    ...summaryParts(summary),
    ...observations.map(({ type, title, turns }) => ({ label: type, text: title, handle: turns[0] })),
  ]
  return items.length === 0 ? [] : [{ title: "Summary", items, by: summarySource(summary) }]
}

const contextIn = (db: Database, sessions: readonly string[]): Map<string, number> =>
  new Map(contextOfTurns(db, sessions).map(({ handle, tokens }) => [HANDLE_PREFIX + handle, tokens]))

function subagentsOf(db: Database, ids: readonly string[], read: (turn: Turn) => WholeTurn): SubagentData[] {
  const sessions = withUse(
    db,
    ids.flatMap((id) => findSessions(db, id)[0] ?? []),
  )
  return sessions.map((session) => {
    const turns = turnsOfSession(db, session.id)
    const first = turns.find(({ via }) => via === "brief")
    return {
      session,
      brief: first === undefined ? "" : read(first).prompt,
      turns: turns.values().map(read),
    }
  })
}

function compactionsOf(db: Database, dataHome: string, session: string): CompactionOnPage[] {
  const receipts = receiptsOf(db, dataHome, { session, limit: Number.MAX_SAFE_INTEGER })
  return receipts.map((receipt) => {
    const kinds = Object.values(totalOf([receipt]))
    const sum = (of: "kept" | "given" | "lost"): number => kinds.reduce((all, counts) => all + counts[of], 0)
    const { time, text, delivery } = receipt
    return {
      time,
      text,
      kept: sum("kept"),
      restored: sum("given"),
      lost: sum("lost"),
      delivery: PROOFS[delivery],
    }
  })
}

/* Many small texts as fewer bytes to write. */

/** UTF-16 units of text to collect before writing. */
const BLOCK = 1 << 18

export function* inBlocks(texts: Iterable<string>): Generator<Uint8Array> {
  const encoder = new TextEncoder()
  let block = ""
  for (const text of texts) {
    block += text
    if (block.length < BLOCK) continue
    yield encoder.encode(block)
    block = ""
  }
  if (block !== "") yield encoder.encode(block)
}

/* A turn as a conversation: what the human and the model said to each other, without tools, thoughts and subagents. Pure. */

const SAID: readonly Part["kind"][] = ["prompt", "reply", "text", "media"]

export function spokenTurn(turn: WholeTurn): WholeTurn {
  const messages = turn.messages
    .filter(({ sidechain }) => !sidechain)
    .map((message) => ({ ...message, parts: message.parts.filter(({ kind }) => SAID.includes(kind)) }))
    .filter(({ parts }) => parts.length > 0)
  return { ...turn, messages }
}

/* The images and documents of a turn, which are in the vault alone. */

const utf8 = new TextDecoder()

/**
 * Base64 of each part that is media. A turn without any is not read a second time.
 *
 * @param turn some of its parts may be missing
 */
function mediaOfTurn(
  db: Database,
  dataHome: string,
  turn: WholeTurn,
  readers: CopyReaders,
): Map<Part, string> {
  const found = new Map<Part, string>()
  const wanted = turn.messages.flatMap(({ parts }) => parts.filter((part) => part.kind === "media"))
  if (wanted.length === 0) return found
  for (const line of linesOfTurn(db, dataHome, turn, readers)) {
    for (const data of mediaOfLine(utf8.decode(line))) {
      const at = wanted.findIndex(({ base64Length }) => base64Length === data.length)
      if (at >= 0) found.set(wanted.splice(at, 1)[0]!, data)
    }
  }
  return found
}
