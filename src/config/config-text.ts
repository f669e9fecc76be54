/**
 * Sets one option in the text of a configuration file and leaves everything else as its owner wrote it: order, comments,
 * blank lines, line ends. Pure.
 */
import type { Settings } from "./load.ts"
import type { Problem } from "./options.ts"

/** `[restore]`, perhaps with a comment. */
const TABLE = /^\s*\[([^[\]]+)\]\s*(?:#.*)?$/
/** `budget =`, `"restore.budget" =`, with what follows. */
const SETTING = /^(\s*((?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*)\s*=\s*)(.*)$/
/** A text, or a comment with the blanks before it: what looks like a comment within a text is none. */
const TEXT_OR_COMMENT =
  /"""(?:\\[\s\S]|[^\\])*?"{3,5}|'''[\s\S]*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|(?<comment>[ \t]*#[^\n]*)/g

/**
 * @param literal the value in TOML
 * @returns undefined if the result would not have just this option set
 */
export function withOption(text: string, key: string, literal: string): string | undefined {
  const before = flatOf(text)
  const changed = before && changedText(text, key, literal)
  const [after, value] = [flatOf(changed), flatOf(`value = ${literal}`)]
  if (before === undefined || after === undefined || value === undefined) return undefined
  const expected = JSON.stringify(sorted({ ...before, [key]: value["value"] }))
  return JSON.stringify(sorted(after)) === expected ? changed : undefined
}

/** The same without the option; undefined: that cannot be done by leaving out its lines. */
export function withoutOption(text: string, key: string): string | undefined {
  const before = flatOf(text)
  const changed = before && changedText(text, key, undefined)
  const after = flatOf(changed)
  if (before === undefined || after === undefined) return undefined
  const { [key]: _, ...rest } = before
  return JSON.stringify(sorted(after)) === JSON.stringify(sorted(rest)) ? changed : undefined
}

/**
 * @param text valid TOML
 * @param literal undefined: its lines go
 */
function changedText(text: string, key: string, literal: string | undefined): string {
  const lines = text.split("\n")
  const plain = lines.map((line) => line.replace(/\r$/, ""))
  const end = text.includes("\r\n") ? "\r" : ""
  let table = ""
  let firstTable = lines.length
  let own: { table: string; at: number } | undefined
  for (let n = 0, last = 0; n < lines.length; n = last + 1) {
    last = n
    const head = TABLE.exec(plain[n]!)?.[1]
    if (head !== undefined) {
      table = bare(head)
      firstTable = Math.min(firstTable, n)
      if (key.startsWith(`${table}.`)) own = { table, at: n + 1 }
      continue
    }
    const [, begin = "", name = "", rest = ""] = SETTING.exec(plain[n]!) ?? []
    if (name === "") continue
    const valueTo = (to: number): string => [rest, ...plain.slice(n + 1, to + 1)].join("\n")
    while (last < lines.length - 1 && flatOf(`value = ${valueTo(last)}`) === undefined) last++
    if (own?.table === table) own.at = last + 1
    if ((table === "" ? bare(name) : `${table}.${bare(name)}`) !== key) continue
    // Of the line before the last one, only half of the end would be left.
    if (literal === undefined)
      return lines
        .toSpliced(n, last + 1 - n)
        .join("\n")
        .replace(/\r$/, "")
    const { within, behind } = commentsOf(valueTo(last))
    const ending = lines[last]!.slice(plain[last]!.length)
    const now = [...within.map((comment) => comment + end), `${begin}${literal}${behind}${ending}`]
    return lines.toSpliced(n, last + 1 - n, ...now).join("\n")
  }
  if (literal === undefined) return text
  // Behind another table's head, it would be one of that table's.
  const at = own?.at ?? firstTable
  const name = own === undefined ? key : key.slice(own.table.length + 1)
  const [above, below] = [lines.slice(0, at), lines.slice(at)]
  while (above.at(-1)?.trim() === "") above.pop()
  // The last one may have had no end.
  const ended = above.map((line, n) => line + (lines.length - 1 === n ? end : ""))
  const gap = own === undefined && below.length > 0 ? [end] : []
  return [...ended, `${name} = ${literal}${end}`, ...gap, ...(below.length > 0 ? below : [""])].join("\n")
}

/** The comments among the lines of a value, which stay as lines before the new one, and the one behind it. */
function commentsOf(value: string): { within: readonly string[]; behind: string } {
  const lastLine = value.lastIndexOf("\n")
  const within: string[] = []
  let behind = ""
  for (const { index, groups } of value.matchAll(TEXT_OR_COMMENT)) {
    const comment = groups?.["comment"]
    if (comment === undefined) continue
    if (index > lastLine) behind = comment
    else within.push(comment.trim())
  }
  return { within, behind }
}

const bare = (name: string): string =>
  name
    .split(".")
    .map((part) => part.trim().replace(/^["']|["']$/g, ""))
    .join(".")

/** By full names, as options are; undefined if it is no TOML. */
function flatOf(text: string | undefined): Record<string, unknown> | undefined {
  if (text === undefined) return undefined
  try {
    return flat(Bun.TOML.parse(text) as Record<string, unknown>)
  } catch {
    return undefined
  }
}

const flat = (table: Record<string, unknown>, prefix = ""): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(table).flatMap(([name, value]) =>
      isTable(value) ? Object.entries(flat(value, `${prefix}${name}.`)) : [[`${prefix}${name}`, value]],
    ),
  )

const isTable = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype

const sorted = (table: Record<string, unknown>): [string, unknown][] =>
  Object.entries(table).toSorted(([a], [b]) => (a < b ? -1 : 1))

/*
 * What a person is told about options that do not take effect as set. A command refuses to run because of errors in the
 * user's own file or environment, since those values were intended. A project's file comes with `git clone` and stops
 * nobody. Pure.
 */

interface Refusal {
  /** One line: option, value, where it is set, what is allowed. */
  readonly message: string
  readonly hint: string
  /** Whether only some of the user's patterns are not used. The others are, so commands go on. */
  readonly goesOn: boolean
}

/** @returns undefined when everything the user set takes effect */
export function refusalOf({ paths, resolved, broken }: Settings): Refusal | undefined {
  const unread = broken.filter((text) => text.startsWith(`${paths.configFile}: `))
  const wrong = resolved.problems.filter(({ origin, isValue }) => isValue && origin !== "project")
  const lines = [
    ...unread.map((text) => `your file cannot be read: ${text}`),
    ...wrong.map((problem) => `${problem.key}: ${problem.message}, ${placeOf(problem, paths.configFile)}`),
  ]
  const [first] = lines
  if (first === undefined) return undefined
  const [option] = wrong
  const only = lines.length === 1 ? option : undefined
  return {
    message: lines.length === 1 ? first : `${first} (and ${lines.length - 1} more)`,
    goesOn: unread.length === 0 && wrong.every(({ key }) => key === "secrets.patterns"),
    hint: `ctxbridge config ${only === undefined ? "list" : `get ${only.key}`} shows what counts instead`,
  }
}

const placeOf = ({ variable }: Problem, file: string): string =>
  variable === undefined ? `in ${file}` : `in the environment: ${variable}`
