/**
 * `ctxbridge statusline`: as hot as the hooks, since the host calls it after every message. Whatever happens: exit 0,
 * nothing on stderr, one line of ours.
 */
import { rememberWindow } from "../autopilot/autopilot-files.ts"
import { readHostContext } from "../autopilot/host-context.ts"
import { joinLines, type LineFacts, renderLine } from "../autopilot/status-line-text.ts"
import { judge } from "../autopilot/track-context.ts"
import { windowOf } from "../autopilot/window.ts"
import { hostLimits, loadSettings, type Settings, wantsColor } from "../config/load.ts"
import { parseJson } from "../util/parse-json.ts"
import { answerHost } from "../util/write-output.ts"
import { endNow } from "./end-program.ts"
import { readState } from "./state.ts"
import { readInput } from "./stdin.ts"

/** ms of performance.now() until which we wait for the host's document. */
const STDIN_DEADLINE = 1000
/** ms for the other status line. Meanwhile the host starts the next one and drops this one. */
const OTHER_LASTS = 2000
/** Most characters to read of its output. */
const OTHER_LENGTH = 64_000

/** @param other command of the status line that ours replaced */
export async function runStatusLine(other: string | undefined): Promise<void> {
  process.on("uncaughtException", endNow)
  process.on("unhandledRejection", endNow)
  process.umask(0o077)
  const input = readInput(STDIN_DEADLINE)
  const theirs = other === undefined ? undefined : said(other, input)
  const line = own(input)
  const text = theirs === undefined ? line : joinLines(line, await theirs)
  if (text !== "") answerHost(`${text}\n`)
  endNow()
}

function own(input: Uint8Array): string {
  const settings = loadSettings()
  if (!settings.resolved.config["statusline.enabled"]) return ""
  try {
    return renderLine(factsOf(parse(input), settings), wantsColor(true))
  } catch {
    // Not logged: the log would load the filter for secrets, which costs more than everything else here.
    return renderLine({ source: "state", tokens: undefined, share: undefined, compactions: 0 }, false)
  }
}

const parse = (input: Uint8Array): unknown => parseJson(Buffer.from(input).toString("utf8"))

/** The figures of the document on stdin. */
export const readStatusLine = (): LineFacts => factsOf(parse(readInput(STDIN_DEADLINE)), loadSettings())

/** The host's figures, or else what the hooks know of the session. */
function factsOf(document: unknown, { paths, resolved }: Settings): LineFacts {
  const { session, window, tokens, share: told } = readHostContext(document)
  const option = resolved.config["autopilot.window"]
  const believed = windowOf({ option, told: window, seen: tokens ?? 0, limits: {} })
  const share = tokens !== undefined && believed === option ? tokens / option : told
  const context = session === undefined ? undefined : readState(paths.dataHome, session).context
  const compactions = context?.compactions ?? 0
  // Only for sessions that hooks know: a status line must not be what creates an archive.
  if (context !== undefined && session !== undefined && window !== undefined)
    rememberWindow(paths.dataHome, session, window)
  if (tokens !== undefined && share !== undefined) return { source: "host", tokens, share, compactions }
  const judgement =
    context &&
    judge(context, {
      option,
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

/** Output of another status line given the same document, as far as it comes in time. */
async function said(command: string, input: Uint8Array): Promise<string> {
  const child = Bun.spawn(["/bin/sh", "-c", command], {
    stdin: input,
    stdout: "pipe",
    stderr: "ignore",
    // In a group of its own, which can be killed as one.
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
  // What it leaves in the background may go on. If it hangs, its group is killed, or each call would leave one more.
  if (isDone) child.kill()
  else endGroup(child.pid)
  return text
}

function endGroup(leader: number): void {
  try {
    process.kill(-leader, "SIGKILL")
  } catch {
    // It has just ended.
  }
}
