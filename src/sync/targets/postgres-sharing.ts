/**
 * Turns that one user of a server shows to others, if both sides say so: whoever has them offers a project to a role, and
 * a member of that role agrees. Nobody has a right to the tables: functions change them, each only what is the caller's,
 * so that no lock of one user is in the way of another one's. Pure, but for the calls.
 */
import { CtxError } from "../../base/errors.ts"
import { episodeOf, isEntry } from "./entry.ts"
import { isNamed } from "./entry-rules.ts"
import type { Ask } from "./postgres-door.ts"
import { FIND_SHARED, TENANT } from "./postgres-finding.ts"
import type { OthersOffer, OwnOffer, ShareStore } from "./target.ts"

/** Most that one user may offer: others' lists have them all. */
const MOST_OFFERS = 500

/** A role is the same one if both its name and its number are: one that was made again under a name is somebody else. */
const isRole = (alias: string, name: string, oid: string): string =>
  `JOIN pg_catalog.pg_roles ${alias} ON ${alias}.oid = ${oid} AND ${alias}.rolname::text = ${name}`

/** Offers `o` of others that are open to whoever calls: their owner and their team are there, and he is in the team. */
const OPEN_TO_CALLER = `ctxbridge.offers o ${isRole("w", "o.owner", "o.owner_oid")} ${isRole("t", "o.team", "o.team_oid")}
    AND pg_catalog.pg_has_role(session_user, t.oid, 'member') AND o.owner <> ${TENANT}`

const CALLER_OID = `(SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolname = session_user)`

/** What whoever calls has agreed to, of the offer `o`. */
const AGREED = `ctxbridge.acceptances a WHERE a.offer = o.id AND a.reader = ${TENANT} AND a.reader_oid = ${CALLER_OID}`

const asOwner = (language: string): string =>
  `LANGUAGE ${language} SECURITY DEFINER SET search_path = pg_catalog, pg_temp`

const OWN_OFFERS = `o.owner = ${TENANT} AND o.owner_oid = ${CALLER_OID}`

/** A step of `SERVER_STEPS`. */
export const SHARING = {
  name: "sharing",
  brings: "users may share projects with the members of a role who agree to it",
  statements: [
    // An offer that is made again is another one, to which nobody has agreed yet.
    `CREATE TABLE ctxbridge.offers (
  id        uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  owner     text COLLATE "C" NOT NULL,
  owner_oid oid NOT NULL,
  project   text NOT NULL,
  team      text COLLATE "C" NOT NULL,
  team_oid  oid NOT NULL,
  offered   timestamptz NOT NULL DEFAULT now(),
  UNIQUE (owner, project, team)
)`,
    // No foreign key: whoever holds a lock on his own row must not keep an owner from ending an offer.
    `CREATE TABLE ctxbridge.acceptances (
  reader     text COLLATE "C" NOT NULL,
  reader_oid oid NOT NULL,
  offer      uuid NOT NULL,
  accepted   timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (reader, offer)
)`,
    "CREATE INDEX acceptances_offer ON ctxbridge.acceptances (offer)",
    ...["offers", "acceptances"].map((table) => `ALTER TABLE ctxbridge.${table} ENABLE ROW LEVEL SECURITY`),
    `CREATE FUNCTION ctxbridge.accepted_shares() RETURNS TABLE (owner text, project text) STABLE ${asOwner("sql")} AS $share$
  SELECT o.owner, o.project FROM ${OPEN_TO_CALLER} WHERE EXISTS (SELECT FROM ${AGREED})
$share$`,
    `CREATE FUNCTION ctxbridge.offer_share(of_project text, to_team text) RETURNS text ${asOwner("plpgsql")} AS $share$
DECLARE
  number oid := (SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolname = to_team);
BEGIN
  IF number IS NULL THEN RETURN 'no-team'; END IF;
  -- Of a role, or for one, that is no more.
  DELETE FROM ctxbridge.offers o WHERE o.owner = ${TENANT}
    AND (o.owner_oid <> ${CALLER_OID} OR (o.project = of_project AND o.team = to_team AND o.team_oid <> number));
  IF (SELECT count(*) FROM ctxbridge.offers o WHERE ${OWN_OFFERS}) >= ${MOST_OFFERS} THEN RETURN 'too-many'; END IF;
  INSERT INTO ctxbridge.offers (owner, owner_oid, project, team, team_oid)
    VALUES (${TENANT}, ${CALLER_OID}, of_project, to_team, number) ON CONFLICT DO NOTHING;
  RETURN CASE WHEN FOUND THEN 'offered' ELSE 'known' END;
END $share$`,
    `CREATE FUNCTION ctxbridge.stop_share(of_project text, to_team text) RETURNS integer ${asOwner("plpgsql")} AS $share$
DECLARE
  gone integer;
BEGIN
  DELETE FROM ctxbridge.offers o WHERE o.owner = ${TENANT} AND o.project = of_project
    AND to_team IN ('', o.team);
  GET DIAGNOSTICS gone = ROW_COUNT;
  RETURN gone;
END $share$`,
    `CREATE FUNCTION ctxbridge.my_offers() RETURNS TABLE (project text, team text, "isOpen" boolean, readers text[])
  STABLE ${asOwner("sql")} AS $share$
  SELECT o.project, o.team, t.oid IS NOT NULL, ARRAY(SELECT a.reader FROM ctxbridge.acceptances a
      ${isRole("r", "a.reader", "a.reader_oid")} AND pg_catalog.pg_has_role(r.oid, t.oid, 'member')
    WHERE a.offer = o.id ORDER BY 1)
  FROM ctxbridge.offers o LEFT ${isRole("t", "o.team", "o.team_oid")} WHERE ${OWN_OFFERS} ORDER BY 1, 2
$share$`,
    `CREATE FUNCTION ctxbridge.offers_to_me() RETURNS TABLE (owner text, project text, teams text[], "isAccepted" boolean)
  STABLE ${asOwner("sql")} AS $share$
  SELECT o.owner, o.project, array_agg(o.team ORDER BY o.team), bool_or(EXISTS (SELECT FROM ${AGREED}))
  FROM ${OPEN_TO_CALLER} GROUP BY 1, 2 ORDER BY 1, 2
$share$`,
    `CREATE FUNCTION ctxbridge.accept_share(of_owner text, of_project text) RETURNS integer ${asOwner("plpgsql")} AS $share$
DECLARE
  done integer;
BEGIN
  INSERT INTO ctxbridge.acceptances AS old (reader, reader_oid, offer)
    SELECT ${TENANT}, ${CALLER_OID}, o.id FROM ${OPEN_TO_CALLER} WHERE o.owner = of_owner AND o.project = of_project
    ON CONFLICT (reader, offer) DO UPDATE SET reader_oid = excluded.reader_oid, accepted = now();
  GET DIAGNOSTICS done = ROW_COUNT;
  RETURN done;
END $share$`,
    // With all that became of no use.
    `CREATE FUNCTION ctxbridge.leave_share(of_owner text, of_project text) RETURNS integer ${asOwner("plpgsql")} AS $share$
DECLARE
  gone integer;
BEGIN
  DELETE FROM ctxbridge.acceptances a WHERE a.reader = ${TENANT} AND NOT EXISTS (
    SELECT FROM ctxbridge.offers o WHERE o.id = a.offer);
  DELETE FROM ctxbridge.acceptances a USING ctxbridge.offers o
    WHERE a.offer = o.id AND a.reader = ${TENANT} AND o.owner = of_owner AND o.project = of_project;
  GET DIAGNOSTICS gone = ROW_COUNT;
  RETURN gone;
END $share$`,
    ...FIND_SHARED,
    `ALTER TABLE ctxbridge.offers ${statistics("id, owner, owner_oid, project, team, team_oid, offered")}`,
    `ALTER TABLE ctxbridge.acceptances ${statistics("reader, reader_oid, offer, accepted")}`,
  ],
}

function statistics(columns: string): string {
  const none = (column: string): string => `ALTER COLUMN ${column} SET STATISTICS 0`
  return columns.split(", ").map(none).join(", ")
}

/**
 * @param ask fails where the server lacks the step
 * @param shown the server's address, for people
 * @param isSealed whether the user's rows are encrypted
 */
export function sharesAt(ask: Ask, shown: string, isSealed: boolean): ShareStore {
  const mustBeClear = (): void => {
    if (isSealed)
      throw new CtxError("target-encrypted", `what you keep at ${shown} is encrypted, and cannot be shared`, {
        hint: "nobody else has your passphrase; share from another role or server that is not encrypted",
      })
  }
  const call = (what: string, ...values: readonly string[]) => ask(what, values)
  const counted = async (name: string, ...values: readonly string[]): Promise<number> => {
    const [row] = await call(`SELECT ctxbridge.${name}($1::text, $2::text) AS done`, ...values)
    return Number(row!["done"])
  }
  return {
    async projects() {
      mustBeClear()
      const rows = await call(
        `SELECT DISTINCT project FROM ctxbridge.entries WHERE tenant = ${TENANT} AND project IS NOT NULL ORDER BY 1`,
      )
      return rows.map(({ project }) => String(project))
    },

    async offer(project, team) {
      mustBeClear()
      const [row] = await call("SELECT ctxbridge.offer_share($1::text, $2::text) AS done", project, team)
      const done = String(row!["done"])
      if (done === "no-team")
        throw new CtxError("not-found", `${shown} has no role ${team}`, {
          hint: "its administrator makes one: CREATE ROLE team; GRANT team TO alice, bob",
        })
      if (done === "too-many")
        throw new CtxError("target-full", `${MOST_OFFERS} projects are shared, which is the most`, {
          hint: "ctxbridge share PROJECT --stop ends one",
        })
      return done === "offered"
    },

    // No role has an empty name.
    stop: (project, team = "") => counted("stop_share", project, team),

    async offers() {
      const rows = await call(
        `SELECT project, team, "isOpen", to_jsonb(readers) AS readers FROM ctxbridge.my_offers()`,
      )
      return rows as unknown as OwnOffer[]
    },

    async offered() {
      const rows = await call(
        `SELECT owner, project, to_jsonb(teams) AS teams, "isAccepted" FROM ctxbridge.offers_to_me()`,
      )
      return rows as unknown as OthersOffer[]
    },

    accept: (owner, project) => counted("accept_share", owner, project),
    leave: (owner, project) => counted("leave_share", owner, project),

    async get(id) {
      // Where nothing shall be known of one's own, no id of it is asked for among others'.
      if (isSealed || !isNamed(id, id)) return undefined
      for (const { tenant, ...entry } of await call("SELECT * FROM ctxbridge.get_shared($1::text)", id))
        if (isEntry(entry)) return { entry: { ...entry, ...episodeOf(entry.metadata) }, by: String(tenant) }
      return undefined
    },
  }
}
