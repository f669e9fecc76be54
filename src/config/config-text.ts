/**
 * Sets one option in the text of a configuration file and leaves everything else as its owner wrote it: order, comments,
 * blank lines. Pure.
 */
import type { Settings } from "./load.ts"
import type { Problem } from "./options.ts"

/** `[restore]`, perhaps with a comment. */
const TABLE = /^\s*\[([^[\]]+)\]\s*(?:#.*)?$/
/** `budget =`, `"restore.budget" =`, with what follows. */
const SETTING = /^(\s*((?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*)\s*=\s*)(.*)$/
/** A comment behind a value without quotes; one behind a text cannot be told from its content by a pattern. */
const COMMENT = /^[^"'#[]*(\s#.*)$/

/**
 * @param literal the value in TOML
 * @returns undefined if the result would not have just this option set
 */
export function withOption(text: string, key: string, literal: string): string | undefined {
  const changed = changedText(text, key, literal)
  const [before, after, value] = [flatOf(text), flatOf(changed), flatOf(`value = ${literal}`)]
  if (before === undefined || after === undefined || value === undefined) return undefined
  const expected = JSON.stringify(sorted({ ...before, [key]: value["value"] }))
  return JSON.stringify(sorted(after)) === expected ? changed : undefined
}

/** The same without the option; undefined: that cannot be done by leaving out one line. */
export function withoutOption(text: string, key: string): string | undefined {
  const changed = changedText(text, key, undefined)
  const [before, after] = [flatOf(text), flatOf(changed)]
  if (before === undefined || after === undefined) return undefined
  const { [key]: _, ...rest } = before
  return JSON.stringify(sorted(after)) === JSON.stringify(sorted(rest)) ? changed : undefined
}

/** @param literal undefined: its line goes */
function changedText(text: string, key: string, literal: string | undefined): string {
  const lines = text.split("\n")
  let table = ""
  let firstTable = lines.length
  for (const [n, line] of lines.entries()) {
    const head = TABLE.exec(line)?.[1]
    if (head !== undefined) {
      table = bare(head)
      firstTable = Math.min(firstTable, n)
      continue
    }
    const [, begin = "", name = "", rest = ""] = SETTING.exec(line) ?? []
    if (name === "" || (table === "" ? bare(name) : `${table}.${bare(name)}`) !== key) continue
    if (literal === undefined) return lines.toSpliced(n, 1).join("\n")
    lines[n] = `${begin}${literal}${COMMENT.exec(rest)?.[1] ?? ""}`
    return lines.join("\n")
  }
  if (literal === undefined) return text
  // Behind a table's head, it would be one of the table's.
  const [above, below] = [lines.slice(0, firstTable), lines.slice(firstTable)]
  while (above.at(-1)?.trim() === "") above.pop()
  return [...above, `${key} = ${literal}`, ...(below.length > 0 ? ["", ...below] : [""])].join("\n")
}

const bare = (name: string): string =>
  name
    .split(".")
    .map((part) => part.trim().replace(/^["']|["']$/g, ""))
    .join(".")

/** By full names, as options are; undefined if it is no TOML. */
function flatOf(text: string): Record<string, unknown> | undefined {
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
