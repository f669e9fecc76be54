/** What Gemini CLI's tools do, and what of their input tells most. Read from 0.20 to 0.61. Pure. */
import type { AgentTool, TodoItem } from "../../record/agent.ts"
import { type JsonObject, objectOf, stringOf } from "../../record/json.ts"
import { GOOGLE_TOOLS } from "../google-tools.ts"

const agent: AgentTool = { kind: "agent", target: ["objective", "prompt", "agent_name"] }

export const GEMINI_TOOLS: Readonly<Record<string, AgentTool>> = {
  ...GOOGLE_TOOLS,
  write_todos: { kind: "todo", target: steps, todos: planned },
  codebase_investigator: agent,
  delegate_to_agent: agent,
  invoke_agent: agent,
  activate_skill: { kind: "skill", target: ["name"] },
  ask_user: { kind: "ask" },
  exit_plan_mode: { kind: "plan", target: ["plan_path", "plan_filename"] },
}

function steps({ todos }: JsonObject): string | undefined {
  return Array.isArray(todos) ? `${todos.length} todos` : undefined
}

function planned({ todos }: JsonObject): TodoItem[] | undefined {
  if (!Array.isArray(todos)) return undefined
  return todos.map(objectOf).flatMap((one) => {
    const content = stringOf(one["description"])
    return content === undefined ? [] : [{ content, status: stringOf(one["status"]) ?? "pending" }]
  })
}
