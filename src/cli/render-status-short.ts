/** Renders `status` in eight lines: what most want to know, and the last one says what is wrong. Pure. */
import { formatTokens } from "../autopilot/token-figures.ts"
import type { HookStatus } from "../claude/install/hook-status.ts"
import { bytes, count, oneLine, percent } from "../util/text.ts"
import {
  errorText,
  hookText,
  importText,
  isWorthALine,
  noArchiveYet,
  SERVER_TEXTS,
  type StatusReport,
} from "./render-status.ts"
import type { Screen } from "./screen.ts"
import type { ShowPath } from "./shown-path.ts"
import { dotted, fit, safe } from "./style.ts"
import { renderPairs } from "./text-table.ts"
import { ago } from "./when.ts"
import { wrapped } from "./wrap.ts"

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

function archiveText({ totals }: StatusReport): string {
  if (totals === null) return "nothing that can be read"
  const { turns, sessions, projects } = totals
  return `${count(turns, "turn")} of ${count(sessions, "session")} in ${count(projects, "project")}`
}

function capturedText({ sessions, behind, import: history }: StatusReport, now: number): string {
  const last = sessions[0] === undefined ? "nothing" : `last ${ago(sessions[0].ended, now)}`
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
  return dotted(
    words,
    embedding !== null && `by meaning ${embedding.embedded} of ${count(embedding.turns, "turn")}`,
  )
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
