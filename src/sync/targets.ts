/**
 * The targets of commands, the job and the server: the one that is named, or those that the user's variables name, in the
 * design documents' order; and with which passphrase.
 */
import { statSync } from "node:fs"
import { CtxError, messageOf, usageError } from "../base/errors.ts"
import { letsOthersIn, readOrdinary } from "../base/files.ts"
import { join } from "../base/path.ts"
import { passphraseVariable, serverVariables, targetWishes } from "../config/load.ts"
import type { Config } from "../config/options.ts"
import { writerName } from "./sync-ledger.ts"
import { type NamedTarget, type TargetWorld, targetCalled } from "./targets/open-target.ts"
import { isServerAddress } from "./targets/postgres-address.ts"

type Here = Pick<TargetWorld, "cwd" | "home" | "dataHome" | "stateHome" | "isNewKey" | "isEncrypting">

/** The options that say where entries go, and with which passphrase. */
type TargetOptions = Pick<Config, "sync.to" | "sync.backend" | "sync.passphrase-file">

interface ConfiguredTarget extends NamedTarget, Pick<ChosenTarget, "why"> {}

export const targetNamed = (
  named: string,
  config: TargetOptions,
  { cwd, home, dataHome, stateHome, isNewKey = false, isEncrypting = false }: Here,
): NamedTarget =>
  targetCalled(named, {
    ...{ cwd, home, dataHome, stateHome, isNewKey, isEncrypting },
    variables: serverVariables(),
    agentdb: targetWishes("").agentdb,
    writer: () => writerName(dataHome),
    passphrase: () => readPassphrase(config["sync.passphrase-file"], home),
  })

/** The best first; none if nothing is configured. */
export const configuredTargets = (config: TargetOptions, here: Here): ConfiguredTarget[] =>
  chooseTargets(config["sync.backend"] as BackendName, targetWishes(config["sync.to"])).map(
    ({ named, why }) => ({
      ...targetNamed(named, config, here),
      why,
    }),
  )

/**
 * @param named as in `--to`; undefined: what is configured
 * @param purpose what needs one, for people
 * @throws CtxError exit 64 if no server is meant
 */
export function serverMeant(
  named: string | undefined,
  config: TargetOptions,
  here: Here,
  purpose: string,
): NamedTarget {
  const all = named === undefined ? configuredTargets(config, here) : [targetNamed(named, config, here)]
  const server = all.find(({ kind }) => kind === "postgres")
  if (server !== undefined) return server
  throw usageError(
    `${purpose} needs a PostgreSQL server`,
    "--to postgres://user@host/database, or set sync.to (docs/sync.md)",
  )
}

export type BackendName = "auto" | "sqlite" | "postgres" | "agentdb" | "json"

/** What the environment says. */
interface TargetWishes {
  /** What names a target expressly, and the name of what does. */
  readonly to: { readonly named: string; readonly by: "CTXBRIDGE_SYNC_TO" | "sync.to" } | undefined
  /** Whether RUVECTOR_HOST names a server. Libpq's variables alone do not count: they may be meant for another database. */
  readonly server: boolean
  /** CTXBRIDGE_AGENTDB. */
  readonly agentdb: string | undefined
}

interface ChosenTarget {
  /** As in `sync --to`. */
  readonly named: string
  /** Why it was chosen, for people. */
  readonly why: string
}

/** Which backend a target is of. A folder has files of JSON. */
function backendOf(named: string): BackendName {
  if (isServerAddress(named)) return "postgres"
  const [, scheme] = /^(sqlite|agentdb):/i.exec(named) ?? []
  return (scheme?.toLowerCase() as BackendName | undefined) ?? "json"
}

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

/** UTF-16 units of a passphrase. */
const LEAST = 8
/** Bytes of its file. */
const LARGEST = 4096

/**
 * @param file the option `sync.passphrase-file`; empty: none
 * @returns undefined if the user has named none
 * @throws CtxError if it cannot be read, is too short, or others may read its file
 */
export function readPassphrase(file: string, home: string): string | undefined {
  const given = passphraseVariable() ?? (file === "" ? undefined : fromFile(file, home))
  if (given !== undefined && given.length < LEAST)
    throw usageError("the passphrase is too short", `at least ${LEAST} characters, better six words`)
  return given
}

function fromFile(named: string, home: string): string {
  const file = named.startsWith("~/") ? join(home, named.slice(2)) : named
  const hint = "the option sync.passphrase-file names it"
  let text: string | undefined
  let mode: number
  try {
    mode = statSync(file).mode
    text = readOrdinary(file, LARGEST)
  } catch (cause) {
    throw new CtxError("passphrase-unreadable", `cannot read ${file}: ${messageOf(cause)}`, { hint, cause })
  }
  if (text === undefined)
    throw new CtxError("passphrase-unreadable", `${file} is not a file of at most ${LARGEST} bytes`, { hint })
  if (letsOthersIn(mode))
    throw new CtxError("passphrase-unreadable", `${file} can be read by others`, {
      hint: "chmod 600 makes it yours alone",
    })
  return text.replace(/\r?\n$/, "")
}
