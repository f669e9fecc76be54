/**
 * The hot program. Whatever happens: exit 0, nothing on stderr, valid output or none.
 *
 * The host waits for us at every prompt, so: no packages, no waiting for child processes, one connection to the
 * database, one transaction.
 */
import { loadSettings, type Settings, withProject } from "../config/load.ts"
import { refusalOf } from "../config/refusal.ts"
import { loadFilter } from "../secrets/late.ts"
import { compileLate } from "../util/compiling.ts"
import { logError } from "../util/log.ts"
import { endNow } from "./end.ts"
import { decodeEvent, type EventName, isEvent } from "./event.ts"
import { handle } from "./handle.ts"
import { readDocument } from "./stdin.ts"

/** Share of the deadline for waiting for the host's document. */
const STDIN_SHARE = 0.7

export async function runHook(name: string | undefined): Promise<void> {
  process.on("uncaughtException", endNow)
  process.on("unhandledRejection", endNow)
  process.umask(0o077)
  compileLate()
  if (!isEvent(name)) return endNow()
  await loadFilter()
  const reply = await answer(name)
  if (reply !== "") await Bun.write(Bun.stdout, reply)
  endNow()
}

async function answer(name: EventName): Promise<string> {
  const settings = loadSettings()
  try {
    const { config } = settings.resolved
    if (!config["capture.enabled"]) return ""
    const deadline = config["hook.deadline"]
    const event = decodeEvent(name, readDocument(deadline * STDIN_SHARE))
    if (name === "session-start" && event?.source !== "compact") noteBadOptions(settings)
    return event === undefined ? "" : await handle(event, withProject(settings, event.cwd), deadline)
  } catch (error) {
    logError(settings.paths.stateHome, { event: name, error })
    return ""
  }
}

/** Logs bad options, once per session. Hooks carry on without them; commands stop and tell the user. */
function noteBadOptions(settings: Settings): void {
  const refusal = refusalOf(settings)
  if (refusal !== undefined)
    logError(settings.paths.stateHome, { event: "session-start", error: new Error(refusal.message) })
}
