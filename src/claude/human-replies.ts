/**
 * What a human says in a call's result: why they refused the call, or what they answered to the model's questions. Pure.
 */
import { isObject, type JsonObject, objectOf, stringOf } from "../record/json.ts"
import type { Part } from "../record/types.ts"

/** Beginning of the result of a call that a human refused, so nothing was run. */
const REJECTED = "The user doesn't want to proceed with this tool use"
export const isRefusal = (result: string): boolean => result.startsWith(REJECTED)
/** What Claude Code writes before a human's reason for refusing a tool call. */
const REASON_LEADS = ["the following reason for the rejection:", "To tell you how to proceed, the user said:"]
const LONGEST_LEAD = 400
/** What Claude Code writes after it. */
const REASON_TAIL = "\n\nNote: The user's next message may contain"

/**
 * @param beside what Claude Code writes beside the result
 * @param feedback a refusal's reason, from versions of Claude Code that write it into a field of its own
 */
export function saidInResult(
  result: Extract<Part, { readonly kind: "toolResult" }>,
  beside: unknown,
  feedback: unknown,
): Part[] {
  if (!result.isError) return replyParts(result.id, repliesIn(result.text, beside))
  const reason = stringOf(feedback)
  const text = rejectionReason(result.text, reason)
  if (text === undefined) return []
  if (isRefusedForm(text)) return replyParts(result.id, repliesInRefused(text))
  return [{ kind: "prompt", via: "typed", text, ...(reason === undefined ? { within: result.id } : {}) }]
}

function rejectionReason(text: string, feedback: string | undefined): string | undefined {
  if (!isRefusal(text)) return undefined
  let reason = feedback
  // Claude Code's own words are one line.
  const line = text.slice(0, LONGEST_LEAD).split("\n", 1)[0]!
  for (const lead of REASON_LEADS) {
    const at = reason === undefined ? line.indexOf(lead) : -1
    if (at !== -1) reason = text.slice(at + lead.length).split(REASON_TAIL, 1)[0]
  }
  return reason?.trim() || undefined
}

const replyParts = (within: string, replies: readonly QuestionReply[]): Part[] =>
  replies.map(({ question, answer }) => ({ kind: "reply", question, text: answer, within }))

/**
 * An answer in the form by which the model asks questions. Versions of Claude Code from 2.0.22 to 2.1.332 write
 * `questions` and `answers` beside the result: an answer is a label, several labels joined or listed, or what was typed
 * instead; notes are in `annotations`; `response` is typed instead of any answer. Where only the text is left, or the
 * form was refused, the text is read.
 */
interface QuestionReply {
  /** Empty: what was typed answers the form as a whole. */
  readonly question: string
  readonly answer: string
}

/** How the text of an answered form begins. */
const LEADS = [
  "User has answered your questions: ",
  "Your questions have been answered: ",
  "The user answered: ",
  "The user asked for more questions before you proceed. So far they answered: ",
] as const
const RESPONDED = "The user responded: "
/** With what these texts begin: most results are anything else. */
const WORD = 8
const MAY_ANSWER = new Set([...LEADS, RESPONDED, "No response after"].map((lead) => lead.slice(0, WORD)))
/** Claude Code itself goes on if nobody is there, with what had been selected by then. */
const IDLE = /^No response after \d+s\b/
const SELECTED = "Before going idle the user had selected: "
/** What follows the answers. */
const TAILS = [
  ". You can now continue with the user's answers in mind.",
  ". You can now continue with these answers in mind.",
  ". Read the answers carefully",
  ". They also wrote: ",
  ". Call AskUserQuestion again",
] as const

/** What a refused form says instead of a human's reason. */
const REFUSED = [
  "The user wants to clarify these questions",
  "The user has indicated they have provided enough answers",
] as const
const isRefusedForm = (text: string): boolean => REFUSED.some((lead) => text.startsWith(lead))

/** In place of an answer where there are only notes. */
const NO_ANSWERS = new Set(["", "(notes only)", "(no option selected)", "(No answer provided)"])

/** What was answered, by a call's result and what Claude Code writes beside it. */
function repliesIn(text: string, beside: unknown): QuestionReply[] {
  const { questions, answers } = objectOf(beside)
  if (questions === undefined && !MAY_ANSWER.has(text.slice(0, WORD))) return []
  if (Array.isArray(questions) && isObject(answers)) return fromFields(questions, answers, objectOf(beside))
  if (text.startsWith(RESPONDED)) return [{ question: "", answer: text.slice(RESPONDED.length).trim() }]
  if (IDLE.test(text)) {
    const at = text.indexOf(SELECTED)
    return at < 0 ? [] : fromText(text.slice(at + SELECTED.length).replace(/\.$/, ""))
  }
  const lead = LEADS.find((one) => text.startsWith(one))
  return lead === undefined ? [] : fromText(withoutTail(text.slice(lead.length)))
}

function fromFields(questions: readonly unknown[], answers: JsonObject, beside: JsonObject): QuestionReply[] {
  const notes = objectOf(beside["annotations"])
  const asked = questions.flatMap((one) => stringOf(objectOf(one)["question"]) ?? [])
  const all = [...new Set([...asked, ...Object.keys(answers), ...Object.keys(notes)])]
  const replies = all.flatMap((question) =>
    replyTo(question, [answerText(answers[question]), stringOf(objectOf(notes[question])["notes"])]),
  )
  const [only = "", ...others] = asked
  return [...replies, ...replyTo(others.length === 0 ? only : "", [stringOf(beside["response"])])]
}

const answerText = (answer: unknown): string | undefined =>
  Array.isArray(answer)
    ? answer.flatMap((one) => stringOf(one) ?? []).join(", ")
    : typeof answer === "number"
      ? String(answer)
      : stringOf(answer)

function replyTo(question: string, said: readonly (string | undefined)[]): QuestionReply[] {
  const answer = said
    .map((one) => one?.trim() ?? "")
    .filter((one) => !NO_ANSWERS.has(one))
    .join("\n")
  return answer === "" ? [] : [{ question: question.trim(), answer }]
}

/** Up to the last of them: an answer may contain the same words. */
function withoutTail(text: string): string {
  const end = Math.max(...TAILS.map((tail) => text.lastIndexOf(tail)))
  return end < 0 ? text : text.slice(0, end)
}

/** `"question"="answer"`, one behind another with a comma. */
const PAIR = /(?:^|, )"((?:(?!"=|", ")[\s\S])+)"=(?="|\(no option selected\))/g
const BESIDE = / (?:user )?notes: /
const PREVIEW = / selected preview:\n/

function fromText(text: string): QuestionReply[] {
  const pairs = [...text.matchAll(PAIR)]
  return pairs.flatMap((pair, n) => {
    const value = text.slice(pair.index + pair[0].length, pairs[n + 1]?.index)
    const at = value.search(BESIDE)
    const notes = at < 0 ? undefined : value.slice(at).replace(BESIDE, "")
    const [answer = ""] = (at < 0 ? value : value.slice(0, at)).split(PREVIEW, 1)
    return replyTo(pair[1]!, [unquoted(answer), notes])
  })
}

const unquoted = (text: string): string => text.replace(/^"([\s\S]*)"$/, "$1")

/** `- "question"`, and below it what was answered so far. */
const ASKED =
  /^- "([\s\S]*?)"\n {2}(?:Answer: ([\s\S]*?)|\(No answer provided\))(?:\n {2}User notes: ([\s\S]*?))?(?=\n- "|\n\nNote: |$(?![\s\S]))/gm

/** What a refused form holds. */
const repliesInRefused = (text: string): QuestionReply[] =>
  [...text.matchAll(ASKED)].flatMap(([, question = "", answer, notes]) => replyTo(question, [answer, notes]))
