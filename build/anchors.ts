/**
 * Writes two files that are made from the tables of formats: src/secrets/anchors.ts, by which hooks find what may be a
 * token without loading the tables, and src/secrets/formats/rows.ts, by which a row is found without reading the
 * others. Run it after a change of the tables: `bun build/anchors.ts`. A test compares.
 */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { ALPHABETS, type Anchor, anchorsOf, parseShape, type Shape } from "../src/secrets/formats/shape.ts"
import { FORMATS } from "../src/secrets/formats/table.ts"
import { BETWEEN } from "../src/secrets/seek.ts"

const SECRETS = join(import.meta.dir, "../src/secrets")
export const ANCHORS_FILE = join(SECRETS, "anchors.ts")
export const ROWS_FILE = join(SECRETS, "formats/rows.ts")

const rowsOf = new Map<string, number[]>()
const textsOf = new Map<Anchor["kind"], Set<string>>()
/** Words of which some row is not as described at ORDINARY. */
const special = new Set<string>()
for (const [row, [, written]] of FORMATS.entries()) {
  const shape = parseShape(written)
  for (const { kind, text } of anchorsOf(shape)) {
    if (!shape.isStrict || !hasLongRun(shape)) special.add(text)
    rowsOf.set(text, [...(rowsOf.get(text) ?? []), row])
    textsOf.set(kind, (textsOf.get(kind) ?? new Set()).add(text))
  }
}

/** Whether a word is followed by nothing but a run of at least 20 letters, digits, `_` and `-`. */
function hasLongRun({ parts }: Shape): boolean {
  const run = parts.find((part) => part.kind === "run")
  return (
    run !== undefined &&
    run.least >= 20 &&
    parts.indexOf(run) <= 2 &&
    ALPHABETS[run.alphabet].match(/[+/.~]/) === null
  )
}

const anchorsOfKind = (kind: Anchor["kind"]): string[] => [...(textsOf.get(kind) ?? [])].sort()

export function rowsFile(): string {
  const rows = [...rowsOf].sort().map(([anchor, numbers]) => `${anchor} ${numbers.join(" ")}`)
  return `/** What a format is found by, and its rows in the tables. Made by build/anchors.ts. Pure. */
export const ROWS = \`
${rows.join("\n")}
\`
`
}

const WIDTH = 110

export function anchorsFile(): string {
  const heads = anchorsOfKind("head")
  const words = anchorsOfKind("word")
  return `/** What the formats of tokens are found by. Made by build/anchors.ts from the tables in formats/. Pure. */

/** The words before the first separator, each with that separator. */
export const WORDS =
  ${JSON.stringify(` ${words.filter((one) => special.has(one)).join(" ")} `)}

/** Words that occur anywhere. In a format at least 20 letters, digits, \`_\` and \`-\` follow. */
${textOf("ORDINARY", ` ${words.filter((one) => !special.has(one)).join(" ")} `)}

/** The first characters of formats without a separator. */
export const HEADS =
  ${JSON.stringify(` ${heads.join(" ")} `)}

/** Matches up to the third character of one of them, and more. */
export const plainGate = (): RegExp =>
  /${gateSource(heads)}/g

/** Other beginnings, which are searched for directly. */
${textOf("LITERALS", anchorsOfKind("literal").join(BETWEEN))}

/** Texts in the middle of formats that begin with random characters. */
${textOf("MIDDLES", anchorsOfKind("middle").join(BETWEEN))}
`
}

/** As the formatter writes it. */
function textOf(name: string, text: string): string {
  const line = `export const ${name} = ${JSON.stringify(text)}`
  return line.length > WIDTH ? line.replace(" = ", " =\n  ") : line
}

/** What precedes is no part of a word, unless it ends an escape (\`\\n\`) or a colour (\`[32m\`). */
function gateSource(heads: readonly string[]): string {
  const at = (n: number): string => [...new Set(heads.map((head) => head[n]!))].sort().join("")
  return `[^A-Za-lo-qsu-z0-9][${at(0)}][${at(1)}][${at(2)}](?=[\\w+/:.|-]{12})`
}

if (import.meta.main) {
  writeFileSync(ANCHORS_FILE, anchorsFile())
  writeFileSync(ROWS_FILE, rowsFile())
}
