/**
 * `ctxbridge __compact`: Claude Code's plugin asks what is to take the place of a conversation. One JSON document in, one
 * out. Whatever fails: no output, and an exit code other than 0, with which the plugin lets Claude Code compact.
 */
import { readFileSync } from "node:fs"
import { loadSettings, withProject } from "../../config/load.ts"
import { withOwnPatterns } from "../../config/own-patterns.ts"
import { isObject, stringOf } from "../../transcript/json.ts"
import { EXIT } from "../../util/errors.ts"
import { logError } from "../../util/log.ts"
import { answerHost } from "../../util/write-output.ts"
import { answerCompaction } from "./answer-compaction.ts"
import { keptMessages, outlineOf } from "./kept-messages.ts"

const STDIN = 0
/** UTF-16 units of JSON of the turn that is not over: about 10,000 tokens. */
const MOST_KEPT = 40_000

export function runCompaction(): void {
  process.umask(0o077)
  const settings = withOwnPatterns(loadSettings())
  try {
    const asked: unknown = JSON.parse(readFileSync(STDIN, "utf8"))
    const session = isObject(asked) ? stringOf(asked["session"]) : undefined
    if (!isObject(asked) || session === undefined || !/^[\w.-]{1,200}$/.test(session))
      throw new Error("not a question of the plugin")
    const cwd = stringOf(asked["cwd"])
    const kept = keptMessages(outlineOf(asked["messages"]), String(asked["trigger"]), MOST_KEPT)
    const focus = stringOf(asked["instructions"])
    const compaction = { session, cwd, focus, isOpen: kept.length > 0 }
    const context = answerCompaction(withProject(settings, cwd), compaction, Date.now())
    answerHost(JSON.stringify({ context, kept }))
  } catch (error) {
    logError(settings.paths.stateHome, { event: "session.compact", error })
    process.exitCode = EXIT.failed
  }
}
