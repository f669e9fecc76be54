/** `ctxbridge sync`: sends what is new in the archive to a folder or a server, and what was forgotten. */
import { closeSync, mkdirSync } from "node:fs"
import { join } from "node:path"
import { openForReading } from "../../archive/open-for-reading.ts"
import type { Target } from "../../backends/open-target.ts"
import { ADMINISTRATOR_SCRIPT } from "../../backends/postgres-migrations.ts"
import { plannedSync, type SyncReport, type SyncWorld, syncArchive } from "../../sync/sync-archive.ts"
import { Ledger, lastSyncs, noteSync, syncFolder } from "../../sync/sync-ledger.ts"
import { configuredTargets, targetNamed } from "../../sync/targets.ts"
import { codeOf, messageOf, throwBusy, usageError } from "../../util/errors.ts"
import { holdLockFile } from "../../util/lock.ts"
import { count, oneLine } from "../../util/text.ts"
import { stringArg } from "../args.ts"
import { type Command, type Context, flag, option } from "../command.ts"
import { writeError } from "../output.ts"
import { safe } from "../style.ts"
import { finishFormer } from "./forget.ts"

export default {
  meta: {
    name: "sync",
    description: "Send new turns to a folder or a PostgreSQL server, and what was forgotten",
  },
  args: {
    to: option(
      "Where to: a folder, sqlite:FILE, postgres://user@host/database; default: CTXBRIDGE_SYNC_TO",
      "DIR|URL",
    ),
    all: flag("Look at every turn again: after redact, or when the target has lost something"),
    "print-ddl": flag("Print the SQL with which an administrator sets up a server for many users"),
    "dry-run": flag("Show what would be sent; contact nobody, write nothing"),
  },
  async run(context) {
    const { args, env, out } = context
    if (args["print-ddl"] === true) {
      out.json({ ddl: ADMINISTRATOR_SCRIPT })
      out.print(ADMINISTRATOR_SCRIPT.trimEnd().split("\n"))
      return
    }
    const named = stringArg(args, "to")
    const targets = named === undefined ? configuredTargets(env.config, env) : [targetNamed(named, env)]
    const [target] = targets
    if (target === undefined) {
      throw usageError("sync needs a target", "--to DIR or --to postgres://user@host/database (docs/sync.md)")
    }
    const world: SyncWorld = {
      place: env,
      look(use) {
        using db = openForReading(env.dataHome)
        return use(db)
      },
      onProgress: (done, total) => out.progress("sending", done, total),
    }
    if (args["dry-run"] === true) return plan(context, target, world)
    finishFormer(context)
    // Before anything is made at the target: whoever has no archive has named the wrong one.
    world.look(() => {})
    const lock = holdLock(env.dataHome)
    try {
      await send(context, targets, world)
    } finally {
      closeSync(lock)
    }
  },
} satisfies Command

function holdLock(dataHome: string): number {
  mkdirSync(syncFolder(dataHome), { recursive: true, mode: 0o700 })
  return (
    holdLockFile(join(dataHome, "sync.lock"), 0) ?? throwBusy("another sync of this archive is under way")
  )
}

async function send(
  { args, env, out }: Context,
  targets: readonly Target[],
  world: SyncWorld,
): Promise<void> {
  const { target, backend, passed } = await openFirst(targets)
  const { kind, shown } = target
  try {
    const ledger = new Ledger(env.dataHome, backend.id)
    const report = await syncArchive(backend, ledger, world, args["all"] === true)
    const there = await backend.stats()
    const time = new Date().toISOString()
    noteSync(env.dataHome, {
      kind,
      target: shown,
      id: backend.id,
      time,
      ...(passed.length > 0 && { passed }),
    })
    out.json({ target: shown, kind, dryRun: false, ...report, there })
    out.print(render(report, shown, false))
    out.print(`There now: ${count(there.entries, "turn")} of ${count(there.sessions, "session")}`)
    if (there.damaged > 0)
      out.print(`${count(there.damaged, "line")} there cannot be read: ctxbridge sync --all`)
  } finally {
    await backend.close()
  }
}

/**
 * The first target that answers. Each one that does not is a line on stderr.
 *
 * @throws CtxError that of the last one, if none answers
 */
async function openFirst(targets: readonly Target[]) {
  const passed: { target: string; code: string }[] = []
  for (const [n, target] of targets.entries()) {
    try {
      return { target, backend: await target.open(), passed }
    } catch (error) {
      if (n === targets.length - 1) throw error
      passed.push({ target: target.shown, code: codeOf(error) })
      writeError(`warning: ${oneLine(safe(messageOf(error)))}; trying ${safe(targets[n + 1]!.shown)}\n`)
    }
  }
  throw new Error("no target")
}

async function plan({ args, env, out }: Context, { kind, shown }: Target, world: SyncWorld): Promise<void> {
  const id = lastSyncs(env.dataHome).find(({ target }) => target === shown)?.id ?? ""
  const report = await plannedSync(new Ledger(env.dataHome, id), world, args["all"] === true)
  out.json({ target: shown, kind, dryRun: true, ...report, there: null })
  out.print(render(report, shown, true))
}

function render(report: SyncReport, shown: string, dryRun: boolean): string[] {
  const { turns, stored, known, refused, excluded, unreadable, forgotten } = report
  const sent = dryRun ? turns : stored
  const lines = [
    sent === 0
      ? `Nothing new for ${safe(shown)}`
      : `${dryRun ? "Would send" : "Committed"} ${count(sent, "turn")} to ${safe(shown)}`,
  ]
  if (known > 0) lines.push(`${count(known, "turn")} there already`)
  if (forgotten > 0) {
    const gone = dryRun ? "Would be forgotten there" : "Forgotten there"
    lines.push(`${gone}: ${count(forgotten, "entry", "entries")}`)
  }
  if (refused > 0) lines.push(`${count(refused, "turn")} refused: forgotten there before`)
  if (excluded > 0) lines.push(`${count(excluded, "turn")} left out, of folders in capture.exclude`)
  if (unreadable > 0)
    lines.push(
      `${count(unreadable, "turn")} left out, because the vault cannot be read there: ctxbridge verify`,
    )
  return lines
}
