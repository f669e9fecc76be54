/** Something else where the archive has a file or a folder: nobody waits for it, and everybody says so. */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { tryTo } from "../../src/base/files.ts"
import { run, start } from "../support/binary.ts"
import { findings } from "../support/doctor.ts"
import { contentOf, Machine, promptsIn } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

/** ms of a hook that does not wait for anything, and then some: its own deadline is 4 s here. */
const SOON = 3500

const EVENTS = [
  ["session-start", { source: "startup" }],
  ["user-prompt-submit", { prompt: "hello" }],
  ["pre-compact", { trigger: "auto" }],
  ["session-start", { source: "compact" }],
  ["stop", {}],
  ["session-end", { reason: "clear" }],
] as const

const makePipe = (path: string): void => expect(Bun.spawnSync(["mkfifo", path]).exitCode).toBe(0)
const makeFolder = (path: string): void => mkdirSync(path)

test.each([
  ["archive.db", "a pipe", makePipe],
  ["archive.db", "a folder", makeFolder],
  ["archive.lock", "a folder", makeFolder],
  ["sessions", "a pipe", makePipe],
  ["pending", "a pipe", makePipe],
  ["requests", "a pipe", makePipe],
  ["forgotten", "a pipe", makePipe],
  ["vault", "a pipe", makePipe],
  ["state/ctxbridge.log", "a pipe", makePipe],
])("%s is %s", async (name, kind, make) => {
  using machine = new Machine()
  const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
  const transcript = machine.session().turn("before").flush()
  await machine.hook("stop", transcript)
  await cli("sessions")
  const path = join(machine.dataHome, name)
  rmSync(path, { recursive: true, force: true })
  mkdirSync(dirname(path), { recursive: true })
  make(path)
  for (const [event, fields] of EVENTS) {
    transcript.turn(`at ${event}`).flush()
    const ran = await machine.hook(event, transcript, fields)
    expect({ event, ...ran }).toMatchObject({ event, code: 0, stderr: "" })
    expect(ran.ms).toBeLessThan(SOON)
  }
  expect((await cli("status")).code).toBe(0)
  // It would look for the session's last lines for some seconds.
  for (const job of machine.processes()) tryTo(() => process.kill(job, "SIGKILL"))
  await machine.idle()
  expect(await findings(machine, "places")).toMatchObject([
    { state: "fail", details: [`${path} is ${kind}`], repair: "move it aside" },
  ])
  expect(await findings(machine, "places", "--fix")).toMatchObject([{ state: "ok" }])
  expect(existsSync(`${path}.aside-1`)).toBe(true)
  expect(await findings(machine, "database")).toMatchObject([{ state: "ok" }])
  expect((await cli("import")).code).toBe(0)
  expect(contentOf(machine.copy(transcript.path)).equals(readFileSync(transcript.path))).toBe(true)
  {
    using views = machine.views()
    expect(promptsIn(views, transcript.session)).toHaveLength(1 + EVENTS.length)
  }
  // What was moved aside is ours to remove.
  expect((await cli("uninstall", "--purge", "--yes")).code).toBe(0)
  expect(existsSync(machine.dataHome)).toBe(false)
})

test("the transcript itself is a pipe", async () => {
  using machine = new Machine()
  const transcript = machine.session()
  mkdirSync(dirname(transcript.path), { recursive: true })
  makePipe(transcript.path)
  for (const [event, fields] of EVENTS) {
    const ran = await machine.hook(event, transcript, fields)
    expect({ event, ...ran }).toMatchObject({ event, code: 0, stderr: "" })
    expect(ran.ms).toBeLessThan(SOON)
  }
  expect(existsSync(machine.copy(transcript.path))).toBe(false)
})

/**
 * A repository may bring a link where a project's file is read from: hooks and commands waited for ever at a pipe, and read
 * a device until the memory was full.
 */
describe("what a repository may bring", () => {
  /** Nobody ever writes to it. */
  function pipeAt(path: string): void {
    mkdirSync(dirname(path), { recursive: true })
    expect(Bun.spawnSync(["mkfifo", path]).exitCode).toBe(0)
  }

  /** As `run`, for what may never end. */
  async function within(machine: Machine, args: readonly string[], stdin = "") {
    const { child, ended } = start(args, { env: machine.env, cwd: machine.cwd })
    child.stdin.write(stdin)
    child.stdin.end()
    const timer = setTimeout(() => child.kill("SIGKILL"), 20_000)
    try {
      return await ended
    } finally {
      clearTimeout(timer)
    }
  }

  test("a pipe as .ctxbridge.toml holds neither hooks nor commands", async () => {
    using machine = new Machine()
    pipeAt(join(machine.cwd, ".ctxbridge.toml"))
    const session = machine.session().turn("What was asked.").flush()
    for (const event of ["user-prompt-submit", "stop"] as const) {
      const ran = await within(machine, ["hook", event], machine.payload(event, session, { prompt: "go on" }))
      expect(ran).toMatchObject({ code: 0, stdout: "", stderr: "" })
    }
    const listed = await within(machine, ["config", "list", "--json"])
    expect(listed).toMatchObject({ code: 0, stderr: "" })
    expect(JSON.parse(listed.stdout).brokenFiles).toEqual([
      `${join(machine.cwd, ".ctxbridge.toml")}: not a file of at most 65536 bytes`,
    ])
    const shown = await within(machine, ["sessions", "--json"])
    expect(shown).toMatchObject({ code: 0, stderr: "" })
    expect(JSON.parse(shown.stdout).sessions).toHaveLength(1)
  })

  test("a project's file that is too large for one is ignored, and told", async () => {
    using machine = new Machine()
    const file = join(machine.cwd, ".ctxbridge.toml")
    const valid = '"restore.budget" = 600\n'
    writeFileSync(file, valid + "#".repeat(65_536 - valid.length))
    const budget = () => run(["config", "get", "restore.budget"], { env: machine.env, cwd: machine.cwd })
    expect(await budget()).toMatchObject({ code: 0, stdout: "600\n", stderr: "" })
    writeFileSync(file, `${valid}${"#".repeat(65_536 - valid.length)}\n`)
    const stderr = `ignored: ${file}: not a file of at most 65536 bytes\n`
    expect(await budget()).toMatchObject({ code: 0, stdout: "4000\n", stderr })
  })

  test("pipes in the place of the project's settings and of git's files", async () => {
    using machine = new Machine()
    pipeAt(join(machine.cwd, ".claude", "settings.json"))
    const session = machine.session().turn("What was asked.").flush()
    await machine.hook("stop", session)
    const status = await within(machine, ["status", "--json"])
    expect(status).toMatchObject({ code: 0, stderr: "" })
    expect(status.stdout).toContain("settings.json is not a file")
    renameSync(join(machine.cwd, ".claude"), join(machine.root, "away"))
    for (const name of ["gitdir", "config"]) pipeAt(join(machine.cwd, "gitdir", name))
    writeFileSync(join(machine.cwd, ".git"), "gitdir: gitdir\n")
    const listed = await within(machine, ["sessions", "--json", "--all-projects"])
    expect(listed).toMatchObject({ code: 0, stderr: "" })
  })
})

/** A folder in the place of a model's file was called a defect of ours, and a device was read without end. */
test("what is no file is none of the model's", async () => {
  using machine = new Machine()
  const from = join(machine.root, "model")
  const file = join(from, "onnx", "model_quantized.onnx")
  mkdirSync(file, { recursive: true })
  writeFileSync(join(from, "tokenizer.json"), "{}")
  const refusal = {
    code: 3,
    stdout: "",
    stderr: `ctxbridge: ${from} has no onnx/model_quantized.onnx\nhint: it must hold onnx/model_quantized.onnx and tokenizer.json\n`,
  }
  expect(await run(["model", "install", "--from", from], machine)).toMatchObject(refusal)
  rmSync(file, { recursive: true })
  symlinkSync("/dev/null", file)
  expect(await run(["model", "install", "--from", from], machine)).toMatchObject(refusal)
})
