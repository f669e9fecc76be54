/**
 * Finds sentences worth keeping by their wording. Pure.
 *
 * A constraint is what a human told the model to do or not to do for good; a decision is what the model settled and
 * why, or what a human chose of what it offered; a refuted approach is what it tried in vain. All are kept verbatim.
 * Covers English, German, Spanish and Chinese; test/unit/record/sentences.test.ts tells how well.
 */
import { cut, oneLine } from "../base/text.ts"
import { withItsOption } from "./choices.ts"
import type { Part } from "./types.ts"
import { isWorded, Sentence } from "./wording.ts"
import { constraints } from "./wording-constraints.ts"
import { decisions } from "./wording-decisions.ts"
import { refuted } from "./wording-refuted.ts"

const LONGEST = 300
const MOST = 8

/** Marks before a line's words: quotation, list, number, box. */
const LINE_MARKS = /^(?:>\s?|[-*+•]\s+|\d{1,3}[.)]\s+|\[[ xX]\]\s+)+/
const HEADING = /^#{1,6}\s/
/** What ends like this only announces what follows. */
const ANNOUNCES = /[:：][*_`)]*$/
/** A line of at least this length that ends within a sentence continues on the next one. */
const WRAPPED = 50
/** So does one that ends with such a word, even if the next one begins with a capital letter. */
const OPEN_END =
  /(?<!\p{L})(?:the|an?|of|to|and|or|with|for|from|by|than|der|die|das|den|dem|eine?[nmr]?|und|oder|mit|für|von)$/u
/** After the end of a sentence, but not after an abbreviation. */
const SENTENCE_END =
  /(?<=[.!?]["'”’)]{0,2})(?<!\b(?:e\.g|i\.e|etc|vs|cf|approx|resp|z\.B|d\.h|bzw|ca|Nr|No|Abs|p\.ej|Dr|Mr|Mrs|Ms|St)\.)\s+|(?<=[。！？；])/

/** Sentences of prose. Skips headings, and code blocks and Claude Code's tags, which hold none. */
function sentences(text: string): readonly Found[] {
  if (latest?.text === text) return latest.sentences
  const found: Found[] = []
  for (const line of unwrapped(withoutCode(text))) {
    if (isTooShort(line) || HEADING.test(line) || /^[<|{}[\]]/.test(line)) continue
    for (const sentence of line.split(SENTENCE_END)) {
      const trimmed = balanced(sentence.trim())
      if (!isTooShort(trimmed) && trimmed.length <= LONGEST && !ANNOUNCES.test(trimmed))
        found.push({ whole: trimmed, sentence: new Sentence(trimmed.replace(/^(?:\*\*|__)/, "")) })
    }
  }
  latest = { text, sentences: found }
  return found
}

/** An answer is searched for decisions, then for what was tried in vain. */
let latest: { readonly text: string; readonly sentences: readonly Found[] } | undefined

interface Found {
  readonly whole: string
  /** Without the mark of emphasis with which it begins. */
  readonly sentence: Sentence
}

/** Lines without their marks; those wrapped within a sentence are joined. */
function unwrapped(prose: string): string[] {
  const lines: string[] = []
  let continued: RegExp | undefined
  for (const raw of prose.split("\n")) {
    const trimmed = raw.trim()
    const line = trimmed.replace(LINE_MARKS, "")
    if (line === trimmed && continued?.test(line)) lines[lines.length - 1] += ` ${line}`
    else lines.push(line)
    continued = raw.length < WRAPPED ? undefined : continuationOf(raw)
  }
  return lines
}

/** UTF-16 units in which such a word is, with the letter before it: patterns would go through the whole line. */
const END = 8

/** How a line begins that continues this one; not at all if a sentence ends here. */
function continuationOf(line: string): RegExp | undefined {
  const end = line.slice(-END)
  if (OPEN_END.test(end)) return /./
  return /[\p{L}\p{N},]$/u.test(end) ? /^\p{Ll}/u : undefined
}

/** Removes marks of emphasis or code that the end of the sentence has cut off from their counterparts. */
function balanced(sentence: string): string {
  let text = sentence
  for (const mark of ["**", "__", "`"]) {
    if (!text.includes(mark)) continue
    const parts = text.split(mark)
    if (parts.length % 2 === 1) continue
    if (text.startsWith(mark)) text = text.slice(mark.length)
    else if (text.endsWith(mark)) text = text.slice(0, -mark.length)
    else text = parts.join("")
  }
  return text.trim()
}

/** Chinese needs five characters where other languages need eight. */
const isTooShort = (text: string): boolean =>
  text.length < 5 || (text.length < 8 && !/\p{Script=Han}/u.test(text))

/** What stands between quotation marks or backticks is spoken of, not said. */
const SPOKEN_OF = /"[^"]*"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|`[^`]*`/g
const withoutQuotes = (sentence: Sentence): Sentence =>
  /["“„«`]/.test(sentence.text) ? new Sentence(sentence.text.replace(SPOKEN_OF, "x")) : sentence
/** Several sentences between quotation marks, which the ends of sentences would separate from the marks. */
const withoutSpeech = (text: string): string =>
  text.replace(/"[^"\n]*"/g, (quoted) => (/[.!?] /.test(quoted) ? '"…"' : quoted))

/** Of "If you touch it, never …" the rule is what follows. */
const CONDITION =
  /^(?:if|when(?:ever)?|once|before|after|in case|wenn|falls|sobald|bevor|nachdem)(?!\p{L})(?:[^,:;]*?[,:;]|[^,:;]*\bthen\b)\s*/iu

/** A sentence in quotation marks is somebody else's. */
const SPOKEN = /^(?:"[^"]*"?|[“„][^”“]*[”“]?|«[^»]*»?)[.!?]?$/

/** "Never push, ok?" asks for nothing but an assent. */
const ASSENT = /,? (?:ok|okay|understood|got it|vale|verstanden|alles klar)\?$/i

export const constraintsIn = (prompt: string): string[] =>
  pick(withoutSpeech(typedText(prompt)), (sentence) => {
    const { text } = withoutQuotes(sentence)
    return (
      !SPOKEN.test(sentence.text) &&
      isWorded(new Sentence(text.replace(ASSENT, ".").replace(CONDITION, "")), constraints())
    )
  })

/** Characters of an answer, and of its question. */
const ANSWER_NOTED = 200
const QUESTION_NOTED = 90
const ASKED = " (asked: "

/** With the question that it answers: "the second one" says nothing alone. */
const withQuestion = (text: string, question: string): string =>
  question === "" ? text : `${text}${ASKED}${cut(oneLine(question), QUESTION_NOTED)})`

/** A note without the question that it answers. */
export const withoutQuestion = (note: string): string => note.split(ASKED, 1)[0]!

type ReplyPart = Extract<Part, { readonly kind: "reply" }>

/** Constraints in what a human answered to a question of the model's. */
export const rulesInReply = ({ question, text }: ReplyPart): string[] =>
  constraintsIn(text).map((rule) => withQuestion(rule, question))

/** The answer itself, unless a constraint says it already. */
export const answersInReply = ({ question, text }: ReplyPart): string[] =>
  constraintsIn(text).length > 0 ? [] : [withQuestion(cut(oneLine(text), ANSWER_NOTED), question)]

/** `That is now decided.` only refers to a decision made elsewhere. */
const POINTING = /^(?:that|this|it|das|dies(?:es)?|es|eso|esto)(?:['’]s)?\s/i
const POINTING_SHORTEST = 8

/**
 * Of a human, choices among the options that the model gave.
 *
 * @param before what the model said before, a text for each turn in which it said something, newest first: a choice by an
 * option's label alone is noted with what the option is, or not at all
 */
export const decisionsIn = (
  words: string,
  by: "human" | "model" = "model",
  before: () => readonly string[] = () => [],
): string[] => (by === "human" ? choicesIn(words, before) : withOptions(words, before, isDecision))

/** Longer prompts say what they want in words of their own. */
const LONGEST_PROMPT = 2000
/** In a list, a number is that of the question which it answers. */
const LISTED = /^\s*(?:[-*+•]|\d{1,2}[.)])\s+\S/
const NUMBERED = /^\s*[#(]?\d{1,2}(?![\p{L}\p{N}])/u
/** "2, can you also rename it?" */
const REQUEST = /, (?:and )?(?:can|could|would|will) you\b.*\?\s*$/i
const ENDS = /(?<=[.!?])\s+|(?<=[。！？])/

function choicesIn(prompt: string, before: () => readonly string[]): string[] {
  if (prompt.length > LONGEST_PROMPT) return []
  const found: string[] = []
  const choiceIn = withItsOption(before)
  const lines = typedText(prompt).split("\n")
  if (lines.filter((line) => NUMBERED.test(line)).length > 1) return []
  for (const [n, line] of lines.entries()) {
    if (LISTED.test(line)) continue
    for (const [m, whole] of line.trim().split(ENDS).entries()) {
      const sentence = whole.replace(REQUEST, "")
      if (/[?？]\s*$/.test(sentence)) continue
      const isFirst = n === 0 && m === 0
      const choice = choiceIn(sentence, isFirst ? "prompt's beginning" : "prompt")
      if (choice !== undefined && found.push(choice) >= MOST) return found
    }
  }
  return found
}

/** Approaches that were tried in vain, or ruled out. */
export const refutedIn = (answer: string, before: () => readonly string[] = () => []): string[] =>
  withOptions(answer, before, (sentence) => isWorded(sentence, refuted()))

/**
 * An option may have been listed earlier in the same answer, but not behind the sentence: there come steps and findings.
 * Of a sentence that was joined from lines, it is not known where it stands.
 */
function withOptions(
  answer: string,
  before: () => readonly string[],
  wanted: (sentence: Sentence) => boolean,
): string[] {
  const optionIn = withItsOption(before)
  return pick(answer, wanted).flatMap(
    (sentence) =>
      optionIn(sentence, "model", () => answer.slice(0, Math.max(0, answer.indexOf(sentence)))) ?? [],
  )
}

/** What is said aside of what one did oneself is a report. */
const ASIDE = /\s*\([^()]*\b(?:I|we)\b[^()]*\)/g

const isDecision = (sentence: Sentence): boolean =>
  !isPointing(sentence.text) && isWorded(withoutAsides(withoutQuotes(sentence)), decisions())

const withoutAsides = (sentence: Sentence): Sentence =>
  sentence.text.includes("(") ? new Sentence(sentence.text.replace(ASIDE, "")) : sentence

const isPointing = (sentence: string): boolean =>
  POINTING.test(sentence) && (sentence.match(/[\p{L}\p{N}]+/gu)?.length ?? 0) < POINTING_SHORTEST

function pick(text: string, wanted: (sentence: Sentence) => boolean): string[] {
  const found = new Set<string>()
  for (const { whole, sentence } of sentences(text)) {
    if (wanted(sentence)) found.add(whole)
    if (found.size >= MOST) break
  }
  return [...found]
}

/* What an answer comes to. */

/** What precedes a result, or stands for one: "Perfect!", "You're right." */
const NO_RESULT =
  /^(?:(?:perfect|great|excellent|awesome|nice|good|sure|yes|no|ok(?:ay)?|got it|understood|all set|done|fixed|success|right|you(?:['’]re| are) (?:absolutely )?(?:right|welcome)|no response requested|perfekt|super|fertig|erledigt|gut|listo|hecho|perfecto|完成|好的)(?: \p{L}+)?[\s!.,。！🎉✅]*)$/iu
/** What the model was about to do, or asks for. */
const INTENT =
  /^(?:(?:ok(?:ay)?|now|so|and|but|good|great|next|first|perfect|alright)[,.!]? )*(?:let me|let['’]s|i['’]ll|i will|i need to|i should|i['’]m going to|i am going to|now i need|(?:please )?let me know|if you(?:['’]d like|['’]re| want| would| prefer)|feel free|ich werde|lass mich|voy a|déjame|şimdi)(?!\p{L})/iu
const OFFER = /^(?:.{0,20}\blet me know|if you)\b/iu
/** What only says that a list follows. */
const HEAD =
  /^(?:here(?:['’]s| is| are)|the (?:following|changes|key)|summary|changes|what|key|this (?:provides|gives|means)|now|hier (?:ist|sind)|aquí)(?!\p{L})/iu
const QUESTION = /[?？][*_)"'”’\s\p{Extended_Pictographic}]*$/u
/** A shorter one is shown with the next one of its line. */
const SHORT_RESULT = 30
const RESULT_LONGEST = 240
const RESULT_SHORTEST = 4

/**
 * What is told of a session's last answer: the question to the user with which it ends, or else what it comes to.
 *
 * @param isEnd whether nothing followed on it, and its end is there
 */
export function lastWordsIn(
  answer: string,
  isEnd: boolean,
): { text: string; isQuestion: boolean } | undefined {
  const question = isEnd ? questionAtEnd(answer) : undefined
  const text = question ?? conclusionIn(answer)
  return text === undefined ? undefined : { text, isQuestion: question !== undefined }
}

/**
 * Its first sentence that says something, and is neither a plan nor a question; rather one of a paragraph than one of a
 * list. None if the answer ends with what the model was about to do.
 */
function conclusionIn(answer: string): string | undefined {
  const prose = withoutCode(answer).split("\n")
  const all = prose.flatMap((line) => sentencesOfLine(line))
  const last = all.findLast(({ text }) => !QUESTION.test(text))
  if (last !== undefined && INTENT.test(last.text) && !OFFER.test(last.text)) return undefined
  const telling = all.filter(({ text }) => isTelling(text))
  const best = telling.find(({ isItem }) => !isItem) ?? telling[0]
  if (best === undefined) return undefined
  const next = all[all.indexOf(best) + 1]
  const isJoined =
    best.text.length < SHORT_RESULT &&
    next?.line === best.line &&
    isTelling(next.text) &&
    best.text.length + next.text.length < RESULT_LONGEST
  const text = isJoined ? `${best.text} ${next.text}` : best.text
  return cut(text.replaceAll("**", "").replace(ANNOUNCES, ""), RESULT_LONGEST)
}

const isTelling = (sentence: string): boolean =>
  !NO_RESULT.test(sentence) &&
  !INTENT.test(sentence) &&
  !QUESTION.test(sentence) &&
  !(ANNOUNCES.test(sentence) && HEAD.test(sentence.replace(/^\*\*/, ""))) &&
  /\p{L}{2}/u.test(sentence)

interface SentenceOfLine {
  readonly text: string
  readonly line: string
  readonly isItem: boolean
}

function sentencesOfLine(raw: string): SentenceOfLine[] {
  const trimmed = raw.trim()
  const line = trimmed.replace(LINE_MARKS, "")
  // A bold line is a heading as well.
  if (
    HEADING.test(line) ||
    /^[<|{}[\]]/.test(line) ||
    /^(?:\*\*[^*]+\*\*:?|-{3,}|\*\*[^*]+:\*\*)$/.test(line)
  )
    return []
  return line
    .split(SENTENCE_END)
    .map((sentence) => ({ text: balanced(sentence.trim()), line: trimmed, isItem: line !== trimmed }))
    .filter(({ text }) => text.length >= RESULT_SHORTEST)
}

const withoutCode = (text: string): string => text.slice(0, 20_000).replace(/```[\s\S]*?(```|$)/g, "\n")

/** The question to the user with which an answer ends. */
function questionAtEnd(answer: string): string | undefined {
  const line = answer.trimEnd().split("\n").at(-1)!
  const last = sentencesOfLine(line.replaceAll("**", "")).at(-1)?.text
  return last !== undefined && QUESTION.test(last) ? cut(last, RESULT_LONGEST) : undefined
}

/*
 * The lines of a prompt that a human typed. Versions of Claude Code before 2.1.330 do not mark what was pasted, so only
 * its looks tell: code, changes, output and what is announced as somebody else's words. Pure.
 */

/** From this length on, in characters, a prompt holds a document; who pasted it typed what stands before and after. */
const DOCUMENT = 2000

/** At each end of a prompt so many characters are looked at: nobody types more. */
const PROMPT_END = 20_000
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

/** Lines that a human quotes are somebody else's words, mostly the model's. */
const QUOTED = /^[ \t]*>.*$/gm

function typedText(prompt: string): string {
  const ends =
    prompt.length > 2 * PROMPT_END ? `${prompt.slice(0, PROMPT_END)}\n\n${prompt.slice(-PROMPT_END)}` : prompt
  const lines = ends.replace(COMMAND, "").replace(BLOCKS, "\n").split("\n")
  const announced = lines.findIndex((line) => ANNOUNCED.test(line.trim()) && !OWN.test(line))
  const kept = announced === -1 ? lines : withoutPaste(lines, announced + 1)
  const text = kept
    .map((line) => (SHAPES.some((shape) => shape.test(line)) ? "" : line))
    .join("\n")
    .trim()
  if (text.length < DOCUMENT) return withoutQuoted(text)
  const paragraphs = paragraphsOf(text)
  return withoutQuoted(paragraphs.length < 3 ? text : `${paragraphs[0]}\n\n${paragraphs.at(-1)}`)
}

/** Of several paragraphs that follow, the last was typed: it stands apart from the paste. */
function withoutPaste(lines: readonly string[], from: number): string[] {
  const [, ...others] = paragraphsOf(lines.slice(from).join("\n").trim())
  return [...lines.slice(0, from), "", ...(others.at(-1) ?? "").split("\n")]
}

const paragraphsOf = (text: string): string[] => text.split(/\n[ \t]*\n/)

const withoutQuoted = (text: string): string => text.replace(QUOTED, "")
