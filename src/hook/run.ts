/**
 * The hot program. Whatever happens: exit 0, nothing on stderr, valid output or none. Only a call for no event at all
 * fails, as Claude Code makes none: the installation is broken, and nobody would notice.
 *
 * Claude Code waits for us at every prompt, so: no packages, no waiting for child processes, one connection to the
 * database, one transaction.
 */

import { EXIT } from "../base/errors.ts"
import { existsSync } from "../base/fs.ts"
import { compileLate, endNow, endWith } from "../base/own-program.ts"
import { answerClaude, STDERR, writeAll } from "../base/write-output.ts"
import { CLAUDE_HOOKS } from "../claude/hooks.ts"
import { loadSettings, type Settings, withProject } from "../config/load.ts"
import { importDoneFile } from "../job/import-done.ts"
import { eventNamed } from "../record/hook-event.ts"
import { noted } from "./call.ts"
import { readDocument } from "./stdin.ts"
import { handle } from "./steps.ts"

/** Share of the deadline for waiting for Claude Code's document. */
const STDIN_SHARE = 0.7

/**
 * @param name of the event; Claude Code's document has it, too
 * @param agent that calls; undefined: Claude Code
 */
export async function runHook(name: string | undefined, agent?: string): Promise<void> {
  process.on("uncaughtException", endNow)
  process.on("unhandledRejection", endNow)
  process.umask(0o077)
  compileLate()
  const text = await answer(name, agent)
  if (text === undefined) {
    writeAll(STDERR, NO_EVENT)
    endWith(EXIT.usage)
  }
  answerClaude(text)
  endNow()
}

const NO_EVENT =
  "ctxbridge: hook was called without an event; `ctxbridge install` registers the hooks again, `ctxbridge doctor` says what is wrong\n"

/** @returns undefined if neither the caller nor Claude Code's document names an event */
async function answer(name: string | undefined, agent: string | undefined): Promise<string | undefined> {
  const settings = loadSettings()
  try {
    const { config } = settings.resolved
    if (!config["capture.enabled"]) return ""
    const deadline = config["hook.deadline"]
    const document = readDocument(deadline * STDIN_SHARE)
    if (!name) {
      const { hook_event_name: told } = (document ?? {}) as { hook_event_name?: unknown }
      if (typeof told !== "string") return undefined
      name = told
    }
    const known = eventNamed(name)
    if (!known) throw new Error("unknown event")
    // Others' forms are loaded: Claude Code's hooks start no slower for them.
    const form =
      agent === undefined ? CLAUDE_HOOKS : await (await import("./other-agents.ts")).hookFormOf(agent)
    const event = form.decode(known, document, settings.paths)
    const set = withProject(settings, event?.cwd)
    // Few people have patterns of their own.
    const hasPatterns = set.paths.secrets.patterns.length > 0
    const own = hasPatterns ? (await import("../config/own-patterns.ts")).withOwnPatterns(set) : set
    if (known === "session-start" && event?.source !== "compact") await noteBadOptions(own)
    if (event === undefined) return ""
    const reply = await handle(event, own, deadline, form)
    const { dataHome } = settings.paths
    const told =
      event.source === "startup" && existsSync(importDoneFile(dataHome))
        ? await (await import("./seldom.ts")).withImportTold(reply, dataHome, form)
        : reply
    return form.encode(event, told)
  } catch (error) {
    // Whatever else the caller named stays out of the log.
    await log(settings, eventNamed(`${name}`) ?? "hook", error)
    return ""
  }
}

/** Logs bad options, once per session. Hooks carry on without them; commands stop and tell the user. */
async function noteBadOptions(settings: Settings): Promise<void> {
  if (settings.resolved.problems.length + settings.broken.length === 0) return
  const refusal = (await import("../config/config-text.ts")).refusalOf(settings)
  if (refusal !== undefined) await log(settings, "session-start", new Error(refusal.message))
}

const log = ({ paths }: Settings, event: string, error: unknown): Promise<void> =>
  noted(paths.stateHome, { event, error })
