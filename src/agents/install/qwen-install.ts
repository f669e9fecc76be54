/** What is ours in Qwen Code's settings. */
import { HOOK_TIMEOUT_SECONDS } from "../../claude/hooks.ts"
import { hookTable } from "../../claude/install/hooks-table.ts"
import { qwenSettings } from "../qwen/qwen-places.ts"
import { settingsInstaller } from "./settings-install.ts"

const AGENT = "qwen"

/**
 * After a compaction, the next tool or prompt is answered. On Windows, whichever shell Qwen Code was started from runs a
 * command: each of them a plain path, but none the same quotation marks.
 */
const TABLE = hookTable(
  AGENT,
  {
    SessionStart: "session-start",
    UserPromptSubmit: "user-prompt-submit",
    PostToolUse: "post-tool-use",
    PreCompact: "pre-compact",
    Stop: "stop",
    SubagentStop: "subagent-stop",
    SessionEnd: "session-end",
  },
  () => ({ timeout: HOOK_TIMEOUT_SECONDS }),
  "powershell if told",
)

export const QWEN_INSTALLER = settingsInstaller({
  agent: AGENT,
  title: "Qwen Code",
  tried: ["0.24.4"],
  table: TABLE,
  file: qwenSettings,
})
