/** The compiled binary alone: it needs nothing around it, and nothing around it can change what it does. */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { builtBinary } from "./support/built.ts"
import { tempFolder } from "./support/temp.ts"

setDefaultTimeout(60_000)

const ROOT = join(import.meta.dir, "..")
const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"))

interface Run {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** A home of its own and nothing else, unless `env` says more. */
interface Place {
  readonly exe: string
  readonly cwd: string
  readonly home: string
  readonly env?: Readonly<Record<string, string>>
}

async function run(place: Place, args: readonly string[], stdin = ""): Promise<Run> {
  const child = Bun.spawn([place.exe, ...args], {
    cwd: place.cwd,
    env: { HOME: place.home, ...place.env },
    stdin: new Blob([stdin]),
    stdout: "pipe",
    stderr: "pipe",
  })
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, stdout, stderr }
}

/** A folder with a copy of the binary, an empty folder to work in and an empty home. */
function createPlace(root: string): Place {
  const place = { exe: join(root, "bin/ctxbridge"), cwd: join(root, "work"), home: join(root, "home") }
  for (const folder of [dirname(place.exe), place.cwd, place.home]) mkdirSync(folder, { recursive: true })
  copyFileSync(builtBinary(), place.exe)
  return place
}

const SESSION = "11111111-2222-3333-4444-555555555555"

/** A transcript of `turns` turns, each with an answer of `length` characters, and the hook call that announces it. */
function writeTranscript(home: string, turns = 1, length = 10): { path: string; text: string; call: string } {
  const lines: unknown[] = []
  for (let n = 1; n <= turns; n++) {
    const common = {
      sessionId: SESSION,
      cwd: "/src/app",
      version: "2.1.112",
      timestamp: "2026-01-01T00:00:00.000Z",
    }
    const uuid = (kind: string) => `00000000-0000-4000-8000-${kind}${String(n).padStart(11, "0")}`
    lines.push({
      ...common,
      type: "user",
      uuid: uuid("1"),
      message: { role: "user", content: `question ${n}` },
    })
    const content = [{ type: "text", text: "x".repeat(length) }]
    const message = { id: `msg_${n}`, role: "assistant", model: "claude-test-1", content }
    lines.push({ ...common, type: "assistant", uuid: uuid("2"), message })
  }
  const path = join(home, ".claude/projects/-src-app", `${SESSION}.jsonl`)
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("")
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  const call = { session_id: SESSION, transcript_path: path, cwd: "/src/app", hook_event_name: "Stop" }
  return { path, text, call: JSON.stringify(call) }
}

describe("the build line", () => {
  const line: string = manifest.scripts.build

  test.each([
    ["--compile", "one file, no Bun on the user's machine"],
    ["--no-compile-autoload-dotenv", "a project's .env must not reach our process"],
    ["--no-compile-autoload-bunfig", "a project's bunfig.toml could run code in our process"],
    ["--production", "NODE_ENV is inlined as development without it"],
    ["--splitting", "hooks must not parse the commands"],
    ["--bytecode", "hooks start at every prompt"],
    ["--format=esm", "bytecode means CommonJS otherwise, which cannot be split"],
    ["--reject-unresolved", "a computed import would be resolved in the user's project"],
    ["--metafile=dist/meta.json", "test/architecture.test.ts looks at the chunks"],
  ])("has %s: %s", (flag) => {
    expect(line.split(" ")).toContain(flag)
  })

  test("leaves nothing to be found at run time", () => {
    expect(line).not.toMatch(/--external|--packages|--compile-exec-argv|--no-orphans/)
    expect(line).not.toMatch(/--compile-autoload/)
  })

  test("the folder of the build is not in the binary, so every folder makes the same", () => {
    expect(readFileSync(builtBinary()).indexOf(ROOT)).toBe(-1)
  })

  test("Bun is the version that package.json names", () => {
    expect(manifest.packageManager).toBe(`bun@${manifest.devDependencies.bun}`)
    expect(Bun.version).toBe(manifest.devDependencies.bun)
  })
})

describe("moved to another folder, alone", () => {
  test("it says its version without any environment", () => {
    using folder = tempFolder()
    const { exe, cwd } = createPlace(folder.path)
    const { exitCode, stdout, stderr } = Bun.spawnSync(["/usr/bin/env", "-i", exe, "--version"], { cwd })
    expect({ exitCode, stdout: String(stdout), stderr: String(stderr) }).toEqual({
      exitCode: 0,
      stdout: `ctxbridge ${manifest.version}\n`,
      stderr: "",
    })
  })

  test("a hook archives, status tells, and nothing is written where they run", async () => {
    using folder = tempFolder()
    const place = createPlace(folder.path)
    const { call } = writeTranscript(place.home)
    expect(await run(place, ["hook", "stop"], call)).toEqual({ code: 0, stdout: "", stderr: "" })
    const copy = join(place.home, `.local/share/ctxbridge/vault/home/-src-app/${SESSION}.jsonl.zst`)
    expect(existsSync(copy)).toBe(true)
    const status = await run(place, ["status", "--json"])
    expect(status.stderr).toBe("")
    expect(status.code).toBe(0)
    expect(() => JSON.parse(status.stdout)).not.toThrow()
    expect(readdirSync(place.cwd)).toEqual([])
  })
})

/** Everything a project folder can hold that some program somewhere runs or reads. */
function makeHostile(cwd: string, marker: string): void {
  const evil = `require("node:fs").appendFileSync(${JSON.stringify(marker)}, __filename + "\\n")\n`
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(cwd, path)), { recursive: true })
    writeFileSync(join(cwd, path), text)
  }
  write("evil.cjs", evil)
  write(
    "bunfig.toml",
    'preload = ["./evil.cjs"]\n[run]\npreload = ["./evil.cjs"]\n[test]\npreload = ["./evil.cjs"]\n',
  )
  const leak =
    "CTXBRIDGE_HOME=/nonexistent/leaked\nCTXBRIDGE_RESTORE_BUDGET=4321\nBUN_OPTIONS=--preload=./evil.cjs\nTZ=Asia/Tokyo\n"
  for (const name of [".env", ".env.local", ".env.production", ".env.development"]) write(name, leak)
  write("tsconfig.json", '{"compilerOptions":{"paths":{"*":["./evil.cjs"],"bun:sqlite":["./evil.cjs"]}}}')
  write(
    "package.json",
    '{"name":"evil","main":"./evil.cjs","imports":{"#*":"./evil.cjs"},"bun":{"preload":["./evil.cjs"]}}',
  )
  for (const name of Object.keys({ ...manifest.dependencies, ...manifest.devDependencies })) {
    write(`node_modules/${name}/index.js`, evil)
    write(`node_modules/${name}/package.json`, '{"main":"index.js"}')
  }
  for (const path of [
    "src/hook/run.ts",
    "src/cli/router.ts",
    "hook/run.ts",
    "cli/router.ts",
    "run.js",
    "router.js",
  ]) {
    write(path, evil)
  }
}

describe("in a hostile folder", () => {
  test.each([
    { name: "--version", args: ["--version"] },
    { name: "--help", args: ["--help"] },
    { name: "status", args: ["status"] },
    { name: "config", args: ["config", "--json"] },
    { name: "an unknown command", args: ["evil"] },
    { name: "hook stop", args: ["hook", "stop"] },
    { name: "hook pre-compact", args: ["hook", "pre-compact"] },
    { name: "the background job", args: ["__job"] },
  ])("$name runs nothing and reads no variable from it", async ({ args }) => {
    using folder = tempFolder()
    const place = createPlace(folder.path)
    const marker = join(folder.path, "marker")
    makeHostile(place.cwd, marker)
    const before = readdirSync(place.cwd, { recursive: true }).sort()
    const quiet = createPlace(join(folder.path, "quiet"))
    const { call } = writeTranscript(place.home)
    // The same home for both: only the folder differs.
    const here = await run(place, args, call)
    const there = await run({ ...quiet, home: place.home }, args, call)
    const neutral = ({ code, stdout, stderr }: Run) => ({
      code,
      stdout: stdout.replaceAll(place.cwd, "<cwd>").replaceAll(place.exe, "<exe>"),
      stderr,
    })
    const expected = {
      code: there.code,
      stdout: there.stdout.replaceAll(quiet.cwd, "<cwd>").replaceAll(quiet.exe, "<exe>"),
      stderr: there.stderr,
    }
    if (args[0] !== "status") expect(neutral(here)).toEqual(expected)
    expect(existsSync(marker) ? readFileSync(marker, "utf8") : "").toBe("")
    expect(`${here.stdout}${here.stderr}`).not.toMatch(/leaked|4321/)
    expect(readdirSync(place.cwd, { recursive: true }).sort()).toEqual(before)
  })

  test("what the hook archives goes home, not where .env says", async () => {
    using folder = tempFolder()
    const place = createPlace(folder.path)
    makeHostile(place.cwd, join(folder.path, "marker"))
    const { call } = writeTranscript(place.home)
    expect(await run(place, ["hook", "stop"], call)).toEqual({ code: 0, stdout: "", stderr: "" })
    const vault = join(place.home, ".local/share/ctxbridge/vault")
    expect(readdirSync(vault, { recursive: true })).toContain(`home/-src-app/${SESSION}.jsonl.zst`)
  })
})

describe("through a slow pipe", () => {
  test("more than 64 KiB arrive whole", async () => {
    using folder = tempFolder()
    const place = createPlace(folder.path)
    const { text, call } = writeTranscript(place.home, 40, 20_000)
    await run(place, ["hook", "stop"], call)
    // The pipe holds 64 KiB: the rest waits until somebody reads.
    const script = `"$0" export ${SESSION} --raw | { sleep 0.3; cat; }; exit "\${PIPESTATUS[0]}"`
    const { exitCode, stdout } = Bun.spawnSync(["bash", "-c", script, place.exe], {
      cwd: place.cwd,
      env: { HOME: place.home, PATH: process.env["PATH"] ?? "" },
    })
    expect(exitCode).toBe(0)
    expect(stdout.toString("utf8") === text).toBe(true)
    expect(text.length).toBeGreaterThan(800_000)
  })

  test("a reader that goes away is no error", async () => {
    using folder = tempFolder()
    const place = createPlace(folder.path)
    const { call } = writeTranscript(place.home, 40, 20_000)
    await run(place, ["hook", "stop"], call)
    const script = `"$0" export ${SESSION} --raw | head -c 10 >/dev/null; echo "\${PIPESTATUS[0]}"`
    const { stdout, stderr } = Bun.spawnSync(["bash", "-c", script, place.exe], {
      cwd: place.cwd,
      env: { HOME: place.home, PATH: process.env["PATH"] ?? "" },
    })
    expect({ stdout: String(stdout), stderr: String(stderr) }).toEqual({ stdout: "0\n", stderr: "" })
  })
})
