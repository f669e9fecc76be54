/** Where a PostgreSQL server is and how to reach it, from an address and from variables. Pure. */
import { usageError } from "../../base/errors.ts"

/** Values of the variables; a variable that is not set is undefined. */
export interface ServerVariables {
  readonly host: string | undefined
  readonly port: string | undefined
  readonly database: string | undefined
  readonly user: string | undefined
  readonly password: string | undefined
  /** disable, allow, prefer, require, verify-ca, verify-full. */
  readonly sslmode: string | undefined
  /** File with certificates to trust instead of the system's. */
  readonly sslrootcert: string | undefined
}

export interface ServerAddress {
  /** A name, an IP address, or the folder of a socket. */
  readonly host: string
  readonly port: number
  readonly database: string
  readonly user: string
  readonly password: string
  /** Whether the connection is encrypted. If so, the certificate is always checked. */
  readonly tls: boolean
  readonly sslrootcert: string | undefined
  /** Whether tables that are made there keep vectors with that extension. */
  readonly isRuvector: boolean
  /** For people, without the password. */
  readonly shown: string
}

const STANDARD_PORT = 5432
const NO_HOST = "none.invalid"
const MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]

export const isServerAddress = (target: string): boolean => /^postgres(?:ql)?:/i.test(target)

/**
 * @param target `postgres://user:password@host:port/database?sslmode=…&sslrootcert=…`; what is missing comes from the
 *   variables, so that `postgres:` alone will do
 */
export function serverAddress(target: string, variables: ServerVariables): ServerAddress {
  const url = parsed(target)
  const said = (name: string): string | undefined => url.searchParams.get(name) || undefined
  const unknown = [...url.searchParams.keys()].find(
    (name) => !["sslmode", "sslrootcert", "host", "vectors"].includes(name),
  )
  if (unknown !== undefined)
    throw usageError(
      `unknown part of the address: ${unknown}`,
      "sslmode, sslrootcert, host and vectors are known",
    )
  const user = decoded(url.username) || variables.user
  if (user === undefined)
    throw usageError(
      "the address has no user",
      "postgres://user@host/database, or set RUVECTOR_USER or PGUSER",
    )
  const named = url.hostname === NO_HOST ? "" : decoded(url.hostname).replace(/^\[|\]$/g, "")
  const host = said("host") ?? (named || (variables.host ?? "localhost"))
  const port = Number(url.port || (variables.port ?? STANDARD_PORT))
  if (!Number.isInteger(port) || port < 1 || port > 65535)
    throw usageError(`not a port: ${variables.port}`, "set RUVECTOR_PORT or PGPORT to 1 to 65535")
  const sslmode = said("sslmode") ?? variables.sslmode
  if (sslmode !== undefined && !MODES.includes(sslmode))
    throw usageError(`unknown sslmode: ${sslmode}`, `one of ${MODES.join(", ")}`)
  const vectors = said("vectors")
  if (vectors !== undefined && vectors !== "ruvector")
    throw usageError(`unknown vectors: ${vectors}`, "ruvector, or nothing: pgvector where it is there")
  const database = decoded(url.pathname.replace(/^\/+/, "")) || (variables.database ?? user)
  return {
    host,
    port,
    database,
    user,
    password: decoded(url.password) || (variables.password ?? ""),
    tls: wantsTls(host, sslmode),
    sslrootcert: said("sslrootcert") ?? variables.sslrootcert,
    isRuvector: vectors !== undefined,
    shown: `postgres://${user}@${host.includes(":") ? `[${host}]` : host}:${port}/${database}`,
  }
}

function parsed(target: string): URL {
  const rest = target
    .replace(/^[a-z]+:(?:\/\/)?/i, "")
    // A URL must name a host; ours need not.
    .replace(/^([^/?#]*@)?(?=[/?#:]|$)/, (user) => user + NO_HOST)
  try {
    return new URL(`postgres://${rest}`)
  } catch {
    // The address may hold a password, so it is not repeated.
    throw usageError("cannot read the server's address", "postgres://user@host:port/database")
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Within this computer nobody listens in. Elsewhere, only the user's own word switches encryption off. */
function wantsTls(host: string, sslmode: string | undefined): boolean {
  if (sslmode === "disable" || host.startsWith("/")) return false
  const isLocal = host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host)
  return !isLocal || (sslmode !== undefined && !["allow", "prefer"].includes(sslmode))
}
