/** File systems on which locks fail or ask for more: what hooks do, and what a person is told. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import { run } from "../support/binary.ts"
import { findings } from "../support/doctor.ts"
import { canFail, failing } from "../support/failing.ts"
import { contentOf, Machine, promptsIn } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

const ENOLCK = "37"
const EOPNOTSUPP = "95"

const silent = { code: 0, stdout: "", stderr: "" }

/** A machine that finds every call into the C library as `fail` says. */
class Failing extends Machine {
  fail(fail: Readonly<Record<string, string>>): void {
    Object.assign(this.env, failing(this.root, fail))
  }

  mend(): void {
    delete this.env["LD_PRELOAD"]
  }

  cli(...args: string[]) {
    return run(args, { env: this.env, cwd: this.cwd })
  }

  async status() {
    return JSON.parse((await this.cli("status", "--json")).stdout)
  }
}

test.skipIf(!canFail)(
  "where the data folder has no locks, hooks use the spool, and everybody says why",
  async () => {
    using machine = new Failing()
    const transcript = machine.session().turn("before").flush()
    expect(await machine.hook("stop", transcript)).toMatchObject(silent)
    machine.fail({ FAIL_FLOCK: ENOLCK, FAIL_BELOW: machine.dataHome })
    transcript.turn("while nothing can be locked").flush()
    const another = machine.session().turn("begun meanwhile").flush()
    for (const one of [transcript, another]) expect(await machine.hook("stop", one)).toMatchObject(silent)
    const told = await machine.status()
    expect(told.lastError).toMatchObject({
      code: "lock-failed",
      message: "files cannot be locked: ENOLCK, flock",
    })
    expect(told.spool).toMatchObject([{ transcripts: 2, reason: { code: "lock-failed" } }])
    expect(await findings(machine, "locks")).toMatchObject([{ state: "fail", text: told.lastError.message }])
    expect(await findings(machine, "vault")).toMatchObject([{ state: "ok" }])
    expect(await machine.cli("import")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("files cannot be locked: ENOLCK"),
    })
    machine.mend()
    expect((await machine.status()).spool).toEqual([])
    for (const { path } of [transcript, another]) {
      expect(contentOf(machine.copy(path)).equals(readFileSync(path))).toBe(true)
    }
    expect(await findings(machine, "locks")).toMatchObject([{ state: "ok" }])
  },
)

test.skipIf(!canFail)(
  "where nothing at all can be locked, hooks stay silent and leave no empty copy",
  async () => {
    using machine = new Failing()
    machine.fail({ FAIL_FLOCK: EOPNOTSUPP })
    const transcript = machine.session().turn("lost to us, kept by the host").flush()
    for (const event of ["session-start", "user-prompt-submit", "stop", "session-end"] as const) {
      const fields = { source: "startup", prompt: "hello", reason: "other" }
      expect(await machine.hook(event, transcript, fields)).toMatchObject(silent)
    }
    expect(existsSync(machine.copy(transcript.path))).toBe(false)
    expect((await machine.status()).lastError).toMatchObject({ code: "lock-failed" })
    expect(await findings(machine, "locks")).toMatchObject([{ state: "fail" }])
    machine.mend()
    expect(await machine.cli("import")).toMatchObject({ code: 0, stderr: "" })
    expect(contentOf(machine.copy(transcript.path)).equals(readFileSync(transcript.path))).toBe(true)
  },
)

test.skipIf(!canFail)("on NFS, whoever locks a file has it open for that", async () => {
  using machine = new Failing()
  machine.fail({ FAIL_FLOCK: "nfs" })
  const secret = "an unrelated word: xyzzy"
  const transcript = machine.session()
  for (let n = 0; n < 40; n++) {
    transcript.turn(`question ${n}, ${secret}`).flush()
    expect(
      await machine.hook(n % 2 === 0 ? "user-prompt-submit" : "stop", transcript, {
        prompt: `question ${n}`,
      }),
    ).toMatchObject(silent)
  }
  expect(await machine.hook("session-start", transcript, { source: "resume" })).toMatchObject(silent)
  for (const command of [
    ["import"],
    ["optimize", "--frames"],
    ["forget", "--match", "xyzzy", "--yes"],
    ["redact"],
    ["rebuild"],
    ["verify"],
    ["search", "question"],
  ]) {
    expect({ command, ...(await machine.cli(...command)) }).toMatchObject({ command, code: 0, stderr: "" })
  }
  expect((await machine.status()).lastError).toBeNull()
  using views = machine.views()
  expect(promptsIn(views, transcript.session)).toHaveLength(40)
})
