/** Lines of a file as it is now, named as `FILE:LINE` or `FILE:LINE-LINE`. */
import { CtxError, EXIT, usageError } from "../util/errors.ts"
import { readOrdinary } from "../util/files.ts"
import { existsSync } from "../util/fs.ts"
import { count } from "../util/text.ts"
import { isCommonLine } from "./line-effect.ts"
import type { SoughtLine } from "./line-origins.ts"

export interface LinesNamed {
  /** As it was typed. */
  readonly file: string
  readonly from: number
  readonly to: number
}

/** @returns undefined if it names no line */
export function linesNamed(text: string): LinesNamed | undefined {
  const [, file, from, to = from] = /^(.+):(\d{1,9})(?:-(\d{1,9}))?$/.exec(text) ?? []
  return file === undefined ? undefined : { file, from: Number(from), to: Number(to) }
}

/** Bytes. Nobody asks where a line of a larger file comes from. */
const LARGEST = 32 << 20
/** How far away a line that tells something is looked for, to suggest it. */
const NEAR = 20

/**
 * The lines that can be told from others.
 *
 * @param path absolute
 * @throws CtxError exit 3 if there is no such file, exit 64 if it has no such line, or only lines that stand everywhere
 */
export function linesOfFile(path: string, { file, from, to }: LinesNamed): SoughtLine[] {
  if (!existsSync(path)) {
    throw new CtxError(
      "not-found",
      `there is no file ${file}: a line is looked up in the file as it is now`,
      {
        hint: `ctxbridge blame ${file} lists the turns that touched it`,
        exit: EXIT.notFound,
      },
    )
  }
  const content = readOrdinary(path, LARGEST)
  if (content === undefined) throw usageError(`${file} is not a file of at most ${LARGEST >> 20} MB`)
  const all = content.replace(/\r?\n$/, "").split(/\r?\n/)
  if (from < 1 || to < from || to > all.length) {
    throw usageError(
      `${file} has no line ${from === to ? from : `${from}-${to}`}`,
      `it has ${count(all.length, "line")}`,
    )
  }
  const wanted = all.slice(from - 1, to).map((text, n) => ({ line: from + n, text }))
  const telling = wanted.filter(({ text }) => !isCommonLine(text))
  if (telling.length === 0) throw tooCommon(file, all, from, to)
  return telling
}

function tooCommon(file: string, all: readonly string[], from: number, to: number): CtxError {
  const which = from === to ? `line ${from} of ${file} is` : `lines ${from}-${to} of ${file} are`
  const isTelling = (line: number): boolean =>
    line >= 1 && line <= all.length && !isCommonLine(all[line - 1]!)
  const steps = Array.from({ length: NEAR }, (_, n) => n + 1)
  const near = [
    ...steps
      .map((n) => from - n)
      .filter(isTelling)
      .slice(0, 1),
    ...steps
      .map((n) => to + n)
      .filter(isTelling)
      .slice(0, 1),
  ]
  return usageError(
    `${which} blank or stand${from === to ? "s" : ""} in many places: nothing tells where from`,
    near.length === 0
      ? "name a line with words in it"
      : `try ${near.map((line) => `${file}:${line}`).join(" or ")}`,
  )
}
