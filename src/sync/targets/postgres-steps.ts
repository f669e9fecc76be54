/**
 * What is added to a server's tables within one major version, step by step, and what a server has of it. Programs of
 * the same major get along with more steps than they know and with fewer: whoever cannot use a step leaves it alone, and
 * whoever lacks one goes without what it brings. Pure, but for one question.
 */
import { CtxError, codeOf, isCtxError } from "../../base/errors.ts"
import type { Ask } from "./postgres-door.ts"
import { HALFVEC } from "./postgres-halfvec.ts"
import { LIMITS } from "./postgres-limits.ts"
import { SEALING } from "./postgres-sealing.ts"
import { SHARING } from "./postgres-sharing.ts"

/**
 * Only ever adds: tables, nullable columns, functions, indexes. What programs without it say must go on working. Whoever
 * owns the tables takes what is missing at a sync; where an administrator's script made them, that script does.
 */
export interface ServerStep {
  /** Noted in `ctxbridge.steps` when it is done. Never changed: small letters, digits and `-`. */
  readonly name: string
  /** What users have from it, as a few words without quotation marks: the script says so while it takes the step. */
  readonly brings: string
  /** Never changed once released. `@embedding@` and the others are what they are in a migration. */
  readonly statements: readonly string[]
  /** What the administrator's script lets `ctxbridge_user` do with it, each time it is run. Functions need none. */
  readonly rights?: readonly string[]
}

/** In this order. */
export const SERVER_STEPS: readonly ServerStep[] = [SHARING, LIMITS, SEALING, HALFVEC]

/** The version of tables in partitions is so much more: programs that know of none would fail at them. */
export const PARTITIONED = 100

/** What statements need to know of the tables that are there. */
export interface Tables {
  /** Names what is kept here for this user. */
  readonly id: string
  /** Type of vectors, with its schema, quoted; undefined: they are arrays. */
  readonly vectors: string | undefined
  /** By month, of which the table of turns has one each. */
  readonly isPartitioned: boolean
  /** Names of the steps that are there, also of those that this program does not know. */
  readonly steps: ReadonlySet<string>
  /** Whether they belong to the role that asks, which then brings them up to date. */
  readonly isOwner: boolean
}

export interface TablesThere extends Tables {
  /** Major. */
  readonly version: number
  readonly wantsView: boolean
  /** Whom they belong to. */
  readonly owner: string
  /** Whether the user may do what that role may. */
  readonly isAdministrator: boolean
}

/** A schema or a table that is not there. */
const ABSENT = ["42P01", "3F000"]

const isAbsent = (error: unknown): boolean => isCtxError(error) && ABSENT.includes(codeOf(error.cause))

const reading = (steps: string): string => `
  SELECT t.*, session_user::text AS tenant, pg_get_userbyid(c.relowner) = current_user AS "isOwner",
    pg_get_userbyid(c.relowner)::text AS "tablesOf", pg_has_role(session_user, c.relowner, 'usage') AS "isAdministrator",
    ${steps} AS steps,
    (SELECT format('%I.%I', n.nspname, y.typname) FROM pg_attribute a JOIN pg_type y ON y.oid = a.atttypid
       JOIN pg_namespace n ON n.oid = y.typnamespace
     WHERE a.attrelid = to_regclass('ctxbridge.entries') AND a.attname = 'embedding' AND y.typname <> '_float4')
       AS vectors,
    to_regclass('ctxbridge.transcript_entries') IS NULL AND has_schema_privilege('ctxbridge', 'CREATE')
      AS "wantsView"
  FROM pg_class c LEFT JOIN ctxbridge.target t ON true
  WHERE c.oid = 'ctxbridge.target'::regclass`

/**
 * In one question, or two where no step was ever taken.
 *
 * @param shown the server's address, for people
 * @returns undefined: there are no tables
 */
export async function readTables(ask: Ask, shown: string): Promise<TablesThere | undefined> {
  try {
    return await asked(ask, shown, "(SELECT coalesce(jsonb_agg(s.name), '[]') FROM ctxbridge.steps s)")
  } catch (error) {
    if (!isAbsent(error)) throw error
  }
  try {
    return await asked(ask, shown, "'[]'::jsonb")
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw error
  }
}

interface Asked extends Pick<TablesThere, "version" | "isOwner" | "isAdministrator" | "wantsView"> {
  readonly tenant: string
  readonly tablesOf: string
  readonly steps: readonly string[]
}

async function asked(ask: Ask, shown: string, stepsThere: string): Promise<TablesThere> {
  const [row] = await ask(reading(stepsThere))
  const { id, owner, tenant, tablesOf, vectors, steps, ...rest } = row as unknown as {
    [name in "id" | "owner" | "vectors"]?: string | null
  } & Asked
  if (typeof id !== "string") {
    throw new CtxError("target-damaged", `${shown}: the table ctxbridge.target is empty`, {
      hint: "DROP SCHEMA ctxbridge CASCADE there removes everything of ours; it is sent again then",
    })
  }
  const isPartitioned = Math.floor(rest.version / PARTITIONED) === 1
  return {
    // To whom it belongs, it is what it was before there were tenants. To everybody else, it is something of his own.
    id: tenant === owner ? id : `${id}/${tenant}`,
    version: isPartitioned ? rest.version - PARTITIONED : rest.version,
    isPartitioned,
    isOwner: rest.isOwner,
    isAdministrator: rest.isAdministrator,
    wantsView: rest.wantsView,
    owner: tablesOf,
    vectors: vectors ?? undefined,
    steps: new Set(steps),
  }
}

/** Who brings a server's tables up to date, and how. */
const howToMigrate = (isOwner: boolean): string =>
  isOwner ? "ctxbridge sync brings them up to date" : "its administrator runs: ctxbridge server migrate"

/**
 * @param newest major that this program knows
 * @throws CtxError `target-newer`, `target-older`
 */
export function mustBeOfMajor({ version, isOwner }: TablesThere, newest: number, shown: string): void {
  if (version === newest) return
  const both = `has tables of version ${version}, and this program needs version ${newest}`
  if (version > newest)
    throw new CtxError("target-newer", `${shown} ${both}`, { hint: "update it here: ctxbridge update" })
  throw new CtxError("target-older", `${shown} ${both}`, { hint: howToMigrate(isOwner) })
}

/** @throws CtxError `target-older`: a feature needs this step */
export function mustHaveStep(name: string, { steps, isOwner }: Tables, shown: string): void {
  if (!steps.has(name))
    throw new CtxError("target-older", `${shown} lacks ${name}`, { hint: howToMigrate(isOwner) })
}
