/** `ctxbridge sync`: sends what is new in the archive to a folder or a server, and what was forgotten. Fetches the rest. */
import { openCurrent } from "../../archive/open-current.ts"
import type { NamedTarget } from "../../backends/open-target.ts"
import { ADMINISTRATOR_SCRIPT } from "../../backends/postgres-migrations.ts"
import { followFetched } from "../../job/follow-fetched.ts"
import { plannedSync } from "../../sync/sync-archive.ts"
import { Ledger, lastSyncs, writerName } from "../../sync/sync-ledger.ts"
import { noFrames, type SyncDone, type SyncWanted, syncOnce, withSyncLock } from "../../sync/sync-once.ts"
import type { SyncWorld } from "../../sync/sync-steps.ts"
import { configuredTargets, readPassphrase, targetNamed } from "../../sync/targets.ts"
import { messageOf, usageError } from "../../util/errors.ts"
import { oneLine } from "../../util/text.ts"
import { stringArg } from "../args.ts"
import { type Command, type Context, flag, option } from "../command.ts"
import { writeError } from "../output.ts"
import { safe } from "../style.ts"
import {
  renderDamaged,
  renderFetched,
  renderFrames,
  renderKey,
  renderMended,
  renderSent,
  renderThere,
  watchAndSync,
} from "../sync-watch.ts"
import { finishFormer } from "./forget.ts"

export default {
  meta: {
    name: "sync",
    description: "Send the archive to a folder or a PostgreSQL server",
  },
  args: {
    to: option(
      "Where to: a folder, sqlite:FILE, postgres://user@host/database; default: the option sync.to",
      "DIR|URL",
    ),
    frames: flag(
      "Also send the transcripts themselves, byte for byte, so that other machines can fetch them",
    ),
    pull: flag(
      "Fetch the transcripts that other machines sent with --frames; sends nothing without --frames",
    ),
    encrypt: flag(
      "Encrypt a new folder, with the passphrase in CTXBRIDGE_SYNC_PASSPHRASE or sync.passphrase-file",
    ),
    "new-key": flag(
      "Encrypt a folder that was not, lost its key or changed it: takes what the passphrase opens, or makes a new key",
    ),
    all: flag("Check every turn again: after redact, or to replace what cannot be read at the target"),
    watch: flag(
      "Keep running until Ctrl-C: sync whenever the archive changes, and retry a target that fails",
    ),
    "print-ddl": flag("Print the SQL with which an administrator sets up a server for many users"),
    "dry-run": flag("Show what would be sent; contact no server, write nothing"),
  },
  async run(context) {
    const { args, env, out } = context
    if (args["print-ddl"] === true) {
      out.json({ ddl: ADMINISTRATOR_SCRIPT })
      out.print(ADMINISTRATOR_SCRIPT.trimEnd().split("\n"))
      return
    }
    const named = stringArg(args, "to")
    const newKey = args["new-key"] === true
    const targetsOf = (isNewKey: boolean): NamedTarget[] => {
      const here = { ...env, isNewKey }
      return named === undefined
        ? configuredTargets(env.config, here)
        : [targetNamed(named, env.config, here)]
    }
    const [target] = targetsOf(newKey)
    if (target === undefined) {
      throw usageError("sync needs a target", "--to DIR or --to postgres://user@host/database (docs/sync.md)")
    }
    const [frames, pull] = [args["frames"] === true, args["pull"] === true]
    const wanted: SyncWanted = { send: frames || !pull, all: args["all"] === true, frames, pull, newKey }
    if (args["encrypt"] === true || newKey) {
      if (target.kind !== "folder")
        throw usageError("only folders are encrypted", "a server's own encryption is its administrator's")
      refuseNoPassphrase(context, newKey ? "--new-key" : "--encrypt")
    }
    out.resumable("Ctrl-C keeps what is sent; ctxbridge sync continues")
    const world: SyncWorld = {
      place: env,
      look(use) {
        using db = openCurrent(env.dataHome, "command")
        return use(db)
      },
      onProgress: out.progress,
    }
    if (args["dry-run"] === true) {
      if (args["watch"] === true) throw usageError("--dry-run and --watch cannot be used together")
      if (newKey) throw usageError("--dry-run and --new-key cannot be used together")
      if (frames || pull)
        throw usageError("--dry-run contacts no server, so it cannot tell which frames are there")
      return plan(context, target, world)
    }
    finishFormer(context)
    // Before anything is made at the target: whoever has no archive has named the wrong one.
    if (!pull) world.look(() => {})
    const sync = (here: SyncWorld, what: SyncWanted): Promise<SyncDone> =>
      withSyncLock(env.dataHome, () => once(context, targetsOf(what.newKey), here, what))
    if (args["watch"] === true) {
      const again = (goOn: () => void, isFirst: boolean): Promise<SyncDone> =>
        sync({ ...world, goOn }, { ...wanted, all: wanted.all && isFirst, newKey: newKey && isFirst })
      return watchAndSync(context, again, target.shown, newKey)
    }
    const done = await sync(world, wanted)
    report(context, done, wanted)
  },
} satisfies Command

function refuseNoPassphrase({ env }: Context, flagged: string): void {
  if (readPassphrase(env.config["sync.passphrase-file"], env.home) !== undefined) return
  throw usageError(
    `${flagged} needs a passphrase`,
    "set CTXBRIDGE_SYNC_PASSPHRASE, or the option sync.passphrase-file to a file that holds it",
  )
}

function once(
  { env, out }: Context,
  targets: readonly NamedTarget[],
  world: SyncWorld,
  wanted: SyncWanted,
): Promise<SyncDone> {
  const follow = (): void => followFetched(env.dataHome, out.progress)
  const onPassed = (error: unknown, next: NamedTarget): void =>
    writeError(`warning: ${oneLine(safe(messageOf(error)))}; trying ${safe(next.shown)}\n`)
  return syncOnce(targets, { ...world, writer: writerName(env.dataHome), follow, onPassed }, wanted)
}

function report({ out }: Context, done: SyncDone, wanted: SyncWanted): void {
  const { report, frames, fetched, there, folder, damagedIn, mendedIn } = done
  const { kind, shown } = done.target
  if (fetched?.isEmpty === true && !wanted.frames) throw noFrames(shown)
  out.json({ target: shown, kind, dryRun: false, ...report, frames, fetched, there, folder, mendedIn })
  out.print(renderKey(folder, shown, wanted.newKey))
  if (fetched !== null) out.print(renderFetched(fetched, shown))
  if (wanted.send) out.print(renderSent(report, shown, false, folder))
  if (frames !== null) out.print(renderFrames(frames))
  if (wanted.send) out.print(renderThere(there))
  out.print([...renderMended(mendedIn), ...renderDamaged(damagedIn)])
}

async function plan({ args, env, out }: Context, target: NamedTarget, world: SyncWorld): Promise<void> {
  const { kind, shown } = target
  target.examine?.()
  const id = lastSyncs(env.dataHome).find(({ target }) => target === shown)?.id ?? ""
  const report = await plannedSync(new Ledger(env.dataHome, id), world, args["all"] === true)
  out.json({
    target: shown,
    kind,
    dryRun: true,
    ...report,
    frames: null,
    fetched: null,
    there: null,
    folder: null,
    mendedIn: [],
  })
  out.print(renderSent(report, shown, true))
}
