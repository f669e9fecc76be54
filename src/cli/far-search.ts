/** What `search` asks of a target: alone with `--backend`, besides the archive here with `--everywhere`. */
import type { Database } from "../archive/database.ts"
import { openForReading } from "../archive/open-for-reading.ts"
import { shortNameOf } from "../archive/project.ts"
import type { EntryVector } from "../backends/entry.ts"
import {
  type FarFound,
  type FarRequest,
  type FarTarget,
  findFar,
  leftOut,
  refuseUnknown,
  withFar,
} from "../search/far-finder.ts"
import type { FarHit } from "../search/far-hit.ts"
import type { Hit } from "../search/hit.ts"
import type { Narrowing } from "../search/narrowing.ts"
import { parseQuery } from "../search/parse-query.ts"
import { modelVector } from "../search/search-by-meaning.ts"
import type { FoundTurns } from "../search/search-turns.ts"
import { configuredTargets, targetNamed } from "../sync/targets.ts"
import { type CtxError, codeOf, usageError } from "../util/errors.ts"
import { oneLine } from "../util/text.ts"
import { stringArg } from "./args.ts"
import type { Context } from "./command.ts"
import { writeError } from "./output.ts"
import { safe } from "./style.ts"

export interface FarAsked extends Narrowing {
  readonly query: string
  readonly limit: number
  readonly mode: "lexical" | "semantic" | "hybrid"
}

const SOME = "no exact match there; these have some of the words"

/** Filters of which entries know nothing: an entry is a whole turn. */
const UNKNOWN = ["role", "error", "cold"]

/**
 * The targets that are meant.
 *
 * @throws CtxError exit 64 if there is none, or for what a target cannot be asked
 */
export function farTargets(context: Pick<Context, "args" | "env">, query: string): FarTarget[] {
  const { args } = context
  const named = stringArg(args, "backend")
  if (named !== undefined && args["everywhere"] === true)
    throw usageError("--backend and --everywhere cannot be used together")
  const unknown = UNKNOWN.find((name) => args[name] !== undefined && args[name] !== false)
  if (unknown !== undefined)
    throw usageError(
      `--${unknown} cannot be used with --backend or --everywhere`,
      "--tool, --file and --since can",
    )
  refuseUnknown(parseQuery(query))
  return targetsMeant(context)
}

/** @throws CtxError exit 64 if there is none */
export function targetsMeant({ args, env }: Pick<Context, "args" | "env">): FarTarget[] {
  const named = stringArg(args, "backend")
  const targets =
    named === undefined ? configuredTargets(env.config, env) : [targetNamed(named, env.config, env)]
  if (targets.length > 0) return targets
  throw usageError(
    "no sync target is configured",
    "set CTXBRIDGE_SYNC_TO, or name one with --backend (docs/sync.md)",
  )
}

export interface FarAnswer {
  readonly hits: readonly (Hit | FarHit)[]
  readonly more: boolean
  /** What the user should know about how it was found. */
  readonly note?: string
  /** The target that answered, and what the others said. */
  readonly far: {
    readonly target: string | null
    readonly failures: readonly { readonly code: string; readonly message: string }[]
  }
}

/** @throws CtxError if no target answers */
export async function searchFarAlone(
  context: Context,
  targets: readonly FarTarget[],
  asked: FarAsked,
): Promise<FarAnswer> {
  using db = openedIfPossible(context.env.dataHome)
  const { found, failures } = await findFar(targets, await requestOf(context, asked, []), {
    place: context.env,
    db,
  })
  if (found === undefined) throw failures.at(-1)!
  warn(failures, found)
  const { hits, more, share, target } = found
  const note = hits.length > 0 && share < 1 ? { note: SOME } : {}
  return { hits, more, ...note, far: { target, failures: failures.map(told) } }
}

/** What a target has is put among what was found here. Without an answer there is a warning, and what was found here. */
export async function searchFarToo(
  context: Context,
  targets: readonly FarTarget[],
  asked: FarAsked,
  db: Database,
  local: FoundTurns,
): Promise<FarAnswer> {
  const request = await requestOf(context, asked, local.terms)
  const { found, failures } = await findFar(targets, request, { place: context.env, db })
  warn(failures, found)
  const far = { target: found?.target ?? null, failures: failures.map(told) }
  if (found === undefined) return { hits: local.hits, more: local.more, far }
  const hits = withFar<Hit | FarHit>(local.hits, local.words, found)
  const more = local.more || found.more || hits.length > asked.limit
  return { hits: hits.slice(0, asked.limit), more, far }
}

async function requestOf(
  { env }: Context,
  { query, limit, mode, project, session, since, until, tool, file }: FarAsked,
  weights: FoundTurns["terms"],
): Promise<FarRequest> {
  const vector = mode === "lexical" ? undefined : await vectorOf(env, query)
  return {
    query: parseQuery(query),
    weights,
    limit,
    vector,
    byWords: mode !== "semantic" || vector === undefined,
    projectName: project === undefined ? undefined : shortNameOf(project),
    session,
    since,
    until,
    tool,
    file,
  }
}

function warn(failures: readonly CtxError[], found: FarFound | undefined): void {
  const told = [...failures.map(({ message }) => message), found && leftOut(found)].filter((one) => one)
  if (told.length > 0) writeError(`warning: ${oneLine(safe(told.join("; ")))}\n`)
}

const told = ({ code, message }: CtxError) => ({ code, message })

/** A new machine has no archive yet, and a target all the same. */
export function isNothingHere(dataHome: string): boolean {
  using db = openedIfPossible(dataHome)
  return db === undefined
}

function openedIfPossible(dataHome: string): Database | undefined {
  try {
    return openForReading(dataHome)
  } catch (error) {
    if (codeOf(error) === "no-archive") return undefined
    throw error
  }
}

/** Entries have vectors of an installed model only. */
async function vectorOf(env: Context["env"], query: string): Promise<EntryVector | undefined> {
  const made = query === "" ? undefined : await modelVector(env, query)
  return made && { embedder: made.embedder, values: [...made.values] }
}
