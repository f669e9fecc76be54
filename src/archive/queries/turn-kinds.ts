/** What counts as a turn, in one place: conditions on rows `t` of `turns`, and what is counted and shown by them. */

/**
 * A human's prompt and all that follows. Neither what came before the first prompt, nor the task of a subagent, nor a
 * note that the model wanted kept, nor a prompt of which nothing else is known (ingest.ts).
 */
export const IS_TURN = "t.via NOT IN ('none', 'brief', 'history')"

/** The same in a session's own list, where a subagent's tasks are its turns, and so are kept notes. */
const IS_LISTED = "t.via <> 'none'"

/** A command that only the host executed, such as `/model`: nothing was said or done for it. */
export const IS_EMPTY = "(t.via = 'command' AND t.tools = 0 AND t.answer = '')"

/** Turns `t` that session `s` shares with those it is a fork of: up to the last one that it has a copy of. */
export const SHARED_TURNS =
  "lineage l JOIN turns t ON t.session = l.parent AND t.id <= l.turn WHERE l.child = s.id AND l.kind = 'fork'"

/** How many of session `s` are another's, whose conversation it continues. */
export const SHARED_COUNT = `(SELECT count(*) FROM ${SHARED_TURNS} AND ${IS_LISTED})`

/** How many turns the conversation of session `s` has. */
export const TURN_COUNT = `((SELECT count(*) FROM turns t WHERE t.session = s.id AND ${IS_LISTED}) + ${SHARED_COUNT})`

/**
 * With what session `s` began: the first prompt that something was done for, a command as it was typed. Until there is
 * one, the first command.
 */
export const FIRST_PROMPT = `coalesce(
  (SELECT t.prompt FROM turns t WHERE t.session = s.id AND ${IS_LISTED} AND NOT ${IS_EMPTY} ORDER BY t.seq LIMIT 1),
  (SELECT t.prompt FROM turns t WHERE t.session = s.id AND ${IS_LISTED} ORDER BY t.seq LIMIT 1),
  (SELECT t.prompt FROM ${SHARED_TURNS} AND ${IS_LISTED} AND NOT ${IS_EMPTY} ORDER BY t.id LIMIT 1))`
