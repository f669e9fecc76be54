/** A session as our own JSON lines, as described in docs/export.md. Pure. */

import type { Session } from "../../views/queries/sessions.ts"
import type { Lineage } from "../../views/queries/transcripts.ts"
import type { WholeTurn } from "../../views/turn.ts"

/** Increased when a field changes its meaning. Adding fields does not count. */
const FORMAT = 1

export const sessionLine = (session: Session, lineage: Lineage): string =>
  line({ type: "session", format: FORMAT, ...session, lineage })

export function* turnLines({ messages, ...turn }: WholeTurn): Generator<string> {
  yield line({ type: "turn", format: FORMAT, ...turn, messages: messages.length })
  for (const message of messages) yield line({ type: "message", turn: turn.handle, ...message })
}

const line = (value: unknown): string => `${JSON.stringify(value)}\n`
