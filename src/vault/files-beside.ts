/**
 * Files that Claude Code keeps beside a session's transcript, in the session's folder: outputs too long for the
 * transcript, plans, what subagents were started as. Each has a copy like a transcript; its text belongs to the result
 * it is of.
 */
import { placeBeside } from "../agents/layouts.ts"
import { statsOf } from "../base/files.ts"
import { existsSync, readdirSync } from "../base/fs.ts"
import { dirname, join } from "../base/path.ts"
import type { Paths, Policy } from "../config/load.ts"
import { captureTranscript } from "./capture.ts"
import { knownOf } from "./known-values.ts"
import { vaultFile, vaultPath } from "./layout.ts"

/** How deep folders are nested in a session's; Claude Code goes to two. */
const DEEPEST = 4

interface Folder {
  readonly path: string
  readonly files: readonly string[]
}

/** @param isWanted whether to look into a folder */
function* foldersBelow(path: string, isWanted: (path: string) => boolean, depth = 0): Generator<Folder> {
  let entries: ReturnType<typeof list>
  try {
    entries = list(path)
  } catch {
    // There is none, or we may not look: `verify` names what is missing.
    return
  }
  const files: string[] = []
  for (const entry of entries) {
    const one = join(path, entry.name)
    // Never a link: it may lead anywhere.
    if (entry.isDirectory() && depth < DEEPEST) yield* foldersBelow(one, isWanted, depth + 1)
    // Claude Code, and we, write files under such names before they have their own.
    else if (entry.isFile() && !entry.name.startsWith(".") && placeBeside(one) !== undefined) files.push(one)
  }
  if (files.length > 0 && isWanted(path)) yield { path, files: files.sort() }
}

const list = (path: string) => readdirSync(path, { withFileTypes: true })

const folderOfSession = (transcript: string): string => transcript.replace(/\.jsonl$/, "")

/** All files beside a session's transcript. A subagent's are beside that of its session. */
export function besideTranscript(transcript: string): string[] {
  const folder = folderOfSession(transcript)
  // Most have none, and an error costs more than a look.
  if (!existsSync(folder)) return []
  return [...foldersBelow(folder, () => true)].flatMap(({ files }) => files)
}

/**
 * For a hook: takes those that the vault does not know, until the deadline. A folder with nothing newer than its copies is
 * not looked through; a file that has grown is left to the job.
 *
 * @returns whether something is left
 */
export function takeNewBeside(
  paths: Pick<Paths, "dataHome" | "home"> & Partial<Policy>,
  transcript: string,
  now: number,
  deadline: number,
): boolean {
  const options = { now, deadline, hurried: true, lastLine: "any", known: knownOf } as const
  const copyOf = (path: string): string => vaultFile(paths.dataHome, vaultPath(path, paths.home))
  const isNewer = (path: string): boolean => {
    const copies = statsOf(dirname(copyOf(join(path, "x"))))
    return copies === undefined || (statsOf(path)?.mtimeMs ?? 0) >= copies.mtimeMs
  }
  for (const { files } of foldersBelow(folderOfSession(transcript), isNewer)) {
    for (const file of files) {
      if (existsSync(copyOf(file))) continue
      if (performance.now() >= deadline) return true
      const { state } = captureTranscript(paths, file, options).captured
      if (state === "forgotten") return false
      if (state !== "current") return true
    }
  }
  return false
}
