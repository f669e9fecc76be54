/**
 * One transcript that could not be read ended `verify` as "a bug in ctxbridge", and a folder that could not be looked into
 * counted as an empty one. Links in a circle stand for both: root may read everything else.
 */
import { expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, rmSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

const circle = (path: string): void => symlinkSync(path, path)

test("verify names the transcript, and goes on with the others", async () => {
  using machine = new Machine()
  const [lost, other] = [machine.session().turn("Begin").flush(), machine.session().turn("Begin").flush()]
  for (const session of [lost, other]) await machine.hook("stop", session)
  rmSync(lost.path)
  circle(lost.path)
  const { code, stdout } = await run(["verify", "--json"], { env: machine.env, cwd: machine.cwd })
  expect(code).toBe(1)
  const { ok, transcripts, totals } = JSON.parse(stdout)
  expect({ ok, totals }).toMatchObject({ ok: false, totals: { unreadable: 1, complete: 1 } })
  const found = transcripts.find(({ path }: { path: string }) => path === lost.path)
  expect(found).toMatchObject({ state: "unreadable", problems: [expect.stringContaining("ELOOP")] })
})

test("verify, import and doctor name the folder", async () => {
  using machine = new Machine()
  const projects = join(machine.home, ".claude", "projects")
  mkdirSync(join(machine.home, ".claude"))
  circle(projects)
  const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
  const verify = await cli("verify")
  expect(verify).toMatchObject({ code: 1, stderr: "" })
  expect(verify.stdout).toContain(`unreadable:\n  ${projects}\n    ELOOP`)
  const imported = await cli("import")
  expect(imported).toMatchObject({ code: 1, stderr: "" })
  expect(imported.stdout).toContain(`failed: ${projects}: ELOOP`)
  expect((await cli("doctor")).stdout).toContain(`${projects}: ELOOP`)
})

test("what the system refuses is no bug of ours", async () => {
  using machine = new Machine()
  const path = join(machine.cwd, "a.jsonl")
  circle(path)
  const ran = await run(["import", path], { env: machine.env, cwd: machine.cwd })
  expect(ran).toMatchObject({ code: 1, stdout: "" })
  expect(ran.stderr).toContain("ELOOP")
  expect(ran.stderr).not.toContain("bug")
})
