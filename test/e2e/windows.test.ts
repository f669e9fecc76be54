/**
 * The program for Windows, run by Wine: `npm run test:platform -- windows-x64` (docs/releasing.md). Commands run in the
 * order of a user's day, since each start takes a second or two.
 */
import { Database } from "bun:sqlite"
import { afterAll, describe, expect, test } from "bun:test"
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import { version } from "../../package.json"
import { FakeTranscript, hookPayload } from "../../src/claude/fake/transcript.ts"
import { wine, wineEnvironment } from "../platforms/wine.ts"
import { collected } from "../support/collected.ts"
import { binaryAs, writeRelease } from "../support/release.ts"
import { tempFolder } from "../support/temp.ts"

const program = process.env["CTXBRIDGE_TEST_WINDOWS"]
const SESSION = "5e551011-0000-4000-8000-000000000001"

interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

describe.skipIf(program === undefined)(
  "under Wine (else skipped: npm run test:platform -- windows-x64 makes the binary and runs it)",
  () => {
    const root = tempFolder().path
    /** Drive Z is the root of this machine. */
    const onDrive = (path: string): string => `Z:${path.replaceAll("/", "\\")}`
    const cwd = join(root, "app")
    const binary = join(root, "bin", "ctxbridge.exe")
    const transcript = join(root, "claude", "projects", "-app", `${SESSION}.jsonl`)
    const archive = join(root, "archive")
    const env = {
      ...wineEnvironment(process.env["WINEPREFIX"]!),
      CTXBRIDGE_HOME: onDrive(archive),
      CTXBRIDGE_CONFIG: onDrive(join(root, "config.toml")),
      CLAUDE_CONFIG_DIR: onDrive(join(root, "claude")),
      // Wine takes longer to start a program than hooks take altogether.
      CTXBRIDGE_HOOK_DEADLINE: "4000",
    }
    for (const folder of [cwd, dirname(transcript), dirname(binary)]) mkdirSync(folder, { recursive: true })
    if (program !== undefined) copyFileSync(program, binary)

    const ctxbridge = (args: readonly string[], stdin = ""): Promise<Ran> =>
      wined([onDrive(binary), ...args], stdin)

    async function wined(command: readonly string[], stdin = ""): Promise<Ran> {
      const child = Bun.spawn([wine()!, ...command], {
        cwd,
        env,
        stdin: Buffer.from(stdin),
        stdout: "pipe",
        stderr: "pipe",
      })
      const { code, out: stdout, err: stderr } = await collected(child)
      return { code, stdout, stderr }
    }

    const said = new FakeTranscript({ session: SESSION, cwd: onDrive(cwd), version: "2.1.112" })
    const say = (prompt: string, answer: string): void =>
      appendFileSync(transcript, said.turn(prompt, [], answer).take())
    const hook = (event: string, more: object = {}): Promise<Ran> =>
      ctxbridge(
        ["hook", event],
        hookPayload(
          event as Parameters<typeof hookPayload>[0],
          { session: SESSION, transcript: onDrive(transcript), cwd: onDrive(cwd) },
          more,
        ),
      )
    const quiet = { code: 0, stderr: "" }

    afterAll(() => {
      Bun.spawnSync(["wineserver", "-k"], { env })
    })

    test("install registers commands that every shell of Windows reads alike", async () => {
      expect(await ctxbridge(["install", "--no-import"])).toMatchObject(quiet)
      const settings = readFileSync(join(root, "claude", "settings.json"), "utf8")
      expect(settings).toContain(`"command": "Z:${binary} hook stop"`)
      expect(readFileSync(join(root, "claude", ".claude.json"), "utf8")).toContain(`"command": "Z:${binary}"`)
    })

    test("three hooks at once archive each byte once", async () => {
      writeFileSync(transcript, "")
      say("Never touch the frobnicator's public interface.", "I leave it as it is.")
      const ran = await Promise.all([hook("stop"), hook("stop"), hook("stop")])
      for (const one of ran) expect(one).toEqual({ ...quiet, stdout: "" })
      const verified = await ctxbridge(["verify", "--json"])
      expect(verified).toMatchObject(quiet)
      expect(JSON.parse(verified.stdout)).toMatchObject({ ok: true, totals: { frames: 1 } })
    })

    test("a compaction is followed by a restore, which names what was said and how to open a turn", async () => {
      expect(await hook("pre-compact", { trigger: "manual", custom_instructions: null })).toMatchObject(quiet)
      const { stdout, ...rest } = await hook("session-start", { source: "compact" })
      expect(rest).toEqual(quiet)
      const restored = JSON.parse(stdout).hookSpecificOutput.additionalContext
      expect(restored).toContain("frobnicator")
      expect(restored).toContain("mcp__ctxbridge__get")
    })

    test("what was said is found from its folder", async () => {
      const { stdout, ...rest } = await ctxbridge(["search", "frobnicator", "--json"])
      expect(rest).toEqual(quiet)
      expect(JSON.parse(stdout).hits[0]).toMatchObject({ session: SESSION, project: `Z:${cwd}` })
    })

    test("the server answers through a pipe of Windows", async () => {
      const request = { jsonrpc: "2.0", id: 1, method: "initialize" }
      const params = {
        protocolVersion: "2025-11-25",
        capabilities: {},
        clientInfo: { name: "test", version: "1" },
      }
      writeFileSync(join(root, "request.json"), `${JSON.stringify({ ...request, params })}\n`)
      const line = `type ${onDrive(join(root, "request.json"))} | ${onDrive(binary)} mcp`
      const { stdout, ...rest } = await wined(["cmd", "/c", line])
      expect(rest).toEqual(quiet)
      expect(JSON.parse(stdout)).toMatchObject({ id: 1, result: { serverInfo: { name: "ctxbridge" } } })
    })

    test("damaged views are replaced while nobody has them open", async () => {
      writeFileSync(join(archive, "archive.db"), "no database")
      // Whoever finds them damaged starts the job, which makes them anew.
      await ctxbridge(["status"])
      const isThere = (): boolean => {
        try {
          using db = new Database(join(archive, "archive.db"), { readonly: true })
          return db.query<{ n: number }, []>("SELECT count(*) AS n FROM turns").get()!.n === 1
        } catch {
          return false
        }
      }
      for (const end = performance.now() + 60_000; !isThere() && performance.now() < end; )
        await Bun.sleep(100)
      expect(isThere()).toBe(true)
    })

    test("an update and the way back, while a program runs; a damaged one changes nothing", async () => {
      const [releases, damaged] = [join(root, "releases"), join(root, "damaged")]
      writeRelease(releases, "9.0.0", binaryAs("9.0.0", program!), "windows-x64.exe")
      writeRelease(damaged, "9.1.0", Buffer.from("something else"), "windows-x64.exe")
      writeFileSync(join(damaged, "ctxbridge-9.1.0-windows-x64.exe.gz"), "not what was summed up")
      const update = (...args: string[]): Promise<Ran> => ctxbridge(["update", ...args])
      const versionHere = async (): Promise<string> => (await ctxbridge(["--version"])).stdout.trim()
      // Wine gives a pipe of this machine to hooks only, so no server can be kept waiting. This ends with the Wine.
      const waits = ["cmd", "/c", "echo started & ping -n 120 127.0.0.1"]
      const running = Bun.spawn([wine()!, onDrive(binary), "proxy", "--", ...waits], {
        cwd,
        env,
        stdio: ["ignore", "pipe", "ignore"],
      })
      const { value } = await running.stdout.getReader().read()
      expect(new TextDecoder().decode(value)).toStartWith("started")
      expect(await update("--from", onDrive(releases))).toMatchObject(quiet)
      expect(await versionHere()).toBe("ctxbridge 9.0.0")
      const { code, stderr } = await update("--from", onDrive(damaged))
      expect(code).toBe(1)
      expect(stderr).toContain("is not what SHA256SUMS says")
      expect(await versionHere()).toBe("ctxbridge 9.0.0")
      // On stderr, Wine may say something of its own when the program ends.
      expect(await update("--rollback")).toMatchObject({ code: 0 })
      expect(await versionHere()).toBe(`ctxbridge ${version}`)
      expect(running.exitCode).toBeNull()
    })

    test("what cannot work there is refused in one line", async () => {
      const { code, stderr } = await ctxbridge(["bench", "torture"])
      expect(code).toBe(1)
      expect(stderr).toStartWith("ctxbridge: bench torture does not run on Windows\n")
    })

    test("uninstall takes its hooks out again", async () => {
      // Wine 8 lacks the call with which Bun removes folders as a whole (docs/platforms.md).
      rmSync(join(archive, "pointers"), { recursive: true, force: true })
      expect(await ctxbridge(["uninstall"])).toMatchObject(quiet)
      const settings = join(root, "claude", "settings.json")
      expect(existsSync(settings) ? readFileSync(settings, "utf8") : "").not.toContain("ctxbridge")
    })
  },
)
