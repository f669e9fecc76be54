/** `ctxbridge bench`: what ctxbridge costs on this machine, what it survives, what it gives back, and what pruning saves. */

import { existsSync, statSync } from "node:fs"
import { CtxError, EXIT, usageError } from "../../base/errors.ts"
import { resolve } from "../../base/path.ts"
import { untilHeard } from "../../base/temporary.ts"
import { count, markdownTable } from "../../base/text.ts"
import { childEnvironment } from "../../config/load.ts"
import { type PlayedSession, playedSession } from "../../prune/costs.ts"
import { sentPassages } from "../../prune/sent-passages.ts"
import { proxyOptions, pruneOptions } from "../../prune/way.ts"
import { FACT_KINDS } from "../../record/facts.ts"
import { vaultFile } from "../../vault/layout.ts"
import { openCurrent } from "../../views/open-current.ts"
import { largestRequests } from "../../views/queries/token-use.ts"
import { linesFrom } from "../../views/records.ts"
import { positive, stringArg, unknownWord } from "../args.ts"
import { benchHooks, FULL_PLAN, QUICK_PLAN } from "../bench/bench-hooks.ts"
import { renderReport } from "../bench/hook-tables.ts"
import { pruneBenchReport, renderPruneBench, simulatedSession } from "../bench/prune/prune-bench.ts"
import { mean, meanShares, type Shares } from "../bench/survive/needed-facts.ts"
import {
  type CompactionResult,
  inFolder,
  inVault,
  METHODS,
  type Method,
  type SurviveOptions,
  survive,
} from "../bench/survive/replay.ts"
import { enclosure } from "../bench/torture/case-disk.ts"
import { CASES, FULL_SCALE, QUICK_SCALE, torture } from "../bench/torture/run-cases.ts"
import { type CaseResult, faultsOf, type TortureReport } from "../bench/torture/torture-report.ts"
import { renderTable } from "../block.ts"
import { type Command, type Context, flag, naming, option } from "../command.ts"
import { createStyle, type Style, safe } from "../style.ts"

const SUITES = ["hooks", "torture", "survive", "prune"]

export default {
  meta: {
    name: "bench",
    description: "Measure what hooks cost and what compactions lose",
  },
  args: {
    suite: {
      type: "positional",
      required: true,
      valueHint: "hooks|torture|survive|prune",
      description:
        "hooks: CPU, time and memory of hook calls against `node -e 0` and an empty Bun binary; " +
        "torture: kills, full disks, damaged files, and what was lost; " +
        "survive: what was needed again after each of your compactions, and how much of it a restore brings back; " +
        "prune: what each way of pruning would have cost, over a simulated session and your own largest",
    },
    data: option("survive: these transcripts, not the vault's", "DIR"),
    quick: flag(
      "hooks: 1 and 15 MB, an empty archive; torture: fewer runs; prune: one of your sessions. Under a minute",
    ),
    rounds: option("hooks: measured calls per case", "N"),
    seed: option("torture: choose other moments (1)", "N"),
    only: option("torture: only cases with this in their name", "CASE"),
    enclosed: flag("torture: mount file systems here, not in a namespace of their own"),
    session: naming("session", "survive: this session's compactions only", "ID"),
    budget: option("survive: characters of a restore (restore.budget)", "N"),
    window: option("survive: steps of the model to look at (30)", "N"),
  },
  async run(context) {
    const { args, out, env } = context
    const { suite } = args
    if (suite === "survive") return benchSurvive(context)
    if (suite === "prune") return benchPrune(context)
    if (suite !== "hooks" && suite !== "torture") {
      throw unknownWord("suite", String(suite), SUITES)
    }
    if (!Bun.isStandaloneExecutable) {
      throw new CtxError("not-compiled", "only the compiled binary can be measured", {
        hint: "npm run build",
      })
    }
    if (suite === "torture") {
      if (process.platform === "win32")
        throw new CtxError("wrong-system", "bench torture does not run on Windows", {
          hint: "it kills processes with signals and fills file systems: run it on Linux, macOS or in WSL 2",
        })
      return benchTorture(context)
    }
    const plan = args["quick"] === true ? QUICK_PLAN : FULL_PLAN
    const environment = childEnvironment()
    const report = await benchHooks({
      ...plan,
      rounds: positive(args, "rounds") ?? plan.rounds,
      exe: env.exePath,
      environment,
      onProgress: out.progress,
    })
    out.print(renderReport(report))
    out.json(report)
    return report.verdicts.every(({ met }) => met) ? EXIT.ok : EXIT.failed
  },
} satisfies Command

/* `ctxbridge bench prune`, `survive` and `torture`: what they print. */

const SEED = 1
const TURNS = 150

/** How many of the user's sessions are played, the largest first. */
const SESSIONS = 5

async function benchPrune({ args, env, out }: Context): Promise<number> {
  const played = [simulatedSession(SEED, TURNS)]
  const own = existsSync(env.dataHome) ? ownSessions(env.dataHome, args["quick"] === true ? 1 : SESSIONS) : []
  for (const session of own) {
    played.push(session)
    await untilHeard()
  }
  const report = pruneBenchReport(played, pruneOptions(env.config), proxyOptions(env.config))
  out.print(renderPruneBench(report).map(safe))
  out.json(report)
  return EXIT.ok
}

function* ownSessions(dataHome: string, most: number): Generator<PlayedSession> {
  using db = openCurrent(dataHome, "command")
  for (const { title, copy } of largestRequests(db, "largest", most)) {
    const lines = [...linesFrom(vaultFile(dataHome, copy))].map(({ line }) => line)
    const passages = sentPassages(lines)
    if (passages.length > 0) yield playedSession(title, passages)
  }
}

/* `ctxbridge bench survive`: what a compaction lost that was needed later, and what the restore gives back. */

/** Number of the model's steps after a compaction. Whatever they use again counts as needed. */
const WINDOW = 30

async function benchSurvive({ args, env, out }: Context): Promise<number> {
  const options = {
    budget: positive(args, "budget") ?? env.config["restore.budget"],
    window: positive(args, "window") ?? WINDOW,
  }
  const folder = stringArg(args, "data")
  const wanted = stringArg(args, "session")
  if (folder !== undefined && !statSync(resolve(env.cwd, folder), { throwIfNoEntry: false })?.isDirectory()) {
    throw usageError(`no such folder: ${folder}`)
  }
  const all = folder === undefined ? inVault(env.dataHome) : inFolder(resolve(env.cwd, folder))
  const sources = all.filter(({ session }) => wanted === undefined || session.startsWith(wanted))
  const found: CompactionResult[] = []
  const known = new Set<string>()
  for (const [n, source] of sources.entries()) {
    out.progress("transcripts", n, sources.length)
    for (const one of survive(source, options, known)) {
      found.push(one)
      await untilHeard()
    }
  }
  out.progress("transcripts", sources.length, sources.length)
  if (found.length === 0) {
    throw new CtxError("no-compactions", "no compaction after which the model went on", {
      hint: "--data DIR looks at transcripts in a folder; ctxbridge import archives Claude Code's",
      exit: EXIT.notFound,
    })
  }
  const report = reportOf(found, options)
  for (const line of renderSurvive(report)) out.print(safe(line))
  out.json(report)
  return EXIT.ok
}

/* `ctxbridge bench torture`: breaks things around the binary and counts what is lost. */

async function benchTorture({ args, out, env }: Context): Promise<number> {
  const seed = positive(args, "seed") ?? 1
  const only = stringArg(args, "only")
  const cases = CASES.filter(({ name }) => only === undefined || name.includes(only))
  if (cases.length === 0) {
    throw usageError(`no such case: ${only}`, `there are: ${CASES.map(({ name }) => name).join(", ")}`)
  }
  const around = args["enclosed"] === true ? undefined : enclosure()
  if (around !== undefined) return again(around, env.exePath)
  const scale = args["quick"] === true ? QUICK_SCALE : FULL_SCALE
  const report = await torture({ exe: env.exePath, seed, scale, cases, onProgress: out.progress })
  out.print(render(report, out.columns, createStyle(out.color)))
  out.json(report)
  return report.ok ? EXIT.ok : EXIT.failed
}

/** Runs the same command where file systems can be mounted. */
async function again(around: readonly string[], exe: string): Promise<number> {
  const child = Bun.spawn([...around, exe, ...process.argv.slice(2), "--enclosed"], {
    stdio: ["inherit", "inherit", "inherit"],
    env: childEnvironment(),
  })
  return await child.exited
}

const FIGURES = ["runs", "killed", "turns", "lost", "twice", "false", "bad exits", "seconds"]

function render({ cases, ok, seed }: TortureReport, columns: number, style: Style): string[] {
  const head = [{ title: "case" }, ...FIGURES.map((title) => ({ title, align: "right" as const }))]
  return [
    ...renderTable(head, cases.map(cells), columns, style),
    ...cases.flatMap(({ name, skipped }) => (skipped === null ? [] : [`skipped: ${name}: ${skipped}`])),
    ...cases.flatMap(({ name, problems }) => problems.map((problem) => `${name}: ${problem}`)),
    "",
    ok
      ? "Nothing lost, nothing duplicated, nothing wrong."
      : `Something was lost, duplicated or wrong (--seed ${seed}).`,
  ]
}

function cells(one: CaseResult): string[] {
  if (one.skipped !== null) return [one.name, "skipped", ...FIGURES.slice(1).map(() => "")]
  const lost = one.lostLines + one.lostTurns
  const counted = [one.runs, one.killed, one.turns, lost, one.duplicates, one.falseMessages, one.badExits]
  const state = faultsOf(one) === 0 ? "ok" : "FAILED"
  return [`${state} ${one.name}`, ...counted.map(String), (one.ms / 1000).toFixed(1)]
}

/* What `bench survive` found over all compactions, and as tables for people. */

type Mean = ReturnType<typeof meanShares>

interface SurviveReport extends SurviveOptions {
  readonly suite: "survive"
  readonly compactions: readonly CompactionResult[]
  /** Share of what was needed that is in what Claude Code kept: its summary, and messages. */
  readonly summary: Mean
  readonly methods: Readonly<Record<Method, { together: Mean; given: Mean; characters: number | undefined }>>
  /** Share of what was needed that is in the plugin's context, which comes in place of the summary. */
  readonly plugin: { readonly held: Mean; readonly characters: number | undefined }
  /** Mean number of tool calls until the first change of a file, where there was one. */
  readonly untilEdit: number | undefined
  readonly fewestTurnLines: number
  readonly overBudget: number
}

function reportOf(compactions: readonly CompactionResult[], options: SurviveOptions): SurviveReport {
  const of = (method: Method) => ({
    together: meanShares(compactions.map(({ methods }) => methods[method].together)),
    given: meanShares(compactions.map(({ methods }) => methods[method].given)),
    characters: mean(compactions.map(({ methods }) => methods[method].characters)),
  })
  return {
    suite: "survive",
    ...options,
    compactions,
    summary: meanShares(compactions.map(({ summary }) => summary)),
    methods: Object.fromEntries(METHODS.map((method) => [method, of(method)])) as SurviveReport["methods"],
    plugin: {
      held: meanShares(compactions.map(({ plugin }) => plugin.held)),
      characters: mean(compactions.map(({ plugin }) => plugin.characters)),
    },
    untilEdit: mean(compactions.map(({ untilEdit }) => untilEdit)),
    fewestTurnLines: Math.min(...compactions.map(({ turnLines }) => turnLines)),
    overBudget: compactions.filter(({ overBudget }) => overBudget).length,
  }
}

const TITLES: Readonly<Record<Method, string>> = {
  restore: "restore",
  lists: "bare lists, recency × frequency",
  search: "search for the next prompt, five hits",
  recency: "turns by recency",
  importance: "turns by importance",
  tail: "last characters, raw",
}

function renderSurvive(report: SurviveReport): string[] {
  const { compactions, methods, budget, window, untilEdit } = report
  const row = (
    title: string,
    held: Mean,
    given: Mean | undefined,
    characters: number | undefined,
  ): string[] => [
    title,
    ...FACT_KINDS.map((kind) => percent(held[kind])),
    percent(held.mean),
    percent(given?.mean),
    characters === undefined ? "" : characters.toFixed(0),
  ]
  return [
    `${count(compactions.length, "compaction")}; ${budget} characters; needed within ${window} steps of the model.`,
    "",
    ...markdownTable(
      ["kept and", ...FACT_KINDS.map((kind) => `${kind}s`), "mean", "given", "characters"],
      [
        row("nothing else", report.summary, undefined, undefined),
        ...METHODS.map((method) => {
          const { together, given, characters } = methods[method]
          return row(TITLES[method], together, given, characters)
        }),
        row("the plugin's context instead", report.plugin.held, undefined, report.plugin.characters),
      ],
    ),
    "",
    "Shares in % of what was needed again: held together with what Claude Code kept, its summary and messages;",
    "given, of what it did not keep. The plugin's context (prune plugin) takes the place of the summary.",
    `Turns told in each restore: ${report.fewestTurnLines} or more. Restores over budget: ${report.overBudget}.` +
      (untilEdit === undefined ? "" : ` Tool calls until the first change: ${untilEdit.toFixed(1)}.`),
    "",
    ...markdownTable(
      ["compaction", "needed", "kept", "together", "given"],
      compactions.map(({ session, offset, needed, summary, methods: { restore } }) => [
        `${session.slice(0, 8)} at ${offset}`,
        FACT_KINDS.map((kind) => needed[kind]).join(" + "),
        overKinds(summary),
        overKinds(restore.together),
        overKinds(restore.given),
      ]),
    ),
  ]
}

const overKinds = (shares: Shares): string => percent(mean(FACT_KINDS.map((kind) => shares[kind])))

const percent = (share: number | undefined): string => (share === undefined ? "–" : (100 * share).toFixed(0))
