/** What went wrong with a PostgreSQL server, in words that say what to do. Pure. */
import { CtxError, codeOf, isCtxError, messageOf } from "../util/errors.ts"

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
export function serverError(error: unknown, shown: string): CtxError {
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
