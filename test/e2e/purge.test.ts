/** After install, use and `uninstall --purge`, home folder and repository differ in nothing. */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { type Ran, run } from "../support/binary.ts"
import { holding } from "../support/held.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

const well = (ran: Ran): Ran => {
  expect(ran).toMatchObject({ code: 0, stderr: "" })
  return ran
}

/** Every file and folder with its mode and its bytes. */
function listing(folder: string): string[] {
  const paths = (readdirSync(folder, { recursive: true }) as string[]).sort()
  return paths.map((name) => {
    const path = join(folder, name)
    const stats = lstatSync(path)
    const content = stats.isFile()
      ? Bun.hash(readFileSync(path)).toString(16)
      : stats.isSymbolicLink()
        ? readlinkSync(path)
        : ""
    return `${(stats.mode & 0o7777).toString(8)} ${name} ${content}`
  })
}

/** Without CTXBRIDGE_HOME: folders where every user has them. */
const plain = (machine: Machine): Record<string, string> => ({ HOME: machine.home })

const cli = (machine: Machine, env: Record<string, string>, ...args: string[]): Promise<Ran> =>
  run(args, { env, cwd: machine.cwd })

const hook = async (
  machine: Machine,
  env: Record<string, string>,
  event: Parameters<Machine["payload"]>[0],
  session: Parameters<Machine["payload"]>[1],
  fields: Record<string, unknown> = {},
): Promise<Ran> =>
  well(await run(["hook", event], { env, cwd: machine.cwd, stdin: machine.payload(event, session, fields) }))

/** Sessions, hooks and commands as in a day's work. The transcripts are written before, so that they are no difference. */
async function use(machine: Machine, env: Record<string, string>): Promise<() => Promise<void>> {
  const sessions = [machine.session(), machine.session()]
  for (const session of sessions)
    session.turn("Add retries", [{ tool: "Bash", input: { command: "ls" }, output: "" }])
  for (const session of sessions) session.flush()
  return async () => {
    for (const session of sessions) {
      await hook(machine, env, "session-start", session, { source: "startup" })
      await hook(machine, env, "user-prompt-submit", session, { prompt: "go on" })
      await hook(machine, env, "pre-compact", session, { trigger: "auto" })
      await hook(machine, env, "session-start", session, { source: "compact" })
      await hook(machine, env, "stop", session)
    }
    for (const args of [
      ["import"],
      ["status"],
      ["sessions"],
      ["verify"],
      ["rebuild"],
      ["optimize", "--frames"],
      ["tag", sessions[1]!.session, "release", "--pin"],
      ["sync", "--to", join(machine.root, "target")],
      ["forget", "--match", "nothing of the kind", "--yes"],
      ["forget", sessions[0]!.session, "--yes"],
      ["config", "list"],
    ]) {
      well(await cli(machine, env, ...args))
    }
    // Its job looks again for seconds: it is at work when everything goes.
    await hook(machine, env, "session-end", sessions[1]!, { reason: "clear" })
  }
}

describe.concurrent("uninstall --purge", () => {
  for (const fresh of [true, false]) {
    test(`home and repository are what they were, ${fresh ? "in a home with nothing" : "among what others have"}`, async () => {
      using machine = new Machine()
      const env = plain(machine)
      mkdirSync(join(machine.cwd, ".git"))
      const work = await use(machine, env)
      if (!fresh) {
        mkdirSync(join(machine.home, ".local", "share", "other"), { recursive: true })
        mkdirSync(join(machine.home, ".local", "state"), { mode: 0o750 })
        mkdirSync(join(machine.cwd, ".claude"))
        writeFileSync(join(machine.home, ".claude", "settings.json"), '{"model":"opus",  "hooks": {}}\n', {
          mode: 0o640,
        })
      }
      const [home, repository] = [listing(machine.home), listing(machine.cwd)]
      for (const scope of ["user", "project", "local"])
        well(await cli(machine, env, "install", "--scope", scope))
      await work()
      // A job that still works removes files while they are listed.
      await machine.idle()
      expect(listing(machine.home)).not.toEqual(home)
      expect(listing(machine.cwd)).not.toEqual(repository)

      const used = listing(machine.home)
      expect(await cli(machine, env, "uninstall", "--purge")).toMatchObject({ code: 64, stdout: "" })
      const planned = well(await cli(machine, env, "uninstall", "--purge", "--dry-run"))
      expect(planned.stdout).toContain("Would remove")
      expect(used.filter((line) => line.includes("vault")).length).toBeGreaterThan(0)
      const { stdout } = well(await cli(machine, env, "uninstall", "--purge", "--yes", "--json"))
      expect(JSON.parse(stdout)).toMatchObject({ dryRun: false, left: [] })
      expect(listing(machine.home)).toEqual(home)
      expect(listing(machine.cwd)).toEqual(repository)
      await machine.idle()
      expect(listing(machine.home)).toEqual(home)
      // A second time there is nothing left to do.
      well(await cli(machine, env, "uninstall", "--purge", "--yes"))
      expect(listing(machine.home)).toEqual(home)
    })
  }

  test("works after an uninstall that left the archive, and leaves what is not ours", async () => {
    using machine = new Machine()
    const session = machine.session().turn("x").flush()
    const before = listing(machine.root)
    well(await cli(machine, machine.env, "install"))
    well(await machine.hook("stop", session))
    well(await cli(machine, machine.env, "uninstall"))
    writeFileSync(join(machine.dataHome, "diary.txt"), "mine")
    // Of a command that was killed while it tried whether it may write.
    writeFileSync(join(machine.dataHome, "probe.4711"), "")
    well(await cli(machine, machine.env, "status"))
    await machine.idle()
    const { stdout } = well(await cli(machine, machine.env, "uninstall", "--purge", "-y"))
    expect(stdout).toContain("Left alone, not ours: ")
    expect(readdirSync(machine.dataHome)).toEqual(["diary.txt"])
    rmSync(machine.dataHome, { recursive: true })
    expect(listing(machine.root)).toEqual(before)
  })

  test("what is spooled for this archive goes, what is spooled for another stays", async () => {
    using machine = new Machine()
    machine.session().turn("x").flush()
    const temporary = join(machine.root, "tmp")
    mkdirSync(temporary)
    const env = { ...machine.env, TMPDIR: temporary }
    const before = listing(machine.root)
    well(await cli(machine, env, "import"))
    const key = Bun.hash.xxHash64(machine.dataHome, 0n).toString(16)
    const folders = [join(machine.dataHome, "state"), join(temporary, `ctxbridge-${process.getuid?.()}`)]
    for (const folder of folders) {
      mkdirSync(join(folder, "spool", key, "home"), { recursive: true, mode: 0o700 })
      writeFileSync(join(folder, "spool", key, "home", "x.jsonl.zst"), "spooled")
    }
    const other = join(folders[1]!, "spool", "0123")
    mkdirSync(other)
    well(await cli(machine, env, "uninstall", "--purge", "--yes"))
    expect(existsSync(other)).toBe(true)
    rmSync(folders[1]!, { recursive: true })
    expect(listing(machine.root)).toEqual(before)
  })

  test("a folder that the user has made for the archive stays, empty as it was", async () => {
    using machine = new Machine()
    machine.session().turn("x").flush()
    mkdirSync(machine.dataHome, { mode: 0o755 })
    const before = listing(machine.root)
    for (const args of [["install"], ["import"], ["uninstall", "--purge", "--yes"]]) {
      well(await cli(machine, machine.env, ...args))
    }
    await machine.idle()
    expect(listing(machine.root)).toEqual(before)
    expect(statSync(machine.dataHome).isDirectory()).toBe(true)
  })

  test("a job that was started before, and begins after, makes nothing anew", async () => {
    using machine = new Machine()
    well(await run(["__job"], { env: machine.env, cwd: machine.cwd }))
    expect(existsSync(machine.dataHome)).toBe(false)
  })
})

/**
 * A `forget --older-than` that was interrupted had taken its sessions from the vault, but not from the views. Said again, it found no
 * session in the vault and said "Nothing to forget", and the views went on telling.
 */
test("forget --older-than said again goes on with what was interrupted", async () => {
  using machine = new Machine()
  const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
  machine.session().turn("What is the Zanzibar account for?").flush()
  expect(await cli("import")).toMatchObject({ code: 0, stderr: "" })
  mkdirSync(machine.dataHome, { recursive: true })

  // As a kill would do at this point: the vault is done with, the views cannot be made anew.
  const stopped = await holding(machine.dataHome, "rebuild.lock", () =>
    cli("forget", "--older-than", "1h", "--yes"),
  )
  expect(stopped).toMatchObject({ code: 1, stdout: "" })
  expect(stopped.stderr).toContain("already being rebuilt")
  expect((await cli("search", "Zanzibar", "--all-projects")).stdout).toContain("Zanzibar")
  expect((await cli("forget", "--list")).stdout).toContain("1 session not completely removed yet")
  expect(await cli("forget", "--older-than", "1h", "--dry-run")).toMatchObject({ code: 0 })
  expect((await cli("forget", "--list")).stdout).toContain("1 session not completely removed yet")

  const again = await cli("forget", "--older-than", "1h", "--yes")
  expect(again).toMatchObject({ code: 0, stderr: "" })
  expect(again.stdout).toContain("Finished what was interrupted before: 1 session\n")
  expect(await cli("search", "Zanzibar", "--all-projects")).toMatchObject({ code: 3, stdout: "" })
  expect((await cli("forget", "--list")).stdout).not.toContain("not everything")
})
