/** `ctxbridge sync --watch`: sends as long as it runs, waits for a target that is away, and ends cleanly. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { start } from "../support/binary.ts"
import { Machine, until } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import { tempFolder } from "../support/temp.ts"

setDefaultTimeout(limit(120_000))

const entriesIn = (target: string): number =>
  existsSync(join(target, "entries"))
    ? readdirSync(join(target, "entries"))
        .flatMap((name) => readFileSync(join(target, "entries", name), "utf8").split("\n"))
        .filter(Boolean).length
    : 0

for (const signal of ["SIGINT", "SIGTERM"] as const)
  test.concurrent(`sends what comes, a line each, and ends at ${signal} with what is committed`, async () => {
    using machine = new Machine()
    using folder = tempFolder()
    const session = machine.session().turn("Add retries")
    await machine.hook("stop", session.flush())
    const { child, ended } = start(["sync", "--to", folder.path, "--watch"], {
      env: machine.env,
      cwd: machine.cwd,
    })
    await until(() => entriesIn(folder.path) === 1, 20_000, "the first sync")
    await machine.hook("stop", session.turn("Now the docs").flush())
    await until(() => entriesIn(folder.path) === 2, 20_000, "the second sync")
    // It may still be busy with what comes after that.
    child.kill(signal)
    const { code, stdout, stderr } = await ended
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    const lines = stdout.trimEnd().split("\n")
    expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d {2}Sent 1 turn to \/.*$/)
    expect(lines.at(-1)).toMatch(/^\d\d:\d\d:\d\d {2}Stopped; what was committed stays$/)
    expect(lines.length).toBeLessThanOrEqual(3)
  })

test.concurrent("a target that is not there is waited for", async () => {
  using machine = new Machine()
  using folder = tempFolder()
  await machine.hook("stop", machine.session().turn("Add retries").flush())
  const target = join(folder.path, "stick", "target")
  const { child, ended } = start(["sync", "--to", target, "--watch", "--json"], {
    env: machine.env,
    cwd: machine.cwd,
  })
  await until(() => existsSync(join(machine.dataHome, "sync", "id.txt")), 20_000, "the first attempt")
  mkdirSync(join(folder.path, "stick"))
  await until(() => entriesIn(target) === 1, 30_000, "the stick to be found")
  child.kill("SIGTERM")
  const { code, stdout, stderr } = await ended
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  const events = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line))
  expect(events.at(-1)).toMatchObject({ event: "stopped", target })
  for (const { event, code: why } of events.filter((one) => one.event === "failed"))
    expect({ event, why }).toEqual({ event: "failed", why: "target-missing" })
})
