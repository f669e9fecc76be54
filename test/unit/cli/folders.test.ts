import { describe, expect, test } from "bun:test"
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import { tailOf } from "../../../src/vault/reader.ts"
import { databasePath, SCHEMA_VERSION } from "../../../src/views/database.ts"
import { open } from "../../../src/views/open.ts"
import { findings, states } from "../../support/examined.ts"
import { Inside, run } from "../../support/inside.ts"
import { left } from "../../support/leftovers.ts"
import { contentOf, contextOf, type Machine } from "../../support/machine.ts"
import type { Transcript } from "../../support/transcript.ts"

/** What doctor says of the data folder and what lies in it. */
describe("folders", () => {
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
      using machine = new Inside()
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
      using machine = new Inside()
      await archived(machine)
      chmodSync(databasePath(machine.dataHome), 0o400)
      const [found] = await findings(machine, "owner")
      expect(found).toMatchObject({
        state: "fail",
        details: expect.arrayContaining([databasePath(machine.dataHome)]),
      })
    })

    test("a data folder that cannot be made", async () => {
      using machine = new Inside()
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

  test("views that were being rebuilt are a leftover", async () => {
    using machine = new Inside()
    const file = left(machine, (pid) => `archive.db.new-${pid}`, "half of it")
    expect(await findings(machine, "leftovers")).toMatchObject([{ state: "warn", details: [file] }])
    expect(await findings(machine, "leftovers", "--fix")).toMatchObject([{ state: "ok" }])
    expect(existsSync(file)).toBe(false)
  })
})

/** Projects: which sessions are of one, where it is gone, and how it is told. */
describe("projects", () => {
  /** What is installed for all projects must not give one project's turns to another. */
  test("a session gets nothing of another project's", async () => {
    using machine = new Inside()
    const secret = machine
      .session({ cwd: join(machine.root, "client-a") })
      .turn("the secret of client A")
      .flush()
    await machine.hook("pre-compact", secret, { trigger: "auto" })
    await machine.hook("session-end", secret, { reason: "clear" })
    for (const source of ["startup", "clear", "compact", "resume"]) {
      const other = machine
        .session({ cwd: join(machine.root, "client-b") })
        .turn("work for client B")
        .flush()
      const context = contextOf(await machine.hook("session-start", other, { source })) ?? ""
      expect(context).not.toContain("client A")
    }
  })

  test("people read the repository's folder, not what git keeps in it", async () => {
    using machine = new Inside()
    const repo = join(machine.root, "repo")
    mkdirSync(join(repo, ".git"), { recursive: true })
    const session = machine.session({ cwd: repo }).turn("The lantern is amber.").flush()
    await machine.hook("stop", session)
    const found = await run(["search", "lantern", "--all-projects"], { env: machine.env, cwd: repo })
    expect(found).toMatchObject({ code: 0, stderr: "" })
    expect(found.stdout).toContain(" · repo\n")
    expect(found.stdout).not.toContain(".git")
    const whole = await run(["search", "lantern", "--all-projects", "-v"], { env: machine.env, cwd: repo })
    expect(whole.stdout).toContain(` · ${repo}`)
    expect(whole.stdout).not.toContain(".git")
    const none = await run(["search", "walrus"], { env: machine.env, cwd: repo })
    expect(none).toMatchObject({
      code: 3,
      stdout: "",
      stderr: `ctxbridge: nothing in ${repo} matches "walrus"\nhint: --all-projects looks everywhere\n`,
    })
  })

  /**
   * Of a repository that was moved or deleted nothing was found by its folder; a rebuild, which every new version may bring,
   * took the sessions of a worktree that was removed since out of their project.
   */
  describe("a project whose folder is gone", () => {
    /** A repository with a worktree, as git makes them, and a session in each. */
    async function repository(machine: Machine) {
      const repo = join(machine.root, "repo")
      const tree = join(machine.root, "tree")
      const admin = join(repo, ".git", "worktrees", "tree")
      for (const dir of [admin, tree]) mkdirSync(dir, { recursive: true })
      writeFileSync(join(tree, ".git"), `gitdir: ${admin}\n`)
      writeFileSync(join(repo, ".git", "HEAD"), "ref: refs/heads/main\n")
      writeFileSync(join(admin, "commondir"), "../..\n")
      writeFileSync(join(admin, "gitdir"), `${join(tree, ".git")}\n`)
      for (const cwd of [repo, tree]) {
        const session = machine.session({ cwd }).turn(`The walrus of ${cwd}.`).flush()
        expect(await machine.hook("stop", session)).toMatchObject({ code: 0, stderr: "" })
      }
      // Indexed while it is there.
      expect(await count(machine, "sessions", "--project", repo)).toBe(2)
      return { repo, tree }
    }

    async function count(machine: Machine, command: string, ...args: readonly string[]): Promise<number> {
      const { code, stdout, stderr } = await run([command, ...args, "--json"], machine)
      expect(stderr).toBe("")
      const { hits, sessions, found } = JSON.parse(stdout) as Record<string, readonly unknown[]>
      return code === 3 ? 0 : (hits ?? sessions ?? found)!.length
    }

    test("a rebuild leaves the sessions of a removed worktree in their project", async () => {
      using machine = new Inside()
      const { repo, tree } = await repository(machine)
      expect(await count(machine, "search", "walrus", "--project", repo)).toBe(2)
      rmSync(tree, { recursive: true })
      for (let n = 0; n < 2; n++) {
        expect(await run(["rebuild"], machine)).toMatchObject({ code: 0, stderr: "" })
        expect(await count(machine, "search", "walrus", "--project", repo)).toBe(2)
        expect(await count(machine, "sessions", "--project", repo)).toBe(2)
      }
      // By the folder that is gone, too.
      expect(await count(machine, "search", "walrus", "--project", tree)).toBe(2)
    })

    test("a repository that was moved is found by where it was", async () => {
      using machine = new Inside()
      const { repo } = await repository(machine)
      renameSync(repo, join(machine.root, "moved"))
      expect(await count(machine, "search", "walrus", "--project", repo)).toBe(2)
      expect(await count(machine, "sessions", "--project", repo)).toBe(2)
      expect(await run(["rebuild"], machine)).toMatchObject({ code: 0, stderr: "" })
      expect(await count(machine, "sessions", "--project", repo)).toBe(2)
    })

    test("of a session that the vault has no more, a rebuild carries nothing over", async () => {
      using machine = new Inside()
      const { tree } = await repository(machine)
      rmSync(tree, { recursive: true })
      const { stdout } = await run(["sessions", "--all-projects", "--json"], machine)
      const sessions = (JSON.parse(stdout) as { sessions: readonly { id: string; cwd: string }[] }).sessions
      const { id } = sessions.find(({ cwd }) => cwd === tree)!
      expect(await run(["forget", id, "--yes"], machine)).toMatchObject({ code: 0, stderr: "" })
      await machine.idle()
      const views = Buffer.from(await Bun.file(join(machine.dataHome, "archive.db")).arrayBuffer())
      expect(views.includes(id)).toBe(false)
      expect(views.includes(tree)).toBe(false)
    })
  })

  /** `sessions --all-projects` did not say of which project each session was. */
  test("sessions are told with their project's name; those of one project without", async () => {
    using machine = new Inside()
    const other = join(machine.root, "elsewhere")
    mkdirSync(other)
    await machine.hook("stop", machine.session({ id: "0a1b2c3d-1" }).turn("Here").flush())
    await machine.hook("stop", machine.session({ id: "4e5f6a7b-2", cwd: other }).turn("There").flush())
    const list = async (...args: string[]): Promise<string[]> =>
      (await run(["sessions", ...args], { env: machine.env, cwd: machine.cwd })).stdout.trimEnd().split("\n")
    const [head, ...rows] = await list("--all-projects")
    expect(head).toContain("  project  ")
    for (const [folder, prompt] of [
      ["project", "Here"],
      ["elsewhere", "There"],
    ])
      expect(rows.find((row) => row.endsWith(`  ${prompt}`))).toContain(`  ${folder}  `)
    for (const line of [head!, ...rows]) expect(line.length).toBeLessThanOrEqual(80)
    expect((await list())[0]).not.toContain("project")
  })
})

/** What doctor says of the hooks in Claude Code's settings. */
describe("hooks", () => {
  /** `doctor` found nothing wrong while a setting of Claude Code kept it from calling any hook. */
  test("disableAllHooks is told of, and the narrowest file decides", async () => {
    using machine = new Inside()
    const installed = await run(["install"], { env: machine.env, cwd: machine.cwd })
    expect(installed).toMatchObject({ code: 0, stderr: "" })
    const user = join(machine.home, ".claude", "settings.json")
    const settings = JSON.parse(readFileSync(user, "utf8"))
    writeFileSync(user, JSON.stringify({ ...settings, disableAllHooks: true }))
    const registered = { state: "ok", text: "user settings: all 6" }
    expect(await findings(machine, "hooks")).toMatchObject([
      { state: "fail", text: 'user settings: "disableAllHooks" is true', repair: undefined },
      registered,
    ])
    mkdirSync(join(machine.cwd, ".claude"))
    writeFileSync(join(machine.cwd, ".claude", "settings.local.json"), '{"disableAllHooks": false}')
    expect(await findings(machine, "hooks")).toMatchObject([registered])
  })
})

/** What doctor says of the database, and that its repair helps. */
describe("database", () => {
  async function archived(): Promise<Inside> {
    const machine = new Inside()
    machine.session().turn("Kept.").flush()
    expect(await run(["import"], machine)).toMatchObject({ code: 0, stderr: "" })
    return machine
  }

  test.each<[string, (path: string) => void]>([
    [
      "is none",
      (file) => writeFileSync(file, "no database, but long enough to be taken for one. ".repeat(20)),
    ],
    ["is half there", (file) => truncateSync(file, 10_000)],
    ["is empty", (file) => truncateSync(file, 0)],
    ["is gone", (file) => rmSync(file)],
  ])("a database that %s is reported and made anew", async (_name, spoil) => {
    using machine = await archived()
    const path = databasePath(machine.dataHome)
    for (const end of ["-wal", "-shm"]) rmSync(path + end, { force: true })
    spoil(path)
    expect(await findings(machine, "database")).toMatchObject([
      { state: "fail", repair: { what: "rebuild the database from the vault" } },
    ])
    expect(await states(machine, "database", "--fix")).toEqual(["ok"])
  })

  test("a database of a later version is reported, and left alone", async () => {
    using machine = await archived()
    const db = open(machine.dataHome, "write", 2000)
    db.run(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`)
    db.close()
    expect(await findings(machine, "database", "--fix")).toMatchObject([
      { state: "fail", text: expect.stringContaining("newer") },
    ])
  })
})

/** What doctor says of the copies in the vault, and that its repairs help. */
describe("vault", () => {
  const HOUR = 3600
  const GONE = "60000000-0000-4000-8000-000000000001"

  const age = (path: string): void => utimesSync(path, Date.now() / 1000 - HOUR, Date.now() / 1000 - HOUR)

  async function archived(): Promise<{ machine: Inside; session: Transcript; copy: string }> {
    const machine = new Inside()
    const session = machine.session().turn("Kept.").flush()
    age(session.path)
    expect(await run(["import"], machine)).toMatchObject({ code: 0, stderr: "" })
    return { machine, session, copy: machine.copy(session.path) }
  }

  test("a copy that does not end whole is cut, and one without its transcript is a failure", async () => {
    const { machine, session, copy } = await archived()
    using _ = machine
    const sound = readFileSync(copy)
    appendFileSync(copy, "half a frame")
    expect(await findings(machine, "vault")).toMatchObject([
      { state: "warn", details: [expect.stringContaining("its last 12 bytes are not a complete frame")] },
    ])
    expect(await states(machine, "vault", "--fix")).toEqual(["ok"])
    expect(readFileSync(copy).equals(sound)).toBe(true)
    // Without the transcript, nobody knows what the half frame was to hold.
    appendFileSync(copy, "half a frame")
    rmSync(session.path)
    expect(await states(machine, "vault")).toEqual(["fail"])
  })

  test("a copy that does not begin whole is a failure", async () => {
    const { machine, copy } = await archived()
    using _ = machine
    writeFileSync(copy, "none of ours")
    expect(await states(machine, "vault")).toEqual(["fail"])
  })

  test("a copy that is damaged inside is found by a deep look, and mended", async () => {
    const { machine, session, copy } = await archived()
    using _ = machine
    const time = new Date(1_700_000_000_000)
    utimesSync(copy, time, time)
    expect((await run(["import"], machine)).code).toBe(0)
    const bytes = readFileSync(copy)
    bytes[bytes.length - 140]! ^= 0xff
    writeFileSync(copy, bytes)
    // Nothing tells that it was written, as when a disk gives back other bytes than it was given.
    utimesSync(copy, time, time)
    expect(await states(machine, "vault")).toEqual(["ok"])
    expect(await findings(machine, "vault", "--deep")).toMatchObject([
      { state: "fail", repair: { what: "mend 1 copy from Claude Code's files" } },
    ])
    const fixed = await states(machine, "vault", "--deep", "--fix")
    expect((await run(["export", session.session, "--raw"], machine)).stdout).toBe(
      readFileSync(session.path, "utf8"),
    )
    expect(fixed).toEqual(["ok"])
    expect(existsSync(copy.replace(".jsonl.zst", ".~1.jsonl.zst"))).toBe(false)
  })

  test("copies of files beside transcripts and of the list of prompts are mended, too", async () => {
    using machine = new Inside()
    const session = machine.session().turn("Kept.").flush()
    const output = machine.path(join(session.session, "tool-results", "b1.txt"))
    mkdirSync(dirname(output), { recursive: true })
    writeFileSync(output, "kept beside\n".repeat(100))
    const list = join(machine.home, ".claude", "history.jsonl")
    const prompt = { display: "Kept as a prompt", timestamp: 1.7e12, project: machine.cwd, sessionId: GONE }
    writeFileSync(list, `${JSON.stringify(prompt)}\n`)
    expect(await run(["import"], machine)).toMatchObject({ code: 0, stderr: "" })
    for (const path of [output, list]) {
      const copy = machine.copy(path)
      const bytes = readFileSync(copy)
      bytes[tailOf(copy)!.headerLength + 30]! ^= 0xff
      writeFileSync(copy, bytes)
    }
    expect(await findings(machine, "vault", "--deep")).toMatchObject([
      { state: "fail", repair: { what: "mend 2 copies from Claude Code's files" } },
    ])
    expect(await states(machine, "vault", "--fix", "--deep")).toEqual(["ok"])
    for (const path of [output, list])
      expect([path, contentOf(machine.copy(path)).toString()]).toEqual([path, readFileSync(path, "utf8")])
  })

  test("copies that were only begun, and folders in their places, are mended", async () => {
    const { machine } = await archived()
    using _ = machine
    const [begun, replaced] = [machine.session(), machine.session()]
    for (const [copy, make] of [
      [machine.copy(begun.path), (path: string) => writeFileSync(path, "")],
      [machine.copy(replaced.path), (path: string) => mkdirSync(join(path, "inside"), { recursive: true })],
    ] as const) {
      make(copy)
      age(copy)
    }
    for (const deep of [[], ["--deep"]] as const)
      expect(await findings(machine, "vault", ...deep)).toMatchObject([
        { state: "ok" },
        { state: "fail", details: [expect.stringContaining(replaced.session)] },
        { state: "warn", details: [expect.stringContaining(begun.session)] },
      ])
    expect((await run(["verify"], machine)).stdout).toContain("a folder is in the place of the copy")
    await findings(machine, "vault", "--fix")
    expect(await states(machine, "vault", "--deep")).toEqual(["ok"])
    expect(existsSync(machine.copy(begun.path))).toBe(false)
    expect(existsSync(join(`${machine.copy(replaced.path)}.aside-1`, "inside"))).toBe(true)
    expect(await run(["verify"], machine)).toMatchObject({ code: 0 })
  })
})

/** What doctor says of Claude Code's transcripts: which are in the vault, and when it deletes them. */
describe("transcripts", () => {
  const DAY = 86_400

  async function archived(): Promise<Inside> {
    const machine = new Inside()
    const { path } = machine.session().turn("Kept.").flush()
    utimesSync(path, Date.now() / 1000 - 2 * DAY, Date.now() / 1000 - 2 * DAY)
    expect(await run(["import"], machine)).toMatchObject({ code: 0, stderr: "" })
    return machine
  }

  test("only what is in the vault is said to be there", async () => {
    using machine = await archived()
    expect(await findings(machine, "archived")).toMatchObject([{ text: "1 transcript, all in the vault" }])
    machine.session().turn("Written just now.").flush()
    expect(await findings(machine, "archived")).toMatchObject([
      {
        state: "ok",
        text: expect.stringMatching(/^2 transcripts; .*last minute, are not in the vault yet$/),
      },
    ])
    const vault = join(machine.dataHome, "vault")
    renameSync(vault, `${vault}.aside`)
    writeFileSync(vault, "in the way")
    expect(await findings(machine, "archived")).toMatchObject([
      { state: "fail", text: expect.stringMatching(/of 2 transcripts are not in the vault$/) },
    ])
  })

  test.each([
    [0, "writes no transcripts"],
    ["30", "refuses"],
  ])("a clean-up period of %p is reported: the host %s", async (cleanupPeriodDays, words) => {
    using machine = await archived()
    const folder = join(machine.home, ".claude")
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, "settings.json"), JSON.stringify({ cleanupPeriodDays }))
    expect(await findings(machine, "clean-up")).toMatchObject([
      { state: "warn", text: expect.stringContaining(words) },
    ])
  })

  /**
   * `doctor` counted the transcripts of forgotten sessions among those that are in the vault, and `install` among those
   * that an import would archive.
   */
  describe("sessions that are forgotten", () => {
    const DAY = 86_400

    test("what is forgotten is neither in the vault nor about to be lost", async () => {
      using machine = new Inside()
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
      using machine = new Inside()
      const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
      const forgotten = machine.session().turn("Forgotten.").flush()
      expect((await cli("import")).code).toBe(0)
      expect((await cli("forget", forgotten.session, "--yes")).code).toBe(0)
      const { history } = JSON.parse((await cli("install", "--json")).stdout)
      expect(history).toMatchObject({ transcripts: 0, left: 0, bytes: 0, bytesLeft: 0 })
    })
  })
})
