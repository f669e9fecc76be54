/** `ctxbridge prune`: four ways to keep Claude Code's window lean. */
import { pruneOptions } from "../../pruners/way.ts"
import { PRUNE_WAYS, pickWay, pruneReport } from "../../pruners/ways.ts"
import { CtxError, EXIT, usageError } from "../../util/errors.ts"
import { words } from "../args.ts"
import { type Command, type Context, flag, option } from "../command.ts"
import { pruneNative, prunePatch, prunePlugin } from "../prune/set-ways.ts"
import { renderPruneReport, renderRecommendation } from "../render-prune.ts"
import { proxyFor, saidOf } from "../run-proxy.ts"
import { screenOf } from "../screen.ts"

const ACTIONS = {
  status: pruneStatus,
  recommend: pruneRecommend,
  native: pruneNative,
  plugin: prunePlugin,
  proxy: pruneProxy,
  patch: prunePatch,
}

const NAMES = Object.keys(ACTIONS)
const isAction = (name: string): name is keyof typeof ACTIONS => Object.hasOwn(ACTIONS, name)

export default {
  meta: { name: "prune", description: "Keep Claude Code's context window lean" },
  args: {
    action: {
      type: "positional",
      description: "What to show or do (default: status)",
      valueHint: NAMES.join("|"),
    },
    revert: flag("native, plugin, patch: undo it"),
    check: flag("patch: only check whether it is patched"),
    "dry-run": flag("native, plugin, patch: show what would be done; write nothing"),
    trigger: option("native: clear old output above this many tokens (default: 50000)", "N"),
    keep: option("native: latest tool outputs to keep (default: 10)", "N"),
    window: option("native: window that Claude Code assumes, in tokens, at least 100000", "N"),
    percent: option("native: share of the window at which Claude Code compacts", "N"),
    target: option("patch: the cli.js to patch, or its folder", "PATH"),
    port: option("proxy: the port to listen on (default: any free one)", "N"),
  },
  run(context) {
    const [action = "status", surplus] = words(context.args)
    if (surplus !== undefined) throw usageError(`unexpected argument: ${surplus}`, "ctxbridge prune --help")
    if (!isAction(action)) throw usageError(`unknown action: ${action}`, `one of ${NAMES.join(", ")}`)
    return ACTIONS[action](context)
  },
} satisfies Command

/* `ctxbridge prune proxy`: a proxy in the foreground, for any number of sessions. */

async function pruneProxy(context: Context): Promise<void> {
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

/* `ctxbridge prune recommend`: the safest way that works for what is installed, why, and the command. */

async function pruneRecommend({ env, out }: Context): Promise<number> {
  const report = await pruneReport(env, pruneOptions(env.config))
  const [first] = report.clients
  if (first === undefined)
    throw new CtxError("not-found", "Claude Code was not found: no `claude` on PATH or in the usual places", {
      exit: EXIT.notFound,
      hint: "if it is elsewhere, ctxbridge prune proxy still works",
    })
  const found = report.clients.map((client) => ({ client, picked: pickWay(client) }))
  for (const one of found) out.print(renderRecommendation(report, one.client, one.picked))
  out.json({
    isArchiving: report.isArchiving,
    clients: found.map(({ client: { ways: _, ...client }, picked }) => ({
      ...client,
      recommended: picked ?? null,
      command: PRUNE_WAYS.find(({ name }) => name === picked?.way)?.start ?? null,
    })),
  })
  return found[0]!.picked === undefined ? EXIT.failed : EXIT.ok
}

/* `ctxbridge prune status`: installed programs, what works for each, what is at work, what it would save and risk. */

async function pruneStatus({ env, out }: Context): Promise<void> {
  const report = await pruneReport(env, pruneOptions(env.config))
  out.print(renderPruneReport(report, screenOf(out)))
  const ways = PRUNE_WAYS.map(({ name, what, risk, start, stop }) => ({ name, what, risk, start, stop }))
  out.json({ ...report, ways })
}
