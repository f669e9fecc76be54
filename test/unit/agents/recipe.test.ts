/** What CONTRIBUTING says of a further agent stays true: a folder, a row of one table, a section of the docs. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { AGENTS, UNMARKED } from "../../../src/agents/agents.ts"
import { agentRows, copyPlace, isTopOfCopies } from "../../../src/agents/layouts.ts"
import { isClaudesForSure } from "../../../src/claude/places.ts"
import { limit } from "../../support/slowness.ts"
import { tempFolder } from "../../support/temp.ts"

setDefaultTimeout(limit(120_000))

const ROOT = join(import.meta.dir, "../../..")
const SRC = join(ROOT, "src")
const others = AGENTS.filter(({ name }) => name !== UNMARKED)

const imports = readdirSync(SRC, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .flatMap((file) =>
    [...readFileSync(join(SRC, file), "utf8").matchAll(/from "([^"]+\.ts)"/g)].map(([, to]) => ({
      file,
      to: join(file, "..", to!),
    })),
  )

/** The table and the installers, each other, and what brings in sessions that are no files. */
const MAY_NAME = /^(?:agents\/(?:agent-table\.ts|[^/]+\/)|job\/import\/|job\/find-transcripts\.ts)/

test.each(others.map(({ name }) => name))("%s is named by the table of agents only", (name) => {
  expect(statSync(join(SRC, "agents", name)).isDirectory()).toBe(true)
  const own = `agents/${name}/`
  const users = imports.filter(({ file, to }) => to.startsWith(own) && !file.startsWith(own))
  expect(users.map(({ file }) => file).filter((file) => !MAY_NAME.test(file))).toEqual([])
  expect(isTopOfCopies(name)).toBe(true)
})

test.each(others.map(({ name, title }) => [name, title] as const))(
  "docs have a section of %s",
  (name, title) => {
    const docs = readFileSync(join(ROOT, "docs/agents.md"), "utf8")
    expect(docs).toMatch(new RegExp(`^\\| \\[[^\\]]+\\]\\(#[\\w-]+\\) +\\| \`${name}\` `, "m"))
    expect(docs).toContain(`\n## ${title}\n`)
  },
)

test("each agent's transcripts lie in one place of the vault, below its name", () => {
  for (const { name, transcripts } of others)
    for (const folder of transcripts({ home: "/h", claudeDir: "/c", named: () => undefined })) {
      const place = copyPlace(`${folder}/x/y.jsonl`)
      if (place !== undefined) expect(place.top).toBe(name)
    }
})

test("a path that is Claude Code's for sure is no other agent's, and most of its own are", () => {
  const id = "0a1b2c3d-0000-4000-8000-00000000000a"
  const folders = [
    "/h/.claude/projects",
    "/projects",
    "/h/.factory/projects",
    "/h/.qwen/projects",
    "/h/.cursor/projects",
  ]
  const below = [
    "/-p",
    "/projects",
    "/sessions",
    `/-p/${id}/subagents`,
    `/-p/${id}/subagents/workflows/w`,
    "/-p/chats",
  ]
  const more = ["/subagents/s", "/agent-transcripts", `/session-state/${id}`, "/threads", `/${id}`, ""]
  const names = [
    id,
    "agent-a1",
    `rollout-2026-01-01T00-00-00-${id}`,
    "events",
    "session-2026-01-01T00-00-aaaaaaaa",
  ]
  const paths = folders.flatMap((a) =>
    below.flatMap((b) => more.flatMap((c) => names.map((name) => `${a}${b}${c}/${name}.jsonl`))),
  )
  const owners = (path: string): string[] =>
    agentRows().flatMap(({ name, layout }) => (name !== UNMARKED && layout.owns(path) ? [name] : []))
  expect(paths.filter(isClaudesForSure).flatMap(owners)).toEqual([])
  expect(new Set(paths.flatMap(owners)).size).toBeGreaterThan(4)
  const own = [
    `/-p/${id}`,
    "/-p/agent-a1",
    `/-p/${id}/subagents/agent-a1`,
    `/-p/${id}/subagents/workflows/w/agent-a1`,
  ]
  for (const path of own) expect(isClaudesForSure(`/h/.claude/projects${path}.jsonl`)).toBe(true)
})

const PLACES = `/** Where Exercise keeps its sessions. Pure. */
import { basename } from "../../base/path.ts"
import type { FileLayout } from "../../record/agent.ts"

const SESSION = /^(.*\\/\\.exercise)\\/([^/]+)\\.jsonl$/

export const isExercise = (path: string): boolean => SESSION.test(path)

export const exerciseLayout: FileLayout = {
  owns: isExercise,
  namesInPath: (path) => ({ session: SESSION.exec(path)?.[2], agent: undefined }),
  copyPlace: (path) => ({ root: SESSION.exec(path)?.[1] ?? "", usual: ".exercise", below: basename(path) }),
}
`

const DECODER = `/** Exercise as one of the agents. Pure. */
import { join } from "../../base/path.ts"
import type { Agent } from "../../record/agent.ts"
import { objectOf, parseLine, stringOf } from "../../record/json.ts"
import { plainRecord, type TranscriptRecord } from "../../record/types.ts"
import { isExercise } from "./exercise-places.ts"

function decode(text: string): TranscriptRecord {
  const { exercise, id, said = "" } = objectOf(parseLine(text))
  const isUsers = exercise === "user"
  return {
    ...plainRecord("exercise", isUsers ? "user" : "assistant", [
      isUsers ? { kind: "prompt", via: "typed", text: \`\${said}\` } : { kind: "text", text: \`\${said}\` },
    ]),
    uuid: stringOf(id),
    cwd: "/p",
    timestamp: "2026-05-28T20:26:40.000Z",
  }
}

export const exercise: Agent = {
  name: "exercise",
  title: "Exercise",
  transcripts: ({ home }) => [join(home, ".exercise")],
  isNamedAsTranscript: isExercise,
  wrote: (line) => line.startsWith('{"exercise":'),
  decode,
  partsOf: decode,
  tools: {},
}
`

const IMPORT = 'import { exerciseLayout } from "./exercise/exercise-places.ts"\n'
const ROW = `  {
    name: "exercise",
    layout: exerciseLayout,
    agent: () => (require("./exercise/exercise.ts") as typeof import("./exercise/exercise.ts")).exercise,
  },
`

/** A checkout of its own, with one agent more than this one. */
function withExercise(root: string): void {
  for (const name of ["src", "build", "plugin"])
    cpSync(join(ROOT, name), join(root, name), { recursive: true })
  for (const name of ["package.json", "tsconfig.json"]) cpSync(join(ROOT, name), join(root, name))
  symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"))
  mkdirSync(join(root, "dist"))
  for (const name of ["formats", "model", "runtime"])
    symlinkSync(join(ROOT, "dist", name), join(root, "dist", name))
  const agents = join(root, "src/agents")
  mkdirSync(join(agents, "exercise"))
  writeFileSync(join(agents, "exercise/exercise-places.ts"), PLACES)
  writeFileSync(join(agents, "exercise/exercise.ts"), DECODER)
  const table = join(agents, "agent-table.ts")
  const rows = readFileSync(table, "utf8")
  const last = rows.indexOf('  {\n    name: "claude"')
  const imports = rows.indexOf("import { geminiLayout }")
  writeFileSync(table, rows.slice(0, imports) + IMPORT + rows.slice(imports, last) + ROW + rows.slice(last))
  // What the table reaches is all that is new.
  writeFileSync(
    join(root, "tsconfig.json"),
    JSON.stringify({
      ...JSON.parse(readFileSync(join(ROOT, "tsconfig.json"), "utf8")),
      include: ["src/modules.d.ts", "src/agents"],
    }),
  )
}

test("with a folder and a row, sessions of another agent are imported, found and listed", () => {
  using root = tempFolder()
  withExercise(root.path)
  const env = {
    PATH: process.env["PATH"],
    HOME: join(root.path, "home"),
    CTXBRIDGE_HOME: join(root.path, "archive"),
  }
  const ran = (...command: string[]): string => {
    const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd: root.path, env })
    expect([exitCode, `${stderr}`, exitCode === 0 ? "" : `${stdout}`]).toEqual([0, "", ""])
    return `${stdout}`
  }
  ran(process.execPath, join(ROOT, "node_modules/typescript/bin/tsc"), "--noEmit")
  ran(process.execPath, "build/bundles.ts")
  const folder = join(env.HOME, ".exercise")
  mkdirSync(folder, { recursive: true })
  const lines = [
    { exercise: "user", id: "e-1", said: "Why does the kiln overheat?" },
    { exercise: "model", id: "e-2", said: "The damper is stuck." },
  ]
  writeFileSync(join(folder, "lesson-1.jsonl"), lines.map((line) => `${JSON.stringify(line)}\n`).join(""))
  const ctxbridge = (...words: string[]): string => ran(process.execPath, "src/main.ts", ...words)
  expect(ctxbridge("import")).toContain("1 of Exercise")
  expect(readdirSync(join(env.CTXBRIDGE_HOME, "vault/exercise/home"))).toEqual(["lesson-1.jsonl.zst"])
  const found = JSON.parse(ctxbridge("search", "damper", "--agent", "exercise", "--all-projects", "--json"))
  expect(JSON.stringify(found)).toContain("The damper is stuck.")
  expect(ctxbridge("sessions", "--all-projects")).toContain("Exercise")
})
