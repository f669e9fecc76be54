/** What Claude Code has kept, and will delete: told where somebody installs, or looks for the first time. */

import { DAY } from "../base/local-time.ts"
import { bytes, count } from "../base/text.ts"
import { cleanUpPeriod } from "../claude/settings/clean-up.ts"
import { readSettings } from "../claude/settings/read-settings.ts"
import { type History, historyOf } from "../job/history-import.ts"
import type { Environment } from "./command.ts"
import { ask } from "./confirm.ts"
import { writeOut } from "./output.ts"
import { wrapped } from "./screen.ts"

/** Days: what is deleted within them is at stake. */
const SOON = 3

/** What is not archived yet, and what of it is at stake. */
export function historyAtStake(env: Environment): History {
  const { days } = cleanUpPeriod(readSettings(env))
  return historyOf(env, days === undefined ? 0 : Date.now() - (days - SOON) * DAY)
}

/** What is at stake comes with it: whoever waits may have lost some. */
export function amountOf({ left, bytesLeft, expiring }: History): string {
  const all = `the ${left === 1 ? "transcript" : `${left} transcripts`} that Claude Code has kept (${bytes(bytesLeft)}`
  const which = expiring < left ? String(expiring) : left === 1 ? "which" : "all of which"
  return expiring === 0 ? `${all})` : `${all}; ${which} will be deleted within ${SOON} days)`
}

/** Asks whoever calls `ctxbridge` while nothing is archived. */
export function wantsImport(env: Environment, columns: number): boolean {
  const history = historyAtStake(env)
  const { transcripts, left, bytesLeft, expiring } = history
  if (left === 0) return false
  const kept = `${count(transcripts, "session")} of yours ${transcripts === 1 ? "is" : "are"} on this computer (${bytes(bytesLeft)}), and not archived.`
  const which = expiring === left ? (left === 1 ? "it" : "all of them") : `${expiring} of them`
  const stake = expiring === 0 ? "" : ` Claude Code will delete ${which} within ${SOON} days.`
  writeOut(`${wrapped(kept + stake, columns).join("\n")}\n`)
  return ask(`Archive ${left === 1 ? "it" : "them"} now?`) === true
}
