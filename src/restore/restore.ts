/** Makes what a session is given back, for the hooks and for previews alike. */

import type { Database } from "../archive/database.ts"
import { reshownText, type Shown } from "../claude/context/shown-again.ts"
import { standingText } from "../claude/context/standing-text.ts"
import { type ClaudePlaces, contextSettings } from "../claude/settings/read-settings.ts"
import { atLeast, TELLS_CONTEXT } from "../claude/versions.ts"
import type { Config } from "../config/options.ts"
import { existsSync } from "../util/fs.ts"
import { ArchivedLines } from "./archived-line.ts"
import { withLastChanges } from "./file-changes.ts"
import { findOpening } from "./find-opening.ts"
import { gather, type PendingPrompt } from "./gather.ts"
import { BY_NAME } from "./how-to-open.ts"
import type { Facts, RelatedLine } from "./material.ts"
import { projectWeights } from "./project-weights.ts"
import { type RenderOptions, renderRestore } from "./render.ts"
import { stepsOf } from "./said-during-turns.ts"
import { heldOut, type Slot, slotsOf, withoutHeldOut } from "./slots.ts"

export interface Restore {
  /** `""`: there is nothing to give back, or no room for it. */
  readonly text: string
  /** The facts that its lists were chosen from. A pointer has none. */
  readonly facts?: Facts
  readonly related: readonly RelatedLine[]
  /** What of its lists is shown, and what is left out by chance. Only if something is to be learnt from it. */
  readonly slots?: readonly Slot[]
}

export interface RestoreOptions extends Omit<RenderOptions, "standing"> {
  /**
   * Where the host keeps what it adds to the new context (without a folder: that of the session), and where the vault
   * is. If absent, nothing is left out because the context already contains it, and neither what was said during turns
   * is shown nor what was done to files.
   */
  readonly host?: ClaudePlaces & { readonly dataHome: string }
  /** What is being asked when no prompt is pending: turns of other sessions should be about it. */
  readonly about?: string | undefined
  /** Words that the user gave with the compaction: turns of other sessions about them come first. */
  readonly focus?: string | undefined
  /** Id of the last turn that was compacted, if the conversation has gone on since. */
  readonly upTo?: number | undefined
  /** If absent, nothing that was learnt counts, and nothing is left out by chance. */
  readonly learning?: Learning | undefined
}

export interface Learning {
  /** Share of names, paths and commands that is left out by chance. */
  readonly holdOut: number
}

/** As the options say. */
export const learningIn = (config: Config): Learning | undefined =>
  config["learn.enabled"] ? { holdOut: config["learn.holdout"] } : undefined

export function restoreOf(
  db: Database,
  session: string,
  options: RestoreOptions,
  pending?: PendingPrompt,
): Restore {
  const { related: most, about, focus, upTo, learning } = options
  const { host } = options
  using lines = host && new ArchivedLines(host.dataHome)
  const weigh = learning && projectWeights(db, session)
  const material = gather(db, session, { pending, related: most, about, focus, upTo, lines, weigh })
  const { facts, related, version, todos } = material
  // The host does not show what is no longer there.
  const shownAgain = material.shownAgain.filter(existsSync)
  const standing = standingIn(db, { session, version, files: shownAgain, todos }, options, material.cwd)
  const read = lines && {
    steps: stepsOf(db, material.turns, lines),
    files: withLastChanges(db, material.files, lines),
  }
  const opening =
    options.opening ?? (host && findOpening({ ...host, cwd: host.cwd ?? material.cwd })) ?? BY_NAME
  const rendered = (shown: Facts): string =>
    renderRestore({ ...material, ...read, shownAgain, facts: shown }, { ...options, standing, opening })
  if (learning === undefined) return { text: rendered(facts), facts, related }
  // The bytes archived tell this compaction from the session's others.
  const seed = `${session} ${material.archived}`
  // Earlier hosts do not tell whether the rest arrived, so nothing could be learnt from it.
  const out = heldOut(facts, atLeast(version, TELLS_CONTEXT) ? learning.holdOut : 0, seed)
  if (out.size === 0) {
    const text = rendered(facts)
    return { text, facts, related, slots: slotsOf(text, facts) }
  }
  const rest = withoutHeldOut(facts, out)
  const text = rendered(rest)
  return { text, facts: rest, related, slots: slotsOf(text, facts, out, rendered(facts)) }
}

/** @param folder the session's */
function standingIn(
  db: Database,
  shown: Shown,
  { host, source, byPlugin }: RestoreOptions,
  folder: string | undefined,
): string {
  if (host === undefined) return ""
  const places = { ...host, cwd: host.cwd ?? folder }
  const settings = contextSettings(places)
  const files = standingText(places, settings)
  if (source !== "compact" || byPlugin === true) return files
  return `${files}\n${reshownText(db, shown, { ...settings, dataHome: host.dataHome })}`
}
