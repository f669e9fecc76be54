/**
 * `ctxbridge __compact`: Claude Code's plugin asks what is to take the place of a conversation. One JSON document in, one
 * out. Whatever fails: no output, and an exit code other than 0, with which the plugin lets Claude Code compact.
 */
import { readFileSync } from "node:fs"
import { EXIT } from "../../base/errors.ts"
import { logError } from "../../base/log.ts"
import { currentFolder } from "../../base/path.ts"
import { answerClaude } from "../../base/write-output.ts"
import { transcriptPath } from "../../claude/hooks.ts"
import { loadSettings, withProject } from "../../config/load.ts"
import { withOwnPatterns } from "../../config/own-patterns.ts"
import { isObject, stringOf } from "../../record/json.ts"
import { answerCompaction, turnInProgress } from "./answer-compaction.ts"

const STDIN = 0

export function runCompaction(): void {
  process.umask(0o077)
  const settings = withOwnPatterns(loadSettings())
  try {
    const asked: unknown = JSON.parse(readFileSync(STDIN, "utf8"))
    const session = isObject(asked) ? stringOf(asked["session"]) : undefined
    if (!isObject(asked) || session === undefined || !/^[\w.-]{1,200}$/.test(session))
      throw new Error("not a question of the plugin")
    const transcript = transcriptPath(asked["transcriptPath"])
    if (transcript === undefined) throw new Error("no transcript")
    const open = turnInProgress(asked["trigger"], asked["messages"])
    const focus = stringOf(asked["instructions"])
    // Claude Code runs us in the session's folder.
    const cwd = currentFolder()
    const context = answerCompaction(
      withProject(settings, cwd),
      { session, transcript, cwd, focus, open },
      Date.now(),
    )
    answerClaude(JSON.stringify({ context, prompt: open?.prompt }))
  } catch (error) {
    logError(settings.paths.stateHome, { event: "session.compact", error })
    process.exitCode = EXIT.failed
  }
}
