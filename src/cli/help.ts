/** Renders a command's help to fit the terminal. The only importer of citty, which neither folds nor trims. */
import { type ArgsDef, renderUsage } from "citty"
import { version } from "../../package.json"
import type { Command } from "./command.ts"
import { foldedLines } from "./screen.ts"
import type { Style } from "./style.ts"

/** A name and its explanation, separated by four spaces. */
const ROW = /^ +(\S.*?) {4}(\S.*)$/
const TITLE = /^(?:USAGE|ARGUMENTS|OPTIONS)\b/
const MARGIN = "  "
/** Columns for names; a longer name gets its own line. */
const NAMES = 24
/** Columns for an explanation with which it stands beside its name. */
const LEAST = 20

/** @param columns width of the terminal */
export async function renderHelp(
  { meta, args = {} }: Command,
  columns: number,
  style: Style,
): Promise<string[]> {
  const specs = Object.entries(args).map(([name, { rest: _rest, ...spec }]) => [
    name,
    { required: false, ...spec },
  ])
  const usage = await renderUsage(
    {
      meta: { name: meta.name, description: meta.description },
      args: Object.fromEntries(specs) as ArgsDef,
    },
    { meta: { name: "ctxbridge", version } },
  )
  const lines = Bun.stripANSI(usage).trimEnd().split("\n")
  return lines.flatMap((line) => laidOut(line.trimEnd(), columns, style))
}

/** Folds one of citty's lines to the terminal. The usage line is never broken, and a name only behind a `|`. */
function laidOut(line: string, columns: number, style: Style): string[] {
  const [, name, text] = ROW.exec(line) ?? []
  if (name !== undefined && text !== undefined) return row(name, text, columns, style)
  return TITLE.test(line) ? [line.replace(TITLE, style.bold)] : foldedLines(line, columns)
}

function row(name: string, text: string, columns: number, style: Style): string[] {
  const beside = MARGIN.length + NAMES + MARGIN.length
  const isNarrow = columns - beside < LEAST
  const indent = isNarrow ? MARGIN + MARGIN : " ".repeat(beside)
  const lines = foldedLines(text, columns - indent.length).map((one) => indent + one)
  if (isNarrow || name.length > NAMES)
    return [...brokenName(name, columns - MARGIN.length).map((one) => MARGIN + style.bold(one)), ...lines]
  return [MARGIN + style.bold(name) + lines[0]!.slice(MARGIN.length + name.length), ...lines.slice(1)]
}

/** @param width columns of each piece, if there is a `|` to break it at */
function brokenName(name: string, width: number): string[] {
  const pieces: string[] = []
  for (const word of name.split(/(?<=\|)/)) {
    const last = pieces.at(-1)
    if (last !== undefined && last.length + word.length <= width) pieces[pieces.length - 1] = last + word
    else pieces.push(last === undefined ? word : MARGIN + word)
  }
  return pieces
}
