/** What is there and cannot be read is told, and stops nothing else. */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { Peer } from "../support/mcp.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

/** What is there and cannot be read is told: an unreadable vault was "0 B" to the model, such a settings file no file. */
test("the model is told of a vault that cannot be looked at", async () => {
  using machine = new Machine()
  await machine.hook("stop", machine.session().turn("Begin").flush())
  const vault = join(machine.dataHome, "vault")
  renameSync(vault, `${vault}.away`)
  symlinkSync(vault, vault)
  await using peer = await Peer.connect(machine.cwd, machine.env)
  const { text } = await peer.call("status")
  expect(text).toMatch(/\nProblem: .*ELOOP/)
})

test("doctor tells of a settings file that is not readable", async () => {
  using machine = new Machine()
  mkdirSync(join(machine.home, ".config", "ctxbridge", "config.toml"), { recursive: true })
  const { stdout } = await run(["doctor", "--json"], { env: machine.env, cwd: machine.cwd })
  expect(stdout).toContain(join("ctxbridge", "config.toml"))
})

/**
 * One transcript that could not be read ended `verify` as "a bug in ctxbridge", and a folder that could not be looked into
 * counted as an empty one. Links in a circle stand for both: root may read everything else.
 */
describe("transcripts that cannot be read", () => {
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

  test.skipIf(isRoot && setpriv === null)(
    "install goes on, and doctor calls the host no failure",
    async () => {
      using machine = new Machine()
      const config = join(machine.home, ".config", "ctxbridge")
      mkdirSync(config, { recursive: true })
      // Then the transcripts are looked into, for the folder of each.
      writeFileSync(join(config, "config.toml"), '[capture]\nexclude = ["/srv/private"]\n')
      const { path } = machine.session().turn("Begin").flush()
      if (isRoot) {
        const own = readdirSync(machine.root, { recursive: true }).map((name) =>
          join(machine.root, String(name)),
        )
        for (const one of [machine.root, ...own]) if (one !== path) chownSync(one, NOBODY, NOBODY)
      }
      chmodSync(path, isRoot ? 0o600 : 0)
      const through = isRoot ? [setpriv!, `--reuid=${NOBODY}`, "--clear-groups"] : []
      const nobody = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd, through })
      if ((await nobody("--version")).code !== 0)
        return console.warn("skipped: nobody may run the binary here")
      expect(await nobody("install")).toMatchObject({ code: 0, stderr: "" })
      const { findings } = JSON.parse((await nobody("doctor", "--json")).stdout)
      const failed = findings.filter(({ state }: { state: string }) => state === "fail")
      expect(failed.map(({ check }: { check: string }) => check)).toEqual([])
    },
  )
})

/**
 * One archived transcript in a place where we may not look any more (of another user, unmounted) made `status`, `doctor`
 * and the model believe that the database was unreadable, and kept `forget` and `purge` from removing its session; another
 * tool's folder of that kind kept `import` from everything. Links in a circle stand for it: root may look everywhere.
 */
describe("places where we may not look", () => {
  /** A machine with a session in a folder that has become a link to itself. */
  async function closed() {
    const machine = new Machine()
    const session = machine.session().turn("Begin").flush()
    await machine.hook("stop", session)
    const folder = dirname(session.path)
    rmSync(folder, { recursive: true })
    symlinkSync(folder, folder)
    const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
    return { machine, session, cli, [Symbol.dispose]: () => machine[Symbol.dispose]() }
  }

  test("status, doctor and the model are told what the database holds", async () => {
    using world = await closed()
    const { machine, cli } = world
    const status = JSON.parse((await cli("status", "--json")).stdout)
    expect(status).toMatchObject({ database: { problem: null }, totals: { sessions: 1 } })
    const { findings } = JSON.parse((await cli("doctor", "--deep", "--json")).stdout)
    for (const name of ["database", "vault"]) {
      const states = findings.filter(({ check }: { check: string }) => check === name)
      expect(states).toMatchObject([{ state: "ok" }])
    }
    await using peer = await Peer.connect(machine.cwd, machine.env)
    const { text } = await peer.call("status")
    expect(text).toStartWith("1 session, ")
    expect(text).not.toContain("Problem")
  })

  test("its session can be forgotten", async () => {
    using world = await closed()
    const ran = await world.cli("forget", world.session.session, "--yes")
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    expect(JSON.parse((await world.cli("status", "--json")).stdout).totals.sessions).toBe(0)
  })

  test("another tool's folder does not stop an import", async () => {
    using machine = new Machine()
    const folder = join(machine.home, ".claude-mem")
    symlinkSync(folder, folder)
    mkdirSync(join(machine.home, ".claude"))
    const session = machine.session().turn("Begin").flush()
    expect(existsSync(session.path)).toBe(true)
    const ran = await run(["import"], { env: machine.env, cwd: machine.cwd })
    expect(ran).toMatchObject({ code: 0, stderr: "" })
  })
})
