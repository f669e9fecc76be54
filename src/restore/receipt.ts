/**
 * What became of a conversation at each of its compactions: what was there before, what Claude Code kept, what was
 * given back, what is lost. Derived only from the transcript and from what was given. Pure.
 */
import { errorsMet } from "../agents/errors-met.ts"
import { withoutPlan } from "../agents/origin.ts"
import { shellCommand, stringsIn, toolFiles, toolKind } from "../agents/tool-kinds.ts"
import { oneLine } from "../base/text.ts"
import { atLeast, TELLS_CONTEXT } from "../claude/versions.ts"
import { factNames, numbersIn, pathsIn } from "../record/facts.ts"
import { constraintsIn, decisionsIn, rulesInReply } from "../record/noted-sentences.ts"
import { MARK } from "../record/our-marks.ts"
import { commandPaths } from "../record/path-words.ts"
import { openingOf, simpleCommands } from "../record/shell-script.ts"
import type { Part, TranscriptRecord } from "../record/types.ts"
import type { PlacedRecord } from "../views/records.ts"
import { lastTwo } from "./complement.ts"
import { containsWhole } from "./page.ts"

export interface KindCounts {
  /** In the context that was compacted, since the previous compaction. */
  readonly before: number
  readonly kept: number
  readonly given: number
  readonly lost: number
}

/** Where each of what was in the context before is now, by its words, what was met last at the end. */
interface KindItems {
  /** In Claude Code's summary, verbatim or by a short name (receipt.ts), or in a message that it kept. */
  readonly kept: readonly string[]
  /** Of the rest, what is in what was given back. */
  readonly given: readonly string[]
  /** In neither. */
  readonly lost: readonly string[]
}

/**
 * Whether what was given back reached the conversation: `arrived` at once, `arrived-later` at a prompt. `lost`: Claude
 * Code answered without it. `open`: nothing was said since. `untold`: this version does not record it. `not-archived`:
 * nothing could be given, because the session was archived only later.
 */
export type DeliveryProof =
  | "arrived"
  | "arrived-later"
  | "lost"
  | "open"
  | "untold"
  | "nothing-given"
  | "not-archived"

export interface Receipt {
  readonly session: string
  /** Offset of the boundary in its transcript, in bytes. */
  readonly offset: number
  readonly time: string | null
  readonly trigger: string
  /** Tokens in the context just before, as Claude Code counts them. */
  readonly preTokens: number | null
  readonly kinds: Readonly<Record<HeldKind, KindCounts>>
  readonly items: Readonly<Record<HeldKind, KindItems>>
  /** UTF-16 units of what was given back. */
  readonly characters: number
  /** What was given back. */
  readonly text: string
  readonly delivery: DeliveryProof
}

/** A restore as our hook gave it. */
export interface GivenText {
  /** Size of the transcript at that moment, in bytes. */
  readonly at: number
  readonly text: string
}

/** Only this many of the newest messages can be ones that Claude Code keeps. */
const MAYBE_KEPT = 200

/** A compaction, while the records after it are read. */
interface Draft {
  readonly boundary: PlacedRecord
  readonly trigger: string
  readonly preTokens: number | undefined
  readonly before: Present
  kept: string
  /** Restores that arrived, with the event of the hook that brought them. */
  readonly arrived: { readonly event: string; readonly text: string }[]
  answered: boolean
  version: string | undefined
}

/**
 * The compactions in one transcript, in order, except those of a session that it was forked from.
 *
 * @param givenAt what was given at the compaction nearest to an offset
 */
export function* receiptsIn(
  session: string,
  records: Iterable<PlacedRecord>,
  givenAt: (boundary: number) => string,
): Generator<Receipt> {
  let before = new Present()
  let recent: TranscriptRecord[] = []
  let said = false
  let draft: Draft | undefined
  for (const { record, offset } of records) {
    if (record.sidechain) continue
    const boundary = record.parts.find((part) => part.kind === "boundary")
    if (boundary !== undefined) {
      if (draft !== undefined) yield finish(session, draft, givenAt)
      const kept = preservedText(recent, boundary.preserved)
      const { trigger, preTokens } = boundary
      const place = { boundary: { record, offset }, trigger, preTokens, before, kept }
      draft = said ? { ...place, arrived: [], answered: false, version: undefined } : undefined
      before = new Present()
      recent = []
      said = false
      continue
    }
    said ||= record.parts.some(({ kind }) => kind === "prompt" || kind === "text" || kind === "toolUse")
    if (draft !== undefined) follow(draft, record)
    before.take(record)
    recent.push(record)
    if (recent.length > 2 * MAYBE_KEPT) recent = recent.slice(-MAYBE_KEPT)
  }
  if (draft !== undefined) yield finish(session, draft, givenAt)
}

function follow(draft: Draft, record: TranscriptRecord): void {
  const { type, parts, usage, version, timestamp } = record
  // When a plugin answers a compaction, the messages that it keeps are written again with their original times.
  if ((timestamp ?? "") < (draft.boundary.record.timestamp ?? "")) draft.kept += `\n${textOf([record])}`
  for (const part of parts) {
    if (part.kind === "summary") draft.kept += `\n${part.text}`
    else if (type === "attachment/hook_additional_context" && part.kind === "context") {
      if (part.text.includes(MARK)) draft.arrived.push({ event: part.source, text: part.text })
    }
  }
  if (usage === undefined) return
  draft.answered = true
  draft.version = version ?? draft.version
}

function finish(session: string, draft: Draft, givenAt: (boundary: number) => string): Receipt {
  const { boundary, before, arrived, kept, trigger, preTokens } = draft
  const noted = givenAt(boundary.offset)
  // A message kept by a plugin may contain the previous restore again.
  const same = arrived.find(({ text }) => text.trim() === noted.trim())
  const text = (same ?? arrived.at(-1))?.text ?? noted
  const short = shortNames(before.of("path"), before.of("command"))
  const inKept = holderOf(kept, short)
  const inGiven = holderOf(text, short)
  const itemsOf = (kind: HeldKind): KindItems => {
    const {
      kept = [],
      given = [],
      lost = [],
    } = Object.groupBy(before.of(kind), (fact) =>
      inKept(kind, fact) ? "kept" : inGiven(kind, fact) ? "given" : "lost",
    )
    return { kept, given, lost }
  }
  const items = byKind(itemsOf)
  return {
    session,
    offset: boundary.offset,
    time: boundary.record.timestamp ?? null,
    trigger,
    preTokens: preTokens ?? null,
    kinds: byKind((kind) => countsOf(items[kind])),
    items,
    characters: text.length,
    text,
    delivery: proofOf(draft, text),
  }
}

/** One value for each kind, in their order. */
export const byKind = <T>(of: (kind: HeldKind) => T): Record<HeldKind, T> =>
  Object.fromEntries(HELD_KINDS.map((kind) => [kind, of(kind)])) as Record<HeldKind, T>

const countsOf = ({ kept, given, lost }: KindItems): KindCounts => ({
  before: kept.length + given.length + lost.length,
  kept: kept.length,
  given: given.length,
  lost: lost.length,
})

function proofOf({ arrived, answered, version }: Draft, text: string): DeliveryProof {
  if (arrived.some(({ event }) => event === "hook:SessionStart")) return "arrived"
  if (arrived.length > 0) return "arrived-later"
  if (text === "") return "nothing-given"
  if (!answered) return "open"
  return atLeast(version, TELLS_CONTEXT) ? "lost" : "untold"
}

export const preservedText = (records: readonly TranscriptRecord[], uuids: readonly string[]): string =>
  textOf(records.filter(({ uuid }) => uuid !== undefined && uuids.includes(uuid)))

/** The text of messages that stays in the context. */
function textOf(records: readonly TranscriptRecord[]): string {
  const texts = records.flatMap(({ parts }) =>
    parts.map((part) => {
      if (part.kind === "toolUse") return stringsIn(part.input).join("\n")
      return "text" in part ? part.text : ""
    }),
  )
  return texts.join("\n")
}

/*
 * Collects what is in a conversation that a summary may drop, by kind, found as the views find it, message by message.
 * Pure.
 */

/** The current one, and those in which an option may have been listed. */
const TURNS_KNOWN = 4

class Present {
  readonly #found = new Map<HeldKind, Set<string>>()
  readonly #tools = new Map<string, string>()
  /** What the model said, by turn, newest first. */
  #said: readonly string[] = [""]

  take({ parts, sidechain, imported, version }: TranscriptRecord): void {
    if (sidechain || imported === true) return
    for (const part of parts) this.#takePart(part, version)
  }

  of(kind: HeldKind): ReadonlySet<string> {
    return this.#found.get(kind) ?? new Set()
  }

  #takePart(part: Part, version: string | undefined): void {
    switch (part.kind) {
      case "prompt":
        this.#note("constraint", constraintsIn(withoutPlan(part.text)))
        if (this.#said[0] !== "") this.#said = ["", ...this.#said].slice(0, TURNS_KNOWN)
        this.#note(
          "decision",
          decisionsIn(withoutPlan(part.text), "human", () => this.#said.slice(1)),
        )
        this.#prose(part.text)
        return
      case "reply":
        if (toolKind(this.#tools.get(part.within)) !== "ask") return
        this.#note("constraint", rulesInReply(part))
        this.#prose(part.text)
        return
      case "text":
        this.#note(
          "decision",
          decisionsIn(part.text, "model", () => this.#before()),
        )
        this.#said = [`${this.#said[0]}\n\n${part.text}`, ...this.#said.slice(1)]
        this.#prose(part.text)
        return
      // The summary of an earlier compaction, which this one may drop.
      case "summary":
        this.#prose(part.text)
        return
      case "toolUse": {
        this.#tools.set(part.id, part.name)
        const files = toolFiles(part.name, part.input).map(({ path }) => path)
        this.#note("path", files)
        for (const text of stringsIn(part.input)) {
          this.#note("name", factNames(text))
          if (toolKind(part.name) !== "run" && !files.includes(text)) this.#note("path", pathsIn(text))
        }
        const script = shellCommand(part.name, part.input)
        if (script === undefined) return
        this.#note("path", commandPaths(script))
        this.#note("command", [openingOf(script) ?? [], simpleCommands(script)].flat())
        return
      }
      case "toolResult":
        this.#note("error", errorsMet(this.#tools.get(part.id), part, version))
        return
    }
  }

  /** This turn's words with those of the turn before. */
  #before(): string[] {
    const [now = "", latest = "", ...others] = this.#said
    return [`${latest}\n\n${now}`, ...others]
  }

  #prose(text: string): void {
    this.#note("name", factNames(text))
    this.#note("path", pathsIn(text))
    this.#note("number", numbersIn(text))
  }

  #note(kind: HeldKind, texts: readonly string[]): void {
    if (texts.length === 0) return
    const known = this.#found.get(kind) ?? new Set()
    for (const text of texts) {
      known.delete(text)
      known.add(text)
    }
    this.#found.set(kind, known)
  }
}

/* Tells whether a text contains a fact, however it is quoted; for receipts and for `bench survive`. Pure. */

/** What receipts count: facts, sentences and numbers. */
export const HELD_KINDS = ["constraint", "decision", "path", "command", "name", "error", "number"] as const

export type HeldKind = (typeof HELD_KINDS)[number]

/** A restore cuts long sentences; this many characters identify one. */
const SENTENCE_KNOWN = 120

/** Short names of a conversation's facts, where they are unambiguous. */
interface ShortNames {
  path(path: string): string | undefined
  command(command: string): string | undefined
}

/**
 * Makes a function that tells whether a text contains a fact. White space, case and a restore's quotation marks do not
 * matter.
 *
 * @param short short names by which facts are also recognised
 */
export function holderOf(text: string, short?: ShortNames): (kind: HeldKind, fact: string) => boolean {
  const known = essence(text)
  return (kind, fact) => {
    switch (kind) {
      case "path":
        // A path is recognised by its folder and name, since sessions write it relative to many places.
        return (
          containsWhole(known, essence(lastTwo(fact))) ||
          inSharedFolder(known, fact) ||
          holdsName(known, short?.path(fact))
        )
      case "command":
        return containsWhole(known, essence(fact)) || isQuoted(known, short?.command(fact))
      case "constraint":
      case "decision":
        return known.includes(essence(fact).slice(0, SENTENCE_KNOWN))
      case "number":
        return holdsNumber(known, fact)
      default:
        return containsWhole(known, essence(fact))
    }
  }
}

const essence = (text: string): string =>
  oneLine(text.replace(/\\"/g, '"').replace(/[`‹<]/g, "'")).toLowerCase()

/** `in dir/: a.ts b.ts` contains dir/b.ts. A name with spaces is the only one in its line. */
function inSharedFolder(known: string, path: string): boolean {
  const end = path.lastIndexOf("/") + 1
  const folder = essence(path.slice(0, end))
  const name = essence(path.slice(end))
  if (folder === "" || !known.includes(folder)) return false
  return known
    .split(`in '${folder}': '`)
    .map((part) => part.split("'")[0]!)
    .some((names, n) => n > 0 && (names === name || names.split(" ").includes(name)))
}

/** Whether the text contains the name, not as part of another name or in another folder. */
function holdsName(known: string, name: string | undefined): boolean {
  if (name === undefined) return false
  const wanted = essence(name)
  for (let at = known.indexOf(wanted); at >= 0; at = known.indexOf(wanted, at + 1)) {
    const after = known.slice(at + wanted.length, at + wanted.length + 2)
    if (
      !/[\p{L}\p{N}_./\\-]$/u.test(known.slice(Math.max(0, at - 2), at)) &&
      !/^[\p{L}\p{N}_/-]|^\.[\p{L}\p{N}]/u.test(after)
    )
      return true
  }
  return false
}

/** The command must be quoted: in prose its words may mean anything. */
const isQuoted = (known: string, command: string | undefined): boolean =>
  command !== undefined && known.includes(`'${essence(command)}'`)

/**
 * @param paths all paths in the conversation
 * @param commands all commands in it
 */
export function shortNames(paths: Iterable<string>, commands: Iterable<string>): ShortNames {
  const files = grouped(paths, (path) => path.slice(path.lastIndexOf("/") + 1))
  const runs = grouped(commands, withoutOptions)
  return {
    path(path) {
      const name = path.slice(path.lastIndexOf("/") + 1)
      const longest = files.get(name)?.reduce((a, b) => (b.length > a.length ? b : a))
      // One file, written relative to several places.
      const isOne =
        longest !== undefined && files.get(name)!.every((one) => `/${longest}`.endsWith(`/${one}`))
      return isOne && /\w\.\w/.test(name) ? name : undefined
    },
    command(command) {
      const words = withoutOptions(command)
      return words !== undefined && runs.get(words)?.length === 1 ? words : undefined
    },
  }
}

/** `git status --short` → `git status`: at least two words, followed by nothing but options. */
function withoutOptions(command: string): string | undefined {
  const words = command.trim().split(/\s+/)
  const options = words.findIndex((word) => word.startsWith("-"))
  const isShort = options >= 2 && words.slice(options).every((word) => /^-[\w-]+$/.test(word))
  return isShort ? words.slice(0, options).join(" ") : undefined
}

function grouped(
  facts: Iterable<string>,
  keyOf: (fact: string) => string | undefined,
): Map<string, string[]> {
  const groups = new Map<string, string[]>()
  for (const fact of facts) {
    const key = keyOf(fact)
    if (key !== undefined) groups.set(key, [...(groups.get(key) ?? []), fact])
  }
  return groups
}

/** Whether the text contains the number, not as part of another one. */
function holdsNumber(known: string, number: string): boolean {
  const wanted = essence(number)
  for (let at = known.indexOf(wanted); at >= 0; at = known.indexOf(wanted, at + 1)) {
    const before = known.slice(Math.max(0, at - 2), at)
    const after = known.slice(at + wanted.length, at + wanted.length + 2)
    if (!/\d$|\d[.,]$/.test(before) && !/^\d|^[.,]\d/.test(after)) return true
  }
  return false
}
