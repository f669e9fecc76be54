/** A tool call: one line that says what it did and how it ended, and behind it all that went in and came out. Pure. */
import { todosOf } from "../../agents/tool-input.ts"
import { isShell, toolKind } from "../../agents/tool-kinds.ts"
import type { ToolCall } from "../../archive/queries/calls.ts"
import { editDiff } from "../../read/edit-diff.ts"
import { objectOf, stringOf } from "../../transcript/json.ts"
import type { Part } from "../../transcript/types.ts"
import { cut, oneLine } from "../../util/text.ts"
import { inputText } from "../part-text.ts"
import { countLines, diffHtml } from "./diff-html.ts"
import { iconOf } from "./icons.ts"
import { longText } from "./long-text.ts"
import { markdown } from "./markdown.ts"
import { type Content, type Html, html } from "./markup.ts"
import { mediaHtml } from "./picture.ts"
import type { CallItem } from "./turn-parts.ts"

/** Lines of a change that are seen without a click. */
const SMALL = 12
/** UTF-16 units of what a call's line shows of its error. */
const ERROR = 160

interface CallWorld {
  /** As the views have it; undefined for a call that they lack. */
  readonly call: ToolCall | undefined
  readonly cwd: string | null
  readonly media: ReadonlyMap<Part, string>
}

export function callHtml({ use, result, media }: CallItem, world: CallWorld): Html {
  const name = use?.name || world.call?.name || "tool"
  const kind = toolKind(name)
  const isError = result?.isError === true
  const hunks = use && editDiff(name, use.input)
  const lines = hunks && countLines(hunks)
  const kinds = ["tool", hunks && "file", isError && "error"].filter(Boolean).join(" ")
  const isOpen = (lines && lines.added + lines.removed <= SMALL) || kind === "todo" || media.length > 0
  const target = use === undefined ? "" : targetOf(name, use.input, world)
  return html`<details class="item call${isError && " failed"}" data-kind="${kinds}"${isOpen && html` open`}${hunks && html` data-print`}>
<summary>${iconOf(kind)}<b>${name}</b> <span class="target">${target}</span>${outcome(result, world.call, lines)}${isError && html`<span class="why">${reason(result?.text ?? "")}</span>`}</summary>
<div class="body">${hunks ? diffHtml(hunks) : input(name, use?.input)}${output(name, result, hunks !== undefined)}${media.map((part) => mediaHtml(part, world.media.get(part)))}</div>
</details>
`
}

function targetOf(name: string, given: unknown, { call, cwd }: CallWorld): string {
  const whole = call?.target || oneLine(inputText(name, given).slice(0, 600))
  return cut(cwd !== null && whole.startsWith(`${cwd}/`) ? whole.slice(cwd.length + 1) : whole, 300)
}

function outcome(
  result: CallItem["result"],
  call: ToolCall | undefined,
  lines: { readonly added: number; readonly removed: number } | undefined,
): Content {
  if (result === undefined) return html`<span class="end">no answer</span>`
  if (result.isError)
    return html`<span class="end bad">${call?.exitCode ? `exit ${call.exitCode}` : "error"}</span>`
  if (lines === undefined) return undefined
  return html`<span class="end"><span class="plus">+${lines.added}</span> <span class="minus">−${lines.removed}</span></span>`
}

/** The first line that says more than that there was an error. */
const reason = (text: string): string =>
  cut(
    oneLine(
      text
        .slice(0, 4000)
        .replace(/^(?:Error: )?Exit code -?\d+\s*|<\/?tool_use_error>/g, "")
        .trim()
        .split("\n", 1)[0]!,
    ),
    ERROR,
  )

function input(name: string, given: unknown): Content {
  const kind = toolKind(name)
  const fields = objectOf(given)
  const todos = todosOf(name, given)
  if (todos !== undefined) {
    return html`<ul class="todos">${todos.map(
      ({ content, status }) =>
        html`<li class="${status === "completed" ? "done" : status === "in_progress" ? "now" : "open"}">${content}</li>`,
    )}</ul>`
  }
  const prose =
    kind === "agent" ? stringOf(fields["prompt"]) : kind === "plan" ? stringOf(fields["plan"]) : undefined
  if (prose !== undefined) return markdown(prose)
  return given === undefined ? undefined : longText(inputText(name, given), isShell(name) ? "in shell" : "in")
}

function output(name: string, result: CallItem["result"], isChange: boolean): Content {
  if (result === undefined || result.text === "") return undefined
  // That a file was changed is said above, as is a list of todos.
  if (!result.isError && (isChange || toolKind(name) === "todo")) return undefined
  if (!result.isError && toolKind(name) === "agent") return markdown(result.text)
  return longText(result.text, result.isError ? "out bad" : "out")
}
