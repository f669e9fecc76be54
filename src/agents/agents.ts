/** What is asked of all agents, or of the one whose line it is: reads their decoders, so hooks do not load it. */
import { shellWord } from "../base/text.ts"
import type { Agent, AgentPlaces, CommandLine, HistoryPrompt } from "../record/agent.ts"
import type { JsonObject } from "../record/json.ts"
import { withHandoffApart, withoutHandoff } from "../record/our-marks.ts"
import type { TranscriptRecord } from "../record/types.ts"
import { type RecordSpan, wholeRecordsIn } from "../record/whole-records.ts"
import { AGENT_ROWS } from "./agent-table.ts"
import { copyPlace } from "./layouts.ts"

/** The first one that says that it wrote a line is asked to decode it. */
export const AGENTS: readonly Agent[] = AGENT_ROWS.map(({ agent }) => agent())

/** As options and output name them. */
export const AGENT_NAMES: readonly string[] = AGENTS.map(({ name }) => name)

/** Whose sessions are not marked with a name. */
export const UNMARKED = AGENTS.at(-1)!.name

/** What people call an agent. */
export const agentTitle = (name: string): string => AGENTS.find((one) => one.name === name)?.title ?? name

/** Where their transcripts are. */
export const transcriptFolders = (places: AgentPlaces): string[] =>
  AGENTS.flatMap(({ transcripts }) => transcripts(places))

/** Whether a file lies as an agent's transcripts do, which may be a backup. */
export const isNamedAsTranscript = (path: string): boolean =>
  AGENTS.some((agent) => agent.isNamedAsTranscript(path))

/** Where those are whose agents we get no word from when they have written something: all but Claude Code. */
export const silentFolders = (places: AgentPlaces): string[] =>
  AGENTS.filter(({ name }) => name !== UNMARKED).flatMap(({ transcripts }) => transcripts(places))

/** Where their lists of all prompts are, whether or not they are there. */
export const promptHistories = (places: AgentPlaces): string[] =>
  AGENTS.flatMap(({ promptHistory }) => (promptHistory === undefined ? [] : [promptHistory(places)]))

/* Decodes lines of transcripts, whichever agent wrote them. Pure. */

const writerOf = (line: string): Agent => AGENTS.find(({ wrote }) => wrote(line)) ?? AGENTS.at(-1)!

/** Decodes one line. Never throws; a line that is not a JSON object becomes a record of type `malformed`. */
export const decodeLine = (line: string): TranscriptRecord => handoffApart(decoded(writerOf(line), line))

/** JSON can be nested so deeply that it is parsed, but no function that calls itself gets to its end. */
function decoded(agent: Agent, line: string): TranscriptRecord {
  try {
    return agent.decode(line)
  } catch {
    return { ...agent.decode("{}"), type: "unknown", program: agent.name }
  }
}

function handoffApart(record: TranscriptRecord): TranscriptRecord {
  const parts = withHandoffApart(record.parts)
  return parts === record.parts ? record : { ...record, parts }
}

/** A line's uuid and parts, as from `decodeLine`, but with a few calls instead of tens: for showing just some lines. */
export function partsOfLine(line: string): Pick<TranscriptRecord, "uuid" | "parts"> {
  const agent = writerOf(line)
  try {
    const { uuid, parts } = agent.partsOf(line)
    return { uuid, parts: withHandoffApart(parts) }
  } catch {
    return { uuid: undefined, parts: [] }
  }
}

/** Lines of a session's document, as objects (`Agent.documentLines`). @throws if it is none */
export function documentLines(
  path: string,
  text: string,
  beside: (name: string) => string | undefined,
): JsonObject[] {
  const agent = AGENTS.find(({ name }) => name === copyPlace(path)?.top)
  if (agent?.documentLines === undefined) throw new Error("no agent's document")
  return agent.documentLines(text, path, beside)
}

/** A record and its place in its line, in bytes; the whole line's if that is a record. */
export interface RecordInLine extends RecordSpan {
  readonly record: TranscriptRecord
  readonly text: string
}

/**
 * Decodes one line and, if it is not a JSON object, the whole records within it: a crash may have torn a record, and
 * glued others to it. A line without any is one record of type `malformed`.
 */
export function recordsIn(line: Buffer): RecordInLine[] {
  const text = line.toString("utf8")
  const record = decodeLine(text)
  const within = record.type === "malformed" ? wholeRecordsIn(line) : []
  if (within.length === 0) return [{ record, text, from: 0, to: line.length }, ...innerRecords(record, line)]
  return within.map(({ from, to }) => {
    const piece = line.toString("utf8", from, to)
    return { record: decodeLine(piece), text: piece, from, to }
  })
}

/** The records that one has within it, and where. One whose place is not found has that of the whole line. */
export function innerRecords({ inner = [] }: TranscriptRecord, line: Buffer): RecordInLine[] {
  let behind = 0
  return inner.map(({ record, json }) => {
    const next = line.indexOf(json, behind)
    const at = next < 0 ? line.indexOf(json) : next
    const from = Math.max(at, 0)
    // The next one may be within this one.
    behind = Math.max(behind, from + 1)
    const to = at < 0 ? line.length : at + Buffer.byteLength(json)
    return { record: handoffApart(record), text: line.toString("utf8", from, to), from, to }
  })
}

/** Has an id only within. Transcripts may hold nothing else. */
const SNAPSHOT = "file-history-snapshot"

/**
 * Whether a line, without its newline, holds a record that an agent may have written, also a version that did not exist
 * when this was written: of any type, with an id of its own or of its session, or anything of which the decoder makes a
 * text, a call or a result. In doubt it does: what is left out may be lost.
 */
export const holdsRecord = (line: Buffer): boolean =>
  recordsIn(line).some(({ record: { type, uuid, sessionId, parts, imported } }) => {
    if (parts.length > 0 || imported === true || type === SNAPSHOT) return true
    return type !== "unknown" && type !== "malformed" && (uuid ?? sessionId) !== undefined
  })

/** A prompt in a line of a list of all prompts; undefined if it is none. */
export function historyPrompt(line: string): HistoryPrompt | undefined {
  const found = writerOf(line).historyPrompt?.(line)
  return found && { ...found, text: withoutHandoff(found.text) }
}

/** Images, documents and sounds in a line, as base64 and in its order. The same bytes may be there twice. */
export const mediaOfLine = (line: string): string[] => writerOf(line).mediaData?.(line) ?? []

/* How their command lines are called. */

/** @param agent its name, as in the table of agents */
export const commandLineOf = (agent: string): CommandLine | undefined =>
  AGENTS.find(({ name }) => name === agent)?.commandLine

/** Names of the agents that can be started with a prompt, in the order of the alphabet. */
export const STARTABLE: readonly string[] = AGENTS.flatMap(({ name, commandLine }) =>
  commandLine === undefined ? [] : [name],
).sort()

/**
 * Why a program cannot be started with a prompt; undefined if it can.
 *
 * @param path where it was found, if it was
 */
export function whyNoPrompt({ program }: CommandLine, path: string | null): string | undefined {
  if (path === null) return `there is no ${program} on PATH`
  // Quoting that everybody else understands does not keep it from running what a text says.
  if (/\.(?:cmd|bat)$/i.test(path))
    return `${program} is a script, which Windows starts by cmd.exe: that would take signs in the prompt for its own`
  return undefined
}

/** As it is typed into a shell. */
export const typedCommand = ({ program }: CommandLine, words: readonly string[]): string =>
  [program, ...words].map(shellWord).join(" ")
