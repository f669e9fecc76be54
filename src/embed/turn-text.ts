/** What in a turn is worth a vector: the words of human and assistant, not the output of tools. */
import { decodeLine } from "../agents/claude-code/decode.ts"
import type { Database } from "../archive/database.ts"
import { messagesOf } from "../archive/queries/messages.ts"
import { lineOf } from "../read/turn.ts"
import type { Part } from "../transcript/types.ts"
import type { CopyReaders } from "../vault/reader.ts"

export interface MessageText {
  readonly message: number
  readonly text: string
}

/** Which kinds of parts count, by the line's role. Of the host's own lines, only a subagent's task does. */
const SAID: Readonly<Record<string, readonly Part["kind"][]>> = {
  human: ["prompt"],
  assistant: ["text"],
  host: ["brief"],
}

/** Up to this many UTF-16 units, what an assistant says between tool calls counts as one text. */
const TOGETHER = 600

const utf8 = new TextDecoder()

/**
 * What was said, in order. Consecutive short sentences of an assistant ("Now the tests.") are joined, since each alone
 * says little; the text counts as the message of the longest one.
 *
 * @throws CtxError when the vault cannot be read there
 */
export function saidIn(db: Database, dataHome: string, turn: number, readers: CopyReaders): MessageText[] {
  const said: MessageText[] = []
  let open: { message: number; text: string; longest: number } | undefined
  const close = (): void => {
    if (open !== undefined) said.push({ message: open.message, text: open.text })
    open = undefined
  }
  for (const row of messagesOf(db, turn)) {
    const kinds = SAID[row.role]
    if (kinds === undefined) continue
    const { parts } = decodeLine(utf8.decode(lineOf(dataHome, row, readers)))
    const texts = parts.flatMap((part) => (kinds.includes(part.kind) && "text" in part ? [part.text] : []))
    const text = texts.join("\n\n").trim()
    if (text === "") continue
    if (row.role !== "assistant") {
      close()
      said.push({ message: row.id, text })
    } else if (open !== undefined && open.text.length + text.length <= TOGETHER) {
      const isLonger = text.length > open.longest
      open = {
        message: isLonger ? row.id : open.message,
        text: `${open.text}\n\n${text}`,
        longest: Math.max(open.longest, text.length),
      }
    } else {
      close()
      open = { message: row.id, text, longest: text.length }
    }
  }
  close()
  return said
}
