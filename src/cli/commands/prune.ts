/** `ctxbridge prune`: four ways to keep Claude Code's window lean. */
import { version } from "../../../package.json"
import { CtxError, EXIT, isCtxError, usageError } from "../../base/errors.ts"
import { count, percent } from "../../base/text.ts"
import { type Installed, installedClients } from "../../claude/install/clients.ts"
import { oneAtATime } from "../../claude/install/footprint.ts"
import { hookStatus } from "../../claude/install/hook-status.ts"
import type { SettingsChange } from "../../claude/install/register.ts"
import { claudeEnvironment } from "../../claude/settings/read-settings.ts"
import { atLeast, PERCENT_FROM, WINDOW_FROM } from "../../claude/versions.ts"
import {
  applyPatch,
  checkPatch,
  installedTargets,
  namedTarget,
  type PatchChange,
  revertPatch,
} from "../../prune/patch/apply-patch.ts"
import type { PatchStatus } from "../../prune/patch/examine-program.ts"
import { pluginFolder, pluginWay, revertPlugin, setPlugin } from "../../prune/plugin/set-plugin.ts"
import { LEAST_TOKENS, type PlayedWays } from "../../prune/savings.ts"
import { DEFAULT_CLEARING } from "../../prune/sent-passages.ts"
import { type NativeWish, nativeWay, revertNative, setNative } from "../../prune/set-native.ts"
import { WAYS, type WayName, type WayState, wayOptions } from "../../prune/way.ts"
import {
  type ClientWays,
  isArchiving,
  PRUNE_WAYS,
  type PruneReport,
  pickWay,
  pruneReport,
  type Recommended,
} from "../../prune/ways.ts"
import { formatTokens } from "../../restore/window/zone.ts"
import { priceList, requestCost } from "../../views/prices.ts"
import { positive, stringArg, words } from "../args.ts"
import { renderPairs, renderTable, wholePath } from "../block.ts"
import { type Command, type Context, flag, option } from "../command.ts"
import { proxyFor, saidOf } from "../run-proxy.ts"
import { type Screen, screenOf, wrapped, wrappedIn } from "../screen.ts"
import { safe } from "../style.ts"

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

function playedReport(env: Context["env"]): Promise<PruneReport> {
  const prices = priceList(env.config["stats.prices"])
  return pruneReport(env, wayOptions(env.config), (model, tokens) => requestCost(prices, model, tokens))
}

/* `ctxbridge prune recommend`: the safest way that works here and would have paid, or none, why, and the command. */

async function pruneRecommend({ env, out }: Context): Promise<number> {
  const report = await playedReport(env)
  const [first] = report.clients
  if (first === undefined)
    throw new CtxError("not-found", "Claude Code was not found: no `claude` on PATH or in the usual places", {
      exit: EXIT.notFound,
      hint: "if it is elsewhere, ctxbridge prune proxy still works",
    })
  const { isArchiving, verdicts, settings } = report
  const found = report.clients.map((client) => ({ client, picked: pickWay(client, verdicts) }))
  out.print(renderPlayed(report, screenOf(out)))
  for (const one of found) out.print(renderRecommendation(report, one.client, one.picked))
  out.json({
    isArchiving,
    verdicts,
    settings,
    clients: found.map(({ client: { ways: _, ...client }, picked }) => ({
      ...client,
      recommended: picked ?? null,
      command: PRUNE_WAYS.find(({ name }) => name === picked?.way)?.start ?? null,
    })),
  })
  return first.ways.every(({ unsupported }) => unsupported !== undefined) ? EXIT.failed : EXIT.ok
}

/* `ctxbridge prune status`: installed programs, what works for each, what is at work, what it would save, cost and risk. */

async function pruneStatus({ env, out }: Context): Promise<void> {
  const report = await playedReport(env)
  out.print(renderPruneReport(report, screenOf(out)))
  const ways = PRUNE_WAYS.map(({ name, what, risk, start, stop }) => ({ name, what, risk, start, stop }))
  out.json({ ...report, ways })
}

/* `ctxbridge prune native`, `plugin` and `patch`: what keeps the window lean is set, and taken back. */

/** Claude Code ignores a smaller window. */
const LEAST_WINDOW = 100_000

async function pruneNative(context: Context): Promise<void> {
  const { args, env, out } = context
  const options = { ...env, dryRun: args["dry-run"] === true }
  if (args["revert"] === true) {
    const change = oneAtATime(env.home, () => revertNative(options))
    out.print(safe(revertedLine(change)))
    out.json({ ...change, notes: [] })
    return
  }
  const asked = wishOf(context)
  const [client, ...others] = await installedClients(env.home)
  const { wish, notes } = fitted(asked, client, context)
  if (wish.clearing !== undefined) notes.push(...others.flatMap((one) => warningOf(one, context)))
  // A file that cannot be read comes before what it does not have.
  setNative({ ...options, dryRun: true }, wish)
  if (!isArchiving(env))
    throw new CtxError(
      "not-archiving",
      "the hooks of ctxbridge are not registered, so cleared output would be lost",
      {
        hint: "ctxbridge install",
      },
    )
  const change = oneAtATime(env.home, () => setNative(options, wish))
  out.print([...setLines(change), ...notes].map(safe))
  out.json({ ...change, notes })
}

function wishOf({ args, env }: Context): NativeWish {
  const window = positive(args, "window")
  if (window !== undefined && window < LEAST_WINDOW)
    throw usageError(`--window must be at least ${LEAST_WINDOW}`, "Claude Code ignores a smaller one")
  const percent = positive(args, "percent")
  if (percent !== undefined && percent > 100) throw usageError("--percent must be at most 100")
  const clearing = {
    trigger: positive(args, "trigger") ?? DEFAULT_CLEARING.trigger,
    keep: positive(args, "keep") ?? DEFAULT_CLEARING.keep,
    atLeast: Math.max(1, env.config["prune.threshold"]),
  }
  return { clearing, window, percent }
}

/** What of a wish the program that is called by name can do, and what there is to say of the rest. */
function fitted(wish: NativeWish, client: Installed | undefined, { env }: Context) {
  if (client === undefined)
    return { wish, notes: ["Claude Code was not found; clearing old output needs 2.1.112 or newer."] }
  const { unsupported } = nativeWay(client, claudeEnvironment(env))
  const notes: string[] = []
  const tooOld = (name: string, from: readonly [number, number, number]): void => {
    if (!atLeast(client.version, from))
      notes.push(`--${name}: versions before ${from.join(".")} may ignore it.`)
  }
  if (wish.window !== undefined) tooOld("window", WINDOW_FROM)
  if (wish.percent !== undefined) tooOld("percent", PERCENT_FROM)
  if (unsupported === undefined) return { wish, notes }
  if (wish.window === undefined && wish.percent === undefined)
    throw new CtxError("unsupported", `old tool output cannot be cleared: ${unsupported}`, {
      hint: "ctxbridge prune recommend says what works here",
    })
  return {
    wish: { ...wish, clearing: undefined },
    notes: [...notes, `Old tool output is not cleared: ${unsupported}.`],
  }
}

/** Of a program that reads the same settings. */
function warningOf(client: Installed, { env }: Context): string[] {
  const { unsupported } = nativeWay(client, claudeEnvironment(env))
  return unsupported === undefined
    ? []
    : [`Requests from ${wholePath(client.path)} may be refused: ${unsupported}.`]
}

function setLines({ file, changed, dryRun, added, replaced, backup }: SettingsChange): string[] {
  if (!changed) return [`Nothing to do: already set in ${wholePath(file)}`]
  const names = [
    ...added.map((name) => `  new       ${name}`),
    ...replaced.map((name) => `  replaced  ${name}`),
  ]
  if (dryRun) return [`Would set in ${wholePath(file)}:`, ...names]
  return [
    `Set in ${wholePath(file)}:`,
    ...names,
    ...(backup === undefined ? [] : [`  backup    ${wholePath(backup)}`]),
    "Takes effect in new sessions. Undo with `ctxbridge prune native --revert`.",
  ]
}

function revertedLine({ action, dryRun, file, removed }: SettingsChange): string {
  if (action === "none") return `Nothing to remove from ${wholePath(file)}`
  const names = removed.join(", ")
  if (dryRun) return `Would remove from ${wholePath(file)}: ${names}`
  if (action === "restored") return `Restored, byte for byte as before: ${wholePath(file)}`
  if (action === "deleted") return `Deleted, since it did not exist before: ${wholePath(file)}`
  return `Removed from ${wholePath(file)}: ${names}`
}

/* `ctxbridge prune plugin`: a plugin that answers Claude Code's compactions, and back. */

async function prunePlugin({ args, env, out }: Context): Promise<void> {
  const options = { ...env, dryRun: args["dry-run"] === true }
  const folder = pluginFolder(env)
  if (args["revert"] === true) {
    const change = oneAtATime(env.home, () => revertPlugin(options))
    const isNone = change.action === "none"
    const verb = options.dryRun ? "Would remove" : "Removed"
    out.print(
      safe(
        isNone
          ? `Nothing to remove from ${wholePath(change.file)}`
          : `${verb} the plugin from ${wholePath(change.file)}`,
      ),
    )
    out.json({ ...change, folder })
    return
  }
  const [client] = await installedClients(env.home)
  const unsupported = client && pluginWay(client, env).unsupported
  if (unsupported !== undefined)
    throw new CtxError("unsupported", `a plugin cannot answer compactions: ${unsupported}`, {
      hint: "ctxbridge prune recommend says what works here",
    })
  const change = oneAtATime(env.home, () => setPlugin(options, env.exePath, version))
  const file = wholePath(change.file)
  out.json({ ...change, folder })
  if (options.dryRun) {
    out.print(
      safe(change.changed ? `Would write ${folder} and register it in ${file}` : `Would update ${folder}`),
    )
    return
  }
  out.print(
    [
      change.changed ? `Wrote ${folder} and registered it in ${file}` : `Updated ${folder}`,
      "Takes effect in new sessions. Undo with `ctxbridge prune plugin --revert`.",
    ].map(safe),
  )
}

/* `ctxbridge prune patch`: Claude Code's own program is changed so that it prunes, and back. */

/** What was done to one program, or why nothing was. */
type Outcome =
  | { readonly file: string; readonly status: PatchStatus }
  | (PatchChange & { readonly action: "patch" | "revert" })
  | { readonly file: string; readonly refused: string; readonly hint: string | undefined }

async function prunePatch({ args, env, out }: Context): Promise<number> {
  const dryRun = args["dry-run"] === true
  const isCheck = args["check"] === true
  const isRevert = args["revert"] === true
  if (isCheck && isRevert) throw usageError("--check and --revert cannot be used together")
  const act = (file: string): Outcome => {
    if (isCheck) return { file, status: checkPatch(file) }
    if (isRevert) return { ...revertPatch(file, { dryRun }), action: "revert" }
    return { ...applyPatch(file, { binary: env.exePath, dryRun }), action: "patch" }
  }

  const named = stringArg(args, "target")
  const files = named === undefined ? installedTargets(env.home, env.cwd) : [namedTarget(named, env.cwd)]
  if (files.length === 0)
    throw new CtxError("no-client", "Claude Code was not found", {
      hint: "ctxbridge prune patch --target PATH names its cli.js",
      exit: EXIT.notFound,
    })
  const outcomes = files.length === 1 ? [act(files[0]!)] : files.map((file) => attempted(file, act))

  const changed = outcomes.some((one) => "action" in one && one.action === "patch" && one.changed)
  const notes = changed && !dryRun ? notesFor(env) : []
  for (const one of outcomes) out.print(linesOf(one, dryRun).map(safe))
  out.print(notes)
  out.json({ dryRun, programs: outcomes, notes })
  const isDone = (one: Outcome): boolean => ("status" in one ? one.status === "patched" : !("refused" in one))
  return outcomes.every(isDone) ? EXIT.ok : EXIT.failed
}

/** One that cannot be changed does not keep the others from it. */
function attempted(file: string, act: (file: string) => Outcome): Outcome {
  try {
    return act(file)
  } catch (error) {
    if (!isCtxError(error)) throw error
    return { file, refused: error.message, hint: error.hint }
  }
}

function linesOf(one: Outcome, dryRun: boolean): string[] {
  const path = wholePath(one.file)
  if ("status" in one) return [`${one.status}  ${path}`]
  if ("refused" in one) return [one.refused, ...(one.hint === undefined ? [] : [`  hint: ${one.hint}`])]
  const of = one.version === undefined ? "" : ` (Claude Code ${one.version})`
  if (one.action === "revert") {
    if (!one.changed) return [`Nothing to revert: ${path}`]
    return [dryRun ? `Would restore ${path}` : `Restored, byte for byte as before: ${path}${of}`]
  }
  if (!one.changed) return [`Nothing to do: ${path} is patched${of}`]
  if (dryRun) return [`Would insert into ${path}, provided the result runs:`, ...(one.diff ?? [])]
  return [`Patched ${path}${of}`, `  backup    ${path}.backup`]
}

function notesFor(env: Context["env"]): string[] {
  const isArchiving = hookStatus(env, env.exePath).some(({ installed }) => installed.length > 0)
  return [
    "Takes effect in new sessions. Undo with `ctxbridge prune patch --revert`; CLAUDE_TEXT_PRUNE_DISABLE=1 switches it off for one session.",
    "Claude Code's licence may not allow such changes, and every update undoes them.",
    ...(isArchiving
      ? []
      : [
          "The hooks of ctxbridge are not registered, so nothing is pruned until you run `ctxbridge install`.",
        ]),
  ]
}

/* Ways of pruning, for people. Pure. */

const NOT_ARCHIVING =
  "The hooks of ctxbridge are not registered: nothing is archived, so nothing should be pruned. Run `ctxbridge install` first."

const NO_CLIENT = "Claude Code was not found: no `claude` on PATH or in the usual places."

export function renderPruneReport(report: PruneReport, screen: Screen): string[] {
  const { clients, isArchiving } = report
  const { style, columns } = screen
  return [
    ...(clients.length === 0 ? [...wrapped(NO_CLIENT, columns), ""] : []),
    ...clients.flatMap((client) => [
      style.bold(nameOf(client)),
      ...renderPairs(
        client.ways.map((state) => [state.way, stateOf(state)]),
        style,
      ).map((line) => `  ${line}`),
      "",
    ]),
    ...renderPlayed(report, screen),
    ...conclusion(report).flatMap((text) => wrapped(text, columns)),
    "",
    "What each does:",
    ...PRUNE_WAYS.flatMap(({ name, what, risk }) => [
      ...wrappedIn(INDENT, what, columns).map((line, n) =>
        n === 0 ? `  ${name.padEnd(WIDTH)}  ${line.trimStart()}` : line,
      ),
      ...wrappedIn(INDENT, `risk: ${risk}`, columns).map(style.dim),
    ]),
    "",
    ...wrapped(
      isArchiving ? "`ctxbridge prune recommend` says what to do here, and why." : NOT_ARCHIVING,
      columns,
    ),
  ]
}

const WIDTH = Math.max(...WAYS.map(({ length }) => length))
const INDENT = " ".repeat(WIDTH + 4)

const nameOf = ({ version, kind, path }: ClientWays): string =>
  `Claude Code ${safe(version ?? "of an unknown version")} (${kind}), ${wholePath(path)}`

function stateOf({ unsupported, isActive, detail, problem }: WayState): string {
  const state = isActive ? "on" : unsupported === undefined ? "off" : "not here"
  const told = [detail, problem, unsupported].filter((text) => text !== undefined)
  return safe(told.length === 0 ? state : `${state}: ${told.join("; ")}`)
}

/** What the sessions would have cost, in each way. */
function renderPlayed({ sessions, verdicts }: PruneReport, { columns, style }: Screen): string[] {
  if (sessions.length === 0)
    return [`No session of at least ${formatTokens(LEAST_TOKENS)} tokens is archived yet.`, ""]
  const right = (title: string) => ({ title, align: "right" as const })
  const head = [
    { ...right("tokens sent"), optional: true },
    right("cost"),
    { ...right("of it rewritten"), optional: true },
    right("median"),
    right("dearest"),
  ]
  const none = totalOf(sessions, ({ none }) => none)
  const rows = [
    ["none", formatTokens(none.sent), dollars(none.dollars), "", "", ""],
    ...verdicts.flatMap(({ way }) =>
      sessions[0]!.ways[way].map((_, n, all) => {
        const total = totalOf(sessions, ({ ways }) => ways[way][n]!)
        const shares = total.shares.toSorted((a, b) => a - b)
        return [
          all.length === 1 ? way : `${way}, ${n === 0 ? "best" : "worst"}`,
          formatTokens(total.sent),
          dollars(total.dollars),
          dollars(total.broken),
          percent(medianOf(shares)),
          percent(shares.at(-1)!),
        ]
      }),
    ),
  ]
  return [
    ...wrapped(
      `Your latest ${count(sessions.length, "session")} of at least ${formatTokens(LEAST_TOKENS)} tokens, as each way would have sent them:`,
      columns,
    ),
    ...renderTable([{ title: "way", flexible: true }, ...head], rows, columns, style),
    ...wrapped(
      "List prices. Rewritten: what a way made the API's prompt cache lose. Median, dearest: of doing nothing.",
      columns,
    ).map(style.dim),
    "",
  ]
}

/** Of the sessions whose models have a price. */
function totalOf(sessions: readonly PlayedWays[], pick: (session: PlayedWays) => PlayedWays["none"]) {
  const all = sessions.map(pick)
  const sum = (of: (one: PlayedWays["none"]) => number | undefined): number | undefined => {
    const known = all.map(of).filter((one) => one !== undefined)
    return known.length === 0 ? undefined : known.reduce((total, one) => total + one, 0)
  }
  return {
    sent: sum(({ sent }) => sent)!,
    dollars: sum((one) => one.dollars),
    broken: sum(({ broken }) => broken),
    shares: all.map(({ relative }) => relative),
  }
}

const dollars = (amount: number | undefined): string => (amount === undefined ? "?" : `$${amount.toFixed(2)}`)

/** What follows for nobody's program in particular. */
function conclusion({ sessions, verdicts, settings }: PruneReport): string[] {
  if (sessions.length === 0) return ["Whether any way would pay cannot be told, so do nothing."]
  const paying = verdicts.filter(({ pays }) => pays).map(({ way }) => way)
  if (paying.length > 0) return [`Would have paid: ${paying.join(", ")}.`]
  return [
    "Doing nothing is best: no way made the median session cheaper and none dearer.",
    ...changes(verdicts, settings),
  ]
}

/** What would change it. */
function changes(verdicts: PruneReport["verdicts"], settings: PruneReport["settings"]): string[] {
  const told = [
    ...verdicts.flatMap(({ way, from }) =>
      from === undefined ? [] : [`${way} made each session of ${formatTokens(from)} tokens and more cheaper`],
    ),
    ...settings.flatMap(({ setting, pays, median }) =>
      pays
        ? [
            `with \`ctxbridge config set ${setting}\`, proxy would have paid (${percent(median)} in the median)`,
          ]
        : [],
    ),
  ]
  return [
    `What would change that: ${told.length === 0 ? "longer sessions with longer pauses; no setting that was tried would have paid" : told.join("; ")}.`,
  ]
}

export function renderRecommendation(
  { isArchiving, sessions, verdicts, settings }: PruneReport,
  client: ClientWays,
  picked: Recommended | undefined,
): string[] {
  const lines = [`${nameOf(client)}:`]
  const works = client.ways.filter(({ unsupported }) => unsupported === undefined).map(({ way }) => way)
  if (works.length === 0)
    return [...lines, ...client.ways.map(passedOver).map(indented), indented("None of them works.")]
  const here = verdicts.filter(({ way }) => works.includes(way))
  const costly = client.ways.filter(({ way, isActive }) => isActive && way !== picked?.way)
  const off = costly.map(
    ({ way }) => `${way} is on. ${undone(PRUNE_WAYS.find(({ name }) => name === way)!)}.`,
  )
  if (picked === undefined) {
    const proxied = works.includes("proxy") ? settings : []
    const said =
      sessions.length === 0
        ? conclusion({ isArchiving, clients: [], sessions, verdicts, settings })
        : [
            "Do nothing: no way that works here made the median session cheaper and none dearer.",
            ...here.map(
              ({ way, cheaper, dearer, worst }) =>
                `${way}: ${cheaper} cheaper, ${dearer} dearer, ${percent(worst)} at most.`,
            ),
            ...changes(here, proxied),
          ]
    return [...lines, ...[...said, ...off].map(indented)]
  }
  const way = PRUNE_WAYS.find(({ name }) => name === picked.way)!
  const { cheaper, median, worst } = verdicts.find((one) => one.way === picked.way)!
  lines.push(
    indented(`${picked.way}: ${way.what}.`),
    indented(
      `${cheaper} of ${count(sessions.length, "session")} would have been cheaper: ${percent(median)} in the median, ${percent(worst)} at most.`,
    ),
    indented(`Not counted: what Claude would have looked up again. ${lookups(sessions, picked.way)}`),
    ...picked.passed.map(({ way: name, why }) => indented(passed(name, why))),
    ...off.map(indented),
    indented(`Risk: ${way.risk}.`),
  )
  if (picked.isActive) return [...lines, indented(`It is on. ${undone(way)}.`)]
  if (!isArchiving) lines.push(indented(NOT_ARCHIVING))
  return [...lines, indented(`Start it with \`${way.start}\`. ${undone(way)}.`)]
}

const undone = ({ name, stop }: (typeof PRUNE_WAYS)[number]): string =>
  name === "proxy" ? `To undo it, ${stop}` : `Undo it with \`${stop}\``

/** Each is one more request. */
function lookups(sessions: readonly PlayedWays[], way: WayName): string {
  const share = sessions.map(({ none, ways }) => {
    const relative = Math.max(...ways[way].map((one) => one.relative))
    return ((1 - relative) / relative) * none.requests
  })
  return `The saving is worth ${count(Math.floor(medianOf(share.toSorted((a, b) => a - b))), "request")} in the median session.`
}

const medianOf = (sorted: readonly number[]): number =>
  (sorted[Math.floor((sorted.length - 1) / 2)]! + sorted[Math.ceil((sorted.length - 1) / 2)]!) / 2

const indented = (text: string): string => `  ${safe(text)}`

const passed = (way: WayName, why: string): string => `Not ${way}, which would be safer: ${why}.`

const passedOver = ({ way, unsupported = "" }: WayState): string => `${way}: ${unsupported}`
