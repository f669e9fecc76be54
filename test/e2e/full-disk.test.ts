/** Where no byte can be written. */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import {
  closeSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import type { HookName } from "../../src/claude/fake/transcript.ts"
import { fillDisk, MOUNTS_REFUSED, smallDisk } from "../../src/cli/bench/torture/case-disk.ts"
import { databasePath } from "../../src/views/database.ts"
import { open } from "../../src/views/open.ts"
import { binary, run } from "../support/binary.ts"
import { contextOf, Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import { tempFolder } from "../support/temp.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

/**
 * On a disk that is full to its last byte, SQLite could not make the index of its log, and nothing was found, shown or
 * given back any more.
 */
describe("no room for an index of the log", () => {
  /**
   * Copies the archive as hooks leave it when nobody tidies up after them: what they have committed last stands in the log
   * only, and no file holds the log's index.
   */
  async function archive(machine: Machine, folder: string): Promise<Transcript> {
    const session = machine.session().turn("The walrus sleeps.").flush()
    await machine.hook("pre-compact", session)
    await machine.idle()
    const db = open(machine.dataHome, "write")
    await machine.hook("pre-compact", session.turn("The ermine wakes.").flush())
    await machine.idle()
    for (const name of ["vault", "archive.lock"]) {
      cpSync(join(machine.dataHome, name), join(folder, name), { recursive: true })
    }
    for (const suffix of ["", "-wal"]) {
      copyFileSync(databasePath(machine.dataHome) + suffix, databasePath(folder) + suffix)
    }
    db.close()
    return session
  }

  /** @param through words before the command */
  async function expectReadable(
    machine: Machine,
    folder: string,
    session: Transcript,
    through: readonly string[],
  ): Promise<void> {
    const options = { env: { ...machine.env, CTXBRIDGE_HOME: folder }, cwd: machine.cwd }
    const called = (args: readonly string[], stdin = "") => run(args, { ...options, stdin, through })
    const found = await called(["search", "ermine", "--json"])
    expect(found).toMatchObject({ code: 0, stderr: "" })
    const { hits } = JSON.parse(found.stdout)
    expect(hits).toMatchObject([{ role: "human" }])
    for (const args of [["show", hits[0].handle], ["preview"]]) {
      const stdout = expect.stringContaining("The ermine wakes.")
      expect(await called(args)).toMatchObject({ code: 0, stderr: "", stdout })
    }
    expect(await called(["rebuild", "--dry-run"])).toMatchObject({ code: 0, stderr: "" })
    const given = await called(
      ["hook", "session-start"],
      machine.payload("session-start", session, { source: "compact" }),
    )
    expect(given).toMatchObject({ code: 0, stderr: "" })
    expect(contextOf(given)).toContain("The ermine wakes.")
  }

  test("where no file may grow, everything is read", async () => {
    using machine = new Machine()
    using folder = tempFolder()
    const session = await archive(machine, folder.path)
    await expectReadable(machine, folder.path, session, ["/bin/sh", "-c", 'ulimit -f 0; exec "$0" "$@"'])
  })

  const mountable = ((): boolean => {
    using folder = tempFolder()
    using disk = smallDisk(folder.path, 1 << 20)
    return disk !== undefined
  })()

  test.skipIf(!mountable)(
    `on a full disk, everything is read (skipped where ${MOUNTS_REFUSED})`,
    async () => {
      using machine = new Machine()
      const folder = join(machine.root, "full")
      mkdirSync(folder)
      using _disk = smallDisk(folder, 4 << 20)
      const session = await archive(machine, folder)
      using _ballast = fillDisk(folder)
      await expectReadable(machine, folder, session, [])
    },
  )

  test.skipIf(!mountable)(
    `import says once that there is no room, and what to do (skipped where ${MOUNTS_REFUSED})`,
    async () => {
      using machine = new Machine()
      for (const what of ["walrus", "ermine", "otter"]) machine.session().turn(`The ${what} sleeps.`).flush()
      const folder = join(machine.root, "full")
      mkdirSync(folder)
      using _disk = smallDisk(folder, 4 << 20)
      const env = { ...machine.env, CTXBRIDGE_HOME: folder }
      using _ballast = fillDisk(folder)
      const { code, stdout, stderr } = await run(["import", "-q"], { env, cwd: machine.cwd })
      expect({ code, stderr }).toEqual({ code: 1, stderr: "" })
      expect(stdout.split("\n")).toEqual([
        expect.stringMatching(/^failed: 3 files, such as .*\.jsonl: ENOSPC/),
        "--json lists all that failed",
        "Once there is room on the disk, ctxbridge import continues",
        "",
      ])
      expect((await run(["import"], { env, cwd: machine.cwd })).stdout).toContain("\nNothing was archived\n")
    },
  )

  test.skipIf(!mountable)(`status knows what doctor knows (skipped where ${MOUNTS_REFUSED})`, async () => {
    using machine = new Machine()
    const folder = join(machine.root, "full")
    mkdirSync(folder)
    using _disk = smallDisk(folder, 4 << 20)
    await archive(machine, folder)
    using _ballast = fillDisk(folder)
    const env = { ...machine.env, CTXBRIDGE_HOME: folder }
    const { stdout } = await run(["status"], { env, cwd: machine.cwd })
    expect(stdout).toMatch(/^problems +only 0 B free where the archive is: ctxbridge doctor/m)
  })
})

test("status tells that the data folder cannot be made", async () => {
  using machine = new Machine()
  writeFileSync(join(machine.root, "file"), "")
  const env = { ...machine.env, CTXBRIDGE_HOME: join(machine.root, "file", "archive") }
  const called = (...args: string[]) => run(args, { env, cwd: machine.cwd })
  const text = "the data folder cannot be written"
  expect((await called("status")).stdout).toMatch(new RegExp(`^problems .*${text}: ctxbridge doctor`, "m"))
  expect((await called("status", "-v")).stdout).toMatch(new RegExp(`^writable +no: ${text}$`, "m"))
  expect(JSON.parse((await called("status", "--json")).stdout)).toMatchObject({ unwritable: text })
})

/** As after an import whose database had no room, or with copies put back from a backup. */
test("verify counts what the database does not know of", async () => {
  using machine = new Machine()
  machine.session().turn("The walrus sleeps.").flush()
  const called = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
  expect(await called("import")).toMatchObject({ code: 0 })
  const known = machine.session().turn("The ermine wakes.").flush()
  const elsewhere = join(machine.root, "elsewhere")
  const env = { ...machine.env, CTXBRIDGE_HOME: elsewhere }
  expect(await run(["import", known.path], { env, cwd: machine.cwd })).toMatchObject({ code: 0 })
  cpSync(join(elsewhere, "vault"), join(machine.dataHome, "vault"), { recursive: true })

  expect(JSON.parse((await called("verify", "--json")).stdout)).toMatchObject({
    ok: true,
    views: { transcripts: 1, bytes: statSync(known.path).size },
  })
  expect(await called("verify")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /\nThe database is 1\.\d KB behind, in 1 transcript: `ctxbridge rebuild` brings it up to date\.\n/,
    ),
  })
  expect(await called("rebuild")).toMatchObject({ code: 0 })
  expect((await called("verify")).stdout).not.toContain("behind")
})

/** No file may grow. */
const FULL = { through: ["/bin/sh", "-c", 'ulimit -f 0; exec "$0" "$@"'] }

/**
 * A file is written under another name and then renamed. Where there was no room for it, the empty file stayed: up to four
 * for each hook, and nothing ever removed them.
 */
test("hooks that find no room leave no files", async () => {
  using machine = new Machine()
  const session = machine.session().turn("before it").flush()
  await machine.hook("session-start", session, { source: "startup" })
  await machine.hook("stop", session)
  await machine.idle()
  for (const event of ["user-prompt-submit", "stop", "session-end"] satisfies HookName[]) {
    session.turn(`then ${event}`).flush()
    const ran = await machine.hook(event, session, { prompt: "go on", reason: "clear" }, FULL)
    expect(ran).toMatchObject({ code: 0, stdout: "", stderr: "" })
  }
  await machine.idle()
  const names = readdirSync(machine.dataHome, { recursive: true, encoding: "utf8" })
  expect(names.filter((name) => /\.\d+$/.test(name))).toEqual([])
})

/**
 * Where stdout could not take the output, commands blamed the archive ("cannot use …: make room there"), help spoke of a
 * defect, and --json ended with the stack of an exception.
 */
describe("no room for the output", () => {
  const FULL = "/dev/full"

  test
    .skipIf(!existsSync(FULL))
    .each([["status"], ["status --json"], ["show nosuch --json"], ["--help"], ["completions bash"]])(
    "%s: exit code 1 and two lines that name the output",
    async (words) => {
      using machine = new Machine()
      const full = openSync(FULL, "w")
      try {
        const child = Bun.spawn([binary(), ...words.split(" ")], {
          env: { PATH: process.env["PATH"] ?? "", ...machine.env },
          cwd: machine.cwd,
          stdin: "ignore",
          stdout: full,
          stderr: "pipe",
        })
        const stderr = await new Response(child.stderr).text()
        // What cannot be said on stdout is said on stderr.
        const message = words.startsWith("show")
          ? /^ctxbridge: nothing is archived in .*\nhint: .*\n$/
          : /^ctxbridge: the output cannot be written: ENOSPC.*\nhint: free some space there;.*\n$/
        expect(stderr).toMatch(message)
        expect(await child.exited).toBe(words.startsWith("show") ? 3 : 1)
      } finally {
        closeSync(full)
      }
    },
  )
})
