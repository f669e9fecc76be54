/**
 * `history.jsonl` beside the transcripts: every prompt that was typed, of all projects, also of sessions whose transcripts
 * Claude Code has deleted. Pure.
 */

import { isAbsolute, withSlashes } from "../base/path.ts"
import type { HistoryPrompt } from "../record/agent.ts"
import { type JsonObject, objectOf, stringOf } from "../record/json.ts"
import { isBuiltInCommand } from "./user-text.ts"

/** A session's id, as Claude Code makes them and as nothing else may be one. */
const SESSION = /^[A-Za-z0-9][\w.-]{0,127}$/
const LATEST = 8.64e15
/** Where something was pasted; longer pastes are in a file of their own. */
const PASTED = /\[Pasted text #(\d+)(?: \+\d+ lines?)?\]/g

/** undefined if the line is none. */
export function promptIn(line: JsonObject): HistoryPrompt | undefined {
  const { display, timestamp, project, sessionId } = line
  if (typeof display !== "string" || typeof timestamp !== "number" || line["type"] !== undefined)
    return undefined
  if (!(Math.abs(timestamp) <= LATEST)) return undefined
  const text = pastedInto(display, objectOf(line["pastedContents"])).trim()
  const [, command] = /^\/([\w-]+)$/.exec(text) ?? []
  const time = new Date(timestamp).toISOString()
  const named = stringOf(sessionId)
  const folder = stringOf(project)
  return {
    session: named !== undefined && SESSION.test(named) ? named : dayOf(folder, time),
    text: command !== undefined && isBuiltInCommand(command) ? "" : text,
    time,
    project: folder !== undefined && isAbsolute(folder) ? withSlashes(folder) : undefined,
  }
}

function dayOf(project: string | undefined, time: string): string {
  const day = time.slice(0, 10)
  const hash = Bun.hash
    .xxHash64(`${project ?? ""} ${day}`, 0n)
    .toString(16)
    .padStart(16, "0")
  return `${hash.slice(0, 8)}-${day}`
}

/** A placeholder that names nothing kept here stays. */
const pastedInto = (display: string, pasted: JsonObject): string =>
  display.replaceAll(PASTED, (placeholder, id: string) => {
    const { type, content } = objectOf(pasted[id])
    return type === "text" && typeof content === "string" ? content : placeholder
  })
