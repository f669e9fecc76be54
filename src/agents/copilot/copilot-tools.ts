/**
 * What Copilot CLI's tools do, and what of their input tells most. Read from 1.0.102, with names that its schemas keep
 * for older versions; the inputs are as `copilot.ts` has them. Pure.
 */
import type { AgentTool, TodoItem } from "../../record/agent.ts"
import { type JsonObject, stringOf } from "../../record/json.ts"

const run: AgentTool = { kind: "run", target: ["command"] }
const runOther: AgentTool = { kind: "run-other", target: ["command"] }
const edit: AgentTool = { kind: "edit", target: ["file_path", "path"] }
const shellWatch: AgentTool = { kind: "watch", target: ["shellId", "input"] }
const agentWatch: AgentTool = { kind: "watch", target: ["agent_id"] }
const search: AgentTool = { kind: "search", target: ["pattern"] }

export const COPILOT_TOOLS: Readonly<Record<string, AgentTool>> = {
  bash: run,
  // What the user types behind `!`.
  local_shell: run,
  powershell: runOther,
  read_bash: shellWatch,
  write_bash: shellWatch,
  stop_bash: shellWatch,
  list_bash: shellWatch,
  read_powershell: shellWatch,
  write_powershell: shellWatch,
  stop_powershell: shellWatch,
  list_powershell: shellWatch,
  view: { kind: "read", target: ["file_path", "path"] },
  create: { kind: "write", target: ["file_path", "path"] },
  edit,
  str_replace: edit,
  insert: edit,
  grep: search,
  rg: search,
  glob: search,
  lsp: { kind: "search", target: ["operation", "file_path"] },
  web_fetch: { kind: "fetch", target: ["url", "prompt"] },
  web_search: { kind: "fetch", target: ["query"] },
  fetch_copilot_cli_documentation: { kind: "watch" },
  session_store_sql: { kind: "watch", target: ["description", "query"] },
  task: { kind: "agent", target: ["description", "prompt"] },
  read_agent: agentWatch,
  list_agents: { kind: "watch" },
  write_agent: { kind: "agent", target: ["message", "agent_id"] },
  sql: { kind: "todo", target: ["description", "query"] },
  update_todo: { kind: "todo", target: counted, todos: checked },
  ask_user: { kind: "ask", target: ["message", "question"] },
  exit_plan_mode: { kind: "plan", target: ["summary"] },
  skill: { kind: "skill", target: ["skill", "name"] },
  task_complete: { kind: "watch", target: ["summary"] },
  report_intent: { kind: "watch", target: ["intent"] },
}

/** Whether its input names a file, whose fields `copilot.ts` brings into one form. */
export const isAboutFile = (name: string): boolean => {
  const kind = Object.hasOwn(COPILOT_TOOLS, name) ? COPILOT_TOOLS[name]!.kind : undefined
  return kind === "read" || kind === "write" || kind === "edit"
}

const ITEM = /^\s*[-*] \[([ xX~])\] (.+)$/

/** A list in Markdown. */
function checked({ todos }: JsonObject): TodoItem[] | undefined {
  if (typeof todos !== "string") return undefined
  return todos.split("\n").flatMap((line) => {
    const [, mark, content] = ITEM.exec(line) ?? []
    if (mark === undefined || content === undefined) return []
    const status = mark === " " ? "pending" : mark === "~" ? "in_progress" : "completed"
    return [{ content: content.trim(), status }]
  })
}

function counted(fields: JsonObject): string | undefined {
  const items = checked(fields)
  return items === undefined ? stringOf(fields["todos"]) : `${items.length} todos`
}
