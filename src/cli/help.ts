/** A command's help, for a terminal of any width. Pure. */
import type { ArgSpec, Command } from "./command.ts"
import type { Style } from "./style.ts"

type Named = readonly [name: string, spec: ArgSpec]

/** Columns for the names: a longer one has a line of its own. */
const NAMES = 20
const MARGIN = "  "
const BESIDE = NAMES + 2 * MARGIN.length
/** What an explanation gets in the narrowest terminal. */
const LEAST = 20

/** @param columns width of the terminal */
export function renderHelp({ meta, args = {} }: Command, columns: number, style: Style): string[] {
  const all: readonly Named[] = Object.entries(args)
  const places = all.filter(([, { type }]) => type === "positional")
  const options = all.filter(([, { type }]) => type !== "positional")
  const list = (named: readonly Named[], label: (one: Named) => string): string[] =>
    named.flatMap((one) => explained(label(one), one, columns, style))
  return [
    ...folded(meta.description, columns),
    "",
    `${style.bold("Usage:")} ${["ctxbridge", meta.name, "[options]", ...places.map(inUsage)].join(" ")}`,
    "",
    ...(places.length > 0 ? [...list(places, placeLabel), ""] : []),
    style.bold("Options:"),
    ...list(options, optionLabel),
  ]
}

/** Words to choose from begin small. */
const isChoice = (hint: string | undefined): boolean => /^[a-z]/.test(hint ?? "")

const placeName = ([name, { valueHint }]: Named): string =>
  isChoice(valueHint) ? name.toUpperCase() : (valueHint ?? name.toUpperCase())

const inUsage = (place: Named): string =>
  place[1].required === true ? placeName(place) : `[${placeName(place)}]`

const placeLabel = (place: Named): string =>
  isChoice(place[1].valueHint) ? `${placeName(place)}: ${place[1].valueHint}` : placeName(place)

function optionLabel([name, { type, alias, valueHint = "VALUE" }]: Named): string {
  const flags = alias === undefined ? `--${name}` : `-${alias}, --${name}`
  return type === "boolean" ? flags : `${flags} ${valueHint}`
}

function explained(label: string, [, spec]: Named, columns: number, style: Style): string[] {
  const { description, default: otherwise } = spec
  const text = otherwise === undefined ? description : `${description} (default: ${otherwise})`
  const lines = folded(text, Math.max(LEAST, columns - BESIDE)).map((line) => " ".repeat(BESIDE) + line)
  const name = MARGIN + style.bold(label)
  if (label.length > NAMES) return [name, ...lines]
  return [name + lines[0]!.slice(MARGIN.length + label.length), ...lines.slice(1)]
}

/** In lines of at most `width` columns; a longer word stays whole. */
function folded(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ""
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`
    if (line !== "" && Bun.stringWidth(longer) > width) {
      lines.push(line)
      line = word
    } else line = longer
  }
  return [...lines, line]
}
