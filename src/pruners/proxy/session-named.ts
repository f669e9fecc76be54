/** Which session a request belongs to, as Claude Code says it. Pure. */
import { isObject, stringOf } from "../../transcript/json.ts"
import { parseJson } from "../../util/parse-json.ts"

const UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
const IS_UUID = new RegExp(`^${UUID}$`, "i")
const IN_USER = new RegExp(`_session_(${UUID})$`, "i")

/** Newer clients send a header; all have it in `metadata.user_id`, at the end of a text or within JSON. */
export function sessionNamed(header: string | null, body: unknown): string | undefined {
  if (header !== null && IS_UUID.test(header)) return header
  const metadata = isObject(body) ? body["metadata"] : undefined
  const user = isObject(metadata) ? stringOf(metadata["user_id"]) : undefined
  if (user === undefined) return undefined
  const told = parseJson(user)
  const session = isObject(told) ? stringOf(told["session_id"]) : IN_USER.exec(user)?.[1]
  return session !== undefined && IS_UUID.test(session) ? session : undefined
}
