/** Which sessions and turns a restore may draw from. */
import type { Database } from "../views/database.ts"
import {
  clearedWithConstraints,
  firstReplaced,
  forkParents,
  hasTakenBack,
  type Scope,
  type ScopePart,
  subagentsOf,
} from "../views/queries/scope.ts"

const ALL = Number.MAX_SAFE_INTEGER

/**
 * A session, its subagents, and what a fork shares with the session it came from.
 *
 * @param last the last turn of the session that counts
 */
export function scopeOf(db: Database, session: string, last = ALL): ScopePart[] {
  const scope: ScopePart[] = []
  const visit = (id: string, upTo: number, takenBack: 0 | 1, depth: number): void => {
    if (depth > 8 || scope.some((part) => part.session === id)) return
    const part = { session: id, upTo, takenBack: hasTakenBack(db, id) ? takenBack : 1 } as const
    scope.push(part)
    for (const child of subagentsOf(db, id, part.takenBack))
      scope.push({ session: child, upTo, takenBack: 1 })
    for (const { parent, turn, takenBack: isBranch } of forkParents(db, id)) {
      const shared = Math.min(turn ?? ALL, upTo, (firstReplaced(db, id, parent) ?? ALL) - 1)
      visit(parent, shared, isBranch, depth + 1)
    }
  }
  visit(session, last, 0, 0)
  return scope
}

/**
 * The sessions that `/clear` ended before those of the scope and that may have constraints, nearest first: each with
 * what it shares with others, and only once.
 */
export function* clearedBefore(db: Database, scope: Scope): Generator<Scope> {
  const sessions = scope.map(({ session }) => session)
  const seen = new Set(sessions)
  for (const former of clearedWithConstraints(db, sessions)) {
    const parts = seen.has(former) ? [] : scopeOf(db, former).filter(({ session }) => !seen.has(session))
    for (const { session } of parts) seen.add(session)
    yield parts
  }
}
