/**
 * The lines of a prompt that a human typed. Hosts before 2.1.330 do not mark what was pasted, so only its looks tell:
 * code, changes, output and what is announced as somebody else's words. Pure.
 */

/** From this length on, in characters, a prompt holds a document; who pasted it typed what stands before and after. */
const DOCUMENT = 2000

/** At each end of a prompt so many characters are looked at: nobody types more. */
const END = 20_000
const BLOCKS =
  /```[\s\S]*?(?:```|$(?![\s\S]))|^[ \t+-]*\/\*[\s\S]*?(?:\*\/|$(?![\s\S]))|^(?:diff --git |@@ |--- [ab]\/|\+\+\+ [ab]\/).*(?:\n(?:[ +\-@\\]|index ).*)*/gm

/** Lines of these shapes are pasted. */
const SHAPES: readonly RegExp[] = [
  // Comments, changes, code
  /^\s*(?:\/\/|\/\*|\*\/|<!--|#!|--\s)/,
  /^(?:[+-](?:\s{2,}|\t)\S|@@ |diff --git )/,
  /[{}]\s*$|[)}\]"'`];\s*$|\s\/\/\s|=>|:=/,
  /^\s*(?:(?:def|func|fn) \w+.*[:({]|(?:class|import|return|const|let|var|public|private|export|async|package)\b.*[{=;]\s*$|(?:if|for|while) ?\()/,
  /^(?: {4,}|\t)(?![-*+•\d])\S/,
  /^\s*"[^"]*"(?:,|\s*:.*)?$/,
  // Terminals, logs, tables, numbered lines of files
  /^\s*(?:[$%❯➜⎿⏺]|>>>|PS [A-Z]:\\\S*>)\s/,
  /^\s*\[?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d(?::\d\d|\])/,
  /^\s*p?npm (?:ERR!|error|warn|WARN|notice)\s/,
  /^\s*(?:hint|warning|error|fatal|help|remote)(?:\[[\w-]+\])?:\s|^\s*[\w./\\-]+\.\w+:\d+(?::\d+)?:\s/i,
  /^\s*\[?(?:ERROR|WARN(?:ING)?|INFO|DEBUG|TRACE|FATAL)\b/,
  /^\s*at \S+.*[(:]\d|^\s*File "[^"]+", line \d/,
  /[│┃║╭╰┌└├❱]/,
  /^\s*\d+(?:→|\t)/,
]

/** What follows is somebody else's. A human's own rules may be about these things, too. */
const ANNOUNCED =
  /\b(?:says?|said|wrote|writes|commented|replied|suggests?|got|gives?|see|errors?|output|logs?|trace(?:back)?|stack|(?:error|commit|failure) message|warnings?|response|(?:review|reviewer['’]s|bot|PR|this|the following) comments?|review|feedback|findings?|snippet|diff|report|ticket)\b[^.!?:]{0,40}[:：]$/i
const OWN =
  /\b(?:rules?|guidelines?|requirements?|constraints?|please|must|should|always|never|need|want|my)\b/i

/** A command that the prompt begins with. */
const COMMAND = /^\s*\/[A-Za-z][\w:.-]*\s+/

export function typedText(prompt: string): string {
  const ends = prompt.length > 2 * END ? `${prompt.slice(0, END)}\n\n${prompt.slice(-END)}` : prompt
  const lines = ends.replace(COMMAND, "").replace(BLOCKS, "\n").split("\n")
  const announced = lines.findIndex((line) => ANNOUNCED.test(line.trim()) && !OWN.test(line))
  const kept = announced === -1 ? lines : withoutPaste(lines, announced + 1)
  const text = kept
    .map((line) => (SHAPES.some((shape) => shape.test(line)) ? "" : line))
    .join("\n")
    .trim()
  if (text.length < DOCUMENT) return text
  const paragraphs = paragraphsOf(text)
  return paragraphs.length < 3 ? text : `${paragraphs[0]}\n\n${paragraphs.at(-1)}`
}

/** Of several paragraphs that follow, the last was typed: it stands apart from the paste. */
function withoutPaste(lines: readonly string[], from: number): string[] {
  const [, ...others] = paragraphsOf(lines.slice(from).join("\n").trim())
  return [...lines.slice(0, from), "", ...(others.at(-1) ?? "").split("\n")]
}

const paragraphsOf = (text: string): string[] => text.split(/\n[ \t]*\n/)
