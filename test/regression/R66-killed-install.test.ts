/** A killed `install` left its half-written file beside the host's settings, for good. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { unfinishedFile } from "../../src/host/edited-file.ts"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

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
      // The host's own lock counts as left behind after ten seconds.
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
