/** What Claude Code's tools do, and which fields of their input tell most. Read from 1.0.51 to 2.1.330. */
import type { AgentTool } from "../agent.ts"

/** Fields that name the file a call is about. */
export const FILE_FIELDS = ["file_path", "notebook_path", "path"] as const

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
  // What these say most is in more than one field, or in a list (tool-input.ts).
  Grep: { kind: "search" },
  Glob: { kind: "search" },
  ToolSearch: { kind: "search-tools", target: ["query"] },
  WebFetch: { kind: "fetch", target: ["url"] },
  WebSearch: { kind: "fetch", target: ["query"] },
  // At the API.
  web_fetch: { kind: "fetch" },
  web_search: { kind: "fetch" },
  Task: { kind: "agent", target: ["description", "prompt"] },
  Agent: { kind: "agent", target: ["description", "prompt"] },
  AgentOutputTool: { kind: "agent" },
  TodoWrite: { kind: "todo" },
  TaskCreate: { kind: "todo", target: ["subject", "description"] },
  TaskUpdate: { kind: "todo" },
  AskUserQuestion: { kind: "ask" },
  ExitPlanMode: { kind: "plan", target: ["plan"] },
  Skill: { kind: "skill" },
}
