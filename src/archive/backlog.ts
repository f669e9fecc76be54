/** How far the vault is behind the host's transcripts, and the views behind the vault. */
import { statsOf } from "../util/files.ts"
import { isFetchedCopy, isSuperseded } from "../vault/layout.ts"
import type { Database } from "./database.ts"

export interface Backlog {
  /** Transcripts on disk that have grown since they were archived. */
  readonly vault: { readonly transcripts: number; readonly bytes: number }
  /** Copies not indexed to their end. */
  readonly views: { readonly transcripts: number; readonly bytes: number }
}

interface Row {
  readonly path: string
  readonly copy: string
  readonly archived: number
  readonly indexed: number
}

/** Checks the size of every known transcript. Finding unknown ones is left to `verify`. */
export function backlog(db: Database): Backlog {
  const vault = { transcripts: 0, bytes: 0 }
  const views = { transcripts: 0, bytes: 0 }
  for (const row of known(db)) {
    add(views, row.archived - row.indexed)
    add(vault, grownBy(row))
  }
  return { vault, views }
}

/** Paths of the known transcripts that have grown since they were archived. */
export const grown = (db: Database): string[] =>
  [...known(db)].filter((row) => grownBy(row) > 0).map(({ path }) => path)

const known = (db: Database): Iterable<Row> =>
  db.query<Row, []>("SELECT path, copy, archived, indexed FROM transcripts").iterate()

/** Bytes that the vault lacks. What a rewritten transcript was before is complete, and nothing is captured into mirrors. */
const grownBy = ({ path, copy, archived }: Row): number =>
  isSuperseded(copy) || isFetchedCopy(copy) ? 0 : (statsOf(path)?.size ?? 0) - archived

function add(to: { transcripts: number; bytes: number }, bytes: number): void {
  if (bytes <= 0) return
  to.transcripts++
  to.bytes += bytes
}
