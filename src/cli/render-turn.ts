/** Renders a whole turn as text for a terminal. Pure. */
import { callsIn, partText } from "../export/part-text.ts"
import type { ToldPart, TurnMessage, WholeTurn } from "../read/turn.ts"
import type { Part } from "../transcript/types.ts"
import { count, oneLine } from "../util/text.ts"
import { type Style, safe } from "./style.ts"
import { clock } from "./when.ts"

/** All lines of the turn, without paging or cuts. */
export function renderTurn(turn: WholeTurn, style: Style): string[] {
  const callOf = callsIn(turn.tools)
  const lines = head(turn, style)
  for (const message of turn.messages) {
    for (const part of message.parts) {
      const shown = partText(part, callOf)
      if (shown === undefined) continue
      lines.push("", rule(shown.title, part, message, style), ...body(shown.text, part, style))
    }
  }
  return lines
}

function head(turn: WholeTurn, style: Style): string[] {
  const figures = [
    turn.via,
    count(turn.tools.length, "tool call"),
    ...(turn.errors > 0 ? [count(turn.errors, "error")] : []),
    ...(turn.interrupted ? ["interrupted"] : []),
    ...(turn.takenBack ? ["taken back"] : []),
  ]
  return [
    `${style.bold(turn.handle)}  turn ${turn.seq} of session ${safe(turn.session)}`,
    `${clock(turn.started)} to ${clock(turn.ended)} · ${figures.join(" · ")}`,
    ...turn.usage.map(
      ({ model, input, output, cacheCreation, cacheRead }) =>
        `${safe(model)}: tokens ${input} input, ${cacheCreation} written to cache, ${cacheRead} read from cache, ${output} output`,
    ),
    ...turn.files.map(
      ({ path, op, count: times }) =>
        `${op.padEnd(7)} ${safe(oneLine(path))}${times > 1 ? ` (${times} times)` : ""}`,
    ),
  ]
}

function rule(title: string, part: ToldPart, message: TurnMessage, style: Style): string {
  const whose = part.origin === "import" ? " (imported)" : message.sidechain ? " (subagent)" : ""
  const line = `── ${safe(oneLine(title))}${whose} ──`
  const failed = (part.kind === "toolResult" && part.isError) || part.kind === "apiError"
  if (failed) return style.red(line)
  return part.kind === "prompt" ? style.bold(line) : style.dim(line)
}

const BESIDE = ["thinking", "context", "summary", "notice"]

function body(text: string, part: Part, style: Style): string[] {
  if (text === "") return []
  const lines = safe(text).trimEnd().split("\n")
  return BESIDE.includes(part.kind) ? lines.map(style.dim) : lines
}
