/** What a restore gave back, in one line for the user. Only counts: it contains no word of the archive. Pure. */
import { count } from "../base/text.ts"
import { explain, type Section } from "./explain.ts"
import type { Facts } from "./material.ts"
import { ON_THE_WAY } from "./render.ts"

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
