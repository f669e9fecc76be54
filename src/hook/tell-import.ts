/** Adds to a starting session's reply, once, that a background import is done. Only loaded when there is one to tell. */
import { takeImportDone } from "../job/import-done.ts"
import { bytes, count } from "../util/text.ts"

/** @param reply what the host is answered otherwise: JSON, or nothing */
export function withImportTold(reply: string, dataHome: string): string {
  const done = takeImportDone(dataHome)
  if (done === undefined) return reply
  const said = (reply === "" ? {} : JSON.parse(reply)) as { readonly systemMessage?: string }
  const note =
    `ctxbridge has imported ${count(done.transcripts, "transcript")} (${bytes(done.bytes)}). ` +
    "Try: ctxbridge search WORDS"
  const systemMessage = said.systemMessage === undefined ? note : `${said.systemMessage}\n${note}`
  return JSON.stringify({ ...said, systemMessage })
}
