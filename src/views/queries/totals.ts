/** The archive in numbers. */
import { isBesideCopy, isHistoryCopy } from "../../vault/layout.ts"
import type { Database } from "../database.ts"
import { knownCopies } from "../transcript-rows.ts"
import { IS_TURN } from "./turns.ts"

/** Without sessions of which only the prompts are known. */
export interface Totals {
  readonly sessions: number
  readonly subagents: number
  readonly turns: number
  readonly messages: number
  readonly toolCalls: number
  readonly errors: number
  readonly files: number
  readonly transcripts: number
  /** Kept by Claude Code beside its transcripts. */
  readonly filesBeside: number
  /** Bytes of these and of transcripts in the vault, uncompressed. */
  readonly archivedBytes: number
  readonly indexedBytes: number
  readonly projects: number
  readonly restores: number
  readonly compactions: number
}

export function totals(db: Database): Totals {
  const counted = db
    .query<Omit<Totals, "transcripts" | "filesBeside">, []>(
      `SELECT (SELECT count(*) FROM sessions WHERE parent IS NULL AND prompts_only = 0) AS sessions,
        (SELECT count(*) FROM sessions WHERE parent IS NOT NULL) AS subagents,
        (SELECT count(*) FROM turns t WHERE ${IS_TURN}) AS turns,
        (SELECT count(*) FROM messages) - (SELECT count(*) FROM turns WHERE via = 'history') AS messages,
        (SELECT count(*) FROM tool_calls) AS toolCalls,
        (SELECT count(*) FROM tool_calls WHERE is_error = 1) AS errors,
        (SELECT count(DISTINCT path) FROM files) AS files,
        x.archivedBytes, x.indexedBytes,
        (SELECT count(DISTINCT project) FROM sessions WHERE prompts_only = 0) AS projects,
        (SELECT count(*) FROM restores WHERE text <> '') AS restores,
        (SELECT count(*) FROM boundaries) AS compactions
       FROM (SELECT coalesce(sum(archived), 0) AS archivedBytes, coalesce(sum(indexed), 0) AS indexedBytes
         FROM transcripts) x`,
    )
    .get()!
  const copies = knownCopies(db)
  const filesBeside = copies.filter(({ copy }) => isBesideCopy(copy)).length
  const lists = copies.filter(({ copy }) => isHistoryCopy(copy)).length
  return { ...counted, transcripts: copies.length - filesBeside - lists, filesBeside }
}
