/**
 * What the model wants kept: a line each in a transcript of our own, one for each project, which is archived like the
 * host's. So it is in the vault, and found, shown and rebuilt like everything else.
 */
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { CtxError } from "../util/errors.ts"
import { writeWhole } from "../util/files.ts"
import { vaultFile, vaultPath } from "../vault/layout.ts"
import { CopyReader } from "../vault/reader.ts"
import { forgottenOf } from "../vault/tombstones.ts"
import { type Place, take } from "./take.ts"

/** How the sessions of these transcripts are named; the host's are uuids. */
const PREFIX = "notes-"
const TITLE = "Notes that Claude has kept with `remember`"
/** ms that another writer of the copy may take. */
const PATIENCE = 3000

const folderOf = (dataHome: string): string => join(dataHome, "notes")

export const isNotesSession = (session: string): boolean => session.startsWith(PREFIX)

/** @param project as the archive names it */
export const notesSession = (project: string): string =>
  PREFIX + Bun.hash.xxHash64(project, 0n).toString(16).padStart(16, "0")

export interface Note {
  readonly text: string
  readonly project: string
  /** A folder of the project. */
  readonly folder: string
  /** ms since the epoch. */
  readonly now: number
}

/**
 * Returns once the note is in the vault; the views follow.
 *
 * @throws CtxError when the vault does not hold it
 */
export function remember(place: Place, { text, project, folder, now }: Note): void {
  const session = notesSession(project)
  const path = join(folderOf(place.dataHome), `${session}.jsonl`)
  if (forgottenOf(place.dataHome, session, path)?.whole === true) {
    throw new CtxError("forgotten", "the notes of this project are to stay forgotten", {
      hint: `ctxbridge forget --undo ${session} allows new ones`,
    })
  }
  const common = { sessionId: session, cwd: folder, timestamp: new Date(now).toISOString() }
  const lines = [
    ...(existsSync(path) ? [] : [{ type: "ai-title", aiTitle: TITLE, ...common }]),
    { type: "ctxbridge-note", uuid: crypto.randomUUID(), ...common, text },
  ]
  mkdirSync(folderOf(place.dataHome), { recursive: true, mode: 0o700 })
  // One call: nobody reads half a note, and two writers' do not mix.
  appendFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""), { mode: 0o600 })
  const deadline = performance.now() + PATIENCE
  let state = take(place, path, { now, deadline, lastLine: "whole" }).captured.state
  // Another server archives the same file: then ours is in it, or it is our turn in a moment.
  while (state === "busy" && performance.now() < deadline) {
    Bun.sleepSync(10)
    state = take(place, path, { now, deadline, lastLine: "whole" }).captured.state
  }
  if (state !== "current") {
    throw new CtxError("not-archived", "the note is not in the vault yet", {
      hint: "the next note takes it along; ctxbridge verify tells what is wrong",
    })
  }
}

/** Takes out of our transcripts what has been taken out of the vault. */
export function followVault(dataHome: string): void {
  for (const name of existsSync(folderOf(dataHome)) ? readdirSync(folderOf(dataHome)) : []) {
    const path = join(folderOf(dataHome), name)
    // Its place does not depend on the home folder: it is not the host's.
    const copy = vaultFile(dataHome, vaultPath(path, ""))
    if (!existsSync(copy)) {
      // Without a tombstone its notes are still to be archived: the vault could not be written.
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
