/** Renders `status --verbose`: all that is known. Pure. */

import type { LoggedError } from "../base/log.ts"
import { bytes, count, oneLine, percent } from "../base/text.ts"
import type { HookStatus, ServerStatus } from "../claude/install/hook-status.ts"
import { type Config, OPTIONS } from "../config/options.ts"
import type { EmbeddingStatus } from "../find/embed/model-files.ts"
import type { History } from "../job/history-import.ts"
import type { WayName } from "../prune/way.ts"
import type { LastRestore } from "../restore/last-restore.ts"
import { report } from "../restore/window/advice.ts"
import type { ContextReport, Filling } from "../restore/window/context-report.ts"
import { formatTokens } from "../restore/window/zone.ts"
import type { Confidences } from "../restore/worth/tiers.ts"
import type { SyncFailure } from "../sync/sync-again.ts"
import type { LastSync } from "../sync/sync-ledger.ts"
import type { ArchiveStatus } from "../views/archive-status.ts"
import type { ProjectUse } from "../views/queries/token-use.ts"
import type { SpoolStatus } from "../views/spool.ts"
import { renderPairs } from "./block.ts"
import { PROOFS } from "./render-receipts.ts"
import { renderSessions, useText } from "./render-session.ts"
import { ago, type Screen, wrapped } from "./screen.ts"
import type { ShowPath } from "./shown-path.ts"
import { dotted, fit, safe } from "./style.ts"
import { besideWords } from "./transcripts-named.ts"

interface StatusReport extends ArchiveStatus {
  readonly dataHome: string
  readonly exists: boolean
  /** Why nothing can be archived there; null if nothing is known to be in the way. */
  readonly unwritable: string | null
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
  readonly embedding: EmbeddingStatus | null
  /** How sure it is that turns will be needed again; null if nobody asked, or there is nothing that can be read. */
  readonly confidence: Confidences | null
  readonly options: ShownOptions
  /** The ways of pruning that are at work; null if nobody asked. */
  readonly pruning: readonly WayName[] | null
  readonly lastError: LoggedError | null
}

/** Where turns are kept besides, as it is configured. */
export interface BackendStatus {
  readonly wanted: string
  /** In the order in which they are asked. */
  readonly targets: readonly (Pick<LastSync, "kind" | "target"> & { readonly why: string })[]
  readonly problem: string | null
}

/** Options that decide what happens without being asked for. */
const SHOWN_OPTIONS = [
  "capture.enabled",
  "restore.enabled",
  "restore.budget",
  "instructions.budget",
  "archive.retention",
  "archive.cold",
  "autopilot.enabled",
  "autopilot.warn",
  "autopilot.critical",
] as const

type ShownOptions = Pick<Config, (typeof SHOWN_OPTIONS)[number]>

export const shownOptions = (config: Config): ShownOptions =>
  Object.fromEntries(SHOWN_OPTIONS.map((key) => [key, config[key]])) as ShownOptions

type Pair = readonly [string, string]

export function renderStatus(status: StatusReport, screen: Screen): string[] {
  const lines = renderPairs(
    [
      ["data", safe(status.dataHome) + (status.exists ? "" : " (does not exist yet)")],
      ...archivePairs(status, screen.now),
      ...usePairs(status.use),
      ...(status.unwritable === null ? [] : [["writable", `no: ${status.unwritable}`] as const]),
      ...spoolPairs(status),
      ...restorePairs(status.lastRestore, screen.now),
      ...forgottenPairs(status.forgotten),
      ...excludedPairs(status.excluded),
      ...importPairs(status.import),
      ...searchPairs(status),
      ...optionPairs(status),
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
function noArchiveYet({ totals, database, vault, ...status }: StatusReport): string | undefined {
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

function importText({ transcripts, left, bytes: all, bytesLeft }: History): string {
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
    const { embedder, model, problem, embedded, turns, meaning } = embedding
    const by = model === null ? "hashed words, no model" : safe(embedder)
    const state = meaning === "off" ? "; search.meaning is off" : embedded < turns ? "; being made" : ""
    const fault = problem === null ? "" : `; the installed model is not used: ${safe(problem)}`
    // Vectors also cover subagents' tasks and text before the first prompt, which do not count as turns.
    const more = turns > (totals?.turns ?? turns) ? ", those without a prompt too" : ""
    pairs.push(["vectors", `${embedded} of ${count(turns, "turn")}${more}, by ${by}${state}${fault}`])
  }
  return pairs
}

/** What ctxbridge does by itself. */
function optionPairs({ options, confidence, pruning }: StatusReport): Pair[] {
  const budget = `up to ${options["restore.budget"]} characters`
  const days = options["archive.retention"]
  const { mean, low } = confidence ?? { mean: null, low: 0 }
  const sure = mean === null ? "" : `; mean confidence ${mean}, ${count(low, "turn")} below 0.3`
  const [warn, critical] = [percent(options["autopilot.warn"]), percent(options["autopilot.critical"])]
  return [
    ...(options["capture.enabled"] ? [] : [["capture", "off: capture.enabled"] as const]),
    ["restores", options["restore.enabled"] ? budget : "off: restore.enabled"],
    ["instructions", `for a compaction, up to ${options["instructions.budget"]} characters`],
    ["retention", days === 0 ? "forever" : `turns never used leave the index after ${count(days, "day")}`],
    ["cold turns", (options["archive.cold"] ? "leave the index" : "off: archive.cold") + sure],
    [
      "autopilot",
      options["autopilot.enabled"]
        ? `warns at ${warn} of the compaction point, critical at ${critical}`
        : "off: autopilot.enabled",
    ],
    ...(pruning === null ? [] : [["pruning", pruning.length === 0 ? "off" : pruning.join(", ")] as const]),
  ]
}

const SERVER_TEXTS: Readonly<Record<ServerStatus["state"], string>> = {
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
const isWorthALine = ({ scope, installed, stale }: HookStatus): boolean =>
  scope === "user" || installed.length + stale.length > 0

function hookPairs(hooks: readonly HookStatus[]): Pair[] {
  return hooks
    .filter(isWorthALine)
    .map((one) => [one.scope === "user" ? "hooks" : `hooks, ${one.scope}`, hookText(one)])
}

function hookText({ file, installed, missing, stale, problem }: HookStatus): string {
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

function errorText(error: LoggedError | null, now: number): string {
  if (error === null) return "none"
  return safe(
    `${ago(error.time, now)}, ${error.event}: ${error.message}${error.code === "" ? "" : ` (${error.code})`}`,
  )
}

/* Shows people how full the context window is. Pure. */

/** Entries shown of each kind. */
const SHOWN = 5
/** Characters shown of a name. */
const NAME = 24

const SWITCHED_OFF = {
  manual: "only on /compact: automatic compaction is switched off",
  never: "never: DISABLE_COMPACT is set",
} as const

export function renderContext(context: ContextReport, { style, columns }: Screen): string[] {
  const { compactsAt, compacts, learnt, pressure, trend, estimated, fill } = context
  const head = report({ ...context, judgement: context, runway: context.runway ?? undefined })
  const how = learnt ? "seen in earlier compactions" : "by Claude Code's formula"
  const width = columns - 14
  const used = `${percent(pressure, 1)} of that is used`
  const point =
    compacts === "automatic"
      ? ([["compacts at", `${formatTokens(compactsAt)} tokens, ${how}; ${used}`]] as const)
      : ([
          ["compacts", SWITCHED_OFF[compacts]],
          ["full at", `${formatTokens(compactsAt)} tokens; ${used}`],
        ] as const)
  const pairs = [
    ...point,
    ...(trend === null ? [] : [["a turn adds", `~${formatTokens(trend)} tokens`] as const]),
    ...(estimated
      ? [["estimated", "from the length of the text: Claude Code has not counted since"] as const]
      : []),
    ["filled by", shares(fill.kinds, width)],
    ["files", shares(fill.files, width)],
  ] as const
  return [head, ...renderPairs(pairs, style)]
}

/** As many as fit; the others are added up, so that what is shown sums to 100 %. */
function shares(fillings: readonly Filling[], width: number): string {
  let text = listed(fillings, 1)
  for (let shown = 2; shown <= Math.min(SHOWN, fillings.length); shown++) {
    const longer = listed(fillings, shown)
    if (Bun.stringWidth(longer) <= width) text = longer
  }
  return fit(text, width)
}

function listed(fillings: readonly Filling[], most: number): string {
  const shown = fillings
    .slice(0, most)
    .map(({ name, percent: share }) => `${ending(name)} ${share.toFixed(1)}%`)
  const rest = fillings.slice(most).reduce((sum, { percent: share }) => sum + share, 0)
  return [...shown, ...(rest > 0 ? [`others ${rest.toFixed(1)}%`] : [])].join(", ")
}

/** Of a long path, the end tells most. */
const ending = (name: string): string => (name.length <= NAME ? name : `…${name.slice(1 - NAME)}`)

/* Renders `status` in eight lines: what most want to know, and the last one says what is wrong. Pure. */

interface StatusLook extends Screen {
  readonly showPath: ShowPath
  /** Whether lines may be cut: they stand at a terminal. */
  readonly isCut: boolean
}

/** Columns of the longest label and what follows it. */
const LABEL = 12

export function renderStatusShort(status: StatusReport, look: StatusLook): string[] {
  const { style, columns } = look
  const problems = problemsOf(status, look)
  const facts = [
    ["archive", archiveText(status)],
    ["captured", capturedText(status, look.now)],
    ["on disk", diskText(status, look)],
    ["search", searchText(status)],
    ["hooks", hooksText(status, look)],
    ["MCP server", serverText(status, look)],
    ["window", windowText(status)],
    ["options", changedText(status)],
  ] as const
  const width = look.isCut ? columns - LABEL : Number.POSITIVE_INFINITY
  const shown = facts.flatMap(([label, text]) => (text === "" ? [] : [[label, fit(text, width)] as const]))
  const text = problems.length === 0 ? "none" : problems.join("; ")
  const [first = "", ...rest] = look.isCut ? wrapped(text, width) : [text]
  const colored = problems.length === 0 ? (line: string) => line : style.red
  const lines = renderPairs([...shown, ["problems".padEnd(LABEL - 2), colored(first)]], style)
  const hint = noArchiveYet(status)
  return [
    ...lines,
    ...rest.map((line) => " ".repeat(LABEL) + colored(line)),
    ...(hint === undefined ? [] : ["", hint]),
  ]
}

function archiveText(status: StatusReport): string {
  const { totals } = status
  if (totals === null) return noArchiveYet(status) === undefined ? "nothing that can be read" : "nothing yet"
  const { turns, sessions, projects } = totals
  return `${count(turns, "turn")} of ${count(sessions, "session")} in ${count(projects, "project")}`
}

function capturedText({ sessions, behind, import: history }: StatusReport, now: number): string {
  const last = sessions[0] === undefined ? "nothing" : `latest turn ${ago(sessions[0].ended, now)}`
  const waiting = behind?.vault
  return dotted(
    last,
    history !== null
      ? `import ${importText(history)}`
      : waiting !== undefined &&
          waiting.transcripts > 0 &&
          `${bytes(waiting.bytes)} of ${count(waiting.transcripts, "transcript")} still to archive: ctxbridge import`,
  )
}

function diskText({ dataHome, disk, totals }: StatusReport, { showPath, now }: StatusLook): string {
  const size = bytes(disk.vault + disk.database + disk.wal + disk.other)
  const from =
    totals === null || totals.archivedBytes === 0
      ? ""
      : `, from ${bytes(totals.archivedBytes)} of transcripts`
  const when = disk.counted === null ? "" : ` (counted ${ago(disk.counted, now)})`
  return `${size} in ${showPath(dataHome)}${from}${when}`
}

function searchText({ index, embedding }: StatusReport): string {
  if (index === null) return ""
  const { indexed, messages, complete, outdated } = index
  const all = count(messages, "message")
  const words = complete
    ? `all ${all}`
    : `${indexed} of ${all}${outdated ? ", being renewed" : ", the rest follows"}`
  return dotted(words, embedding !== null && `by meaning${meaningText(embedding)}`)
}

function meaningText({ meaning, model, embedded, turns }: EmbeddingStatus): string {
  if (meaning === "off") return ": off"
  if (model === null) return ": no model"
  const all = count(turns, "turn")
  return embedded < turns ? ` ${embedded} of ${all}, being made` : ` all ${all}`
}

function hooksText({ hooks, plugins }: StatusReport, { showPath }: StatusLook): string {
  const [first] = plugins
  const isMissing = hooks.every(({ installed, stale }) => installed.length + stale.length === 0)
  if (first !== undefined && isMissing) return `from the plugin ${oneLine(first)}`
  const worth = hooks.filter(isWorthALine)
  const shown = worth.find(({ installed }) => installed.length > 0) ?? worth[0]
  return shown === undefined ? "" : hookText({ ...shown, file: showPath(shown.file) })
}

function serverText({ mcp, plugins }: StatusReport, { showPath }: StatusLook): string {
  const found = mcp.find(({ state }) => state === "registered") ?? mcp[0]
  if (found === undefined) return ""
  if (found.state === "absent" && plugins.length > 0) return "from the plugin"
  return found.problem ?? `${SERVER_TEXTS[found.state]} ${showPath(found.file)}`
}

function windowText({ context }: StatusReport): string {
  if (context === null) return ""
  const { pressure, tokens, compactsAt, compacts } = context
  const point = compacts === "automatic" ? "of the point of compaction" : "full"
  return `${percent(pressure, 1)} ${point} (${formatTokens(tokens)} of ${formatTokens(compactsAt)} tokens)`
}

/** Those that are not at their default. */
const changedText = ({ options }: StatusReport): string =>
  SHOWN_OPTIONS.filter((key) => options[key] !== OPTIONS[key].default)
    .map((key) => `${key} = ${options[key]}`)
    .join(", ")

/** Each with what to run. */
function problemsOf(status: StatusReport, { now, showPath }: StatusLook): string[] {
  const { vault, database, spool, hooks, plugins, mcp, embedding, backend, syncFailure, forgotten } = status
  const user = hooks.find(({ scope }) => scope === "user")
  const areHooksThere =
    plugins.length > 0 || hooks.some(({ missing, stale }) => missing.length + stale.length === 0)
  const server = mcp.find(({ state }) => ["other", "taken", "removed", "lost", "unknown"].includes(state))
  const problems = [
    vault.problem !== null && `vault: ${vault.problem}: ctxbridge doctor`,
    status.missing > 0 && `${count(status.missing, "copy", "copies")} lost: ctxbridge verify`,
    database.problem !== null && `database: ${database.problem}: ctxbridge doctor`,
    // What waits in a spool has its own reason, and says what to do.
    spool.length === 0 && status.unwritable !== null && `${status.unwritable}: ctxbridge doctor`,
    ...spool.map(
      ({ folder, bytes: size, reason }) =>
        `${bytes(size)} kept in ${showPath(folder)}${reason === null ? "" : ` (${reason.message})`}: make ${showPath(status.dataHome)} writable`,
    ),
    !areHooksThere && user !== undefined && `${hookProblem(user)}: ctxbridge install`,
    server !== undefined &&
      `MCP server ${SERVER_TEXTS[server.state]} ${showPath(server.file)}: ctxbridge install`,
    embedding?.problem && `model not used: ${embedding.problem}: ctxbridge model status`,
    backend.problem !== null && `backend: ${backend.problem}`,
    syncFailure !== null && `not synced since ${ago(syncFailure.since, now)}: ${syncFailure.message}`,
    forgotten.unfinished > 0 &&
      `${count(forgotten.unfinished, "session")} not forgotten yet: ctxbridge forget`,
    status.lastError !== null && `error ${errorText(status.lastError, now)}: ctxbridge doctor`,
  ]
  return problems.flatMap((text) => (text ? [safe(oneLine(text))] : []))
}

function hookProblem({ installed, missing, stale, problem }: HookStatus): string {
  if (problem !== undefined) return `hooks unknown: ${problem}`
  if (installed.length + stale.length === 0) return "hooks not installed"
  return `hooks not as installed: ${[...missing, ...stale].join(", ")}`
}
