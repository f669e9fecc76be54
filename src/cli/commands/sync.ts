/** `ctxbridge sync`: sends what is new in the archive to a folder or a server, and what was forgotten. Fetches the rest. */
import { codeOf, isCtxError, messageOf, usageError } from "../../base/errors.ts"
import { localTimeOf, twoDigits } from "../../base/local-time.ts"
import { bytes, count, oneLine } from "../../base/text.ts"
import type { FetchedFrames } from "../../sync/fetch-frames.ts"
import type { SentFrames } from "../../sync/send-frames.ts"
import { archiveSignature, stoppedWatching, syncAgain } from "../../sync/sync-again.ts"
import { plannedSync, type SyncReport } from "../../sync/sync-archive.ts"
import { Ledger, lastSyncs, writerName } from "../../sync/sync-ledger.ts"
import { noFrames, type SyncDone, type SyncWanted, syncOnce, withSyncLock } from "../../sync/sync-once.ts"
import type { SyncWorld } from "../../sync/sync-steps.ts"
import type { NamedTarget } from "../../sync/targets/open-target.ts"
import { ADMINISTRATOR_SCRIPT } from "../../sync/targets/postgres-migrations.ts"
import type { DamagedFile, FolderState, TargetStats } from "../../sync/targets/target.ts"
import { configuredTargets, readPassphrase, targetNamed } from "../../sync/targets.ts"
import { listPending } from "../../vault/pending.ts"
import { catchUp } from "../../views/indexing.ts"
import { openCurrent } from "../../views/open-current.ts"
import { stringArg } from "../args.ts"
import { type Command, type Context, flag, option } from "../command.ts"
import { writeError } from "../output.ts"
import { safe } from "../style.ts"
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
      "Encrypt a new folder, or what you keep at a server, with the passphrase in CTXBRIDGE_SYNC_PASSPHRASE or sync.passphrase-file",
    ),
    "new-key": flag(
      "Encrypt a folder that was not, or a folder or server that lost its key or changed it: takes what the passphrase opens, or makes a new key",
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
      const here = { ...env, isNewKey, isEncrypting: args["encrypt"] === true }
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
      if (target.kind !== "folder" && target.kind !== "postgres")
        throw usageError(`${target.kind} targets are not encrypted`, "folders and PostgreSQL servers can be")
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
        throw usageError(
          "--dry-run contacts no server, so it cannot tell which frames are there",
          "leave out --frames and --pull",
        )
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

/* `ctxbridge sync --watch`: a line per sync in which something happened, until Ctrl-C. */

/**
 * @param sync one sync; calls `goOn` between batches. Until one succeeds, it is the first
 * @param shown the target
 * @param isNewKey whether `--new-key` is there
 */
async function watchAndSync(
  { env, out }: Context,
  sync: (goOn: () => void, isFirst: boolean) => Promise<SyncDone>,
  shown: string,
  isNewKey: boolean,
): Promise<void> {
  let over = false
  let wake: () => void = () => {}
  const stop = (): void => {
    over = true
    wake()
  }
  // Once: a second signal ends the process as usual, even while a server keeps us waiting.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, stop)
  const say = (lines: readonly string[], event: object): void => {
    out.clear()
    if (lines.length > 0) out.print(`${clock()}  ${lines.join("; ")}`)
    out.event({ time: new Date().toISOString(), target: shown, ...event })
    out.flush()
  }
  let isFirst = true
  await syncAgain({
    async sync() {
      const { report, frames, fetched, there, folder, damagedIn, mendedIn } = await sync(() => {
        if (over) throw stoppedWatching()
      }, isFirst)
      const lines = [
        ...renderKey(folder, shown, isNewKey && isFirst),
        ...(report.turns + report.forgotten > 0 || isFirst ? renderSent(report, shown, false, folder) : []),
        ...(fetched !== null && fetched.copies + fetched.changed > 0 ? renderFetched(fetched, shown) : []),
        ...(frames !== null && frames.copies > 0 ? renderFrames(frames) : []),
        ...renderMended(mendedIn),
        ...renderDamaged(damagedIn),
      ]
      isFirst = false
      if (lines.length > 0) say(lines, { event: "sync", ...report, frames, fetched, there, folder, mendedIn })
    },
    onFailure(error, pause) {
      const hint = (isCtxError(error) ? error.hint : undefined) ?? null
      const message = messageOf(error)
      const again = `again in ${Math.round(pause / 1000)} s`
      say([`${safe(message)}; ${again}`], { event: "failed", code: codeOf(error), message, hint, pause })
    },
    signature: () => archiveSignature(env.dataHome),
    isOver: () => over,
    sleep: (ms) =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, ms)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
        if (over) wake()
      }),
    now: () => performance.now(),
  })
  say(["Stopped; what was committed stays"], { event: "stopped" })
}

function clock(): string {
  const { hour, minute, second } = localTimeOf(Date.now())
  return [hour, minute, second].map(twoDigits).join(":")
}

/* What `ctxbridge sync` tells people. Pure. */

/** What became of the key of a folder or a server. */
function renderKey(folder: FolderState | null, shown: string, isNewKey: boolean): string[] {
  const { turns, pieces, left = undefined } = folder?.replaced ?? { turns: 0, pieces: 0 }
  const replaced: string[] =
    turns + pieces > 0
      ? [
          `Encrypted what was there before: ${count(turns, "turn")}, ${count(pieces, "piece")} of transcripts`,
          "Its clear text stays in the server's files until ctxbridge server vacuum, and in its backups",
        ]
      : []
  if (left !== undefined)
    replaced.push(
      `Some of what was there before is still in clear text: ${safe(left)}`,
      "The next sync goes on, once ctxbridge forget or the administrator has made room",
    )
  if (folder?.made === "key")
    return [
      `New key for ${safe(shown)}: everything is sent again`,
      "Run ctxbridge sync --new-key on your other machines, too; until then, what they sent stays as it is",
      ...replaced,
    ]
  if (replaced.length > 0) return replaced
  return isNewKey && folder?.made === null ? [`${safe(shown)} has the key of your passphrase already`] : []
}

/** The first message about a folder says how it is kept. */
function howKept(folder: FolderState | null): string {
  if (folder?.made === "server") return " (encrypted from now on)"
  if (folder?.made !== "folder") return ""
  return folder.encrypted
    ? " (new folder, encrypted)"
    : " (new folder, unencrypted: whoever can read it can read the turns)"
}

function renderSent(
  report: SyncReport,
  shown: string,
  dryRun: boolean,
  folder: FolderState | null = null,
): string[] {
  const { turns, stored, known, refused, excluded, unreadable, forgotten, lost, mended } = report
  const sent = dryRun ? turns : stored
  const did = sent === 0 ? "Nothing new for" : `${dryRun ? "Would send" : "Sent"} ${count(sent, "turn")} to`
  const lines = [`${did} ${safe(shown)}${howKept(folder)}`]
  if (lost > 0)
    lines.push(`${lost} of these had been sent before, and ${lost === 1 ? "was" : "were"} lost there`)
  if (mended > 0) lines.push(`${count(mended, "entry", "entries")} there could not be read, and were removed`)
  if (known > 0) lines.push(`${count(known, "turn")} already there`)
  if (forgotten > 0) {
    const gone = dryRun ? "Would be forgotten there" : "Forgotten there"
    lines.push(`${gone}: ${count(forgotten, "entry", "entries")}`)
  }
  if (refused > 0) lines.push(`${count(refused, "turn")} refused: forgotten there before`)
  if (excluded > 0) lines.push(`${count(excluded, "turn")} skipped (capture.exclude)`)
  if (unreadable > 0)
    lines.push(
      `${count(unreadable, "turn")} skipped, because the vault cannot be read there: ctxbridge verify`,
    )
  return lines
}

function renderFrames(frames: SentFrames): string[] {
  const { copies, refused, excluded, unreadable, changed, lost } = frames
  const lines = [
    copies === 0
      ? "No new frames"
      : `Sent the frames of ${count(copies, "transcript")}: ${bytes(frames.bytes)}`,
  ]
  if (changed > 0)
    lines.push(`${count(changed, "transcript")} sent again, because text was removed from them`)
  if (lost > 0)
    lines.push(
      `${count(lost, "transcript")} had been lost or damaged there, and ${lost === 1 ? "was" : "were"} sent again`,
    )
  if (refused > 0) lines.push(`${count(refused, "piece")} refused: their sessions were forgotten there`)
  if (excluded > 0) lines.push(`${count(excluded, "transcript")} skipped (capture.exclude)`)
  if (unreadable > 0)
    lines.push(
      `${count(unreadable, "transcript")} skipped, because the vault cannot be read: ctxbridge verify`,
    )
  return lines
}

/** Sessions that are named. */
const MOST = 3

function renderFetched(fetched: FetchedFrames, shown: string): string[] {
  const { available, copies, refused, excluded, changed, misnamed, damaged, forgottenElsewhere } = fetched
  const lines = [
    copies === 0
      ? available === 0
        ? `No other machine has frames at ${safe(shown)}`
        : `Nothing new from ${safe(shown)}`
      : `Fetched ${count(copies, "transcript")} from ${safe(shown)}: ${bytes(fetched.bytes)}`,
  ]
  if (changed > 0)
    lines.push(`${count(changed, "transcript")} changed, because text was removed on another machine`)
  if (refused > 0) lines.push(`${count(refused, "transcript")} not fetched, because they were forgotten here`)
  if (excluded > 0) lines.push(`${count(excluded, "transcript")} not fetched (capture.exclude)`)
  if (misnamed > 0)
    lines.push(
      `${count(misnamed, "transcript")} left out: ${misnamed === 1 ? "its session id or machine name is" : "their session ids or machine names are"} not valid`,
    )
  if (damaged > 0) lines.push(`${count(damaged, "transcript")} not fetched, because they are damaged there`)
  const gone = forgottenElsewhere.length
  if (gone > 0) {
    const named = forgottenElsewhere.slice(0, MOST).map((session) => safe(session))
    const more = gone > MOST ? `, and ${gone - MOST} more` : ""
    lines.push(
      `${count(gone, "session")} here ${gone === 1 ? "was" : "were"} forgotten on another machine, and ${gone === 1 ? "stays" : "stay"} here until you`,
      `run ctxbridge forget: ${named.join(", ")}${more}`,
    )
  }
  return lines
}

function renderThere({ entries, sessions, misnamed = 0, clear = 0 }: TargetStats): string[] {
  const lines = [`There now: ${count(entries, "turn")} of ${count(sessions, "session")}`]
  if (misnamed > 0)
    lines.push(
      `${count(misnamed, "turn")} there left out: ${misnamed === 1 ? "its session id is" : "their session ids are"} not valid`,
    )
  if (clear > 0)
    lines.push(
      `${count(clear, "row")} there ${clear === 1 ? "is" : "are"} in clear text, and not read: ctxbridge sync --all removes ${clear === 1 ? "it" : "them"},`,
      "and each machine sends its own again",
    )
  return lines
}

/** What another machine must mend: its files, and what to run there. */
const renderDamaged = (files: readonly DamagedFile[]): string[] =>
  files.map(({ file, lines }) => {
    const command = `ctxbridge sync${file.toLowerCase().startsWith("frames/") ? " --frames" : ""}`
    const machine = machineIn(file)
    const todo =
      machine === undefined
        ? "remove the file, unless you know what it is"
        : `run ${command} on ${safe(machine)}, which sends what is missing`
    return `${count(lines, "line")} of ${safe(file)} cannot be read: ${todo}`
  })

/** What was mended of this machine's own. */
const renderMended = (files: readonly DamagedFile[]): string[] =>
  files.map(
    ({ file, lines }) =>
      `${count(lines, "line")} of ${safe(file)} could not be read, and ${lines === 1 ? "was" : "were"} removed`,
  )

/** The name of the computer that writes a file (`writerName`). */
const machineIn = (file: string): string | undefined =>
  /\/(?:copy of )?([a-z0-9-]+?)-[0-9a-f]{8}(?![a-z0-9])/i.exec(file)?.[1]

/* Brings the views up to date with copies that were fetched from another machine. */

function followFetched(
  dataHome: string,
  onProgress: (label: string, done: number, total: number) => void,
): void {
  const db = openCurrent(dataHome, "job")
  try {
    const total = listPending(dataHome).length
    const onSlice = (): void => onProgress("reading", total - listPending(dataHome).length, total)
    catchUp(db, dataHome, Number.POSITIVE_INFINITY, onSlice)
  } finally {
    db.close()
  }
}
