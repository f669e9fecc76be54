/**
 * What Codex' tools do, and what of their input tells most. Read from 0.118 to 0.169; the inputs are as `codex.ts`
 * has them. Pure.
 */
import type { AgentTool, ReplacedText, TodoItem, ToolFile } from "../../record/agent.ts"
import { isObject, type JsonObject, stringOf } from "../../record/json.ts"

/** Field of a patch's text. */
export const PATCH = "patch"

const run: AgentTool = { kind: "run", target: ["command"] }
const agent: AgentTool = { kind: "agent", target: ["message", "prompt", "task_name"] }
const waiting: AgentTool = { kind: "watch", target: waitedFor }

export const CODEX_TOOLS: Readonly<Record<string, AgentTool>> = {
  exec_command: run,
  shell: run,
  shell_command: run,
  local_shell: run,
  "container.exec": run,
  write_stdin: { kind: "watch", target: typed },
  apply_patch: { kind: "edit", target: firstFile, files: patchedFiles, replaced: replacedIn },
  update_plan: { kind: "todo", target: steps, todos: planned },
  view_image: { kind: "read", target: ["path"] },
  web_search_call: { kind: "fetch", target: ["query", "url"] },
  tool_search: { kind: "search-tools", target: ["query"] },
  request_user_input: { kind: "ask" },
  spawn_agent: agent,
  send_input: agent,
  send_message: agent,
  followup_task: agent,
  resume_agent: waiting,
  wait: waiting,
  wait_agent: waiting,
  close_agent: waiting,
}

/** The tools that run commands, whose input `codex.ts` brings into one form. */
export const isCodexShell = (name: string): boolean => CODEX_TOOLS[name] === run

const patchOf = (fields: JsonObject): string => stringOf(fields[PATCH]) ?? ""

function firstFile(fields: JsonObject): string | undefined {
  return filesInPatch(patchOf(fields))[0]?.path ?? stringOf(fields["file_path"])
}

/** Of a call of which only its target is known: the file that this names. */
function patchedFiles(fields: JsonObject): ToolFile[] {
  const named = stringOf(fields["file_path"])
  if (named !== undefined) return [{ path: named, op: "edit" }]
  return filesInPatch(patchOf(fields)).map(({ path, op }) => ({ path, op }))
}

function replacedIn(fields: JsonObject): ReplacedText[] {
  return filesInPatch(patchOf(fields)).flatMap(({ hunks }) => hunks)
}

/** What was typed into a running command; nothing, if it was only looked at. */
function typed(fields: JsonObject): string | undefined {
  const id = fields["session_id"]
  return stringOf(fields["chars"]) ?? (typeof id === "number" ? `session ${id}` : undefined)
}

function waitedFor(fields: JsonObject): string | undefined {
  const { targets, ids } = fields
  const many = Array.isArray(targets) ? targets : Array.isArray(ids) ? ids : []
  return stringOf(fields["target"]) ?? stringOf(fields["id"]) ?? (many.join(", ") || undefined)
}

function steps({ plan }: JsonObject): string | undefined {
  return Array.isArray(plan) ? `${plan.length} steps` : undefined
}

function planned({ plan }: JsonObject): TodoItem[] | undefined {
  if (!Array.isArray(plan)) return undefined
  return plan.flatMap((one: unknown) => {
    const content = isObject(one) ? stringOf(one["step"]) : undefined
    return content === undefined
      ? []
      : [{ content, status: stringOf((one as JsonObject)["status"]) ?? "pending" }]
  })
}

/* The patches that Codex has its models write: which files they change, and how. */

/** What a patch does to one file. */
interface PatchedFile extends ToolFile {
  readonly hunks: ReplacedText[]
}

const FILE = /^\*\*\* (Add|Update|Delete) File: (.+)$/
const MOVE = /^\*\*\* Move to: (.+)$/
/** A place in the file, or the end of the patch. */
const BREAK = /^(?:@@|\*\*\* )/

/** In the patch's order. A moved file is there under both names. */
function filesInPatch(patch: string): PatchedFile[] {
  const files: PatchedFile[] = []
  let hunk: { before: string[]; after: string[] } | undefined
  const close = (): void => {
    const file = files.at(-1)
    if (file !== undefined && hunk !== undefined && hunk.before.length + hunk.after.length > 0)
      file.hunks.push({
        before: file.op === "write" ? undefined : hunk.before.join("\n"),
        after: hunk.after.join("\n"),
      })
    hunk = { before: [], after: [] }
  }
  for (const line of patch.split("\n")) {
    const [, how, path] = FILE.exec(line) ?? []
    const moved = MOVE.exec(line)?.[1]
    if (path !== undefined) {
      close()
      files.push({ path: path.trim(), op: how === "Add" ? "write" : "edit", hunks: [] })
    } else if (moved !== undefined) {
      files.push({ path: moved.trim(), op: "edit", hunks: [] })
    } else if (BREAK.test(line)) close()
    else if (hunk !== undefined) {
      if (!line.startsWith("+")) hunk.before.push(line.slice(1))
      if (!line.startsWith("-")) hunk.after.push(line.slice(1))
    }
  }
  close()
  return files
}
