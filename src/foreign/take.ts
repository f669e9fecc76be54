/** Imports another tool's archive into the vault, one copy per session. Needs no database of ours. */
import { join } from "node:path"
import { markPending } from "../archive/pending.ts"
import type { SecretSettings } from "../util/secrets.ts"
import { sha256Of } from "../util/sha256.ts"
import { appendMade } from "../vault/append.ts"
import { vaultFile } from "../vault/layout.ts"
import { forgottenOf } from "../vault/tombstones.ts"
import { copiesBySession, isHeldIn } from "./held.ts"
import { firstLine, lineOf, type MadeLine, type Provenance, sessionName } from "./lines.ts"
import { openForeignArchive } from "./open.ts"
import type { Tool } from "./types.ts"

export interface TakenArchive {
  readonly tool: Tool
  readonly sessions: number
  /**
   * Counts of lines: new ones, ones imported before, ones whose text the vault already has from the host, and ones of
   * sessions that the user wants forgotten.
   */
  readonly lines: {
    readonly taken: number
    readonly known: number
    readonly held: number
    readonly forgotten: number
  }
  /** Bytes of lines that the vault had before, and of new ones. */
  readonly before: number
  readonly taken: number
}

export interface TakeArchiveOptions {
  readonly dataHome: string
  /** Folder for a copy of a database that is in use. */
  readonly scratch: string
  readonly dryRun: boolean
  /** What must be kept out of the archive. */
  readonly secrets: SecretSettings
}

/**
 * @param file absolute path
 * @throws CtxError `foreign-damaged`, `foreign-unknown`, `foreign-busy`, before anything is taken
 */
export function takeArchive(
  file: string,
  { dataHome, scratch, dryRun, secrets }: TakeArchiveOptions,
): TakenArchive {
  const archive = openForeignArchive(file, scratch)
  try {
    const { tool } = archive
    const from: Provenance = { tool, file, sha256: sha256Of(file) }
    const copies = copiesBySession(dataHome)
    const lines = { taken: 0, known: 0, held: 0, forgotten: 0 }
    let sessions = 0
    let before = 0
    let taken = 0
    for (const session of archive.sessions()) {
      const name = sessionName(session.id, tool)
      // No such file exists: the path records the source and the session. Without `~` it would be below the archive,
      // which is not a folder.
      const path = join(`${file}~`, `${name}.jsonl`)
      // Under either name, because the tool recorded a session of the host.
      const wishes = [session.id, name].flatMap((id) => forgottenOf(dataHome, id, path) ?? [])
      if (wishes.some(({ whole }) => whole)) {
        lines.forgotten += session.items.length
        continue
      }
      const isHeld = isHeldIn(copies.get(session.id) ?? [])
      const fresh = session.items.filter((item) => !isHeld(item))
      const wanted = fresh.map((item) => lineOf(session, item, from))
      lines.held += session.items.length - fresh.length
      if (wanted.length === 0) continue
      sessions++
      const first = firstLine(session, from)
      const copy = join("imported", tool, `${name}.jsonl.zst`)
      let chosen: MadeLine[] = []
      const made = appendMade({
        copy: vaultFile(dataHome, copy),
        path,
        now: Date.now(),
        dryRun,
        secrets,
        edit: (content) => wishes.reduce((text, { edit }) => edit(text, 0), content),
        choose: (held) => {
          const known = uuidsIn(held)
          chosen = missing(wanted, known)
          if (chosen.length === 0) return []
          return (known.has(first.uuid) ? chosen : [first, ...chosen]).map(({ text }) => text)
        },
        onBegin: () => markPending(dataHome, { path, copy, session: name }),
      })
      lines.taken += chosen.length
      lines.known += wanted.length - chosen.length
      before += made.before
      taken += made.taken
    }
    return { tool, sessions, lines, before, taken }
  } finally {
    archive.close()
  }
}

/** Without duplicates: the tools store some rows twice. */
function missing(wanted: readonly MadeLine[], known: ReadonlySet<string>): MadeLine[] {
  const seen = new Set(known)
  return wanted.filter(({ uuid }) => {
    if (seen.has(uuid)) return false
    seen.add(uuid)
    return true
  })
}

function uuidsIn(contents: Iterable<Uint8Array>): Set<string> {
  const found = new Set<string>()
  for (const content of contents) {
    for (const line of Buffer.from(content).toString("utf8").split("\n")) {
      if (line !== "") found.add(String((JSON.parse(line) as { uuid: unknown }).uuid))
    }
  }
  return found
}
