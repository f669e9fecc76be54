/** A demo, a benchmark or `doctor` that was interrupted left its folder among the temporary files: up to a gigabyte. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { run, start } from "../support/binary.ts"
import { Machine, until } from "../support/machine.ts"

setDefaultTimeout(60_000)

/** Names of temporary folders that are there. */
const folders = (machine: Machine, purpose: string): string[] =>
  readdirSync(machine.root).filter((name) => new RegExp(`^ctxbridge-${purpose}-\\d+-`).test(name))

/** A hook of the user's that does not come back: `doctor` tries it. */
function hangingHook(machine: Machine): void {
  const settings = join(machine.home, ".claude", "settings.json")
  mkdirSync(dirname(settings), { recursive: true })
  const ours = join(machine.root, "ctxbridge")
  writeFileSync(ours, "#!/bin/sh\nexec sleep 30\n", { mode: 0o755 })
  const hooks = [{ type: "command", command: `${ours} hook stop`, timeout: 30 }]
  writeFileSync(settings, JSON.stringify({ hooks: { Stop: [{ hooks }] } }))
}

const COMMANDS: readonly [string, readonly string[]][] = [
  ["demo", ["demo"]],
  ["doctor", ["doctor"]],
  ["bench", ["bench", "hooks", "--quick"]],
  ["torture", ["bench", "torture", "--quick", "--enclosed", "--only", "locked"]],
]

async function interrupted(
  machine: Machine,
  purpose: string,
  args: readonly string[],
  signal: NodeJS.Signals,
) {
  if (purpose === "doctor") hangingHook(machine)
  const { child, ended } = start(args, { env: machine.env, cwd: machine.cwd })
  await until(() => folders(machine, purpose).length > 0 || child.exitCode !== null, 30_000, "its folder")
  expect(child.exitCode).toBeNull()
  child.kill(signal)
  await ended
  expect(child.signalCode).toBe(signal)
}

test.each(COMMANDS)("%s: gone after SIGINT and SIGTERM", async (purpose, args) => {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    using machine = new Machine()
    await interrupted(machine, purpose, args, signal)
    await machine.idle()
    expect(folders(machine, purpose)).toEqual([])
  }
})

test("after SIGKILL, the next one takes it away, and nothing that is another's", async () => {
  using machine = new Machine()
  await interrupted(machine, "demo", ["demo"], "SIGKILL")
  await machine.idle()
  const [left] = folders(machine, "demo")
  expect(left).toBeDefined()
  const { pid } = Bun.spawnSync(["true"])
  const stay = [`ctxbridge-demo-${process.pid}-abcdef`, `ctxbridge-demo-${pid}-abc`, "ctxbridge-demo-abcdef"]
  for (const name of stay) mkdirSync(join(machine.root, name))
  const link = `ctxbridge-demo-${pid}-ghijkl`
  mkdirSync(join(machine.root, "elsewhere"))
  symlinkSync(join(machine.root, "elsewhere"), join(machine.root, link))
  const ran = await run(["demo", "--json"], { env: machine.env, cwd: machine.cwd })
  expect(ran).toMatchObject({ code: 0, stderr: "" })
  expect(folders(machine, "demo").sort()).toEqual([...stay.slice(0, 2), link].sort())
  for (const name of [stay[2]!, "elsewhere"]) expect(existsSync(join(machine.root, name))).toBe(true)
})

test("a demo that is to be kept is not taken away by the next one", async () => {
  using machine = new Machine()
  const demo = (...args: readonly string[]) =>
    run(["demo", "--json", ...args], { env: machine.env, cwd: machine.cwd })
  const { folder } = JSON.parse((await demo("--keep")).stdout)
  expect(await demo()).toMatchObject({ code: 0, stderr: "" })
  expect(existsSync(folder)).toBe(true)
})

const CALLS = ["demo", "demo --keep"]

test.each(CALLS)("%s says so where no folder can be made", async (call) => {
  using machine = new Machine()
  const TMPDIR = join(machine.root, "none")
  const ran = await run(call.split(" "), { env: { ...machine.env, TMPDIR }, cwd: machine.cwd })
  expect(ran).toMatchObject({ code: 1, stdout: "" })
  expect(ran.stderr).toStartWith(`ctxbridge: no folder can be made in ${TMPDIR}: ENOENT`)
  expect(ran.stderr).toContain("hint: set TMPDIR to ")
})
