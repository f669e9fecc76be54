/** `ctxbridge bench prune`, `survive` and `torture`: what they print. */

import { existsSync, statSync } from "node:fs"
import { CtxError, EXIT, usageError } from "../base/errors.ts"
import { resolve } from "../base/path.ts"
import { untilHeard } from "../base/temporary.ts"
import { childEnvironment } from "../config/load.ts"
import { sentPassages } from "../prune/savings.ts"
import { pruneOptions } from "../prune/way.ts"
import { vaultFile } from "../vault/layout.ts"
import { openCurrent } from "../views/open-current.ts"
import { largestRequests } from "../views/queries/token-use.ts"
import { linesFrom } from "../views/records.ts"
import { positive, stringArg } from "./args.ts"
import { pruneBenchReport } from "./bench/prune/prune-bench.ts"
import { type PlayedSession, playedSession } from "./bench/prune/prune-steps.ts"
import { renderPruneBench } from "./bench/prune/prune-tables.ts"
import { simulatedSession } from "./bench/prune/simulated-session.ts"
import { type CompactionResult, inFolder, inVault, survive } from "./bench/survive/replay.ts"
import { renderSurvive, reportOf } from "./bench/survive/survive-report.ts"
import { enclosure } from "./bench/torture/case-disk.ts"
import { CASES, FULL_SCALE, QUICK_SCALE, torture } from "./bench/torture/run-cases.ts"
import { type CaseResult, faultsOf, type TortureReport } from "./bench/torture/torture-report.ts"
import { renderTable } from "./block.ts"
import type { Context } from "./command.ts"
import { createStyle, type Style, safe } from "./style.ts"

const SEED = 1
const TURNS = 150

/** How many of the user's sessions are played, the largest first. */
const SESSIONS = 5

export async function benchPrune({ args, env, out }: Context): Promise<number> {
  const played = [simulatedSession(SEED, TURNS)]
  const own = existsSync(env.dataHome) ? ownSessions(env.dataHome, args["quick"] === true ? 1 : SESSIONS) : []
  for (const session of own) {
    played.push(session)
    await untilHeard()
  }
  const report = pruneBenchReport(played, pruneOptions(env.config))
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

export async function benchSurvive({ args, env, out }: Context): Promise<number> {
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

export async function benchTorture({ args, out, env }: Context): Promise<number> {
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
