/**
 * What the host shows the model again after a compaction: the plan, the texts of skills and commands that were invoked,
 * the files used last, and in old versions the todos. Its lines are not in the transcript yet when we are asked, so they are made from earlier ones.
 */
import type { Database } from "../archive/database.ts"
import { invokedText } from "../transcript/invoked.ts"
import { closeSync } from "../util/fs.ts"
import { isAbsolute, join } from "../util/path.ts"
import { atLeast } from "../util/version.ts"
import { openSource } from "../vault/capture.ts"
import { readExactly } from "../vault/file.ts"
import type { Scope, ScopePart } from "./scope.ts"
import { readSmall } from "./standing.ts"

/** The oldest host that was seen to show them, and the oldest that shows what the user has invoked, too. */
const SHOWS_AGAIN = [2, 0, 76] as const
const SHOWS_TYPED = [2, 1, 112] as const
/** Hosts from here on do not show the todos again. */
const HIDES_TODOS = [2, 1, 0] as const
/** Bytes of a plan. */
const LONGEST_PLAN = 100_000
/** Bytes at the end of a transcript in which the session's other name is looked for; most lines have it. */
const NAMED_WITHIN = 64 << 10
/** Bytes of a file that the host shows whole, whatever is in it: it tells longer ones than 5,000 tokens by name. */
const LONGEST_FILE = 10_000
const SLUG = /^"slug":"([a-z0-9-]+)"/
const SLUG_LONGEST = 200
/** The host cuts a skill's text, and leaves out the oldest: 5,000 and 25,000 tokens, of 4 characters to it. */
const SKILL_LONGEST = 20_000
const SKILLS_LONGEST = 100_000
const MOST_SKILLS = 20
/** Lines of the host behind a call or command among which the text stands. */
const LINES_BEHIND = 4

export interface Shown {
  readonly session: string
  readonly scope: Scope
  /** Of the host. */
  readonly version: string | undefined
  /** Paths of files. */
  readonly files: readonly string[]
  readonly todos: readonly { readonly content: string; readonly status: string }[]
}

/** @returns what they say; what is not there any more is left out */
export function reshownText(db: Database, shown: Shown, claudeDir: string): string {
  if (!atLeast(shown.version, SHOWS_AGAIN)) return ""
  const plan = planOf(db, shown.session, claudeDir)
  const todos = atLeast(shown.version, HIDES_TODOS)
    ? []
    : shown.todos.map(({ content, status }) => `${content} ${status}`)
  return [plan, ...todos, ...skillsOf(db, shown), ...filesOf(shown.files)].join("\n")
}

/** With its path, which the host tells as well. A plan is named as the host names the session besides its id. */
function planOf(db: Database, session: string, claudeDir: string): string {
  const row = db
    .query<{ path: string }, [string]>(
      "SELECT path FROM transcripts WHERE session = ? ORDER BY id DESC LIMIT 1",
    )
    .get(session)
  if (row === null) return ""
  const end = readAt(row.path, -NAMED_WITHIN, NAMED_WITHIN)
  const at = end.lastIndexOf('"slug":"')
  const name = at < 0 ? undefined : SLUG.exec(end.toString("latin1", at, at + SLUG_LONGEST))?.[1]
  if (name === undefined) return ""
  const path = join(claudeDir, "plans", `${name}.md`)
  const plan = readSmall(path, LONGEST_PLAN)
  return plan === undefined ? "" : `${path}\n${plan}`
}

/** As they are now: so the host reads them. */
const filesOf = (paths: readonly string[]): string[] =>
  paths.filter(isAbsolute).flatMap((path) => readSmall(path, LONGEST_FILE) ?? [])

interface Invocation {
  /** Name and arguments, as they were given. */
  readonly target: string
  readonly turn: number
  /** id of the message behind which its text stands. */
  readonly after: number
}

interface Place {
  readonly path: string
  readonly offset: number
  readonly length: number
}

/** The latest text of each, the latest first. */
function skillsOf(db: Database, { scope, version }: Shown): string[] {
  const invoked = scope
    .filter(({ session }) => !session.includes("/"))
    .flatMap((part) => [...called(db, part), ...(atLeast(version, SHOWS_TYPED) ? typed(db, part) : [])])
  if (invoked.length === 0) return []
  const names = new Set<string>()
  const texts: string[] = []
  let left = SKILLS_LONGEST
  for (const invocation of invoked.sort((a, b) => b.after - a.after)) {
    const name = invocation.target.replace(/^\//, "").split(" ", 1)[0]!
    const text = names.has(name) ? undefined : textOf(db, invocation)?.slice(0, SKILL_LONGEST)
    if (text === undefined) continue
    names.add(name)
    if (text.length > left) continue
    texts.push(text)
    left -= text.length
  }
  return texts
}

/** By the model. */
const called = (db: Database, { session, upTo }: ScopePart): Invocation[] =>
  db
    .query<Invocation, [string, number]>(
      `SELECT target, turn, result AS after FROM tool_calls
       WHERE session = ? AND turn <= ? AND name = 'Skill' AND is_error = 0 AND sidechain = 0 AND origin <> 'import'
       ORDER BY result DESC LIMIT ${MOST_SKILLS}`,
    )
    .all(session, upTo)

/** By the user; the host's own commands have no text. */
const typed = (db: Database, { session, upTo }: ScopePart): Invocation[] =>
  db
    .query<Invocation, [string, number]>(
      `SELECT prompt AS target, id AS turn, (SELECT min(m.id) FROM messages m WHERE m.turn = turns.id) AS after FROM turns
       WHERE session = ? AND id <= ? AND via = 'command' AND (tools > 0 OR answer <> '') AND origin <> 'import'
       ORDER BY id DESC LIMIT ${MOST_SKILLS}`,
    )
    .all(session, upTo)

/** What the host has put behind it in the place of a prompt. */
function textOf(db: Database, { turn, after }: Invocation): string | undefined {
  const lines = db
    .query<Place, [number, number]>(
      `SELECT t.path, m.offset, m.length FROM messages m JOIN transcripts t ON t.id = m.transcript
       WHERE m.turn = ? AND m.id > ? AND m.role = 'host' AND m.sidechain = 0 ORDER BY m.id LIMIT ${LINES_BEHIND}`,
    )
    .all(turn, after)
  for (const { path, offset, length } of lines) {
    const text = invokedText(readAt(path, offset, length).toString())
    if (text !== undefined) return text
  }
  return undefined
}

const NOTHING = Buffer.alloc(0)

/**
 * A part of a transcript, which the host has at this moment: unpacking the vault's copy takes longer than all else.
 *
 * @param from bytes; below 0, of the file's end
 */
function readAt(path: string, from: number, length: number): Buffer {
  try {
    const source = openSource(path)
    if (source === undefined) return NOTHING
    try {
      const start = from < 0 ? Math.max(0, source.stats.size + from) : from
      const { buffer, byteOffset, byteLength } = readExactly(source.fd, start, length)
      return Buffer.from(buffer, byteOffset, byteLength)
    } finally {
      closeSync(source.fd)
    }
  } catch {
    return NOTHING
  }
}
