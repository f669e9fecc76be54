/** What doctor says of the archive, the transcripts and the host's settings. */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { databasePath } from "../../src/archive/database.ts"
import { archivedIn } from "../../src/vault/reader.ts"
import { run } from "../support/binary.ts"
import { findings } from "../support/doctor.ts"
import { Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

/**
 * `doctor` did not follow a data folder that is a link, and called it private without having looked. It called an
 * archive writable whose files were not, and one that could never be made.
 */
describe("an archive behind a link", () => {
  async function archived(machine: Machine): Promise<void> {
    const session = machine.session().turn("Kept.").flush()
    expect((await machine.hook("pre-compact", session, { trigger: "manual" })).code).toBe(0)
  }

  test("what the link leads to is looked at, and repaired", async () => {
    using machine = new Machine()
    await archived(machine)
    const real = join(machine.root, "disk")
    renameSync(machine.dataHome, real)
    symlinkSync(real, machine.dataHome)
    chmodSync(real, 0o755)
    expect(await findings(machine, "private")).toMatchObject([
      { state: "warn", details: [`755 ${machine.dataHome}`] },
    ])
    expect(await findings(machine, "private", "--fix")).toMatchObject([{ state: "ok" }])
    expect(statSync(real).mode & 0o777).toBe(0o700)
  })

  test.skipIf(process.getuid?.() === 0)("files that may not be written are told of", async () => {
    using machine = new Machine()
    await archived(machine)
    chmodSync(databasePath(machine.dataHome), 0o400)
    const [found] = await findings(machine, "owner")
    expect(found).toMatchObject({
      state: "fail",
      details: expect.arrayContaining([databasePath(machine.dataHome)]),
    })
  })

  test("a data folder that cannot be made", async () => {
    using machine = new Machine()
    expect(await findings(machine, "owner")).toMatchObject([{ state: "skipped" }])
    symlinkSync(join(machine.root, "nowhere"), machine.dataHome)
    const unmade = { state: "fail", text: `${machine.dataHome} cannot be made` }
    expect(await findings(machine, "owner")).toMatchObject([unmade])
    const file = join(machine.root, "file")
    writeFileSync(file, "")
    machine.env["CTXBRIDGE_HOME"] = join(file, "archive")
    expect(await findings(machine, "owner")).toMatchObject([
      { state: "fail", text: `${join(file, "archive")} cannot be made`, hint: `look at ${file}` },
    ])
    expect(await findings(machine, "space")).toHaveLength(1)
  })
})

/**
 * `doctor` counted the transcripts of forgotten sessions among those that are in the vault, and `install` among those
 * that an import would archive.
 */
describe("sessions that are forgotten", () => {
  const DAY = 86_400

  test("what is forgotten is neither in the vault nor about to be lost", async () => {
    using machine = new Machine()
    const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
    const [kept, forgotten] = [machine.session().turn("Kept."), machine.session().turn("Forgotten.")]
    for (const { path } of [kept.flush(), forgotten.flush()]) {
      const then = Date.now() / 1000 - 29 * DAY
      utimesSync(path, then, then)
    }
    expect((await cli("import")).code).toBe(0)
    expect((await cli("forget", forgotten.session, "--yes")).code).toBe(0)
    expect(await findings(machine, "archived")).toMatchObject([
      { state: "ok", text: "1 transcript, all in the vault" },
    ])
    const [due] = await findings(machine, "clean-up")
    expect(due).toMatchObject({
      state: "ok",
      text: expect.stringContaining("will delete 1 transcript within"),
    })
    expect(due!.details).toEqual([expect.stringContaining(kept.session)])
  })

  test("an import of it is not offered", async () => {
    using machine = new Machine()
    const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
    const forgotten = machine.session().turn("Forgotten.").flush()
    expect((await cli("import")).code).toBe(0)
    expect((await cli("forget", forgotten.session, "--yes")).code).toBe(0)
    const { history } = JSON.parse((await cli("install", "--json")).stdout)
    expect(history).toMatchObject({ transcripts: 0, left: 0, bytes: 0, bytesLeft: 0 })
  })
})

/**
 * `doctor --fix` deleted a request whose writer was killed before it could rename it as a leftover, before the
 * background job could do it. What a killed rebuild had left was not told of.
 */
describe("what killed processes have left", () => {
  const HOUR = 3600

  /** Left two hours ago by a process that has ended. */
  function left(machine: Machine, name: (pid: number) => string, text: string): string {
    const file = join(machine.dataHome, name(Bun.spawnSync(["true"]).pid))
    mkdirSync(join(file, ".."), { recursive: true, mode: 0o700 })
    writeFileSync(file, text, { mode: 0o600 })
    const then = Date.now() / 1000 - 2 * HOUR
    utimesSync(file, then, then)
    return file
  }

  test("the request is done", async () => {
    using machine = new Machine()
    // Elsewhere than the host's folder, where doctor itself would find it.
    const unseen = machine.session().turn("Nobody tells of this").flush()
    machine.env["CLAUDE_CONFIG_DIR"] = join(machine.root, "none")
    const request = { transcripts: [unseen.path], sweep: [], settle: false }
    left(machine, (pid) => `requests/left.json.${pid}`, JSON.stringify(request))
    expect(await findings(machine, "leftovers")).toMatchObject([{ state: "ok" }])
    expect(await findings(machine, "requests", "--fix")).toMatchObject([{ state: "ok" }])
    expect(archivedIn(machine.copy(unseen.path))).toBeGreaterThan(0)
  })

  test("views that were being rebuilt are a leftover", async () => {
    using machine = new Machine()
    const file = left(machine, (pid) => `archive.db.new-${pid}`, "half of it")
    expect(await findings(machine, "leftovers")).toMatchObject([{ state: "warn", details: [file] }])
    expect(await findings(machine, "leftovers", "--fix")).toMatchObject([{ state: "ok" }])
    expect(existsSync(file)).toBe(false)
  })
})

/** `doctor` found nothing wrong while a setting of the host kept it from calling any hook. */
test("disableAllHooks is told of, and the narrowest file decides", async () => {
  using machine = new Machine()
  const installed = await run(["install"], { env: machine.env, cwd: machine.cwd })
  expect(installed).toMatchObject({ code: 0, stderr: "" })
  const user = join(machine.home, ".claude", "settings.json")
  const settings = JSON.parse(readFileSync(user, "utf8"))
  writeFileSync(user, JSON.stringify({ ...settings, disableAllHooks: true }))
  const registered = { state: "ok", text: "user settings: all 6" }
  expect(await findings(machine, "hooks")).toMatchObject([
    { state: "fail", text: 'user settings: "disableAllHooks" is true', repair: null },
    registered,
  ])
  mkdirSync(join(machine.cwd, ".claude"))
  writeFileSync(join(machine.cwd, ".claude", "settings.local.json"), '{"disableAllHooks": false}')
  expect(await findings(machine, "hooks")).toMatchObject([registered])
})

/** In the home folder, where the project's settings are the user's, status and doctor told of one file twice. */
describe("one settings file is told", () => {
  test.each(["home", "link"])("once, with HOME=%s", async (name) => {
    using machine = new Machine()
    symlinkSync(machine.home, join(machine.root, "link"))
    const env = { ...machine.env, HOME: join(machine.root, name) }
    const cli = (...args: string[]) => run(args, { env, cwd: machine.home })
    expect((await cli("install", "--no-import")).code).toBe(0)
    const { hooks } = JSON.parse((await cli("status", "--json")).stdout)
    expect(hooks).toMatchObject([{ scope: "user", missing: [], stale: [] }])
    const { findings } = JSON.parse((await cli("doctor", "--json")).stdout)
    const told = findings.filter(({ check }: { check: string }) => check === "settings" || check === "hooks")
    expect(told.map(({ text }: { text: string }) => text)).toEqual([
      "sound JSON: user",
      "user settings: all 6",
    ])
  })
})
