/**
 * What an administrator of a server does there: whoever may do what the owner of the tables may. He asks the tables
 * themselves, whose rules bind everybody else, so there is no function that somebody else could call.
 */
import { CtxError } from "../../base/errors.ts"
import type { ServerAddress } from "./postgres-address.ts"
import { type Ask, connect } from "./postgres-door.ts"
import { makeWaitingIndexes } from "./postgres-halfvec.ts"
import { LIMITS } from "./postgres-limits.ts"
import { ADMINISTRATOR_STATEMENTS, NEWEST_VERSION, SET_UP, WANTED_VECTORS } from "./postgres-migrations.ts"

import { dropMonths, makeMonths, PARTITIONING } from "./postgres-partitions.ts"
import { SEALING } from "./postgres-sealing.ts"

import { mustBeOfMajor, mustHaveStep, readTables, SERVER_STEPS, type TablesThere } from "./postgres-steps.ts"

/** Who sends, and what is there of him. Sizes are bytes. */
export interface UserThere {
  readonly role: string
  /** `renamed`: the role of this name is another one than the one that sent. */
  readonly state: "active" | "revoked" | "gone" | "renamed"
  readonly turns: number
  readonly frames: number
  /** null: the server does not count. */
  readonly bytes: number | null
  /** ISO 8601; null: nothing yet. */
  readonly last: string | null
  readonly quota: number | null
  readonly days: number | null
}

interface TableThere {
  readonly table: string
  /** With its indexes. */
  readonly bytes: number
  /** Rows that were removed or replaced, whose room is not free yet; an estimate. */
  readonly dead: number
}

export interface ServerState {
  readonly user: string
  readonly isAdministrator: boolean
  readonly version: number
  readonly newest: number
  readonly isPartitioned: boolean
  /** Names of steps that this program knows and the server lacks. */
  readonly missing: readonly string[]
  /** Only one's own, unless one is the administrator. */
  readonly users: readonly UserThere[]
  readonly tables: readonly TableThere[]
}

export interface Waiting {
  /** undefined: there are no tables. */
  readonly version: number | undefined
  readonly newest: number
  /** Whether there is a table for each month, or will be. */
  readonly isPartitioned: boolean
  readonly steps: readonly { readonly name: string; readonly brings: string }[]
}

interface Gone {
  readonly turns: number
  readonly frames: number
}

export interface ServerAdmin {
  /**
   * What is made or brought up to date; with `isDryRun`, what would be.
   *
   * @param forMany also where the tables are one's own, which are for oneself otherwise
   * @param byMonth also brings turns into a table for each month
   */
  migrate(isDryRun: boolean, forMany: boolean, byMonth: boolean): Promise<Waiting>
  status(): Promise<ServerState>
  /** @returns false: he could use it before */
  grant(role: string, isDryRun: boolean): Promise<boolean>
  /** @param rows what becomes of them; a role that takes them keeps its own version of what both have */
  revoke(role: string, rows: "keep" | "delete" | { readonly to: string }, isDryRun: boolean): Promise<Gone>
  /** @param role undefined: everybody without a limit of his own; @param value null: no limit */
  limit(kind: "quota" | "days", role: string | undefined, value: number | null): Promise<void>
  /** Removes turns that are older than they may become; with `limit`, as if it were set. */
  expire(
    isDryRun: boolean,
    limit?: { readonly role: string | undefined; readonly days: number },
  ): Promise<number>
  vacuum(): Promise<void>
  close(): Promise<void>
}

/** ms. Counting looks at every row. */
const DEADLINE = 120_000

const TABLES = ["entries", "frames", "fills", "forgotten"] as const

export async function administerPostgres(address: ServerAddress): Promise<ServerAdmin> {
  const { shown, user } = address
  const server = connect(address, DEADLINE)
  const { ask } = server
  const there = async (): Promise<TablesThere> => {
    const tables = await readTables(ask, shown)
    if (tables === undefined)
      throw new CtxError("target-missing", `${shown}: there are no tables yet`, {
        hint: "ctxbridge server init makes them",
      })
    mustBeOfMajor(tables, NEWEST_VERSION, shown)
    return tables
  }
  const asAdministrator = async (): Promise<TablesThere> => {
    const tables = await there()
    refuseOthers(tables, user, shown)
    mustHaveStep(LIMITS.name, tables, shown)
    return tables
  }
  const mustBeRole = async (role: string): Promise<void> => {
    const [row] = await ask("SELECT count(*)::int AS n FROM pg_roles WHERE rolname = $1::text", [role])
    if (row!["n"] === 0)
      throw new CtxError("not-found", `${shown} has no role ${role}`, {
        hint: "CREATE ROLE alice LOGIN PASSWORD '…' makes one",
      })
  }
  return {
    async migrate(isDryRun, forMany, byMonth) {
      const tables = await readTables(ask, shown)
      const steps = SERVER_STEPS.filter(({ name }) => tables?.steps.has(name) !== true)
      const waiting = {
        version: tables?.version,
        newest: NEWEST_VERSION,
        isPartitioned: byMonth || tables?.isPartitioned === true,
        steps: steps.map(({ name, brings }) => ({ name, brings })),
      }
      if (tables !== undefined) {
        if (tables.version > NEWEST_VERSION) mustBeOfMajor(tables, NEWEST_VERSION, shown)
        refuseOthers(tables, user, shown)
      }
      if (isDryRun) return waiting
      await server.transaction(async (inner) => {
        if (address.isRuvector) await inner(`SET LOCAL ${WANTED_VECTORS} = 'ruvector'`)
        const settingUp = tables?.isOwner === true && !forMany ? SET_UP : ADMINISTRATOR_STATEMENTS
        for (const one of byMonth ? [settingUp, PARTITIONING, settingUp] : [settingUp]) await inner(one)
      }, "as long as it takes")
      if (waiting.isPartitioned) await makeMonths(server)
      await makeWaitingIndexes(server)
      return waiting
    },

    async status() {
      const tables = await there()
      const missing = SERVER_STEPS.filter(({ name }) => !tables.steps.has(name)).map(({ name }) => name)
      const rows = await ask(usersThere(tables), [user])
      const sizes = await ask(SIZES)
      return {
        user,
        isAdministrator: tables.isAdministrator,
        version: tables.version,
        newest: NEWEST_VERSION,
        isPartitioned: tables.isPartitioned,
        missing,
        users: rows.map((row) => ({
          ...(row as unknown as UserThere),
          ...Object.fromEntries(
            ["turns", "frames", "bytes", "quota", "days"].map((name) => [name, numberIn(row[name])]),
          ),
        })),
        tables: sizes.map((row) => ({
          table: String(row["table"]),
          bytes: Number(row["bytes"]),
          dead: Number(row["dead"]),
        })),
      }
    },

    async grant(role, isDryRun) {
      await asAdministrator()
      await mustBeUsers(ask, shown)
      await mustBeRole(role)
      const [row] = await ask(
        `SELECT pg_has_role(r.oid, 'ctxbridge_user', 'usage') AS "isUser",
           EXISTS (SELECT FROM ctxbridge.tenants t WHERE t.tenant = $1::text AND t.role_oid IS DISTINCT FROM r.oid) AS "isOther"
         FROM pg_roles r WHERE r.rolname = $1::text`,
        [role],
      )
      if (row!["isOther"] === true)
        throw new CtxError("target-denied", `${shown} has rows of a former role ${role}`, {
          hint: `first ctxbridge server revoke ${role} --delete or --hand-over-to OTHER`,
        })
      if (row!["isUser"] === true) return false
      if (!isDryRun) await formatted(ask, "GRANT ctxbridge_user TO %I", role)
      return true
    },

    async revoke(role, rows, isDryRun) {
      const isSealing = (await asAdministrator()).steps.has(SEALING.name)
      const to = typeof rows === "object" ? rows.to : undefined
      if (to !== undefined) {
        await mustBeRole(to)
        if (isSealing) await mustBeClear(ask, [role, to], shown)
      }
      const [counted] = await ask(
        `SELECT (SELECT count(*)::int FROM ctxbridge.entries WHERE tenant = $1::text) AS turns,
           (SELECT count(*)::int FROM ctxbridge.frames WHERE tenant = $1::text) AS frames,
           (SELECT count(*)::int FROM ctxbridge.tenants WHERE tenant = $1::text) AS known`,
        [role],
      )
      const { turns, frames, known } = counted as unknown as Gone & { known: number }
      // Rows may be left of one that was dropped.
      if (known === 0) await mustBeRole(role)
      if (!isDryRun)
        await server.transaction(async (inner) => {
          await takeRight(inner, role)
          if (rows !== "keep") await clear(inner, role, to)
          if (rows !== "keep" && isSealing)
            await inner("DELETE FROM ctxbridge.seals WHERE tenant = $1::text", [role])
        }, "as long as it takes")
      return { turns, frames }
    },

    async limit(kind, role, value) {
      await asAdministrator()
      if (role !== undefined) await mustBeRole(role)
      await ask(
        `INSERT INTO ctxbridge.limits (tenant, ${kind}) VALUES ($1::text, nullif($2::text, '')::bigint)
         ON CONFLICT (tenant) DO UPDATE SET ${kind} = excluded.${kind}`,
        [role ?? "", value === null ? "" : String(value)],
      )
    },

    async expire(isDryRun, limit) {
      const { isPartitioned } = await asAdministrator()
      const rules = limit === undefined ? "" : JSON.stringify({ [limit.role ?? ""]: limit.days })
      if (isDryRun) {
        const [row] = await ask(`${DUE()} SELECT count(*)::int AS n FROM due`, [rules])
        return Number(row!["n"])
      }
      if (isPartitioned) await makeMonths(server)
      const months = isPartitioned ? await dropMonths(server, DUE, rules) : 0
      const [row] = await server.transaction((inner) => inner(EXPIRING, [rules]), "as long as it takes")
      return months + Number(row!["n"])
    },

    async vacuum() {
      refuseOthers(await there(), user, shown)
      for (const table of TABLES) await server.within(VACUUMING).ask(`VACUUM ctxbridge.${table}`)
    },

    close: () => server.close(),
  }
}

/** ms. */
const VACUUMING = 3_600_000

const numberIn = (value: unknown): number | null => (value === null ? null : Number(value))

function refuseOthers({ isAdministrator, owner }: TablesThere, user: string, shown: string): void {
  if (!isAdministrator)
    throw new CtxError("target-denied", `${shown}: ${user} is not its administrator`, {
      hint: `a member of the role ${owner} may do this`,
    })
}

async function mustBeUsers(ask: Ask, shown: string): Promise<void> {
  const [row] = await ask("SELECT to_regrole('ctxbridge_user') IS NOT NULL AS there")
  if (row!["there"] !== true)
    throw new CtxError("not-found", `${shown} is not set up for many users`, {
      hint: "ctxbridge server init does that",
    })
}

/** What one has encrypted nobody else can read, and clear text is refused beside it. */
async function mustBeClear(ask: Ask, roles: readonly string[], shown: string): Promise<void> {
  const [row] = await ask(
    "SELECT tenant FROM ctxbridge.seals WHERE tenant IN ($1::text, $2::text) LIMIT 1",
    roles,
  )
  if (row !== undefined)
    throw new CtxError("target-encrypted", `${shown}: what ${row["tenant"]} keeps there is encrypted`, {
      hint: "it cannot be handed over: --delete removes it, and without either option it stays",
    })
}

/** @param statement has `%I` for the role's name */
async function formatted(ask: Ask, statement: string, role: string): Promise<void> {
  const [row] = await ask("SELECT format($1::text, $2::text) AS sql", [statement, role])
  await ask(String(row!["sql"]))
}

/** He puts nothing from now on, and what he is putting is there before. */
async function takeRight(ask: Ask, role: string): Promise<void> {
  await ask("INSERT INTO ctxbridge.locks (tenant) VALUES ($1::text) ON CONFLICT DO NOTHING", [role])
  await ask("SELECT FROM ctxbridge.locks WHERE tenant = $1::text FOR UPDATE", [role])
  const [row] = await ask(
    `SELECT EXISTS (SELECT FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.member
       WHERE m.roleid = to_regrole('ctxbridge_user')::oid AND r.rolname = $1::text) AS "isUser"`,
    [role],
  )
  if (row!["isUser"] === true) await formatted(ask, "REVOKE ctxbridge_user FROM %I", role)
}

/** What tells two rows of one tenant apart. */
const KEYS = {
  entries: ["key"],
  frames: ["writer", "copy", "start"],
  fills: ["session", "key"],
  forgotten: ["kind", "name"],
} as const

async function clear(ask: Ask, role: string, to: string | undefined): Promise<void> {
  for (const table of TABLES) {
    const same = KEYS[table].map((column) => `o.${column} = e.${column}`).join(" AND ")
    if (to !== undefined)
      await ask(
        `UPDATE ctxbridge.${table} e SET tenant = $2::text WHERE tenant = $1::text
           AND NOT EXISTS (SELECT FROM ctxbridge.${table} o WHERE o.tenant = $2::text AND ${same})`,
        [role, to],
      )
    await ask(`DELETE FROM ctxbridge.${table} WHERE tenant = $1::text`, [role])
  }
  // Whom he has let read has not agreed to anything of the one who takes over.
  await ask(
    "DELETE FROM ctxbridge.acceptances a USING ctxbridge.offers o WHERE a.offer = o.id AND o.owner = $1::text",
    [role],
  )
  await ask("DELETE FROM ctxbridge.offers WHERE owner = $1::text", [role])
  await ask("DELETE FROM ctxbridge.acceptances WHERE reader = $1::text", [role])
  for (const table of ["shared", "locks", "limits", "tenants"])
    await ask(`DELETE FROM ctxbridge.${table} WHERE tenant = $1::text`, [role])
}

/** Without the count, whoever has nothing there but the right to send is listed, too. */
function usersThere({ steps, isAdministrator }: TablesThere): string {
  const counts = steps.has(LIMITS.name)
  const limit = (kind: string): string =>
    counts
      ? `(SELECT l.${kind} FROM ctxbridge.limits l WHERE l.tenant IN ('', u.role) AND l.${kind} IS NOT NULL
           ORDER BY l.tenant DESC LIMIT 1)`
      : "NULL::bigint"
  const known = counts ? "UNION SELECT tenant FROM ctxbridge.tenants" : ""
  return `WITH u AS (
    SELECT r.rolname::text COLLATE "C" AS role FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.member
      WHERE m.roleid = to_regrole('ctxbridge_user')::oid AND r.rolcanlogin
    UNION SELECT tenant FROM ctxbridge.entries GROUP BY tenant ${known} UNION SELECT $1::text
  ), e AS (SELECT tenant, count(*) AS turns, max(stored) AS last FROM ctxbridge.entries GROUP BY tenant
  ), f AS (SELECT tenant, count(*) AS frames, max(stored) AS last FROM ctxbridge.frames GROUP BY tenant)
  SELECT u.role, CASE WHEN r.oid IS NULL THEN 'gone'
      ${counts ? "WHEN t.tenant IS NOT NULL AND t.role_oid IS DISTINCT FROM r.oid THEN 'renamed'" : ""}
      WHEN has_table_privilege(r.oid, 'ctxbridge.entries', 'INSERT') THEN 'active' ELSE 'revoked' END AS state,
    coalesce(e.turns, 0)::text AS turns, coalesce(f.frames, 0)::text AS frames,
    ${counts ? "coalesce(t.bytes, 0)" : "NULL::bigint"}::text AS bytes,
    to_char(greatest(e.last, f.last) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS last,
    ${limit("quota")}::text AS quota, ${limit("days")}::text AS days
  FROM u LEFT JOIN pg_roles r ON r.rolname::text = u.role LEFT JOIN e ON e.tenant = u.role
    LEFT JOIN f ON f.tenant = u.role ${counts ? "LEFT JOIN ctxbridge.tenants t ON t.tenant = u.role" : ""}
  WHERE ${
    isAdministrator
      ? "u.role <> $1::text OR e.turns > 0 OR f.frames > 0"
      : "u.role = session_user::text AND u.role = $1::text"
  } ORDER BY u.role`
}

/** Those of months are one. */
const SIZES = `SELECT coalesce(p.relname, c.relname) AS table, sum(pg_total_relation_size(c.oid))::text AS bytes,
    coalesce(sum(pg_stat_get_dead_tuples(c.oid)), 0)::text AS dead
  FROM pg_class c LEFT JOIN pg_class p ON p.oid = pg_partition_root(c.oid)
  WHERE c.relnamespace = 'ctxbridge'::regnamespace AND c.relkind = 'r'
  GROUP BY 1 ORDER BY sum(pg_total_relation_size(c.oid)) DESC, 1`

const BEFORE = (days: string): string =>
  `to_char((now() - make_interval(days => ${days})) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') COLLATE "C"`

/** Turns that are older than their owners' rule says; with the first parameter, as if those rules were there, too. */
const DUE = (table = "ctxbridge.entries"): string => `WITH rules AS (
    SELECT l.tenant, l.days FROM ctxbridge.limits l
      WHERE l.days IS NOT NULL AND NOT coalesce(nullif($1::text, '')::jsonb ? l.tenant, false)
    UNION ALL SELECT j.key COLLATE "C", j.value::integer FROM jsonb_each_text(nullif($1::text, '')::jsonb) j
  ), due AS (
    SELECT e.tenant, e.id FROM ${table} e
    CROSS JOIN LATERAL (SELECT r.days FROM rules r WHERE r.tenant IN ('', e.tenant) ORDER BY r.tenant DESC LIMIT 1) r
    -- Most are younger than any rule says: that is seen at once.
    WHERE (e.started IS NULL OR e.started < (SELECT ${BEFORE("min(days)")} FROM rules))
      AND coalesce(e.started, to_char(e.stored AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')) COLLATE "C" < ${BEFORE("r.days")})`

/** Noted as forgotten, or their owners' programs would take them for lost, and send them again. */
const EXPIRING = `${DUE()}, told AS (
    INSERT INTO ctxbridge.forgotten (tenant, kind, name) SELECT tenant, 'id', id FROM due ON CONFLICT DO NOTHING
  ), gone AS (
    DELETE FROM ctxbridge.entries e USING due WHERE e.tenant = due.tenant AND e.id = due.id RETURNING 1)
  SELECT count(*)::int AS n FROM gone`
