/** A long import starts a child that captures ahead. Whatever happens to either, the archive is that of one process. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { vaultFiles } from "../../src/vault/vault-files.ts"
import { run, start } from "../support/binary.ts"
import { doneIn } from "../support/events.ts"
import { expectSame, importedAlone, wholeArchive, writeHistory } from "../support/history.ts"
import { Machine, until } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(300_000))

const SESSIONS = 8
const machine = new Machine()
const folder = join(machine.home, ".claude", "projects")
let copies: string[]
let expected: ReturnType<typeof wholeArchive>

const archive = () => wholeArchive(machine.dataHome, copies)

const same = (found: typeof expected): void => expectSame(found, expected)

beforeAll(() => {
  writeHistory(machine, SESSIONS)
  const alone = importedAlone(machine, folder)
  copies = vaultFiles(alone).map(({ copy }) => copy)
  expected = wholeArchive(alone, copies)
})
afterAll(() => machine[Symbol.dispose]())

/** Starts an import into an empty archive, and waits until its child has taken some. */
async function begun() {
  rmSync(machine.dataHome, { recursive: true, force: true })
  const { child, ended } = start(["import", "--json"], { env: machine.env, cwd: machine.cwd })
  let helper: number | undefined
  await until(
    () => {
      helper ??= machine.processes().find((pid) => pid !== child.pid)
      return helper !== undefined && vaultFiles(machine.dataHome).length >= SESSIONS / 2
    },
    60_000,
    "the child to take some transcripts",
  )
  return { child, ended, helper: helper! }
}

const pendingOf = (): string[] => {
  const pending = join(machine.dataHome, "pending")
  return existsSync(pending) ? readdirSync(pending) : []
}

// With one core there is no child.
describe.skipIf(navigator.hardwareConcurrency < 2)("an import with a child", () => {
  test("has the same rows, words and copies as one without", async () => {
    rmSync(machine.dataHome, { recursive: true, force: true })
    const ran = await run(["import", "--json"], { env: machine.env, cwd: machine.cwd })
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    const { ok, files, takenBytes } = doneIn(ran.stdout)
    expect(ok).toBe(true)
    expect(files).toHaveLength(SESSIONS + 2)
    expect(takenBytes).toBe((files as { size: number }[]).reduce((sum, { size }) => sum + size, 0))
    same(archive())
    expect(pendingOf()).toEqual([])
    const again = await run(["import", "--json"], { env: machine.env, cwd: machine.cwd })
    expect(doneIn(again.stdout)).toMatchObject({ ok: true, takenBytes: 0 })
    same(archive())
  })

  test("goes on alone if the child is killed", async () => {
    const { ended, helper } = await begun()
    process.kill(helper, "SIGKILL")
    const ran = await ended
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    const { files, takenBytes } = doneIn(ran.stdout)
    expect(takenBytes).toBe((files as { size: number }[]).reduce((sum, { size }) => sum + size, 0))
    same(archive())
    // What the child was writing when it was killed has another ending.
    expect(pendingOf().filter((name) => name.endsWith(".json"))).toEqual([])
  })

  test("killed itself, leaves no child, and the next import completes it", async () => {
    const { child, ended, helper } = await begun()
    child.kill("SIGKILL")
    expect((await ended).code).not.toBe(0)
    await until(() => !machine.processes().includes(helper), 60_000, "the child to end")
    expect(await run(["import"], { env: machine.env, cwd: machine.cwd })).toMatchObject({
      code: 0,
      stderr: "",
    })
    expect(await run(["verify"], { env: machine.env, cwd: machine.cwd })).toMatchObject({
      code: 0,
      stderr: "",
    })
    same(archive())
    expect(pendingOf()).toEqual([])
  })

  test("a second one beside it takes nothing twice", async () => {
    const { ended } = await begun()
    const beside = await run(["import"], { env: machine.env, cwd: machine.cwd })
    expect(beside.stderr).toBe("")
    expect(await ended).toMatchObject({ stderr: "" })
    expect(await run(["import"], { env: machine.env, cwd: machine.cwd })).toMatchObject({
      code: 0,
      stderr: "",
    })
    expect(archive().vault).toEqual(expected.vault)
    expect(archive().views["messages"]).toHaveLength(expected.views["messages"]!.length)
  })
})

test("neither process waits for the other, however many small transcripts with long paths there are", async () => {
  using own = new Machine()
  const deep = Array.from({ length: 3 }, () => "d".repeat(240)).join("/")
  const small = Array.from({ length: 600 }, (_, n) => join(deep, `${String(n).padStart(12, "0")}.jsonl`))
  // Long enough that the child is started before the first of them.
  const text = `${JSON.stringify({ type: "user", uuid: "u", cwd: "/src", message: { content: "x ".repeat(500) } })}\n`
  for (const name of small) {
    mkdirSync(dirname(own.path(name)), { recursive: true })
    writeFileSync(own.path(name), text)
  }
  writeFileSync(own.path("first.jsonl"), text.repeat(5000))
  const folder = own.path(".")
  const ran = await run(["import", "--json", own.path("first.jsonl"), folder], { env: own.env, cwd: own.cwd })
  expect(ran).toMatchObject({ code: 0, stderr: "" })
  expect(doneIn(ran.stdout).files).toHaveLength(small.length + 1)
})

const taskset = Bun.which("taskset")

test.skipIf(taskset === null)("without a second core there is no child", async () => {
  rmSync(machine.dataHome, { recursive: true, force: true })
  const one = { env: machine.env, cwd: machine.cwd, through: [taskset!, "-c", "0"] }
  let most = 0
  let ended = false
  const ran = run(["import"], one).finally(() => {
    ended = true
  })
  await until(
    () => {
      most = Math.max(most, machine.processes().length)
      return ended
    },
    120_000,
    "the import",
  )
  expect(await ran).toMatchObject({ code: 0, stderr: "" })
  expect(most).toBe(1)
  same(archive())
})
