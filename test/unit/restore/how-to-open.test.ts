/** Whether a restore names our server's tool or the binary depends on what the host's files say. */
import { expect, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { findOpening } from "../../../src/restore/find-opening.ts"
import { tempFolder } from "../../support/temp.ts"

const OURS = { type: "stdio", command: "/opt/ctxbridge", args: ["mcp"] }
const BINARY = { program: "ctxbridge" }

/** What is found with these files, by their paths below a folder that has the home and the project. */
function opening(files: Readonly<Record<string, (project: string) => object | string>>) {
  using folder = tempFolder()
  const home = join(folder.path, "home")
  const cwd = join(folder.path, "project")
  mkdirSync(cwd)
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder.path, name)
    const made = content(cwd)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, typeof made === "string" ? made : JSON.stringify(made))
  }
  return findOpening({ home, claudeDir: join(home, ".claude"), hostConfig: join(home, ".claude.json"), cwd })
}

const STATE = "home/.claude.json"
const servers = { mcpServers: { ctxbridge: OURS } }

test("the binary, as long as no file says that the host starts our server", () => {
  expect(opening({})).toEqual(BINARY)
  expect(opening({ [STATE]: () => "no JSON" })).toEqual(BINARY)
  expect(opening({ [STATE]: () => ({ mcpServers: { other: OURS } }) })).toEqual(BINARY)
  // Somebody else's has our name.
  for (const other of [
    { ...OURS, command: "/opt/other" },
    { ...OURS, args: ["serve"] },
    { url: "https://x.example" },
  ])
    expect(opening({ [STATE]: () => ({ mcpServers: { ctxbridge: other } }) })).toEqual(BINARY)
})

test("the server's tool, when the user has it: everywhere, or in this folder", () => {
  expect(opening({ [STATE]: () => servers })).toBe("server")
  expect(opening({ "home/.claude/.config.json": () => servers, [STATE]: () => ({}) })).toBe("server")
  expect(opening({ [STATE]: (project) => ({ projects: { [project]: servers } }) })).toBe("server")
  expect(opening({ [STATE]: () => ({ projects: { "/elsewhere": servers } }) })).toEqual(BINARY)
  const off = { disabledMcpServers: ["ctxbridge"] }
  expect(opening({ [STATE]: (project) => ({ ...servers, projects: { [project]: off } }) })).toEqual(BINARY)
})

test("a project's server counts once the user has allowed it", () => {
  const list = { "project/.mcp.json": () => servers }
  expect(opening(list)).toEqual(BINARY)
  const allowed = { enabledMcpjsonServers: ["ctxbridge"] }
  expect(opening({ ...list, [STATE]: (project) => ({ projects: { [project]: allowed } }) })).toBe("server")
  expect(opening({ ...list, "project/.claude/settings.local.json": () => allowed })).toBe("server")
  const all = { enableAllProjectMcpServers: true }
  expect(opening({ ...list, "home/.claude/settings.json": () => all })).toBe("server")
  const refused = { ...all, disabledMcpjsonServers: ["ctxbridge"] }
  expect(opening({ ...list, "home/.claude/settings.json": () => refused })).toEqual(BINARY)
})
