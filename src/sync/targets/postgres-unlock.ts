/**
 * Opens what a user has encrypted at a server: what is said there of his key, and whether that can be true, since its
 * administrator can say anything. And encrypts what was there before, as the user wishes once.
 */
import { CtxError, codeOf, messageOf } from "../../base/errors.ts"
import { tryTo } from "../../base/files.ts"
import { type Entry, isEntry } from "./entry.ts"
import { isLineFills, isPieceAbout, type VaultPiece } from "./pieces.ts"
import type { Ask, Server } from "./postgres-door.ts"
import { lockTenant, TENANT } from "./postgres-finding.ts"
import { putPieces, telling, textArray } from "./postgres-frames.ts"
import { SEALED, SEALING, SealedRows } from "./postgres-sealing.ts"
import { SHARING } from "./postgres-sharing.ts"
import { mustHaveStep, type Tables } from "./postgres-steps.ts"
import {
  isSealAbout,
  keyName,
  lockedOut,
  newSeal,
  openSeal,
  type SealAbout,
  type SealedFolders,
  WAY_OUT,
} from "./seal.ts"
import type { FolderState } from "./target.ts"

/** What a server is opened with, besides its address. */
export interface ServerWishes {
  readonly passphrase?: string | undefined
  /** What this machine has seen encrypted; undefined: it remembers nothing. */
  readonly seen?: SealedFolders | undefined
  /** Encrypts what is there from now on. */
  readonly isEncrypting?: boolean | undefined
  /** Takes what is there as it is now if the passphrase opens it, and makes a new key if not. */
  readonly isNewKey?: boolean | undefined
}

export interface Unlocked {
  /** Names what is kept with this key. */
  readonly id: string
  /** @throws CtxError `target-locked`: the passphrase is another one */
  rows(): SealedRows
  readonly made: "server" | "key" | null
  /** Whether clear text from before is to be replaced. */
  readonly isReplacing: boolean
  /** How many rows of the user are not encrypted: an expression of SQL. */
  readonly clearRows: string
}

interface There {
  readonly about: unknown
  readonly hasSealed: boolean
  readonly hasClear: boolean
}

/** Tables, and the column by which a row is of one form or the other. */
const FORMED = [
  ["entries", "key"],
  ["frames", "writer"],
  ["forgotten", "name"],
  ["fills", "session"],
] as const

const rowsThere = (how: string): string[] =>
  FORMED.map(
    ([table, column]) => `FROM ctxbridge.${table} WHERE tenant = ${TENANT} AND ${column} ${how} '${SEALED}'`,
  )

const hasRows = (how: string): string =>
  rowsThere(how)
    .map((rows) => `EXISTS (SELECT ${rows})`)
    .join(" OR ")

const CLEAR_ROWS = rowsThere("<")
  .map((rows) => `(SELECT count(*)::int ${rows})`)
  .join(" + ")

async function lookThere(ask: Ask, { steps }: Tables): Promise<There> {
  const about = steps.has(SEALING.name)
    ? `(SELECT s.about FROM ctxbridge.seals s WHERE s.tenant = ${TENANT})`
    : "NULL"
  const [row] = await ask(
    `SELECT ${about} AS about, (${hasRows(">=")}) AS "hasSealed", (${hasRows("<")}) AS "hasClear"`,
  )
  return row as unknown as There
}

/**
 * @param shown the server's address, for people
 * @param isReader whether nothing is made there
 * @returns undefined: what the user has there is not encrypted, and shall not be
 * @throws CtxError before anything else is read or written there
 */
export async function unlockServer(
  server: Server,
  tables: Tables,
  shown: string,
  wishes: ServerWishes,
  isReader: boolean,
): Promise<Unlocked | undefined> {
  const there = await lookThere(server.ask, tables)
  const { passphrase } = wishes
  if (wishes.isNewKey === true && !isReader) return withNewKey(server, tables, shown, wishes, there)
  const about = expected(there, tables, shown, wishes, isReader)
  if (about !== undefined) return opened(about, tables, shown, wishes, isReader, null)
  return passphrase === undefined ? undefined : encrypted(server, tables, shown, wishes, "server")
}

/** What is said there of the key, if that can be true; undefined: there is none. As in a folder. */
function expected(
  { about, hasSealed, hasClear }: There,
  { id }: Tables,
  shown: string,
  { passphrase, seen, isEncrypting }: ServerWishes,
  isReader: boolean,
): SealAbout | undefined {
  for (const known of seen?.about(shown, id) ?? []) {
    if (about === null) {
      throw new CtxError(
        "target-changed",
        `what you keep at ${shown} was encrypted, and it says now that it is not`,
        {
          hint: `somebody may have changed it; nothing was sent or read. ${passphrase === undefined ? `Remove it from ${seen?.file} if that is what you want` : WAY_OUT}`,
        },
      )
    }
    const isSame = isSealAbout(about) && id === known.id && keyName(about) === known.key
    if (!isSame && (known.proven || passphrase === undefined)) {
      throw new CtxError("target-changed", `${shown} has another key than when it was last seen here`, {
        hint: `somebody may have replaced it; nothing was sent or read. ${WAY_OUT}`,
      })
    }
  }
  if (isSealAbout(about)) return about
  if (about !== null)
    throw new CtxError("target-damaged", `${shown}: what it says of your key cannot be read`, {
      hint: WAY_OUT,
    })
  if (hasSealed) {
    throw new CtxError(
      "target-changed",
      `${shown} holds encrypted turns, and says that nothing is encrypted`,
      {
        hint: `somebody may have changed it; nothing was sent or read. With the passphrase set, ${WAY_OUT}`,
      },
    )
  }
  if (passphrase === undefined) return undefined
  if (hasClear && isEncrypting !== true) {
    throw new CtxError(
      "target-plain",
      `what you keep at ${shown} is not encrypted, and a passphrase is set`,
      {
        hint: "ctxbridge sync --encrypt encrypts it; or unset the passphrase",
      },
    )
  }
  if (isReader)
    throw new CtxError("target-missing", `${shown}: nothing has been sent there yet`, {
      hint: "ctxbridge sync sends something there",
    })
  return undefined
}

function opened(
  about: SealAbout,
  { id }: Tables,
  shown: string,
  { passphrase, seen }: ServerWishes,
  isReader: boolean,
  made: Unlocked["made"],
): Unlocked {
  const note = (proven: boolean): void => {
    tryTo(() => seen?.note(shown, id, keyName(about), proven))
  }
  const unlock = (): SealedRows => {
    const seal = passphrase === undefined ? undefined : openSeal(passphrase, about)
    note(seal !== undefined)
    if (seal === undefined) throw lockedOut(shown, passphrase !== undefined)
    return new SealedRows(seal, id)
  }
  // Making the key takes as long as a search may, which finds nothing with it.
  let rows = isReader && passphrase !== undefined ? undefined : unlock()
  return {
    id: idOf(id, about),
    rows: () => (rows ??= unlock()),
    made,
    isReplacing: isBegun(seen?.about(shown, id) ?? [], id),
    clearRows: CLEAR_ROWS,
  }
}

/** Whether this machine has begun to replace what is there in clear text, and has not come to its end. */
const isBegun = (known: ReturnType<SealedFolders["about"]>, tables: string): boolean =>
  known.some(({ id, replacing }) => id === tables && replacing === true)

/** With another key, nothing is noted yet of what is there. */
const idOf = (id: string, about: SealAbout): string => `${id}#${keyName(about).slice(0, 16)}`

/** Notes a key there, and nobody reads what he shares from then on: it would be nothing. */
async function encrypted(
  server: Server,
  tables: Tables,
  shown: string,
  wishes: ServerWishes,
  made: "server" | "key",
): Promise<Unlocked> {
  mustHaveStep(SEALING.name, tables, shown)
  const { seen, passphrase } = wishes
  const { id } = tables
  const known = seen?.about(shown, id) ?? []
  const { about } = newSeal(passphrase!)
  let isReplacing = false
  const isOurs = await server.transaction(async (ask) => {
    await lockTenant(ask, "UPDATE")
    const { hasClear, hasSealed } = await lookThere(ask, tables)
    const rows = await ask(
      `INSERT INTO ctxbridge.seals AS old (about) VALUES ($1::text::jsonb)
       ON CONFLICT (tenant) DO ${made === "key" ? "UPDATE SET about = excluded.about, former = old.about" : "NOTHING"} RETURNING 1`,
      [JSON.stringify(about)],
    )
    if (rows.length === 0) return false
    if (tables.steps.has(SHARING.name))
      await ask(
        `SELECT ctxbridge.stop_share(o.project, '') FROM (SELECT DISTINCT project FROM ctxbridge.my_offers()) o`,
      )
    // What earlier versions have shared, which names projects.
    await ask(`DELETE FROM ctxbridge.shared WHERE tenant = ${TENANT}`)
    // Before it is certain: a process that ends here leaves a refusal behind, and not clear text that nobody replaces.
    seen?.note(shown, id, keyName(about), true)
    // What is clear beside what was encrypted, somebody else may have put there.
    isReplacing = hasClear && ((!hasSealed && known.length === 0) || isBegun(known, id))
    if (isReplacing) seen?.noteReplacing(id, true)
    return true
  })
  // Another machine has come first.
  if (!isOurs) return (await unlockServer(server, tables, shown, { ...wishes, isNewKey: false }, false))!
  return { ...opened(about, tables, shown, wishes, false, made), isReplacing }
}

async function withNewKey(
  server: Server,
  tables: Tables,
  shown: string,
  wishes: ServerWishes,
  there: There,
): Promise<Unlocked> {
  const { passphrase, seen } = wishes
  const { about, hasSealed } = there
  if (passphrase === undefined) throw new CtxError("target-locked", `no passphrase for a new key of ${shown}`)
  const known = seen?.about(shown, tables.id) ?? []
  if (isSealAbout(about) && openSeal(passphrase, about) !== undefined) {
    const isNews = known.some(({ id, key }) => id !== tables.id || key !== keyName(about))
    return opened(about, tables, shown, wishes, false, isNews ? "key" : null)
  }
  const isFirst = about === null && !hasSealed && known.length === 0
  return encrypted(server, tables, shown, wishes, isFirst ? "server" : "key")
}

/* What was there before, batch by batch: each is there in one form or the other, whoever is killed when. */

/** Rows that are read at once. */
const AT_ONCE = 50

/** Puts entries as the archive `by`. */
type PutAs = (ask: Ask, by: string, entries: readonly Entry[]) => Promise<unknown>

type Row = Readonly<Record<string, unknown>>

/** @param server with time enough for a batch of frames */
export async function replaceClear(
  server: Server,
  sealed: SealedRows,
  putAs: PutAs,
): Promise<NonNullable<FolderState["replaced"]>> {
  const dropping = "SELECT ctxbridge.drop_clear($1::text, $2::text, $3::text, $4::text::bigint)"
  const inTurn = async (work: (ask: Ask) => Promise<number>): Promise<number> =>
    server.transaction(async (ask) => {
      await lockTenant(ask, "UPDATE")
      return work(ask)
    })
  // First of all: what is forgotten must not be put again.
  await inTurn(async (ask) => {
    const clear = (table: string, column: string): Promise<readonly Row[]> =>
      ask(`SELECT * FROM ctxbridge.${table} WHERE tenant = ${TENANT} AND ${column} < '${SEALED}'`)
    const names = (await clear("forgotten", "name")) as unknown as Parameters<typeof telling>[1]
    const fills = (await clear("fills", "session")).flatMap((row) => (isLineFills(row) ? [row] : []))
    await telling(ask, names, fills, (...name) => sealed.name(...name), sealed)
    await ask(dropping, [null, null, null, null])
    return names.length
  })
  let left: string | undefined
  const all = async (batch: (ask: Ask) => Promise<number>): Promise<number> => {
    let done = 0
    try {
      for (let n = await inTurn(batch); n > 0; n = await inTurn(batch)) done += n
    } catch (error) {
      // Whoever is kept out by a quota could not forget anything either.
      if (codeOf(error) !== "target-quota") throw error
      left = messageOf(error)
    }
    return done
  }
  const turns = await all(async (ask) => {
    const rows = await ask(
      `SELECT key, id, summary, content, metadata, coalesce(writer, '') AS writer FROM ctxbridge.entries
       WHERE tenant = ${TENANT} AND key < '${SEALED}' ORDER BY key LIMIT ${AT_ONCE}`,
    )
    const sound = rows.flatMap((row) => (isEntry(row) ? [row] : []))
    // First: what is replaced must not count twice for a quota.
    if (rows.length > 0) await ask(dropping, [String(rows.at(-1)!["key"]), null, null, null])
    for (const [by, its] of Map.groupBy(sound, writerOf)) await putAs(ask, by, its)
    return rows.length
  })
  const pieces = await all(async (ask) => {
    const rows = await ask(
      `SELECT writer, copy, start::text, about, translate(encode(frame, 'base64'), E'\\n', '') AS frame FROM ctxbridge.frames
       WHERE tenant = ${TENANT} AND writer < '${SEALED}' ORDER BY writer, copy, start LIMIT ${AT_ONCE}`,
    )
    const last = rows.at(-1)
    if (last !== undefined)
      await ask(dropping, [null, ...["writer", "copy", "start"].map((name) => String(last[name]))])
    for (const [by, its] of Map.groupBy(rows, writerOf))
      await putPieces(ask, its.flatMap(pieceIn), by, sealed)
    return rows.length
  })
  return { turns, pieces, ...(left && { left }) }
}

const writerOf = (row: object): string => String((row as Row)["writer"])

const pieceIn = ({ about, frame }: Row): VaultPiece[] =>
  isPieceAbout(about) ? [{ ...about, frame: new Uint8Array(Buffer.from(String(frame), "base64")) }] : []

/**
 * Removes what the key does not open, and what is clear: somebody has changed it, or sealed it with another key.
 *
 * @returns number of entries
 */
export async function dropUnreadable(server: Server, rows: SealedRows): Promise<number> {
  const [cleared] = await server.ask(`SELECT ctxbridge.drop_clear('${SEALED}', '${SEALED}', '', 0) AS gone`)
  let gone = Number(cleared!["gone"])
  for (let last = ""; ; ) {
    const there = await server.ask(
      `SELECT key, id, session, messages, taken_back, content, metadata FROM ctxbridge.entries
       WHERE tenant = ${TENANT} AND key > $1::text
       ORDER BY key LIMIT ${AT_ONCE}`,
      [last],
    )
    if (there.length === 0) break
    last = String(there.at(-1)!["key"])
    const ids = there.filter((row) => !rows.isWhole(row)).map(({ id }) => String(id))
    if (ids.length > 0)
      gone += Number(
        (
          await server.ask(`SELECT ctxbridge.forget_entries(${textArray(1)}, '{}') AS gone`, [
            JSON.stringify(ids),
          ])
        )[0]!["gone"],
      )
  }
  const pieces = await server.ask(
    `SELECT writer, copy, start::text, about FROM ctxbridge.frames WHERE tenant = ${TENANT}`,
  )
  const damaged = Map.groupBy(
    pieces.filter((row) => rows.piece(row) === undefined),
    writerOf,
  )
  for (const [by, its] of damaged)
    await server.ask(`SELECT ctxbridge.drop_frames($2::text, ${textArray(1)})`, [
      JSON.stringify([...new Set(its.map(({ copy }) => String(copy)))]),
      by,
    ])
  return gone
}
