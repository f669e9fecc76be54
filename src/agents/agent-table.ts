/**
 * The agents whose sessions are kept: a further one is a folder beside this file, and a row here. Its transcripts are then
 * found, imported, searched and shown like the others'.
 *
 * Whoever looks at a path needs layouts only, and hooks must not load what decodes lines: so that stands behind a function
 * that requires it, and what answers hooks behind one that imports it. Pure.
 */
import { claudeLayout } from "../claude/places.ts"
import type { Agent, FileLayout } from "../record/agent.ts"
import type { HookForm } from "../record/hook-event.ts"
import { ampLayout } from "./amp/amp-places.ts"
import { clineLayout } from "./cline/cline-places.ts"
import { codexLayout } from "./codex/codex-places.ts"
import { copilotLayout } from "./copilot/copilot-places.ts"
import { cursorLayout } from "./cursor/cursor-places.ts"
import { droidLayout } from "./droid/droid-places.ts"
import { geminiLayout } from "./gemini/gemini-places.ts"
import { opencodeLayout } from "./opencode/opencode-places.ts"
import { qwenLayout } from "./qwen/qwen-places.ts"

export interface AgentRow {
  /** As options, hook commands and the vault's folders name it. */
  readonly name: string
  /** Whose files they are, by their paths. */
  readonly layout: FileLayout
  /** All else that is known of it: its title, its folders, what its lines and tools mean, how it is started. */
  readonly agent: () => Agent
  /** How it calls hooks and is answered, if ctxbridge can be registered with it. */
  readonly hooks?: () => Promise<HookForm>
}

/** The first one says of a path whether it is its own, and of a line. Whatever nobody claims is the last one's. */
export const AGENT_ROWS: readonly AgentRow[] = [
  {
    name: "amp",
    layout: ampLayout,
    agent: () => (require("./amp/amp.ts") as typeof import("./amp/amp.ts")).amp,
  },
  {
    name: "cline",
    layout: clineLayout,
    agent: () => (require("./cline/cline.ts") as typeof import("./cline/cline.ts")).cline,
  },
  {
    name: "codex",
    layout: codexLayout,
    agent: () => (require("./codex/codex.ts") as typeof import("./codex/codex.ts")).codex,
    hooks: async () => (await import("./codex/codex-hooks.ts")).CODEX_HOOKS,
  },
  {
    name: "copilot",
    layout: copilotLayout,
    agent: () => (require("./copilot/copilot.ts") as typeof import("./copilot/copilot.ts")).copilot,
    hooks: async () => (await import("./copilot/copilot-hooks.ts")).COPILOT_HOOKS,
  },
  {
    name: "cursor",
    layout: cursorLayout,
    agent: () => (require("./cursor/cursor.ts") as typeof import("./cursor/cursor.ts")).cursor,
  },
  {
    name: "droid",
    layout: droidLayout,
    agent: () => (require("./droid/droid.ts") as typeof import("./droid/droid.ts")).droid,
  },
  {
    name: "gemini",
    layout: geminiLayout,
    agent: () => (require("./gemini/gemini.ts") as typeof import("./gemini/gemini.ts")).gemini,
    hooks: async () => (await import("./gemini/gemini-hooks.ts")).GEMINI_HOOKS,
  },
  {
    name: "opencode",
    layout: opencodeLayout,
    agent: () => (require("./opencode/opencode.ts") as typeof import("./opencode/opencode.ts")).opencode,
    hooks: async () => (await import("./opencode/opencode-hooks.ts")).OPENCODE_HOOKS,
  },
  {
    name: "qwen",
    layout: qwenLayout,
    agent: () => (require("./qwen/qwen.ts") as typeof import("./qwen/qwen.ts")).qwen,
    hooks: async () => (await import("./qwen/qwen-hooks.ts")).QWEN_HOOKS,
  },
  {
    name: "claude",
    layout: claudeLayout,
    agent: () =>
      (require("../claude/claude-code.ts") as typeof import("../claude/claude-code.ts")).claudeCode,
  },
]
