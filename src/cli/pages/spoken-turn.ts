/** A turn as a conversation: what the human and the model said to each other, without tools, thoughts and subagents. Pure. */

import type { Part } from "../../record/types.ts"
import type { WholeTurn } from "../../views/turn.ts"

const SAID: readonly Part["kind"][] = ["prompt", "reply", "text", "media"]

export function spokenTurn(turn: WholeTurn): WholeTurn {
  const messages = turn.messages
    .filter(({ sidechain }) => !sidechain)
    .map((message) => ({ ...message, parts: message.parts.filter(({ kind }) => SAID.includes(kind)) }))
    .filter(({ parts }) => parts.length > 0)
  return { ...turn, messages }
}
