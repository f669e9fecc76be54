/**
 * Tags with which hosts mark words in user messages, by what they mark. Read from the programs of 1.0.98 to 2.1.330 and
 * from transcripts of theirs.
 */

/** Reports of tasks, of other agents and of services that the host watches: anyone may have written what they quote. */
export const NOTICE_TAGS: ReadonlySet<string> = new Set([
  ...["task-notification", "task_notification", "teammate-message", "cross-session-message", "agent-message"],
  ...["local-command-caveat", "mcp-resource-update", "mcp-polling-update", "channel", "tick"],
  ...["ci-monitor-event", "github-webhook-activity", "webhook-payload", "slack-messages", "slack-ping"],
  ...["slack-tag-message", "remote-review", "remote-review-progress", "fetched-web-content"],
  ...["untrusted-widget-state", "coordinator-relay", "artifact-file-content", "artifact-type-instructions"],
  ...["artifact-origin-notes", "artifact-stored-declaration", "cowritten-artifact-html", "cc-memory"],
])

/**
 * What a human had open or selected, quoted as it is: a file, a terminal, a page. The host writes each as a block of its
 * own and judges it by its first and last characters, as what it quotes may hold the same tags.
 */
export const SHOWN_TAGS: ReadonlySet<string> = new Set([
  ...["ide_opened_file", "ide_selection", "ide_diagnostics", "terminal", "browser", "browser_instruction"],
])

/** Other blocks that the host puts beside a human's words. */
export const BESIDE_TAGS: ReadonlySet<string> = new Set([
  ...["system-reminder", "new-diagnostics", "user-prompt-submit-hook", "session-start-hook"],
  "post-tool-use-hook",
])
