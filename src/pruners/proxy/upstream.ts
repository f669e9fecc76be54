/** Where the proxy sends requests to. Pure. */
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
      `not a URL to send requests to: ${named}`,
      "ANTHROPIC_BASE_URL, such as https://api.anthropic.com",
    )
  if (url.protocol === "http:" && !isLoopback(url))
    throw usageError(
      `${url.origin} is not encrypted, and requests hold your key`,
      "an ANTHROPIC_BASE_URL that begins with https://",
    )
  return url.href.replace(/\/+$/, "")
}

export const isLoopback = ({ hostname }: URL): boolean => LOOPBACK.test(hostname)
