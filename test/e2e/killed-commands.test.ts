/** What killed commands leave behind is taken away. */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { basename, dirname, join } from "node:path"
import { unfinishedFile } from "../../src/base/edited-file.ts"
import { run, start } from "../support/binary.ts"
import { Machine, until } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

/** A killed `install` left its half-written file beside Claude Code's settings, for good. */
describe("a killed install", () => {
  const cli = (machine: Machine, ...args: readonly string[]) =>
    run(args, { env: machine.env, cwd: machine.cwd })

  const settingsOf = (machine: Machine): string => join(machine.home, ".claude", "settings.json")

  /** A process that has ended. */
  const dead = (): number => Bun.spawnSync(["true"]).pid

  /** @returns names beside the settings */
  const beside = (machine: Machine): string[] => readdirSync(dirname(settingsOf(machine))).sort()

  const FOREIGN = [
    ".settings.json.0a1b2c3d.tmp",
    ".settings.json.ctxbridge-1-0a1b2c3d.tmp.bak",
    ".settings.json.ctxbridge-x-0a1b2c3d.tmp",
    "settings.json.tmp.1234",
  ]

  test("the next install or uninstall takes it away: only ours, and only a dead process's", async () => {
    using machine = new Machine()
    const settings = settingsOf(machine)
    mkdirSync(dirname(settings), { recursive: true })
    const alive = unfinishedFile(settings, process.pid)
    for (const path of [...FOREIGN.map((name) => join(dirname(settings), name)), alive])
      writeFileSync(path, "theirs")
    const left = [...FOREIGN, basename(alive)].sort()
    const servers = join(machine.home, ".claude.json")
    // Also where there is nothing to change.
    for (const command of ["install", "install", "uninstall", "uninstall"]) {
      for (const path of [settings, servers]) writeFileSync(unfinishedFile(path, dead()), "half")
      expect(await cli(machine, command, "--dry-run")).toMatchObject({ code: 0, stderr: "" })
      expect(beside(machine).length).toBeGreaterThan(left.length)
      const quiet = command === "install" ? ["--no-import"] : []
      expect(await cli(machine, command, ...quiet)).toMatchObject({
        code: 0,
        stderr: "",
      })
      expect(beside(machine).filter((name) => name !== "settings.json")).toEqual(left)
      expect(readdirSync(machine.home).filter((name) => name.endsWith(".tmp"))).toEqual([])
    }
  })

  const strace = Bun.which("strace")

  test.skipIf(strace === null)(
    "an install that is killed before its last rename, and said again (needs strace)",
    async () => {
      using machine = new Machine()
      const settings = settingsOf(machine)
      const lock = join(machine.home, ".claude.json.lock")
      mkdirSync(dirname(settings), { recursive: true })
      writeFileSync(settings, "{}\n")
      for (let when = 1; when < 12; when++) {
        const through = [
          strace!,
          "-f",
          "-qq",
          "-o",
          "/dev/null",
          "-e",
          `inject=/^rename:signal=KILL:when=${when}`,
        ]
        await run(["install", "--no-import"], { env: machine.env, cwd: machine.cwd, through })
        expect(() => JSON.parse(readFileSync(settings, "utf8"))).not.toThrow()
        // Claude Code's own lock counts as left behind after ten seconds.
        if (existsSync(lock)) utimesSync(lock, new Date(0), new Date(0))
        expect(await cli(machine, "install", "--no-import")).toMatchObject({ code: 0, stderr: "" })
        expect(beside(machine)).toEqual(["settings.json"])
        expect(existsSync(lock)).toBe(false)
        expect(await cli(machine, "uninstall")).toMatchObject({ code: 0, stderr: "" })
        expect(readFileSync(settings, "utf8")).toBe("{}\n")
        expect(existsSync(join(machine.home, ".claude.json"))).toBe(false)
      }
    },
  )
})

/** A demo, a benchmark or `doctor` that was interrupted left its folder among the temporary files: up to a gigabyte. */
describe("folders of interrupted commands", () => {
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
    const stay = [
      `ctxbridge-demo-${process.pid}-abcdef`,
      `ctxbridge-demo-${pid}-abc`,
      "ctxbridge-demo-abcdef",
    ]
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
})
