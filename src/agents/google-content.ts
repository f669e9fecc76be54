/**
 * Messages in the form of Google's API, which several agents write: a list of parts, each with a text, a call, what a
 * call gave back, or data. Pure.
 */
import type { AgentTool, ToolFile } from "../record/agent.ts"
import { isObject, type JsonObject, listedStrings, objectOf, stringOf } from "../record/json.ts"
import { splitGiven, withMarks } from "../record/our-marks.ts"
import { tokenCount } from "../record/token-counts.ts"
import type { Part, Usage } from "../record/types.ts"

/** Parts of a message; a text alone may stand for one. */
export function contentParts(content: unknown): JsonObject[] {
  if (typeof content === "string") return content === "" ? [] : [{ text: content }]
  return (Array.isArray(content) ? content : [content]).flatMap((one: unknown) =>
    typeof one === "string" ? [{ text: one }] : isObject(one) ? [one] : [],
  )
}

/** Before the content of files that a prompt mentions. */
const FILES = /^\s*-{3} Content from referenced files -{3}\s*$/

/** Texts of a prompt, without files that it mentions. */
export function promptTexts(content: unknown): string[] {
  const texts = contentParts(content).flatMap(({ text }) => stringOf(text) ?? [])
  const from = texts.findIndex((text) => FILES.test(text))
  return from < 0 ? texts : texts.slice(0, from)
}

/** What the model says, thinks and calls. */
export function modelParts(content: unknown): Part[] {
  return contentParts(content).flatMap((one): Part[] => {
    const text = stringOf(one["text"])
    if (text !== undefined) return [{ kind: one["thought"] === true ? "thinking" : "text", text }]
    if (isObject(one["functionCall"])) return [callPart(one["functionCall"])]
    return mediaPart(one)
  })
}

export const callPart = (call: JsonObject): Part => ({
  kind: "toolUse",
  id: stringOf(call["id"]) ?? "",
  name: stringOf(call["name"]) ?? "",
  input: call["args"] ?? {},
})

/** What is known of a call's end besides its text. */
interface CallEnd {
  /** `success`, `error`, `cancelled` */
  readonly status: string | undefined
  /** As the agent itself counts it; undefined: the text may tell. */
  readonly exitCode?: number | undefined
}

/** What calls gave back, and what hooks have said at their end. */
export function resultParts(content: unknown, { status, exitCode }: CallEnd): Part[] {
  return contentParts(content).flatMap((one): Part[] => {
    const { functionResponse } = one
    if (!isObject(functionResponse)) return mediaPart(one)
    const response = objectOf(functionResponse["response"])
    const error = stringOf(response["error"])
    const whole = error ?? stringOf(response["output"]) ?? listed(response["content"])
    const { own, given } = splitHooks(whole) ?? splitGiven(whole)
    const isShell = functionResponse["name"] === "run_shell_command"
    const { text, code } = isShell ? shellOutput(own) : { text: own, code: undefined }
    const failed = exitCode ?? code ?? 0
    const head = failed === 0 ? "" : `Exit code ${failed}\n`
    const isError = error !== undefined || failed !== 0 || (status !== undefined && status !== "success")
    return [
      { kind: "toolResult", id: stringOf(functionResponse["id"]) ?? "", text: head + text, isError },
      ...given.map((told): Part => ({ kind: "context", source: "hook", text: told })),
      ...contentParts(functionResponse["parts"]).flatMap(mediaPart),
    ]
  })
}

/** What hooks of Gemini CLI have said, behind a result. */
const [HOOKS, HOOKS_END] = ["<hook_context>", "</hook_context>"] as const

function splitHooks(text: string): ReturnType<typeof splitGiven> | undefined {
  const end = text.trimEnd()
  const from = end.endsWith(HOOKS_END) ? end.indexOf(HOOKS) : -1
  if (from < 0) return undefined
  const told = end.slice(from + HOOKS.length, -HOOKS_END.length)
  return { own: text.slice(0, from).trimEnd(), given: [withMarks(told)] }
}

const listed = (content: unknown): string =>
  contentParts(content)
    .flatMap((one) => stringOf(one["text"]) ?? [])
    .join("\n")

/** What the shell's tool tells besides its output, in lines of their own. */
const COMMAND = /^Command: [\s\S]*?\nDirectory: [^\n]*\n(?=Output: |Stdout: )/
const NOTE = /^(?:Error|Exit Code|Signal|Background PIDs|Process Group PGID):(?: |$)/
const FIRST = /^(?:Output|Stdout): /

/** Such lines at the end, with the newline before them; empty if there are none. */
function notesBehind(text: string): string {
  let from = text.length
  for (let end = text.trimEnd().length; ; ) {
    const at = end === 0 ? -1 : text.lastIndexOf("\n", end - 1)
    if (at < 0 || !NOTE.test(text.slice(at + 1, end))) return text.slice(from)
    from = at
    end = at
  }
}

/** The output of a command without what frames it, and its exit status if the frame tells one. */
function shellOutput(text: string): { readonly text: string; readonly code: number | undefined } {
  const body = text.replace(/^<untrusted_context>\n([\s\S]*)\n<\/untrusted_context>\s*$/, "$1")
  const framed = body.replace(COMMAND, "")
  const tail = notesBehind(framed)
  if (!FIRST.test(framed) || (tail === "" && framed === body)) return { text: body, code: undefined }
  const code = /^Exit Code: (-?\d{1,10})$/m.exec(tail)?.[1]
  const said = framed.slice(0, framed.length - tail.length).replace(FIRST, "")
  const error = /^Error: (?!\(none\))(.+)$/m.exec(tail)?.[1]
  const output = said.trim() === "(empty)" ? "" : said
  return {
    text: error === undefined ? output : [output, error].filter((one) => one !== "").join("\n"),
    code: code === undefined ? undefined : Number(code),
  }
}

function mediaPart(one: JsonObject): Part[] {
  const { mimeType, data } = objectOf(one["inlineData"])
  if (typeof mimeType !== "string" || typeof data !== "string") return []
  return [{ kind: "media", mediaType: mimeType, base64Length: data.length }]
}

/** Base64 of what `modelParts` and `resultParts` call media, in their order. */
export const mediaIn = (content: unknown): string[] =>
  contentParts(content).flatMap((one) => {
    const inner = contentParts(objectOf(one["functionResponse"])["parts"])
    return [one, ...inner].flatMap((part) => stringOf(objectOf(part["inlineData"])["data"]) ?? [])
  })

/** Counts of a request. What the model thought is a part of its output. */
export function googleUsage(
  messageId: string,
  model: string | undefined,
  told: {
    readonly input: unknown
    readonly cached: unknown
    readonly output: unknown
    readonly all: unknown
  },
): Usage | undefined {
  const prompt = tokenCount(told.input)
  const output = Math.max(tokenCount(told.output), tokenCount(told.all) - prompt)
  if (prompt + output === 0) return undefined
  const cacheRead = Math.min(prompt, tokenCount(told.cached))
  return {
    messageId,
    model: model ?? "",
    input: prompt - cacheRead,
    output,
    cacheCreation: 0,
    cacheRead,
    cacheHour: 0,
  }
}

/* Tools that Gemini CLI has, and what was made of it. */

/** Fields that name the file a call is about, in newer versions and older ones. */
const FILE_FIELDS = ["file_path", "absolute_path", "path"] as const

const namedIn = (fields: JsonObject): string[] => [
  ...listedStrings(fields["include"]),
  ...listedStrings(fields["paths"]),
]

const manyNames = (fields: JsonObject): string | undefined =>
  namedIn(fields).join(" ") || stringOf(fields["file_path"])

/** Patterns name no file. */
const manyFiles = (fields: JsonObject): ToolFile[] =>
  namedIn(fields)
    .filter((path) => !/[*?[{]/.test(path))
    .map((path) => ({ path, op: "read" }))

export const GOOGLE_TOOLS: Readonly<Record<string, AgentTool>> = {
  run_shell_command: { kind: "run", target: ["command"] },
  read_file: { kind: "read", target: FILE_FIELDS },
  read_many_files: { kind: "read", target: manyNames, files: manyFiles },
  write_file: { kind: "write", target: FILE_FIELDS },
  replace: { kind: "edit", target: FILE_FIELDS },
  list_directory: { kind: "search", target: ["dir_path", "path"] },
  glob: { kind: "search", target: ["pattern"] },
  grep_search: { kind: "search", target: ["pattern"] },
  search_file_content: { kind: "search", target: ["pattern"] },
  web_fetch: { kind: "fetch", target: ["url", "prompt"] },
  google_web_search: { kind: "fetch", target: ["query"] },
  web_search: { kind: "fetch", target: ["query"] },
}
