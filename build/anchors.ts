/**
 * What is made from the tables of formats: by what hooks find what may be a token without loading the tables, and by
 * what a row is found without reading the others. build/formats.ts writes both to dist/formats/.
 */
import { FORMATS } from "../src/secrets/formats/all-formats.ts"
import { ALPHABETS, type Anchor, anchorsOf, parseShape, type Shape } from "../src/secrets/formats/shape.ts"
import { BETWEEN } from "../src/secrets/seek.ts"

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

/** The module by which table.ts finds the rows of an anchor. */
export function rowsModule(): string {
  const rows = [...rowsOf].sort().map(([anchor, numbers]) => `${anchor} ${numbers.join(" ")}`)
  return `/** What a format is found by, and its rows in the tables: one line each. */
export const ROWS = \`
${rows.join("\n")}
\`
`
}

/** The module of what hooks look for. */
export function anchorsModule(): string {
  const heads = anchorsOfKind("head")
  const words = anchorsOfKind("word")
  const written = (texts: readonly string[]): string => JSON.stringify(` ${texts.join(" ")} `)
  return `/** The words before the first separator, each with that separator. */
export const WORDS = ${written(words.filter((one) => special.has(one)))}

/** Words that occur anywhere. In a format at least 20 letters, digits, \`_\` and \`-\` follow. */
export const ORDINARY = ${written(words.filter((one) => !special.has(one)))}

/** The first characters of formats without a separator. */
export const HEADS = ${written(heads)}

/** Matches up to the third character of one of them, and more. */
export const plainGate = () => /${gateSource(heads)}/g

/** Other beginnings, which are searched for directly. */
export const LITERALS = ${JSON.stringify(anchorsOfKind("literal").join(BETWEEN))}

/** Texts in the middle of formats that begin with random characters. */
export const MIDDLES = ${JSON.stringify(anchorsOfKind("middle").join(BETWEEN))}
`
}

/** What precedes is no part of a word, unless it ends an escape (`\\n`) or a colour (`[32m`). */
function gateSource(heads: readonly string[]): string {
  const at = (n: number): string => [...new Set(heads.map((head) => head[n]!))].sort().join("")
  return `[^A-Za-lo-qsu-z0-9][${at(0)}][${at(1)}][${at(2)}](?=[\\w+/:.|-]{12})`
}
