/** Text from the archive is data: it is quoted, and cannot pose as the host's words or end our frame. Pure. */
import { cut, oneLine } from "../util/text.ts"

/** Tags by which the host, or we, mark text that is more than data. */
const HOST_TAG =
  /<(\/?)(system-reminder|system|command-[\w-]+|local-command-[\w-]+|bash-[\w-]+|user-memory-input|task-notification|persisted-output|ctxbridge-[\w-]+|function_calls|invoke|antml:[\w-]+|user-prompt-submit-hook)(?=[\s>/])/gi

/** Host tags lose their bracket; everything else stays as it was. */
export const neutral = (text: string): string => text.replace(HOST_TAG, "‹$1$2")

/** On one line, at most `limit` characters. */
export const quoted = (text: string, limit: number): string => cut(oneLine(neutral(text)), limit)

/** Each line behind `> `. */
export const blockQuote = (text: string): string =>
  neutral(text)
    .split("\n")
    .map((line) => `> ${line}`)
    .join("\n")
