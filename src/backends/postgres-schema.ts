/** Finds out what tables a server has, and has them made or brought up to date. */
import { CtxError } from "../util/errors.ts"
import type { Ask, Server } from "./postgres-door.ts"
import { NEWEST_VERSION, SET_UP } from "./postgres-migrations.ts"

/** What the statements need to know of the tables that are there. */
export interface Tables {
  /** Names what is kept here for this user. */
  readonly id: string
  /** Type of vectors, with its schema, quoted; undefined: they are arrays. */
  readonly vectors: string | undefined
}

/** @throws CtxError `target-newer` */
export async function prepareTables(server: Server, shown: string): Promise<Tables> {
  const ready = await readTables(server.ask, shown)
  if (ready?.version === NEWEST_VERSION) return ready
  await server.transaction((ask) => ask(SET_UP), "as long as it takes")
  return (await readTables(server.ask, shown))!
}

/**
 * For whoever only reads.
 *
 * @throws CtxError `target-missing` if there are none, or those of an older version
 */
export async function tablesThere(server: Server, shown: string): Promise<Tables> {
  const found = await readTables(server.ask, shown)
  if (found?.version === NEWEST_VERSION) return found
  const what = found === undefined ? "nothing has been sent there yet" : "its tables are of an older version"
  throw new CtxError("target-missing", `${shown}: ${what}`, { hint: "ctxbridge sync makes the tables" })
}

async function readTables(
  ask: Ask,
  shown: string,
): Promise<(Tables & { readonly version: number }) | undefined> {
  const [there] = await ask(
    `SELECT 1 AS is FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = 'ctxbridge' AND c.relname = 'target'`,
  )
  if (there === undefined) return undefined
  const [row] = await ask("SELECT t.*, session_user::text AS tenant FROM ctxbridge.target t")
  if (row === undefined) {
    throw new CtxError("target-damaged", `${shown}: the table ctxbridge.target is empty`, {
      hint: "DROP SCHEMA ctxbridge CASCADE there removes everything of ours; it is sent again then",
    })
  }
  const { id, version, owner, tenant } = row as {
    id: string
    version: number
    owner?: string
    tenant: string
  }
  if (version > NEWEST_VERSION) {
    throw new CtxError("target-newer", `${shown} was set up by a newer version of ctxbridge (${version})`, {
      hint: "upgrade ctxbridge on this machine",
    })
  }
  const [type] = await ask(
    `SELECT format('%I.%I', n.nspname, t.typname) AS vectors FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
       JOIN pg_namespace n ON n.oid = t.typnamespace
     WHERE a.attrelid = to_regclass('ctxbridge.entries') AND a.attname = 'embedding' AND t.typname <> '_float4'`,
  )
  // To whom it belongs, it is what it was before there were tenants. To everybody else, it is something of his own.
  return {
    id: tenant === owner ? id : `${id}/${tenant}`,
    version,
    vectors: type?.["vectors"] as string | undefined,
  }
}
