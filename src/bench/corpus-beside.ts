/** What the host writes beside a conversation: states, hooks, queued prompts, backups of files, figures of a turn. */
import type { Chain } from "./corpus-chain.ts"
import { capital, type Project } from "./corpus-project.ts"
import type { Dice } from "./seeded-random.ts"

export class Beside {
  readonly #dice: Dice
  readonly #project: Project
  readonly #chain: Chain
  readonly #sessionId: string

  constructor(dice: Dice, project: Project, chain: Chain, sessionId: string) {
    this.#dice = dice
    this.#project = project
    this.#chain = chain
    this.#sessionId = sessionId
  }

  /** Before a session's first prompt. */
  opening(): void {
    const sessionId = this.#sessionId
    this.#chain.loose({ type: "mode", mode: "normal", sessionId })
    this.#chain.loose({ type: "permission-mode", permissionMode: "default", sessionId })
    const content = this.#project.prose(Math.min(700, this.#chain.room))
    this.#hook("SessionStart:startup", "session-start", content, [20, 300])
    const skills = Array.from({ length: 12 }, () => `- ${this.#project.name()}: ${this.#project.prose(90)}`)
    if (this.#chain.room > 4_000)
      this.#chain.attachment({ type: "skill_listing", content: skills.join("\n"), isInitial: true })
  }

  queued(): void {
    const sessionId = this.#sessionId
    const content = this.#project.prose(this.#dice.between(20, 260))
    this.#chain.loose({
      type: "queue-operation",
      operation: "enqueue",
      timestamp: this.#chain.now(900),
      sessionId,
      content,
    })
    this.#chain.loose({
      type: "queue-operation",
      operation: "dequeue",
      timestamp: this.#chain.now(4_000),
      sessionId,
    })
  }

  /** Before a prompt. */
  snapshot(messageId: string): void {
    const d = this.#dice
    const timestamp = this.#chain.now(1)
    const trackedFileBackups: Record<string, unknown> = {}
    const count = d.between(0, 8)
    for (let i = 0; i < count && this.#chain.room > 2_000; i++) {
      const path = this.#project.files[i]!.path.slice(this.#project.root.length + 1)
      const version = d.between(1, 9)
      trackedFileBackups[path] = {
        backupFileName: `${d.hex(16)}@v${version}`,
        version,
        backupTime: timestamp,
      }
    }
    const snapshot = { messageId, trackedFileBackups, timestamp }
    this.#chain.loose({ type: "file-history-snapshot", messageId, snapshot, isSnapshotUpdate: false })
  }

  /** Behind a prompt, at times. */
  prompted(): void {
    const d = this.#dice
    if (d.chance(0.5)) {
      const stdout = d.chance(0.3) ? this.#project.prose(300) : ""
      this.#hook("UserPromptSubmit", "prompt-submit", stdout, [10, 200])
    }
    if (d.chance(0.3)) {
      const aiTitle = capital(this.#project.phrase(6))
      this.#chain.loose({ type: "ai-title", aiTitle, sessionId: this.#sessionId })
    }
  }

  #hook(hookName: string, file: string, stdout: string, [least, most]: readonly [number, number]): void {
    this.#chain.attachment({
      type: "hook_success",
      hookName,
      toolUseID: this.#dice.uuid(),
      hookEvent: hookName.split(":")[0],
      content: stdout,
      stdout,
      stderr: "",
      exitCode: 0,
      command: `~/.claude/hooks/${file}`,
      durationMs: this.#dice.between(least, most),
    })
  }

  /** Behind an edit's answer. */
  edited(path: string): void {
    const backupFileName = `${this.#dice.hex(16)}@v2`
    const backup = { backupFileName, version: 2, backupTime: this.#chain.now(1) }
    this.#chain.loose({
      type: "file-history-delta",
      messageId: this.#chain.parent,
      trackedFileBackups: { [path]: backup },
    })
  }

  /** Of the open tasks. */
  reminder(): void {
    const d = this.#dice
    const content = Array.from({ length: d.between(0, 4) }, (_, i) => ({
      id: String(i + 1),
      subject: this.#project.phrase(6),
      status: d.pick(["pending", "in_progress", "completed"]),
      blocks: [],
      blockedBy: [],
    }))
    this.#chain.attachment({ type: "task_reminder", content, itemCount: content.length })
  }

  /** At the end of a turn. @param steps API messages with tools */
  closing(steps: number): void {
    const d = this.#dice
    const sessionId = this.#sessionId
    this.#chain.add(
      {
        type: "system",
        subtype: "stop_hook_summary",
        hookCount: 1,
        hookInfos: [{ command: "~/.claude/hooks/stop", durationMs: d.between(10, 300) }],
        hookErrors: [],
        preventedContinuation: false,
        stopReason: "",
        hasOutput: false,
        level: "suggestion",
      },
      20,
    )
    this.#chain.add(
      {
        type: "system",
        subtype: "turn_duration",
        durationMs: d.between(2_000, 900_000),
        messageCount: steps * 2 + 2,
        isMeta: false,
      },
      2,
    )
    const lastPrompt = this.#project.prose(d.between(20, 180))
    this.#chain.loose({ type: "last-prompt", lastPrompt, leafUuid: this.#chain.parent, sessionId })
    this.#chain.loose({ type: "mode", mode: "normal", sessionId })
  }
}
