/** `ctxbridge sync --watch`: a line per sync in which something happened, until Ctrl-C. */

import { archiveSignature, stoppedWatching, syncAgain } from "../sync/sync-again.ts"
import type { SyncDone } from "../sync/sync-once.ts"
import { codeOf, isCtxError, messageOf } from "../util/errors.ts"
import { localTimeOf, twoDigits } from "../util/local-time.ts"
import type { Context } from "./command.ts"
import {
  renderDamaged,
  renderFetched,
  renderFrames,
  renderKey,
  renderMended,
  renderSent,
} from "./render-sync.ts"
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
