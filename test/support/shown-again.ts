/** A session that is compacted and given something back, as the hooks keep it and Claude Code writes it. */

import { restoreOf } from "../../src/restore/restore.ts"
import type { SlotItem } from "../../src/views/queries/restores.ts"
import { claimGiven, keepGiven, slotItems } from "../../src/views/queries/restores.ts"
import type { Archive } from "./archive.ts"
import type { Transcript } from "./transcript.ts"

/** Keeps what is given at the next compaction; `arrives` writes Claude Code's lines about it. */
export function give(archive: Archive, session: Transcript, text: string, slots: readonly SlotItem[]): void {
  const size = archive.count("messages WHERE session = ?", session.session)
  claimGiven(archive.db, session.session, { source: "compact", mark: `at ${size}`, time: Date.now() })
  keepGiven(archive.db, session.session, text, slots)
}

export const framed = (text: string): string =>
  `<ctxbridge-restore source="compact" session="s">\n${text}\n</ctxbridge-restore>`

/** The boundary, the summary, and the context that our hook added. */
export const arrives = (session: Transcript, text: string, summary = "We went on."): Transcript =>
  session
    .boundary()
    .summary(summary)
    .line({
      type: "attachment",
      attachment: {
        type: "hook_additional_context",
        hookName: "SessionStart:compact",
        hookEvent: "SessionStart",
        content: [text],
      },
    })

/** Compacts a session that the views have followed, with a real restore. @returns what was given */
export function compact(
  archive: Archive,
  session: Transcript,
  { summary = "We went on.", holdOut = 0, budget = 4000 } = {},
): { text: string; slots: SlotItem[] } {
  const options = { source: "compact", budget, summary, learning: { holdOut } } as const
  const { text, slots = [] } = restoreOf(archive.db, session.session, options)
  const items = slotItems(archive.db, slots)
  give(archive, session, text, items)
  arrives(session, text, summary)
  return { text, slots: items }
}
