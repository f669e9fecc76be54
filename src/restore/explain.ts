/** Explains why each part of a restore is there. Pure. */

import { count } from "../base/text.ts"
import { HANDLE_PREFIX } from "../record/our-marks.ts"
import type { Fact, Facts, RelatedLine } from "./material.ts"
import { ANSWERS_TITLE, FOCUSED_TITLE, ON_THE_WAY, RELATED_TITLE } from "./render.ts"

export interface Section {
  /** `""` for what precedes the first title. */
  readonly title: string
  readonly why: string
  readonly lines: readonly string[]
  /** In UTF-16 units, including newlines. */
  readonly characters: number
  /** The facts it shows that may be needed again, and how much they were used. */
  readonly facts: readonly Fact[]
  /** The other sessions' turns that it shows, and the words or files they share with the current subject. */
  readonly related: readonly { readonly handle: string; readonly words: readonly string[] }[]
}

/** Keyed by the beginning of a section's title. */
const REASONS: readonly (readonly [title: string, why: string])[] = [
  ["The user's prompt", "an automatic compaction swallows the prompt that waits for an answer"],
  ["Standing user constraints", "sentences of the user worded as rules, the latest first"],
  ["Notes kept", "what the model kept for the project, the latest first"],
  ["Open todos", "the task list, without what is done"],
  ["Files in flight", "written or edited last"],
  ["Commands run", "used often and lately"],
  ["Commands", "the last that failed and has not succeeded since, and the last that succeeded"],
  [ANSWERS_TITLE, "what the user chose or typed when the model asked, the latest first"],
  ["User decisions", "what the user chose among the options that the model gave, the latest first"],
  ["Model decisions", "sentences of the model worded as decisions, the latest first"],
  ["Subagents", "what the model had them do, the latest first"],
  ["Failed approaches", "sentences of the model about an approach that failed, the latest first"],
  ["Errors seen", "errors seen often and lately"],
  ["Paths", "used often and lately"],
  ["Names", "used often and lately"],
  [
    RELATED_TITLE,
    "they share rare words with the pending prompt, else with the latest turn's, or changed the same files last",
  ],
  [FOCUSED_TITLE, "they share rare words with what the user wrote after /compact"],
  ["Sessions before it", "the project's other sessions, the latest first"],
  ["Turns", "the latest turns, to be opened by their handles"],
]

const HEAD = "what the text is, and how to find more"

/** The parts of a restore or pointer, in order. */
export function explain(text: string, facts?: Facts, related: readonly RelatedLine[] = []): Section[] {
  if (text === "") return []
  return text.split("\n## ").map((part, n) => {
    const [title = "", ...lines] = n === 0 ? ["", ...part.split("\n")] : part.split("\n")
    return {
      title,
      why: n === 0 ? HEAD : (REASONS.find(([begin]) => title.startsWith(begin))?.[1] ?? ""),
      lines,
      characters: part.length + (n === 0 ? 0 : "\n## ".length),
      facts: factsOf(title, facts).filter(tellerOf(part)),
      related:
        title === RELATED_TITLE
          ? related
              .filter(({ handle }) => lines.some((line) => line.startsWith(`- ${HANDLE_PREFIX}${handle} `)))
              .map(({ handle, words, files = words }) => ({ handle: HANDLE_PREFIX + handle, words: files }))
          : [],
    }
  })
}

function factsOf(title: string, facts: Facts | undefined): readonly Fact[] {
  if (title === "Errors seen") return facts?.errors ?? []
  if (title === "Paths") return facts?.paths ?? []
  if (title === "Names") return facts?.names ?? []
  return title === "Commands run" ? (facts?.commands ?? []) : []
}

/** Makes a function that tells whether a section shows a fact. */
function tellerOf(part: string): (fact: Fact) => boolean {
  const words = new Set(part.split(/[\s`"]+/))
  return ({ text, whole, form = text }) => {
    if (/\s/.test(text)) return part.includes(form) || part.includes(text)
    return words.has(text) || (whole !== undefined && words.has(whole))
  }
}

/* What a restore gave back, in one line for the user. Only counts: it contains no word of the archive. */

/** What the lines of each section are, by the beginning of its title. In lists, facts are counted instead of lines. */
const KINDS: readonly (readonly [noun: string, titles: readonly string[]])[] = [
  ["constraint", ["Standing user constraints"]],
  ["todo", ["Open todos"]],
  ["note", ["Notes kept"]],
  ["decision", ["User decisions", "Model decisions", "Failed approaches"]],
  ["path", ["Files in flight", "Paths"]],
  ["name", ["Names"]],
  ["command", ["Commands"]],
  ["error", ["Errors seen"]],
  ["subagent", ["Subagents"]],
  ["turn", ["Turns"]],
  ["related turn", ["Related turns"]],
]

/** Characters per token, roughly: there is no tokenizer here. */
const TOKEN = 3.5

export const tokensOf = (characters: number): number => Math.ceil(characters / TOKEN)

/** @returns `""` when nothing was given */
export function receiptLine(text: string, facts: Facts): string {
  if (text === "") return ""
  const sections = explain(text, facts)
  const told = KINDS.map(([noun, titles]) => [noun, countIn(sections, titles)] as const)
    .filter(([, n]) => n > 0)
    .map(([noun, n]) => count(n, noun))
  const size = `${count(text.length, "character")}, about ${count(tokensOf(text.length), "token")}`
  return `ctxbridge restored ${told.join(", ") || "the waiting prompt"} (${size}). Details: ctxbridge receipts`
}

function countIn(sections: readonly Section[], titles: readonly string[]): number {
  return sections
    .filter(({ title }) => titles.some((begin) => title.startsWith(begin)))
    .reduce((sum, { lines, facts }) => sum + (facts.length > 0 ? facts.length : listed(lines)), 0)
}

const listed = (lines: readonly string[]): number =>
  lines.filter((line) => line.startsWith("- ") && !line.endsWith(ON_THE_WAY)).length
