/** What `blame FILE:LINE` and `why FILE:LINE` answer, for commands and for the server. */
import type { Database } from "../archive/database.ts"
import { folderOf } from "../archive/project.ts"
import { type NoteBefore, notesUpTo } from "../archive/queries/file-edits.ts"
import { openTurn, type ToldPart } from "../read/turn.ts"
import { existsSync } from "../util/fs.ts"
import { basename, resolve } from "../util/path.ts"
import { namesWithin, wordSet, wordsOf } from "../util/words.ts"
import type { CopyReaders } from "../vault/reader.ts"
import { isEveryday } from "./everyday-words.ts"
import { type LineEdit, type LinesOrigin, originsOfLines } from "./line-origins.ts"
import { linesNamed, linesOfFile } from "./lines-named.ts"
import type { Topic } from "./topics.ts"

export interface LinesReason extends LinesOrigin {
  /** Null where the edit is. */
  readonly reasons: LineReasons | null
}

export interface Place {
  readonly folder: string
  readonly home: string
}

/** Whether the words name a line, and no file that is really called so. */
export const namesLine = (text: string, { folder, home }: Place): boolean =>
  linesNamed(text) !== undefined && !existsSync(absolute(text, { folder, home }))

const absolute = (typed: string, { folder, home }: Place): string =>
  typed.startsWith("~/") ? resolve(home, typed.slice(2)) : resolve(folder, typed)

/**
 * @param topic its text is `FILE:LINE` or `FILE:LINE-LINE`
 * @throws CtxError as `linesOfFile`
 */
export function blameLines({ db, dataHome, readers, text, project }: Topic, place: Place): LinesOrigin[] {
  const named = linesNamed(text)!
  const path = absolute(named.file, place)
  const root = project === undefined ? undefined : `${folderOf(project)}/`
  const end = root !== undefined && path.startsWith(root) ? path.slice(root.length) : named.file
  const lines = linesOfFile(path, named)
  return originsOfLines(db, dataHome, readers, { path, end, project, lines })
}

/** @throws CtxError as `linesOfFile` */
export function whyLines(topic: Topic, place: Place): LinesReason[] {
  const { db, dataHome, readers } = topic
  return blameLines(topic, place).map(({ lines, edit }) => {
    const texts = lines.map((one) => one.text)
    return { lines, edit, reasons: edit === null ? null : reasonsFor(db, dataHome, readers, edit, texts) }
  })
}

/** Notes of earlier turns that are looked at, and notes of all kinds that are told. */
const LOOKED_AT = 500
const TOLD = 6

/** Words of languages, in nearly every line. */
const KEYWORDS = new Set(
  "const await async export import class void null true this self public private static string boolean throw catch readonly interface type undefined none struct func impl match".split(
    " ",
  ),
)

/** What was decided, said and thought around the edit that introduced a line. Only quotes. */
interface LineReasons {
  /** Of the edit's turn, and those of earlier turns that speak of the line or the file; the latest first. */
  readonly notes: readonly Omit<NoteBefore, "seq">[]
  /** What the model said last before the edit, and first after it, of what speaks of the line or the file. */
  readonly saidBefore: string | null
  readonly saidAfter: string | null
  /** What it thought last before the edit that does. */
  readonly thought: string | null
}

/** @param lines the lines that the edit introduced */
function reasonsFor(
  db: Database,
  dataHome: string,
  readers: CopyReaders,
  edit: LineEdit,
  lines: readonly string[],
): LineReasons {
  const speaks = speaksOf(edit.path, lines)
  const notes = notesUpTo(db, edit.session, edit.seq, LOOKED_AT)
    .filter(({ seq, text }) => seq === edit.seq || speaks(text))
    .slice(0, TOLD)
    .map(({ seq: _seq, ...note }) => note)
  const parts =
    openTurn(db, dataHome, edit.handle, readers)?.messages.flatMap((message) => message.parts) ?? []
  const at = parts.findIndex((part) => part.kind === "toolUse" && part.id === edit.call)
  const [before, after] = at < 0 ? [[], []] : [parts.slice(0, at).reverse(), parts.slice(at + 1)]
  const first = (some: readonly ToldPart[], kind: "text" | "thinking"): string | null => {
    for (const part of some) if (part.kind === kind && speaks(part.text)) return part.text.trim()
    return null
  }
  return {
    notes,
    saidBefore: first(before, "text"),
    saidAfter: first(after, "text"),
    thought: first(before, "thinking"),
  }
}

/** Whether a text names the file, or a name from the lines that says something. */
function speaksOf(path: string, lines: readonly string[]): (text: string) => boolean {
  const file = basename(path).toLowerCase()
  const names = new Set(lines.flatMap((line) => namesWithin(line)))
  const subjects = [...names]
    .map((name) => ({ name: name.toLowerCase(), words: wordsOf(name) }))
    .filter(
      ({ name, words }) => name.length > 3 && words.length > 0 && !KEYWORDS.has(name) && !isEveryday(name),
    )
  return (text) => {
    if (text.toLowerCase().includes(file)) return true
    const words = wordSet(text)
    return subjects.some((subject) => subject.words.every((word) => words.has(word)))
  }
}
