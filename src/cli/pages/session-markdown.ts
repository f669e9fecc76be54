/** Renders a session as readable Markdown. Pure. */
import { toolKind } from "../../agents/tool-kinds.ts"
import { cut, oneLine } from "../../base/text.ts"
import type { Part } from "../../record/types.ts"
import { callsIn, partText, whoseOf } from "../../views/part-text.ts"
import type { Session } from "../../views/queries/sessions.ts"
import type { Lineage } from "../../views/queries/transcripts.ts"
import type { WholeTurn } from "../../views/turn.ts"

const HEADING = 100

export function sessionMarkdown(session: Session, lineage: Lineage): string {
  const facts: readonly (readonly [string, string | null])[] = [
    ["session", session.id],
    ["subagent of", session.parent],
    ["continues", lineage.parents.map((parent) => `${parent.session} (${parent.kind})`).join(", ") || null],
    ["folder", session.cwd],
    ["branch", session.branch],
    ["Claude Code", session.version],
    ["time", `${session.started ?? "unknown"} to ${session.ended ?? "unknown"}`],
  ]
  const lines = facts
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `- ${name}: ${plain(value ?? "")}`)
  return `# ${plain(cut(session.title ?? session.firstPrompt ?? session.id, HEADING))}\n\n${lines.join("\n")}\n`
}

export function* turnMarkdown(turn: WholeTurn): Generator<string> {
  const prompt = turn.via === "none" ? "(before the first prompt)" : plain(cut(oneLine(turn.prompt), HEADING))
  yield `\n## ${turn.seq}. ${prompt}\n\n\`${turn.handle}\`, ${plain(turn.started ?? "time unknown")}${turn.takenBack ? ", rewound" : ""}\n`
  const callOf = callsIn(turn.tools)
  for (const { parts, sidechain } of turn.messages) {
    for (const part of parts) {
      const shown = partText(part, callOf)
      if (shown === undefined) continue
      yield `\n**${plain(shown.title)}**${whoseOf(part.origin, sidechain)}\n${body(part, shown.text)}`
    }
  }
}

function body(part: Part, text: string): string {
  if (text === "") return ""
  // The model's answers are Markdown; any other text is quoted or fenced.
  if (part.kind === "text") return `\n${closed(text.trim())}\n`
  if (["prompt", "reply", "brief", "thinking"].includes(part.kind)) return `\n${quoted(text)}\n`
  return `\n${fenced(text, part.kind === "toolUse" && toolKind(part.name) === "run" ? "console" : "")}\n`
}

const quoted = (text: string): string => `> ${text.trim().replace(/\r\n?|\n/g, "\n> ")}`

/**
 * Closes a fence that an interrupted answer left open, or all that follows would be code. One that is indented belongs
 * to a list, with which it ends.
 */
function closed(text: string): string {
  let open: string | undefined
  for (const line of text.split("\n")) {
    const [, indent, fence = "", rest = ""] = /^( {0,3})(`{3,}|~{3,})(.*)/.exec(line) ?? []
    if (fence === "") continue
    if (open !== undefined) {
      if (fence.startsWith(open) && rest.trim() === "") open = undefined
    } else if (indent === "" && !(fence.startsWith("`") && rest.includes("`"))) open = fence
  }
  return open === undefined ? text : `${text}\n${open}`
}

/** Fences a text with more backticks than any run in it. */
function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([run]) => run.length))
  const fence = "`".repeat(longest + 1)
  return `${fence}${language}\n${text.replace(/\n+$/, "")}\n${fence}`
}

/** The text on one line, with Markdown's special characters escaped. */
const plain = (text: string): string => oneLine(text).replace(/[\\`*_[\]<>#]/g, "\\$&")
