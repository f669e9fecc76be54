/** What Claude Code's tools do, and what of their input tells most. Read from 1.0.51 to 2.1.330. */
import type { AgentTool, TaskChange, TodoItem } from "../record/agent.ts"
import { isObject, type JsonObject, objectOf, stringOf } from "../record/json.ts"

/** Fields that name the file a call is about. */
const FILE_FIELDS = ["file_path", "notebook_path", "path"] as const

export const CLAUDE_CODE_TOOLS: Readonly<Record<string, AgentTool>> = {
  Bash: { kind: "run", target: ["command"] },
  PowerShell: { kind: "run-other", target: ["command"] },
  Monitor: { kind: "watch", target: ["command", "description"] },
  BashOutput: { kind: "watch", target: ["bash_id"] },
  KillShell: { kind: "watch", target: ["shell_id"] },
  TaskOutput: { kind: "watch", target: ["task_id"] },
  TaskStop: { kind: "watch", target: ["task_id"] },
  Read: { kind: "read", target: FILE_FIELDS },
  NotebookRead: { kind: "read", target: FILE_FIELDS },
  Write: { kind: "write", target: FILE_FIELDS },
  Edit: { kind: "edit", target: FILE_FIELDS },
  MultiEdit: { kind: "edit", target: FILE_FIELDS },
  NotebookEdit: { kind: "edit", target: FILE_FIELDS },
  LS: { kind: "search", target: ["path"] },
  Grep: { kind: "search", target: patternAndPath },
  Glob: { kind: "search", target: patternAndPath },
  ToolSearch: { kind: "search-tools", target: ["query"] },
  WebFetch: { kind: "fetch", target: ["url"] },
  WebSearch: { kind: "fetch", target: ["query"] },
  // At the API.
  web_fetch: { kind: "fetch" },
  web_search: { kind: "fetch" },
  Task: { kind: "agent", target: ["description", "prompt"] },
  Agent: { kind: "agent", target: ["description", "prompt"] },
  AgentOutputTool: { kind: "agent" },
  TodoWrite: {
    kind: "todo",
    target: ({ todos }) => (Array.isArray(todos) ? `${todos.length} todos` : undefined),
    todos: todosIn,
  },
  TaskCreate: { kind: "todo", target: ["subject", "description"], task: newTask },
  TaskUpdate: { kind: "todo", target: taskAndStatus, task: changedTask },
  AskUserQuestion: { kind: "ask", target: firstQuestion },
  ExitPlanMode: { kind: "plan", target: ["plan"] },
  Skill: { kind: "skill", target: skillAndArguments },
}

function patternAndPath(fields: JsonObject): string | undefined {
  const pattern = stringOf(fields["pattern"])
  const path = stringOf(fields["path"])
  return pattern !== undefined && path !== undefined ? `${pattern} in ${path}` : pattern
}

function skillAndArguments(fields: JsonObject): string | undefined {
  const skill = stringOf(fields["skill"]) ?? stringOf(fields["command"])
  return skill && [skill, stringOf(fields["args"])].filter(Boolean).join(" ")
}

function firstQuestion({ questions }: JsonObject): string | undefined {
  return Array.isArray(questions) ? stringOf(objectOf(questions[0])["question"]) : undefined
}

function taskAndStatus(fields: JsonObject): string | undefined {
  const { id, status } = changedTask(fields)
  return id === undefined ? undefined : [`#${id}`, status].filter(Boolean).join(" ")
}

function newTask(fields: JsonObject): TaskChange {
  const subject = stringOf(fields["subject"])
  return { ...(subject && { subject }), status: "pending" }
}

function changedTask(fields: JsonObject): TaskChange {
  const { taskId } = fields
  const id = typeof taskId === "number" ? String(taskId) : stringOf(taskId)
  const [subject, status] = [stringOf(fields["subject"]), stringOf(fields["status"])]
  return { ...(id && { id }), ...(subject && { subject }), ...(status && { status }) }
}

function todosIn({ todos }: JsonObject): TodoItem[] | undefined {
  if (!Array.isArray(todos)) return undefined
  return todos.flatMap((todo: unknown) => {
    const content = isObject(todo) ? stringOf(todo["content"]) : stringOf(todo)
    return content === undefined ? [] : [{ content, status: stringOf(objectOf(todo)["status"]) ?? "pending" }]
  })
}
