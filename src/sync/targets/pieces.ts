/** A piece of a vault: a range of a transcript as it goes to a target. What may be one, and what its names may be. Pure. */
import { isTopOfCopies, transcriptName } from "../../agents/layouts.ts"
import { isPlainId } from "../../base/session-id.ts"
import { isPlainSession } from "./entry.ts"

/** A copy on the machine that archived it. */
export interface CopyName {
  readonly writer: string
  readonly copy: string
}

/** A range of a transcript, without its bytes. */
export interface PieceAbout {
  /** Name of the archive that sent it. */
  readonly writer: string
  /** The copy's id there. */
  readonly copy: string
  /** Whose copy it is and its id there, if the writer has itself fetched it and passes it on. */
  readonly of?: CopyName
  /** The copy's path below `vault/` there, without the number of a superseded one. */
  readonly place: string
  /** Where Claude Code keeps the transcript there. */
  readonly path: string
  /** When the copy was begun, in ms since the epoch. */
  readonly created: number
  /** Subagents: `<session>/<agent>`. */
  readonly session: string
  /** The session's folder, if it is known. */
  readonly folder: string | null
  /** Offsets in the transcript. */
  readonly from: number
  readonly to: number
  /** Of the bytes, in hexadecimal. */
  readonly sha256: string
  /** As in the vault's trailers (vault/frame.ts); `tailHash` in hexadecimal. */
  readonly tailHash: string
  readonly time: number
  readonly rules: number
  readonly hidden: number
}

export interface VaultPiece extends PieceAbout {
  /** One zstd frame. */
  readonly frame: Uint8Array
}

/**
 * Text that was taken out of lines of a session, so that whoever else sends these lines takes it out, too. As in a
 * tombstone (vault/tombstones.ts): keyed hashes of the lines, and the spans to fill. It does not hold the text.
 */
export interface LineFills {
  readonly session: string
  readonly key: string
  readonly lines: Readonly<Record<string, readonly (readonly [from: number, to: number])[]>>
}

export type PieceName = Pick<PieceAbout, "writer" | "copy" | "from">

export const pieceKey = ({ writer, copy, from }: PieceName): string => `${writer} ${copy} ${from}`

/** The order of a list. */
export const byCopy = (a: PieceAbout, b: PieceAbout): number =>
  compare(a.writer, b.writer) || compare(a.copy, b.copy) || a.from - b.from

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

function isCopyName(value: unknown): value is CopyName {
  const { writer, copy } = (value ?? {}) as Partial<Record<keyof CopyName, unknown>>
  return typeof writer === "string" && typeof copy === "string"
}

/** Whether this is about a piece. What others have written may be damaged, or made up. */
export function isPieceAbout(value: unknown): value is PieceAbout {
  const it = (value ?? {}) as Partial<Record<keyof PieceAbout, unknown>>
  const { writer, copy, of, place, path, session, folder, sha256, tailHash } = it
  return (
    [writer, copy, place, path, session].every((name) => typeof name === "string") &&
    (of === undefined || isCopyName(of)) &&
    (folder === null || typeof folder === "string") &&
    [it.created, it.from, it.to, it.time].every((n) => Number.isSafeInteger(n) && (n as number) >= 0) &&
    (it.from as number) < (it.to as number) &&
    [it.rules, it.hidden].every((n) => Number.isInteger(n) && (n as number) >= 0 && (n as number) < 256) &&
    typeof sha256 === "string" &&
    /^[0-9a-f]{64}$/.test(sha256) &&
    typeof tailHash === "string" &&
    /^[0-9a-f]{1,16}$/.test(tailHash)
  )
}

/** Those that a machine and a copy have: they become names of folders of ours. */
const NAME = /^[A-Za-z0-9-]{1,80}$/
const PLACE = /^(?:home|root-[0-9a-f]{8}|imported|summaries|history)\/.{1,1000}\.zst$/
const PATH = /^\/\P{Cc}{1,4000}$/u
/** A folder or a file of Claude Code's, which may call it anything. */
const FILE_NAME = /^[^\p{C}\\:*?"<>|]{1,255}$/u

/**
 * Whether the names in it are such as a machine of ours gives them. They become paths below the vault, and the session
 * that is continued: none may lead out of it, or be an option. Whoever makes anything of what others have sent asks this.
 */
export function isPlainlyNamed({ writer, copy, of, place, path, session }: PieceAbout): boolean {
  // Other agents have a folder of their own, and none for each project in it.
  const [top = ""] = place.split("/", 1)
  const isAgents = isTopOfCopies(top)
  const own = isAgents ? place.slice(top.length + 1) : place
  const parts = own.split("/")
  const names = parts.slice(isAgents ? 1 : 2)
  // Of a subagent, and of what is beside a transcript: the session's folder.
  const owner = names.length > 1 ? names[0]! : parts.at(-1)!.replace(/(?:\.jsonl)?\.zst$/, "")
  return (
    [writer, copy, of?.writer ?? writer, of?.copy ?? copy].every(
      (name) => NAME.test(name) && isPlainId(name),
    ) &&
    isPlainSession(session) &&
    isPlainSession(owner) &&
    PLACE.test(own) &&
    parts.every((part) => FILE_NAME.test(part) && part !== "." && part !== "..") &&
    // The folder of a project begins with a hyphen.
    names.every((part) => !/^[-.]/.test(part)) &&
    PATH.test(path) &&
    isSessionAt(path, session)
  )
}

/**
 * Whether it is the session that the views find at this path. Versions of Claude Code up to 2.0 did not say there whose
 * a subagent is; others name a session only within.
 */
function isSessionAt(path: string, session: string): boolean {
  const { session: owner, agent } = transcriptName(path)
  if (agent === undefined) return owner === undefined ? !session.includes("/") : session === owner
  return owner === undefined ? session.endsWith(`/${agent}`) : session === `${owner}/${agent}`
}

/** Whether these can be applied; see `isPieceAbout`. */
export function isLineFills(value: unknown): value is LineFills {
  const { session, key, lines } = (value ?? {}) as Partial<Record<keyof LineFills, unknown>>
  if (typeof session !== "string" || typeof key !== "string") return false
  if (typeof lines !== "object" || lines === null) return false
  return Object.values(lines).every(
    (spans) =>
      Array.isArray(spans) &&
      spans.every(
        (span) =>
          Array.isArray(span) && span.length === 2 && span.every((n) => Number.isSafeInteger(n) && n >= 0),
      ),
  )
}
