/** Makes what a session is given back, for the hooks and for previews alike. */
import { fileChange } from "../agents/tool-kinds.ts"
import { existsSync } from "../base/fs.ts"
import { reshownText, type Shown } from "../claude/context/shown-again.ts"
import { standingText } from "../claude/context/standing-text.ts"
import { answerText, callIn } from "../claude/line-texts.ts"
import { contextSettings } from "../claude/settings/read-settings.ts"
import type { Database } from "../views/database.ts"
import type { PassedOver } from "../views/indexing.ts"
import { readLabels } from "../views/labels.ts"
import { answersOnTheWay, placesOf } from "../views/queries/messages.ts"
import type { TurnLine } from "../views/queries/turns.ts"
import { ArchivedLines, LONGEST_LINE } from "../views/records.ts"
import { type ContextPlaces, findOpening } from "./find-opening.ts"
import { gather, kinOf, type PendingPrompt } from "./gather.ts"
import { judgedAll, moved, readingUntil, sinceCall } from "./ground.ts"
import {
  type Facts,
  FILES_SHOWN,
  type FileInFlight,
  LEAST_TURNS,
  type Quote,
  type RelatedLine,
} from "./material.ts"
import { BY_NAME, type RenderOptions, renderRestore } from "./render.ts"

export interface Restore {
  /** `""`: there is nothing to give back, or no room for it. */
  readonly text: string
  /** The facts that its lists were chosen from. A pointer has none. */
  readonly facts?: Facts
  readonly related: readonly RelatedLine[]
}

export interface RestoreOptions extends Omit<RenderOptions, "standing" | "skimmed"> {
  /**
   * Where Claude Code keeps what it adds to the new context (without a folder: that of the session), and where the
   * vault is. If absent, nothing is left out because the context already contains it, and neither what was said during
   * turns is shown nor what was done to files.
   */
  readonly claude?: ContextPlaces & { readonly dataHome: string }
  /** Whether another agent than Claude Code gets it, which shows nothing of what Claude Code does. */
  readonly isElsewhere?: boolean
  /** What is being asked when no prompt is pending: turns of other sessions should be about it. */
  readonly about?: string | undefined
  /** Words that the user gave with the compaction: turns of other sessions about them come first. */
  readonly focus?: string | undefined
  /** Id of the last turn that was compacted, if the conversation has gone on since. */
  readonly upTo?: number | undefined
  /** ms of performance.now() until which files are compared with what turns left in them; undefined: until all are. */
  readonly until?: number | undefined
  /** If only the session's end was indexed. */
  readonly passed?: PassedOver | undefined
}

export function restoreOf(
  db: Database,
  session: string,
  options: RestoreOptions,
  pending?: PendingPrompt,
): Restore {
  const { related: most, about, focus, upTo, passed, until = Number.POSITIVE_INFINITY } = options
  const { claude, summary } = options
  using lines = claude && new ArchivedLines(claude.dataHome)
  const asked = { pending, related: most, about, focus, upTo, lines, summary, passed }
  const gathered = gather(db, session, asked)
  const mayRead = readingUntil(until)
  // Its own files come first, should there not be time for all.
  const read = lines && {
    steps: stepsOf(db, gathered.turns, lines),
    files: withLastChanges(db, gathered.files, lines, mayRead),
  }
  const material = lines
    ? moved(db, judgedAll(gathered, readLabels(claude.dataHome)), kinOf(db, session), { lines, mayRead })
    : gathered
  const { facts, related, version, todos } = material
  // Claude Code does not show what is no longer there.
  const shownAgain = claude?.other === undefined ? material.shownAgain.filter(existsSync) : []
  const shown = { session, version, files: shownAgain, todos }
  const standing = standingIn(db, shown, options, material.cwd)
  const opening =
    options.opening ?? (claude && findOpening({ ...claude, cwd: claude.cwd ?? material.cwd })) ?? BY_NAME
  const text = renderRestore(
    { ...material, ...read, shownAgain },
    { ...options, standing, opening, skimmed: passed?.skimmed },
  )
  return { text, facts, related }
}

/** @param folder the session's */
function standingIn(
  db: Database,
  shown: Shown,
  { claude, source, byPlugin, isElsewhere }: RestoreOptions,
  folder: string | undefined,
): string {
  if (claude === undefined || claude.other !== undefined || isElsewhere) return ""
  const places = { ...claude, cwd: claude.cwd ?? folder }
  const settings = contextSettings(places)
  const files = standingText(places, settings)
  if (source !== "compact" || byPlugin === true) return files
  return `${files}\n${reshownText(db, shown, { ...settings, dataHome: claude.dataHome })}`
}

/* What was last done to the files in flight: read from the vault, since the views do not hold what was written. */

/** The files that a restore shows, each with its last change, if its line can be read and is not too long. */
export function withLastChanges(
  db: Database,
  files: readonly FileInFlight[],
  lines: ArchivedLines,
  mayRead = readingUntil(Number.POSITIVE_INFINITY),
): FileInFlight[] {
  const shown = files.slice(0, FILES_SHOWN)
  const places = placesOf(
    db,
    shown.flatMap(({ call }) => call?.message ?? []),
  )
  return shown.map((file) => {
    const { call } = file
    const place = places.find(({ id }) => id === call?.message)
    if (call === undefined || place === undefined || place.length >= LONGEST_LINE) return file
    const made = callIn(lines.at(place), call.id)
    if (made === undefined) return file
    const change = fileChange(made.name, made.input)
    const since = sinceCall(file.path, made, mayRead)
    return { ...file, ...(change && { change }), ...(since && { since }) }
  })
}

/*
 * What the model said during its turns. When a session has so few turns that their lines say next to nothing, as with
 * one prompt and hundreds of tool calls, these lines are added.
 */

/** More than there is room for, since the new context may already contain some. */
const SPARE = 3
/** The longest of this many latest answers are chosen: reports rather than "let me look". */
const LATEST = 40
/** Minimum UTF-16 units of a text that says something. */
const SHORTEST = 40
const SHOWN = 4000

/**
 * Newest first, without the last answer of each turn, which its own line shows. Read from the vault, where secrets are
 * filtered; what is missing or damaged is left out.
 *
 * @param turns newest first
 */
export function stepsOf(db: Database, turns: readonly TurnLine[], lines: ArchivedLines): Quote[] {
  if (turns.length === 0 || turns.length >= LEAST_TURNS) return []
  const handles = turns.map(({ handle }) => handle)
  const chosen = answersOnTheWay(db, handles, LONGEST_LINE, LATEST)
    .sort((a, b) => b.length - a.length)
    .slice(0, LEAST_TURNS - turns.length + SPARE)
    .sort((a, b) => b.id - a.id)
  return chosen.flatMap((place) => {
    const text = answerText(lines.at(place))
    return text.length < SHORTEST ? [] : { text: text.slice(0, SHOWN), handle: place.handle }
  })
}
