/** Renders `status --verbose`: all that is known. Pure. */
import type { ArchiveStatus } from "../archive/archive-status.ts"
import type { ProjectUse } from "../archive/queries/token-use.ts"
import type { SpoolStatus } from "../archive/spool.ts"
import type { ContextReport } from "../autopilot/context-report.ts"
import type { HookStatus, ServerStatus } from "../claude/install/hook-status.ts"
import type { Standing } from "../embed/embedding-state.ts"
import type { History } from "../job/history-import.ts"
import type { LastRestore } from "../restore/last-restore.ts"
import type { SyncFailure } from "../sync/auto-sync.ts"
import type { LastSync } from "../sync/sync-ledger.ts"
import type { LoggedError } from "../util/log.ts"
import { bytes, count, percent } from "../util/text.ts"
import { renderContext } from "./render-context.ts"
import { PROOFS } from "./render-receipts.ts"
import { renderSessions, useText } from "./render-session.ts"
import type { Screen } from "./screen.ts"
import { safe } from "./style.ts"
import { renderPairs } from "./text-table.ts"
import { besideWords } from "./transcripts-named.ts"
import { ago } from "./when.ts"

export interface StatusReport extends ArchiveStatus {
  readonly dataHome: string
  readonly exists: boolean
  /** What is kept elsewhere because the data folder cannot be written. */
  readonly spool: readonly SpoolStatus[]
  /** Number of sessions with something forgotten, and of those where forgetting is not finished. */
  readonly forgotten: { readonly sessions: number; readonly unfinished: number }
  /** Folders whose sessions are not archived. */
  readonly excluded: readonly string[]
  /** Context use of the latest session here. */
  readonly context: ContextReport | null
  /** What this folder's project has cost. */
  readonly use: ProjectUse | null
  /** What that session was last given after a compaction or `/clear`, and whether it arrived. */
  readonly lastRestore: LastRestore | null
  /** An import running in the background. */
  readonly import: History | null
  /** Where turns were sent to, the latest first. */
  readonly backend: BackendStatus
  readonly sync: readonly LastSync[]
  /** Why the background job cannot sync, if it may. */
  readonly syncFailure: SyncFailure | null
  readonly hooks: readonly HookStatus[]
  readonly mcp: readonly ServerStatus[]
  /** Enabled plugins of ours, which stand in for hooks and server that are not registered. */
  readonly plugins: readonly string[]
  /** null if there is nothing to embed. */
  readonly embedding: Standing | null
  readonly lastError: LoggedError | null
}

/** Where turns are kept besides, as it is configured. */
export interface BackendStatus {
  readonly wanted: string
  /** In the order in which they are asked. */
  readonly targets: readonly (Pick<LastSync, "kind" | "target"> & { readonly why: string })[]
  readonly problem: string | null
}

type Pair = readonly [string, string]

export function renderStatus(status: StatusReport, screen: Screen): string[] {
  const lines = renderPairs(
    [
      ["data", safe(status.dataHome) + (status.exists ? "" : " (does not exist yet)")],
      ...archivePairs(status, screen.now),
      ...usePairs(status.use),
      ...spoolPairs(status),
      ...restorePairs(status.lastRestore, screen.now),
      ...forgottenPairs(status.forgotten),
      ...excludedPairs(status.excluded),
      ...importPairs(status.import),
      ...searchPairs(status),
      ...backendPairs(status),
      ...syncPairs(status.sync, screen.now),
      ...syncFailurePairs(status.syncFailure, screen.now),
      ...hookPairs(status.hooks),
      ...serverPairs(status.mcp),
      ...pluginPairs(status.plugins),
      ...repairPairs(status, screen.now),
      ["last error", errorText(status.lastError, screen.now)],
    ],
    screen.style,
  )
  const hint = noArchiveYet(status)
  if (hint !== undefined) lines.push("", hint)
  if (status.context !== null) lines.push("", ...renderContext(status.context, screen))
  if (status.sessions.length > 0) lines.push("", ...renderSessions(status.sessions, screen))
  return lines
}

/** What to do where nothing is archived; undefined where something is. */
export function noArchiveYet({ totals, database, vault, ...status }: StatusReport): string | undefined {
  const isFaulty = database.problem !== null || vault.problem !== null
  if (totals !== null || isFaulty || status.import !== null) return undefined
  const how =
    status.plugins.length > 0 || status.hooks.some(({ installed }) => installed.length > 0)
      ? "it starts with the next session"
      : "`ctxbridge install` registers the hooks"
  return `No archive yet: ${how}, \`ctxbridge import\` archives what already exists.`
}

const excludedPairs = (folders: readonly string[]): Pair[] =>
  folders.length === 0 ? [] : [["excluded", safe(folders.join(", "))]]

const syncPairs = (targets: readonly LastSync[], now: number): Pair[] =>
  targets.map(({ target, time, encrypted }) => {
    const how = encrypted === undefined ? "" : encrypted ? ", encrypted" : ", unencrypted"
    return ["synced", `${ago(time, now)} to ${safe(target)}${how}`]
  })

/** What is asked first, why, and what became of it at the last sync. */
function backendPairs({ backend, sync }: StatusReport): Pair[] {
  const { targets, problem } = backend
  if (problem !== null) return [["backend", safe(problem)]]
  const last = sync.find(({ target }) => targets.some((one) => one.target === target))
  return targets.map(({ target, why }, n) => {
    const passed = last?.passed?.find((one) => one.target === target)
    const told =
      passed !== undefined
        ? `; at the last sync it did not answer (${passed.code})`
        : last?.target === target
          ? "; at the last sync it answered"
          : ""
    return ["backend", safe(`${n === 0 ? "" : "else "}${target} (${why})${told}`)]
  })
}

const syncFailurePairs = (failure: SyncFailure | null, now: number): Pair[] =>
  failure === null ? [] : [["not synced", `since ${ago(failure.since, now)}: ${safe(failure.message)}`]]

function archivePairs({ vault, database, disk, totals, behind }: ArchiveStatus, now: number): Pair[] {
  const when = disk.counted === null ? "" : `, counted ${ago(disk.counted, now)}`
  const held = `${count(vault.files, "file")}, ${bytes(vault.bytes)} on disk${when}`
  const pairs: Pair[] = [["vault", vault.problem === null ? held : safe(vault.problem)]]
  if (database.problem !== null) pairs.push(["database", safe(database.problem)])
  if (totals === null || behind === null) return pairs
  return [
    ...pairs,
    [
      "archived",
      `${bytes(totals.archivedBytes)} of ${count(totals.transcripts, "transcript")}${besideWords(totals.filesBeside)}`,
    ],
    ["database", `${bytes(disk.database)}, and ${bytes(disk.wal)} of log`],
    ["other files", bytes(disk.other)],
    ["on disk", ratioText(disk.ratio)],
    [
      "sessions",
      `${totals.sessions}, and ${count(totals.subagents, "subagent")}, in ${count(totals.projects, "project")}`,
    ],
    ["turns", `${totals.turns}, with ${count(totals.messages, "message")}`],
    ["tool calls", `${totals.toolCalls}, of which ${totals.errors} failed`],
    ["compactions", `${totals.compactions}; restored ${count(totals.restores, "time")}`],
    ["not archived", behindText(behind.vault)],
    ["not indexed", behindText(behind.views)],
  ]
}

function usePairs(use: ProjectUse | null): Pair[] {
  const text = use === null ? "" : useText(use)
  return text === "" ? [] : [["used here", text]]
}

/** The command has just tried to empty the spool, so whatever is left could not be moved. */
function spoolPairs({ spool, dataHome }: StatusReport): Pair[] {
  return spool.map(({ folder, transcripts, bytes: size, reason }) => {
    const why = reason === null ? "" : `: ${reason.message}`
    const what = `${bytes(size)} of ${count(transcripts, "transcript")} in ${folder}`
    return ["spooled", safe(`${what}, not yet in ${dataHome}${why}`)]
  })
}

/** No percentage above this ratio: an empty database dwarfs a first session, and the figure would look alarming. */
const FRIGHTENING = 2

const ratioText = (ratio: number | null): string => {
  if (ratio === null) return "nothing yet"
  const share = ratio > FRIGHTENING ? "still take more than" : `take ${percent(ratio, 1)} of`
  return `vault and database ${share} the archived bytes`
}

const behindText = (behind: { readonly transcripts: number; readonly bytes: number }): string =>
  behind.transcripts === 0
    ? "nothing"
    : `${bytes(behind.bytes)} of ${count(behind.transcripts, "transcript")}`

const importPairs = (history: History | null): Pair[] =>
  history === null ? [] : [["import", importText(history)]]

export function importText({ transcripts, left, bytes: all, bytesLeft }: History): string {
  const done = `${transcripts - left} of ${count(transcripts, "transcript")} done`
  return `in the background: ${done}, ${bytes(bytesLeft)} of ${bytes(all)} left`
}

function repairPairs({ lastRepair }: ArchiveStatus, now: number): Pair[] {
  if (lastRepair === null) return []
  const { time, reason, damaged, turns } = lastRepair
  const kept = damaged === null ? "" : `; the old database is kept as ${damaged}`
  return [
    ["last repair", safe(`${ago(time, now)}, ${count(turns, "turn")} from the vault: ${reason}${kept}`)],
  ]
}

function restorePairs(last: LastRestore | null, now: number): Pair[] {
  if (last === null) return []
  const { source, time, characters, proof, again } = last
  const later =
    proof === "open" && again !== null ? `sent again ${ago(again, now)}, not confirmed yet` : PROOFS[proof]
  const event = source === "clear" ? "/clear" : "a compaction"
  return [["last restore", `${ago(time, now)}, after ${event}, ${count(characters, "character")}: ${later}`]]
}

function forgottenPairs({ sessions, unfinished }: StatusReport["forgotten"]): Pair[] {
  if (sessions + unfinished === 0) return []
  const rest =
    unfinished === 0
      ? ""
      : `; ${unfinished} not finished: the background job or \`ctxbridge forget\` continues`
  return [["forgotten", `${count(sessions, "session")}, whole or in part${rest}`]]
}

function indexText({
  messages,
  indexed,
  cold,
  complete,
  outdated,
}: NonNullable<StatusReport["index"]>): string {
  const all = count(messages, "message")
  if (complete) return `complete: ${all}${cold === 0 ? "" : `, ${cold} of them cold`}`
  if (outdated)
    return `${indexed} of ${all}, indexed by an earlier version; they are being reindexed in the background`
  return `${indexed} of ${all}; the rest follows`
}

function searchPairs({ index, embedding, totals }: StatusReport): Pair[] {
  const pairs: Pair[] = []
  if (index !== null) {
    pairs.push(["word index", indexText(index)])
  }
  if (embedding !== null) {
    const { embedder, model, problem, embedded, turns } = embedding
    const by = model === null ? "hashed words, no model" : safe(embedder)
    const fault = problem === null ? "" : `; the model is not used: ${safe(problem)}`
    // Vectors also cover subagents' tasks and text before the first prompt, which do not count as turns.
    const more = turns > (totals?.turns ?? turns) ? ", those without a prompt too" : ""
    pairs.push(["vectors", `${embedded} of ${count(turns, "turn")}${more}, by ${by}${fault}`])
  }
  return pairs
}

export const SERVER_TEXTS: Readonly<Record<ServerStatus["state"], string>> = {
  registered: "registered in",
  other: "registered with another binary in",
  taken: "another server has its name in",
  absent: "not registered in",
  removed: "removed since it was installed in",
  lost: "lost since it was installed in",
  unknown: "unknown",
}

const pluginPairs = (plugins: readonly string[]): Pair[] =>
  plugins.map((name) => ["plugin", `${safe(name)} provides the hooks and the server`])

const serverPairs = (mcp: readonly ServerStatus[]): Pair[] =>
  mcp.map(({ scope, file, state, problem }) => [
    scope === "user" ? "MCP server" : `MCP server, ${scope}`,
    `${SERVER_TEXTS[state]}${problem === null ? ` ${safe(file)}` : `: ${safe(problem)}`}`,
  ])

/** Project files usually have none of our hooks. */
export const isWorthALine = ({ scope, installed, stale }: HookStatus): boolean =>
  scope === "user" || installed.length + stale.length > 0

function hookPairs(hooks: readonly HookStatus[]): Pair[] {
  return hooks
    .filter(isWorthALine)
    .map((one) => [one.scope === "user" ? "hooks" : `hooks, ${one.scope}`, hookText(one)])
}

export function hookText({ file, installed, missing, stale, problem }: HookStatus): string {
  const all = installed.length + missing.length + stale.length
  if (problem !== undefined) return `unknown: ${safe(problem)}`
  if (installed.length === all) return `all ${all} in ${safe(file)}`
  if (installed.length + stale.length === 0) return `not installed in ${safe(file)}`
  const faults = [
    ...(missing.length > 0 ? [`missing: ${missing.join(", ")}`] : []),
    ...(stale.length > 0 ? [`from another binary, or changed: ${stale.join(", ")}`] : []),
  ]
  return `${installed.length} of ${all} in ${safe(file)}; ${faults.join("; ")}`
}

export function errorText(error: LoggedError | null, now: number): string {
  if (error === null) return "none"
  return safe(
    `${ago(error.time, now)}, ${error.event}: ${error.message}${error.code === "" ? "" : ` (${error.code})`}`,
  )
}
