/** What a session is given back: the same for the hooks and for whoever shows it beforehand. */
import type { Database } from "../archive/database.ts"
import { gather, type PendingPrompt } from "./gather.ts"
import { type HostPlaces, hostSettings } from "./host-settings.ts"
import type { Facts, RelatedLine } from "./material.ts"
import { type RenderOptions, renderRestore } from "./render.ts"
import { reshownText, type Shown } from "./reshown.ts"
import { standingText } from "./standing.ts"
import { stepsOf } from "./steps.ts"

export interface Restore {
  /** `""`: there is nothing to give back, or no room for it. */
  readonly text: string
  /** Among which its lists were chosen. */
  readonly facts: Facts
  readonly related: readonly RelatedLine[]
}

export interface RestoreOptions extends Omit<RenderOptions, "standing"> {
  /**
   * Where the host has what it puts into the new context by itself, and where the vault is; without it nothing is left out
   * as held there, and nothing is told of what was said on the way.
   */
  readonly host?: HostPlaces & { readonly dataHome: string }
  /** What is asked now, where no prompt is pending: turns of other sessions shall be about it. */
  readonly about?: string | undefined
  /** Words that the user gave to the compaction: turns of other sessions about them come first. */
  readonly focus?: string | undefined
}

export function restoreOf(
  db: Database,
  session: string,
  options: RestoreOptions,
  pending?: PendingPrompt,
): Restore {
  const { related: most, about, focus } = options
  const material = gather(db, session, { pending, related: most, about, focus })
  const { facts, related, version, shownAgain: files, todos } = material
  const standing = standingIn(db, { session, version, files, todos }, options)
  const steps = options.host === undefined ? [] : stepsOf(db, material.turns, options.host.dataHome)
  return { text: renderRestore({ ...material, steps }, { ...options, standing }), facts, related }
}

function standingIn(db: Database, shown: Shown, { host, source, byPlugin }: RestoreOptions): string {
  if (host === undefined) return ""
  const settings = hostSettings(host)
  const files = standingText(host, settings)
  if (source !== "compact" || byPlugin === true) return files
  return `${files}\n${reshownText(db, shown, { ...settings, dataHome: host.dataHome })}`
}
