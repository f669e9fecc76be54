/** docs/json.md names the fields of each command's document: those, and no others. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { run } from "../support/binary.ts"
import { packagedClient } from "../support/clients-here.ts"
import { Machine } from "../support/machine.ts"
import { Peer } from "../support/mcp.ts"
import { TINY, writeModel } from "../support/onnx-model.ts"
import { standIn, writeRelease } from "../support/release.ts"
import { limit } from "../support/slowness.ts"
import { tempFolder } from "../support/temp.ts"

const PAGE = readFileSync(join(import.meta.dir, "../../docs/json.md"), "utf8")

interface Field {
  readonly name: string
  readonly isOptional: boolean
  /** Of an object, or of each element of a list; empty where the page does not tell. */
  readonly within: readonly Field[]
}

const NAMES = /`([\w]+)(\??)`/g

const fieldsIn = (text: string): Field[] =>
  [...text.matchAll(NAMES)].map(([, name = "", mark]) => ({ name, isOptional: mark === "?", within: [] }))

/** By the first cell of their row. */
const rows = new Map<string, Field[]>(
  [...PAGE.matchAll(/^\| (`.+?) +\| (.+?) *\|$/gm)].map(([, command = "", cell = ""]) => [
    command,
    [...cell.matchAll(/`([\w]+)(\??)`(?: \((`[^)]*)\))?/g)].map(([, name = "", mark, within = ""]) => ({
      name,
      isOptional: mark === "?",
      within: fieldsIn(within),
    })),
  ]),
)

const RETRIES = "export const retries = 3\n"
const machine = new Machine()
const models = tempFolder()
let handle = ""
let note = ""
let far = ""
const first = machine.session()
const ill = machine.session()
const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })

beforeAll(async () => {
  packagedClient(machine, "2.1.112")
  writeModel(models.path, TINY, "tiny")
  writeRelease(models.path, "9.0.0", standIn("9.0.0"))
  const source = join(machine.cwd, "src/upload.ts")
  mkdirSync(dirname(source))
  writeFileSync(source, RETRIES)
  first
    .turn("Why does the upload fail?", [
      { tool: "Bash", input: { command: "npm test -- upload" }, output: "Exit code 1\nboom", isError: true },
      {
        tool: "Edit",
        input: { file_path: source, old_string: "a", new_string: RETRIES },
        output: "ok",
        told: { filePath: source, originalFile: "a", userModified: false },
      },
      { tool: "Bash", input: { command: "npm test -- upload" }, output: "all good" },
    ])
    .flush()
  ill
    .turn("another session")
    .user([{ type: "text", text: "" }])
    .flush()
  await machine.hook("pre-compact", first, { trigger: "auto" })
  await machine.hook("session-start", first, { source: "compact" })
  expect(await cli("import")).toMatchObject({ code: 0, stderr: "" })
  handle = (await document("search", "upload"))["hits"][0].handle
  await document("sync", "--to", join(models.path, "target"))
  await using peer = await Peer.connect(machine.cwd, machine.env)
  await peer.call("remember", { text: "The upload needs two retries." })
  note = (await document("notes"))["notes"][0].handle
  const elsewhere = new Machine()
  const there = await run(
    ["search", "--json", "--all-projects", "--backend", join(models.path, "target"), "upload"],
    {
      env: elsewhere.env,
      cwd: elsewhere.cwd,
    },
  )
  elsewhere[Symbol.dispose]()
  far = JSON.parse(there.stdout)["hits"][0].handle
}, limit(120_000))
afterAll(() => {
  machine[Symbol.dispose]()
  models[Symbol.dispose]()
})

// biome-ignore lint/suspicious/noExplicitAny: the page says what is in it
async function document(...args: string[]): Promise<any> {
  const { stdout, stderr } = await cli(...args, "--json")
  expect(stderr).toBe("")
  return JSON.parse(stdout)
}

function expectFields(fields: readonly Field[], value: object): void {
  const there = Object.keys(value)
  expect(there.filter((name) => !fields.some((field) => field.name === name))).toEqual([])
  const missing = fields.filter(({ name, isOptional }) => !isOptional && !there.includes(name))
  expect(missing).toEqual([])
  for (const { name, within } of fields) {
    const found = (value as Record<string, unknown>)[name]
    const [one] = Array.isArray(found) ? found : [found]
    if (within.length > 0 && typeof one === "object" && one !== null) expectFields(within, one)
  }
}

/** Rows of the page, and what to run for them. Those that change something come last. */
const CALLS: readonly (readonly [row: string, args: () => string[]])[] = [
  ["`install`", () => ["install", "--dry-run"]],
  ["`prune status`", () => ["prune"]],
  ["`prune recommend`", () => ["prune", "recommend"]],
  ["`prune native`", () => ["prune", "native", "--revert", "--dry-run"]],
  ["`uninstall`", () => ["uninstall", "--dry-run"]],
  ["`uninstall --purge`", () => ["uninstall", "--purge", "--dry-run"]],
  ["`status`", () => ["status"]],
  ["`statusline`", () => ["statusline"]],
  ["`sessions`", () => ["sessions"]],
  ["`search`", () => ["search", "upload"]],
  ["`show --around`", () => ["show", handle, "--around", "3"]],
  ["`files`", () => ["files", "upload"]],
  ["`how`", () => ["how", "npm test"]],
  ["`fix`", () => ["fix", "boom"]],
  ["`blame`", () => ["blame", "upload.ts"]],
  ["`blame`, of a line", () => ["blame", "src/upload.ts:1"]],
  ["`why`", () => ["why", "src/upload.ts:1"]],
  ["`undo`", () => ["undo", "src/upload.ts"]],
  ["`undo --diff`", () => ["undo", "src/upload.ts", "--diff", "1"]],
  ["`undo --to`", () => ["undo", "src/upload.ts", "--to", "1", "--dry-run"]],
  ["`stats`", () => ["stats"]],
  ["`stats --blocks`", () => ["stats", "--blocks"]],
  ["`stats friction`", () => ["stats", "friction"]],
  ["`show`, of a turn", () => ["show", handle]],
  ["`show`, from a target", () => ["show", far, "--backend", join(models.path, "target")]],
  ["`show`, of a session", () => ["show", first.session]],
  ["`preview`", () => ["preview"]],
  ["`open`", () => ["open"]],
  ["`export`", () => ["export", handle, "--output", join(machine.root, "turn.md")]],
  ["`resurrect`", () => ["resurrect", first.session, "--dry-run"]],
  ["`resume`", () => ["resume", first.session, "--dry-run"]],
  ["`repair`", () => ["repair", ill.session]],
  ["`handoff`", () => ["handoff", first.session, "--to", "codex"]],
  ["`verify`", () => ["verify"]],
  ["`doctor`", () => ["doctor"]],
  ["`rebuild`", () => ["rebuild"]],
  ["`redact`", () => ["redact", "--dry-run"]],
  ["`model status`", () => ["model", "status"]],
  [
    "`model install`",
    () => ["model", "install", "--from", models.path, "--manifest", join(models.path, "manifest.json")],
  ],
  ["`model verify`", () => ["model", "verify", "--runtime", "wasm"]],
  ["`model remove`", () => ["model", "remove"]],
  ["`project move`", () => ["project", "move", machine.cwd, machine.home, "--dry-run"]],
  ["`update`", () => ["update", "--check", "--from", models.path]],
  ["`config list`", () => ["config", "list"]],
  ["`config describe`", () => ["config", "describe", "restore.budget"]],
  ["`config set`", () => ["config", "set", "prune.keep", "5"]],
  ["`config unset`", () => ["config", "unset", "prune.keep"]],
  ["`config get`", () => ["config", "get", "restore.budget"]],
  ["`demo`", () => ["demo"]],
  ["`completions`", () => ["completions", "bash"]],
  ["`man`", () => ["man"]],
  ["`init`", () => ["init", "bash"]],
  ["`summarize`", () => ["summarize", "--dry-run"]],
  ["`sync`", () => ["sync", "--to", join(machine.root, "target")]],
  ["`optimize`", () => ["optimize"]],
  ["`sync --print-ddl`", () => ["sync", "--print-ddl"]],
  ["`tag`", () => ["tag", handle, "upload", "--rejected", "it retries for ever"]],
  ["`tag`", () => ["tag"]],
  ["`files`", () => ["files", "upload"]],
  ["`how`", () => ["how", "npm test"]],
  ["`fix`", () => ["fix", "boom"]],
  ["`show`, of a turn", () => ["show", handle]],
  ["`show`, of a session", () => ["show", first.session]],
  ["`notes`", () => ["notes"]],
  ["`notes forget`", () => ["notes", "forget", note, "--yes"]],
  ["`forget --match`", () => ["forget", "--match", "upload", "--dry-run"]],
  ["`forget`", () => ["forget", "--older-than", "1h", "--dry-run"]],
  ["`forget`", () => ["forget", first.session, "--yes"]],
  ["`forget --list`", () => ["forget", "--list"]],
  ["`forget --undo`", () => ["forget", "--undo", first.session]],
]

test.each(CALLS)("%s", async (row, args) => {
  const fields = rows.get(row)
  expect(fields).toBeDefined()
  expectFields(fields!, await document(...args()))
})

test("an error is a document, too", async () => {
  const { code, stdout, stderr } = await cli("show", "ctx:zzzzzz", "--json")
  expect({ code, stderr }).toEqual({ code: 3, stderr: "" })
  expect(Object.keys(JSON.parse(stdout).error)).toEqual(["code", "message", "hint"])
})

test("each row is tried; some need a terminal, a model, a compaction or a server, and are tried where these are", () => {
  const tried = new Set(CALLS.map(([row]) => row))
  const elsewhere = ["`pick`", "`show`, of an observation", "`receipts`"]
  const needsServer = (row: string) => /^`(?:share|server)\b/.test(row)
  expect([...rows.keys()].filter((row) => !tried.has(row) && !needsServer(row))).toEqual(elsewhere)
})

test("--format prints rows instead, and not with --json; commands without rows do not know it", async () => {
  using own = new Machine()
  const there = (...args: string[]) => run(args, { env: own.env, cwd: own.cwd })
  const session = own.session().turn("One\ttab", [], "Done.")
  await own.hook("stop", session.flush())
  expect(await there("sessions", "--format", "{turns} {title}{firstPrompt}")).toMatchObject({
    code: 0,
    stdout: "1 One\\ttab\n",
    stderr: "",
  })
  const ran = {
    tool: "Bash",
    input: { command: "make kiln" },
    output: "Exit code 1\nTypeError: cold",
    isError: true,
  }
  const edit = { tool: "Edit", input: { file_path: join(own.cwd, "kiln.ts") }, output: "edited" }
  await own.hook("stop", own.session().turn("Fire the kiln", [ran, edit]).flush())
  for (const [command, format, line] of [
    ["how make", "{runs} {command}", "1 make kiln"],
    ["fix TypeError", "{tool} {target}", "Bash make kiln"],
    ["blame kiln.ts", "{ops} {prompt}", '["edit"] Fire the kiln'],
  ] as const)
    expect(await there(...command.split(" "), "--format", format)).toMatchObject({
      code: 0,
      stdout: `${line}\n`,
    })
  const both = await there("sessions", "--format", "tsv", "--json")
  expect(both.code).toBe(64)
  expect(JSON.parse(both.stdout).error.message).toBe("--format and --json cannot be used together")
  const other = await there("status", "--format", "tsv")
  expect(other).toMatchObject({ code: 64, stdout: "" })
  expect(other.stderr).toStartWith("ctxbridge: unknown option: --format\n")
})
