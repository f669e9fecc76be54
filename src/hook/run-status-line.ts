/**
 * `ctxbridge statusline`: as hot as the hooks, since Claude Code calls it after every message. Whatever happens: exit
 * 0, nothing on stderr, one line of ours.
 */

import { parseJson } from "../base/json-files.ts"
import { endNow } from "../base/own-program.ts"
import { killGroup, ownGroup } from "../base/processes.ts"
import { answerClaude } from "../base/write-output.ts"
import { inHookShell } from "../claude/settings/hook-shell.ts"
import { readStatusLineInput } from "../claude/status-line-input.ts"
import { claudeLimits, loadSettings, type Settings, wantsColor } from "../config/load.ts"
import { hasBudget } from "../config/options.ts"
import { type ContextState, judge, rememberWindow } from "../restore/window/context-state.ts"
import { joinLines, type LineFacts, NOTHING_KNOWN, renderLine } from "../restore/window/status-line-text.ts"
import { wishesIn } from "../restore/window/window.ts"
import { readState } from "./state.ts"
import { readInput } from "./stdin.ts"

/** ms of performance.now() until which we wait for Claude Code's document. */
const STDIN_DEADLINE = 1000
/** ms for the other status line. Meanwhile Claude Code starts the next one and drops this one. */
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
  const line = await own(input)
  const text = theirs === undefined ? line : joinLines(line, await theirs)
  if (text !== "") answerClaude(`${text}\n`)
  endNow()
}

async function own(input: Uint8Array): Promise<string> {
  const settings = loadSettings()
  if (!settings.resolved.config["statusline.enabled"]) return ""
  return Promise.try(async () => {
    const line = renderLine(await factsOf(parse(input), settings), wantsColor(true))
    return line + (await signOf(settings))
  }).catch(
    // Not logged: the log would load the filter for secrets, which costs more than everything else here.
    () => renderLine(NOTHING_KNOWN, false),
  )
}

/** Of a budget that is nearly used up. Nothing is loaded where none is set. */
async function signOf({ paths, resolved: { config } }: Settings): Promise<string> {
  if (!hasBudget(config)) return ""
  const { budgetSign } = await import("../restore/window/budget-use.ts")
  return budgetSign(paths.dataHome, config, Date.now(), wantsColor(true))
}

const parse = (input: Uint8Array): unknown => parseJson(Buffer.from(input).toString("utf8"))

/** The figures of the document on stdin. */
export const readStatusLine = (): Promise<LineFacts> =>
  factsOf(parse(readInput(STDIN_DEADLINE)), loadSettings())

/** Claude Code's figures, or else what the hooks know of the session. */
async function factsOf(document: unknown, { paths, resolved }: Settings): Promise<LineFacts> {
  const host = readStatusLineInput(document)
  const { session, window: told } = host
  const isTracked = session !== undefined && resolved.config["autopilot.enabled"]
  const state = isTracked ? readState(paths.dataHome, session) : {}
  const { context } = state
  // Only for sessions that hooks know: a status line must not be what creates an archive.
  if (isTracked && context !== undefined && told !== undefined) rememberWindow(paths.dataHome, session, told)
  const now = host.tokens === undefined && context !== undefined ? await sinceThen(context, host) : context
  const { tokens = now?.tokens, model = now?.model, version = now?.version } = host
  const circumstances = { ...wishesIn(resolved.config), told, limits: claudeLimits() }
  const reading = { ...now, tokens, model, version }
  let judgement = judge(reading, circumstances)
  if (judgement !== undefined && judgement.zone !== "ok") {
    // Claude Code's files may say that it does not compact by itself, which they are asked only where it matters.
    const { autoCompactIn } = await import("../claude/settings/read-settings.ts")
    const autoCompact = autoCompactIn({ ...paths, cwd: host.cwd })
    judgement = judge(reading, { ...circumstances, limits: { ...circumstances.limits, autoCompact } })
  }
  const known = { tracked: Object.keys(state).length > 0, compactions: now?.compactions ?? 0 }
  if (judgement === undefined) return { ...NOTHING_KNOWN, ...known, ...toldShare(host.share) }
  const { share, pressure, zone } = judgement
  const isTold = host.tokens !== undefined
  const estimated = !isTold && now?.estimated === true
  return { ...known, source: isTold ? "host" : "state", tokens, estimated, share, pressure, zone }
}

/** All that is known when Claude Code reports a percentage and no counts. */
const toldShare = (share: number | undefined): Partial<LineFacts> =>
  share === undefined ? {} : { source: "host", share }

/**
 * The context when Claude Code has counted nothing: right after a compaction, before any hook has seen it.
 *
 * @param context as the last hook left it
 */
async function sinceThen(
  context: ContextState,
  { transcript, isEmptied }: ReturnType<typeof readStatusLineInput>,
): Promise<ContextState> {
  if (transcript === undefined) return context
  const now = (await import("./watch-window.ts")).followFile(context, transcript, context.at ?? 0)
  if (!isEmptied || now.estimated === true) return now
  // The compaction is not even in the transcript yet.
  const { tokens: _before, base, ...rest } = now
  return base ? { ...rest, base, tokens: base, estimated: true } : rest
}

/** Output of another status line given the same document, as far as it comes in time. */
async function said(command: string, input: Uint8Array): Promise<string> {
  const child = Bun.spawn(inHookShell(command), {
    stdin: input,
    stdout: "pipe",
    stderr: "ignore",
    ...ownGroup,
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
  else killGroup(child.pid)
  return text
}
