/** What Qwen Code's tools do, and what of their input tells most. Read from 0.24. Pure. */
import { CLAUDE_CODE_TOOLS } from "../../claude/claude-code.ts"
import type { AgentTool } from "../../record/agent.ts"
import { GOOGLE_TOOLS } from "../google-tools.ts"

const waiting: AgentTool = { kind: "watch", target: ["task_id"] }

export const QWEN_TOOLS: Readonly<Record<string, AgentTool>> = {
  ...GOOGLE_TOOLS,
  edit: { kind: "edit", target: ["file_path", "path"] },
  notebook_edit: { kind: "edit", target: ["notebook_path"] },
  zoom_image: { kind: "read", target: ["file_path", "path"] },
  todo_write: { ...CLAUDE_CODE_TOOLS["TodoWrite"]!, kind: "todo" },
  task_create: { kind: "todo", target: ["subject", "description"] },
  task_update: { kind: "todo", target: ["taskId", "status"] },
  agent: { kind: "agent", target: ["description", "prompt"] },
  task: { kind: "agent", target: ["description", "prompt"] },
  create_sub_session: { kind: "agent", target: ["prompt", "title"] },
  skill: { kind: "skill", target: ["skill", "name"] },
  ask_user_question: { ...CLAUDE_CODE_TOOLS["AskUserQuestion"]!, kind: "ask" },
  exit_plan_mode: { kind: "plan", target: ["plan"] },
  tool_search: { kind: "search-tools", target: ["query"] },
  send_message: { kind: "agent", target: ["message", "content", "prompt"] },
  task_stop: waiting,
  list_agents: { kind: "watch" },
  monitor: { kind: "watch", target: ["command", "description"] },
}
