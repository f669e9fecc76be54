/**
 * Whether a prompt plainly refers to something that was said or done before: it asks for it in so many words, or it
 * names a file or an identifier. In doubt, no. Loaded only for the first prompt after a compaction. Pure.
 */

import type { AskedForEarlier, AskedKind, Later } from "./call.ts"

export const ASKING: Later = { asking: ({ event }) => ({ earlier: asksForEarlier(event.prompt!) }) }

/** The first that matches counts: "which command did we choose?" asks for a command. */
const KINDS: readonly (readonly [AskedKind, RegExp])[] = [
  ["command", /\b(?:command|script|cli|befehl|skript|comando)\w*|命令|脚本/i],
  ["error", /\b(?:error|exception|fail(?:s|ed|ing|ures?)?\b|fehler)\w*|错误|报错/i],
  [
    "decision",
    /\b(?:decid|decision|cho[os]|choice|settle|agree|pick|reject|entsch(?:ie|ei)d|geeinigt|gewählt|verworfen|elegi)\w*|\b(?:go|gone|went) (?:with|for)\b|\b(?:reason|grund)\b|\brul(?:e|ed) out\b|^\W*(?:(?:so|but|and|und|aber),? )?(?:why|warum|wieso|weshalb|por qué)\b|决定|选|为什么/i,
  ],
]

/** UTF-16 units of a prompt that are read: a longer one is a pasted file or log, and refers to itself. */
const READ = 1000
/** A prompt with more names gives a list; it does not refer to something. */
const MOST_NAMES = 4

const DONE =
  "(?:\\w{3,}ed|ran|used|said|wrote|made|saw|got|found|chose|took|built|had|did|were|set up|kept|hit|put|tried)"
const OURS = "(?:the|that|this|our|my|your) "
/** What can have been told before. */
const TOLD =
  "(?:commands?|scripts?|errors?|exceptions?|failures?|reasons?|decisions?|plan|name|path|port|url|fix|cause|conclusion|outcome|verdict|choice|approach|option|version|branch)"
const QUESTIONS: readonly RegExp[] = [
  // What did we decide …? Which files were you editing?
  /\b(?:what|which|where|how|why|when|who)\b[^.?!\n]{0,50}\b(?:did|had|have|were|was)\s+(?:we|you|i)\b/i,
  // What was the command we used …?
  new RegExp(
    `\\b(?:what|which|where)\\b[^.?!\\n]{0,40}\\b(?:was|were|is|are)\\b[^.?!\\n]{0,50}\\b(?:we|you|i)\\s+${DONE}\\b`,
    "i",
  ),
  // What was the command for …? Did we decide on …? Why did it fail?
  new RegExp(`\\bwhat (?:was|were)(?: again)? ${OURS}(?:[\\w-]+ ){0,3}${TOLD}\\b`, "i"),
  new RegExp(`\\bwhat(?:['’]s| is| are) ${OURS}(?:[\\w-]+ ){0,3}${TOLD} again\\b`, "i"),
  /(?:^|[,;.!?] |\bso )(?:did|had|have|didn['’]t|haven['’]t) (?:we|you|i)(?: \w+)? (?:decide|agree|cho[os]|settle|pick|discuss|reject|rule out|go with)/i,
  /^\W*(?:(?:so|but|and),? )?why did\b/i,
  /\b(?:do|can) you (?:still )?(?:remember|recall)\b|\bremind me\b(?! (?:to|later|tomorrow|in|at|when)\b)/i,
  // The script we wrote earlier; the error from before.
  new RegExp(
    `\\b(?:we|you|i)\\s+${DONE}\\b[^.?!\\n]{0,40}\\b(?:earlier|previously|last time|before(?=\\s*(?:[.?!,;)]|$)))`,
    "i",
  ),
  /\bthe (?:[\w-]+ ){1,4}from (?:earlier|before|last time)\b/i,
  /\bas (?:we|you|i) (?:discussed|agreed|decided)\b/i,
  // German, Spanish, Chinese.
  /\b(?:was|welche[mnrs]?|wo|wie|warum|wann)\b[^.?!\n]{0,50}\b(?:hatten|haben|hast|habe) (?:wir|du|ich)\b/i,
  /\b(?:was|welche[mnrs]?|wie|wo)\b[^.?!\n]{0,30}\bwar(?:en)?\s+(?:noch ?mal |gleich )?(?:das|der|die|unser\w*|mein\w*)\b/i,
  /\berinnerst du dich\b|\berinnere mich\b(?!,? (?:bitte )?(?:daran|später|morgen)\b)|\b(?:wir|du|ich) vorhin\b|\bvorhin (?:gesagt|benutzt|gemacht|besprochen)\b/i,
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

/** Code and lines of others: questions in them are not the human's. */
const QUOTED = /```[\s\S]*?(?:```|$(?![\s\S]))|^[ \t]*>.*$/gm

/** @returns undefined if the prompt refers to nothing */
export function asksForEarlier(prompt: string): AskedForEarlier | undefined {
  if (prompt.length > READ) return undefined
  const own = prompt.replace(QUOTED, " ")
  const inWords = QUESTIONS.some((question) => question.test(own))
  const names = namesIn(prompt)
  if (!inWords && (names.length === 0 || names.length > MOST_NAMES)) return undefined
  const kind = inWords ? KINDS.find(([, words]) => words.test(own))?.[0] : undefined
  return { inWords, ...(kind && { kind }), names }
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
