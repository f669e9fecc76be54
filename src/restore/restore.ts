/** Makes what a session is given back, for the hooks and for previews alike. */
import type { Database } from "../archive/database.ts"
import { existsSync } from "../util/fs.ts"
import { ArchivedLines } from "./archived-line.ts"
import { withLastChanges } from "./file-changes.ts"
import { findOpening } from "./find-opening.ts"
import { gather, type PendingPrompt } from "./gather.ts"
import { standingText } from "./host/host-memory.ts"
import { type HostPlaces, hostSettings } from "./host/host-settings.ts"
import { reshownText, type Shown } from "./host/reshown-by-host.ts"
import { BY_NAME } from "./how-to-open.ts"
import type { Facts, RelatedLine } from "./material.ts"
import { type RenderOptions, renderRestore } from "./render.ts"
import { stepsOf } from "./said-during-turns.ts"

export interface Restore {
  /** `""`: there is nothing to give back, or no room for it. */
  readonly text: string
  /** The facts that its lists were chosen from. A pointer has none. */
  readonly facts?: Facts
  readonly related: readonly RelatedLine[]
}

export interface RestoreOptions extends Omit<RenderOptions, "standing"> {
  /**
   * Where the host keeps what it adds to the new context (without a folder: that of the session), and where the vault
   * is. If absent, nothing is left out because the context already contains it, and neither what was said during turns
   * is shown nor what was done to files.
   */
  readonly host?: HostPlaces & { readonly dataHome: string }
  /** What is being asked when no prompt is pending: turns of other sessions should be about it. */
  readonly about?: string | undefined
  /** Words that the user gave with the compaction: turns of other sessions about them come first. */
  readonly focus?: string | undefined
  /** Id of the last turn that was compacted, if the conversation has gone on since. */
  readonly upTo?: number | undefined
}

export function restoreOf(
  db: Database,
  session: string,
  options: RestoreOptions,
  pending?: PendingPrompt,
): Restore {
  const { related: most, about, focus, upTo } = options
  const { host } = options
  using lines = host && new ArchivedLines(host.dataHome)
  const material = gather(db, session, { pending, related: most, about, focus, upTo, lines })
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
  const text = renderRestore({ ...material, ...read, shownAgain }, { ...options, standing, opening })
  return { text, facts, related }
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
  const settings = hostSettings(places)
  const files = standingText(places, settings)
  if (source !== "compact" || byPlugin === true) return files
  return `${files}\n${reshownText(db, shown, { ...settings, dataHome: host.dataHome })}`
}
