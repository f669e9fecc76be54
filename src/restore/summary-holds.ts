/** Tells whether a text contains a fact, however it is quoted; for receipts and for `bench survive`. Pure. */
import { oneLine } from "../util/text.ts"
import { lastTwo } from "./paths.ts"
import { containsWhole } from "./whole-words.ts"

/** What receipts count: facts, sentences and numbers. */
export const HELD_KINDS = ["constraint", "decision", "path", "command", "name", "error", "number"] as const

export type HeldKind = (typeof HELD_KINDS)[number]

/** A restore cuts long sentences; this many characters identify one. */
const SENTENCE_KNOWN = 120

/** Short names of a conversation's facts, where they are unambiguous. */
export interface ShortNames {
  path(path: string): string | undefined
  command(command: string): string | undefined
}

/**
 * Makes a function that tells whether a text contains a fact. White space, case and a restore's quotation marks do not
 * matter.
 *
 * @param short short names by which facts are also recognised
 */
export function holderOf(text: string, short?: ShortNames): (kind: HeldKind, fact: string) => boolean {
  const known = essence(text)
  return (kind, fact) => {
    switch (kind) {
      case "path":
        // A path is recognised by its folder and name, since sessions write it relative to many places.
        return (
          containsWhole(known, essence(lastTwo(fact))) ||
          inSharedFolder(known, fact) ||
          holdsName(known, short?.path(fact))
        )
      case "command":
        return containsWhole(known, essence(fact)) || isQuoted(known, short?.command(fact))
      case "constraint":
      case "decision":
        return known.includes(essence(fact).slice(0, SENTENCE_KNOWN))
      case "number":
        return holdsNumber(known, fact)
      default:
        return containsWhole(known, essence(fact))
    }
  }
}

const essence = (text: string): string =>
  oneLine(text.replace(/\\"/g, '"').replace(/[`‹<]/g, "'")).toLowerCase()

/** `in dir/: a.ts b.ts` contains dir/b.ts. A name with spaces is the only one in its line. */
function inSharedFolder(known: string, path: string): boolean {
  const end = path.lastIndexOf("/") + 1
  const folder = essence(path.slice(0, end))
  const name = essence(path.slice(end))
  if (folder === "" || !known.includes(folder)) return false
  return known
    .split(`in '${folder}': '`)
    .map((part) => part.split("'")[0]!)
    .some((names, n) => n > 0 && (names === name || names.split(" ").includes(name)))
}

/** Whether the text contains the name, not as part of another name or in another folder. */
function holdsName(known: string, name: string | undefined): boolean {
  if (name === undefined) return false
  const wanted = essence(name)
  for (let at = known.indexOf(wanted); at >= 0; at = known.indexOf(wanted, at + 1)) {
    const after = known.slice(at + wanted.length, at + wanted.length + 2)
    if (
      !/[\p{L}\p{N}_./\\-]$/u.test(known.slice(Math.max(0, at - 2), at)) &&
      !/^[\p{L}\p{N}_/-]|^\.[\p{L}\p{N}]/u.test(after)
    )
      return true
  }
  return false
}

/** The command must be quoted: in prose its words may mean anything. */
const isQuoted = (known: string, command: string | undefined): boolean =>
  command !== undefined && known.includes(`'${essence(command)}'`)

/**
 * @param paths all paths in the conversation
 * @param commands all commands in it
 */
export function shortNames(paths: Iterable<string>, commands: Iterable<string>): ShortNames {
  const files = grouped(paths, (path) => path.slice(path.lastIndexOf("/") + 1))
  const runs = grouped(commands, withoutOptions)
  return {
    path(path) {
      const name = path.slice(path.lastIndexOf("/") + 1)
      const longest = files.get(name)?.reduce((a, b) => (b.length > a.length ? b : a))
      // One file, written relative to several places.
      const isOne =
        longest !== undefined && files.get(name)!.every((one) => `/${longest}`.endsWith(`/${one}`))
      return isOne && /\w\.\w/.test(name) ? name : undefined
    },
    command(command) {
      const words = withoutOptions(command)
      return words !== undefined && runs.get(words)?.length === 1 ? words : undefined
    },
  }
}

/** `git status --short` → `git status`: at least two words, followed by nothing but options. */
function withoutOptions(command: string): string | undefined {
  const words = command.trim().split(/\s+/)
  const options = words.findIndex((word) => word.startsWith("-"))
  const isShort = options >= 2 && words.slice(options).every((word) => /^-[\w-]+$/.test(word))
  return isShort ? words.slice(0, options).join(" ") : undefined
}

function grouped(
  facts: Iterable<string>,
  keyOf: (fact: string) => string | undefined,
): Map<string, string[]> {
  const groups = new Map<string, string[]>()
  for (const fact of facts) {
    const key = keyOf(fact)
    if (key !== undefined) groups.set(key, [...(groups.get(key) ?? []), fact])
  }
  return groups
}

/** Whether the text contains the number, not as part of another one. */
function holdsNumber(known: string, number: string): boolean {
  const wanted = essence(number)
  for (let at = known.indexOf(wanted); at >= 0; at = known.indexOf(wanted, at + 1)) {
    const before = known.slice(Math.max(0, at - 2), at)
    const after = known.slice(at + wanted.length, at + wanted.length + 2)
    if (!/\d$|\d[.,]$/.test(before) && !/^\d|^[.,]\d/.test(after)) return true
  }
  return false
}
