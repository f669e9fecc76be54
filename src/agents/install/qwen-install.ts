/** What is ours in Qwen Code's settings. */
import { HOOK_TIMEOUT_SECONDS } from "../../claude/hooks.ts"
import { hookTable } from "../../claude/install/hooks-table.ts"
import { qwenSettings } from "../qwen/qwen-places.ts"
import { settingsInstaller } from "./settings-install.ts"

const AGENT = "qwen"

/** After a compaction, the next tool or prompt is answered. */
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
)

export const QWEN_INSTALLER = settingsInstaller({
  agent: AGENT,
  title: "Qwen Code",
  tried: ["0.24.4"],
  table: TABLE,
  file: qwenSettings,
})
