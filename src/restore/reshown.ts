/**
 * What the host shows the model again after a compaction: the plan, the texts of skills and commands that were invoked,
 * the files used last, and in old versions the todos. Its lines are not in the transcript yet when we are asked, so they
 * are made from earlier ones.
 */
import type { Database } from "../archive/database.ts"
import { resumedAt } from "../archive/session-files.ts"
import { currentTranscript } from "../archive/transcripts.ts"
import { isAbsolute, join } from "../util/path.ts"
import { atLeast } from "../util/version.ts"
import { readPart, readSmall } from "./disk.ts"
import { invokedTexts } from "./invoked.ts"

/** The oldest host that was seen to show them, and the oldest that shows what the user has invoked, too. */
const SHOWS_AGAIN = [2, 0, 76] as const
const SHOWS_TYPED = [2, 1, 112] as const
/** Hosts from here on keep the plan of a session that is resumed. */
const KEEPS_PLAN = [2, 1, 112] as const
/** Hosts from here on do not show the todos again. */
const HIDES_TODOS = [2, 1, 0] as const
/** Bytes of a plan. */
const LONGEST_PLAN = 100_000
/** Bytes at the end of a transcript in which the session's other name is looked for; most lines have it. */
const NAMED_WITHIN = 64 << 10
const SLUG = /^"slug":"([a-z0-9-]+)"/
const SLUG_LONGEST = 200
/** Bytes of a file that the host shows whole, whatever is in it: it tells longer ones than 5,000 tokens by name. */
const LONGEST_FILE = 10_000

export interface Shown {
  readonly session: string
  /** Of the host. */
  readonly version: string | undefined
  /** Paths of files. */
  readonly files: readonly string[]
  readonly todos: readonly { readonly content: string; readonly status: string }[]
}

/** Where it stands. */
export interface ShownFrom {
  readonly planFolders: readonly string[]
  readonly dataHome: string
}

/** @returns what they say; what is not there any more is left out */
export function reshownText(db: Database, shown: Shown, from: ShownFrom): string {
  const { session, version, files, todos } = shown
  if (!atLeast(version, SHOWS_AGAIN)) return ""
  // What was invoked before is forgotten when the host is started again.
  const since = resumedAt(from.dataHome, session)
  const plan = planOf(db, session, from.planFolders, atLeast(version, KEEPS_PLAN) ? 0 : since)
  const list = atLeast(version, HIDES_TODOS) ? [] : todos.map(({ content, status }) => `${content} ${status}`)
  const invoked = invokedTexts(db, session, since, atLeast(version, SHOWS_TYPED))
  return [plan, ...list, ...invoked, ...filesOf(files)].join("\n")
}

/**
 * With its path, which the host tells as well. A plan is named as the host names the session besides its id.
 *
 * @param since offset in the transcript from which on that name counts
 */
function planOf(db: Database, session: string, folders: readonly string[], since: number): string {
  const row = currentTranscript(db, session)
  if (row === undefined) return ""
  const from = Math.max(since, row.archived - NAMED_WITHIN)
  const end = readPart(row.path, from, NAMED_WITHIN) ?? Buffer.alloc(0)
  const at = end.lastIndexOf('"slug":"')
  const name = at < 0 ? undefined : SLUG.exec(end.toString("latin1", at, at + SLUG_LONGEST))?.[1]
  if (name === undefined) return ""
  for (const folder of folders) {
    const path = join(folder, `${name}.md`)
    const plan = readSmall(path, LONGEST_PLAN)
    if (plan !== undefined) return `${path}\n${plan}`
  }
  return ""
}

/** As they are now: so the host reads them. */
const filesOf = (paths: readonly string[]): string[] =>
  paths.filter(isAbsolute).flatMap((path) => readSmall(path, LONGEST_FILE) ?? [])
