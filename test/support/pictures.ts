/** Pictures in a session. */
import type { Transcript } from "./transcript.ts"

/** A PNG of one pixel. */
export const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

/** A picture that a tool has read, and one in a prompt. */
export function lookAtPictures(session: Transcript): void {
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } }
  session
    .message()
    .block({ type: "tool_use", id: "toolu_look", name: "Read", input: { file_path: "/a.png" } })
  session.user([{ type: "tool_result", tool_use_id: "toolu_look", content: [image] }])
  session
    .user([{ type: "text", text: "What is this?" }, image])
    .message()
    .say("A pixel.")
}
