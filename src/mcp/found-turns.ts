/** Search results as text: the best hits with their passages, a line for each other one. Pure. */
import { isNotesSession } from "../archive/notes-session.ts"
import { shortNameOf } from "../archive/project.ts"
import { name } from "../restore/quote.ts"
import type { FarHit } from "../search/far-hit.ts"
import type { Hit } from "../search/hit.ts"
import type { WholeHit } from "./hit-passages.ts"
import { minute, nameOr, plain, strange } from "./quoting.ts"

type AnyHit = Hit | FarHit

/** UTF-16 units of a line's texts. */
const LINE = 64
const ASKED = 36
/** How many of these may precede the first word that was searched for. */
const LEAD = 30
/** The least that a text is shortened to. */
const LEAST = 80

/**
 * A hit at length, quoted as JSON strings, so that nothing in it can end its quotation.
 *
 * @param room UTF-16 units for its passages
 * @param most for everything; what is beyond it is left out
 */
export function hitAtLength(
  hit: AnyHit,
  whole: WholeHit | undefined,
  isMixed: boolean,
  room: number,
  most: number,
): string {
  const lines = whole?.lines()
  const head = `${hit.handle}${lines?.at === undefined ? "" : `@${lines.at}`} ${about(hit, lines, isMixed)}`
  const passages = whole?.passages(room) ?? [{ role: hit.role ?? "turn", text: hit.snippet }]
  let left = most - head.length
  return passages.reduce((text, { role, text: words }) => {
    const quoted = role === "human" || role === "assistant" ? plain : strange
    const line = `\n  ${role}: ${fitting(words, left - role.length - 6, quoted)}`
    if (line.length > left) return text
    left -= line.length
    return text + line
  }, head)
}

type Quoting = (text: string, limit: number) => string

/** Escapes take room as well. */
function fitting(words: string, room: number, quoted: Quoting): string {
  let limit = Math.max(LEAST, room)
  for (let tries = 0; ; tries++) {
    const line = JSON.stringify(quoted(words, limit))
    if (line.length <= room + 2 || limit <= LEAST || tries === 4) return line
    limit = Math.max(LEAST, limit - (line.length - room))
  }
}

function about(hit: AnyHit, lines: ReturnType<WholeHit["lines"]> | undefined, isMixed: boolean): string {
  return [
    ...(isMixed || "far" in hit ? [projectName(hit.project)] : []),
    `session ${sessionName(hit.session)} turn ${hit.seq}`,
    minute(hit.time),
    speakerOf(hit),
    ...(lines?.at === undefined ? [] : [`line ${lines.at} of ${lines.of}`]),
    ...marksOf(hit),
  ].join(", ")
}

/** One line for a hit. */
export function hitLine(hit: AnyHit, isMixed: boolean): string {
  const where = [
    ...(isMixed || "far" in hit ? [projectName(hit.project)] : []),
    minute(hit.time),
    speakerOf(hit),
  ].join(", ")
  const said = JSON.stringify(quotingOf(hit)(around(hit.snippet, hit.marks), LINE))
  const asked = hit.prompt === null ? "" : ` (asked: ${JSON.stringify(plain(hit.prompt, ASKED))})`
  return `${hit.handle} ${where}: ${said}${asked}${marksOf(hit)
    .map((mark) => ` (${mark})`)
    .join("")}`
}

const marksOf = (hit: AnyHit): string[] => [
  ...("others" in hit ? ["written by others"] : []),
  ...(hit.takenBack ? ["rewound"] : []),
  ...(hit.isLost ? ["its copy is missing"] : []),
  ...("promptsOnly" in hit ? ["prompts only"] : []),
  ...("far" in hit ? [`from ${name(hit.far.machine ?? "another machine", 40)}`] : []),
  ...(hit.why.length === 0 && hit.score > 0 && !("far" in hit) ? ["by meaning"] : []),
]

/** Who said it, or the name of the tool. */
const speakerOf = ({ session, role, tool }: AnyHit): string =>
  isNotesSession(session) ? "note by the model" : tool === null ? (role ?? "turn") : nameOr(tool, "tool")

const quotingOf = ({ session, role, tool }: AnyHit): Quoting =>
  isNotesSession(session) || (tool === null && (role === "human" || role === "assistant")) ? plain : strange

export const projectName = (project: string | null): string =>
  name(shortNameOf(project ?? "") ?? "unknown", 40)

/** As much of the host's name of a session as tells it from others. */
const sessionName = (session: string): string =>
  /^[\da-f]{8}-[\da-f]{4}-/.test(session) ? session.slice(0, 8) : name(session, 24)

/** Starts the snippet late enough that the first word that was searched for is within what is shown. */
function around(snippet: string, [first]: Hit["marks"]): string {
  const from = first === undefined || first[1] < LINE - LEAD ? 0 : first[0] - LEAD
  return from <= 0 ? snippet : `…${snippet.slice(from).replace(/^[\udc00-\udfff]/, "")}`
}
