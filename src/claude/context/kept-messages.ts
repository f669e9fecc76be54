/**
 * What the host keeps of a conversation when it compacts it, and which files it reads again, judged from the session
 * before.
 */
import type { Database } from "../../archive/database.ts"
import { filesOpenedIn } from "../../archive/queries/calls.ts"
import { lastKinds } from "../../archive/queries/messages.ts"
import type { Scope } from "../../archive/queries/scope.ts"
import { latestTurnIds } from "../../archive/queries/turns.ts"

/** The host reads five files again, ordered by modification time. Which one is the fifth is hard to predict. */
const MOST_FILES = 4
const MOST_TURNS = 20

/**
 * The files that the model last read or changed, newest first. The host shows some of them again, but none of its
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
