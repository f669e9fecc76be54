/**
 * Text that a human pasted into a prompt. From 2.1.330 on, the host marks it; before, nothing tells it from what was
 * typed. A human sent it, but somebody else may have written it.
 */

const OPEN = '<pasted_content id="'
const OPENING = /<pasted_content id="([\w-]{1,64})">\n/g

interface Typed {
  /** What was typed, with a mark of ours where something was pasted. */
  readonly text: string
  readonly pasted: readonly string[]
}

/** Separates what was typed from what was pasted. Only the id that opened a paste closes it; an open one has no end. */
export function withoutPasted(text: string): Typed {
  if (!text.includes(OPEN)) return { text, pasted: [] }
  const typed: string[] = []
  const pasted: string[] = []
  let from = 0
  OPENING.lastIndex = 0
  for (let match = OPENING.exec(text); match !== null; match = OPENING.exec(text)) {
    const close = `</pasted_content id="${match[1]}">`
    const end = text.indexOf(close, OPENING.lastIndex)
    const body = text.slice(OPENING.lastIndex, end === -1 ? text.length : end).trim()
    typed.push(text.slice(from, match.index), `[pasted: ${body.length} characters]`)
    pasted.push(body)
    OPENING.lastIndex = from = end === -1 ? text.length : end + close.length
  }
  typed.push(text.slice(from))
  return { text: typed.join(""), pasted }
}
