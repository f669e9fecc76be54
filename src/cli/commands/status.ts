/** `ctxbridge status`: how the archive stands. Every number is counted when it is asked for. */
import { existsSync } from "node:fs"
import { projectOf } from "../../archive/project.ts"
import { listSessions, openForReading } from "../../archive/read.ts"
import { spoolStatus } from "../../archive/spool.ts"
import { readStatus } from "../../archive/status.ts"
import { type ContextReport, examineContext } from "../../autopilot/examine.ts"
import { hostLimits } from "../../config/load.ts"
import { type Standing, standingOf } from "../../embed/standing.ts"
import { hookStatus } from "../../host/hook-status.ts"
import { serverStatus } from "../../host/server-status.ts"
import { unfinished } from "../../job/forget.ts"
import { importUnderWay } from "../../job/history.ts"
import { askForRebuild } from "../../job/spawn.ts"
import { lastError } from "../../util/log.ts"
import { tombstoneCount } from "../../vault/tombstones.ts"
import type { Command, Environment } from "../command.ts"
import { renderStatus } from "../render-status.ts"
import { createStyle } from "../style.ts"

export default {
  meta: { name: "status", description: "Show how the archive stands: sizes, sessions, hooks, backlog" },
  run({ env, out }) {
    const { claudeDir: configDir, home, hostConfig, cwd, dataHome, exePath } = env
    const archive = readStatus(dataHome)
    if (archive.database.lost) askForRebuild(dataHome)
    const status = {
      dataHome,
      exists: existsSync(dataHome),
      ...archive,
      spool: spoolStatus(env),
      forgotten: { sessions: tombstoneCount(dataHome), unfinished: unfinished(dataHome).length },
      context: archive.totals === null ? null : contextOf(env),
      import: importUnderWay(env) ?? null,
      embedding: archive.totals === null ? null : embeddingOf(dataHome),
      hooks: hookStatus({ configDir, home, cwd, dataHome }, exePath),
      mcp: serverStatus({ configDir, home, hostConfig, cwd, dataHome }, exePath),
      lastError: lastError(env.stateHome) ?? null,
    }
    const screen = { columns: out.columns, style: createStyle(out.color), now: Date.now() }
    for (const line of renderStatus(status, screen)) out.print(line)
    out.json(status)
  },
} satisfies Command

/** null where the views were lost meanwhile. */
function embeddingOf(dataHome: string): Standing | null {
  try {
    const db = openForReading(dataHome)
    try {
      return standingOf(db, dataHome)
    } finally {
      db.close()
    }
  } catch {
    return null
  }
}

/** Of the latest session of this folder's project; null where there is none, or nothing was said in it. */
function contextOf({ dataHome, cwd, config }: Environment): ContextReport | null {
  if (!config["autopilot.enabled"]) return null
  const db = openForReading(dataHome)
  try {
    const [session] = listSessions(db, { project: projectOf(cwd), limit: 1 })
    if (session === undefined) return null
    const thresholds = { warn: config["autopilot.warn"], critical: config["autopilot.critical"] }
    const circumstances = { option: config["autopilot.window"], limits: hostLimits(), thresholds }
    return examineContext(db, dataHome, session.id, circumstances) ?? null
  } catch {
    // A damaged copy: the archive's own lines tell of it.
    return null
  } finally {
    db.close()
  }
}
