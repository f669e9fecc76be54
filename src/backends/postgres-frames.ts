/** Keeps pieces of vaults in PostgreSQL, in a table beside the entries. */

import {
  byCopy,
  type FrameStore,
  isLineFills,
  isPieceAbout,
  pieceKey,
  type VaultPiece,
} from "./frame-store.ts"
import type { ServerAddress } from "./postgres-address.ts"
import { connect } from "./postgres-door.ts"
import { lockTenant, TENANT } from "./postgres-finding.ts"
import { prepareTables } from "./postgres-schema.ts"

/** Whoever owns the tables is not bound by the rules for rows. */
const OWN = `tenant = ${TENANT}`
/** ms for one call: a batch of pieces takes a while on a slow line. */
const DEADLINE = 60_000

export async function openPostgresFrames(
  address: ServerAddress,
  writer: string,
  deadline = DEADLINE,
): Promise<FrameStore> {
  const server = connect(address, deadline)
  try {
    await prepareTables(server, address.shown)
  } catch (error) {
    await server.close()
    throw error
  }
  return {
    // A rule for rows shows no others.
    isOwn: true,
    async put(pieces) {
      if (pieces.length === 0) return { stored: 0, known: 0, refused: 0 }
      const rows = pieces.map(({ frame, ...about }) => ({
        about,
        session: about.session,
        copy: about.copy,
        start: about.from,
        frame: Buffer.from(frame).toString("base64"),
      }))
      const [counts] = await server.transaction(async (ask) => {
        await lockTenant(ask, "SHARE")
        return ask(PUTTING, [JSON.stringify(rows), writer])
      })
      const { stored, alive } = counts as unknown as { stored: number; alive: number }
      return { stored, known: alive - stored, refused: pieces.length - alive }
    },

    async list(wanted) {
      const rows =
        wanted === undefined
          ? await server.ask(`SELECT writer, copy, about FROM ctxbridge.frames WHERE ${OWN}`)
          : await server.ask(
              `SELECT writer, copy, about FROM ctxbridge.frames WHERE ${OWN} AND writer = $1::text`,
              [wanted],
            )
      return rows
        .map(({ about }) => about)
        .filter(isPieceAbout)
        .sort(byCopy)
    },

    async get(wanted) {
      const rows = await server.ask(
        `SELECT f.about, translate(encode(f.frame, 'base64'), E'\\n', '') AS frame
         FROM jsonb_to_recordset($1::text::jsonb) AS w(writer text, copy text, "from" bigint)
         JOIN ctxbridge.frames f ON ${OWN} AND f.writer = w.writer AND f.copy = w.copy AND f.start = w."from"`,
        [JSON.stringify(wanted.map(({ writer, copy, from }) => ({ writer, copy, from })))],
      )
      const found = new Map<string, VaultPiece>()
      for (const { about, frame } of rows) {
        if (isPieceAbout(about))
          found.set(pieceKey(about), {
            ...about,
            frame: new Uint8Array(Buffer.from(String(frame), "base64")),
          })
      }
      return wanted.flatMap((name) => found.get(pieceKey(name)) ?? [])
    },

    async drop(copies) {
      await server.ask(
        "SELECT ctxbridge.drop_frames($1::text, ARRAY(SELECT jsonb_array_elements_text($2::text::jsonb)))",
        [writer, JSON.stringify(copies)],
      )
    },

    async forget(sessions, fills = []) {
      await server.transaction(async (ask) => {
        await lockTenant(ask, "UPDATE")
        const given = "jsonb_array_elements_text($1::text::jsonb)"
        const parameters = [JSON.stringify(sessions)]
        await ask(
          `INSERT INTO ctxbridge.forgotten (kind, name) SELECT 'session', name FROM ${given} AS f(name) ON CONFLICT DO NOTHING`,
          parameters,
        )
        await ask(
          `INSERT INTO ctxbridge.fills AS old (session, key, lines)
           SELECT session, key, lines FROM jsonb_to_recordset($1::text::jsonb) AS g(session text, key text, lines jsonb)
           ON CONFLICT (tenant, session, key) DO UPDATE SET lines = old.lines || excluded.lines`,
          [JSON.stringify(fills.map(({ session, key, lines }) => ({ session, key, lines })))],
        )
        return ask(`SELECT ctxbridge.forget_frames(ARRAY(SELECT ${given}))`, parameters)
      })
    },

    async fills() {
      const rows = await server.ask(
        `SELECT session, key, lines FROM ctxbridge.fills WHERE ${OWN} ORDER BY session, key`,
      )
      return rows.flatMap((row) => (isLineFills(row) ? [row] : []))
    },

    async forgotten() {
      const rows = await server.ask(`SELECT name FROM ctxbridge.forgotten WHERE ${OWN} AND kind = 'session'`)
      return rows.map(({ name }) => String(name))
    },

    close: () => server.close(),
  }
}

/** Whether the session of the row `p` is among names of forgotten ones. */
const isIn = (forgotten: string, which: string): string =>
  `EXISTS (SELECT FROM ${forgotten} WHERE ${which} AND (p.session = f.name OR starts_with(p.session, f.name || '/')))`

const PUTTING = `
  WITH given AS (
    SELECT * FROM jsonb_to_recordset($1::text::jsonb)
      AS g(copy text, start bigint, session text, about jsonb, frame text)
  ), alive AS (
    SELECT * FROM given p WHERE NOT ${isIn("ctxbridge.forgotten f", `${OWN} AND f.kind = 'session'`)}
  ), stored AS (
    INSERT INTO ctxbridge.frames (writer, copy, start, session, about, frame)
    SELECT $2::text, copy, start, session, about, decode(frame, 'base64') FROM alive
    ON CONFLICT DO NOTHING RETURNING 1
  )
  SELECT (SELECT count(*)::int FROM alive) AS alive, (SELECT count(*)::int FROM stored) AS stored`
