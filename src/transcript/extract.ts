/**
 * Sentences worth keeping, found by how they are worded. Pure.
 *
 * A constraint is what a human told the model to do or not to do for good; a decision is what the model settled
 * and why. Both are kept verbatim.
 */

const LONGEST = 300
const MOST = 8

/** Sentences of prose: code blocks, quoted lines and host tags hold none. */
function* sentences(text: string): Generator<string> {
  const prose = text.slice(0, 20_000).replace(/```[\s\S]*?(```|$)/g, "\n")
  for (const line of prose.split("\n")) {
    const clean = line.replace(/^[\s>*\-•\d.)#]+/, "").trim()
    if (clean.length < 8 || /^</.test(clean) || /^[|{}[\]]/.test(clean)) continue
    for (const sentence of clean.split(/(?<=[.!?。！？])\s+/)) {
      const trimmed = sentence.trim()
      if (trimmed.length >= 8 && trimmed.length <= LONGEST) yield trimmed
    }
  }
}

/** Where an order begins: at the start, behind a comma or dash, or behind words that lead into one. */
const ORDER = String.raw`(?:^|[,;:–—-]\s*|\b(?:please|and|but|so|then|also|you|we)\s+)`

const CONSTRAINT: readonly RegExp[] = [
  /\b(never|always)\b(?!\s+mind)/i,
  new RegExp(`${ORDER}(do not|don['’]t|avoid|stop)\\s+(?!think|worry|know|see)\\w+`, "i"),
  /\b(must|must not|mustn['’]t|should not|shouldn['’]t|may not|cannot)\s+\w+/i,
  new RegExp(`${ORDER}(only|make sure|ensure|be sure to|remember to|stick to|keep|prefer)\\s+\\w+`, "i"),
  /\buse\b.{2,80}\b(not|instead of|rather than|never|over)\b/i,
  /\b(instead of|rather than)\b/i,
  /\bfrom now on\b/i,
  /\bno (new|more|extra|other)\b/i,
  /\b(niemals|immer|nicht|nur|statt)\b.*\b(verwende|benutze|nimm|ändere|mach|schreib)/i,
  /\b(nunca|siempre|jamais|toujours|sempre)\b/i,
  /(不要|必须|始终|永远不|请勿|禁止|務必|絶対に|しないで)/,
]

/** Wordings that look like a rule and are a question or a report. */
const NOT_CONSTRAINT =
  /\?\s*$|^\s*(why|what|how|when|where|who|is|are|does|did|can|could|should|would|i (always|never|only) )\b/i

export function constraintsIn(prompt: string): string[] {
  return pick(
    prompt,
    (sentence) => !NOT_CONSTRAINT.test(sentence) && CONSTRAINT.some((rule) => rule.test(sentence)),
  )
}

const DECISION: readonly RegExp[] = [
  /\b(decided|decision(?=:)|chose|choosing|opted|settled on|going with|we['’]ll go with|I['’]ll go with)\b/i,
  /\b(instead of|rather than)\b.*\b(because|since|so that|as it|which)\b/i,
  /\b(because|since)\b.*\b(instead of|rather than)\b/i,
  /\b(root cause|turns out|the (real|actual) (problem|issue|cause|bug) (is|was))\b/i,
  /(决定|选择了|改用|根本原因|entschieden|hemos decidido|decidido)/i,
]

export function decisionsIn(answer: string): string[] {
  return pick(answer, (sentence) => !/\?\s*$/.test(sentence) && DECISION.some((rule) => rule.test(sentence)))
}

function pick(text: string, wanted: (sentence: string) => boolean): string[] {
  const found = new Set<string>()
  for (const sentence of sentences(text)) {
    if (wanted(sentence)) found.add(sentence)
    if (found.size >= MOST) break
  }
  return [...found]
}
