/** How far the vault is behind Claude Code's transcripts, and the views behind the vault. */
import { statsOf } from "../base/files.ts"
import { isFetchedCopy, isHistoryCopy, isSuperseded } from "../vault/layout.ts"
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
}

/** Transcripts whose size is checked: those of the sessions that were active last. */
const NEWEST = 2000

/**
 * In time that does not grow with the archive: an older transcript that has grown without a hook is found by the
 * background job, which looks at all of them once a day. Finding unknown ones is left to `verify`.
 */
export function backlog(db: Database): Backlog {
  const vault = { transcripts: 0, bytes: 0 }
  for (const row of newest(db)) {
    // The list of all prompts grows with each; what is new in it is nearly always in a transcript.
    const bytes = isHistoryCopy(row.copy) ? 0 : grownBy(row)
    if (bytes <= 0) continue
    vault.transcripts++
    vault.bytes += bytes
  }
  return { vault, views: viewsBehind(db) }
}

/** Paths of the known transcripts that have grown since they were archived. */
export const grown = (db: Database): string[] =>
  [...known(db)].filter((row) => grownBy(row) > 0).map(({ path }) => path)

const known = (db: Database): Iterable<Row> =>
  db.query<Row, []>("SELECT path, copy, archived FROM transcripts").iterate()

const newest = (db: Database): Iterable<Row> =>
  db
    .query<Row, [number]>(
      `SELECT x.path, x.copy, x.archived FROM (SELECT id FROM sessions ORDER BY ended DESC LIMIT ?1) s
       CROSS JOIN transcripts x ON x.session = s.id LIMIT ?1`,
    )
    .iterate(NEWEST)

const viewsBehind = (db: Database): Backlog["views"] =>
  db
    .query<{ transcripts: number; bytes: number }, []>(
      `SELECT count(*) AS transcripts, coalesce(sum(archived - indexed), 0) AS bytes FROM transcripts
       WHERE archived > indexed`,
    )
    .get()!

/**
 * Bytes that the vault lacks. What a rewritten transcript was before is complete, nothing is captured into mirrors, and a
 * copy that is gone (transcript-rows.ts) does not grow.
 */
const grownBy = ({ path, copy, archived }: Row): number =>
  isSuperseded(copy) || isFetchedCopy(copy) || !copy.endsWith(".zst")
    ? 0
    : (statsOf(path)?.size ?? 0) - archived
