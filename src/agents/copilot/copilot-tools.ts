/**
 * What Copilot CLI's tools do, and what of their input tells most. Read from 1.0.102, with names that its schemas keep
 * for older versions; the inputs are as `copilot.ts` has them. Pure.
 */
import type { AgentTool, TaskChange, TodoItem } from "../../record/agent.ts"
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
  sql: { kind: "todo", target: ["description", "query"], task: changedTodos },
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

/* The todos of a session are rows of a table, which its model writes itself. */

const TEXT = "'(?:[^']|'')*'"
const INSERT = /^\s*insert\s+(?:or\s+\w+\s+)?into\s+todos\s*\(([\w\s,]+)\)\s*values\s*([\s\S]+)$/i
const UPDATE = new RegExp(
  String.raw`^\s*update\s+todos\s+set\s+([\s\S]+?)\s+where\s+id\s*(?:=|in)\s*(\(?\s*${TEXT}(?:\s*,\s*${TEXT})*\s*\)?)\s*$`,
  "i",
)
const DELETE = new RegExp(
  String.raw`^\s*delete\s+from\s+todos\s+where\s+id\s*(?:=|in)\s*(\(?\s*${TEXT}(?:\s*,\s*${TEXT})*\s*\)?)\s*$`,
  "i",
)
/** A statement, without what ends it. */
const STATEMENT = new RegExp(`(?:${TEXT}|[^;'])+`, "g")
const ROW = new RegExp(String.raw`\(((?:${TEXT}|[^()'])*)\)`, "g")
const VALUE = new RegExp(String.raw`${TEXT}|[^,'\s]+`, "g")
const SET = new RegExp(String.raw`(\w+)\s*=\s*(${TEXT})`, "g")

const wordsOf = (list: string): string[] => (list.match(VALUE) ?? []).map(unquoted)
const idsIn = (list: string): string[] => (list.match(new RegExp(TEXT, "g")) ?? []).map(unquoted)

function unquoted(value: string): string {
  return value.startsWith("'") ? value.slice(1, -1).replaceAll("''", "'") : value
}

/** In words that everybody has for it. */
const statusOf = (status: string | undefined): string | undefined =>
  status === "done" ? "completed" : status

/** A longer one is no list that anybody works through. */
const LONGEST = 20_000

/** Of statements that name each todo by its id; others may change any. */
function changedTodos({ query }: JsonObject): TaskChange[] {
  if (typeof query !== "string" || query.length > LONGEST || !/\btodos\b/i.test(query)) return []
  return (query.match(STATEMENT) ?? []).flatMap((statement) => {
    const [, columns, rows] = INSERT.exec(statement) ?? []
    if (columns !== undefined && rows !== undefined) {
      const names = columns.split(",").map((name) => name.trim().toLowerCase())
      return [...rows.matchAll(ROW)].flatMap(([, row]) => inserted(names, wordsOf(row ?? "")))
    }
    const [, set, updated] = UPDATE.exec(statement) ?? []
    if (set !== undefined && updated !== undefined) {
      const values = Object.fromEntries(
        [...set.matchAll(SET)].map(([, name, value]) => [name, unquoted(value!)]),
      )
      return idsIn(updated).map((id) => change({ id }, values["title"], values["status"]))
    }
    const [, deleted] = DELETE.exec(statement) ?? []
    return deleted === undefined ? [] : idsIn(deleted).map((id) => ({ id, status: "deleted" }))
  })
}

function inserted(names: readonly string[], values: readonly string[]): TaskChange[] {
  const named = (name: string): string | undefined => values[names.indexOf(name)]
  const id = named("id")
  return id === undefined ? [] : [change({ id, isNew: true }, named("title"), named("status"))]
}

const change = (
  which: Pick<TaskChange, "id" | "isNew">,
  subject: string | undefined,
  status: string | undefined,
): TaskChange => ({
  ...which,
  ...(subject !== undefined && { subject }),
  ...(status !== undefined && { status: statusOf(status)! }),
})
