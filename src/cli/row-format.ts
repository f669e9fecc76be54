/** `--format`: the rows of a --json document as text for scripts. Pure. */

import { usageError } from "../base/errors.ts"
import { nearNames } from "../base/text.ts"
import type { RowSpec } from "./command.ts"
import { escapedUnits, UNPRINTED } from "./style.ts"

/** `{name}` or `{name.of.part}`; whatever else stands in a template is printed. */
const FIELD = /\{([\w.]+)\}/g

const SHORT: Readonly<Record<string, string>> = { "\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\" }

/** @returns what makes lines of a document's rows */
export function documentFormatter(format: string, rows: RowSpec): (document: unknown) => string[] {
  const lineOf = rowFormatter(format, rows)
  return (document) => (document as Record<string, readonly unknown[]>)[rows.list]!.map(lineOf)
}

/**
 * @param format `tsv`, or a template with fields in braces, in which `\t` and `\n` are a tab and a line break
 * @returns what makes a line of a row
 * @throws CtxError exit 64 for a field that rows do not have
 */
function rowFormatter(format: string, { columns, others }: RowSpec): (row: unknown) => string {
  if (format === "tsv") return (row) => columns.map((name) => valueText(valueAt(row, name))).join("\t")
  const fields = [...columns, ...others]
  const names = [...format.matchAll(FIELD)].map(([, name]) => name!)
  const list = `fields: ${fields.join(", ")}`
  if (names.length === 0)
    throw usageError(
      `--format names no field: ${JSON.stringify(format)}`,
      `tsv, or '{${fields[0]}}'; ${list}`,
    )
  for (const name of names) {
    const [first = ""] = name.split(".")
    if (fields.includes(first)) continue
    const [near] = nearNames(first, fields, 1)
    throw usageError(
      `there is no field {${name}}`,
      near === undefined ? list : `did you mean {${near}}? ${list}`,
    )
  }
  const template = format.replaceAll("\\t", "\t").replaceAll("\\n", "\n")
  return (row) => template.replace(FIELD, (_, name: string) => valueText(valueAt(row, name)))
}

function valueAt(row: unknown, name: string): unknown {
  let value = row
  for (const part of name.split(".")) {
    const isThere = typeof value === "object" && value !== null && Object.hasOwn(value, part)
    value = isThere ? (value as Record<string, unknown>)[part] : undefined
  }
  return value
}

/** On one line: tabs, line breaks, backslashes and what a terminal would obey are escaped as in JSON. */
function valueText(value: unknown): string {
  if (value === undefined || value === null) return ""
  const text = typeof value === "object" ? JSON.stringify(value) : String(value)
  return text.replace(/[\t\n\r\\]/g, (sign) => SHORT[sign]!).replace(UNPRINTED, escapedUnits)
}
