/**
 * `ctxbridge statusline`: hot as the hooks, since the host calls it after every message. Whatever comes: exit 0, nothing
 * on stderr, one line of ours.
 */
import { rememberWindow } from "../autopilot/files.ts"
import { readHostContext } from "../autopilot/host-context.ts"
import { joinLines, type LineFacts, renderLine } from "../autopilot/line.ts"
import { judge } from "../autopilot/track.ts"
import { hostLimits, loadSettings, type Settings, wantsColor } from "../config/load.ts"
import { endNow } from "./end.ts"
import { readState } from "./state.ts"
import { readInput } from "./stdin.ts"

/** ms of performance.now() until which we wait for the host's document. */
const STDIN_DEADLINE = 1000
/** ms that another status line has. The host starts the next one meanwhile, and drops this one. */
const OTHER_LASTS = 2000
/** Characters of it that are read. */
const OTHER_LENGTH = 64_000

/** @param other command of a status line that was there before ours */
export async function runStatusLine(other: string | undefined): Promise<void> {
  process.on("uncaughtException", endNow)
  process.on("unhandledRejection", endNow)
  process.umask(0o077)
  const input = readInput(STDIN_DEADLINE)
  const theirs = other === undefined ? undefined : said(other, input)
  const line = own(input)
  const text = theirs === undefined ? line : joinLines(line, await theirs)
  if (text !== "") await Bun.write(Bun.stdout, `${text}\n`)
  endNow()
}

function own(input: Uint8Array): string {
  const settings = loadSettings()
  if (!settings.resolved.config["statusline.enabled"]) return ""
  try {
    return renderLine(factsOf(parse(input), settings), wantsColor(true))
  } catch {
    // Not logged: the log brings the filter for secrets with it, which costs more than all the rest of this.
    return renderLine({ source: "state", tokens: undefined, share: undefined, compactions: 0 }, false)
  }
}

function parse(input: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(input).toString("utf8"))
  } catch {
    return undefined
  }
}

/** The figures of the document on stdin. */
export const readStatusLine = (): LineFacts => factsOf(parse(readInput(STDIN_DEADLINE)), loadSettings())

/** The host's figures, else what the hooks know of the session. */
function factsOf(document: unknown, { paths, resolved }: Settings): LineFacts {
  const { session, window, tokens, share } = readHostContext(document)
  const context = session === undefined ? undefined : readState(paths.dataHome, session).context
  const compactions = context?.compactions ?? 0
  // Only of a session that hooks know: we are no archive's beginning.
  if (context !== undefined && session !== undefined && window !== undefined)
    rememberWindow(paths.dataHome, session, window)
  if (tokens !== undefined && share !== undefined) return { source: "host", tokens, share, compactions }
  const judgement =
    context &&
    judge(context, {
      option: resolved.config["autopilot.window"],
      told: window,
      limits: hostLimits(),
      thresholds: {
        warn: resolved.config["autopilot.warn"],
        critical: resolved.config["autopilot.critical"],
      },
    })
  if (judgement !== undefined) {
    return { source: "state", tokens: judgement.tokens, share: judgement.share, compactions }
  }
  return { source: share === undefined ? "state" : "host", tokens, share, compactions }
}

/** What another status line says, given the same document, in its time. */
async function said(command: string, input: Uint8Array): Promise<string> {
  const child = Bun.spawn(["/bin/sh", "-c", command], {
    stdin: input,
    stdout: "pipe",
    stderr: "ignore",
    // In a group of its own, that ends as one.
    detached: true,
  })
  const decoder = new TextDecoder()
  let text = ""
  const read = async (): Promise<boolean> => {
    for await (const piece of child.stdout) {
      text += decoder.decode(piece, { stream: true })
      if (text.length > OTHER_LENGTH) return false
    }
    return true
  }
  let timer: Timer | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, OTHER_LASTS, false)
  })
  const isDone = await Promise.race([read(), late])
  clearTimeout(timer)
  // What it leaves in the background may go on. Where it hangs, all of it ends, or one more would be left each time.
  if (isDone) child.kill()
  else endGroup(child.pid)
  return text
}

function endGroup(leader: number): void {
  try {
    process.kill(-leader, "SIGKILL")
  } catch {
    // It ended at this moment.
  }
}
