/**
 * Adds our status line to the text of a settings file of Claude Code's, chained to an existing one if there is one, and
 * removes it. Our command contains the other one's command, so that it can be restored even if everything else is lost.
 *
 * Text in, text out; no files. Every byte that is not ours stays as it is.
 */

import {
  inserted,
  member,
  rewritten,
  splitBom,
  treeOf,
  without,
  withValue,
  written,
} from "../../base/json-text.ts"
import { isOurBinary } from "../../base/own-program.ts"
import { singleQuoted } from "../../base/text.ts"
import { SHELL_WORD } from "../../record/shell-script.ts"
import { ourProgram } from "./hooks-table.ts"
import type { WithoutOurs } from "./register.ts"

const KEY = "statusLine"

/**
 * `new` adds a status line if there is none, `chain` does so even if there is another one, `update` only brings ours up
 * to date.
 */
export type StatusLineWish = "new" | "chain" | "update"

/** `theirs`: another status line is there and stays. `other`: what is there is not a command; it stays. */
export type StatusLineState = "none" | "added" | "chained" | "updated" | "ours" | "theirs" | "other"

interface StatusLineEdit {
  readonly text: string
  readonly state: StatusLineState
}

const OURS = new RegExp(
  String.raw`^\s*(?:[A-Za-z_]\w*=(?:${SHELL_WORD})?\s+)*(${SHELL_WORD})\s+statusline(?:\s+--chain\s+('(?:[^']|'\\'')*'))?\s*$`,
)

/** The command that ours is chained to, `""` if none; undefined when the command is not ours. */
export function chainedCommand(command: string): string | undefined {
  const [, binary = "", quoted = "''"] = OURS.exec(command) ?? []
  if (!isOurBinary(binary.replace(/['"]/g, ""))) return undefined
  return quoted.slice(1, -1).replaceAll(String.raw`'\''`, "'")
}

function ourCommand(exePath: string, chained: string): string {
  return `${ourProgram(exePath)} statusline${chained === "" ? "" : ` --chain ${singleQuoted(chained)}`}`
}

/** @param text `undefined` is a file that does not exist */
export function addStatusLine(
  text: string | undefined,
  exePath: string,
  wish: StatusLineWish,
): StatusLineEdit {
  const [bom, source] = splitBom(text)
  const plain = { type: "command", command: ourCommand(exePath, "") }
  const root = treeOf(source)
  const there = member(root, KEY)
  if (there === undefined) {
    if (wish === "update") return { text: text ?? "", state: "none" }
    const added = root === undefined ? written(source, { [KEY]: plain }) : inserted(source, root, KEY, plain)
    return { text: bom + added, state: "added" }
  }
  const command = member(there, "command")
  if (typeof command?.value !== "string" || member(there, "type")?.value !== "command") {
    return { text: text ?? "", state: "other" }
  }
  const chained = chainedCommand(command.value)
  if (chained === undefined && wish !== "chain") return { text: text ?? "", state: "theirs" }
  const wanted = ourCommand(exePath, chained ?? command.value)
  if (wanted === command.value) return { text: text ?? "", state: "ours" }
  return {
    text: bom + withValue(source, command, wanted),
    state: chained === undefined ? "chained" : "updated",
  }
}

/**
 * `text` without our status line, or with the one that ours was chained to.
 *
 * @param original the text before our install, which shows how the other command was written
 */
export function removeStatusLine(text: string, original?: string): WithoutOurs {
  const [bom, source] = splitBom(text)
  const there = member(treeOf(source), KEY)
  const command = member(there, "command")
  const chained = typeof command?.value === "string" ? chainedCommand(command.value) : undefined
  if (there === undefined || command === undefined || chained === undefined) return { text, removed: [] }
  const now =
    chained === ""
      ? without(source, there.parent!)
      : rewritten(source, command, writtenIn(original, chained) ?? JSON.stringify(chained))
  return { text: bom + now, removed: [KEY] }
}

/** How `original` writes the command, if it has the same one. */
function writtenIn(original: string | undefined, command: string): string | undefined {
  const source = splitBom(original)[1]
  const node = member(member(treeOf(source), KEY), "command")
  return node?.value === command ? source.slice(node.offset, node.offset + node.length) : undefined
}
