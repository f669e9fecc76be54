/** Whose requests the proxy takes, and where it sends them. Pure. */
import { usageError } from "../../util/errors.ts"

export const ANTHROPIC = "https://api.anthropic.com"

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/**
 * @param named a base URL that was set for Claude Code; undefined: Anthropic's own
 * @returns without a slash at the end
 * @throws CtxError exit 64 if it is no URL, or one over which a key would be sent in the clear
 */
export function upstreamOf(named: string | undefined): string {
  if (named === undefined || named === "") return ANTHROPIC
  const url = URL.parse(named)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw usageError(
      `not a URL to send requests to: ${upstreamShown(named)}`,
      "ANTHROPIC_BASE_URL, such as https://api.anthropic.com",
    )
  if (url.protocol === "http:" && !isLoopback(url))
    throw usageError(
      `${url.origin} is not encrypted, and requests hold your key`,
      "an ANTHROPIC_BASE_URL that begins with https://",
    )
  return url.href.replace(/\/+$/, "")
}

/** An address for people and logs: without user and password, and without what may be a key behind its path. */
export function upstreamShown(address: string): string {
  const url = URL.parse(address)
  if (url !== null && /^https?:$/.test(url.protocol) && !url.pathname.includes("@"))
    return url.origin + url.pathname.replace(/\/+$/, "")
  // An unescaped slash in a password makes what follows it a path.
  return address.replace(/[?#].*$/s, "").replace(/^([a-z][a-z\d+.-]*:\/*)?.*@/is, "$1…@")
}

/** Why a request is not sent on. */
export interface Refusal {
  readonly status: number
  readonly message: string
}

/**
 * The user's credentials go with every request, so only programs on this machine that mean the proxy may send any. A page
 * in a browser is none, under whatever name it has found us: it says where it comes from, or names another host than ours.
 */
export function requestRefusal({ method, url, headers }: Request, port: number): Refusal | undefined {
  const there = URL.parse(url)
  if (method === "CONNECT" || method === "TRACE")
    return { status: 405, message: `${method} is not passed on` }
  if (there?.protocol !== "http:" || there.username !== "" || there.password !== "")
    return { status: 400, message: "the request names no path of the API" }
  if (!isOurName(headers.get("host"), port) || !isOurName(there.host, port))
    return { status: 421, message: `requests are taken for 127.0.0.1:${port} and localhost:${port} only` }
  if (headers.has("origin") || headers.has("sec-fetch-site"))
    return { status: 403, message: "requests of pages in a browser are not passed on" }
  return undefined
}

function isOurName(host: string | null, port: number): boolean {
  const [, name, at = "80"] = /^(localhost|127\.0\.0\.1|\[::1\])(?::(\d{1,5}))?$/i.exec(host ?? "") ?? []
  return name !== undefined && Number(at) === port
}

export const isLoopback = ({ hostname }: URL): boolean => LOOPBACK.test(hostname)
