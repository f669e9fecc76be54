/** Renders sessions and their turns as tables. Pure. */
import { HANDLE_PREFIX } from "../archive/handle-prefix.ts"
import { folderOf } from "../archive/project.ts"
import type { Lineage } from "../archive/queries/lineage.ts"
import type { Session } from "../archive/queries/sessions.ts"
import type { Turn } from "../read/turn.ts"
import { bytes, count, oneLine } from "../util/text.ts"
import type { Screen } from "./screen.ts"
import { dotted, fit, safe } from "./style.ts"
import { renderTable } from "./text-table.ts"
import { ago, clock } from "./when.ts"

const SHORT = 8

/** Shortens ids as far as they stay distinct; a subagent's id keeps its parent's before it. */
export function shortIds(ids: readonly string[]): string[] {
  const cutTo = (length: number): string[] =>
    ids.map((id) =>
      id
        .split("/")
        .map((part) => part.slice(0, length))
        .join("/"),
    )
  const longest = Math.max(SHORT, ...ids.map((id) => id.length))
  for (let length = SHORT; length < longest; length++) {
    const short = cutTo(length)
    if (new Set(short).size === ids.length) return short
  }
  return [...ids]
}

const titleOf = ({ title, firstPrompt }: Session): string => title ?? firstPrompt ?? "(no prompt)"

/** Maximum columns of a project's name. */
const PROJECT = 16

/** The last part of the folder's path, which may be a Windows path. */
const projectName = ({ project }: Session): string =>
  folderOf(project ?? "")
    .split(/[/\\]/)
    .findLast(Boolean) ?? ""

/** Adds the projects' names if there are several. */
export function renderSessions(rows: readonly Session[], screen: Screen): string[] {
  const names = shortIds(rows.map(({ id }) => id))
  const isMixed = new Set(rows.map(({ project }) => project)).size > 1
  return renderTable(
    [
      { title: "session" },
      { title: "last active" },
      ...(isMixed ? [{ title: "project", optional: true }] : []),
      { title: "turns", align: "right" },
      { title: "tools", align: "right", optional: true },
      { title: "errors", align: "right", optional: true },
      { title: "size", align: "right", optional: true },
      { title: "title", flexible: true },
    ],
    rows.map((row, n) => [
      safe(names[n]!),
      ago(row.ended, screen.now),
      ...(isMixed ? [fit(projectName(row), PROJECT)] : []),
      String(row.turns),
      String(row.tools),
      String(row.errors),
      bytes(row.archived),
      titleOf(row),
    ]),
    screen.columns,
    screen.style,
  )
}

export function renderSessionHead(row: Session, lineage: Lineage, { style, columns }: Screen): string[] {
  const calls = `${count(row.tools, "tool call")}${row.errors > 0 ? `, ${count(row.errors, "error")}` : ""}`
  return [
    style.bold(`session ${safe(row.id)}`),
    fit(titleOf(row), columns),
    dotted(
      row.cwd !== null && safe(oneLine(row.cwd)),
      row.branch !== null && `branch ${safe(oneLine(row.branch))}`,
      row.version !== null && `Claude Code ${safe(oneLine(row.version))}`,
    ),
    `${clock(row.started)} to ${clock(row.ended)}`,
    dotted(
      count(row.turns, "turn"),
      count(row.messages, "message"),
      calls,
      `${bytes(row.archived)} archived`,
    ),
    ...lineageLines(row, lineage),
  ].filter(Boolean)
}

function lineageLines(row: Session, { parents, children, subagents }: Lineage): string[] {
  const lines: string[] = []
  if (row.parent !== null) lines.push(`subagent of session ${safe(row.parent)}`)
  for (const { session, kind, handle } of parents) {
    const shared = handle === null ? "" : ` up to ${HANDLE_PREFIX}${handle}`
    lines.push(
      kind === "fork"
        ? `begins with session ${safe(session)}${shared}`
        : `continues session ${safe(session)} after /clear`,
    )
  }
  for (const { session, kind } of children) {
    lines.push(
      `continued in session ${safe(session)} (${kind === "fork" ? "fork or resume" : "after /clear"})`,
    )
  }
  if (subagents.length > 0)
    lines.push(`${count(subagents.length, "subagent")}: ${shortIds(subagents).map(safe).join(", ")}`)
  return lines
}

export function renderTurns(turns: readonly Turn[], screen: Screen): string[] {
  return renderTable(
    [
      { title: "turn" },
      { title: "no.", align: "right" },
      { title: "began", optional: true },
      { title: "tools", align: "right", optional: true },
      { title: "errors", align: "right", optional: true },
      { title: "prompt", flexible: true },
    ],
    turns.map((turn) => [
      turn.handle,
      String(turn.seq),
      ago(turn.started, screen.now),
      String(turn.tools),
      String(turn.errors),
      promptLine(turn),
    ]),
    screen.columns,
    screen.style,
  )
}

function promptLine({ via, prompt, answer, interrupted, takenBack }: Turn): string {
  const fate = [...(takenBack ? ["taken back"] : []), ...(interrupted ? ["interrupted"] : [])]
  const ended = fate.length > 0 ? `(${fate.join(", ")}) ` : ""
  if (via === "none") return `${ended}(before the first prompt) ${answer}`
  return ended + (via === "bash" ? `! ${prompt}` : prompt)
}
