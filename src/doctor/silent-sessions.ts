/** Sessions whose hooks ran but whose transcript never appeared. */
import { readdirSync, readFileSync, statSync } from "node:fs"
import { DAY } from "../host/host-clean-up.ts"
import { transcriptsBelow } from "../job/find-transcripts.ts"
import { tryTo } from "../util/files.ts"
import { basename, join } from "../util/path.ts"
import { count } from "../util/text.ts"
import { vaultFiles } from "../vault/vault-files.ts"
import { type Finding, finding, MINUTE, type Patient, SHOWN } from "./finding.ts"
import { projectsOf } from "./our-hooks.ts"

/** Maximum age of a session to report, in ms since its last hook. */
const RECENT = 30 * DAY

export function sessionChecks(patient: Patient): Finding {
  const { dataHome, now } = patient
  const written = new Set([
    ...vaultFiles(dataHome).map(({ copy }) => basename(copy).replace(/(\.~\d+)?\.jsonl\.zst$/, "")),
    ...transcriptsBelow(projectsOf(patient)).map((path) => basename(path, ".jsonl")),
  ])
  const silent = prompted(dataHome).filter(
    ({ session, time }) => !written.has(session) && now - time > MINUTE && now - time < RECENT,
  )
  if (silent.length === 0) return finding("silent", "ok", "every session with a prompt has a transcript")
  return finding(
    "silent",
    "warn",
    `${count(silent.length, "session")} wrote no transcript: nothing to archive`,
    {
      hint: "started with --no-session-persistence, inside another session, or with cleanupPeriodDays 0",
      details: silent.slice(0, SHOWN).map(({ session }) => session),
    },
  )
}

/** Sessions that had a human prompt, without which the host does not start a transcript. */
function prompted(dataHome: string): { session: string; time: number }[] {
  const folder = join(dataHome, "sessions")
  const names = tryTo(() => readdirSync(folder)) ?? []
  const states = names.filter((name) => name.endsWith(".json") && !name.startsWith("clear-"))
  // One that is being replaced right now, or incomplete, the next hook writes again.
  return states.flatMap((name) => {
    const file = join(folder, name)
    const time = tryTo(() => statSync(file).mtimeMs)
    const prompt = tryTo(() => JSON.parse(readFileSync(file, "utf8")).prompt)
    return time === undefined || typeof prompt !== "string"
      ? []
      : [{ session: basename(name, ".json"), time }]
  })
}
