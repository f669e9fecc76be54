/**
 * Writes the search index of a folder of pages (search-format.ts): the texts of each session, and in two segments which
 * words are where. What has changed since the large segment was written is in the small one, until that has grown too
 * much of the whole.
 */
import { isShell, toolKind } from "../../agents/tool-kinds.ts"
import { tryTo } from "../../base/files.ts"
import { existsSync, readFileSync, rmSync } from "../../base/fs.ts"
import { fileNamesIn } from "../../base/json-files.ts"
import { join } from "../../base/path.ts"
import { cut } from "../../base/text.ts"
import { wordSet } from "../../base/words.ts"
import { inputText } from "../../views/part-text.ts"
import type { WholeTurn } from "../../views/turn.ts"
import { writeExport } from "./output-file.ts"
import {
  type Catalogue,
  dataScript,
  LOADER,
  lengthLetter,
  listInScript,
  packed,
  SEGMENTS,
  TEXT_KINDS,
  type TurnTexts,
  type WordShard,
} from "./search-format.ts"

/** UTF-16 units that are searched of each text. */
const MOST = { prompt: 20_000, answer: 20_000, command: 2000, error: 2000, file: 2000 } as const
/** UTF-16 units of a shard, about: it is loaded within a tenth of the time that somebody notices. */
const SHARD = 64 << 10
/** The part of all turns that may be in the small segment. */
const SMALL = 0.2

/** Kinds of tools whose target is a file. */
const FILE_KINDS: ReadonlySet<string> = new Set(["read", "write", "edit"])

export const searchFolder = (pages: string): string => join(pages, "search")

/**
 * What is searched of a turn; undefined: nothing.
 *
 * @param folders of its session: what lies in one of them is named from there
 */
export function textsOfTurn(turn: WholeTurn, folders: readonly string[]): TurnTexts | undefined {
  const texts: (number | string)[] = []
  const targets = new Map(turn.tools.map(({ id, target }) => [id, target]))
  const add = (kind: (typeof TEXT_KINDS)[number], text: string): void => {
    if (/\S/.test(text)) texts.push(TEXT_KINDS.indexOf(kind), cut(text.trim(), MOST[kind], ""))
  }
  for (const { parts } of turn.messages) {
    for (const part of parts) {
      if (part.kind === "prompt" || part.kind === "brief") add("prompt", part.text)
      else if (part.kind === "reply") add("prompt", `${part.question} ${part.text}`)
      else if (part.kind === "text") add("answer", part.text)
      else if (part.kind === "toolUse" && toolKind(part.name) !== "todo") {
        const target = isShell(part.name) ? "" : (targets.get(part.id) ?? "")
        const folder = folders.find((one) => target.startsWith(`${one}/`))
        const text = folder === undefined ? target : target.slice(folder.length + 1)
        const isFile = target !== "" && FILE_KINDS.has(toolKind(part.name) ?? "")
        add(isFile ? "file" : "command", text || inputText(part.name, part.input))
      } else if (part.kind === "toolResult" && part.isError) add("error", part.text)
      else if (part.kind === "apiError") add("error", part.text)
    }
  }
  return texts.length === 0 ? undefined : [turn.handle, turn.seq, turn.started, ...texts]
}

/** Which files there are; whoever makes the page of sessions remembers it for the next time. */
export interface IndexState {
  /** Names of texts' files, in the segment's order. */
  readonly large: readonly string[]
  readonly small: readonly string[]
  /** Goes up with each segment that is written, so that a page that is open finds its own or nothing. */
  readonly number: number
  /** Names of the segments, those first that count. */
  readonly segments: readonly string[]
}

const NOTHING: IndexState = { large: [], small: [], number: 0, segments: [] }

const textsFile = (folder: string, name: string): string => join(folder, `d-${name}.js`)

/** @param turns of one session and its subagents */
export function writeTexts(pages: string, name: string, turns: readonly TurnTexts[]): void {
  writeData(searchFolder(pages), `d-${name}`, turns)
}

/** Makes no folder: where somebody has forgotten something just then, there is none, and nothing may come back. */
function writeData(folder: string, name: string, list: readonly unknown[]): void {
  writeExport(join(folder, `${name}.js`), [new TextEncoder().encode(dataScript(name, list))], true)
}

export const hasTexts = (pages: string, name: string): boolean =>
  existsSync(textsFile(searchFolder(pages), name))

/**
 * Makes the index what these texts are.
 *
 * @param names of all texts that are to be found
 * @param changed those that were written since `before`
 */
export function writeIndex(
  pages: string,
  names: readonly string[],
  changed: ReadonlySet<string>,
  before: IndexState = NOTHING,
): IndexState {
  const folder = searchFolder(pages)
  const wanted = new Set(names)
  const known = new Set(before.large)
  const isThere = [SEGMENTS, ...before.segments.map((segment) => `c-${segment}`)].every((name) =>
    existsSync(join(folder, `${name}.js`)),
  )
  const small = names.filter((name) => changed.has(name) || before.small.includes(name) || !known.has(name))
  const gone = before.large.filter((name) => !wanted.has(name)).length
  const isLarge = !isThere || small.length + gone > SMALL * names.length
  const isSame =
    !isLarge && changed.size === 0 && small.length === before.small.length && before.segments.length > 0
  if (isSame) return before
  const state = isLarge
    ? { large: names, small: [], number: before.number + 1, segments: [`a${before.number + 1}`] }
    : {
        ...{ large: before.large, small, number: before.number + 1 },
        segments: [`b${before.number + 1}`, ...before.segments.filter((one) => one.startsWith("a"))],
      }
  writeSegment(folder, state.segments[0]!, isLarge ? names : small)
  writeData(folder, SEGMENTS, state.segments)
  for (const file of fileNamesIn(folder)) {
    const [, segment, name] = /^(?:[ct]-([ab]\d+)(?:-\d+)?|d-(.+))\.js$/.exec(file) ?? []
    const isOld = segment !== undefined && !state.segments.includes(segment)
    const isGone = isOld || (name !== undefined && !wanted.has(name))
    if (isGone) tryTo(() => isOurs(join(folder, file)) && rmSync(join(folder, file)))
  }
  return state
}

/** In a folder of the user's, other files may have such names. */
const isOurs = (path: string): boolean => readFileSync(path, "utf8").startsWith(`${LOADER}(`)

function writeSegment(folder: string, segment: string, names: readonly string[]): void {
  const postings = new Map<string, number[]>()
  const files: (string | number)[] = []
  let lengths = ""
  let turn = 0
  for (const name of names) {
    const turns = listInScript(readFileSync(textsFile(folder, name), "utf8")) as TurnTexts[]
    for (const one of turns) {
      const words = kindsOfWords(one)
      for (const [word, kinds] of words) {
        const row = postings.get(word)
        if (row === undefined) postings.set(word, [(turn << 4) | kinds])
        else row.push((turn << 4) | kinds)
      }
      lengths += lengthLetter(words.size)
      turn++
    }
    files.push(name, turns.length)
  }
  const first = writeShards(folder, segment, postings)
  const catalogue: Catalogue = [files, lengths, first]
  writeData(folder, `c-${segment}`, catalogue)
}

function kindsOfWords(turn: TurnTexts): Map<string, number> {
  const found = new Map<string, number>()
  for (let n = 3; n < turn.length; n += 2) {
    const kind = TEXT_KINDS[Number(turn[n])]!
    const bit = 1 << TEXT_KINDS.indexOf(kind === "file" ? "command" : kind)
    for (const word of wordSet(String(turn[n + 1]))) found.set(word, (found.get(word) ?? 0) | bit)
  }
  return found
}

/** @returns the first word of each */
function writeShards(
  folder: string,
  segment: string,
  postings: ReadonlyMap<string, readonly number[]>,
): string[] {
  const first: string[] = []
  let words: string[] = []
  let turns: string[] = []
  let size = 0
  const flush = (): void => {
    if (words.length === 0) return
    const shard: WordShard = [words.join(" "), turns.join(" ")]
    writeData(folder, `t-${segment}-${first.length}`, shard)
    first.push(words[0]!)
    words = []
    turns = []
    size = 0
  }
  for (const word of [...postings.keys()].sort()) {
    const row = packed(postings.get(word)!)
    words.push(word)
    turns.push(row)
    size += word.length + row.length + 2
    if (size >= SHARD) flush()
  }
  flush()
  return first
}
