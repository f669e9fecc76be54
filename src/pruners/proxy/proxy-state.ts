/** Whether Claude Code goes through a proxy of ours. */
import type { Installed, WayState } from "../way.ts"
import { isLoopback } from "./upstream.ts"

/** @param baseUrl ANTHROPIC_BASE_URL as Claude Code gets it */
export function proxyState(_installed: Installed, baseUrl: string | undefined): WayState {
  const url = baseUrl === undefined ? null : URL.parse(baseUrl)
  const isActive = url !== null && url.protocol === "http:" && isLoopback(url)
  return {
    way: "proxy",
    isActive,
    ...(isActive && { detail: `Requests go to ${url.origin}, which may be ctxbridge or another proxy.` }),
  }
}
