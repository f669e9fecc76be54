/**
 * What Claude Code adds to every context itself: the memory files of organisation, user and folders, their imports, and
 * their rules. Read the way Claude Code does, as far as that takes negligible time.
 */

import { statsOf, tryTo } from "../../base/files.ts"
import { readdirSync, realpathSync } from "../../base/fs.ts"
import { dirname, isAbsolute, join, resolve } from "../../base/path.ts"
import type { ClaudePlaces } from "../../config/load.ts"
import { readSmall } from "../../vault/source-file.ts"
import { folderOf, projectOf } from "../../views/project.ts"
import { MEMORY, OWN_MEMORY, PROJECT_MEMORY, projectFolder } from "../places.ts"
import { type ContextSettings, MANAGED } from "../settings/read-settings.ts"
import { claudeState } from "../settings/state-file.ts"

/** Maximum bytes of a file; Claude Code warns of longer ones. */
const LONGEST = 100_000
const MOST_BYTES = 256_000
const MOST_FILES = 100
/** How many imports are followed and names in folders examined, whether or not there is anything to read. */
const MOST_TRIED = 400
const MOST_FOLDERS = 20
const DEEPEST_IMPORT = 4
const DEEPEST_RULES = 4
/** Claude Code only reads the beginning of its own memory. */
const OWN_MEMORY_LINES = 200
const OWN_MEMORY_BYTES = 25_000

/** @returns their texts; what cannot be read is left out */
export function standingText(places: ClaudePlaces, settings: ContextSettings): string {
  return new Memory(places, settings).text()
}

/**
 * A user's file may import from anywhere, a project's only from the session's folder. Managed files cannot be excluded.
 */
type Trust = "managed" | "user" | "project"

class Memory {
  readonly #places: ClaudePlaces
  readonly #settings: ContextSettings
  readonly #seen = new Set<string>()
  readonly #texts: string[] = []
  #left = MOST_BYTES
  #tried = 0
  #inside: string | undefined
  #mayLeave: boolean | undefined

  constructor(places: ClaudePlaces, settings: ContextSettings) {
    this.#places = places
    this.#settings = settings
  }

  text(): string {
    const { cwd, claudeDir } = this.#places
    this.#file(join(MANAGED, "CLAUDE.md"), "managed")
    this.#rules(join(MANAGED, ".claude", "rules"), "managed")
    this.#file(join(claudeDir, MEMORY.file), "user")
    this.#rules(join(claudeDir, MEMORY.rules), "user")
    if (cwd === undefined) return this.#texts.join("\n")
    for (const folder of upwards(cwd)) {
      for (const name of PROJECT_MEMORY.files) this.#file(join(folder, name), "project")
      this.#rules(join(folder, PROJECT_MEMORY.rules), "project")
    }
    this.#ownMemory(cwd)
    return this.#texts.join("\n")
  }

  #file(path: string, trust: Trust, depth = 0, isRule = false): void {
    if (trust !== "managed" && this.#settings.isExcluded(path)) return
    const content = this.#read(path)
    if (content === undefined) return
    const { text, imports, conditional } = memoryFile(content)
    if (isRule && conditional) return
    this.#texts.push(text)
    if (depth >= DEEPEST_IMPORT) return
    for (const written of imports) {
      if (++this.#tried > MOST_TRIED) return
      const imported = this.#resolved(written, path)
      if (trust !== "project" || this.#mayRead(imported)) this.#file(imported, trust, depth + 1)
    }
  }

  #rules(folder: string, trust: Trust, depth = 0): void {
    if (depth > DEEPEST_RULES || statsOf(folder)?.isDirectory() !== true || this.#seen.has(folder)) return
    this.#seen.add(folder)
    if (trust === "project" && !this.#mayRead(folder, dirname(dirname(folder)))) return
    for (const name of namesIn(folder)) {
      if (++this.#tried > MOST_TRIED) return
      const path = join(folder, name)
      if (!name.endsWith(".md")) this.#rules(path, trust, depth + 1)
      else if (trust !== "project" || this.#mayRead(path, folder)) this.#file(path, trust, 0, true)
    }
  }

  /** Reads what newer versions of Claude Code write down for themselves. */
  #ownMemory(cwd: string): void {
    const { ownMemory } = this.#settings
    if (ownMemory === "none") return
    const ofProject = (folder: string): string =>
      join(projectFolder(this.#places.claudeDir, folder), OWN_MEMORY.folder)
    const folders = ownMemory === undefined ? new Set([cwd, rootOf(cwd)].map(ofProject)) : [ownMemory]
    for (const folder of folders) {
      const content = this.#read(join(folder, OWN_MEMORY.file))
      if (content === undefined) continue
      const lines = content.slice(0, OWN_MEMORY_BYTES).split("\n")
      this.#texts.push(lines.slice(0, OWN_MEMORY_LINES).join("\n"))
    }
  }

  /** Reads each file once. Does not wait for a pipe or device. */
  #read(path: string): string | undefined {
    if (this.#seen.has(path) || this.#seen.size >= MOST_FILES) return undefined
    const size = statsOf(path)?.size
    if (size === undefined) return undefined
    this.#seen.add(path)
    const content = readSmall(path, Math.min(LONGEST, this.#left))
    this.#left -= content?.length ?? 0
    return content
  }

  #resolved(written: string, importer: string): string {
    if (written.startsWith("~/")) return join(this.#places.home, written.slice(2))
    return isAbsolute(written) ? resolve(written) : resolve(join(dirname(importer), written))
  }

  /**
   * Whether Claude Code would read a file of the project: links are resolved, and the result must be in the session's
   * folder or `folder`.
   */
  #mayRead(path: string, folder?: string): boolean {
    try {
      this.#inside ??= realpathSync(this.#places.cwd!)
      const real = realpathSync(path)
      if (isBelow(real, this.#inside)) return true
      if (folder !== undefined && isBelow(real, realpathSync(folder))) return true
      // Whether the user has allowed this project to import from elsewhere.
      this.#mayLeave ??= isApproved(this.#places)
      return this.#mayLeave
    } catch {
      return false
    }
  }
}

const isBelow = (path: string, folder: string): boolean => path.startsWith(`${folder.replace(/\/$/, "")}/`)

function isApproved(places: ClaudePlaces): boolean {
  const { ofFolder } = claudeState(places)
  return upwards(places.cwd!).some(
    (folder) => ofFolder(folder)["hasClaudeMdExternalIncludesApproved"] === true,
  )
}

/** The repository's folder, whose worktrees share this memory. */
const rootOf = (cwd: string): string => folderOf(projectOf(cwd))

function* upwards(folder: string): Generator<string> {
  let at = folder
  for (let n = 0; n < MOST_FOLDERS; n++) {
    yield at
    const above = dirname(at)
    if (above === at) return
    at = above
  }
}

/** Sorted, so that the same files give the same text. */
const namesIn = (folder: string): string[] => tryTo(() => readdirSync(folder).sort()) ?? []

/** What Claude Code takes from a memory file: its text and the files it imports. Pure. */

interface MemoryFile {
  /** Without front matter, and without comments on lines of their own. */
  readonly text: string
  /** As written after the `@`, without the part from `#` on. */
  readonly imports: readonly string[]
  /** Whether it only applies to certain files and so is not part of every context. */
  readonly conditional: boolean
}

const FRONT_MATTER = /^---[ \t]*\r?\n([\s\S]*?)^---[ \t]*(?:\r?\n|$)/m
const FENCE = /^\s*(?:>\s*|[-*+]\s+|\d{1,9}[.)]\s+)*(`{3,}|~{3,})/
const LIST_ITEM = /^\s*(?:[-*+]|\d{1,9}[.)])\s/
const IMPORT = /(?:^|\s)@((?:[^\s\\]|\\ )+)/g

export function memoryFile(content: string): MemoryFile {
  const front = content.startsWith("---") ? FRONT_MATTER.exec(content) : null
  const body = front?.index === 0 ? content.slice(front[0].length) : content
  const lines = new Lines()
  for (const line of body.split(/\r?\n/)) lines.take(line)
  return {
    text: lines.text.join("\n"),
    imports: [...new Set(lines.imports)],
    conditional: front?.index === 0 && namesPaths(front[1]!),
  }
}

/** Whether there is a condition such as `paths: src/**` or a list. Only `**` is no condition. */
function namesPaths(front: string): boolean {
  const value = /^paths:[ \t]*(.*(?:\r?\n[ \t]*-.*)*)/m.exec(front)?.[1] ?? ""
  const patterns = value.replace(/["'[\]]/g, "").split(/[\s,]+/)
  return patterns.some((pattern) => !["", "-", "**", "**/**"].includes(pattern))
}

/** Follows Markdown as far as imports require: skips code and comments. */
class Lines {
  readonly text: string[] = []
  readonly imports: string[] = []
  #fence: string | undefined
  #comment = false
  #blank = true
  #list = false

  take(line: string): void {
    if (this.#fence !== undefined) {
      this.text.push(line)
      const end = line.trim()
      if (end.startsWith(this.#fence) && end === this.#fence[0]!.repeat(end.length)) this.#fence = undefined
      return
    }
    const told = this.#withoutComment(line)
    if (told === undefined) return
    this.text.push(told)
    const isCode = this.#isIndented(told)
    this.#blank = told.trim() === "" || isCode
    if (isCode) return
    this.#fence = FENCE.exec(told)?.[1]
    if (this.#fence === undefined && told.includes("@"))
      for (const part of withoutCode(told)) this.#noteImports(part)
  }

  /** The line without its comment; undefined when nothing is left. */
  #withoutComment(line: string): string | undefined {
    let rest = line
    if (!this.#comment) {
      if (!rest.trimStart().startsWith("<!--")) return line
      rest = rest.slice(rest.indexOf("<!--") + "<!--".length)
    }
    const end = rest.indexOf("-->")
    this.#comment = end < 0
    rest = end < 0 ? "" : rest.slice(end + "-->".length)
    return rest.trim() === "" ? undefined : rest
  }

  /** Four spaces after a blank line mean code, except in a list, which they continue. */
  #isIndented(line: string): boolean {
    const deep = /^(?: {4}|\t)/.test(line)
    if (LIST_ITEM.test(line)) this.#list = !deep || this.#list
    else if (!deep && line.trim() !== "" && this.#blank) this.#list = false
    return deep && this.#blank && !this.#list && line.trim() !== ""
  }

  #noteImports(prose: string): void {
    for (const [, written = ""] of prose.matchAll(IMPORT)) {
      const path = written.replace(/#.*/, "").replaceAll("\\ ", " ")
      if (/^(?:\.{0,2}\/|~\/|[A-Za-z0-9._-])/.test(path) && path !== "/") this.imports.push(path)
    }
  }
}

/** The text between code spans. A span reaches from a run of backticks to the next run of the same length. */
function withoutCode(line: string): string[] {
  const runs = [...line.matchAll(/`+/g)].map(({ index, 0: { length } }) => ({ index, length }))
  const next: number[] = []
  const later = new Map<number, number>()
  for (let n = runs.length - 1; n >= 0; n--) {
    next[n] = later.get(runs[n]!.length) ?? -1
    later.set(runs[n]!.length, n)
  }
  const told: string[] = []
  let at = 0
  for (let n = 0; n < runs.length; n++) {
    const end = next[n]!
    if (end < 0) continue
    told.push(line.slice(at, runs[n]!.index))
    at = runs[end]!.index + runs[end]!.length
    n = end
  }
  return [...told, line.slice(at)]
}
