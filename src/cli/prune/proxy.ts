/** `ctxbridge prune proxy`: a proxy in the foreground, for any number of sessions. */
import type { Context } from "../command.ts"
import { proxyFor, saidOf } from "../run-proxy.ts"

export async function pruneProxy(context: Context): Promise<void> {
  const { out } = context
  const proxy = proxyFor(context)
  out.event({ event: "listening", url: proxy.url, upstream: proxy.upstream })
  out.print([
    `Listening on ${proxy.url}, forwarding to ${proxy.upstream}.`,
    "Requests carry your API key: they are not logged or stored, and only this machine can connect.",
    "",
    "In another terminal:",
    `  ANTHROPIC_BASE_URL=${proxy.url} claude`,
    "",
    "Press Ctrl-C to stop.",
  ])
  out.flush()
  await new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => resolve())
  })
  await proxy.stop()
  out.event({ event: "ended", ...proxy.counts })
  out.print(["", saidOf(proxy.counts)])
}
