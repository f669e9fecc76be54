/**
 * What the model wants kept: one line each in transcripts of our own, one per project, archived like Claude Code's. So
 * notes are in the vault, and found, shown and rebuilt like everything else.
 */
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { CtxError, throwBusy } from "../base/errors.ts"
import { writeWhole } from "../base/files.ts"
import { withLockFile } from "../base/lock.ts"
import { join } from "../base/path.ts"
import { notesSession } from "../base/session-id.ts"
import type { Paths, Policy } from "../config/load.ts"
import { captureTranscript } from "../vault/capture.ts"
import { knownOf } from "../vault/known-values.ts"
import { vaultFile, vaultPath } from "../vault/layout.ts"
import { CopyReader } from "../vault/reader.ts"
import { forgottenOf } from "../vault/tombstones.ts"
import { isExcludedFolder } from "./excluded.ts"

const TITLE = "Notes that Claude has kept with `remember`"
/** ms to wait for another writer of the copy or of the transcripts. */
const PATIENCE = 3000

const folderOf = (dataHome: string): string => join(dataHome, "notes")

interface Note {
  readonly text: string
  readonly project: string
  /** A folder of the project. */
  readonly folder: string
  /** Claude Code's session in which the model kept it, if it tells. */
  readonly keptIn: string | undefined
  /** ms since the epoch. */
  readonly now: number
}

/**
 * Returns once the note is in the vault; the views follow.
 *
 * @throws CtxError if the vault does not hold it
 */
export function keepNote(
  paths: Pick<Paths, "dataHome" | "home"> & Partial<Policy>,
  { text, project, folder, keptIn, now }: Note,
): void {
  const session = notesSession(project)
  const path = join(folderOf(paths.dataHome), `${session}.jsonl`)
  if (forgottenOf(paths.dataHome, session, path)?.whole === true) {
    throw new CtxError("forgotten", "the notes of this project are to stay forgotten", {
      hint: `ctxbridge forget --undo ${session} allows new ones`,
    })
  }
  if (isExcludedFolder(paths, folder)) {
    throw new CtxError("excluded", "nothing of this folder is archived: it is in capture.exclude", {
      hint: "ctxbridge config get capture.exclude",
    })
  }
  const common = { sessionId: session, cwd: folder, timestamp: new Date(now).toISOString() }
  const lines = [
    ...(existsSync(path) ? [] : [{ type: "ai-title", aiTitle: TITLE, ...common }]),
    { type: "ctxbridge-note", uuid: crypto.randomUUID(), ...common, ...(keptIn && { keptIn }), text },
  ]
  mkdirSync(folderOf(paths.dataHome), { recursive: true, mode: 0o700 })
  alone(paths.dataHome, () => {
    // In one call, so that nobody reads half a note.
    appendFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""), { mode: 0o600 })
    archive(paths, path, now)
  })
}

function archive(paths: Pick<Paths, "dataHome" | "home"> & Partial<Policy>, path: string, now: number): void {
  const deadline = performance.now() + PATIENCE
  let state = captureTranscript(paths, path, { now, deadline, lastLine: "whole", known: knownOf }).captured
    .state
  // A command is archiving the same file: it takes our note as well, or we get our turn in a moment.
  while (state === "busy" && performance.now() < deadline) {
    Bun.sleepSync(10)
    state = captureTranscript(paths, path, { now, deadline, lastLine: "whole", known: knownOf }).captured
      .state
  }
  if (state !== "current") {
    throw new CtxError("not-archived", "the note is not in the vault yet", {
      hint: "the next note brings it in, too; ctxbridge verify says what is wrong",
    })
  }
}

/**
 * Runs `write` while nobody else writes our transcripts: lines added to one that is being replaced would be lost.
 *
 * @throws CtxError `busy`
 */
function alone(dataHome: string, write: () => void): void {
  withLockFile(join(dataHome, "notes.lock"), PATIENCE, write, () =>
    throwBusy("another process is writing the notes", "try again"),
  )
}

/** Removes from our transcripts what has been removed from the vault. */
export function followVault(dataHome: string): void {
  if (existsSync(folderOf(dataHome))) alone(dataHome, () => followAll(dataHome))
}

function followAll(dataHome: string): void {
  for (const name of readdirSync(folderOf(dataHome))) {
    const path = join(folderOf(dataHome), name)
    // Its path does not depend on the home folder, as it is not a transcript of Claude Code's.
    const copy = vaultFile(dataHome, vaultPath(path, ""))
    if (!existsSync(copy)) {
      // Without a tombstone, its notes still need archiving: the vault could not be written.
      if (forgottenOf(dataHome, name.replace(/\.jsonl$/, ""), path)?.whole === true) rmSync(path)
      continue
    }
    const text = readFileSync(path)
    const kept = contentOf(copy)
    const now = Buffer.concat([kept, text.subarray(kept.length)])
    if (!now.equals(text)) writeWhole(path, now.toString("utf8"))
  }
}

function contentOf(copy: string): Buffer {
  const reader = new CopyReader(copy)
  try {
    return Buffer.concat([...reader.pieces()])
  } finally {
    reader.close()
  }
}
