/** Sessions whose hooks ran but whose transcript never appeared. */

import { readdirSync, readFileSync, statSync } from "node:fs"
import { DAY } from "../claude/settings/clean-up.ts"
import { tryTo } from "../util/files.ts"
import { basename, join } from "../util/path.ts"
import { count } from "../util/text.ts"
import { type Finding, finding, MINUTE, type Patient, SHOWN } from "./finding.ts"
import { inventoryOf } from "./inventory.ts"

const ALL_WRITTEN = "every session with a prompt has a transcript"

/** Maximum age of a session to report, in ms since its last hook. */
const RECENT = 30 * DAY

export function sessionChecks(patient: Patient): Finding {
  const { dataHome, now } = patient
  const asked = prompted(dataHome, now)
  const { copies, transcripts } = inventoryOf(patient)
  if (asked.length === 0) return finding("silent", "ok", ALL_WRITTEN)
  const written = new Set([
    ...copies().map(({ copy }) => basename(copy).replace(/(\.~\d+)?\.jsonl\.zst$/, "")),
    ...transcripts().map(({ path }) => basename(path, ".jsonl")),
  ])
  const silent = asked.filter((session) => !written.has(session))
  if (silent.length === 0) return finding("silent", "ok", ALL_WRITTEN)
  return finding(
    "silent",
    "warn",
    `${count(silent.length, "session")} wrote no transcript: nothing to archive`,
    {
      hint: "started with --no-session-persistence, inside another session, or with cleanupPeriodDays 0",
      details: silent.slice(0, SHOWN),
    },
  )
}

/** Sessions with a human prompt, without which Claude Code starts no transcript, and a hook of late, but not just now. */
function prompted(dataHome: string, now: number): string[] {
  const folder = join(dataHome, "sessions")
  const names = tryTo(() => readdirSync(folder)) ?? []
  const states = names.filter((name) => name.endsWith(".json") && !name.startsWith("clear-"))
  return states.flatMap((name) => {
    const file = join(folder, name)
    const age = now - (tryTo(() => statSync(file).mtimeMs) ?? 0)
    if (age <= MINUTE || age >= RECENT) return []
    // One that is being replaced right now, or incomplete, the next hook writes again.
    const prompt = tryTo(() => JSON.parse(readFileSync(file, "utf8")).prompt)
    return typeof prompt === "string" ? [basename(name, ".json")] : []
  })
}
