/**
 * How much each user of a server has there, how much he may have and how old it may become. The server counts and
 * refuses by itself, so that older programs are bound as well. A row of a name is also the row of one role: one that is
 * made again under the name of another may not add to what that one has left. Pure.
 */
import { TENANT } from "./postgres-finding.ts"

/** SQLSTATEs of what is refused: of no class that PostgreSQL uses. */
const OVER_QUOTA = "CTX01"
const OTHER_ROLE = "CTX02"

/** Bytes of a row, which depend on nothing but what was put: the index and compression are the server's matter. */
const SIZES = {
  entries:
    "octet_length(content) + octet_length(summary) + octet_length(metadata::text) + CASE WHEN embedding IS NULL THEN 0 ELSE 1536 END",
  frames: "octet_length(frame) + octet_length(about::text)",
} as const

export const ENTRY_BYTES = SIZES.entries

const ROLE_OID = (name: string): string =>
  `(SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolname::text = ${name})`

/** What a statement has changed, by tenant. Rows of a transition table are there for some kinds of statements only. */
const changes = (size: string): string => {
  const sums = (from: string): string =>
    `SELECT array_agg(c.tenant), array_agg(c.bytes) FROM (
      SELECT d.tenant, sum(d.bytes)::bigint AS bytes FROM (${from}) d GROUP BY d.tenant ORDER BY d.tenant) c INTO tenants, sizes`
  const added = `SELECT tenant, (${size})::bigint AS bytes FROM added`
  const removed = `SELECT tenant, -(${size})::bigint AS bytes FROM removed`
  return `IF TG_OP = 'INSERT' THEN ${sums(added)};
  ELSIF TG_OP = 'DELETE' THEN ${sums(removed)};
  ELSE ${sums(`${added} UNION ALL ${removed}`)};
  END IF;`
}

/**
 * Anybody may have tables of his own with triggers that call this, and with any names in them. Two who put at once wait
 * for each other at the tenant's row, so that together they stay within the quota. Only who puts for himself is bound:
 * an administrator may hand over more than that.
 */
const counting = (table: keyof typeof SIZES): string[] => [
  `CREATE FUNCTION ctxbridge.count_${table}() RETURNS trigger
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $count$
DECLARE
  tenants text[];
  sizes bigint[];
  now_has bigint;
  known oid;
  own oid;
  most bigint;
BEGIN
  IF TG_RELID <> 'ctxbridge.${table}'::regclass THEN RETURN NULL; END IF;
  ${changes(SIZES[table])}
  FOR n IN 1..coalesce(cardinality(tenants), 0) LOOP
    own := ${ROLE_OID("tenants[n]")};
    INSERT INTO ctxbridge.tenants AS t (tenant, role_oid, bytes) VALUES (tenants[n], own, greatest(0, sizes[n]))
      ON CONFLICT (tenant) DO UPDATE SET bytes = greatest(0, t.bytes + sizes[n]),
        -- Where nothing is left, a name is anybody's.
        role_oid = CASE t.bytes WHEN 0 THEN own ELSE t.role_oid END
      RETURNING t.bytes, t.role_oid INTO now_has, known;
    CONTINUE WHEN tenants[n] <> ${TENANT};
    IF known IS DISTINCT FROM own THEN
      RAISE EXCEPTION 'what is kept here under the name % is of a role that is no more: nothing was sent, and nothing is lost at home', tenants[n]
        USING ERRCODE = '${OTHER_ROLE}';
    END IF;
    CONTINUE WHEN sizes[n] <= 0;
    SELECT l.quota FROM ctxbridge.limits l WHERE l.tenant IN ('', tenants[n]) AND l.quota IS NOT NULL
      ORDER BY l.tenant DESC LIMIT 1 INTO most;
    IF now_has > most THEN
      RAISE EXCEPTION 'the quota of % is % bytes, and this would make it %: it was not sent, and nothing is lost at home', tenants[n], most, now_has
        USING ERRCODE = '${OVER_QUOTA}';
    END IF;
  END LOOP;
  RETURN NULL;
END $count$`,
  ...(
    [
      ["INSERT", "NEW TABLE AS added"],
      ["UPDATE", "NEW TABLE AS added OLD TABLE AS removed"],
      ["DELETE", "OLD TABLE AS removed"],
    ] as const
  ).map(
    ([kind, rows]) => `CREATE TRIGGER count_${kind.toLowerCase()} AFTER ${kind} ON ctxbridge.${table}
  REFERENCING ${rows} FOR EACH STATEMENT EXECUTE FUNCTION ctxbridge.count_${table}()`,
  ),
]

/** A step of `SERVER_STEPS`. */
export const LIMITS = {
  name: "limits",
  brings:
    "an administrator may limit what users keep there, and whoever gets the name of a former user adds nothing to it",
  statements: [
    `CREATE TABLE ctxbridge.tenants (
  tenant   text COLLATE "C" PRIMARY KEY,
  role_oid oid,                         -- NULL: there was no such role any more
  bytes    bigint NOT NULL
)`,
    // The empty name: everybody who has no limit of his own.
    `CREATE TABLE ctxbridge.limits (
  tenant text COLLATE "C" PRIMARY KEY,
  quota  bigint CHECK (quota >= 0),     -- bytes
  days   integer CHECK (days > 0)
)`,
    "ALTER TABLE ctxbridge.tenants ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE ctxbridge.limits ENABLE ROW LEVEL SECURITY",
    `CREATE POLICY own ON ctxbridge.tenants FOR SELECT USING (tenant = ${TENANT})`,
    `CREATE POLICY own ON ctxbridge.limits FOR SELECT USING (tenant IN ('', ${TENANT}))`,
    "ALTER TABLE ctxbridge.tenants ALTER COLUMN tenant SET STATISTICS 0, ALTER COLUMN role_oid SET STATISTICS 0, ALTER COLUMN bytes SET STATISTICS 0",
    "ALTER TABLE ctxbridge.limits ALTER COLUMN tenant SET STATISTICS 0, ALTER COLUMN quota SET STATISTICS 0, ALTER COLUMN days SET STATISTICS 0",
    // Triggers first: whoever is putting ends before, and nobody puts until all is counted.
    ...counting("entries"),
    ...counting("frames"),
    `INSERT INTO ctxbridge.tenants (tenant, role_oid, bytes)
  SELECT d.tenant, ${ROLE_OID("d.tenant")}, sum(d.bytes) FROM (
    SELECT tenant, (${SIZES.entries})::bigint AS bytes FROM ctxbridge.entries
    UNION ALL SELECT tenant, (${SIZES.frames})::bigint FROM ctxbridge.frames) d GROUP BY d.tenant`,
  ],
  rights: ["GRANT SELECT ON ctxbridge.tenants, ctxbridge.limits TO ctxbridge_user"],
}
