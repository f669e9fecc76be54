/**
 * What Claude Code shows the model again after a compaction: the plan, the texts of invoked skills and commands, the
 * last used files, and in old versions the todos. Claude Code's lines are not in the transcript yet when we are asked,
 * so they are reconstructed from earlier ones.
 */

import { isAbsolute, join } from "../../base/path.ts"
import { readPart, readSmall } from "../../vault/source-file.ts"
import type { Database } from "../../views/database.ts"
import { filesOpenedIn, type Invocation, skillCalls, typedCommands } from "../../views/queries/calls.ts"
import { claudeLinesAfter, lastKinds } from "../../views/queries/messages.ts"
import type { Scope } from "../../views/queries/scope.ts"
import { latestTurnIds } from "../../views/queries/turns.ts"
import { resumedAt } from "../../views/session-files.ts"
import { currentTranscript } from "../../views/transcript-rows.ts"
import { invokedText } from "../line-texts.ts"
import { atLeast, HIDES_TODOS, KEEPS_PLAN, SHOWS_AGAIN, SHOWS_TYPED } from "../versions.ts"

const LONGEST_PLAN = 100_000
/** How many bytes at the end of a transcript are searched for the session's other name, which most lines contain. */
const NAMED_WITHIN = 64 << 10
const SLUG = /^"slug"\s*:\s*"([a-z0-9-]+)"/
const SLUG_LONGEST = 200
/** Claude Code shows a file of at most this many bytes in full; it only names files of more than 5,000 tokens. */
const LONGEST_FILE = 10_000

export interface Shown {
  readonly session: string
  readonly version: string | undefined
  readonly files: readonly string[]
  readonly todos: readonly { readonly content: string; readonly status: string }[]
}

interface ShownFrom {
  readonly planFolders: readonly string[]
  readonly dataHome: string
}

/** @returns the combined text; what no longer exists is left out */
export function reshownText(db: Database, shown: Shown, from: ShownFrom): string {
  const { session, version, files, todos } = shown
  if (!atLeast(version, SHOWS_AGAIN)) return ""
  // Claude Code forgets earlier invocations when it is restarted.
  const since = resumedAt(from.dataHome, session)
  const plan = planOf(db, session, from.planFolders, atLeast(version, KEEPS_PLAN) ? 0 : since)
  const list = atLeast(version, HIDES_TODOS) ? [] : todos.map(({ content, status }) => `${content} ${status}`)
  const invoked = invokedTexts(db, session, since, atLeast(version, SHOWS_TYPED))
  return [plan, ...list, ...invoked, ...filesOf(files)].join("\n")
}

/**
 * The plan with its path, which Claude Code also shows. A plan is named after the session's other name, not its id.
 *
 * @param since offset in the transcript from which that name counts
 */
function planOf(db: Database, session: string, folders: readonly string[], since: number): string {
  const row = currentTranscript(db, session)
  if (row === undefined) return ""
  const from = Math.max(since, row.archived - NAMED_WITHIN)
  const end = readPart(row.path, from, NAMED_WITHIN) ?? Buffer.alloc(0)
  const at = end.lastIndexOf('"slug"')
  const name = at < 0 ? undefined : SLUG.exec(end.toString("latin1", at, at + SLUG_LONGEST))?.[1]
  if (name === undefined) return ""
  for (const folder of folders) {
    const path = join(folder, `${name}.md`)
    const plan = readSmall(path, LONGEST_PLAN)
    if (plan !== undefined) return `${path}\n${plan}`
  }
  return ""
}

/** Their current content, since that is what Claude Code reads. */
const filesOf = (paths: readonly string[]): string[] =>
  paths.filter(isAbsolute).flatMap((path) => readSmall(path, LONGEST_FILE) ?? [])

/** Claude Code cuts each text and leaves out the oldest: at 5,000 and 25,000 tokens, of 4 characters each. */
const LONGEST_TEXT = 20_000
const LONGEST_TOGETHER = 100_000
const MOST_TEXTS = 20
/** How many of Claude Code's lines after a call or command may contain the text. */
const LINES_BEHIND = 4

/**
 * The latest text of each skill and command that was invoked, newest first.
 *
 * @param since offset in the transcript from which invocations count
 * @param withTyped whether to include those typed by the user
 */
function invokedTexts(db: Database, session: string, since: number, withTyped: boolean): string[] {
  const called = skillCalls(db, session, since, MOST_TEXTS)
  const invoked = [...called, ...(withTyped ? typedCommands(db, session, since, MOST_TEXTS) : [])]
  const names = new Set<string>()
  const texts: string[] = []
  let left = LONGEST_TOGETHER
  for (const invocation of invoked.sort((a, b) => b.after - a.after)) {
    const name = invocation.target.replace(/^\//, "").split(" ", 1)[0]!
    const text = names.has(name) ? undefined : textOf(db, invocation)?.slice(0, LONGEST_TEXT)
    if (text === undefined) continue
    names.add(name)
    if (text.length > left) continue
    texts.push(text)
    left -= text.length
  }
  return texts
}

/**
 * The text that Claude Code inserted after it as if it were a prompt. Read from the transcript, which still exists at
 * this moment: unpacking the vault's copy would take longer than everything else.
 */
function textOf(db: Database, { turn, after }: Invocation): string | undefined {
  for (const { path, offset, length } of claudeLinesAfter(db, turn, after, LINES_BEHIND)) {
    const text = invokedText(readPart(path, offset, length)?.toString() ?? "")
    if (text !== undefined) return text
  }
  return undefined
}

/*
 * What Claude Code keeps of a conversation when it compacts it, and which files it reads again, judged from the session
 * before.
 */

/** Claude Code reads five files again, ordered by modification time. Which one is the fifth is hard to predict. */
const MOST_FILES = 4
const MOST_TURNS = 20

/**
 * The files that the model last read or changed, newest first. Claude Code shows some of them again, but none of its
 * memory files.
 */
export function filesShownAgain(db: Database, scope: Scope): string[] {
  const found = new Set<string>()
  const own = scope.filter(({ session }) => !session.includes("/"))
  for (const turn of latestTurnIds(db, own, MOST_TURNS)) {
    for (const path of filesOpenedIn(db, turn, MOST_FILES)) {
      if (/(?:^|\/)CLAUDE(?:\.local)?\.md$/.test(path)) continue
      found.add(path)
      if (found.size >= MOST_FILES) return [...found]
    }
  }
  return [...found]
}

/** How many lines are searched for the last message; one with many calls has as many. */
const MOST_LINES = 12

/** Whether the model's last message in this turn has the turn's answer, perhaps before its calls. */
export function endsWithAnswer(db: Database, handle: string): boolean {
  let isCall = false
  for (const kind of lastKinds(db, handle, MOST_LINES)) {
    if (kind === "answer") return true
    // A result before a call is that of an earlier message, or of another call in the same: there is no telling.
    if (kind === "call") isCall = true
    else if (isCall) return false
  }
  return false
}
