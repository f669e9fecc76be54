/** What hooks and the background job could not do, according to their log. */
import { DAY } from "../host/clean-up.ts"
import { entriesIn, logPath } from "../util/log.ts"
import { count, cut, oneLine } from "../util/text.ts"
import { type Finding, finding, type Patient } from "./finding.ts"

/** Maximum age of an error, in ms, for a warning. */
const NEW = 7 * DAY

export function logChecks({ stateHome, now }: Patient): Finding[] {
  const entries = [`${logPath(stateHome)}.1`, logPath(stateHome)].flatMap(entriesIn)
  const latest = entries.at(-1)
  if (latest === undefined) return [finding("log", "ok", "no error has been logged")]
  const recent = entries.filter(({ time }) => now - Date.parse(time) < NEW)
  if (recent.length === 0) {
    return [finding("log", "ok", `no error this week; the last on ${latest.time.slice(0, 10)}`)]
  }
  const code = latest.code === "" ? "" : ` (${latest.code})`
  return [
    finding("log", "warn", `${count(recent.length, "error")} since ${recent[0]!.time}`, {
      hint: `all are in ${logPath(stateHome)}`,
      details: [`${latest.time} ${latest.event}: ${cut(oneLine(latest.message), 160)}${code}`],
    }),
  ]
}
