/** A data folder that cannot be written: hooks write elsewhere, and everything moves over when it can be again. */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { loadSettings } from "../../src/config/load.ts"
import { captureTranscript } from "../../src/vault/capture.ts"
import { checkCopy } from "../../src/vault/check-copy.ts"
import { supersededPath } from "../../src/vault/layout.ts"
import { spoolFolders } from "../../src/vault/spool-folders.ts"
import { takeToSpool } from "../../src/views/spool.ts"
import { binary, type Ran, run, start } from "../support/binary.ts"
import { contentOf, contextOf, Machine, promptsIn } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

const well = (ran: Ran): void => expect(ran).toMatchObject({ code: 0, stderr: "" })
const silent = (ran: Ran): void => expect(ran).toMatchObject({ code: 0, stdout: "", stderr: "" })

/** A machine whose data folder can be replaced by a file: the superuser may write into any folder. */
class Blockable extends Machine {
  readonly temporary: string

  constructor() {
    super()
    this.temporary = join(this.root, "tmp")
    mkdirSync(this.temporary)
    this.env["TMPDIR"] = this.temporary
  }

  block(): void {
    if (existsSync(this.dataHome)) renameSync(this.dataHome, `${this.dataHome}.aside`)
    writeFileSync(this.dataHome, "in the way")
  }

  unblock(): void {
    rmSync(this.dataHome)
    if (existsSync(`${this.dataHome}.aside`)) renameSync(`${this.dataHome}.aside`, this.dataHome)
  }

  cli(...args: string[]): Promise<Ran> {
    return run(args, { env: this.env, cwd: this.cwd })
  }

  /** With CTXBRIDGE_HOME the state folder stands in the data folder: only the temporary one is left. */
  get spools(): string[] {
    return spoolFolders({
      dataHome: this.dataHome,
      stateHome: join(this.dataHome, "state"),
      temporary: this.temporary,
    })
  }
}

function expectArchived(machine: Machine, { path }: Transcript, content = readFileSync(path)): void {
  const copy = machine.copy(path)
  expect(checkCopy(copy, undefined)).toMatchObject({ damage: [], halfFrame: 0, archived: content.length })
  expect(contentOf(copy).equals(content)).toBe(true)
}

/** Files of the archive and the spool with these bytes, also if compressed. */
function filesWith({ dataHome, temporary }: Blockable, text: string): string[] {
  const files = [dataHome, temporary].flatMap((folder) => [
    ...new Bun.Glob("**/*").scanSync({ cwd: folder, absolute: true, dot: true }),
  ])
  return files.filter((file) => {
    const bytes = readFileSync(file)
    return bytes.includes(text) || (file.endsWith(".zst") && Bun.zstdDecompressSync(bytes).includes(text))
  })
}

const status = async (machine: Blockable) => JSON.parse((await machine.cli("status", "--json")).stdout)

describe("while the data folder cannot be used", () => {
  test("every event archives into the spool, once, and nothing but the spool is written", async () => {
    using machine = new Blockable()
    const transcript = machine.session().turn("before").flush()
    machine.block()
    silent(await machine.hook("stop", transcript))
    const spool = machine.spools[1]!
    const piece = join(spool, "vault", machine.copy(transcript.path).split("/vault/")[1]!)
    const first = statSync(piece).size
    silent(await machine.hook("stop", transcript))
    expect(statSync(piece).size).toBe(first)
    for (const event of ["user-prompt-submit", "session-end", "subagent-stop"] as const)
      silent(await machine.hook(event, transcript.turn(event).flush(), { prompt: "x", reason: "other" }))
    expect(contentOf(piece).equals(readFileSync(transcript.path))).toBe(true)
    expect(lstatSync(spool).mode & 0o777).toBe(0o700)
    expect(lstatSync(piece).mode & 0o777).toBe(0o600)
    expect(readFileSync(machine.dataHome, "utf8")).toBe("in the way")
  })

  test("status says what is spooled, where and why; commands that write fail with a hint", async () => {
    using machine = new Blockable()
    const transcript = machine.session().turn("before").flush()
    machine.block()
    silent(await machine.hook("stop", transcript))
    const { spool } = await status(machine)
    expect(spool).toEqual([
      {
        folder: machine.spools[1],
        transcripts: 1,
        bytes: expect.any(Number),
        reason: { time: expect.any(String), code: expect.stringMatching(/^E/), message: expect.any(String) },
      },
    ])
    const { code, stdout, stderr } = await machine.cli("status", "--verbose")
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout).toMatch(/spooled +\d+ B of 1 transcript in .*not yet in/)
    const ran = await machine.cli("import")
    expect(ran).toMatchObject({ code: 1, stdout: "" })
    expect(ran.stderr).toContain(`cannot use ${machine.dataHome}`)
    expect(ran.stderr.trimEnd().split("\n")).toEqual([expect.any(String), expect.stringMatching(/^hint: /)])
  })

  test("the swallowed prompt is given back from a database that can only be read", async () => {
    using machine = new Blockable()
    const transcript = machine.session().turn("first").flush()
    well(await machine.hook("pre-compact", transcript, { trigger: "auto" }))
    await machine.idle()
    // Only the database stays as it is; what hooks write is in the way of a file each.
    for (const name of ["vault", "sessions", "pending", "requests"]) {
      rmSync(join(machine.dataHome, name), { recursive: true, force: true })
      writeFileSync(join(machine.dataHome, name), "in the way")
    }
    silent(
      await machine.hook("user-prompt-submit", transcript.turn("second").flush(), { prompt: "lost words" }),
    )
    well(await machine.hook("pre-compact", transcript.turn("third").flush(), { trigger: "auto" }))
    const ran = await machine.hook("session-start", transcript.turn("fourth").flush(), { source: "compact" })
    well(ran)
    expect(contextOf(ran)).toContain("lost words")
  })
})

describe("when it can be used again", () => {
  test("a command moves everything over, also what the host has deleted meanwhile", async () => {
    using machine = new Blockable()
    const kept = machine.session().turn("one").flush()
    const gone = machine.session().turn("two").flush()
    for (const one of [kept, gone]) silent(await machine.hook("stop", one))
    machine.block()
    for (const one of [kept, gone]) {
      silent(await machine.hook("stop", one.turn("spooled").flush()))
      silent(await machine.hook("stop", one.turn("again").flush()))
    }
    const content = readFileSync(gone.path)
    rmSync(gone.path)
    machine.unblock()
    well(await machine.cli("sessions"))
    expectArchived(machine, kept)
    expectArchived(machine, gone, content)
    expect(await status(machine)).toMatchObject({ spool: [], totals: { turns: 6 } })
    expect(readdirSync(machine.temporary)).toEqual([])
    await machine.idle()
    using views = machine.views()
    expect(promptsIn(views, gone.session)).toEqual(["two", "spooled", "again"])
  })

  test("a hook starts the job, and that moves everything over", async () => {
    using machine = new Blockable()
    const transcript = machine.session().turn("one").flush()
    machine.block()
    silent(await machine.hook("stop", transcript))
    const content = readFileSync(transcript.path)
    rmSync(transcript.path)
    machine.unblock()
    well(await machine.hook("session-start", machine.session().turn("other").flush(), { source: "startup" }))
    await machine.idle()
    expectArchived(machine, transcript, content)
    expect(readdirSync(machine.temporary)).toEqual([])
  })

  test("what was archived again before it could move over is not there twice", async () => {
    using machine = new Blockable()
    const transcript = machine.session().turn("one").flush()
    silent(await machine.hook("stop", transcript))
    machine.block()
    silent(await machine.hook("stop", transcript.turn("two").flush()))
    machine.unblock()
    silent(await machine.hook("stop", transcript.turn("three").flush()))
    well(await machine.cli("sessions"))
    expectArchived(machine, transcript)
    expect(existsSync(supersededPath(machine.copy(transcript.path), 1))).toBe(false)
    expect(readdirSync(machine.temporary)).toEqual([])
  })

  test("every version of a transcript is kept that the host has rewritten meanwhile", async () => {
    using machine = new Blockable()
    const transcript = machine.session().turn("one").flush()
    silent(await machine.hook("stop", transcript))
    const versions = [readFileSync(transcript.path)]
    machine.block()
    for (const word of ["two", "three"]) {
      rmSync(transcript.path)
      silent(await machine.hook("stop", transcript.turn(word).flush()))
      versions.push(readFileSync(transcript.path))
    }
    machine.unblock()
    well(await machine.cli("sessions"))
    const copy = machine.copy(transcript.path)
    const held = [supersededPath(copy, 1), supersededPath(copy, 2), copy].map((file) => contentOf(file))
    expect(held.map(String).sort()).toEqual(versions.map(String).sort())
    expectArchived(machine, transcript)
    using views = machine.views()
    expect(promptsIn(views, transcript.session).sort()).toEqual(["one", "three", "two"])
  })

  test("what the host has gone back from is found, verified, exported and forgotten", async () => {
    using machine = new Blockable()
    const transcript = machine.session().turn("one").flush()
    silent(await machine.hook("stop", transcript))
    const start = readFileSync(transcript.path)
    transcript.turn("about the walrus").flush()
    const options = { now: Date.now(), deadline: performance.now() + 10_000, lastLine: "whole" } as const
    // A hook that can read the vault, but not write it.
    takeToSpool(loadSettings(undefined, machine.env).paths, transcript.path, options, new Error("read-only"))
    writeFileSync(transcript.path, start)
    silent(await machine.hook("stop", transcript.turn("three").flush()))
    expect(JSON.parse((await machine.cli("search", "walrus", "--json")).stdout).hits).toHaveLength(1)
    const verified = await machine.cli("verify", "--json")
    expect(verified).toMatchObject({ code: 0, stderr: "" })
    expect(JSON.parse(verified.stdout)).toMatchObject({ totals: { copies: 2, superseded: 1 } })
    expect(await status(machine)).toMatchObject({ spool: [], totals: { turns: 3 } })
    expect((await machine.cli("export", transcript.session)).stdout).toContain("about the walrus")
    const forgot = await machine.cli("forget", "--match", "walrus", "--yes", "--json")
    expect(forgot).toMatchObject({ code: 0, stderr: "" })
    expect(JSON.parse(forgot.stdout).places).toBeGreaterThan(0)
    await machine.idle()
    expect(filesWith(machine, "walrus")).toEqual([])
  })

  test("forget does not say that a text is gone while a piece cannot be moved", async () => {
    using machine = new Blockable()
    const transcript = machine.session().turn("one").flush()
    silent(await machine.hook("stop", transcript))
    transcript.turn("about the walrus").flush()
    const { paths } = loadSettings(undefined, machine.env)
    const options = { now: Date.now(), deadline: performance.now() + 10_000, lastLine: "whole" } as const
    takeToSpool(paths, transcript.path, options, new Error("read-only"))
    rmSync(machine.copy(transcript.path))
    rmSync(transcript.path)
    const { code, stdout } = await machine.cli("forget", "--match", "walrus", "--yes", "--json")
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, failed: [{ error: "waits for the vault" }] })
  })

  test("a marker for want of which the views were behind comes, too", async () => {
    using machine = new Blockable()
    const transcript = machine.session().turn("one").flush()
    well(await machine.hook("pre-compact", transcript, { trigger: "auto" }))
    await machine.idle()
    rmSync(join(machine.dataHome, "pending"), { recursive: true, force: true })
    writeFileSync(join(machine.dataHome, "pending"), "in the way")
    silent(await machine.hook("stop", transcript.turn("two").flush()))
    rmSync(join(machine.dataHome, "pending"))
    well(await machine.cli("sessions"))
    using views = machine.views()
    expect(promptsIn(views, transcript.session)).toEqual(["one", "two"])
  })

  test("nothing is lost or there twice after a command was killed while it moved them over", async () => {
    using machine = new Blockable()
    const transcript = machine.session()
    machine.block()
    for (let n = 0; n < 5; n++) {
      for (let turn = 0; turn < 200; turn++) transcript.turn(`prompt ${n}.${turn}`)
      silent(await machine.hook("stop", transcript.flush()))
    }
    const content = readFileSync(transcript.path)
    rmSync(transcript.path)
    machine.unblock()
    for (let ms = 6; ms <= 30; ms += 3) {
      const { child, ended } = start(["sessions"], { env: machine.env, cwd: machine.cwd })
      await Bun.sleep(ms)
      child.kill("SIGKILL")
      await ended
    }
    well(await machine.cli("sessions"))
    expectArchived(machine, transcript, content)
  })
})

describe("a temporary folder that others can write", () => {
  const made = (folder: string, mode: number): void => {
    mkdirSync(folder)
    chmodSync(folder, mode)
  }
  const traps: readonly (readonly [string, (folder: string, root: string) => void])[] = [
    [
      "a link",
      (folder, root) => {
        made(join(root, "trap"), 0o700)
        symlinkSync(join(root, "trap"), folder)
      },
    ],
    ["open to the group", (folder) => made(folder, 0o770)],
    ["readable for all", (folder) => made(folder, 0o755)],
    ["a file", (folder) => writeFileSync(folder, "")],
  ]
  for (const [name, make] of traps) {
    test(`${name} is not used`, async () => {
      using machine = new Blockable()
      const transcript = machine.session().turn("secret").flush()
      machine.block()
      const own = join(machine.temporary, `ctxbridge-${process.getuid!()}`)
      make(own, machine.root)
      const before = lstatSync(own).mode
      silent(await machine.hook("stop", transcript))
      expect(lstatSync(own).mode).toBe(before)
      expect(lstatSync(own).isDirectory() ? readdirSync(own) : []).toEqual([])
      if (existsSync(join(machine.root, "trap"))) expect(readdirSync(join(machine.root, "trap"))).toEqual([])
      // The next place took it.
      machine.unblock()
      mkdirSync(machine.dataHome)
      well(await machine.cli("sessions"))
      expectArchived(machine, transcript)
    })
  }
})

test("two data folders that share the places do not share what is in them", async () => {
  using machine = new Blockable()
  const transcript = machine.session().turn("mine").flush()
  machine.block()
  silent(await machine.hook("stop", transcript))
  const other = join(machine.root, "other")
  captureTranscript({ dataHome: other, home: machine.home }, transcript.path, {
    now: Date.now(),
    deadline: performance.now() + 10_000,
    lastLine: "whole",
  })
  well(await run(["sessions"], { env: { ...machine.env, CTXBRIDGE_HOME: other }, cwd: machine.cwd }))
  expect((await status(machine)).spool).toHaveLength(1)
})

const setpriv = Bun.which("setpriv")
const isRoot = process.getuid?.() === 0

// The superuser writes everywhere, so it is somebody else who may not.
test.skipIf(!isRoot || setpriv === null)(
  "a data folder of another owner: closed, or only to be read",
  async () => {
    using machine = new Blockable()
    const transcript = machine.session().turn("one").flush()
    const nobody = (...args: string[]) => {
      const as = [setpriv!, "--reuid=65534", "--clear-groups", binary(), ...args]
      const stdin = args[0] === "hook" ? machine.payload("stop", transcript) : ""
      const ran = Bun.spawnSync(as, {
        env: { ...machine.env, PATH: process.env["PATH"] ?? "" },
        cwd: "/",
        stdin: Buffer.from(stdin),
      })
      return { code: ran.exitCode, stdout: ran.stdout.toString(), stderr: ran.stderr.toString() }
    }
    const own = (user: string, path: string): void => void Bun.spawnSync(["chown", "-R", user, path])
    own("65534", machine.root)
    if (nobody("--version").code !== 0) return console.warn("skipped: nobody may run the binary here")
    expect(nobody("hook", "stop")).toEqual({ code: 0, stdout: "", stderr: "" })
    for (const mode of [0o755, 0o700]) {
      own("0", machine.dataHome)
      chmodSync(machine.dataHome, mode)
      transcript.turn(`while ${mode.toString(8)}`).flush()
      expect(nobody("hook", "stop")).toEqual({ code: 0, stdout: "", stderr: "" })
      const { code, stdout, stderr } = nobody("status", "--json")
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      expect(JSON.parse(stdout)).toMatchObject({ spool: [{ transcripts: 1, reason: { code: "EACCES" } }] })
      const refused = nobody("import")
      expect(refused).toMatchObject({ code: 1, stdout: "" })
      expect(refused.stderr).toContain("check its owner and mode")
      own("65534", machine.dataHome)
      expect(nobody("sessions", "--all-projects")).toMatchObject({ code: 0, stderr: "" })
      expectArchived(machine, transcript)
    }
  },
)
