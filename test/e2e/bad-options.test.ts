/** Values that are not allowed. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { run } from "../support/binary.ts"
import { contextOf, Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

const BUDGET = "CTXBRIDGE_RESTORE_BUDGET"

const fileOf = (machine: Machine): string => join(machine.home, ".config", "ctxbridge", "config.toml")

function configure(machine: Machine, text: string): string {
  mkdirSync(dirname(fileOf(machine)), { recursive: true })
  writeFileSync(fileOf(machine), text)
  return fileOf(machine)
}

const call = (machine: Machine, words: string[], env: Record<string, string> = {}) =>
  run(words, { cwd: machine.cwd, env: { ...machine.env, ...env } })

/** A value that is not allowed was passed over in silence by every command: `budget = "lots"` was believed to count. */
test.each(["status", "show", "sessions"])(
  "%s names a bad value of the environment, and stops",
  async (name) => {
    using machine = new Machine()
    const words = name === "show" ? [name, "ctx:abcdef"] : [name]
    expect(await call(machine, words, { [BUDGET]: "lots" })).toMatchObject({
      code: 64,
      stdout: "",
      stderr:
        `ctxbridge: restore.budget: "lots" is not allowed (0 to 9500), in the environment: ${BUDGET}\n` +
        "hint: ctxbridge config get restore.budget shows what counts instead\n",
    })
  },
)

test.each([
  ["[restore]\nbudget = -1\n", "restore.budget: -1 is not allowed (0 to 9500)"],
  ['[restore]\nbudget = "lots"\n', 'restore.budget: "lots" is not allowed (0 to 9500)'],
  ["[restore]\nenabled = 7\n", "restore.enabled: 7 is not allowed (true or false)"],
  ["[restore.budget]\nmost = 1\n", 'restore.budget: {"most":1} is not allowed (0 to 9500)'],
  ["restore.budget = 2020-01-01\n", "restore.budget: "],
])("a bad value of the user's file is named: %p", async (text, message) => {
  using machine = new Machine()
  const file = configure(machine, text)
  const { code, stdout, stderr } = await call(machine, ["status"])
  expect({ code, stdout }).toEqual({ code: 64, stdout: "" })
  expect(stderr).toStartWith(`ctxbridge: ${message}`)
  expect(stderr.split("\n")[0]).toEndWith(`, in ${file}`)
})

test("several bad values are counted, and programs are told as well", async () => {
  using machine = new Machine()
  configure(machine, '[restore]\nbudget = "lots"\nrelated = 99\n')
  const { code, stdout, stderr } = await call(machine, ["status", "--json"])
  expect({ code, stderr }).toEqual({ code: 64, stderr: "" })
  expect(JSON.parse(stdout).error).toEqual({
    code: "config",
    message: `restore.budget: "lots" is not allowed (0 to 9500), in ${fileOf(machine)} (and 1 more)`,
    hint: "ctxbridge config list shows what counts instead",
  })
})

test("a file of the user's that cannot be read is named", async () => {
  using machine = new Machine()
  const file = configure(machine, "[restore\nbudget = 1")
  const { code, stdout, stderr } = await call(machine, ["sessions"])
  expect({ code, stdout }).toEqual({ code: 64, stdout: "" })
  expect(stderr).toStartWith(`ctxbridge: your file cannot be read: ${file}: `)
})

test("a project's file, which came from somebody else, stops nobody", async () => {
  using machine = new Machine()
  writeFileSync(join(machine.cwd, ".ctxbridge.toml"), '[restore]\nbudget = "lots"\n')
  expect(await call(machine, ["status"])).toMatchObject({ code: 0, stderr: "" })
  const { stdout } = await call(machine, ["config", "list"])
  expect(stdout).toContain('Ignored: restore.budget (project): "lots" is not allowed (0 to 9500)')
})

test("config, doctor, uninstall, completions and help work, and show what is bad", async () => {
  using machine = new Machine()
  const env = { [BUDGET]: "lots", CTXBRIDGE_RESTORE_BUGDET: "1" }
  const wrong = `restore.budget (${BUDGET}): "lots" is not allowed (0 to 9500)`
  const list = await call(machine, ["config", "list"], env)
  expect(list).toMatchObject({ code: 0, stderr: "" })
  expect(list.stdout).toContain(`Ignored: ${wrong}`)
  expect(await call(machine, ["config", "get", "restore.budget"], env)).toMatchObject({
    code: 0,
    stdout: "4000\n",
    stderr: `ignored: ${wrong}\n`,
  })
  const doctor = await call(machine, ["doctor"], env)
  expect(doctor.stderr).toBe("")
  expect(doctor.stdout).toContain(`${wrong}; ignored`)
  expect(doctor.stdout).toContain("CTXBRIDGE_RESTORE_BUGDET is not an option")
  const removed = await call(machine, ["uninstall"], env)
  expect(removed).toMatchObject({
    code: 0,
    stderr: `ignored: restore.budget: "lots" is not allowed (0 to 9500), in the environment: ${BUDGET}\n`,
  })
  for (const words of [["--help"], ["--version"], ["status", "--help"], ["completions", "bash"]])
    expect(await call(machine, words, env)).toMatchObject({ code: 0, stderr: "" })
})

test("hooks, job and status line go on with the default, and the log says so once for each session", async () => {
  using machine = new Machine()
  const env = { [BUDGET]: "lots" }
  const session = machine.session()
  expect(await machine.hook("session-start", session, { source: "startup" }, { env })).toMatchObject({
    code: 0,
    stdout: "",
    stderr: "",
  })
  session.turn("Add retries. Never touch the generated files.").flush()
  await machine.hook("pre-compact", session, { trigger: "manual" }, { env })
  const ran = await machine.hook("session-start", session, { source: "compact" }, { env })
  expect(ran).toMatchObject({ code: 0, stderr: "" })
  expect(contextOf(ran)).toContain("Never touch the generated files.")
  expect(await call(machine, ["__job"], env)).toMatchObject({ code: 0, stdout: "", stderr: "" })
  const line = { cwd: machine.cwd, env: { ...machine.env, ...env }, stdin: "{}" }
  expect(await run(["statusline"], line)).toMatchObject({ code: 0, stderr: "" })
  const log = readFileSync(join(machine.dataHome, "state", "ctxbridge.log"), "utf8")
    .trim()
    .split("\n")
  expect(log.map((text) => JSON.parse(text).message)).toEqual([
    `restore.budget: "lots" is not allowed (0 to 9500), in the environment: ${BUDGET}`,
  ])
})
