/** How far the vault is behind the host's transcripts, and the views behind the vault. */
import { statsOf } from "../util/files.ts"
import { isSuperseded } from "../vault/layout.ts"
import type { Database } from "./database.ts"

export interface Backlog {
  /** Transcripts on disk that have grown since they were archived. */
  readonly vault: { readonly transcripts: number; readonly bytes: number }
  /** Copies that are not indexed to their end. */
  readonly views: { readonly transcripts: number; readonly bytes: number }
}

interface Row {
  readonly path: string
  readonly copy: string
  readonly archived: number
  readonly indexed: number
}

/** Looks at the size of every known transcript: what is unknown is for `verify` to find. */
export function backlog(db: Database): Backlog {
  const vault = { transcripts: 0, bytes: 0 }
  const views = { transcripts: 0, bytes: 0 }
  for (const row of db.query<Row, []>("SELECT path, copy, archived, indexed FROM transcripts").iterate()) {
    add(views, row.archived - row.indexed)
    if (isSuperseded(row.copy)) continue
    add(vault, (statsOf(row.path)?.size ?? 0) - row.archived)
  }
  return { vault, views }
}

function add(to: { transcripts: number; bytes: number }, bytes: number): void {
  if (bytes <= 0) return
  to.transcripts++
  to.bytes += bytes
}
