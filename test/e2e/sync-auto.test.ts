/** The background job syncs when the user lets it, and at no other time. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { readAutoSync } from "../../src/sync/sync-again.ts"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { freePort } from "../support/postgres.ts"
import { limit } from "../support/slowness.ts"
import { tempFolder } from "../support/temp.ts"

setDefaultTimeout(limit(120_000))

function configured(machine: Machine, lines: string): void {
  const file = join(machine.root, "config.toml")
  writeFileSync(file, `[sync]\n${lines}\n`)
  Object.assign(machine.env, { CTXBRIDGE_CONFIG: file })
}

const cli = (machine: Machine, ...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })

const SILENT = { code: 0, stdout: "", stderr: "" }

/** The session ends, and with it the job. */
async function ended(machine: Machine, session: ReturnType<Machine["session"]>): Promise<void> {
  expect(await machine.hook("session-end", session.flush(), { reason: "exit" })).toMatchObject(SILENT)
  await machine.idle()
}

/** As if the last sync was long ago. */
const later = (machine: Machine): void => rmSync(join(machine.dataHome, "sync", "auto.json"))

const linesIn = (folder: string): number =>
  existsSync(folder)
    ? readdirSync(folder).flatMap((name) => readFileSync(join(folder, name), "utf8").trimEnd().split("\n"))
        .length
    : 0

test.concurrent("never by itself; with leave, turns or the transcripts too, at most every few minutes", async () => {
  using machine = new Machine()
  using folder = tempFolder()
  const target = join(folder.path, "target")
  configured(machine, `to = "${target}"`)
  const session = machine.session().turn("Add retries")
  await ended(machine, session)
  expect(existsSync(target)).toBe(false)
  configured(machine, `to = "${target}"\nauto = "turns"`)
  await ended(machine, session.turn("Now the docs"))
  expect([linesIn(join(target, "entries")), linesIn(join(target, "frames"))]).toEqual([2, 0])
  expect(readAutoSync(machine.dataHome)).toMatchObject({ failures: 0, failure: null })
  // Too soon.
  await ended(machine, session.turn("And a changelog"))
  expect(linesIn(join(target, "entries"))).toBe(2)
  configured(machine, `to = "${target}"\nauto = "frames"`)
  later(machine)
  await ended(machine, session.turn("One more thing"))
  expect([linesIn(join(target, "entries")), linesIn(join(target, "frames"))]).toEqual([4, 1])
  const doctor = JSON.parse((await cli(machine, "doctor", "--json")).stdout)
  expect(doctor.findings.find(({ check }: { check: string }) => check === "sync")).toMatchObject({
    state: "ok",
  })
})

test.concurrent("a target that fails: hooks and the rest of the job go on, and status and doctor say why", async () => {
  using machine = new Machine()
  using folder = tempFolder()
  const target = join(folder.path, "stick", "target")
  configured(machine, `to = "${target}"\nauto = "turns"`)
  const session = machine.session().turn("Add retries")
  await ended(machine, session)
  expect(readAutoSync(machine.dataHome)).toMatchObject({ failures: 1, failure: { code: "target-missing" } })
  const status = await cli(machine, "status", "--verbose")
  expect(status).toMatchObject({ code: 0, stderr: "" })
  expect(status.stdout).toMatch(/not synced\s+since .*: no such folder: .*stick/)
  expect(JSON.parse((await cli(machine, "status", "--json")).stdout)).toMatchObject({
    syncFailure: { code: "target-missing" },
    lastError: { code: "target-missing", event: "sync" },
  })
  expect((await cli(machine, "doctor")).stdout).toContain("the background job cannot sync since")
  using db = machine.views()
  expect(db.query("SELECT prompt FROM turns").all()).toEqual([{ prompt: "Add retries" }])
  mkdirSync(join(folder.path, "stick"))
  later(machine)
  await ended(machine, session.turn("Now the docs"))
  expect(readAutoSync(machine.dataHome)).toMatchObject({ failures: 0, failure: null })
  expect(linesIn(join(target, "entries"))).toBe(2)
})

test.concurrent("optimize syncs as its last stage, and only with leave", async () => {
  using machine = new Machine()
  using folder = tempFolder()
  const target = join(folder.path, "target")
  configured(machine, `to = "${target}"`)
  await ended(machine, machine.session().turn("Add retries"))
  const off = await cli(machine, "optimize")
  expect(off).toMatchObject({ code: 0, stderr: "" })
  expect(off.stdout).toMatch(/^sync +off: sync\.auto$/m)
  configured(machine, `to = "${target}"\nauto = "turns"`)
  const planned = await cli(machine, "optimize", "--dry-run")
  expect(planned).toMatchObject({ code: 0, stderr: "" })
  expect(planned.stdout).toContain(`would go on with ${target}`)
  expect(existsSync(target)).toBe(false)
  const { code, stdout, stderr } = await cli(machine, "optimize", "--json")
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  expect(JSON.parse(stdout).sync).toEqual({ auto: "turns", target, stored: 1, failure: null })
  expect(linesIn(join(target, "entries"))).toBe(1)
})

test.concurrent("a server that is not there keeps no hook waiting", async () => {
  using machine = new Machine()
  configured(machine, `to = "postgres://me@127.0.0.1:${freePort()}/x"\nauto = "turns"`)
  const session = machine.session().turn("Add retries")
  await ended(machine, session)
  expect(readAutoSync(machine.dataHome)).toMatchObject({ failure: { code: "target-refused" } })
  expect(
    await machine.hook("user-prompt-submit", session.user("next").flush(), { prompt: "next" }),
  ).toMatchObject({
    code: 0,
    stderr: "",
  })
})

test("an address with a password is refused: anybody can see the configuration", async () => {
  using machine = new Machine()
  configured(machine, 'to = "postgres://me:sesame@db.example/x"')
  const { code, stderr } = await cli(machine, "sync")
  expect(code).toBe(64)
  expect(stderr).toContain("sync.to")
})
