/** What the views need of a tool call's input: a line that sums it up, its files, its todos. */
import { isObject, type JsonObject, objectOf, stringOf } from "./json.ts"
import { jsonHead, oneLine } from "./one-line.ts"
import { shellWords } from "./shell-words.ts"
import { withSlashes } from "./windows-path.ts"

export interface ToolFile {
  readonly path: string
  readonly op: "read" | "write" | "edit"
}

export interface Todo {
  readonly content: string
  readonly status: string
}

/** A change of the task list. The id of a new task is in the result (see `createdTaskId`). */
export interface TaskChange {
  readonly id?: string
  readonly subject?: string
  readonly status?: string
}

const TARGET_LENGTH = 300

const FILE_OPS: Readonly<Record<string, ToolFile["op"]>> = {
  Read: "read",
  NotebookRead: "read",
  Write: "write",
  Edit: "edit",
  MultiEdit: "edit",
  NotebookEdit: "edit",
}

/** The most telling field, for tools that have one. */
const TARGET_FIELDS: Readonly<Record<string, readonly string[]>> = {
  Bash: ["command"],
  PowerShell: ["command"],
  Monitor: ["command", "description"],
  BashOutput: ["bash_id"],
  KillShell: ["shell_id"],
  LS: ["path"],
  WebFetch: ["url"],
  WebSearch: ["query"],
  ToolSearch: ["query"],
  Task: ["description", "prompt"],
  Agent: ["description", "prompt"],
  TaskCreate: ["subject", "description"],
  TaskOutput: ["task_id"],
  TaskStop: ["task_id"],
  ExitPlanMode: ["plan"],
}

/** A longer command carries data; its paths are at the beginning. */
const MAX_COMMAND = 20_000

/** Names without a slash count as files only with one of these; otherwise `user.email` and `example.com` look alike. */
const EXTENSIONS = new Set(
  (
    "astro bash bat c cc cfg clj conf cpp cs css csv cue dart diff dockerfile env erl ex exs fish go gradle graphql h " +
    "hcl hpp hs html ini ipynb java jpeg jpg js json json5 jsonc jsonl jsx kt kts less lock log lua md mdx mjs cjs " +
    "mts cts nix patch pdf php pl plist png prisma properties proto ps1 py pyi r rb rs rst sass scala scss sh sql " +
    "sqlite svelte svg swift tar tex tf tfvars toml ts tsv tsx txt vue wasm xml yaml yml zig zip zsh zst gz"
  ).split(" "),
)

/** Excludes what a shell would expand, and what regular expressions or source code would contain. */
const PATH_CHARACTERS = /^[\p{L}\p{N}_@%+,./~ -]+$/u
const DRIVE = /^[A-Za-z]:[\\/][\p{L}\p{N}_@%+,./\\ -]+$/u
/** `s/a/b/g`, `/a/d`, `/a/` */
const SED_SCRIPT = /^(?:[sy]\/.*\/.*\/[a-zA-Z]*|\/[^/]+\/[a-zA-Z]?)$/

/** The essence of a tool call in one line of at most 300 code points. */
export function toolTarget(name: string, input: unknown): string {
  const fields = objectOf(input)
  return oneLine(knownTarget(name, fields) ?? jsonHead(input, TARGET_LENGTH * 2), TARGET_LENGTH)
}

/**
 * Whether `toolTarget` may have left something out: its line is as long as it may be, or the record has more bytes than
 * are read for it.
 */
export const mayBeCut = (target: string, recordBytes: number): boolean =>
  target.length >= TARGET_LENGTH - 1 || recordBytes > TARGET_LENGTH * 4

/** The same as written, with its line breaks and in full; undefined where only `toolTarget` has a summary. */
export const wholeTarget = (name: string, input: unknown): string | undefined =>
  knownTarget(name, objectOf(input))?.trim()

/** Files named in a tool call's own fields (for paths in shell commands, see `commandPaths`). */
export function toolFiles(name: string, input: unknown): ToolFile[] {
  const op = Object.hasOwn(FILE_OPS, name) ? FILE_OPS[name] : undefined
  const path = filePath(objectOf(input))
  return op === undefined || path === undefined ? [] : [{ path, op }]
}

/**
 * Paths named in a shell command, in order, without duplicates. Conservative: leaves out what might be a branch, a URL,
 * a pattern or source code, and the lines of here-documents.
 */
export function commandPaths(command: string): readonly string[] {
  if (latest?.command === command) return latest.paths
  const paths = new Set<string>()
  for (const { word, quoted } of shellWords(command.slice(0, MAX_COMMAND))) {
    const path = asPath(word.slice(word.lastIndexOf("=") + 1).replace(/(?::\d{1,6}){1,2}$/, ""), quoted)
    if (path !== undefined) paths.add(path)
  }
  latest = { command, paths: [...paths] }
  return latest.paths
}

/** Each command is asked for twice: for the files of its turn, and for facts. */
let latest: { readonly command: string; readonly paths: readonly string[] } | undefined

/** A word as a path; undefined if it may be something else. */
export function asPath(word: string, quoted: boolean): string | undefined {
  const path = word.replace(/[,.]+$/, (end) => (/^\.+$/.test(word) ? end : ""))
  if (path.length < 2 || path.length > 1024 || path.startsWith("-")) return undefined
  const rooted = /^(?:~?\/|\.{1,2}\/)/.test(path)
  if (path.includes(" ") && !(quoted && rooted)) return undefined
  if (DRIVE.test(path)) return withSlashes(path)
  if (!PATH_CHARACTERS.test(path) || path.includes("//") || (quoted && SED_SCRIPT.test(path)))
    return undefined
  if (path.startsWith("/dev/") || !/[\p{L}\p{N}]/u.test(path)) return undefined
  if (rooted) return path
  const segments = path.split("/")
  const extension = /[^.]\.([A-Za-z][A-Za-z0-9]{0,9})$/.exec(segments.at(-1) ?? "")?.[1]?.toLowerCase()
  if (extension === undefined) return undefined
  if (segments.length === 1) return EXTENSIONS.has(extension) ? path : undefined
  // `host.tld/…` is an address, `@scope/…` a package.
  const first = segments[0] ?? ""
  return path.startsWith("@") || /[^.]\./.test(first) ? undefined : path
}

/** The todo list after a TodoWrite call; undefined for any other call. */
export function todosOf(name: string, input: unknown): Todo[] | undefined {
  const todos = objectOf(input)["todos"]
  if (name !== "TodoWrite" || !Array.isArray(todos)) return undefined
  return todos.flatMap((todo: unknown) => {
    const content = isObject(todo) ? stringOf(todo["content"]) : stringOf(todo)
    return content === undefined ? [] : [{ content, status: stringOf(objectOf(todo)["status"]) ?? "pending" }]
  })
}

/** What a TaskCreate or TaskUpdate call changes; undefined for any other call. */
export function taskChange(name: string, input: unknown): TaskChange | undefined {
  const fields = objectOf(input)
  const subject = stringOf(fields["subject"])
  if (name === "TaskCreate") return { ...(subject && { subject }), status: "pending" }
  if (name !== "TaskUpdate") return undefined
  const taskId = fields["taskId"]
  const id = typeof taskId === "number" ? String(taskId) : stringOf(taskId)
  const status = stringOf(fields["status"])
  return { ...(id && { id }), ...(subject && { subject }), ...(status && { status }) }
}

/** The id in the result of a TaskCreate call. */
export function createdTaskId(resultText: string): string | undefined {
  return /^Task #(\S{1,64}) created/.exec(resultText.slice(0, 100))?.[1]
}

/** Exit code of a failed shell command. The host does not tell that of a successful one. */
export function exitCode(isError: boolean, resultText: string): number | undefined {
  if (!isError) return undefined
  const code = /^(?:Error: )?Exit code (-?\d{1,10})(?!\d)/.exec(resultText.slice(0, 40))?.[1]
  return code === undefined ? undefined : Number(code)
}

function knownTarget(name: string, fields: JsonObject): string | undefined {
  if (Object.hasOwn(FILE_OPS, name)) return filePath(fields)
  if (name === "Grep" || name === "Glob") {
    const pattern = stringOf(fields["pattern"])
    const path = stringOf(fields["path"])
    return pattern !== undefined && path !== undefined ? `${pattern} in ${path}` : pattern
  }
  if (name === "TodoWrite") {
    const todos = fields["todos"]
    return Array.isArray(todos) ? `${todos.length} todos` : undefined
  }
  if (name === "TaskUpdate") {
    const change = taskChange(name, fields)
    return change?.id === undefined ? undefined : [`#${change.id}`, change.status].filter(Boolean).join(" ")
  }
  if (name === "Skill") {
    const skill = stringOf(fields["skill"]) ?? stringOf(fields["command"])
    return skill && [skill, stringOf(fields["args"])].filter(Boolean).join(" ")
  }
  if (name === "AskUserQuestion") {
    const questions = fields["questions"]
    return Array.isArray(questions) ? stringOf(objectOf(questions[0])["question"]) : undefined
  }
  if (!Object.hasOwn(TARGET_FIELDS, name)) return undefined
  return TARGET_FIELDS[name]?.map((field) => stringOf(fields[field])).find((value) => value !== undefined)
}

function filePath(fields: JsonObject): string | undefined {
  const path = stringOf(fields["file_path"]) ?? stringOf(fields["notebook_path"]) ?? stringOf(fields["path"])
  return path === undefined ? undefined : withSlashes(path)
}

/** Strings in a tool call's fields, including those in lists of changes. */
export function stringsIn(input: unknown, depth = 0): string[] {
  if (typeof input === "string") return [input]
  if (typeof input !== "object" || input === null || depth > 3) return []
  return Object.values(input).flatMap((value) => stringsIn(value, depth + 1))
}

/** The command of a Bash call, even if empty; undefined for other tools. */
export function shellCommand(tool: string, input: unknown): string | undefined {
  const { command } = objectOf(input)
  return tool === "Bash" && typeof command === "string" ? command : undefined
}
