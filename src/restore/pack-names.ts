/** Puts many short names on few lines, each line a code span of words as in a shell. Pure. */
import { lastTwo } from "./paths.ts"
import { code } from "./quote.ts"

const LINE = 160
/** A longer name is cut. */
const SHOWN = 220
/** A folder is shown only once if its path is this long and contains this many of the likeliest names. */
const FOLDER_LONG = 10
const FOLDER_SHARED = 3
const LIKELIEST = 20

/** Lines of a list and the characters they take, including newlines. */
class Lines {
  readonly #room: number
  readonly #lines = new Map<string, { words: string; readonly isAlone: boolean }[]>()
  #used = 0

  constructor(room: number) {
    this.#room = room
  }

  /** @returns whether there was room for the word */
  add(folder: string, word: string): boolean {
    const lines = this.#lines.get(folder) ?? []
    const last = lines.at(-1)
    // A name with spaces gets a line of its own: among others, its ends would be unclear.
    const isAlone = /\s/.test(word)
    const joins =
      last !== undefined && !last.isAlone && !isAlone && last.words.length + 1 + word.length <= LINE
    const cost = (joins ? word : shown(folder, word)).length + 1
    if (this.#used + cost > this.#room) return false
    this.#used += cost
    if (joins) last.words += ` ${word}`
    else lines.push({ words: word, isAlone })
    this.#lines.set(folder, lines)
    return true
  }

  *all(): Generator<string> {
    for (const [folder, lines] of this.#lines) for (const { words } of lines) yield shown(folder, words)
  }
}

const shown = (folder: string, words: string): string =>
  folder === "" ? `- ${code(words, SHOWN)}` : `- in ${code(folder, SHOWN)}: ${code(words, SHOWN)}`

/**
 * As many words as fit, in order.
 *
 * @param room characters for all lines, including the newline before each
 */
export function pack(words: readonly string[], room: number): Iterable<string> {
  const shared = sharedFolders(words)
  const lines = new Lines(room)
  let refused = 0
  for (const word of words) {
    const folder = folderOf(word)
    const isShared = shared.has(folder)
    if (!lines.add(isShared ? folder : "", isShared ? word.slice(folder.length) : word)) refused++
    if (refused > 5) break
  }
  return lines.all()
}

/** A path's folder without its last part, which stays with the name: both together identify a file. */
const folderOf = (path: string): string => path.slice(0, path.length - lastTwo(path).length)

function sharedFolders(words: readonly string[]): ReadonlySet<string> {
  const counts = new Map<string, number>()
  for (const word of words.slice(0, LIKELIEST)) {
    const folder = folderOf(word)
    if (folder.length >= FOLDER_LONG) counts.set(folder, (counts.get(folder) ?? 0) + 1)
  }
  return new Set([...counts].filter(([, n]) => n >= FOLDER_SHARED).map(([folder]) => folder))
}
