/** What is ours in Gemini CLI's settings. */
import { HOOK_TIMEOUT_SECONDS } from "../../claude/hooks.ts"
import { hookTable } from "../../claude/install/hooks-table.ts"
import { geminiSettings } from "../gemini/gemini-places.ts"
import { settingsInstaller } from "./settings-install.ts"

const AGENT = "gemini"

/** What it calls before a compaction is called before each request, so it is left out. */
const TABLE = hookTable(
  AGENT,
  {
    SessionStart: "session-start",
    BeforeAgent: "user-prompt-submit",
    AfterTool: "post-tool-use",
    AfterAgent: "stop",
    SessionEnd: "session-end",
  },
  // In ms.
  () => ({ timeout: HOOK_TIMEOUT_SECONDS * 1000 }),
)

export const GEMINI_INSTALLER = settingsInstaller({
  agent: AGENT,
  title: "Gemini CLI",
  tried: ["0.61.0"],
  table: TABLE,
  file: geminiSettings,
})
