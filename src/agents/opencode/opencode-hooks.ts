/**
 * What our plugin in opencode tells hooks and takes from them (install/opencode-plugin.js): documents with the fields of
 * Claude Code's, and plain text in return. Tried with 1.18.33. Pure.
 */
import { parseJson, plainJson } from "../../base/json-files.ts"
import { isOurBinary } from "../../base/own-program.ts"
import { join } from "../../base/path.ts"
import { decodeEvent, transcriptPath } from "../../claude/hooks.ts"
import { SERVER_NAME } from "../../claude/our-server.ts"
import type { EventName, HookEvent, HookForm } from "../../record/hook-event.ts"
import { type JsonObject, objectOf, stringOf } from "../../record/json.ts"
import { linesWith, wantedLines } from "../../record/lines-with.ts"
import { MARK } from "../../record/our-marks.ts"
import { typedWords } from "./opencode-lines.ts"
import { CONFIG_NAMES, opencodeConfigFolder, opencodeSession } from "./opencode-places.ts"

function decode(name: EventName, document: unknown): HookEvent | undefined {
  const event = decodeEvent(name, document)
  const its = opencodeSession(transcriptPath(objectOf(document)["transcript_path"]) ?? "")
  if (event === undefined || its?.session !== event.session) return undefined
  const isSubagents = stringOf(objectOf(document)["agent_id"]) !== undefined
  const isHuman = name === "user-prompt-submit" && !isSubagents
  const prompt = event.prompt && typedWords(event.prompt)
  return { ...event, prompt, agent: "opencode", folder: its.folder, isHuman, isSubagents }
}

/** Servers' tools are called otherwise than elsewhere. */
const encode: HookForm["encode"] = ({ name }, { text }) =>
  name === "session-start" || name === "user-prompt-submit"
    ? text.replaceAll(`mcp__${SERVER_NAME}__`, `${SERVER_NAME}_`)
    : ""

const COMPACTED = '"type":"compaction"'
const SUMMARY = '"isSummary":true'

const isCompacted = (line: JsonObject): boolean =>
  line["opencode"] === "part" && line["again"] !== true && objectOf(line["data"])["type"] === "compaction"

/** Without those whose summary has what we have given: a fork begins with a copy of it. */
function compactionOffsets(content: Uint8Array): number[] {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  const found = [...wantedLines(content, COMPACTED, isCompacted)]
  return found.flatMap(({ line: { from, to } }, n) => {
    const isAnswered = summaryIn(bytes.subarray(to, found[n + 1]?.line.from)).includes(MARK)
    return isAnswered ? [] : [from]
  })
}

function summaryIn(content: Buffer): string {
  const texts = [...linesWith(content, SUMMARY)].flatMap(
    ({ line }) => stringOf(objectOf(line["data"])["text"]) ?? [],
  )
  return texts.at(-1) ?? ""
}

const isAnswer = (line: JsonObject): boolean =>
  line["role"] === "assistant" && line["isSummary"] !== true && line["opencode"] !== "message"

/** Whether our server is listed, and not switched off: opencode lays the files over one another. */
const startsServer: NonNullable<HookForm["other"]>["startsServer"] = (places, read) => {
  const folder = opencodeConfigFolder(places)
  const entries = CONFIG_NAMES.map((name) => {
    const { mcp: servers } = objectOf(parseJson(plainJson(read(join(folder, name)) ?? "")))
    return objectOf(objectOf(servers)[SERVER_NAME])
  })
  const { command, enabled } = Object.assign({}, ...entries) as JsonObject
  const [program, word] = Array.isArray(command) ? command : []
  return typeof program === "string" && isOurBinary(program) && word === "mcp" && enabled !== false
}

export const OPENCODE_HOOKS: HookForm = {
  decode,
  encode,
  compactionOffsets,
  other: {
    summaryIn,
    dropsPrompt: true,
    hasAnswer: (content) => linesWith(content, '"assistant"').some(({ line }) => isAnswer(line)),
    startsServer,
  },
}
