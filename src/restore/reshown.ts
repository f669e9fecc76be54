/**
 * What the host shows the model again after a compaction: the plan, the texts of skills and commands that were invoked,
 * the files used last. Its lines are not in the transcript yet when we are asked, so they are made from earlier ones.
 */
import type { Database } from "../archive/database.ts"
import { decodeLine } from "../transcript/decode.ts"
import { closeSync } from "../util/fs.ts"
import { isAbsolute, join } from "../util/path.ts"
import { atLeast } from "../util/version.ts"
import { openSource } from "../vault/capture.ts"
import { readExactly } from "../vault/file.ts"
import { vaultFile } from "../vault/layout.ts"
import { CopyReaders } from "../vault/reader.ts"
import type { Scope, ScopePart } from "./scope.ts"
import { readSmall } from "./standing.ts"

/** The oldest host that was seen to show them, and the oldest that shows what the user has invoked, too. */
const SHOWS_AGAIN = [2, 0, 76] as const
const SHOWS_TYPED = [2, 1, 112] as const
/** Bytes of a plan. */
const LONGEST_PLAN = 100_000
/** Bytes at the end of a transcript in which the session's other name is looked for; most lines have it. */
const NAMED_WITHIN = 64 << 10
/** Bytes of a file that the host shows whole, whatever is in it: it tells longer ones than 5,000 tokens by name. */
const LONGEST_FILE = 10_000
/** The host cuts a skill's text, and leaves out the oldest: 5,000 and 25,000 tokens, of 4 characters to it. */
const SKILL_LONGEST = 20_000
const SKILLS_LONGEST = 100_000
const MOST_SKILLS = 20
/** Lines of the host behind a call or command among which the text stands. */
const LINES_BEHIND = 4

/** Where it stands. */
export interface Reshown {
  readonly claudeDir: string
  readonly dataHome: string
}

export interface Shown {
  readonly session: string
  readonly scope: Scope
  /** Of the host. */
  readonly version: string | undefined
  /** Paths of files. */
  readonly files: readonly string[]
}

/** @returns what they say; what is not there any more is left out */
export function reshownText(db: Database, shown: Shown, places: Reshown): string {
  if (!atLeast(shown.version, SHOWS_AGAIN)) return ""
  const plan = planOf(db, shown.session, places.claudeDir)
  return [plan, ...skillsOf(db, shown, places.dataHome), ...filesOf(shown.files)].join("\n")
}

/** With its path, which the host tells as well. A plan is named as the host names the session besides its id. */
function planOf(db: Database, session: string, claudeDir: string): string {
  const row = db
    .query<{ path: string }, [string]>(
      "SELECT path FROM transcripts WHERE session = ? ORDER BY id DESC LIMIT 1",
    )
    .get(session)
  const name = row === null ? undefined : slugIn(row.path)
  if (name === undefined) return ""
  const path = join(claudeDir, "plans", `${name}.md`)
  const plan = readSmall(path, LONGEST_PLAN)
  return plan === undefined ? "" : `${path}\n${plan}`
}

function slugIn(transcript: string): string | undefined {
  try {
    const source = openSource(transcript)
    if (source === undefined) return undefined
    try {
      const { size } = source.stats
      const from = Math.max(0, size - NAMED_WITHIN)
      const end = Buffer.from(readExactly(source.fd, from, size - from)).toString("latin1")
      const at = end.lastIndexOf('"slug":"')
      return at < 0 ? undefined : /^"slug":"([a-z0-9-]{1,200})"/.exec(end.slice(at, at + 220))?.[1]
    } finally {
      closeSync(source.fd)
    }
  } catch {
    return undefined
  }
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
  readonly copy: string
  readonly offset: number
  readonly length: number
}

/** The latest text of each, the latest first. */
function skillsOf(db: Database, { scope, version }: Shown, dataHome: string): string[] {
  const invoked = scope
    .filter(({ session }) => !session.includes("/"))
    .flatMap((part) => [...called(db, part), ...(atLeast(version, SHOWS_TYPED) ? typed(db, part) : [])])
  if (invoked.length === 0) return []
  const names = new Set<string>()
  const texts: string[] = []
  let left = SKILLS_LONGEST
  const readers = new CopyReaders()
  try {
    for (const invocation of invoked.sort((a, b) => b.after - a.after)) {
      const name = invocation.target.replace(/^\//, "").split(" ", 1)[0]!
      if (names.has(name)) continue
      const text = textOf(db, invocation, dataHome, readers)?.slice(0, SKILL_LONGEST)
      if (text === undefined) continue
      names.add(name)
      if (text.length > left) continue
      texts.push(text)
      left -= text.length
      if (names.size >= MOST_SKILLS) break
    }
  } finally {
    readers.close()
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
function textOf(
  db: Database,
  { turn, after }: Invocation,
  dataHome: string,
  readers: CopyReaders,
): string | undefined {
  const lines = db
    .query<Place, [number, number]>(
      `SELECT t.copy, m.offset, m.length FROM messages m JOIN transcripts t ON t.id = m.transcript
       WHERE m.turn = ? AND m.id > ? AND m.role = 'host' AND m.sidechain = 0 ORDER BY m.id LIMIT ${LINES_BEHIND}`,
    )
    .all(turn, after)
  for (const { copy, offset, length } of lines) {
    for (const part of partsAt(readers, vaultFile(dataHome, copy), offset, length)) {
      if (part.kind === "context" && part.source === "skill") return part.text
      if (part.kind === "notice" && !/^\s*(?:<|Caveat:)/.test(part.text)) return part.text
    }
  }
  return undefined
}

/** A copy that is damaged or missing costs its own texts only; `verify` tells of it. */
function partsAt(readers: CopyReaders, file: string, offset: number, length: number) {
  try {
    return decodeLine(Buffer.from(readers.of(file).read(offset, offset + length)).toString()).parts
  } catch {
    return []
  }
}
