/** Something else where the archive has a file or a folder: nobody waits for it, and everybody says so. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { tryTo } from "../../src/util/files.ts"
import { run } from "../support/binary.ts"
import { findings } from "../support/doctor.ts"
import { contentOf, Machine, promptsIn } from "../support/machine.ts"

setDefaultTimeout(60_000)

/** ms of a hook that does not wait for anything, and then some: its own deadline is 1.5 s. */
const SOON = 1500

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
