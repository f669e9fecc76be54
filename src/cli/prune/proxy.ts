/** `ctxbridge prune proxy`: a proxy in the foreground, for any number of sessions. */
import type { Context } from "../command.ts"
import { proxyFor, saidOf } from "../run-proxy.ts"

export async function pruneProxy(context: Context): Promise<void> {
  const { out } = context
  const proxy = proxyFor(context)
  out.event({ event: "listening", url: proxy.url, upstream: proxy.upstream })
  out.print([
    `Listening on ${proxy.url}, and sending on to ${proxy.upstream}.`,
    "Requests hold your key: they are not logged or kept, and only this computer can send any.",
    "",
    "In another terminal:",
    `  ANTHROPIC_BASE_URL=${proxy.url} claude`,
    "",
    "Ctrl-C ends it.",
  ])
  out.flush()
  await new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => resolve())
  })
  await proxy.stop()
  out.event({ event: "ended", ...proxy.counts })
  out.print(["", saidOf(proxy.counts)])
}
