/** `ctxbridge status`: the state of the archive. Every number is counted on request. */

import { existsSync } from "node:fs"
import { messageOf } from "../../base/errors.ts"
import { statsOf, tryTo } from "../../base/files.ts"
import { lastError } from "../../base/log.ts"
import { hookStatus, ourPlugins, serverStatus } from "../../claude/install/hook-status.ts"
import { claudeTable } from "../../claude/install/hooks-table.ts"
import { windowLimits } from "../../claude/settings/read-settings.ts"
import { toldToServer } from "../../config/load.ts"
import { standingOf } from "../../find/embed/model-files.ts"
import { unfinished } from "../../job/forget-sessions.ts"
import { importUnderWay } from "../../job/history-import.ts"
import { archiveAll } from "../../job/request-visits.ts"
import { askForRebuild, startRenewing } from "../../job/spawn.ts"
import { waysAtWork } from "../../prune/ways.ts"
import { type LastRestore, lastRestore } from "../../restore/last-restore.ts"
import { type ContextReport, examineContext } from "../../restore/window/context-report.ts"
import { wishesIn } from "../../restore/window/window.ts"
import { knownTurns } from "../../restore/worth/reopened.ts"
import { confidences } from "../../restore/worth/tiers.ts"
import { readAutoSync } from "../../sync/sync-again.ts"
import { lastSyncs } from "../../sync/sync-ledger.ts"
import { configuredTargets } from "../../sync/targets.ts"
import { isSettled } from "../../vault/pending.ts"
import { tombstoneCount } from "../../vault/tombstones.ts"
import { ReadOnce, readViews, statusWith } from "../../views/archive-status.ts"
import type { Database } from "../../views/database.ts"
import { projectOf } from "../../views/project.ts"
import { knownAs } from "../../views/queries/projects.ts"
import { aboutSession, latestSession } from "../../views/queries/sessions.ts"
import { type ProjectUse, useOfProject } from "../../views/queries/token-use.ts"
import { spoolStatus } from "../../views/spool.ts"
import { currentTranscript } from "../../views/transcript-rows.ts"
import { type Command, type Environment, flag } from "../command.ts"
import { canBeWritten, spaceFinding } from "../doctor/folder-checks.ts"
import { type BackendStatus, renderStatus, renderStatusShort, shownOptions } from "../render-status.ts"
import { screenOf } from "../screen.ts"
import { pathShower } from "../shown-path.ts"

export default {
  meta: { name: "status", description: "Show what is archived, and whether capture works" },
  args: { verbose: flag("All that is known, with the latest sessions", "v") },
  async run(context) {
    const { args, env, out } = context
    const { dataHome, exePath } = env
    const verbose = args["verbose"] === true
    // Before the archive: an import that ends in between has left one.
    const underWay = importUnderWay(env) ?? null
    using archive = new ReadOnce(dataHome)
    takeLatest(archive, env)
    const views = readViews(archive)
    const isRead = views.totals !== null
    const window = isRead ? contextOf(archive, env) : null
    // Only who asks for everything is told: every request of a project is added up, and every turn's age looked at.
    const isWhole = verbose || out.wantsJson
    const use = isRead && isWhole ? useHere(archive, env) : null
    const confidence =
      isRead && isWhole ? asked(archive, (db) => confidences(knownTurns(db), Date.now())) : null
    const restored = isRead ? lastRestoreOf(archive, env) : null
    const standing = isRead ? asked(archive, (db) => standingOf(db, dataHome)) : null
    const meaning = env.config["search.meaning"]
    const known = statusWith(views, archive, Date.now())
    if (known.database.lost) askForRebuild(dataHome)
    if (known.index?.outdated) startRenewing(dataHome)
    const status = {
      dataHome,
      exists: existsSync(dataHome),
      ...known,
      unwritable: obstacle(dataHome),
      spool: spoolStatus(env),
      excluded: env.exclude,
      forgotten: { sessions: tombstoneCount(dataHome), unfinished: unfinished(dataHome).length },
      context: window,
      use,
      lastRestore: restored,
      import: underWay,
      embedding: standing && { ...standing, meaning },
      confidence,
      options: shownOptions(env.config),
      pruning: isWhole ? await waysAtWork(env) : null,
      backend: backendStatus(env),
      sync: lastSyncs(dataHome),
      syncFailure: env.config["sync.auto"] === "off" ? null : readAutoSync(dataHome).failure,
      hooks: hookStatus(env, exePath, claudeTable(env.config)),
      plugins: ourPlugins(env),
      mcp: serverStatus(env, exePath),
      lastError: lastError(env.stateHome) ?? null,
    }
    const screen = screenOf(out)
    const look = { ...screen, showPath: pathShower(context), isCut: out.terminal }
    out.print(verbose ? renderStatus(status, screen) : renderStatusShort(status, look))
    out.json(status)
  },
} satisfies Command

/** What keeps hooks from writing to the archive, as far as it can be told without writing. */
function obstacle(dataHome: string): string | null {
  if (!canBeWritten(dataHome)) return "the data folder cannot be written"
  const space = tryTo(() => spaceFinding(dataHome))
  return space?.state === "fail" ? space.text : null
}

/** By the configuration alone: nobody is asked. */
function backendStatus(env: Environment): BackendStatus {
  const wanted = env.config["sync.backend"]
  try {
    const targets = configuredTargets(env.config, env).map(({ kind, shown: target, why }) => ({
      kind,
      target,
      why,
    }))
    return { wanted, targets, problem: null }
  } catch (error) {
    return { wanted, targets: [], problem: messageOf(error) }
  }
}

/** ms to spend on what Claude Code has written since its last hook. */
const LATEST_LASTS = 300

/** Archives what the latest session has grown by, or the context would still be that from before a `/compact`. */
function takeLatest(archive: ReadOnce, env: Environment): void {
  if (!env.config["capture.enabled"]) return
  ofLatest(archive, env, (db, session) => {
    const row = currentTranscript(db, session)
    if (row !== undefined && (statsOf(row.path)?.size ?? 0) > row.archived)
      archiveAll(db, env, row.path, performance.now() + LATEST_LASTS)
  })
  // What there was no time for is indexed when it is opened again.
  if (!isSettled(env.dataHome)) archive.close()
}

/** null if nothing was said in the session. */
function contextOf(archive: ReadOnce, env: Environment): ContextReport | null {
  const { dataHome, config } = env
  if (!config["autopilot.enabled"]) return null
  const circumstances = { ...wishesIn(config), limits: windowLimits(env) }
  return ofLatest(archive, env, (db, session) => examineContext(db, dataHome, session, circumstances))
}

/** null if the session was given nothing. */
const lastRestoreOf = (archive: ReadOnce, env: Environment): LastRestore | null =>
  ofLatest(archive, env, (db, session) => lastRestore(db, env.dataHome, session))

/** What this folder's project has cost; null if nothing of it is archived. */
function useHere(archive: ReadOnce, { cwd }: Environment): ProjectUse | null {
  const found = asked(archive, (db) => useOfProject(db, knownAs(db, projectOf(cwd))!))
  return found?.sessions ? found : null
}

/**
 * Reads something about the session that Claude Code is in, if it started us, or else the latest one of this folder's
 * project; null if there is none. Damage is reported in the archive's own lines.
 */
function ofLatest<T>(
  archive: ReadOnce,
  { cwd }: Environment,
  read: (db: Database, session: string) => T | undefined,
): T | null {
  const found = asked(archive, (db) => {
    // Notes of the model's have a session of their own, which nobody works in.
    const own = toldToServer().session
    const session =
      own && aboutSession(db, own) !== null ? own : latestSession(db, knownAs(db, projectOf(cwd))!)
    return session && read(db, session)
  })
  return found || null
}

/** null if it cannot be told. */
const asked = <T>(archive: ReadOnce, ask: (db: Database) => T): T | null =>
  tryTo(() => archive.read(ask)) ?? null
