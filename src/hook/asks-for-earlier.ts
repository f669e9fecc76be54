/**
 * Whether a prompt plainly refers to something that was said or done before: it asks for it in so many words, or it
 * names a file or an identifier. In doubt, no. Loaded only for the first prompt after a compaction. Pure.
 */

export interface AskedForEarlier {
  /** Whether the prompt asks what was said or done. */
  readonly inWords: boolean
  /** Files and identifiers in it. */
  readonly names: readonly string[]
}

/** UTF-16 units of a prompt that are read: a longer one is a pasted file or log, and refers to itself. */
const READ = 1000
/** A prompt with more names gives a list; it does not refer to something. */
const MOST_NAMES = 4

const DONE =
  "(?:\\w{3,}ed|ran|used|said|wrote|made|saw|got|found|chose|took|built|had|did|were|set up|kept|hit|put|tried)"
const QUESTIONS: readonly RegExp[] = [
  // What did we decide …? Which files were you editing?
  /\b(?:what|which|where|how|why|when|who)\b[^.?!\n]{0,50}\b(?:did|had|have|were|was)\s+(?:we|you|i)\b/i,
  // What was the command we used …?
  new RegExp(
    `\\b(?:what|which|where)\\b[^.?!\\n]{0,40}\\b(?:was|were|is|are)\\b[^.?!\\n]{0,50}\\b(?:we|you|i)\\s+${DONE}\\b`,
    "i",
  ),
  /\b(?:do|can) you (?:still )?(?:remember|recall)\b|\bremind me\b/i,
  // The script we wrote earlier; the error from before.
  new RegExp(
    `\\b(?:we|you|i)\\s+${DONE}\\b[^.?!\\n]{0,40}\\b(?:earlier|previously|last time|before(?=\\s*(?:[.?!,;)]|$)))`,
    "i",
  ),
  /\bthe (?:[\w-]+ ){1,4}from (?:earlier|before|last time)\b/i,
  /\bas (?:we|you|i) (?:discussed|agreed|decided)\b/i,
  // German, Spanish, Chinese.
  /\b(?:was|welche[mnrs]?|wo|wie|warum|wann)\b[^.?!\n]{0,50}\b(?:hatten|haben|hast|habe) (?:wir|du|ich)\b/i,
  /\berinner(?:st du dich|e mich)\b|\b(?:wir|du|ich) vorhin\b|\bvorhin (?:gesagt|benutzt|gemacht|besprochen)\b/i,
  /(?:qué|cuál(?:es)?|dónde|cómo)\s[^.?!\n]{0,50}\b(?:usamos|hicimos|decidimos|dijimos|dijiste|hiciste|ejecutamos)\b/i,
  /\brecuérdame\b|\bte acuerdas\b/i,
  /(?:之前|刚才|上次|先前)[^。？！\n]{0,30}(?:什么|哪|怎么|如何|吗)|还记得/,
]

/** Words that may be names, without the punctuation around them. */
const RUN = /[\p{L}\p{N}_.@~/\\-]{3,}/gu
const BACKTICKED = /`([^`\n]{3,80})`/g
/** src/retry.ts, ./run, ~/notes, retry.test.ts */
const FILE =
  /^(?:~|\.{1,2})?\/?(?:[\w.@-]+\/)*[\w@-][\w.@-]+\.[a-z]\w{0,5}$|^(?:~|\.{1,2})?\/[\w.@-]+(?:\/[\w.@-]+)+$|^[\w.@-]+(?:\/[\w.@-]+){2,}$/
/** What only looks like a file: Node.js */
const PRODUCT = /^(?:node|vue|next|react|nuxt|three|express|d3)\.js$/i
/** retryAfter, retry_after, MAX_RETRIES */
const IDENTIFIER = /^(?:[a-z]+\d*(?:[A-Z][a-z\d]*)+|[A-Za-z]\w*_\w*[A-Za-z\d])$/

/** @returns undefined if the prompt refers to nothing */
export function asksForEarlier(prompt: string): AskedForEarlier | undefined {
  if (prompt.length > READ) return undefined
  const inWords = QUESTIONS.some((question) => question.test(prompt))
  const names = namesIn(prompt)
  if (!inWords && (names.length === 0 || names.length > MOST_NAMES)) return undefined
  return { inWords, names }
}

function namesIn(prompt: string): string[] {
  const plain = prompt.replace(/\b[a-z]+:\/\/\S+/gi, " ")
  const quoted = [...plain.matchAll(BACKTICKED)].map(([, name]) => name!.trim())
  const runs = [...plain.replace(BACKTICKED, " ").matchAll(RUN)].map(([run]) => run.replace(/^@|[.,]+$/g, ""))
  return [
    ...new Set([
      ...quoted,
      ...runs.filter((run) => (FILE.test(run) && !PRODUCT.test(run)) || IDENTIFIER.test(run)),
    ]),
  ]
}
