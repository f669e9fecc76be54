/**
 * Replays a transcript up to each of its compactions, restores as the hook does, and checks what was needed afterwards.
 */

import { readFileSync, writeFileSync } from "node:fs"
import { decodeLine } from "../../../agents/agents.ts"
import { join } from "../../../base/path.ts"
import { temporaryFolder } from "../../../base/temporary.ts"
import { oneLine } from "../../../base/text.ts"
import { hitTexts } from "../../../find/hit.ts"
import { search } from "../../../find/search-turns.ts"
import { transcriptsBelow } from "../../../job/find-transcripts.ts"
import { CARD, withTurns } from "../../../prune/plugin/answer-compaction.ts"
import { FACT_KINDS } from "../../../record/facts.ts"
import { linesIn } from "../../../record/lines-with.ts"
import type { Part, TranscriptRecord } from "../../../record/types.ts"
import { gather, type PendingPrompt } from "../../../restore/gather.ts"
import { holderOf, preservedText } from "../../../restore/receipt.ts"
import { renderRestore } from "../../../restore/render.ts"
import { stepsOf } from "../../../restore/restore.ts"
import { importance } from "../../../restore/worth/tiers.ts"
import { FILTERED } from "../../../secrets/filter.ts"
import { captureTranscript, sessionOf } from "../../../vault/capture.ts"
import { isSuperseded, vaultFile } from "../../../vault/layout.ts"
import { CopyReaders, stretchesFrom } from "../../../vault/reader.ts"
import { type Database, openFile } from "../../../views/database.ts"
import { ingest } from "../../../views/ingest.ts"
import { ArchivedLines } from "../../../views/records.ts"
import { type TranscriptRow, transcriptById } from "../../../views/transcript-rows.ts"
import { sources } from "../../../views/view-sources.ts"
import { WordWriter } from "../../../views/word-index.ts"
import {
  type FactsSeen,
  Memory,
  neededAfter,
  notHeld,
  type PerKind,
  perKind,
  type Shares,
  shares,
  type Window,
  windowAfter,
} from "./needed-facts.ts"

/** A transcript to examine. */
interface ReplayedTranscript {
  readonly session: string
  readonly read: () => Uint8Array
}

export interface SurviveOptions {
  /** Maximum characters of a restore. */
  readonly budget: number
  /** How many of the model's steps after the compaction count. */
  readonly window: number
}

/** The ways of choosing what to give back. */
export const METHODS = ["restore", "lists", "search", "recency", "importance", "tail"] as const

export type Method = (typeof METHODS)[number]

interface Gain {
  /** In what Claude Code kept or in this. */
  readonly together: Shares
  /** In this, of what Claude Code did not keep. */
  readonly given: Shares
  readonly characters: number
}

export interface CompactionResult {
  readonly session: string
  /** Offset of the boundary in its transcript, in bytes. */
  readonly offset: number
  readonly trigger: string
  /** The model's steps in the window. */
  readonly steps: number
  /** Tool calls until the first that changed a file; undefined when none did. */
  readonly untilEdit: number | undefined
  readonly needed: PerKind<number>
  /** In what Claude Code kept: its summary, and messages. */
  readonly summary: Shares
  readonly methods: Readonly<Record<Method, Gain>>
  /** Of the context that `prune plugin` puts in place of the summary, with its own limit of characters. */
  readonly plugin: { readonly held: Shares; readonly characters: number }
  /** Lines of the restore that show a turn with its handle. */
  readonly turnLines: number
  readonly overBudget: boolean
}

interface Place {
  readonly record: TranscriptRecord
  readonly offset: number
}

/**
 * Each compaction of a transcript after which the model continued.
 *
 * @param known ids of the boundaries that were compared before: forks, and former versions of a transcript, repeat them
 */
export function* survive(
  { session, read }: ReplayedTranscript,
  options: SurviveOptions,
  known: Set<string>,
): Generator<CompactionResult> {
  const content = read()
  const places = [...decoded(content)]
  const records = places.map(({ record }) => record)
  if (!records.some(isBoundary)) return
  using views = new Views(session, content)
  const before = new Memory(false)
  for (const [n, { record, offset }] of places.entries()) {
    if (isBoundary(record)) {
      views.follow(offset)
      const window = windowAfter(records, n + 1, options.window)
      const isNew = record.uuid === undefined || !known.has(record.uuid)
      if (window.steps > 0 && isNew) {
        if (record.uuid !== undefined) known.add(record.uuid)
        const past = places.slice(0, n)
        yield compared(
          { session, views, past, boundary: places[n]!, summary: summaryAt(records, n), before, window },
          options,
        )
      }
    }
    before.take(record)
  }
}

interface Moment {
  readonly session: string
  readonly views: Views
  readonly past: readonly Place[]
  readonly boundary: Place
  readonly summary: string
  readonly before: Memory
  readonly window: Window
}

function compared(moment: Moment, { budget }: SurviveOptions): CompactionResult {
  const { session, views, past, boundary, summary, before, window } = moment
  const records = past.map(({ record }) => record)
  const { trigger, preserved } = boundary.record.parts.find((part) => part.kind === "boundary")!
  const pending = trigger === "auto" ? pendingIn(past) : undefined
  using lines = new ArchivedLines(views.dataHome)
  const material = gather(views.db, session, { pending, lines })
  const steps = stepsOf(views.db, material.turns, lines)
  const restored = renderRestore({ ...material, steps }, { source: "compact", budget, summary })
  const whole = renderRestore(
    { ...material, steps },
    { source: "compact", budget: CARD, summary: "", byPlugin: true },
  )
  // Claude Code's question tells the turn that is not over, too; here it is only in the views.
  const place = { dataHome: views.dataHome, secrets: FILTERED }
  const inPlugin = withTurns(views.db, place, { session, open: undefined }, whole)
  const turns = oldTurns(records)
  const texts: Readonly<Record<Method, string>> = {
    restore: restored,
    lists: bareLists(before.seen, budget),
    search: views.found(firstPrompt(window) ?? pending?.text ?? ""),
    recency: byRecency(turns, budget),
    importance: byImportance(turns, budget),
    tail: rawTail(records, budget),
  }
  const needed = neededAfter(before.seen, window)
  const inKept = holderOf(`${summary}\n${preservedText(records, preserved)}`)
  const lacking = notHeld(needed, inKept)
  const gain = (text: string): Gain => {
    const inText = holderOf(text)
    const together = shares(needed, (kind, fact) => inKept(kind, fact) || inText(kind, fact))
    return { together, given: shares(lacking, inText), characters: text.length }
  }
  return {
    session,
    offset: boundary.offset,
    trigger,
    steps: window.steps,
    untilEdit: window.untilEdit,
    needed: perKind((kind) => needed[kind].length),
    summary: shares(needed, inKept),
    methods: Object.fromEntries(METHODS.map((method) => [method, gain(texts[method])])) as Record<
      Method,
      Gain
    >,
    plugin: { held: shares(needed, holderOf(inPlugin)), characters: inPlugin.length },
    turnLines: restored.split("\n").filter((line) => /^- ctx:\w+ "/.test(line)).length,
    overBudget: restored.length > budget,
  }
}

const isBoundary = ({ parts, sidechain }: TranscriptRecord): boolean =>
  !sidechain && parts.some(({ kind }) => kind === "boundary")

/** The summary comes after the boundary, before anything else that is said. */
function summaryAt(records: readonly TranscriptRecord[], boundary: number): string {
  for (const { parts } of records.slice(boundary, boundary + 4)) {
    for (const part of parts) if (part.kind === "summary") return part.text
  }
  return ""
}

/** The prompt that was pending at an automatic compaction. */
function pendingIn(past: readonly Place[]): PendingPrompt | undefined {
  for (const { record, offset } of [...past].reverse()) {
    for (const part of record.parts) {
      if (part.kind === "prompt" && !record.sidechain) return { text: part.text, at: offset }
    }
  }
  return undefined
}

/** What the model is asked after the compaction. */
function firstPrompt({ records }: Window): string | undefined {
  for (const { parts } of records) {
    for (const part of parts) if (part.kind === "prompt" && part.via !== "command") return part.text
  }
  return undefined
}

function* decoded(content: Uint8Array): Generator<Place> {
  for (const [from, to] of linesIn(content)) {
    if (to > from)
      yield { record: decodeLine(Buffer.from(content.subarray(from, to)).toString()), offset: from }
  }
}

/* A private vault and views of one transcript, as it was at some moment. */

/** How many hits of a search count as seen. */
const FIRST_HITS = 5

class Views {
  readonly db: Database
  readonly #temporary = temporaryFolder("survive")
  readonly #folder = this.#temporary.path
  readonly dataHome = join(this.#folder, "archive")
  readonly #readers = new CopyReaders()
  readonly #content: Uint8Array
  #row: TranscriptRow

  constructor(session: string, content: Uint8Array) {
    this.#content = content
    const path = join(this.#folder, `${session}.jsonl`)
    writeFileSync(path, content)
    const place = { dataHome: this.dataHome, home: this.#folder }
    const { copy } = captureTranscript(place, path, {
      now: 0,
      deadline: Number.POSITIVE_INFINITY,
      lastLine: "whole",
    })
    this.db = openFile(join(this.#folder, "archive.db"), "create")
    const row = this.db
      .query<{ id: number }, [string, string, string, string]>(
        "INSERT INTO transcripts (path, copy, copy_id, session) VALUES (?, ?, ?, ?) RETURNING id",
      )
      .get(path, copy, copy, session)
    this.#row = transcriptById(this.db, row!.id)!
  }

  /** Brings the views up to this byte of the transcript. */
  follow(to: number): void {
    const { indexed } = this.#row
    const words = new WordWriter(this.db)
    this.db
      .transaction(() => {
        const piece = this.#content.subarray(indexed, to)
        ingest(this.db, this.#row, indexed, piece, false, words, this.dataHome)
        words.flush()
      })
      .immediate()
    this.#row = transcriptById(this.db, this.#row.id)!
  }

  /** What the first hits of a search show. */
  found(query: string): string {
    if (query.trim() === "") return ""
    const { hits } = search(this.db, this.dataHome, { query, limit: FIRST_HITS }, this.#readers)
    return hits.flatMap(hitTexts).join("\n")
  }

  [Symbol.dispose](): void {
    this.#readers.close()
    this.db.close()
    this.#temporary[Symbol.dispose]()
  }
}

/* The transcripts that `ctxbridge bench survive` examines: copies in the vault, or files in a folder. */

/** Every session's transcript in the vault, former versions last; subagents are not compacted. */
export function inVault(dataHome: string): ReplayedTranscript[] {
  return sources(dataHome)
    .filter(({ session }) => !session.includes("/"))
    .sort((a, b) => Number(isSuperseded(a.copy)) - Number(isSuperseded(b.copy)))
    .map(({ session, copy }) => ({
      session,
      read: () => {
        const stretches = [...stretchesFrom(vaultFile(dataHome, copy), 0)]
        return Buffer.concat(stretches.map(({ content }) => content))
      },
    }))
}

export function inFolder(folder: string): ReplayedTranscript[] {
  return transcriptsBelow(folder)
    .map((path) => ({ session: sessionOf(path), read: () => readFileSync(path) }))
    .filter(({ session }) => !session.includes("/"))
}

/* Alternatives that could be given back within the same number of characters, for comparison. Pure. */

/** Characters of a turn shown by the first design's rankings. */
const PREVIEW = 300

interface OldTurn {
  text: string
  tools: Set<string>
  files: Set<string>
  time: number
}

/** Turns as the first design kept them: a prompt, then answers, tools and files. */
function oldTurns(records: readonly TranscriptRecord[]): OldTurn[] {
  const turns: OldTurn[] = []
  for (const { parts, sidechain, timestamp } of records) {
    if (sidechain) continue
    for (const part of parts) {
      if (part.kind === "prompt") {
        const time = Date.parse(timestamp ?? "") || 0
        turns.push({ text: part.text, tools: new Set(), files: new Set(), time })
      } else addTo(turns.at(-1), part)
    }
  }
  return turns
}

function addTo(turn: OldTurn | undefined, part: Part): void {
  if (turn === undefined) return
  if (part.kind === "text") turn.text += ` | ${part.text}`
  if (part.kind !== "toolUse") return
  turn.tools.add(part.name)
  const path = (part.input as { file_path?: unknown } | null)?.file_path
  if (typeof path === "string") turn.files.add(path)
}

/** Newest first. */
const byRecency = (turns: readonly OldTurn[], budget: number): string => listed([...turns].reverse(), budget)

/** Nothing has been used yet when a session is compacted. */
function byImportance(turns: readonly OldTurn[], budget: number): string {
  const now = Math.max(0, ...turns.map(({ time }) => time))
  const score = ({ time: born, tools, files }: OldTurn): number =>
    importance({ born, uses: 0, hasTools: tools.size > 0, hasFiles: files.size > 0 }, now)
  return listed(
    [...turns].reverse().sort((a, b) => score(b) - score(a)),
    budget,
  )
}

function listed(turns: readonly OldTurn[], budget: number): string {
  let text = ""
  for (const { text: words, tools, files } of turns) {
    const line = `- ${oneLine(words).slice(0, PREVIEW)} Tools: ${[...tools].join(", ")} Files: ${[...files].join(", ")}\n`
    if (text.length + line.length > budget) break
    text += line
  }
  return text
}

/** The last characters of the conversation. */
function rawTail(records: readonly TranscriptRecord[], budget: number): string {
  let text = ""
  for (let n = records.length - 1; n >= 0 && text.length < budget; n--) {
    if (records[n]!.sidechain) continue
    for (const part of [...records[n]!.parts].reverse()) text = `${textOf(part)}\n${text}`
  }
  return text.slice(-budget)
}

function textOf(part: Part): string {
  if (part.kind === "toolUse") return JSON.stringify(part.input) ?? ""
  return part.kind === "prompt" || part.kind === "text" || part.kind === "toolResult" ? part.text : ""
}

/** Bare lists, with a quarter of the characters for each kind. */
function bareLists(before: FactsSeen, budget: number): string {
  const now = Math.max(
    0,
    ...FACT_KINDS.flatMap((kind) => [...before[kind].values()].map(({ latest }) => latest)),
  )
  let text = ""
  for (const kind of FACT_KINDS) {
    const ranked = [...before[kind]].sort(([, a], [, b]) => weight(b) - weight(a))
    let room = Math.floor(budget / FACT_KINDS.length)
    for (const [fact] of ranked) {
      if (fact.length + 1 > room) break
      text += `${fact}\n`
      room -= fact.length + 1
    }
  }
  return text
  function weight({ times, latest }: { times: number; latest: number }): number {
    return times / (now - latest + 1)
  }
}
