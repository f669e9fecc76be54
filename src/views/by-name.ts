/** Finds what a person or a model means by `ctx:ab12cd`, `ab12` or `3f2a9c01`. */
import { CtxError, EXIT, usageError } from "../base/errors.ts"
import { isPlainId, sessionIdOf } from "../base/session-id.ts"
import { cut, oneLine } from "../base/text.ts"
import { HANDLE_PREFIX } from "../record/our-marks.ts"
import type { Database } from "./database.ts"
import { findSessions, type Session } from "./queries/sessions.ts"
import { OBSERVATION_PREFIX, type Observation, observationsNamed } from "./queries/summaries.ts"
import { findTurns } from "./queries/turns.ts"
import { type Turn, turnOf } from "./turn.ts"

export type TurnOrSession =
  | { readonly kind: "turn"; readonly turn: Turn }
  | { readonly kind: "session"; readonly session: Session }

/** Anything shorter is a slip rather than a name. */
const SHORTEST = 4
const SHOWN = 5

/**
 * The one turn or session that `typed` names, in full or by a prefix.
 *
 * @throws CtxError exit 64 if the word is too short or ambiguous, exit 3 if it names nothing
 */
export function findByName(db: Database, typed: string): TurnOrSession {
  // A transcript may have a name that no id can have: then it is archived under another.
  const [strange] = isPlainId(typed) ? [] : findSessions(db, sessionIdOf(typed))
  if (strange !== undefined) return { kind: "session", session: strange }
  const word = plain(typed)
  const isHandle = word.startsWith(HANDLE_PREFIX)
  const bare = isHandle ? word.slice(HANDLE_PREFIX.length) : word
  if (bare.length < SHORTEST) {
    throw usageError(
      `${JSON.stringify(word)} is too short`,
      `at least ${SHORTEST} letters of a handle or session`,
    )
  }
  const turns = findTurns(db, bare).map(turnOf)
  const sessions = isHandle ? [] : sessionsNamed(db, bare)
  const turn = turns.find(({ handle }) => handle === HANDLE_PREFIX + bare)
  if (turn !== undefined) return { kind: "turn", turn }
  const session = sessions.find(({ id }) => id === bare)
  if (session !== undefined) return { kind: "session", session }
  const candidates: TurnOrSession[] = [
    ...turns.map((one) => ({ kind: "turn" as const, turn: one })),
    ...sessions.map((one) => ({ kind: "session" as const, session: one })),
  ]
  if (candidates.length === 1) return candidates[0]!
  if (candidates.length > 1) throw ambiguous(word, candidates)
  throw new CtxError("not-found", `no ${isHandle ? "turn" : "turn or session"} ${word} in the archive`, {
    hint: "ctxbridge sessions --all-projects lists the sessions, ctxbridge show <session> its turns",
    exit: EXIT.notFound,
  })
}

/**
 * A handle copied from a sentence may be in quotation marks or capitals, or end in a full stop. One from the MCP server
 * may name a place in the turn as well: `ctx:ab12cd@87`.
 */
function plain(typed: string): string {
  const word = typed.replace(/^["'`([<\s]+|["'`)\]>.,;:\s]+$/g, "")
  return /^ctx:/i.test(word)
    ? word.toLowerCase().replace(/^ctx:\s*|@.*$/g, (part) => (part[0] === "@" ? "" : HANDLE_PREFIX))
    : word
}

/** Like `findByName`, for commands that work only on sessions. */
export function findSessionByName(db: Database, word: string): Session {
  const found = findByName(db, word)
  if (found.kind === "session") return found.session
  throw usageError(`${word} is a turn, not a session`, `its session is ${found.turn.session}`)
}

/** `<session>` excludes its subagents; `<session>/` and `<session>/<agent>` name them. Each side may be shortened. */
function sessionsNamed(db: Database, word: string): Session[] {
  const slash = word.indexOf("/")
  const found = findSessions(db, slash < 0 ? word : word.slice(0, slash))
  if (slash >= 0) {
    const agent = word.slice(slash + 1)
    return found.filter(({ id }) => id.includes("/") && id.slice(id.indexOf("/") + 1).startsWith(agent))
  }
  const whole = found.filter(({ id }) => !id.includes("/"))
  return whole.length > 0 ? whole : found
}

function ambiguous(word: string, candidates: readonly TurnOrSession[]): CtxError {
  const names = candidates
    .slice(0, SHOWN)
    .map((found) =>
      found.kind === "turn"
        ? `${found.turn.handle} ${JSON.stringify(cut(oneLine(found.turn.prompt), 40))}`
        : `session ${found.session.id}`,
    )
  const more = candidates.length > SHOWN ? ", …" : ""
  return new CtxError("ambiguous", `${word} names ${candidates.length} things: ${names.join(", ")}${more}`, {
    hint: "type more of it",
    exit: EXIT.usage,
  })
}

/* Finds the observation that `obs:k3f9` names. */

/** Anything shorter is a slip rather than a name. */

export const isObservationName = (word: string): boolean => word.toLowerCase().startsWith(OBSERVATION_PREFIX)

/** @throws CtxError exit 64 if the word is too short or ambiguous, exit 3 if it names nothing */
export function findObservation(db: Database, word: string): Observation {
  const bare = word.toLowerCase().slice(OBSERVATION_PREFIX.length)
  if (bare.length < SHORTEST)
    throw usageError(`${JSON.stringify(word)} is too short`, `at least ${SHORTEST} letters of a handle`)
  const [found, ...others] = observationsNamed(db, bare)
  if (found === undefined) {
    throw new CtxError("not-found", `no observation ${word} in the archive`, {
      hint: "search gives the handles of observations, and those of the turns that they are about",
      exit: EXIT.notFound,
    })
  }
  if (others.length > 0 && found.handle !== OBSERVATION_PREFIX + bare)
    throw usageError(`${word} names ${others.length + 1} observations`, "type more of it")
  return found
}
