/** Whether Claude Code's requests go through a proxy on this machine. Pure. */
import type { HostValue } from "../../claude/settings/read-settings.ts"
import type { WayState } from "../way.ts"
import { isLoopback } from "./upstream.ts"

/** @param baseUrl every ANTHROPIC_BASE_URL that is set, the one that counts first */
export function proxyWay([first]: readonly HostValue[]): WayState {
  const url = first === undefined ? null : URL.parse(first.value)
  const isActive = url !== null && url.protocol === "http:" && isLoopback(url)
  return {
    way: "proxy",
    isActive,
    ...(isActive && { detail: `requests go to ${url.origin}: ctxbridge, or another proxy` }),
  }
}
