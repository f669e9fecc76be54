/** Which target is meant where none is named: by the user's variables, in the design documents' order. Pure. */
import { usageError } from "../util/errors.ts"

export type BackendName = "auto" | "sqlite" | "postgres" | "agentdb" | "json"

/** What the environment says. */
export interface TargetWishes {
  /** What names a target expressly, and the name of what does. */
  readonly to: { readonly named: string; readonly by: "CTXBRIDGE_SYNC_TO" | "sync.to" } | undefined
  /** Whether RUVECTOR_HOST names a server. Libpq's variables alone do not count: they may be meant for another database. */
  readonly server: boolean
  /** CTXBRIDGE_AGENTDB. */
  readonly agentdb: string | undefined
}

export interface ChosenTarget {
  /** As in `sync --to`. */
  readonly named: string
  /** Why it was chosen, for people. */
  readonly why: string
}

const SCHEMES: readonly (readonly [scheme: RegExp, backend: BackendName])[] = [
  [/^sqlite:/i, "sqlite"],
  [/^postgres(?:ql)?:/i, "postgres"],
  [/^agentdb:/i, "agentdb"],
]

/** Which backend a target is of. A folder has files of JSON. */
export const backendOf = (named: string): BackendName =>
  SCHEMES.find(([scheme]) => scheme.test(named))?.[1] ?? "json"

/**
 * The first one that answers counts.
 *
 * @returns none if nothing is configured
 * @throws CtxError exit 64 if the backend that is wanted has no place
 */
export function chooseTargets(backend: BackendName, { to, server, agentdb }: TargetWishes): ChosenTarget[] {
  const named = to && { named: to.named, why: `${to.by} names it` }
  const others: ChosenTarget[] = [
    ...(server ? [{ named: "postgres:", why: "RUVECTOR_HOST names it" }] : []),
    ...(agentdb === undefined ? [] : [{ named: "agentdb:", why: "CTXBRIDGE_AGENTDB names it" }]),
  ]
  // What is named expressly is not left for something else only because a stick is not plugged in.
  if (backend === "auto") return named ? [named] : others
  const why = `CTXBRIDGE_BACKEND is ${backend}`
  if (named !== undefined && backendOf(named.named) === backend) return [{ ...named, why }]
  if (backend === "postgres") return [{ named: "postgres:", why }]
  const other = others.find((one) => backendOf(one.named) === backend)
  if (other !== undefined) return [{ ...other, why }]
  throw usageError(`${why}, but nothing says where that is`, PLACES[backend])
}

const PLACES = {
  sqlite: "set CTXBRIDGE_SYNC_TO=sqlite:PATH",
  json: "set CTXBRIDGE_SYNC_TO to a folder",
  agentdb: "set CTXBRIDGE_AGENTDB to the folder of @claude-flow/memory",
} as const
