/** Brings a transcript into the vault. Needs no database. */
import { transcriptName } from "../agents/layouts.ts"
import { relative } from "../base/path.ts"
import { sessionIdOf } from "../base/session-id.ts"
import type { Paths, Policy } from "../config/load.ts"
import { type Captured, type Chunk, capture, type KnownValues } from "./capture.ts"
import { vaultFile, vaultPath } from "./layout.ts"
import { markPending, type Pending } from "./pending.ts"
import type { Stretch } from "./reader.ts"
import { readPart } from "./source-file.ts"
import { type Forgotten, forgottenOf } from "./tombstones.ts"

/** Bytes of content kept in memory between capture and indexing; if there is more, indexing reads the vault. */
const KEPT_BYTES = 4 << 20

export interface Taken extends Pending {
  readonly captured: Captured
  /** The bytes just taken, from the first one on, unless they were too many to keep. */
  readonly fresh: readonly Stretch[]
  /** The views do not know about it, because no marker could be left. */
  readonly unmarked: boolean
}

/** `knownOf` in vault/known-values.ts. */
type KnownFactory = (paths: Pick<Paths, "dataHome" | "home">, session: string, path: string) => KnownValues

export interface TakeOptions {
  /** ms since the epoch. */
  readonly now: number
  /** File that has the transcript's bytes, if it has been compressed. */
  readonly readFrom?: string | undefined
  /** ms of performance.now(). */
  readonly deadline: number
  /** Whether somebody waits: no line is begun that may take much longer than the deadline. */
  readonly hurried?: boolean | undefined
  readonly lastLine: "whole" | "any"
  /** What was recognised as a secret in a session. `ask`: only see if it is needed, since few sessions do. */
  readonly known?: KnownFactory | "ask" | undefined
  /** Session of a subagent's transcript, for versions of Claude Code whose paths do not tell (up to 2.0). */
  readonly parent?: string | undefined
  /** Says what must not be archived, if its session's tombstone does not. */
  readonly forgotten?: (() => Forgotten | undefined) | undefined
  /** zstd level; undefined: as fast as a hook needs. */
  readonly level?: number | undefined
}

/** zstd level when nobody waits: twice the time of a hook's, and 3 % smaller. Level 6 takes a third more for 1 %. */
export const UNHURRIED = 4

/**
 * Brings the vault's copy of a transcript up to date. Callers first check if it is excluded (excluded.ts). Without a
 * policy, the known formats of secrets are filtered.
 */
export function captureTranscript(
  paths: Pick<Paths, "dataHome" | "home"> & Partial<Policy>,
  path: string,
  options: TakeOptions,
): Taken {
  const copy = vaultPath(path, paths.home)
  const session = sessionOf(path, options.parent)
  const forgotten = options.forgotten ?? (() => forgottenOf(paths.dataHome, session, path))
  const fresh: Stretch[] = []
  let kept = 0
  let unmarked = false
  // A marker too many costs nothing, but a missing one hides a turn. So mark before the first byte, in case we die, and
  // again after each frame, in case somebody has settled the marker meanwhile.
  const mark = (grown: string): void => {
    try {
      markPending(paths.dataHome, { path, copy: grown, session })
    } catch {
      // The vault matters more than the views.
      unmarked = true
    }
  }
  const onChunk = ({ segment, content }: Chunk): void => {
    mark(copy)
    kept += content.length
    if (kept <= KEPT_BYTES) fresh.push({ from: segment.from, content })
  }
  const captured = capture({
    transcript: path,
    readFrom: options.readFrom,
    copy: vaultFile(paths.dataHome, copy),
    now: options.now,
    deadline: options.deadline,
    hurried: options.hurried,
    lastLine: options.lastLine,
    level: options.level,
    forgotten,
    secrets: paths.secrets,
    known: typeof options.known === "function" ? options.known(paths, session, path) : options.known,
    // The views may not have followed the old copy to its end.
    onSuperseded: (file) => mark(relative(vaultFile(paths.dataHome, ""), file)),
    onBegin: () => mark(copy),
    onChunk,
  })
  return { path, copy, session, captured, fresh: kept <= KEPT_BYTES ? fresh : [], unmarked }
}

/** What the user does not want archived of a transcript; undefined: all of it is wanted. */
export const forgottenTranscript = (dataHome: string, path: string): Forgotten | undefined =>
  forgottenOf(dataHome, sessionOf(path), path)

/** The session of a transcript in the views: `<session>`, or `<session>/<agent>` for a subagent. */
export function sessionOf(path: string, parent?: string): string {
  const name = transcriptName(path)
  const known = name.session ?? parent
  // Versions of Claude Code up to 2.0 keep subagents beside their sessions and name the parent in each line.
  const start = known === undefined ? readPart(path, 0, NAMED_WITHIN) : undefined
  const owner = known ?? (start && sessionNamedIn(start)) ?? "unknown"
  return name.agent === undefined ? owner : `${owner}/${name.agent}`
}

/** A transcript's first line names its session within this many bytes. */
const NAMED_WITHIN = 4096

/** @param start of a transcript */
export function sessionNamedIn(start: Uint8Array): string | undefined {
  const text = Buffer.from(start.subarray(0, NAMED_WITHIN)).toString("latin1")
  const name = /"sessionId"\s*:\s*"([^"\\]+)"/.exec(text)?.[1]
  return name === undefined ? undefined : sessionIdOf(name)
}
