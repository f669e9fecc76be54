/**
 * One transcript that could not be read ended `verify` as "a bug in ctxbridge", and a folder that could not be looked into
 * counted as an empty one. Links in a circle stand for both: root may read everything else.
 */
import { expect, setDefaultTimeout, test } from "bun:test"
import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
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

/** Whom the superuser keeps out. */
const NOBODY = 65_534
const isRoot = process.getuid?.() === 0
const setpriv = Bun.which("setpriv")

test.skipIf(isRoot && setpriv === null)("install goes on, and doctor calls the host no failure", async () => {
  using machine = new Machine()
  const config = join(machine.home, ".config", "ctxbridge")
  mkdirSync(config, { recursive: true })
  // Then the transcripts are looked into, for the folder of each.
  writeFileSync(join(config, "config.toml"), '[capture]\nexclude = ["/srv/private"]\n')
  const { path } = machine.session().turn("Begin").flush()
  if (isRoot) {
    const own = readdirSync(machine.root, { recursive: true }).map((name) => join(machine.root, String(name)))
    for (const one of [machine.root, ...own]) if (one !== path) chownSync(one, NOBODY, NOBODY)
  }
  chmodSync(path, isRoot ? 0o600 : 0)
  const through = isRoot ? [setpriv!, `--reuid=${NOBODY}`, "--clear-groups"] : []
  const nobody = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd, through })
  if ((await nobody("--version")).code !== 0) return console.warn("skipped: nobody may run the binary here")
  expect(await nobody("install")).toMatchObject({ code: 0, stderr: "" })
  const { findings } = JSON.parse((await nobody("doctor", "--json")).stdout)
  const failed = findings.filter(({ state }: { state: string }) => state === "fail")
  expect(failed.map(({ check }: { check: string }) => check)).toEqual([])
})
