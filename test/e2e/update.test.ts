/** `ctxbridge update`: the binary is replaced while hooks fire, and whatever goes wrong leaves the former one. */
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  setDefaultTimeout,
  test,
} from "bun:test"
import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { builtBinary } from "../support/built.ts"
import { collected } from "../support/collected.ts"
import { Machine, promptsIn, until } from "../support/machine.ts"
import {
  binaryAs,
  FAULTS,
  PLATFORM,
  redirectTo,
  selfSigned,
  serveRelease,
  standIn,
  writeRelease,
} from "../support/release.ts"
import { limit } from "../support/slowness.ts"
import { tempFolder } from "../support/temp.ts"

setDefaultTimeout(limit(120_000))

const { version: OWN } = JSON.parse(readFileSync(join(import.meta.dir, "../../package.json"), "utf8"))
const next = (n: number): string => OWN.replace(/\d+$/, (patch: string) => String(Number(patch) + n))
const [ONE, TWO] = [next(1), next(2)]

/** Releases of the real program under two later versions, made once. */
let shared: ReturnType<typeof tempFolder>
beforeAll(() => {
  builtBinary()
  shared = tempFolder()
  for (const version of [ONE, TWO]) writeRelease(join(shared.path, version), version, binaryAs(version))
})
afterAll(() => shared[Symbol.dispose]())
const releaseOf = (version: string): string => join(shared.path, version)

let machine: Machine
let bin: string
let exe: string

beforeEach(() => {
  machine = new Machine()
  bin = join(machine.root, "bin")
  exe = join(bin, "ctxbridge")
  mkdirSync(bin)
  try {
    linkSync(builtBinary(), exe)
  } catch {
    copyFileSync(builtBinary(), exe)
  }
})
afterEach(() => machine[Symbol.dispose]())

interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

async function call(args: readonly string[], env: Record<string, string> = {}, stdin = ""): Promise<Ran> {
  const child = Bun.spawn([exe, ...args], {
    cwd: machine.cwd,
    env: { PATH: process.env["PATH"] ?? "", ...machine.env, ...env },
    stdin: Buffer.from(stdin),
    stdout: "pipe",
    stderr: "pipe",
  })
  const { code, out: stdout, err: stderr } = await collected(child)
  return { code, stdout, stderr }
}

const update = (...args: readonly string[]): Promise<Ran> => call(["update", ...args])
const versionHere = async (): Promise<string> => (await call(["--version"])).stdout.trim()

describe("a newer release", () => {
  test("is told of, taken, and taken back, from a folder", async () => {
    const from = releaseOf(ONE)
    expect(await update("--check", "--from", from)).toEqual({
      code: 0,
      stdout: `ctxbridge ${ONE} is at ${from}, this is ${OWN}: ctxbridge update\n`,
      stderr: "",
    })
    expect(readdirSync(bin)).toEqual(["ctxbridge"])
    expect(await update("--from", from)).toEqual({
      code: 0,
      stdout: `${exe}: ${OWN} → ${ONE}\nOpen sessions keep the old version until they end. To go back: ctxbridge update --rollback\n`,
      stderr: "",
    })
    expect(await versionHere()).toBe(`ctxbridge ${ONE}`)
    expect(readdirSync(bin).sort()).toEqual([".ctxbridge.previous", "ctxbridge"])
    // The option says from where.
    const again = await call(["update", "--json"], { CTXBRIDGE_RELEASES: `file://${from}` })
    expect(again).toMatchObject({ code: 0, stderr: "" })
    expect(JSON.parse(again.stdout)).toEqual({
      version: ONE,
      found: ONE,
      platform: PLATFORM,
      from,
      available: false,
      changed: false,
    })
    for (const [before, after] of [
      [ONE, OWN],
      [OWN, ONE],
    ]) {
      expect(await update("--rollback")).toEqual({
        code: 0,
        stdout: `${exe}: ${before} → ${after}\n`,
        stderr: "",
      })
      expect(await versionHere()).toBe(`ctxbridge ${after}`)
    }
    expect(readdirSync(bin).sort()).toEqual([".ctxbridge.previous", "ctxbridge"])
  })

  test("from an address, as its own version's folder; an older one only on request", async () => {
    using server = await serveRelease(shared.path)
    expect(await update("--from", `${server.url}/${TWO}`)).toMatchObject({ code: 0, stderr: "" })
    expect(await versionHere()).toBe(`ctxbridge ${TWO}`)
    const older = await update("--from", `${server.url}/${ONE}`)
    expect(older).toEqual({
      code: 0,
      stdout: `ctxbridge ${TWO} is up to date: ${server.url}/${ONE} has ${ONE}\n`,
      stderr: "",
    })
    expect(await update("--from", `${server.url}/${ONE}`, "--to", `v${ONE}`)).toMatchObject({
      code: 0,
      stderr: "",
    })
    expect(await versionHere()).toBe(`ctxbridge ${ONE}`)
    const missing = await update("--from", `${server.url}/${ONE}`, "--to", "9.9.9")
    expect(missing).toMatchObject({ code: 3, stdout: "" })
    expect(missing.stderr).toBe(
      `ctxbridge: ${server.url}/${ONE} has no version 9.9.9 for ${PLATFORM}\nhint: it has ${ONE}\n`,
    )
    expect(server.asked.map(([path]) => path)).toContain(`/${ONE}/v9.9.9/SHA256SUMS`)
  })
})

test("killed after the former one was kept: the next update leaves nothing else", async () => {
  const previous = join(bin, ".ctxbridge.previous")
  linkSync(exe, previous)
  expect(await update("--rollback")).toMatchObject({ code: 0, stderr: "" })
  expect(readdirSync(bin).sort()).toEqual([".ctxbridge.previous", "ctxbridge"])
  expect(await update("--from", releaseOf(ONE))).toMatchObject({ code: 0, stderr: "" })
  expect(readdirSync(bin).sort()).toEqual([".ctxbridge.previous", "ctxbridge"])
  expect(await update("--rollback")).toMatchObject({ code: 0, stdout: `${exe}: ${ONE} → ${OWN}\n` })
})

describe("what it refuses", () => {
  test.each([
    [[], 64, "the address of releases is not set: none is published yet"],
    [["--from", "http://example.com"], 1, "not an address to install from: http://example.com"],
    [["--rollback"], 3, "there is no version before this one"],
    [["--rollback", "--check"], 64, "--rollback and --check cannot be used together"],
    [["--to", "new", "--from", "/x"], 64, "not a version: new"],
    [["--from", "/nowhere"], 3, "there is no SHA256SUMS at /nowhere"],
  ])("%j", async (args, code, message) => {
    const ran = await update(...args)
    expect(ran).toMatchObject({ code, stdout: "" })
    expect(ran.stderr).toStartWith(`ctxbridge: ${message}\n`)
  })

  test.each(Object.keys(FAULTS))("%s: a clear line, and the former binary still works", async (name) => {
    const folder = join(machine.root, "release")
    writeRelease(
      folder,
      "9.0.0",
      Buffer.concat([standIn("9.0.0", "exit\n"), crypto.getRandomValues(Buffer.alloc(60_000))]),
    )
    using server = await serveRelease(folder, FAULTS[name])
    const ran = await update("--from", server.url)
    expect(ran).toMatchObject({ code: 1, stdout: "" })
    expect(ran.stderr).toMatch(/^ctxbridge: (cannot fetch|.* is not what SHA256SUMS says)/)
    expect(ran.stderr).toContain("hint: nothing was changed")
    expect(await versionHere()).toBe(`ctxbridge ${OWN}`)
    const left = readdirSync(bin).filter((one) => one !== "ctxbridge")
    expect(left.length).toBeLessThanOrEqual(name === "a dying server" ? 1 : 0)
    const kept = left.map((one) => statSync(join(bin, one)).size)[0] ?? 0
    using sound = await serveRelease(folder)
    expect((await update("--from", sound.url)).code).toBe(0)
    expect(await versionHere()).toBe("ctxbridge 9.0.0")
    expect(readdirSync(bin).sort()).toEqual([".ctxbridge.previous", "ctxbridge"])
    const [, from] = sound.asked.find(([path]) => path.endsWith(".gz"))!
    expect(from).toBe(kept)
  })

  test.skipIf(Bun.which("openssl") === null)(
    "https is not left for http, but followed to https",
    async () => {
      const folder = join(machine.root, "release")
      writeRelease(folder, "9.0.0", standIn("9.0.0"))
      const { cert, tls } = selfSigned(machine.root)
      using plain = await serveRelease(folder)
      using leaves = await serveRelease(
        folder,
        redirectTo(() => plain.url),
        tls,
      )
      const env = { NODE_EXTRA_CA_CERTS: cert }
      const ran = await call(["update", "--from", leaves.url], env)
      expect(ran).toMatchObject({ code: 1, stdout: "" })
      expect(ran.stderr).toStartWith(
        `ctxbridge: cannot fetch ${leaves.url}/SHA256SUMS: ${leaves.url}/SHA256SUMS redirects to ${plain.url}/SHA256SUMS\n`,
      )
      expect(plain.asked).toEqual([])
      using secure = await serveRelease(folder, undefined, tls)
      using there = await serveRelease(
        folder,
        redirectTo(() => secure.url),
        tls,
      )
      // Whose certificate is unknown is not believed.
      expect((await update("--from", there.url)).code).toBe(1)
      expect(await call(["update", "--from", there.url], env)).toMatchObject({ code: 0, stderr: "" })
      expect(await versionHere()).toBe("ctxbridge 9.0.0")
    },
  )

  test("a binary that does not run here, or is another version", async () => {
    const folder = join(machine.root, "release")
    for (const program of [Buffer.from("#!/nowhere\n"), standIn("8.0.0")]) {
      writeRelease(folder, "9.0.0", program)
      const ran = await update("--from", folder)
      expect(ran).toMatchObject({ code: 1, stdout: "" })
      expect(ran.stderr).toStartWith(`ctxbridge: the binary for ${PLATFORM} does not run here: `)
      expect(readdirSync(bin)).toEqual(["ctxbridge"])
    }
  })

  test.skipIf(process.platform !== "linux" || process.getuid?.() !== 0)("a full disk", async () => {
    const disk = join(machine.root, "disk")
    mkdirSync(disk)
    if (Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=170m", "tmpfs", disk]).exitCode !== 0)
      return console.warn("skipped: nothing can be mounted here")
    try {
      copyFileSync(exe, join(disk, "ctxbridge"))
      chmodSync(join(disk, "ctxbridge"), 0o755)
      exe = join(disk, "ctxbridge")
      using server = await serveRelease(shared.path)
      for (const from of [releaseOf(ONE), `${server.url}/${ONE}`]) {
        const ran = await update("--from", from)
        expect(ran).toMatchObject({ code: 1, stdout: "" })
        expect(ran.stderr).toContain("ENOSPC")
        expect(await versionHere()).toBe(`ctxbridge ${OWN}`)
        expect(readdirSync(disk).filter((name) => name.endsWith(".tmp"))).toEqual([])
      }
    } finally {
      Bun.spawnSync(["umount", "-l", disk])
    }
  })
})

test("Ctrl-C while it downloads: a clear line; the next one goes on; --purge removes what is kept", async () => {
  const folder = join(machine.root, "release")
  const program = Buffer.concat([standIn("9.0.0", "exit\n"), crypto.getRandomValues(Buffer.alloc(900_000))])
  writeRelease(folder, "9.0.0", program)
  using stalls = await serveRelease(folder, (request, response, file) => {
    if (!request.url?.endsWith(".gz")) return false
    const content = readFileSync(file)
    response.writeHead(200, { "content-length": content.length })
    response.write(content.subarray(0, 500_000))
    return true
  })
  const child = Bun.spawn([exe, "update", "--from", stalls.url], {
    env: machine.env,
    stdio: ["ignore", "pipe", "pipe"],
  })
  const part = (): string | undefined => readdirSync(bin).find((name) => name.endsWith(".part"))
  await until(
    () => part() !== undefined && statSync(join(bin, part()!)).size === 500_000,
    20_000,
    "half of it",
  )
  const busy = await update("--from", folder)
  expect(busy).toMatchObject({ code: 1, stdout: "" })
  expect(busy.stderr).toStartWith("ctxbridge: another update of this binary is running\n")
  child.kill("SIGINT")
  await child.exited
  expect(child.signalCode).toBe("SIGINT")
  expect(await new Response(child.stderr).text()).toBe(`ctxbridge: interrupted; ${exe} is the former one\n`)
  expect(readdirSync(bin).sort()).toEqual([part()!, "ctxbridge"].sort())
  const dry = await call(["uninstall", "--purge", "--dry-run"])
  expect(dry.stdout).toContain(`Would remove ${join(bin, part()!)}, kept by an update\n`)
  using sound = await serveRelease(folder)
  expect((await update("--from", sound.url)).code).toBe(0)
  expect(sound.asked.at(-1)![1]).toBe(500_000)
  copyFileSync(join(bin, ".ctxbridge.previous"), exe)
  expect(await call(["uninstall", "--purge", "--yes"])).toMatchObject({ code: 0, stderr: "" })
  expect(readdirSync(bin)).toEqual([])
})

test("killed at any moment, twice at once: one whole binary is there", async () => {
  const folder = join(machine.root, "release")
  const program = Buffer.concat([
    standIn("9.0.0", "exit\n"),
    crypto.getRandomValues(Buffer.alloc(20_000_000)),
  ])
  writeRelease(folder, "9.0.0", program)
  using server = await serveRelease(folder)
  const former = readFileSync(exe)
  for (let n = 0; n < 12; n++) {
    const children = [1, 2].map(() =>
      Bun.spawn([exe, "update", "--from", server.url], {
        env: machine.env,
        stdio: ["ignore", "ignore", "ignore"],
      }),
    )
    await Bun.sleep(20 + n * 25)
    children[0]!.kill(n % 2 === 0 ? "SIGINT" : "SIGKILL")
    await Promise.all(children.map(({ exited }) => exited))
    const now = readFileSync(exe)
    expect(now.equals(former) || now.equals(program)).toBe(true)
    if (now.equals(program)) {
      writeFileSync(`${exe}.new`, former, { mode: 0o755 })
      Bun.spawnSync(["mv", `${exe}.new`, exe])
    }
  }
  expect((await update("--from", server.url)).code).toBe(0)
  expect(readdirSync(bin).sort()).toEqual([".ctxbridge.previous", "ctxbridge"])
})

test("two updates under load: no hook fails, no turn is lost", async () => {
  using server = await serveRelease(shared.path)
  const sessions = Array.from({ length: 4 }, () => machine.session())
  const said = sessions.map((): string[] => [])
  const failed: Ran[] = []
  let calls = 0
  let isOver = false
  const talk = async (n: number): Promise<void> => {
    const session = sessions[n]!
    for (let turn = 0; !isOver; turn++) {
      const prompt = `question ${turn} of ${n}`
      session.turn(prompt)
      session.flush()
      said[n]!.push(prompt)
      for (const [event, fields] of [
        ["user-prompt-submit", { prompt }],
        ["stop", { stop_hook_active: false }],
      ] as const) {
        const ran = await call(["hook", event], {}, machine.payload(event, session, fields))
        calls++
        if (ran.code !== 0 || ran.stderr !== "") failed.push(ran)
      }
    }
  }
  const talks = sessions.map((_, n) => talk(n))
  const seen = async (): Promise<void> => {
    const before = calls
    await until(() => calls > before + 20, 30_000, "more hooks")
  }
  await seen()
  for (const version of [ONE, TWO]) {
    expect(await update("--from", `${server.url}/${version}`)).toMatchObject({ code: 0, stderr: "" })
    expect(await versionHere()).toBe(`ctxbridge ${version}`)
    await seen()
  }
  expect(await update("--rollback")).toMatchObject({ code: 0, stderr: "" })
  await seen()
  isOver = true
  await Promise.all(talks)
  expect(failed).toEqual([])
  await machine.idle()
  expect(await call(["verify"])).toMatchObject({ code: 0, stderr: "" })
  using db = machine.views()
  for (const [n, session] of sessions.entries()) expect(promptsIn(db, session.session)).toEqual(said[n]!)
  const log = readFileSync(join(machine.dataHome, "state/ctxbridge.log"), { encoding: "utf8", flag: "a+" })
  expect(log).not.toContain("deleted")
  console.info(`${calls} hooks, ${said.flat().length} turns`)
})

test("a hook that was started before an update still starts the job", async () => {
  const session = machine.session()
  session.turn("said before the update").flush()
  const hook = Bun.spawn([exe, "hook", "session-end"], {
    cwd: machine.cwd,
    env: { ...machine.env },
    stdio: ["pipe", "pipe", "pipe"],
  })
  // It has begun: from here on, it waits for the rest.
  const payload = machine.payload("session-end", session, { reason: "other" })
  hook.stdin.write(payload.slice(0, 10))
  hook.stdin.flush()
  const staged = join(bin, "new")
  copyFileSync(exe, staged)
  renameSync(staged, exe)
  hook.stdin.write(payload.slice(10))
  hook.stdin.end()
  expect(await hook.exited).toBe(0)
  // The job makes the views, not this hook.
  const views = join(machine.dataHome, "archive.db")
  await until(() => existsSync(views), 10_000, "the job")
  await machine.idle()
})
