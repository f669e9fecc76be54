/** Hooks, not only ours, whose timeout was probably meant in milliseconds. */
import { isOurHook } from "../host/hooks-table.ts"
import { count } from "../util/text.ts"
import { type Finding, finding, type Patient } from "./finding.ts"
import { settingsOf } from "./our-hooks.ts"

/** In seconds. */
const LONGEST = 600

export function timeoutCheck(patient: Patient): Finding[] {
  const long = settingsOf(patient).flatMap(({ scope, hooks }) =>
    hooks.filter(({ timeout = 0 }) => timeout > LONGEST).map((hook) => ({ scope, ...hook })),
  )
  if (long.length === 0) return [finding("timeouts", "ok", "no hook waits longer than 10 minutes")]
  return [
    finding("timeouts", "warn", `${count(long.length, "hook")} may hang for more than 10 minutes`, {
      hint: "timeouts are in seconds: 5000 is 83 minutes",
      details: long.map(
        ({ scope, event, command, timeout }) =>
          `${scope}, ${event}: ${timeout} s${isOurHook(command) ? ", ours: ctxbridge uninstall, then install" : ""}`,
      ),
    }),
  ]
}
