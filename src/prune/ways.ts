/** The four ways of pruning, safest first: what each does and risks, and whether it works and is at work. */

import { existsSync } from "node:fs"
import { tryTo } from "../base/files.ts"
import { clientsHere, type Installed, installedClients } from "../claude/install/clients.ts"
import { hookStatus, ourPlugins } from "../claude/install/hook-status.ts"
import { isOurHook } from "../claude/install/hooks-table.ts"
import type { ClaudeFolders } from "../claude/install/registration.ts"
import {
  type ClaudeEnvironment,
  claudeEnvironment,
  hooksOf,
  readSettings,
  type VariableValue,
} from "../claude/settings/read-settings.ts"
import { openCurrent } from "../views/open-current.ts"
import type { RequestPrice } from "./costs.ts"
import { patchState } from "./patch/apply-patch.ts"
import { pluginWay } from "./plugin/set-plugin.ts"
import { isLoopback } from "./proxy/proxy-server.ts"
import {
  type PlayedWays,
  playedWays,
  type SettingVerdict,
  settingsOn,
  type WayVerdict,
  wayVerdicts,
} from "./savings.ts"
import { nativeWay } from "./set-native.ts"
import { WAYS, type WayName, type WayOptions, type WayState } from "./way.ts"

interface PruneWorld extends ClaudeFolders {
  /** The user's home folder. */
  readonly home: string
  readonly environment: ClaudeEnvironment
}

interface Way {
  readonly name: WayName
  readonly what: string
  readonly risk: string
  readonly start: string
  readonly stop: string
  state(client: Installed, world: PruneWorld): WayState | Promise<WayState>
}

/** In the order of `WAYS`. */
export const PRUNE_WAYS: readonly Way[] = [
  {
    name: "native",
    what: "the API leaves out old tool output; what was said stays",
    risk: "an API that does not know the setting refuses requests; Claude has to ask the archive for what was left out",
    start: "ctxbridge prune native",
    stop: "ctxbridge prune native --revert",
    state: (client, { environment }) => nativeWay(client, environment),
  },
  {
    name: "plugin",
    what: "a plugin answers compactions at once, without a model, and keeps what you said",
    risk: "it uses a new interface of Claude Code, which may change; if it fails, Claude Code compacts as usual",
    start: "ctxbridge prune plugin",
    stop: "ctxbridge prune plugin --revert",
    state: pluginWay,
  },
  {
    name: "proxy",
    what: "a program on this machine shortens old text in Claude Code's requests",
    risk: "requests and credentials pass through it, and with another address Claude Code leaves some features off",
    start: "ctxbridge proxy -- claude",
    stop: "end it, and Claude Code with it",
    state: (_, { environment }) => proxyWay(environment.baseUrl),
  },
  {
    name: "patch",
    what: "Claude Code's own cli.js is changed so that it shortens old text",
    risk: "it changes Claude Code itself, which its licence may forbid; each update undoes it",
    start: "ctxbridge prune patch",
    stop: "ctxbridge prune patch --revert",
    state: (client) => patchState(client),
  },
]

/** Of one program, in the same order. */
async function waysOf(client: Installed, world: PruneWorld): Promise<WayState[]> {
  return Promise.all(PRUNE_WAYS.map((way) => way.state(client, world)))
}

/* Which way of pruning is recommended for a program: the safest that works, and would have paid. Pure. */

export interface Recommended {
  readonly way: WayName
  readonly isActive: boolean
  /** The safer ways, and why each is not recommended. */
  readonly passed: readonly { readonly way: WayName; readonly why: string }[]
}

/** @returns undefined: to do nothing is best, or nothing works */
export function pickWay(
  { ways }: Pick<ClientWays, "ways">,
  verdicts: readonly WayVerdict[],
): Recommended | undefined {
  const pays = (way: WayName): boolean => verdicts.some((one) => one.way === way && one.pays)
  const at = ways.findIndex(({ way, unsupported }) => unsupported === undefined && pays(way))
  const found = ways[at]
  return found && { way: found.way, isActive: found.isActive, passed: ways.slice(0, at).map(passedOver) }
}

const passedOver = ({ way, unsupported = "it would not have paid" }: WayState) => ({ way, why: unsupported })

/* Which programs are installed, how each can be pruned, what is at work and what each way would save. */

/** How many of the latest sessions are played again. */
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
  /** The latest that were long enough. */
  readonly sessions: readonly PlayedWays[]
  /** Safest first; empty if there is no session. */
  readonly verdicts: readonly WayVerdict[]
  /** Of the proxy with other settings. */
  readonly settings: readonly SettingVerdict[]
}

interface ReportPlaces extends ClaudeFolders {
  readonly home: string
  readonly exePath: string
}

export async function clientWays(places: Omit<ReportPlaces, "exePath">): Promise<ClientWays[]> {
  const world = { ...places, environment: claudeEnvironment(places) }
  const clients = await installedClients(places.home)
  return Promise.all(clients.map(async (client) => ({ ...client, ways: await waysOf(client, world) })))
}

/** The ways that are at work in any program, or would be in the next one: no program is run to find out. */
export async function waysAtWork(places: Omit<ReportPlaces, "exePath">): Promise<WayName[]> {
  const world = { ...places, environment: claudeEnvironment(places) }
  const clients = clientsHere(places.home).map((client) => ({ ...client, version: undefined }))
  const states = await Promise.all([...clients, NO_CLIENT].map((client) => waysOf(client, world)))
  const active = new Set(states.flat().flatMap(({ way, isActive }) => (isActive ? [way] : [])))
  return WAYS.filter((way) => active.has(way))
}

const NO_CLIENT: Installed = { path: "", file: "", kind: "native", version: undefined }

export async function pruneReport(
  places: ReportPlaces,
  options: WayOptions,
  priceOf: RequestPrice,
): Promise<PruneReport> {
  const { dataHome } = places
  const clients = await clientWays(places)
  const read = () =>
    tryTo(() => {
      using db = openCurrent(dataHome, "command")
      return [...playedWays(db, dataHome, options, priceOf, SESSIONS)]
    })
  const sessions = (existsSync(dataHome) ? read() : undefined) ?? []
  return {
    isArchiving: isArchiving(places),
    clients,
    sessions,
    verdicts: wayVerdicts(sessions),
    settings: settingsOn(sessions, options),
  }
}

/** Whether any of our hooks is registered, in the settings or by a plugin. */
export const isArchiving = (places: ClaudeFolders & { readonly exePath: string }): boolean =>
  hookStatus(places, places.exePath).some(({ installed, stale }) => installed.length + stale.length > 0) ||
  ourPlugins(places).length > 0 ||
  readSettings(places).some(
    (file) => file.scope === "managed" && hooksOf(file).some(({ command }) => isOurHook(command)),
  )

/* Whether Claude Code's requests go through a proxy on this machine. Pure. */

/** @param baseUrl every ANTHROPIC_BASE_URL that is set, the one that counts first */
function proxyWay([first]: readonly VariableValue[]): WayState {
  const url = first === undefined ? null : URL.parse(first.value)
  const isActive = url !== null && url.protocol === "http:" && isLoopback(url)
  return {
    way: "proxy",
    isActive,
    ...(isActive && { detail: `requests go to ${url.origin}: ctxbridge, or another proxy` }),
  }
}
