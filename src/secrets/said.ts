/** Which strings of a line may hold what was said. Pure. */
import { isJsonLine, type JsonString, stringsOf } from "./lines.ts"

/** Fields that describe a record and never hold what was said. */
export const structure = (): RegExp =>
  /^(?:type|role|id|uuid|parentUuid|logicalParentUuid|sessionId|timestamp|version|cwd|gitBranch|model|tool_use_id|name|requestId|subtype|level|userType|media_type|stop_reason|agentId|slug|service_tier)$/

/** The strings in the line from `start` to `end` that may hold what was said; the whole line if it is not JSON. */
export function* saidIn(text: string, start: number, end: number): Generator<JsonString> {
  if (!isJsonLine(text, start)) {
    yield { start, end, isKey: false }
    return
  }
  const isStructure = structure()
  let key = ""
  for (const one of stringsOf(text, start, end)) {
    if (one.isKey) key = one.end - one.start < 40 ? text.slice(one.start, one.end) : ""
    else if (!isStructure.test(key)) yield one
  }
}
