/**
 * Connects to PostgreSQL: the only importer of `postgres`. Every call has a deadline of ours, since a server (or a
 * pooler without one) that closes each connection makes the package connect again without end, and the query never
 * settles. The sockets are ours, too: the package waits for the other side to close them, and where a line is frozen, that
 * keeps the process.
 */
import { readFileSync } from "node:fs"
import { Socket } from "node:net"
import postgres from "postgres"
import { CtxError, codeOf, isCtxError, messageOf } from "../../base/errors.ts"
import type { ServerAddress } from "./postgres-address.ts"

type Row = Readonly<Record<string, unknown>>
/** Every parameter is text: a statement casts it to what it wants, as in `$1::text::jsonb`. */
export type Ask = (statement: string, parameters?: readonly (string | null)[]) => Promise<readonly Row[]>

export interface Server {
  readonly ask: Ask
  /**
   * Runs all or nothing. Only what is neither harmful to wait for nor short may take as long as it takes: as long as the
   * server, asked on another connection, has it.
   */
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
/** Times the deadline: after so long, and again after as long, somebody looks whether what takes long is still at work. */
const LOOKING = 10
/**
 * Where names without a schema are looked up: wherever anybody else may make functions and operators, theirs would be
 * called with the rights of whoever asks, if they fit better than the server's.
 */
const SEARCH_PATH = "pg_catalog, pg_temp"
/** What PostgreSQL does in no transaction, with the names of all schemas in it. */
const ALONE = /^(VACUUM|CREATE INDEX CONCURRENTLY|DROP INDEX CONCURRENTLY) /
/** What a server answers whoever asks for TLS, if it has it. */
const HAS_TLS = 83

/** @param deadline ms for one call */
export function connect(address: ServerAddress, deadline: number): Server {
  const { host, port, database, user, password } = address
  let isOpen = false
  let isCut = false
  const lines = new Set<Socket>()
  const refused = Promise.withResolvers<never>()
  refused.promise.catch(() => {})

  const line = (): Socket => {
    // The package would try again later.
    if (isCut) throw new CtxError("target-closed", `${address.shown}: the connection is closed`)
    const socket = new Socket()
    // Not before the package listens for what goes wrong.
    setImmediate(() => {
      if (host.startsWith("/")) socket.connect(`${host}/.s.PGSQL.${port}`)
      else socket.connect(port, host)
    })
    lines.add(socket)
    socket.once("close", () => lines.delete(socket))
    // The package goes on as if the answer had been yes.
    if (address.tls)
      socket.once("data", ([answer]) => answer === HAS_TLS || refused.reject(withoutTls(address)))
    // For the name in the certificate.
    return Object.assign(socket, { host, port })
  }
  const options = {
    // Lists, because in a text the package takes what follows a colon for the port, even in `::1`.
    host: [host],
    port: [port],
    socket: line,
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
    onnotice: () => {},
  }
  const opened = (path: object) => {
    const connection = { application_name: "ctxbridge", ...path }
    return postgres({ ...options, connection } as unknown as postgres.Options<Record<string, never>>)
  }
  let sql = opened({ search_path: SEARCH_PATH })

  /** @param politely ms to tell the server */
  const end = async (politely: number): Promise<void> => {
    isCut ||= politely === 0
    await sql.end({ timeout: politely / 1000 }).catch(() => {})
    isCut = true
    for (const socket of lines) socket.destroy()
  }

  /** @param lookAgain whether what has taken longer than its time, ms, goes on */
  const answered = async <T>(
    work: () => Promise<T>,
    most: number,
    lookAgain: () => Promise<boolean> = async () => false,
  ): Promise<T> => {
    const patience = isOpen ? most : Math.min(most, FIRST)
    let timer: ReturnType<typeof setTimeout> | undefined
    let isOver = false
    const silence = new Promise<never>((_, reject) => {
      const look = async (): Promise<void> => {
        if (!(await lookAgain())) reject(silent(address, patience))
        else if (!isOver) timer = setTimeout(look, most)
      }
      timer = setTimeout(look, patience)
    })
    try {
      const result = await Promise.race([work(), silence, refused.promise])
      isOpen = true
      return result
    } catch (error) {
      const told = serverError(error, address)
      if (!["target-silent", "target-closed", "target-without-tls"].includes(told.code)) throw told
      // Or it would go on connecting.
      await end(0)
      throw isOpen || told.code === "target-without-tls"
        ? told
        : new CtxError(told.code, told.message, { hint: hintOf(address), cause: error })
    } finally {
      isOver = true
      clearTimeout(timer)
    }
  }

  const asking =
    (to: Pick<typeof sql, "unsafe">): Ask =>
    async (statement, parameters = []) =>
      (await to.unsafe(statement, [...parameters])) as unknown as Row[]

  let asked: Promise<boolean> | undefined
  /** Whether the connection has its search path. Poolers refuse it, or leave it out. */
  const hasPath = (): Promise<boolean> => {
    asked ??= sql
      .unsafe("SELECT pg_catalog.current_setting('search_path') AS path")
      .then(([row]) => row!["path"] === SEARCH_PATH)
      .catch(async (error) => {
        asked = undefined
        if (!/startup parameter/.test(messageOf(error))) throw error
        await sql.end({ timeout: 0 })
        sql = opened({})
        return hasPath()
      })
    return asked
  }
  const begun = async <T>(work: (ask: Ask) => Promise<T>): Promise<T> => {
    const isSafe = await hasPath()
    const safely = async (ask: Ask): Promise<T> =>
      isSafe ? work(ask) : (await Promise.all([ask(`SET LOCAL search_path = ${SEARCH_PATH}`), work(ask)]))[1]
    return (await sql.begin((inner) => safely(asking(inner)).catch(unlessClosed))) as T
  }
  const one: Ask = async (...call) =>
    (await hasPath()) || ALONE.test(call[0]) ? asking(sql)(...call) : begun((ask) => ask(...call))

  const within = (most: number): Server => ({
    ask: (...call) => answered(() => one(...call), most),
    async transaction(work, patience) {
      let pid: string | undefined
      const numbered = async (ask: Ask) => {
        if (patience !== undefined) pid = String((await ask("SELECT pg_backend_pid() AS pid"))[0]!["pid"])
        return work(ask)
      }
      const run = () => begun(numbered)
      if (patience === undefined) return answered(run, most)
      return answered(run, LOOKING * most, async () => pid !== undefined && isStillThere(address, pid, most))
    },
    within,
    close: () => end(1000),
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

/** Whether a server has the connection with this number. One that is too busy to say so has not lost it. */
async function isStillThere(address: ServerAddress, pid: string, deadline: number): Promise<boolean> {
  const other = connect(address, deadline)
  try {
    return (await other.ask("SELECT FROM pg_stat_activity WHERE pid = $1::text::integer", [pid])).length > 0
  } catch (error) {
    return isCtxError(error) && error.code === "target-busy"
  } finally {
    await other.close()
  }
}

const withoutTls = ({ shown }: ServerAddress): CtxError =>
  new CtxError("target-without-tls", `${shown}: the server offers no TLS`, {
    hint: "?sslmode=disable connects without, so that others on the way can read everything; nothing was sent",
  })

const silent = ({ shown }: ServerAddress, ms: number): CtxError =>
  new CtxError("target-silent", `${shown}: no answer within ${ms / 1000} s`, {
    hint: "run it again to go on",
  })

/** What may be wrong with a server that does not let anybody in, or lets everybody wait. */
const hintOf = ({ tls }: ServerAddress): string =>
  tls
    ? "is it PostgreSQL, and does it offer TLS? ?sslmode=disable connects without, so that others on the way can read everything"
    : "is it PostgreSQL, and does it let you in without TLS? ?sslmode=verify-full connects with TLS"

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

/** By the system's, the package's or the server's code (PostgreSQL, appendix A). Empty: the message is the server's. */
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
    "it needs CREATE on the database, or an administrator who runs ctxbridge server init, and grant",
  ],
  "25006": ["target-unwritable", "the server is read-only", "is it a standby? Name the primary"],
  "53100": ["target-full", "the server's disk is full", "make room there; then run it again"],
  "53200": ["target-full", "the server is out of memory", "try again later"],
  "53300": ["target-busy", "the server has too many connections", "try again later"],
  // Of postgres-sealing.
  CTX04: ["target-locked", "", "set CTXBRIDGE_SYNC_PASSPHRASE, or sync.passphrase-file, and run it again"],
  // Of postgres-limits.
  CTX01: [
    "target-quota",
    "",
    "ctxbridge server status says who has what; its administrator: ctxbridge server quota",
  ],
  CTX02: [
    "target-denied",
    "",
    "its administrator decides: ctxbridge server revoke ROLE --delete or --hand-over-to OTHER",
  ],
  // Of postgres-halfvec.
  "55P03": ["target-busy", "", "run it again when transactions that are open there have ended"],
  "42P10": ["target-closed", "the server's tables are others than before", "run it again to go on"],
  // Of postgres-migrations.
  CTX03: [
    "target-failed",
    "",
    "CREATE EXTENSION ruvector in that database, or leave out ?vectors=ruvector for pgvector or arrays",
  ],
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

/** Of servers and poolers that let nobody in without it: they differ in the code, and each says it somehow. */
const WANTS_TLS: Told = [
  "target-denied",
  "the server lets nobody in without TLS",
  "?sslmode=verify-full in the address, or PGSSLMODE, connects with TLS",
]

function serverError(error: unknown, { shown, tls }: ServerAddress): CtxError {
  if (isCtxError(error)) return error
  const code = codeOf(error)
  const untrusted = CERTIFICATE[code]
  if (untrusted !== undefined) {
    return new CtxError("target-untrusted", `${shown}: ${untrusted}`, {
      hint: "trust it with ?sslrootcert=FILE; nothing was sent",
      cause: error,
    })
  }
  const { severity } = error as { severity?: unknown }
  const isPlain = !tls && severity === "FATAL" && /no encryption|SSL|TLS/.test(messageOf(error))
  const known = isPlain
    ? WANTS_TLS
    : (TOLD[code] ?? (/^CONNECTION_|^ECONNRESET$|^EPIPE$/.test(code) ? CLOSED : undefined))
  const [name, message, hint] = known ?? ["target-failed", messageOf(error), undefined]
  const told = message === "" ? messageOf(error) : message
  return new CtxError(name, `${shown}: ${told}`, { ...(hint === undefined ? {} : { hint }), cause: error })
}
