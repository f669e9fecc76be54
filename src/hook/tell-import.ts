/** Adds to a starting session's reply, once, that a background import is done, and what was moved. Only loaded when there is one to tell. */
import { moveTold, takeImportDone } from "../job/import-done.ts"
import { bytes, count } from "../util/text.ts"

/** @param reply what the host is answered otherwise: JSON, or nothing */
export function withImportTold(reply: string, dataHome: string): string {
  const told = takeImportDone(dataHome)
  if (told === undefined) return reply
  const said = (reply === "" ? {} : JSON.parse(reply)) as { readonly systemMessage?: string }
  const { done, moves } = told
  const notes = moves.map((one) => `ctxbridge: ${moveTold(one)}`)
  if (done !== undefined)
    notes.unshift(
      `ctxbridge has imported ${count(done.transcripts, "transcript")} (${bytes(done.bytes)}). ` +
        "Try: ctxbridge search WORDS",
    )
  const note = notes.join("\n")
  const systemMessage = said.systemMessage === undefined ? note : `${said.systemMessage}\n${note}`
  return JSON.stringify({ ...said, systemMessage })
}
