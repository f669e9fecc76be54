/** What opencode's tools do, and what of their input tells most. Their inputs are as `opencode.ts` has them. Pure. */
import type { AgentTool, TodoItem } from "../../record/agent.ts"
import { isObject, type JsonObject, stringOf } from "../../record/json.ts"
import { CODEX_TOOLS } from "../codex/codex-tools.ts"

const file = ["file_path", "path"]
const todo: AgentTool = { kind: "todo", target: counted, todos: listed }

export const OPENCODE_TOOLS: Readonly<Record<string, AgentTool>> = {
  bash: { kind: "run", target: ["command"] },
  read: { kind: "read", target: file },
  write: { kind: "write", target: file },
  edit: { kind: "edit", target: file },
  multiedit: { kind: "edit", target: file },
  // The same patches as Codex'.
  patch: CODEX_TOOLS["apply_patch"]!,
  apply_patch: CODEX_TOOLS["apply_patch"]!,
  glob: { kind: "search", target: ["pattern"] },
  grep: { kind: "search", target: ["pattern"] },
  list: { kind: "search", target: ["path"] },
  codesearch: { kind: "fetch", target: ["query"] },
  webfetch: { kind: "fetch", target: ["url"] },
  websearch: { kind: "fetch", target: ["query"] },
  task: { kind: "agent", target: ["description", "prompt"] },
  todowrite: todo,
  todoread: { kind: "watch" },
  question: { kind: "ask" },
  skill: { kind: "skill", target: ["name"] },
  lsp: { kind: "search", target: ["operation", "file_path"] },
  plan_enter: { kind: "plan" },
  plan_exit: { kind: "plan" },
  // A call that could not be understood.
  invalid: { kind: "watch", target: ["error", "tool"] },
}

function counted({ todos }: JsonObject): string | undefined {
  return Array.isArray(todos) ? `${todos.length} todos` : undefined
}

function listed({ todos }: JsonObject): TodoItem[] | undefined {
  if (!Array.isArray(todos)) return undefined
  return todos.filter(isObject).flatMap((one) => {
    const content = stringOf(one["content"])
    return content === undefined ? [] : [{ content, status: stringOf(one["status"]) ?? "pending" }]
  })
}
