/**
 * Connects to PostgreSQL: the only importer of `postgres`. Every call has a deadline of ours, since a server (or a
 * pooler without one) that closes each connection makes the package connect again without end, and the query never
 * settles.
 */
import { readFileSync } from "node:fs"
import postgres from "postgres"
import { CtxError, codeOf, messageOf } from "../util/errors.ts"
import type { ServerAddress } from "./postgres-address.ts"
import { serverError } from "./postgres-errors.ts"

type Row = Readonly<Record<string, unknown>>
/** Every parameter is text: a statement casts it to what it wants, as in `$1::text::jsonb`. */
export type Ask = (statement: string, parameters?: readonly string[]) => Promise<readonly Row[]>

export interface Server {
  readonly ask: Ask
  /** Runs all or nothing. Only what is neither harmful to wait for nor short may take as long as it takes. */
  transaction<T>(work: (ask: Ask) => Promise<T>, patience?: "as long as it takes"): Promise<T>
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

  const answered = async <T>(work: () => Promise<T>, isLong = false): Promise<T> => {
    const patience = isOpen ? deadline : Math.min(deadline, FIRST)
    let timer: ReturnType<typeof setTimeout> | undefined
    const silence = new Promise<never>((_, reject) => {
      const late = (): void => reject(silent(address, patience))
      if (!isLong) timer = setTimeout(late, patience)
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

  return {
    ask: (...call) => answered(() => asking(sql)(...call)),
    transaction: (work, patience) =>
      answered(
        async () =>
          (await sql.begin((inner) => work(asking(inner)).catch(unlessClosed))) as Awaited<
            ReturnType<typeof work>
          >,
        patience !== undefined,
      ),
    close: async () => {
      await sql.end({ timeout: 1 }).catch(() => {})
    },
  }
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
