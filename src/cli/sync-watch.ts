/** `ctxbridge sync --watch`: a line per sync in which something happened, until Ctrl-C. */
import type { DamagedFile, FolderState, TargetStats } from "../backends/target.ts"
import type { FetchedFrames } from "../sync/fetch-frames.ts"
import type { SentFrames } from "../sync/send-frames.ts"
import { archiveSignature, stoppedWatching, syncAgain } from "../sync/sync-again.ts"
import type { SyncReport } from "../sync/sync-archive.ts"
import type { SyncDone } from "../sync/sync-once.ts"
import { codeOf, isCtxError, messageOf } from "../util/errors.ts"
import { localTimeOf, twoDigits } from "../util/local-time.ts"
import { bytes, count } from "../util/text.ts"
import type { Context } from "./command.ts"
import { safe } from "./style.ts"

/**
 * @param sync one sync; calls `goOn` between batches. Until one succeeds, it is the first
 * @param shown the target
 * @param isNewKey whether `--new-key` is there
 */
export async function watchAndSync(
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

/** What became of the key of a folder. */
export function renderKey(folder: FolderState | null, shown: string, isNewKey: boolean): string[] {
  if (folder?.made === "key")
    return [
      `New key for ${safe(shown)}: everything is sent again`,
      "Run ctxbridge sync --new-key on your other machines, too; until then, what they sent stays as it is",
    ]
  return isNewKey && folder?.made === null ? [`${safe(shown)} has the key of your passphrase already`] : []
}

/** The first message about a folder says how it is kept. */
function howKept(folder: FolderState | null): string {
  if (folder?.made !== "folder") return ""
  return folder.encrypted
    ? " (new folder, encrypted)"
    : " (new folder, unencrypted: whoever can read it can read the turns)"
}

export function renderSent(
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

export function renderFrames(frames: SentFrames): string[] {
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

export function renderFetched(fetched: FetchedFrames, shown: string): string[] {
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

export function renderThere({ entries, sessions, misnamed = 0 }: TargetStats): string[] {
  const lines = [`There now: ${count(entries, "turn")} of ${count(sessions, "session")}`]
  if (misnamed > 0)
    lines.push(
      `${count(misnamed, "turn")} there left out: ${misnamed === 1 ? "its session id is" : "their session ids are"} not valid`,
    )
  return lines
}

/** What another machine must mend: its files, and what to run there. */
export const renderDamaged = (files: readonly DamagedFile[]): string[] =>
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
export const renderMended = (files: readonly DamagedFile[]): string[] =>
  files.map(
    ({ file, lines }) =>
      `${count(lines, "line")} of ${safe(file)} could not be read, and ${lines === 1 ? "was" : "were"} removed`,
  )

/** The name of the computer that writes a file (`writerName`). */
const machineIn = (file: string): string | undefined =>
  /\/(?:copy of )?([a-z0-9-]+?)-[0-9a-f]{8}(?![a-z0-9])/i.exec(file)?.[1]
