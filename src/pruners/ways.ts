/** The four ways of pruning, safest first: what each does and risks, and whether it works and is at work. */
import type { HostFolders } from "../host/registration.ts"
import { atLeast } from "../util/version.ts"
import type { HostEnvironment } from "./host-environment.ts"
import { nativeWay } from "./native/native-state.ts"
import type { Installed, WayName, WayState } from "./way.ts"

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
    what: "a setting of Claude Code has the API clear old output of tools, never text",
    risk: "cleared output is gone for the model until it asks the archive, and an API that refuses the setting refuses every request until it is taken back",
    start: "ctxbridge prune native",
    stop: "ctxbridge prune native --revert",
    state: (client, { environment }) => nativeWay(client, environment),
  },
  {
    name: "plugin",
    what: "a plugin answers compactions within milliseconds, without a model: your rules and the latest turns word for word, output of tools as handles",
    risk: "it uses an interface of Claude Code that is new and may change; if it fails, Claude Code compacts as usual",
    start: "ctxbridge prune plugin",
    stop: "ctxbridge prune plugin --revert",
    state: ({ version }) => ({
      way: "plugin",
      isActive: false,
      ...(atLeast(version, [2, 1, 329]) ? {} : { unsupported: "only 2.1.329 and later ask plugins" }),
    }),
  },
  {
    name: "proxy",
    what: "a program on this machine shortens old text in what Claude Code sends, in batches",
    risk: "all requests and your credentials pass through it, and Claude Code does some things only with the API's own address",
    start: "ctxbridge proxy -- claude",
    stop: "end it, and Claude Code with it",
    state: () => ({ way: "proxy", isActive: false }),
  },
  {
    name: "patch",
    what: "cli.js of Claude Code itself shortens old text before it compacts",
    risk: "a program of somebody else's is changed, which its licence may forbid, and every update undoes it",
    start: "ctxbridge prune patch",
    stop: "ctxbridge prune patch --revert",
    state: ({ kind }) => ({
      way: "patch",
      isActive: false,
      ...(kind === "npm" ? {} : { unsupported: "it is a native program, and only cli.js can be patched" }),
    }),
  },
]

/** Of one program, in the same order. */
export async function waysOf(client: Installed, world: PruneWorld): Promise<WayState[]> {
  return Promise.all(PRUNE_WAYS.map((way) => way.state(client, world)))
}
