/** Tools that Gemini CLI has, and what was made of it. Pure. */
import type { AgentTool, ToolFile } from "../record/agent.ts"
import { type JsonObject, listedStrings, stringOf } from "../record/json.ts"

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
