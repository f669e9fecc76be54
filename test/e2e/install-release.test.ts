/** install.sh without a checkout: from a folder, an address, piped into sh; and all that can go wrong on the way. */
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test"
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { builtBinary } from "../support/built.ts"
import { collected } from "../support/collected.ts"
import { Machine, until } from "../support/machine.ts"
import {
  FAULTS,
  INSTALLER,
  redirectTo,
  selfSigned,
  serveRelease,
  standIn,
  writeRelease,
} from "../support/release.ts"
import { limit } from "../support/slowness.ts"
import { tempFolder } from "../support/temp.ts"
import { runAtTerminal } from "../support/terminal.ts"

setDefaultTimeout(limit(120_000))

/** What the script may count on, besides a program that fetches. */
const TOOLS = "sh cat chmod cp dirname env gzip mkdir mktemp mv rm sha256sum uname".split(" ")
const FETCHERS = ["curl", "wget"].filter((name) => Bun.which(name) !== null)
const NOBODY = 65_534
const isRoot = process.getuid?.() === 0
const isLinux = process.platform === "linux"

const { version: OWN } = JSON.parse(readFileSync(join(import.meta.dir, "../../package.json"), "utf8"))

let folder: ReturnType<typeof tempFolder>
let root: string
let release: string
let bin: string

beforeEach(() => {
  folder = tempFolder()
  root = folder.path
  release = join(root, "release")
  bin = join(root, "home/.local/bin")
  for (const name of ["home", "tools", "elsewhere"]) mkdirSync(join(root, name))
  for (const name of TOOLS) tool(name)
})

afterEach(() => folder[Symbol.dispose]())

const tool = (name: string): void => symlinkSync(Bun.which(name)!, join(root, "tools", name))

interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

interface How {
  readonly env?: Readonly<Record<string, string>>
  readonly through?: readonly string[]
  readonly stdin?: string
}

async function run(command: readonly string[], { env = {}, through = [], stdin }: How = {}): Promise<Ran> {
  return collected(
    Bun.spawn([...through, ...command], {
      cwd: join(root, "elsewhere"),
      env: { PATH: join(root, "tools"), HOME: join(root, "home"), ...env },
      stdin: stdin === undefined ? "ignore" : new Blob([stdin]),
      stdout: "pipe",
      stderr: "pipe",
    }),
  )
}

const install = (args: readonly string[], how?: How): Promise<Ran> =>
  run(["sh", join(root, "install.sh"), ...args], how)

/** The script alone, with no checkout around it. */
function alone(): void {
  writeFileSync(join(root, "install.sh"), readFileSync(INSTALLER))
}

function former(): void {
  mkdirSync(bin, { recursive: true })
  writeFileSync(join(bin, "ctxbridge"), standIn("0.0.9"), { mode: 0o755 })
}

const versionOf = (program = join(bin, "ctxbridge")): string =>
  String(Bun.spawnSync([program, "--version"]).stdout)

describe("with the real binary", () => {
  test("from a folder with only a release: installed, registered, demo shown on request; --purge leaves nothing", async () => {
    writeRelease(release, OWN, readFileSync(builtBinary()))
    const ran = await run(["sh", join(release, "install.sh"), "--demo"])
    expect(ran).toMatchObject({ code: 0, err: "" })
    expect(ran.out).toContain(
      `Getting ctxbridge ${OWN} for ${process.platform}-${process.arch} from ${release}\n`,
    )
    expect(ran.out).toContain(
      `Installed  ${bin}/ctxbridge\nPATH       add this line to your shell's start file: export PATH="${bin}:$PATH"\n` +
        "Import     nothing to import\n" +
        "Model      `ctxbridge model install` adds search by meaning (24 MB from huggingface.co)\n" +
        "Restart    Claude Code: sessions that are open are not archived\n" +
        "Try        `ctxbridge demo`, or `ctxbridge search WORDS` in a project\n" +
        "A made-up session, played through the real hooks",
    )
    expect(readdirSync(bin)).toEqual(["ctxbridge"])
    const settings = readFileSync(join(root, "home/.claude/settings.json"), "utf8")
    expect(settings).toContain(`${bin}/ctxbridge hook`)
    const would = await run([join(bin, "ctxbridge"), "uninstall", "--purge", "--dry-run"])
    expect(would.out).toEndWith(`Would remove ${bin}/ctxbridge\n`)
    const purged = await run([join(bin, "ctxbridge"), "uninstall", "--purge", "--yes"])
    expect(purged).toMatchObject({ code: 0, err: "" })
    expect(purged.out).toEndWith(
      `Removed ${bin}/ctxbridge\nSessions that are open still call the hooks: restart Claude Code.\n`,
    )
    expect([...new Bun.Glob("**").scanSync({ cwd: join(root, "home"), dot: true })]).toEqual([])
  })
})

describe("at a terminal", () => {
  test.each([
    ["n\n", "`ctxbridge import` archives the transcript"],
    ["\n", "Import     the transcript that Claude Code has kept"],
  ])("piped into sh, the terminal is asked, not the script: %j", async (answer, told) => {
    using machine = new Machine()
    machine.session().turn("said before the install").flush()
    writeRelease(release, OWN, readFileSync(builtBinary()))
    const { code, text } = await runAtTerminal(machine, [], {
      cols: 200,
      command: ["sh", "-c", 'cat "$0" | sh -s -- --from "$1" --no-demo --no-model', INSTALLER, release],
      answer,
    })
    expect(text).toContain(told)
    expect(code).toBe(0)
    await machine.idle()
  })
})

describe("what it says", () => {
  test("without an address of releases", async () => {
    alone()
    expect(await install([])).toEqual({
      code: 64,
      out: "",
      err: "install.sh: the address of releases is not set: none is published yet\nhint: say where one is with --from URL or --from DIR, or in CTXBRIDGE_RELEASES\n",
    })
  })

  test.each(["http://example.com/x", "ftp://example.com", "http://localhost:1@example.com/x", "file://x"])(
    "of %s, from where nothing is taken",
    async (from) => {
      alone()
      const ran = await install(["--from", from])
      expect(ran).toMatchObject({ code: 64, out: "" })
      expect(ran.err).toContain(`not an address to install from: ${from}\n`)
    },
  )

  test("from a folder, file:// and a variable; hooks are the program's, and so is the demo on request", async () => {
    alone()
    writeRelease(release, "1.2.3", standIn("1.2.3"))
    for (const how of [
      { args: ["--from", release], env: {} },
      { args: ["--from=../release/"], env: {} },
      { args: ["--from", `file://${release}`], env: {} },
      { args: [], env: { CTXBRIDGE_RELEASES: release } },
    ]) {
      const ran = await install([...how.args, "--import", "--demo"], {
        env: { ...how.env, PATH: `${root}/tools:${bin}` },
      })
      expect(ran).toMatchObject({ code: 0, err: "" })
      expect(ran.out).toEndWith(
        `Installed  ${bin}/ctxbridge\nPATH       ok\nstand-in 1.2.3: install --quiet --import\nstand-in 1.2.3: demo\n`,
      )
      expect(readdirSync(bin)).toEqual(["ctxbridge"])
    }
  })

  test("of a version or a system that is not there, and of several", async () => {
    alone()
    former()
    writeRelease(release, "1.2.3", standIn("1.2.3"))
    writeRelease(join(release, "v1.2.2"), "1.2.2", standIn("1.2.2"))
    expect((await install(["--from", release, "--version", "1.0.0"])).err).toContain(
      `install.sh: there is no version 1.0.0 for ${process.platform}-${process.arch} at ${release}\n`,
    )
    expect((await install(["--from", release, "--platform", "plan9-x64"])).err).toContain(
      `install.sh: ${release} has nothing for plan9-x64\n`,
    )
    expect(versionOf()).toBe("ctxbridge 0.0.9\n")
    expect(await install(["--from", release, "--version", "v1.2.2"])).toMatchObject({ code: 0, err: "" })
    expect(versionOf()).toBe("ctxbridge 1.2.2\n")
    const two = ["1.2.3", "1.2.4"].map(
      (v) => `${"0".repeat(64)}  ctxbridge-${v}-${process.platform}-${process.arch}\n`,
    )
    writeFileSync(join(release, "SHA256SUMS"), two.join(""))
    expect((await install(["--from", release])).err).toContain("has several versions: 1.2.3, 1.2.4\n")
    expect(readdirSync(bin)).toEqual(["ctxbridge"])
  })

  test("of a binary that does not run here, or is another version", async () => {
    alone()
    former()
    writeRelease(release, "1.2.3", Buffer.from("#!/nowhere\n"))
    expect((await install(["--from", release])).err).toContain("does not run here: ")
    writeRelease(release, "1.2.3", standIn("1.2.4"))
    expect((await install(["--from", release])).err).toContain("does not run here: ctxbridge 1.2.4\n")
    expect(versionOf()).toBe("ctxbridge 0.0.9\n")
    expect(readdirSync(bin)).toEqual(["ctxbridge"])
  })
})

describe.each(FETCHERS)("over the network, with %s", (fetcher) => {
  beforeEach(() => tool(fetcher))

  test("piped into sh, it asks nobody and leaves no trace of itself", async () => {
    writeRelease(release, "1.2.3", standIn("1.2.3", 'cat >/dev/null; echo "read all"\n'))
    using server = await serveRelease(release)
    const script = readFileSync(INSTALLER, "utf8")
    const ran = await run(["sh", "-s", "--", "--from", server.url], { stdin: script })
    expect(ran).toMatchObject({ code: 0, err: fetcher === "curl" ? "" : expect.any(String) })
    expect(ran.out).toContain("stand-in 1.2.3: install --quiet\nread all\n")
    expect(readdirSync(bin)).toEqual(["ctxbridge"])
    expect(readdirSync(join(root, "elsewhere"))).toEqual([])
    // In part, it does nothing.
    for (const length of [1000, script.length >> 1, script.length - 12]) {
      const part = await run(["sh", "-s", "--", "--prefix", join(root, "part")], {
        stdin: script.slice(0, length),
      })
      expect(part.out).toBe("")
      expect(existsSync(join(root, "part"))).toBe(false)
    }
  })

  test.each(Object.keys(FAULTS))("%s: a clear line, and the former binary still works", async (name) => {
    alone()
    former()
    // Random, so that it is as long packed.
    const program = Buffer.concat([standIn("1.2.3", "exit\n"), crypto.getRandomValues(Buffer.alloc(60_000))])
    writeRelease(release, "1.2.3", program)
    using server = await serveRelease(release, FAULTS[name])
    const ran = await install(["--from", server.url])
    expect(ran.code).toBe(1)
    expect(ran.err).toMatch(/^install\.sh: (cannot get|.* is not what SHA256SUMS says|SHA256SUMS of)/m)
    expect(ran.err).toContain("hint: nothing was changed")
    expect(versionOf()).toBe("ctxbridge 0.0.9\n")
    const left = readdirSync(bin).filter((one) => one !== "ctxbridge")
    expect(left.length).toBeLessThanOrEqual(name === "a dying server" ? 1 : 0)
    const kept = left.map((one) => statSync(join(bin, one)).size)[0] ?? 0
    if (name === "a redirect to http")
      expect(server.asked.filter(([path]) => path.endsWith(".gz"))).toHaveLength(1)
    // The next try succeeds, goes on where this one stopped, and leaves nothing.
    using sound = await serveRelease(release)
    const again = await install(["--from", sound.url])
    expect(again.code).toBe(0)
    expect(versionOf()).toBe("ctxbridge 1.2.3\n")
    expect(readdirSync(bin)).toEqual(["ctxbridge"])
    const [, from] = sound.asked.find(([path]) => path.endsWith(".gz"))!
    expect(from).toBe(kept)
  })

  test.skipIf(Bun.which("openssl") === null)("https is not left for http", async () => {
    alone()
    former()
    writeRelease(release, "1.2.3", standIn("1.2.3"))
    const { cert, tls } = selfSigned(root)
    writeFileSync(join(root, "wgetrc"), `ca_certificate = ${cert}\n`)
    const env = { CURL_CA_BUNDLE: cert, WGETRC: join(root, "wgetrc") }
    using plain = await serveRelease(release)
    using leaves = await serveRelease(
      release,
      redirectTo(() => plain.url),
      tls,
    )
    const ran = await install(["--from", leaves.url], { env })
    expect(ran).toMatchObject({ code: 1, out: "" })
    expect(ran.err).toContain("install.sh: cannot get SHA256SUMS from https://localhost")
    expect(plain.asked).toEqual([])
    expect(versionOf()).toBe("ctxbridge 0.0.9\n")
    // A redirect to https is followed.
    using secure = await serveRelease(release, undefined, tls)
    using there = await serveRelease(
      release,
      redirectTo(() => secure.url),
      tls,
    )
    expect(await install(["--from", there.url], { env })).toMatchObject({ code: 0 })
    expect(versionOf()).toBe("ctxbridge 1.2.3\n")
  })
})

describe("the machine", () => {
  test("two installers at once: both succeed, and one binary is there", async () => {
    alone()
    if (FETCHERS.length > 0) tool(FETCHERS[0]!)
    writeRelease(release, "1.2.3", standIn("1.2.3"))
    using server = await serveRelease(release)
    const from = FETCHERS.length > 0 ? server.url : release
    const both = await Promise.all([install(["--from", from]), install(["--from", from])])
    for (const ran of both) expect(ran.code).toBe(0)
    expect(versionOf()).toBe("ctxbridge 1.2.3\n")
    expect(readdirSync(bin)).toEqual(["ctxbridge"])
  })

  test.skipIf(isRoot && Bun.which("setpriv") === null)("no write permission", async () => {
    alone()
    former()
    writeRelease(release, "1.2.3", standIn("1.2.3"))
    chmodSync(root, 0o755)
    if (isRoot)
      for (const path of [join(root, "home"), join(root, "elsewhere")]) chownSync(path, NOBODY, NOBODY)
    else chmodSync(bin, 0o555)
    const through = isRoot ? [Bun.which("setpriv")!, `--reuid=${NOBODY}`, "--clear-groups"] : []
    const ran = await install(["--from", release], { through })
    expect(ran).toEqual({
      code: 1,
      out: "",
      err: `install.sh: cannot write to ${bin}\nhint: choose another place with --prefix DIR, or make room\n`,
    })
    chmodSync(bin, 0o755)
    expect(versionOf()).toBe("ctxbridge 0.0.9\n")
  })

  test.skipIf(!isLinux || !isRoot)("a full disk", async () => {
    alone()
    tool("curl")
    mkdirSync(bin, { recursive: true })
    if (Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", bin]).exitCode !== 0)
      return console.warn("skipped: nothing can be mounted here")
    try {
      former()
      const program = Buffer.concat([
        standIn("1.2.3", "exit\n"),
        crypto.getRandomValues(Buffer.alloc(150_000)),
      ])
      writeRelease(release, "1.2.3", program)
      using server = await serveRelease(release)
      // From a folder the binary itself does not fit; over the network, what is packed.
      for (const [from, size] of [
        [release, 150_000],
        [server.url, 190_000],
        [server.url, 400_000],
      ] as const) {
        writeRelease(
          release,
          "1.2.3",
          Buffer.concat([program, crypto.getRandomValues(Buffer.alloc(size - 100_000))]),
        )
        const ran = await install(["--from", from])
        expect({ from, code: ran.code }).toEqual({ from, code: 1 })
        expect(ran.err).toContain(`install.sh: cannot write to ${bin}\nhint: is the disk full?\n`)
        expect(versionOf()).toBe("ctxbridge 0.0.9\n")
        expect(readdirSync(bin)).toEqual(["ctxbridge"])
      }
    } finally {
      Bun.spawnSync(["umount", bin])
    }
  })

  test.skipIf(FETCHERS.length === 0)(
    "Ctrl-C at any moment: the former binary or the new one is there, whole",
    async () => {
      alone()
      tool(FETCHERS[0]!)
      const program = Buffer.concat([
        standIn("1.2.3", "exit\n"),
        crypto.getRandomValues(Buffer.alloc(3_000_000)),
      ])
      writeRelease(release, "1.2.3", program)
      // Nothing comes while it waits for the binary, however busy the machine is.
      let isHeld = false
      using server = await serveRelease(release, ({ url }) => isHeld && url!.endsWith(".gz"))
      const asked = (name: string): boolean => server.asked.some(([path]) => path.endsWith(name))
      const there = (ending: string): boolean => readdirSync(bin).some((name) => name.endsWith(ending))
      const size = (): number => statSync(join(bin, "ctxbridge")).size
      const moments: readonly [name: string, come: () => boolean, outcome?: string][] = [
        ["at once", () => true],
        ["while the sums are on their way", () => asked("SHA256SUMS")],
        ["while it waits for the binary", () => asked(".gz"), "130 0.0.9"],
        ["while the binary is on its way", () => there(".part")],
        ["while it is unpacked", () => there(".tmp")],
        ["once it is in place", () => size() > 1_000_000, "1.2.3"],
      ]
      for (const [name, come, outcome] of moments.flatMap(
        (moment) => Array(4).fill(moment) as typeof moments,
      )) {
        former()
        server.asked.length = 0
        isHeld = name === "while it waits for the binary"
        // What a round before has fetched, perhaps whole, would make the request unnecessary.
        if (isHeld) for (const left of readdirSync(bin)) if (left.endsWith(".part")) rmSync(join(bin, left))
        const child = Bun.spawn(["sh", join(root, "install.sh"), "--from", server.url], {
          cwd: join(root, "elsewhere"),
          env: { PATH: join(root, "tools"), HOME: join(root, "home") },
          stdio: ["ignore", "pipe", "pipe"],
          // A process group, as a terminal makes one.
          detached: true,
        })
        await until(() => child.exitCode !== null || come(), 30_000, name)
        try {
          process.kill(-child.pid, "SIGINT")
        } catch {
          // It was faster.
        }
        const [err, code] = await Promise.all([new Response(child.stderr).text(), child.exited])
        expect([0, 130]).toContain(code)
        const version = versionOf()
        expect(["ctxbridge 0.0.9\n", "ctxbridge 1.2.3\n"]).toContain(version)
        if (outcome !== undefined) expect(`${code} ${version.slice(10, -1)}`).toEndWith(outcome)
        if (code === 130 && err.includes("interrupted"))
          expect(err).toContain(version.includes("0.0.9") ? "is the former one" : "is installed")
        expect(readdirSync(bin).filter((left) => left !== "ctxbridge" && !left.endsWith(".part"))).toEqual([])
      }
      isHeld = false
      expect((await install(["--from", server.url])).code).toBe(0)
      expect(readdirSync(bin)).toEqual(["ctxbridge"])
    },
  )
})
