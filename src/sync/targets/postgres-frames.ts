/** Pieces of vaults at a PostgreSQL server, and what is forgotten there: as they are, or sealed. */
import { putReport } from "./entry-rules.ts"
import {
  byCopy,
  isLineFills,
  isPieceAbout,
  type LineFills,
  type PieceAbout,
  pieceKey,
  type VaultPiece,
} from "./pieces.ts"
import type { Ask, Server } from "./postgres-door.ts"
import { lockTenant, TENANT } from "./postgres-finding.ts"
import type { SealedRows } from "./postgres-sealing.ts"
import type { FrameStore } from "./target.ts"

/** Whether the row `e` is of a session that is forgotten. */
export const IS_OF_FORGOTTEN = `EXISTS (SELECT FROM ctxbridge.forgotten f WHERE f.tenant = ${TENANT} AND f.kind = 'session'
  AND (e.session = f.name OR starts_with(e.session, f.name || '/')))`
/** A parameter that is a list in JSON, as an array. */
export const textArray = (n: number): string => `ARRAY(SELECT jsonb_array_elements_text($${n}::text::jsonb))`

/** Whoever owns the tables is not bound by the rules for rows. */
const OWN = `tenant = ${TENANT}`

/** Pieces, in a table beside the entries. */
export function framesAt(server: Server, writer: string, sealed: () => SealedRows | undefined): FrameStore {
  let unreadable = 0
  const named: Naming = (kind, name) => sealed()?.name(kind, name) ?? name
  return {
    // A rule for rows shows no others.
    isOwn: true,
    async put(pieces) {
      if (pieces.length === 0) return putReport(0, 0, 0)
      const [counts] = await server.transaction(async (ask) => {
        await lockTenant(ask, "SHARE")
        return putPieces(ask, pieces, writer, sealed())
      })
      const { stored, alive } = counts as unknown as { stored: number; alive: number }
      return putReport(pieces.length, stored, pieces.length - alive)
    },

    async list(wanted) {
      const listing = `SELECT writer, copy, start::text, about FROM ctxbridge.frames WHERE ${OWN}`
      const rows = await (wanted === undefined
        ? server.ask(listing)
        : server.ask(`${listing} AND writer = $1::text`, [named("writer", wanted)]))
      const isRead = (row: Row): boolean => aboutIn(row, sealed()) !== undefined
      unreadable = sealed() === undefined ? 0 : new Set(rows.filter((row) => !isRead(row)).map(copyOf)).size
      return rows.flatMap((row) => aboutIn(row, sealed()) ?? []).sort(byCopy)
    },

    async get(wanted) {
      const rows = await server.ask(
        `SELECT f.writer, f.copy, f.start::text, f.about, translate(encode(f.frame, 'base64'), E'\\n', '') AS frame
         FROM jsonb_to_recordset($1::text::jsonb) AS w(writer text, copy text, "from" bigint)
         JOIN ctxbridge.frames f ON ${OWN} AND f.writer = w.writer AND f.copy = w.copy AND f.start = w."from"`,
        [
          JSON.stringify(
            wanted.map(({ writer: by, copy, from }) => ({
              ...{ writer: named("writer", by), copy: named("copy", copy), from },
            })),
          ),
        ],
      )
      const found = new Map<string, VaultPiece>()
      for (const row of rows) {
        const about = aboutIn(row, sealed())
        const frame = new Uint8Array(Buffer.from(String(row["frame"]), "base64"))
        if (about !== undefined)
          found.set(pieceKey(about), { ...about, frame: sealed()?.frame(row, frame) ?? frame })
      }
      return wanted.flatMap((name) => found.get(pieceKey(name)) ?? [])
    },

    async drop(copies) {
      await server.ask(`SELECT ctxbridge.drop_frames($1::text, ${textArray(2)})`, [
        named("writer", writer),
        JSON.stringify(copies.map((copy) => named("copy", copy))),
      ])
    },

    async fills() {
      const rows = await server.ask(
        `SELECT session, key, lines FROM ctxbridge.fills WHERE ${OWN} ORDER BY session, key`,
      )
      return rows.flatMap((row) => sealed()?.fills(row) ?? (isLineFills(row) ? [row] : []))
    },

    async forgotten(among) {
      const rows = await server.ask(`SELECT name FROM ctxbridge.forgotten WHERE ${OWN} AND kind = 'session'`)
      const names = rows.map(({ name }) => String(name))
      if (sealed() === undefined) return names
      const there = new Set(names)
      return among.filter((session) => there.has(named("session", session)))
    },

    unreadable: () => unreadable,
  }
}

type Row = Readonly<Record<string, unknown>>
export type Naming = SealedRows["name"]

const copyOf = ({ writer, copy }: Row): string => `${writer} ${copy}`

function aboutIn(row: Row, sealed: SealedRows | undefined): PieceAbout | undefined {
  if (sealed !== undefined) return sealed.piece(row)
  return isPieceAbout(row["about"]) ? row["about"] : undefined
}

/** @param by the archive that they are of */
export const putPieces = (
  ask: Ask,
  pieces: readonly VaultPiece[],
  by: string,
  sealed: SealedRows | undefined,
) =>
  ask(PUTTING_PIECES, [
    JSON.stringify(
      pieces.map((piece) => {
        if (sealed !== undefined) return sealed.closedPiece(piece, by)
        const { frame, ...about } = piece
        const { session, copy, from: start } = about
        return { about, session, copy, start, frame: Buffer.from(frame).toString("base64") }
      }),
    ),
    sealed?.name("writer", by) ?? by,
  ])

/** Notes what is forgotten, and what text was taken out. */
export async function telling(
  ask: Ask,
  names: readonly { readonly kind: "id" | "session"; readonly name: string }[],
  fills: readonly LineFills[],
  named: Naming,
  sealed: SealedRows | undefined,
): Promise<void> {
  const given = "jsonb_to_recordset($1::text::jsonb) AS f(kind text, name text)"
  const keeping = `INSERT INTO ctxbridge.forgotten (kind, name) SELECT kind, name FROM ${given} ON CONFLICT DO NOTHING`
  await ask(keeping, [JSON.stringify(names.map(({ kind, name }) => ({ kind, name: named(kind, name) })))])
  if (fills.length === 0) return
  const told = fills.map(
    ({ session, key, lines }) => sealed?.closedFills({ session, key, lines }) ?? { session, key, lines },
  )
  await ask(TELLING_FILLS, [JSON.stringify(told)])
}

const TELLING_FILLS = `
  INSERT INTO ctxbridge.fills AS old (session, key, lines)
  SELECT session, key, lines FROM jsonb_to_recordset($1::text::jsonb) AS g(session text, key text, lines jsonb)
  ON CONFLICT (tenant, session, key) DO UPDATE SET lines = old.lines || excluded.lines`

const PUTTING_PIECES = `
  WITH given AS (
    SELECT * FROM jsonb_to_recordset($1::text::jsonb)
      AS g(copy text, start bigint, session text, about jsonb, frame text)
  ), alive AS (
    SELECT * FROM given e WHERE NOT ${IS_OF_FORGOTTEN}
  ), stored AS (
    INSERT INTO ctxbridge.frames (writer, copy, start, session, about, frame)
    SELECT $2::text, copy, start, session, about, decode(frame, 'base64') FROM alive
    ON CONFLICT DO NOTHING RETURNING 1
  )
  SELECT (SELECT count(*)::int FROM alive) AS alive, (SELECT count(*)::int FROM stored) AS stored`
