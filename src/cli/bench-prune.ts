/** `ctxbridge bench prune`: what each way of pruning costs, over a simulated session and the user's own largest. */
import { existsSync } from "node:fs"
import { openCurrent } from "../archive/open-current.ts"
import { largestRequests } from "../archive/queries/token-use.ts"
import { linesFrom } from "../archive/records.ts"
import { pruneBenchReport } from "../bench/prune/prune-bench.ts"
import { type PlayedSession, playedSession } from "../bench/prune/prune-steps.ts"
import { renderPruneBench } from "../bench/prune/prune-tables.ts"
import { simulatedSession } from "../bench/prune/simulated-session.ts"
import { sentPassages } from "../pruners/savings.ts"
import { pruneOptions } from "../pruners/way.ts"
import { EXIT } from "../util/errors.ts"
import { untilHeard } from "../util/temporary.ts"
import { vaultFile } from "../vault/layout.ts"
import type { Context } from "./command.ts"
import { safe } from "./style.ts"

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
