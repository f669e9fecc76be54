/**
 * What a user of a server has encrypted before it leaves the machine. Rows keep their columns: names in them are replaced
 * by others that tell nothing, everything else is sealed, and neither words nor vectors go there. The server refuses rows
 * of any other form where there is a description of a key, so that no older program adds clear text. Pure.
 */
import { parseJson } from "../../base/json-files.ts"
import { type Entry, episodeOf, isEntry } from "./entry.ts"
import { isLineFills, isPieceAbout, type LineFills, type PieceAbout, type VaultPiece } from "./pieces.ts"
import { TENANT } from "./postgres-finding.ts"
import type { Seal } from "./seal.ts"
import type { SentVersion } from "./target.ts"

/** SQLSTATE of a row that is refused because it is not encrypted. */
const IN_CLEAR = "CTX04"

/** What stands for a name begins with it, and no other name does. In bytes, it comes after all that names begin with. */
export const SEALED = "~"

/** Whether a row is as this program seals it. */
const FORMS = {
  entries: `NEW.key >= '${SEALED}' AND NEW.id >= '${SEALED}' AND NEW.session >= '${SEALED}' AND NEW.writer >= '${SEALED}'
    AND NEW.project IS NULL AND NEW.started IS NULL AND NEW.summary = '' AND NEW.words = '' AND NEW.about = '{}'
    AND NEW.embedder IS NULL`,
  frames: `NEW.writer >= '${SEALED}' AND NEW.copy >= '${SEALED}' AND NEW.session >= '${SEALED}' AND NEW.about ? 'sealed'`,
} as const

/** Whether whoever calls has encrypted what he keeps there. */
const IS_SEALED = `EXISTS (SELECT FROM ctxbridge.seals s WHERE s.tenant = ${TENANT})`

const refusingIf = (isClear: string, whose: string): string => `IF ${isClear} THEN
    RAISE EXCEPTION 'what % keeps here is encrypted, and this is not: it was not kept', ${whose} USING ERRCODE = '${IN_CLEAR}',
      HINT = 'a program that is new enough, with the passphrase, encrypts it';
  END IF;`

/** Whether this transaction has put a name as it is. */
const hasPut = (table: string, name: string): string =>
  `EXISTS (SELECT FROM ctxbridge.${table} e WHERE e.tenant = ${TENANT} AND e.${name} < '${SEALED}'
      AND e.xmin = pg_current_xact_id()::xid)`

/**
 * Before a row is written: one that is refused afterwards is in the server's files. Anybody may have a table of his own with
 * a trigger that calls this, in another schema.
 */
const REFUSING_CLEAR = [
  `CREATE FUNCTION ctxbridge.refuse_clear() RETURNS trigger
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $refuse$
BEGIN
  ${refusingIf("TG_TABLE_SCHEMA = 'ctxbridge' AND EXISTS (SELECT FROM ctxbridge.seals s WHERE s.tenant = NEW.tenant)", "NEW.tenant")}
  RETURN NEW;
END $refuse$`,
  ...Object.entries(FORMS).map(
    ([table, form]) => `CREATE TRIGGER refuse_clear BEFORE INSERT OR UPDATE ON ctxbridge.${table}
  FOR EACH ROW WHEN ((${form}) IS NOT TRUE) EXECUTE FUNCTION ctxbridge.refuse_clear()`,
  ),
]

/** A step of `SERVER_STEPS`. */
export const SEALING = {
  name: "sealing",
  brings: "users may encrypt what they keep there with a passphrase that the server never has",
  statements: [
    `CREATE TABLE ctxbridge.seals (
  tenant text COLLATE "C" PRIMARY KEY DEFAULT ${TENANT},
  about  jsonb NOT NULL,                -- how the key is made of the passphrase
  former jsonb                          -- the same of the key before
)`,
    "ALTER TABLE ctxbridge.seals ENABLE ROW LEVEL SECURITY",
    `CREATE POLICY own ON ctxbridge.seals USING (tenant = ${TENANT}) WITH CHECK (tenant = ${TENANT})`,
    "ALTER TABLE ctxbridge.seals ALTER COLUMN tenant SET STATISTICS 0, ALTER COLUMN about SET STATISTICS 0, ALTER COLUMN former SET STATISTICS 0",
    ...REFUSING_CLEAR,
    "ALTER FUNCTION ctxbridge.offer_share(text, text) RENAME TO offer_clear_share",
    `CREATE FUNCTION ctxbridge.offer_share(of_project text, to_team text) RETURNS text
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $share$
BEGIN
  ${refusingIf(IS_SEALED, TENANT)}
  RETURN ctxbridge.offer_clear_share(of_project, to_team);
END $share$`,
    // Whoever forgets calls this last. A trigger on those tables would wait for whoever is at them.
    "ALTER FUNCTION ctxbridge.forget_entries(text[], text[]) RENAME TO forget_entries_named",
    `CREATE FUNCTION ctxbridge.forget_entries(ids text[], sessions text[]) RETURNS integer
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $forget$
BEGIN
  ${refusingIf(`${IS_SEALED} AND (${hasPut("forgotten", "name")} OR ${hasPut("fills", "session")})`, TENANT)}
  RETURN ctxbridge.forget_entries_named(ids, sessions);
END $forget$`,
    // Only who has the key knows which of these rows is damaged.
    "ALTER FUNCTION ctxbridge.mend_entries() RENAME TO mend_clear_entries",
    `CREATE FUNCTION ctxbridge.mend_entries() RETURNS integer
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $mend$
BEGIN
  IF ${IS_SEALED} THEN RETURN 0; END IF;
  RETURN ctxbridge.mend_clear_entries();
END $mend$`,
    // What was there before, in order, as far as it has been encrypted. NULL: nothing of that table.
    `CREATE FUNCTION ctxbridge.drop_clear(key_to text, writer_to text, copy_to text, start_to bigint) RETURNS integer
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $drop$
DECLARE
  gone integer;
BEGIN
  IF NOT ${IS_SEALED} OR EXISTS (
    -- Of a former role.
    SELECT FROM ctxbridge.tenants t WHERE t.tenant = ${TENANT} AND t.bytes > 0
      AND t.role_oid IS DISTINCT FROM (SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolname = session_user)
  ) THEN RETURN 0; END IF;
  DELETE FROM ctxbridge.frames e WHERE e.tenant = ${TENANT} AND e.writer < '${SEALED}'
    AND (e.writer, e.copy, e.start) <= (writer_to, copy_to, start_to);
  DELETE FROM ctxbridge.forgotten e WHERE e.tenant = ${TENANT} AND e.name < '${SEALED}';
  DELETE FROM ctxbridge.fills e WHERE e.tenant = ${TENANT} AND e.session < '${SEALED}';
  DELETE FROM ctxbridge.entries e WHERE e.tenant = ${TENANT} AND e.key < '${SEALED}' AND e.key <= key_to;
  GET DIAGNOSTICS gone = ROW_COUNT;
  RETURN gone;
END $drop$`,
  ],
  rights: ["GRANT SELECT, INSERT, UPDATE (about, former) ON ctxbridge.seals TO ctxbridge_user"],
}

type NameKind = "key" | "id" | "session" | "writer" | "copy" | "fills" | "line"

type Kept = Readonly<Record<string, unknown>>

/** What is put into rows, and what they say to whoever has the key. */
export class SealedRows {
  readonly #seal: Seal
  readonly #place: string
  readonly #sessions = new Map<string, string>()

  /** @param tables names the tables and whose rows these are */
  constructor(seal: Seal, tables: string) {
    this.#seal = seal
    this.#place = tables
  }

  /** What stands for a name. Sessions keep what tells a subagent's from others'. */
  name(kind: NameKind, name: string): string {
    if (kind === "id") return `${this.beginning(name)}${this.#seal.hide(name, kind)}`
    if (kind !== "session") return SEALED + this.#seal.hide(name, kind)
    const known = this.#sessions.get(name)
    if (known !== undefined) return known
    const parts = name.split("/").map((_, n, all) => all.slice(0, n + 1).join("/"))
    const made = parts.map((part) => SEALED + this.#seal.hide(part, kind)).join("/")
    this.#sessions.set(name, made)
    return made
  }

  /** How the names of all ids begin that begin with these 16 digits. */
  beginning(id: string): string {
    return SEALED + this.#seal.hide(id.slice(0, NAMING), "beginning")
  }

  /** The entry as it is put: it says of itself only what the server needs to decide between versions. */
  closed({ id, key, summary, content, metadata }: Entry): Entry {
    const [named, turn] = [this.name("id", id), this.name("key", key)]
    const { messages, takenBack, sessionId } = metadata
    const unsaid = {
      chunkIndex: 0,
      timestamp: null,
      ended: null,
      project: null,
      toolNames: [],
      filePaths: [],
    }
    const sealed = this.#close(JSON.stringify({ id, key, summary, metadata }), "entry", turn)
    return {
      id: named,
      key: turn,
      summary: "",
      content: this.#close(content, "content", turn, named),
      metadata: { ...unsaid, sessionId: this.name("session", sessionId), messages, takenBack, ...{ sealed } },
    }
  }

  /** @param row with all that was put; undefined: it is not what its place says */
  opened(row: Kept): Entry | undefined {
    const told = this.#toldIn(row)
    const content = told && this.#open(row["content"], "content", String(row["key"]), String(row["id"]))
    const entry = { ...told, content }
    return isEntry(entry) ? { ...entry, ...episodeOf(entry.metadata) } : undefined
  }

  /** @param row with all that the server decides by, which nobody has sealed */
  isWhole(row: Kept): boolean {
    const told = this.opened(row)?.metadata
    return (
      told !== undefined &&
      this.name("session", told.sessionId) === row["session"] &&
      told.messages === row["messages"] &&
      told.takenBack === row["taken_back"]
    )
  }

  /** @param row without its content */
  sent(row: Kept): (SentVersion & { readonly machine: string | undefined }) | undefined {
    const told = this.#toldIn(row)
    if (told === undefined) return undefined
    const { id, key, metadata } = told
    const { sessionId: session, messages, machine } = metadata
    return { id, key, session, messages, machine }
  }

  #toldIn({ key, id, metadata }: Kept): Pick<Entry, "id" | "key" | "summary" | "metadata"> | undefined {
    const told = parseJson(this.#open(sealedIn(metadata), "entry", String(key)) ?? "") as Entry | undefined
    const isIt = told !== undefined && this.name("key", told.key) === key && this.name("id", told.id) === id
    return isIt ? told : undefined
  }

  /** A piece as it is put. @param by the archive that puts it */
  closedPiece({ frame, ...about }: VaultPiece, by: string) {
    const [writer, copy] = [this.name("writer", by), this.name("copy", about.copy)]
    const place = [writer, copy, String(about.from)]
    return {
      about: { sealed: this.#close(JSON.stringify(about), "piece", ...place) },
      session: this.name("session", about.session),
      ...{ copy, start: about.from },
      frame: this.#seal.closeBytes(frame, this.#at("frame", ...place)).toString("base64"),
    }
  }

  /** @param row with writer, copy, start and about */
  piece(row: Kept): PieceAbout | undefined {
    const about = parseJson(this.#open(sealedIn(row["about"]), "piece", ...placeOf(row)) ?? "")
    return isPieceAbout(about) ? about : undefined
  }

  /** Nothing, which is no piece, if it is not what its place says. */
  frame(row: Kept, bytes: Uint8Array): Uint8Array {
    return this.#seal.openBytes(bytes, this.#at("frame", ...placeOf(row))) ?? new Uint8Array(0)
  }

  closedFills({ session, key, lines }: LineFills) {
    const [named, by] = [this.name("session", session), this.name("fills", key)]
    const closed = Object.entries(lines).map(([line, spans]) => {
      const hidden = this.name("line", line)
      return [hidden, this.#close(JSON.stringify({ session, key, line, spans }), "fills", named, by, hidden)]
    })
    return { session: named, key: by, lines: Object.fromEntries(closed) }
  }

  /** Those of its lines that can be read. */
  fills({ session, key, lines }: Kept): LineFills[] {
    const found = Object.entries((lines ?? {}) as Kept).flatMap(([hidden, sealed]) => {
      const told = parseJson(this.#open(sealed, "fills", String(session), String(key), hidden) ?? "")
      return told === undefined ? [] : [told as Record<"session" | "key" | "line" | "spans", never>]
    })
    if (found.length === 0) return []
    const { session: of, key: by } = found[0]!
    const all = {
      session: of,
      key: by,
      lines: Object.fromEntries(found.map(({ line, spans }) => [line, spans])),
    }
    return isLineFills(all) ? [all] : []
  }

  #at(...place: readonly string[]): string {
    return JSON.stringify([this.#place, ...place])
  }

  #close(text: string, ...place: readonly string[]): string {
    return this.#seal.close(text, this.#at(...place))
  }

  #open(sealed: unknown, ...place: readonly string[]): string | undefined {
    return typeof sealed === "string" ? this.#seal.open(sealed, this.#at(...place)) : undefined
  }
}

/** Digits of an id by which it is asked for. */
const NAMING = 16

const sealedIn = (value: unknown): unknown => (value as { sealed?: unknown } | null)?.sealed

const placeOf = ({ writer, copy, start }: Kept): string[] => [writer, copy, start].map(String)
