/** Which programs are installed, how each can be pruned, what is at work and what each way would save. */
import { existsSync } from "node:fs"
import { readIfPossible } from "../archive/open-for-reading.ts"
import { hookStatus } from "../claude/install/hook-status.ts"
import { type Installed, installedClients } from "../claude/install/installed-clients.ts"
import { ourPlugins } from "../claude/install/our-plugins.ts"
import type { HostFolders } from "../claude/install/registration.ts"
import { hostEnvironment } from "../claude/settings/read-settings.ts"
import type { PruneOptions } from "../prune/prune-messages.ts"
import { recentSavings, type Savings } from "./savings.ts"
import type { WayName, WayState } from "./way.ts"
import { waysOf } from "./ways.ts"

/** How many of the latest sessions are asked what would be saved. */
const SESSIONS = 10

export interface ClientWays extends Installed {
  /** Safest first. */
  readonly ways: readonly WayState[]
}

export interface PruneReport {
  /** Whether sessions are archived: what is not must not be pruned. */
  readonly isArchiving: boolean
  /** First the one that is called by name. */
  readonly clients: readonly ClientWays[]
  readonly sessions: readonly Savings[]
}

interface ReportPlaces extends HostFolders {
  readonly home: string
  readonly exePath: string
}

export async function clientWays(places: Omit<ReportPlaces, "exePath">): Promise<ClientWays[]> {
  const world = { ...places, environment: hostEnvironment(places) }
  const clients = await installedClients(places.home)
  return Promise.all(clients.map(async (client) => ({ ...client, ways: await waysOf(client, world) })))
}

export async function pruneReport(places: ReportPlaces, options: PruneOptions): Promise<PruneReport> {
  const { dataHome } = places
  const clients = await clientWays(places)
  const read = () => readIfPossible(dataHome, (db) => recentSavings(db, dataHome, options, SESSIONS))
  return {
    isArchiving: isArchiving(places),
    clients,
    sessions: (existsSync(dataHome) ? read() : undefined) ?? [],
  }
}

/** Whether any of our hooks is registered, in the settings or by a plugin. */
export const isArchiving = (places: HostFolders & { readonly exePath: string }): boolean =>
  hookStatus(places, places.exePath).some(({ installed, stale }) => installed.length + stale.length > 0) ||
  ourPlugins(places).length > 0

/** Of all these sessions' tokens, those that a way would have saved; undefined if it cannot be told. */
export function shareSaved(sessions: readonly Savings[], way: WayName): number | undefined {
  const told = sessions.filter(({ saved }) => saved[way] !== undefined)
  const tokens = told.reduce((sum, session) => sum + session.tokens, 0)
  return tokens === 0 ? undefined : told.reduce((sum, { saved }) => sum + saved[way]!, 0) / tokens
}
