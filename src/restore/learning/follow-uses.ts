/**
 * What the model used of what it was shown again: of a restore's slots, and of what our server and commands answered.
 *
 * A path is used when it is opened or changed, a command when it is run, a name when it is typed. It counts only if
 * nothing else in the context had said it before: neither the summary, nor a file that was read, nor a prompt, nor the
 * model itself. And only for a while, since later it would have been met anyway.
 */
import { shellCommand, stringsIn, toolFiles } from "../../agents/tool-kinds.ts"
import { oneLine } from "../../base/text.ts"
import { factNames } from "../../record/facts.ts"
import { MARK, RECALL } from "../../record/our-marks.ts"
import { commandPaths } from "../../record/path-words.ts"
import { openingOf, simpleCommands } from "../../record/shell-script.ts"
import type { Part, TranscriptRecord } from "../../record/types.ts"
import type { Database } from "../../views/database.ts"
import { openingCalls, turnsByHandle, usesNoted } from "../../views/queries/fact-uses.ts"
import { type AgedRow, agedTurn, agedTurns } from "../../views/queries/turns.ts"
import { isOwnTool } from "../../views/tool-rows.ts"
import { lastTwo } from "../complement.ts"
import { containsWhole } from "../page.ts"
import { preservedText } from "../receipt.ts"
import { SLOT_KINDS, type SlotKind } from "../slots.ts"
import type { Aged } from "./tiers.ts"
import { confidence, importance } from "./tiers.ts"

/** Commands of ours that show turns. */
const OUR_COMMAND = /\bctxbridge\b["']?\s+(?:search|show|timeline|how|fix|files|blame|sessions|preview)\b/

/** For how many turns something counts as shown, the one in which that happened included. */
export const TURNS = 3

/** How many answers are looked through for what was used. */
const MOST_ANSWERS = 20
/** Messages that a compaction may keep. */
const MAYBE_KEPT = 200

/**
 * u: used. f: used as well, but only after something else had shown it. h: the context had it already, so its use says
 * nothing. -: not used.
 */
type OutcomeLetter = "u" | "f" | "h" | "-"

interface FollowedSlot {
  readonly kind: SlotKind
  readonly text: string
  /** Of the turn that it comes from, without prefix; "" if unknown. */
  readonly handle: string
  readonly shown: boolean
}

export interface FollowedRestore {
  /** As given. */
  readonly text: string
  readonly slots: readonly FollowedSlot[]
}

interface FollowedUse {
  readonly handle: string
  readonly kind: SlotKind
  /** ms since the epoch. */
  readonly time: number
}

export interface Followed {
  readonly uses: readonly FollowedUse[]
  /** For each restore that arrived and was followed by work of the model, a letter for each slot. */
  readonly outcomes: ReadonlyMap<FollowedRestore, string>
}

/** Something that was shown, while it counts. */
interface Display {
  turnsLeft: number
  /** Number of the context's texts when it was shown. */
  readonly since: number
  readonly restore?: FollowedRestore
  /** Numbers of its slots, by kind and key. */
  readonly places: ReadonlyMap<string, readonly number[]>
  readonly letters: (OutcomeLetter | undefined)[]
  /** What an answer says, by handles. */
  readonly sections: readonly { readonly handle: string; readonly text: string }[]
  /** What of an answer has been credited. */
  readonly credited: Set<string>
  isWorkedOn: boolean
}

/** @param records of a session's own transcript, in order */
export function followUses(
  records: Iterable<TranscriptRecord>,
  restores: readonly FollowedRestore[],
  turns = TURNS,
): Followed {
  const session = new Following(restores, turns)
  for (const record of records) session.take(record)
  return session.end()
}

class Following {
  readonly #restores: readonly FollowedRestore[]
  readonly #turns: number
  readonly #uses: FollowedUse[] = []
  readonly #outcomes = new Map<FollowedRestore, string>()
  #displays: Display[] = []
  /** What the model has before it, except what is displayed. */
  #context: string[] = []
  #recent: TranscriptRecord[] = []
  /** Calls whose results are answers of ours. */
  readonly #asked = new Set<string>()

  constructor(restores: readonly FollowedRestore[], turns: number) {
    this.#restores = restores
    this.#turns = turns
  }

  take(record: TranscriptRecord): void {
    if (record.sidechain || record.imported) return
    this.#recent.push(record)
    if (this.#recent.length > 2 * MAYBE_KEPT) this.#recent = this.#recent.slice(-MAYBE_KEPT)
    const time = Date.parse(record.timestamp ?? "") || 0
    for (const part of record.parts) this.#part(part, time)
  }

  end(): Followed {
    this.#close(() => true)
    return { uses: this.#uses, outcomes: this.#outcomes }
  }

  #part(part: Part, time: number): void {
    switch (part.kind) {
      case "boundary":
        this.#close(() => true)
        this.#context = [preservedText(this.#recent, part.preserved)]
        return
      case "prompt":
        for (const display of this.#displays) display.turnsLeft--
        this.#close(({ turnsLeft }) => turnsLeft < 0)
        this.#context.push(part.text)
        return
      case "context": {
        const isRestore = part.text.includes(MARK) && !part.text.includes(RECALL)
        const restore = this.#restores.find(({ text }) => isRestore && text.trim() === part.text.trim())
        if (restore !== undefined) this.#show({ restore, sections: [] })
        else if (!isRestore) this.#context.push(part.text)
        return
      }
      case "text":
        this.#used("name", factNames(part.text), time)
        this.#context.push(part.text)
        return
      case "toolUse":
        this.#call(part, time)
        return
      case "toolResult":
        this.#result(part)
        return
      case "reply":
      case "summary":
      case "output":
      case "notice":
        this.#context.push(part.text)
        return
    }
  }

  #result({ id, text, isError }: Extract<Part, { kind: "toolResult" }>): void {
    const sections = this.#asked.has(id) && !isError ? sectionsOf(text) : []
    if (sections.length > 0) this.#show({ sections })
    else this.#context.push(text)
  }

  #call(part: Extract<Part, { kind: "toolUse" }>, time: number): void {
    const { name, input } = part
    const texts = stringsIn(input)
    const script = shellCommand(name, input)
    const isOurs = isOwnTool(name) || OUR_COMMAND.test(script ?? "")
    if (isOurs) this.#asked.add(part.id)
    else {
      const opened = toolFiles(name, input).map(({ path }) => path)
      this.#used("path", script === undefined ? opened : commandPaths(script), time)
      if (script !== undefined)
        this.#used("command", [openingOf(script) ?? [], simpleCommands(script)].flat(), time)
      this.#used("name", texts.flatMap(factNames), time)
    }
    for (const display of this.#displays) display.isWorkedOn = true
    this.#context.push(texts.join("\n"))
  }

  #show({ restore, sections }: Pick<Display, "restore" | "sections">): void {
    // Given again: what is there already counts from when it was given first.
    if (restore !== undefined && this.#displays.some((one) => one.restore === restore)) return
    const since = this.#context.length
    const places = new Map<string, number[]>()
    for (const [n, { kind, text }] of (restore?.slots ?? []).entries()) {
      const name = `${kind} ${keyOf(kind, text)}`
      places.set(name, [...(places.get(name) ?? []), n])
    }
    this.#displays.push({
      ...{ turnsLeft: this.#turns - 1, since, places, sections, credited: new Set(), isWorkedOn: false },
      letters: restore?.slots.map(() => undefined) ?? [],
      ...(restore && { restore }),
    })
    const answers = this.#displays.filter((one) => one.restore === undefined)
    const [oldest] = answers
    if (answers.length > MOST_ANSWERS) this.#displays = this.#displays.filter((one) => one !== oldest)
  }

  #used(kind: SlotKind, texts: readonly string[], time: number): void {
    if (this.#displays.length === 0) return
    for (const text of new Set(texts.map((one) => keyOf(kind, one)))) this.#usedOne(kind, text, time)
  }

  #usedOne(kind: SlotKind, text: string, time: number): void {
    let isCredited = false
    let isAnswered = false
    // The latest is what the model has read last.
    for (const display of this.#displays.toReversed()) {
      const { restore, places, letters, since, sections, credited } = display
      const name = `${kind} ${text}`
      for (const n of places.get(name) ?? []) {
        if (letters[n] !== undefined) continue
        const { shown, handle } = restore!.slots[n]!
        const own = this.#letter(text, since)
        // What the model asked our server for, it had to find.
        const letter = own === "u" && isAnswered ? "f" : own
        letters[n] = letter
        if (letter === "u" && shown && !isCredited) isCredited = this.#credit(handle, kind, time)
      }
      const section = sections.find((one) => containsWhole(one.text, text))
      if (section === undefined) continue
      isAnswered = true
      if (isCredited || credited.has(name)) continue
      credited.add(name)
      if (this.#letter(text, since) === "u") isCredited = this.#credit(section.handle, kind, time)
    }
  }

  #credit(handle: string, kind: SlotKind, time: number): true {
    if (handle !== "") this.#uses.push({ handle, kind, time })
    return true
  }

  /** Of something that is used now and was displayed when there were so many texts. */
  #letter(text: string, since: number): OutcomeLetter {
    const place = this.#context.findIndex((one) => one.includes(text) && containsWhole(one, text))
    if (place < 0) return "u"
    return place < since ? "h" : "f"
  }

  #close(isOver: (display: Display) => boolean): void {
    for (const { restore, letters, since, isWorkedOn } of this.#displays.filter(isOver)) {
      if (restore === undefined || !isWorkedOn) continue
      const context = this.#context.slice(0, since)
      const unused = ({ kind, text }: FollowedSlot): OutcomeLetter =>
        context.some((one) => containsWhole(one, keyOf(kind, text))) ? "h" : "-"
      this.#outcomes.set(restore, restore.slots.map((slot, n) => letters[n] ?? unused(slot)).join(""))
    }
    this.#displays = this.#displays.filter((display) => !isOver(display))
  }
}

/** What two ways of writing the same have in common. */
const keyOf = (kind: SlotKind, text: string): string => (kind === "path" ? lastTwo(text) : oneLine(text))

const HANDLES = /\bctx:([0-9a-z]{6,})/

/** An answer's text behind each handle, up to the next. */
function sectionsOf(answer: string): Display["sections"] {
  const [, ...parts] = answer.split(HANDLES)
  return parts.flatMap((handle, n) => (n % 2 === 0 ? [{ handle, text: parts[n + 1] ?? "" }] : []))
}

/** Whether a stored kind is one that is followed. */
export const isSlotKind = (kind: string): kind is SlotKind => SLOT_KINDS.some((one) => one === kind)

/* What the archive knows of each turn that tells how much it is worth: its age, its size and its uses. */

export interface KnownTurn extends Aged {
  readonly isCold: boolean
}

/** All turns of the archive. */
export function knownTurns(db: Database): KnownTurn[] {
  const uses = usesOf(db)
  return agedTurns(db).map((row) => knownOf(row, uses.get(row.turn)))
}

/** How much a turn is worth now. */
export interface Worth {
  /** Null when nobody knows when it ended. */
  readonly confidence: number | null
  readonly importance: number | null
  readonly uses: number
  readonly cold: boolean
}

/** @param turn its row; @throws when there is none */
export function worthOf(db: Database, turn: number, now: number): Worth {
  const { born, uses, isCold, hasTools, hasFiles, hasSummary } = knownOf(
    agedTurn(db, turn)!,
    usesOf(db, [turn]).get(turn),
  )
  if (born === undefined) return { confidence: null, importance: null, uses: uses.length, cold: isCold }
  return {
    confidence: rounded(confidence(born, uses, now, hasSummary)),
    importance: rounded(importance({ born, uses: uses.length, hasTools, hasFiles }, now)),
    uses: uses.length,
    cold: isCold,
  }
}

const rounded = (value: number): number => Math.round(value * 10_000) / 10_000

function knownOf(row: AgedRow, uses: readonly Use[] = []): KnownTurn {
  const { turn, handle, ended, bytes, tools, files, cold, isNote, hasSummary } = row
  const time = Date.parse(ended ?? "")
  return {
    turn,
    handle,
    born: Number.isNaN(time) ? undefined : time,
    isNote: isNote === 1,
    hasSummary: hasSummary === 1,
    bytes,
    hasTools: tools > 0,
    hasFiles: files === 1,
    uses: uses.map((use) => use.time),
    isCold: cold === 1,
  }
}

/*
 * Evidence that something which was shown again was then used: not that it was shown. Confidence in a turn rests on it
 * (docs/learning.md).
 */

/** Evidence that something of a turn which was shown again was then used. */
interface Use {
  /** Row of the turn that it came from. */
  readonly turn: number
  /** ms since the epoch. */
  readonly time: number
  readonly kind: "path" | "command" | "name" | "handle"
  /** Where it was used. */
  readonly session: string
}

const HANDLE = /\bctx:([0-9a-z]{4,})/g
/** In a shell, only what our own `show` opens. */
const SHOWN = /\bctxbridge\b['"]?\s+show\s+["']?ctx:([0-9a-z]{4,})/g

/**
 * Of given turns, by their rows; without, of all. Oldest first. What was opened by its handle is known at once, all else
 * when the background job has followed the session (note-uses.ts).
 */
export function usesOf(db: Database, turns?: readonly number[]): Map<number, readonly Use[]> {
  const noted = usesNoted(db, turns).flatMap(({ kind, ...use }) =>
    isSlotKind(kind) ? [{ ...use, kind }] : [],
  )
  const wanted = turns && new Set(turns)
  const opened = openedTurns(db).filter(({ turn }) => wanted?.has(turn) !== false)
  const all: Use[] = [...noted, ...opened].sort((a, b) => a.time - b.time)
  return Map.groupBy(all, ({ turn }) => turn)
}

function openedTurns(db: Database): Use[] {
  const opened = openingCalls(db).flatMap(({ target, name, session, time }) => {
    const pattern = isOwnTool(name) ? HANDLE : SHOWN
    const handles = [...target.matchAll(pattern)].map(([, handle]) => handle!)
    return [...new Set(handles)].map((handle) => ({ handle, session, time: Date.parse(time ?? "") || 0 }))
  })
  const rows = turnsByHandle(
    db,
    opened.map(({ handle }) => handle),
  )
  return opened.flatMap(({ handle, session, time }) => {
    const turn = rows.get(handle)
    return turn === undefined ? [] : [{ turn, time, kind: "handle", session }]
  })
}
