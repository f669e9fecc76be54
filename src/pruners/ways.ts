/** The four ways of pruning, safest first: what each does and risks, and whether it works and is at work. */
import type { Installed } from "../claude/install/installed-clients.ts"
import type { HostFolders } from "../claude/install/registration.ts"
import type { HostEnvironment } from "../claude/settings/read-settings.ts"
import { nativeWay } from "./native/native-state.ts"
import { patchState } from "./patch/patch-state.ts"
import { pluginWay } from "./plugin/plugin-state.ts"
import { proxyWay } from "./proxy/proxy-state.ts"
import type { WayName, WayState } from "./way.ts"

export interface PruneWorld extends HostFolders {
  /** The user's home folder. */
  readonly home: string
  readonly environment: HostEnvironment
}

export interface Way {
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
export async function waysOf(client: Installed, world: PruneWorld): Promise<WayState[]> {
  return Promise.all(PRUNE_WAYS.map((way) => way.state(client, world)))
}
