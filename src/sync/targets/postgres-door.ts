/**
 * Connects to PostgreSQL: the only importer of `postgres`. Every call has a deadline of ours, since a server (or a
 * pooler without one) that closes each connection makes the package connect again without end, and the query never
 * settles.
 */
import { readFileSync } from "node:fs"
import postgres from "postgres"
import { CtxError, codeOf, isCtxError, messageOf } from "../../base/errors.ts"
import type { ServerAddress } from "./postgres-address.ts"

type Row = Readonly<Record<string, unknown>>
/** Every parameter is text: a statement casts it to what it wants, as in `$1::text::jsonb`. */
export type Ask = (statement: string, parameters?: readonly string[]) => Promise<readonly Row[]>

export interface Server {
  readonly ask: Ask
  /** Runs all or nothing. Only what is neither harmful to wait for nor short may take as long as it takes. */
  transaction<T>(work: (ask: Ask) => Promise<T>, patience?: "as long as it takes"): Promise<T>
  /** The same connection, for calls that take longer: ms for one. */
  within(deadline: number): Server
  close(): Promise<void>
}

/** Seconds. */
const CONNECT = 5
const IDLE = 10
/** ms for the first call, which connects. */
const FIRST = 6000

/** @param deadline ms for one call */
export function connect(address: ServerAddress, deadline: number): Server {
  const { host, port, database, user, password, shown } = address
  let isOpen = false
  const options = {
    // Lists, because in a text the package takes what follows a colon for the port, even in `::1`.
    host: [host],
    port: [port],
    ...(host.startsWith("/") ? { path: `${host}/.s.PGSQL.${port}` } : {}),
    database,
    username: user,
    password,
    // One call follows another.
    max: 1,
    connect_timeout: CONNECT,
    idle_timeout: IDLE,
    ssl: address.tls ? { rejectUnauthorized: true, ...trusted(address.sslrootcert) } : false,
    // Poolers give each statement to another connection.
    prepare: false,
    fetch_types: false,
    connection: { application_name: "ctxbridge" },
    onnotice: () => {},
  }
  const sql = postgres(options as unknown as postgres.Options<Record<string, never>>)

  /** @param most ms; undefined: as long as it takes */
  const answered = async <T>(work: () => Promise<T>, most: number | undefined): Promise<T> => {
    const patience = most === undefined || isOpen ? most : Math.min(most, FIRST)
    let timer: ReturnType<typeof setTimeout> | undefined
    const silence = new Promise<never>((_, reject) => {
      if (patience !== undefined) timer = setTimeout(() => reject(silent(address, patience)), patience)
    })
    try {
      const result = await Promise.race([work(), silence])
      isOpen = true
      return result
    } catch (error) {
      const told = serverError(error, shown)
      if (told.code !== "target-silent" && told.code !== "target-closed") throw told
      // Or it would go on connecting.
      await sql.end({ timeout: 0 }).catch(() => {})
      throw isOpen ? told : new CtxError(told.code, told.message, { hint: hintOf(address), cause: error })
    } finally {
      clearTimeout(timer)
    }
  }

  const asking =
    (to: Pick<typeof sql, "unsafe">): Ask =>
    async (statement, parameters = []) =>
      (await to.unsafe(statement, [...parameters])) as unknown as Row[]

  const within = (most: number): Server => ({
    ask: (...call) => answered(() => asking(sql)(...call), most),
    transaction: (work, patience) =>
      answered(
        async () =>
          (await sql.begin((inner) => work(asking(inner)).catch(unlessClosed))) as Awaited<
            ReturnType<typeof work>
          >,
        patience === undefined ? most : undefined,
      ),
    within,
    close: async () => {
      await sql.end({ timeout: 1 }).catch(() => {})
    },
  })
  return within(deadline)
}

/**
 * A transaction that failed is rolled back by the package, also where the server has just gone: it then writes to a socket
 * that is no more, where nobody can catch the error. Without an answer here, it waits for the connection's end instead,
 * which it tells by itself.
 */
function unlessClosed(error: unknown): Promise<never> {
  const { severity } = (error ?? {}) as { severity?: unknown }
  if (/^CONNECTION_/.test(codeOf(error)) || severity === "FATAL" || severity === "PANIC")
    return new Promise(() => {})
  throw error
}

const silent = ({ shown }: ServerAddress, ms: number): CtxError =>
  new CtxError("target-silent", `${shown}: no answer within ${ms / 1000} s`, {
    hint: "run it again to go on",
  })

/** What may be wrong with a server that does not let anybody in, or lets everybody wait. */
const hintOf = ({ tls }: ServerAddress): string =>
  tls
    ? "is it PostgreSQL, and does it offer TLS? ?sslmode=disable goes without, and readable for all on the way"
    : "is it PostgreSQL, and does it let you in without TLS? ?sslmode=verify-full goes with it"

function trusted(file: string | undefined): { ca?: string } {
  if (file === undefined) return {}
  try {
    return { ca: readFileSync(file, "utf8") }
  } catch (cause) {
    throw new CtxError("target-untrusted", `cannot read the certificate: ${messageOf(cause)}`, {
      hint: "sslrootcert names a file in PEM format",
      cause,
    })
  }
}

/** What went wrong, in words that say what to do. */
type Told = readonly [code: string, message: string, hint: string]

/** By the system's, the package's or the server's code (PostgreSQL, appendix A). */
const TOLD: Readonly<Record<string, Told>> = {
  ECONNREFUSED: ["target-refused", "connection refused", "is PostgreSQL running, and is the port right?"],
  ENOTFOUND: ["target-absent", "there is no such host", "is the name right?"],
  EAI_AGAIN: ["target-absent", "the host's name cannot be looked up", "is there a network?"],
  ENOENT: ["target-absent", "there is no such socket", "is PostgreSQL running here?"],
  EHOSTUNREACH: ["target-absent", "the host cannot be reached", "is there a network?"],
  ENETUNREACH: ["target-absent", "the host cannot be reached", "is there a network?"],
  CONNECT_TIMEOUT: ["target-silent", "the server does not answer", "is a firewall in between?"],
  "28P01": ["target-denied", "wrong user or password", "set PGPASSWORD or RUVECTOR_PASSWORD"],
  "28000": ["target-denied", "the server does not let this user in", "see pg_hba.conf there"],
  "3D000": ["target-missing", "there is no such database", "create it: createdb NAME"],
  "42501": [
    "target-denied",
    "permission denied for this user",
    "it needs CREATE on the database, or an administrator who runs ctxbridge sync --print-ddl there",
  ],
  "25006": ["target-unwritable", "the server is read-only", "is it a standby? Name the primary"],
  "53100": ["target-full", "the server's disk is full", "make room there; then run it again"],
  "53200": ["target-full", "the server is out of memory", "try again later"],
  "53300": ["target-busy", "the server has too many connections", "try again later"],
  "57P01": ["target-closed", "the server was shut down", "run it again when it is back"],
  "57P03": ["target-busy", "the server is starting or stopping", "try again in a moment"],
}

const CLOSED: Told = ["target-closed", "the server closed the connection", "run it again to go on"]

/** OpenSSL's reasons not to trust a certificate. */
const CERTIFICATE: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "the server's certificate has expired",
  CERT_NOT_YET_VALID: "the server's certificate is not valid yet",
  ERR_TLS_CERT_ALTNAME_INVALID: "the server's certificate is for another host",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the server's certificate is not signed by a trusted authority",
  SELF_SIGNED_CERT_IN_CHAIN: "the server's certificate is not signed by a trusted authority",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "the server's certificate is not signed by a trusted authority",
  UNABLE_TO_GET_ISSUER_CERT: "the server's certificate is not signed by a trusted authority",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "the server's certificate is not signed by a trusted authority",
}

/** @param shown the server's address without its password */
function serverError(error: unknown, shown: string): CtxError {
  if (isCtxError(error)) return error
  const code = codeOf(error)
  const untrusted = CERTIFICATE[code]
  if (untrusted !== undefined) {
    return new CtxError("target-untrusted", `${shown}: ${untrusted}`, {
      hint: "trust it with ?sslrootcert=FILE; nothing was sent",
      cause: error,
    })
  }
  const known = TOLD[code] ?? (/^CONNECTION_|^ECONNRESET$|^EPIPE$/.test(code) ? CLOSED : undefined)
  const [name, message, hint] = known ?? ["target-failed", messageOf(error), undefined]
  return new CtxError(name, `${shown}: ${message}`, { ...(hint === undefined ? {} : { hint }), cause: error })
}
