/** What a call changed in files, as lines with their context: from the call's own input, so no file is read. Pure. */
import { structuredPatch } from "diff"
import { replacedTexts } from "../agents/tool-kinds.ts"

export interface DiffLine {
  readonly mark: " " | "+" | "-"
  readonly text: string
}

/** One replaced text. Where in the file it lies is not known. */
type Hunk = readonly DiffLine[]

/** Unchanged lines shown on each side of a change. */
const CONTEXT = 3
/** Lines of both sides together. Beyond it all old lines are shown, then all new ones: a diff takes lines². */
const LONGEST = 5000
/** ms for the lines of one hunk in common. */
const TIMEOUT = 200

/** @returns undefined as `replacedTexts` */
export function editDiff(tool: string, input: unknown): Hunk[] | undefined {
  const hunks = replacedTexts(tool, input)?.flatMap(({ before, after }) =>
    before === undefined ? [marked("+", after)] : textDiff(before, after),
  )
  return hunks === undefined || hunks.length === 0 ? undefined : hunks
}

/** What differs between two texts, with its context. */
export function textDiff(before: string, after: string): Hunk[] {
  const whole = [[...marked("-", before), ...marked("+", after)]]
  if (whole[0]!.length > LONGEST) return whole
  const patch = structuredPatch("", "", ended(before), ended(after), "", "", {
    context: CONTEXT,
    timeout: TIMEOUT,
  })
  return patch?.hunks.map(({ lines }) => lines.map(lineOf)) ?? whole
}

const lineOf = (line: string): DiffLine => ({ mark: line[0] as DiffLine["mark"], text: line.slice(1) })

const marked = (mark: DiffLine["mark"], text: string): DiffLine[] =>
  text === ""
    ? []
    : text
        .replace(/\n$/, "")
        .split("\n")
        .map((line) => ({ mark, text: line }))

/** Replaced texts often end within a line, which is no change of its end. */
const ended = (text: string): string => (text === "" || text.endsWith("\n") ? text : `${text}\n`)
