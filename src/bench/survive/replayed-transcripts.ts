/** The transcripts that `ctxbridge bench survive` examines: copies in the vault, or files in a folder. */
import { readFileSync } from "node:fs"
import { sessionOf } from "../../archive/capture-transcript.ts"
import { sources } from "../../archive/view-sources.ts"
import { transcriptsBelow } from "../../job/find-transcripts.ts"
import { isSuperseded, vaultFile } from "../../vault/layout.ts"
import { stretchesFrom } from "../../vault/reader.ts"
import type { ReplayedTranscript } from "./replay.ts"

/** Every session's transcript in the vault, former versions last; subagents are not compacted. */
export function inVault(dataHome: string): ReplayedTranscript[] {
  return sources(dataHome)
    .filter(({ session }) => !session.includes("/"))
    .sort((a, b) => Number(isSuperseded(a.copy)) - Number(isSuperseded(b.copy)))
    .map(({ session, copy }) => ({
      session,
      read: () => {
        const stretches = [...stretchesFrom(vaultFile(dataHome, copy), 0)]
        return Buffer.concat(stretches.map(({ content }) => content))
      },
    }))
}

export function inFolder(folder: string): ReplayedTranscript[] {
  return transcriptsBelow(folder)
    .map((path) => ({ session: sessionOf(path), read: () => readFileSync(path) }))
    .filter(({ session }) => !session.includes("/"))
}
