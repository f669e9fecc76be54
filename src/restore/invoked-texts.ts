/** Texts of the skills and commands that were invoked, which the host shows again after a compaction. */
import { invokedText } from "../agents/claude-code/line-texts.ts"
import type { Database } from "../archive/database.ts"
import { type Invocation, skillCalls, typedCommands } from "../archive/queries/calls.ts"
import { hostLinesAfter } from "../archive/queries/messages.ts"
import { readPart } from "./read-part.ts"

/** The host cuts each text and leaves out the oldest: at 5,000 and 25,000 tokens, of 4 characters each. */
const LONGEST = 20_000
const LONGEST_TOGETHER = 100_000
const MOST = 20
/** How many of the host's lines after a call or command may contain the text. */
const LINES_BEHIND = 4

/**
 * The latest text of each, newest first.
 *
 * @param since offset in the transcript from which invocations count
 * @param withTyped whether to include those typed by the user
 */
export function invokedTexts(db: Database, session: string, since: number, withTyped: boolean): string[] {
  const called = skillCalls(db, session, since, MOST)
  const invoked = [...called, ...(withTyped ? typedCommands(db, session, since, MOST) : [])]
  const names = new Set<string>()
  const texts: string[] = []
  let left = LONGEST_TOGETHER
  for (const invocation of invoked.sort((a, b) => b.after - a.after)) {
    const name = invocation.target.replace(/^\//, "").split(" ", 1)[0]!
    const text = names.has(name) ? undefined : textOf(db, invocation)?.slice(0, LONGEST)
    if (text === undefined) continue
    names.add(name)
    if (text.length > left) continue
    texts.push(text)
    left -= text.length
  }
  return texts
}

/**
 * The text that the host inserted after it as if it were a prompt. Read from the transcript, which still exists at this
 * moment: unpacking the vault's copy would take longer than everything else.
 */
function textOf(db: Database, { turn, after }: Invocation): string | undefined {
  for (const { path, offset, length } of hostLinesAfter(db, turn, after, LINES_BEHIND)) {
    const text = invokedText(readPart(path, offset, length)?.toString() ?? "")
    if (text !== undefined) return text
  }
  return undefined
}
