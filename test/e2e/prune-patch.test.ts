/** `ctxbridge prune patch` on programs that look like Claude Code's: done, taken back, refused, killed. */
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test"
import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import { binary, type Ran, type RunOptions, run } from "../support/binary.ts"
import { bundle, installedBundle } from "../support/bundle.ts"
import { limit } from "../support/slowness.ts"
import { tempFolder } from "../support/temp.ts"

setDefaultTimeout(limit(120_000))

let folder: ReturnType<typeof tempFolder>
let root: string
let file: string
beforeEach(() => {
  folder = tempFolder()
  root = realpathSync(folder.path)
  mkdirSync(join(root, "home"))
  mkdirSync(join(root, "bin"))
  file = installedBundle(root)
})
afterEach(() => folder[Symbol.dispose]())

/** With nothing of this machine but what runs JavaScript. */
const env = (): Record<string, string> => ({
  HOME: join(root, "home"),
  CTXBRIDGE_HOME: join(root, "archive"),
  PATH: [join(root, "bin"), dirname(Bun.which("node") ?? process.execPath), "/usr/bin", "/bin"].join(":"),
})
const prune = (args: readonly string[], options: RunOptions = {}): Promise<Ran> =>
  run(["prune", "patch", ...args], { cwd: join(root, "home"), ...options, env: { ...env(), ...options.env } })
const patch = (...args: string[]): Promise<Ran> => prune(["--target", file, ...args])

const bytes = (path = file): string => readFileSync(path, "latin1")
const beside = (): string[] => readdirSync(dirname(file)).sort()
const CLEAN = ["cli.js", "package.json"]
const PATCHED = ["cli.js", "cli.js.backup", "cli.js.ctxbridge.json", "package.json"]

const done = { code: 0, stderr: "" }

async function refusedFor(why: string, ...args: string[]): Promise<void> {
  const before = existsSync(file) ? bytes() : undefined
  const names = beside()
  const { code, stdout, stderr } = await patch(...args)
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
  expect(stderr).toContain(why)
  expect(stderr).toContain("hint: ")
  expect(existsSync(file) ? bytes() : undefined).toEqual(before!)
  expect(beside()).toEqual(names)
}

describe("a patch", () => {
  test("is there once, is told of, and is taken back byte for byte", async () => {
    const original = bytes()
    chmodSync(file, 0o751)
    expect(await patch("--check")).toMatchObject({ code: 1, stderr: "", stdout: `clean  ${file}\n` })

    const dry = await patch("--dry-run")
    expect(dry).toMatchObject(done)
    expect(dry.stdout).toContain("+/*ctxbridge:prune*/m=await _aggressiveTextPrune(m,t);")
    expect(beside()).toEqual(CLEAN)
    expect(bytes()).toBe(original)

    const ran = await patch()
    expect(ran).toMatchObject(done)
    expect(ran.stdout).toStartWith(`Patched ${file} (Claude Code 9.9.9)\n`)
    expect(ran.stdout).toContain("licence")
    expect(ran.stdout).toContain("ctxbridge install")
    expect(beside()).toEqual(PATCHED)
    const patched = bytes()
    expect(patched).toContain(JSON.stringify(binary()))
    expect(statSync(file).mode & 0o777).toBe(0o751)
    expect(Bun.spawnSync([file, "--version"], { env: env() }).stdout.toString()).toBe("9.9.9 (Claude Code)\n")
    expect(await patch("--check")).toMatchObject({ ...done, stdout: `patched  ${file}\n` })

    const again = await patch()
    expect(again).toMatchObject({ ...done, stdout: expect.stringContaining("Nothing to do") })
    expect(bytes()).toBe(patched)
    expect(bytes(`${file}.backup`)).toBe(original)

    expect(await patch("--revert", "--dry-run")).toMatchObject({
      ...done,
      stdout: `Would restore ${file}\n`,
    })
    expect(bytes()).toBe(patched)
    expect(await patch("--revert")).toMatchObject(done)
    expect(bytes()).toBe(original)
    expect(statSync(file).mode & 0o777).toBe(0o751)
    expect(beside()).toEqual(CLEAN)
    expect(await patch("--revert")).toMatchObject({
      ...done,
      stdout: `Nothing to revert: ${file}\n`,
    })
  })

  test("is one document with --json", async () => {
    const json = async (...args: string[]) => JSON.parse((await patch("--json", ...args)).stdout)
    expect(await json()).toMatchObject({
      dryRun: false,
      programs: [{ file, action: "patch", changed: true, version: "9.9.9" }],
    })
    expect(await json("--check")).toMatchObject({ programs: [{ file, status: "patched" }] })
    expect(await json("--revert")).toMatchObject({ programs: [{ file, action: "revert", changed: true }] })
    writeFileSync(file, "\x7fELF")
    expect(await json()).toMatchObject({ error: { code: "patch-refused" } })
  })

  test("goes to the file behind links, and to no other that has the same bytes", async () => {
    const original = bytes()
    const other = join(root, "store.js")
    linkSync(file, other)
    symlinkSync(file, join(root, "bin", "claude"))
    expect(await prune(["--target", join(root, "bin", "claude")])).toMatchObject(done)
    expect(bytes(other)).toBe(original)
    expect(bytes()).not.toBe(original)
    expect(statSync(other).nlink).toBe(1)
    expect(await prune(["--check", "--target", dirname(file)])).toMatchObject(done)
  })

  test("is made anew when ctxbridge is another, from the same original", async () => {
    const original = bytes()
    await patch()
    const moved = join(root, "bin", "ctxbridge")
    linkOrCopy(binary(), moved)
    const { exitCode } = Bun.spawnSync([moved, "prune", "patch", "--target", file], { env: env() })
    expect(exitCode).toBe(0)
    expect(bytes()).toContain(JSON.stringify(moved))
    expect(bytes(`${file}.backup`)).toBe(original)
    expect(await patch("--revert")).toMatchObject(done)
    expect(bytes()).toBe(original)
  })
})

describe("without --target", () => {
  test("are all that is installed: by name, and an SDK's above the folder", async () => {
    symlinkSync(file, join(root, "bin", "claude"))
    const project = join(root, "home", "project")
    const kit = installedBundle(project, bundle(), "claude-agent-sdk")
    const cwd = join(project, "src", "deep")
    mkdirSync(cwd, { recursive: true })
    expect(await prune([], { cwd })).toMatchObject(done)
    const { stdout } = await prune(["--check"], { cwd })
    expect(stdout).toBe(`patched  ${file}\npatched  ${kit}\n`)
    const status = JSON.parse((await run(["prune", "status", "--json"], { env: env(), cwd })).stdout)
    expect(status.clients[0].ways.at(-1)).toEqual({
      way: "patch",
      isActive: true,
      detail: `patched: ${file}`,
    })
    expect(await prune(["--revert"], { cwd })).toMatchObject(done)
    expect(bytes()).toBe(bytes(kit))
  })

  test("one that cannot be patched does not keep the others from it, and counts", async () => {
    const native = join(root, "bin", "claude")
    writeFileSync(native, "\x7fELF", { mode: 0o755 })
    const project = join(root, "home", "project")
    const kit = installedBundle(project, bundle(), "claude-agent-sdk")
    const ran = await prune([], { cwd: project })
    expect(ran).toMatchObject({ code: 1, stderr: "" })
    expect(ran.stdout).toContain(`${native} is left as it is: it is a native program (ELF)`)
    expect(ran.stdout).toContain(`Patched ${kit}`)
  })

  test("and nothing is installed", async () => {
    expect(await prune([])).toMatchObject({
      code: 3,
      stdout: "",
      stderr: expect.stringContaining("--target PATH"),
    })
  })
})

describe("is refused", () => {
  test.each([
    ["\x7fELF\x02", "native program (ELF)"],
    ["MZ\x90\0", "native program (PE)"],
    ["#!/bin/sh\nexec claude\n", "a script that starts another program"],
    ["a\0b", "no JavaScript"],
    ["#!/usr/bin/env node\n\xff\xfe", "not UTF-8"],
    ["#!/usr/bin/env node\nconsole.log(1)\n", "the loop that sends requests was found nowhere"],
    ["", "the loop that sends requests was found nowhere"],
  ])("for %j", async (text, why) => {
    writeFileSync(file, text, "latin1")
    await refusedFor(why)
    await refusedFor(why, "--dry-run")
  })

  test("for a bundle that is cut off, or does not start", async () => {
    const text = bundle()
    writeFileSync(file, text.slice(0, text.indexOf("if(process.argv")))
    await refusedFor("does not say its version")
    writeFileSync(file, `${text}if(`)
    await refusedFor("no valid JavaScript")
    writeFileSync(file, `${text}null.x\n`)
    await refusedFor("does not say its version")
    writeFileSync(file, bundle(["console.log(", "console.warn("]))
    await refusedFor("does not say its version")
  })

  test("if what it needs is out of reach there", async () => {
    writeFileSync(
      file,
      bundle(["function sid(){return S.sessionId}", "{let y=()=>{function sid(){return S.sessionId}}}"]),
    )
    await refusedFor("names the session is not within reach")
    writeFileSync(
      file,
      bundle(
        ["async function sum(", "function z(){}\nasync function sum("],
        ["function sid(){return S.sessionId}", "function sid(){return S.sessionId};{let sid=1;"],
        ["if(process", "}if(process"],
      ),
    )
    await refusedFor("names the session is not within reach")
    const [loop] = /async function\*loop[\s\S]*?yield x\}\n/.exec(bundle())!
    writeFileSync(file, bundle([loop, `(()=>{${loop}})();`]))
    await refusedFor("what a compaction sends is not within reach")
  })

  test("after another tool's patch, and beside its backup", async () => {
    const clean = bytes()
    writeFileSync(file, bundle(["let{compact", "m=_aggressiveTextPrune(m);let{compact"]))
    expect(await patch("--check")).toMatchObject({ code: 1, stdout: `foreign-patch  ${file}\n` })
    await refusedFor("another tool has patched it")
    await refusedFor("another tool has patched it", "--revert")
    writeFileSync(file, clean, "latin1")
    writeFileSync(`${file}.backup`, "of another tool")
    await refusedFor("cli.js.backup is there, and not ours")
  })

  test("if it was changed since, or the backup was", async () => {
    await patch()
    const patched = bytes()
    writeFileSync(file, `${patched}// mine\n`, "latin1")
    expect(await patch("--check")).toMatchObject({ code: 1, stdout: `changed-since-patch  ${file}\n` })
    await refusedFor("it was changed since it was patched")
    await refusedFor("it was changed since it was patched", "--revert")
    writeFileSync(file, patched, "latin1")
    const backup = bytes(`${file}.backup`)
    writeFileSync(`${file}.backup`, `${backup} `, "latin1")
    await refusedFor("is not what was there before", "--revert")
    writeFileSync(`${file}.backup`, backup, "latin1")
    rmSync(`${file}.ctxbridge.json`)
    await refusedFor("it was changed since it was patched", "--revert")
  })

  test("where one may not write", async () => {
    const nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    const isRoot = process.getuid?.() === 0
    if (isRoot && Bun.which("setpriv") === null) return
    const folder = dirname(file)
    chmodSync(root, 0o755)
    chmodSync(folder, isRoot ? 0o755 : 0o555)
    // What belongs to others is no place for another's records.
    const home = join(root, "nobody")
    mkdirSync(home)
    chmodSync(home, 0o777)
    const { code, stdout, stderr } = await prune(["--target", file], {
      cwd: root,
      env: { HOME: home, CTXBRIDGE_HOME: join(home, "archive"), TMPDIR: home },
      ...(isRoot ? { through: nobody } : {}),
    })
    chmodSync(folder, 0o755)
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    expect(stderr).toContain("you may not write there")
    expect(stderr).not.toContain("sudo")
    expect(beside()).toEqual(CLEAN)
  })

  test("for what is not there, and for flags that cannot be used together", async () => {
    expect(await prune(["--target", join(root, "none")])).toMatchObject({ code: 64, stdout: "" })
    expect(await prune(["--target", root])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("has no cli.js"),
    })
    expect(await patch("--check", "--revert")).toMatchObject({ code: 64, stdout: "" })
  })
})

test("an update by npm takes the patch away; the older version is never brought back", async () => {
  await patch()
  const newer = bundle(["9.9.9", "9.9.10"])
  writeFileSync(file, newer)
  expect(await patch("--check")).toMatchObject({ code: 1, stdout: `changed-since-patch  ${file}\n` })
  expect(await patch("--revert")).toMatchObject({ ...done, stdout: `Nothing to revert: ${file}\n` })
  expect(bytes()).toBe(Buffer.from(newer).toString("latin1"))
  expect(beside()).toEqual(CLEAN)

  await patch()
  const newest = bundle(["9.9.9", "9.9.11"])
  writeFileSync(file, newest)
  expect(await patch()).toMatchObject({ ...done, stdout: expect.stringContaining("9.9.11") })
  expect(await patch("--revert")).toMatchObject(done)
  expect(bytes()).toBe(Buffer.from(newest).toString("latin1"))
})

test("killed at any moment, the program is whole, and the next patch begins again", async () => {
  const original = bytes()
  const { ms } = await patch()
  const moved = join(root, "bin", "ctxbridge")
  linkOrCopy(binary(), moved)
  const allowed = [original, bytes(), bytes().replace(JSON.stringify(binary()), JSON.stringify(moved))]
  const ends = new Set<number>()
  for (let n = 0; n < 24; n++) {
    // Another ctxbridge makes the patch anew.
    const command = [n % 2 === 0 ? moved : binary(), "prune", "patch", "--target", file]
    const child = Bun.spawn([...command, ...(n % 4 === 3 ? ["--revert"] : [])], {
      env: env(),
      stdio: ["ignore", "ignore", "ignore"],
    })
    await Bun.sleep(((n % 12) / 10) * ms)
    child.kill("SIGKILL")
    await child.exited
    const end = allowed.indexOf(bytes())
    ends.add(end)
    expect((await patch("--check")).stdout).toBe(`${end === 0 ? "clean" : "patched"}  ${file}\n`)
    // Now and then from the other side.
    if (n % 3 === 0) expect(await patch("--revert")).toMatchObject(done)
  }
  expect(ends.size).toBeGreaterThan(1)
  expect(await patch()).toMatchObject(done)
  expect(beside()).toEqual(PATCHED)
  expect(await patch("--revert")).toMatchObject(done)
  expect(bytes()).toBe(original)
  expect(beside()).toEqual(CLEAN)
})

function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to)
  } catch {
    copyFileSync(from, to)
  }
}

describe("uninstall removes the patch from what is installed", () => {
  const uninstall = (...args: string[]): Promise<Ran> =>
    run(["uninstall", ...args], { cwd: root, env: env() })
  /** As a project that uses the Agent SDK has it. */
  async function patchedKit(): Promise<{ kit: string; original: string }> {
    const kit = installedBundle(root, bundle(), "claude-agent-sdk")
    const original = bytes(kit)
    expect(await prune(["--target", kit])).toMatchObject(done)
    expect(bytes(kit)).not.toBe(original)
    return { kit, original }
  }

  test.each([[[]], [["--purge", "--yes"]]])("%j", async (args) => {
    const { kit, original } = await patchedKit()
    const dry = await uninstall(...args, "--dry-run")
    expect(dry).toMatchObject(done)
    expect(dry.stdout).toContain(`Would remove the patch from ${kit}\n`)
    expect(bytes(kit)).not.toBe(original)
    const ran = await uninstall(...args)
    expect(ran).toMatchObject(done)
    expect(ran.stdout).toContain(`Removed the patch from ${kit}\n`)
    expect(bytes(kit)).toBe(original)
    expect(readdirSync(dirname(kit)).sort()).toEqual(CLEAN)
    expect((await uninstall("--json")).stdout).toContain('"patches": []')
  })

  test("a program that another tool has changed since is told, and left", async () => {
    const { kit } = await patchedKit()
    writeFileSync(kit, `${bytes(kit)}\n// and more`)
    const changed = bytes(kit)
    const ran = await uninstall()
    expect(ran).toMatchObject(done)
    expect(ran.stdout).toContain(`Still patched: ${kit} is left as it is`)
    expect(bytes(kit)).toBe(changed)
    // The program could still take it out, so it stays where --purge would have removed it.
    const own = join(root, "own", "bin", "ctxbridge")
    mkdirSync(dirname(own), { recursive: true })
    linkOrCopy(binary(), own)
    const purge = Bun.spawnSync([own, "uninstall", "--purge", "--yes"], { cwd: root, env: env() })
    expect(purge.stdout.toString()).toEndWith(`The program stays: rm ${own}\n`)
    expect(existsSync(own)).toBe(true)
  })
})

test("two at once: one after the other", async () => {
  const original = bytes()
  const both = await Promise.all([patch(), patch(), patch("--revert")])
  for (const ran of both) expect(ran).toMatchObject(done)
  expect(await patch("--revert")).toMatchObject(done)
  expect(bytes()).toBe(original)
  expect(beside()).toEqual(CLEAN)
})

describe("what a patched client asks", () => {
  const question = JSON.stringify({
    session: "11111111-2222-4333-8444-555555555555",
    from: -1,
    messages: Array.from({ length: 20 }, (_, n) => ({
      role: n % 2 === 0 ? "user" : "assistant",
      content: `${n} ${"and so on, ".repeat(2000)}`,
    })).concat({ role: "user", content: "now?" }),
  })

  test("without an archive, nothing is pruned, and no folder is made", async () => {
    expect(await run(["__prune"], { stdin: question, env: env() })).toMatchObject({
      ...done,
      stdout: '{"wait":0}',
    })
    expect(existsSync(join(root, "archive"))).toBe(false)
  })

  test("settings that are no numbers do not count", async () => {
    const wrong = {
      CLAUDE_TEXT_PRUNE_KEEP: "NaN",
      CTXBRIDGE_PRUNE_THRESHOLD: "-1",
      CLAUDE_TEXT_PRUNE_MAX_CHARS: "many",
    }
    const ran = await run(["__prune"], { stdin: question, env: { ...env(), ...wrong } })
    expect(ran).toMatchObject({ ...done, stdout: '{"wait":0}' })
    const short = JSON.stringify({ session: "s", from: -1, messages: [{ role: "user", content: "now?" }] })
    const { stdout } = await run(["__prune"], { stdin: short, env: { ...env(), ...wrong } })
    expect(stdout).toBe('{"wait":80000}')
    // The design documents' means something else, so no value of it counts.
    const other = await run(["__prune"], {
      stdin: short,
      env: { ...env(), CLAUDE_TEXT_PRUNE_THRESHOLD: "60000" },
    })
    expect(other).toMatchObject({ ...done, stdout: '{"wait":80000}' })
  })

  test.each(["", "{", "null", '{"session":7}', '{"session":"s","messages":7}'])(
    "%j has no answer, in silence",
    async (stdin) => {
      expect(await run(["__prune"], { stdin, env: env() })).toMatchObject({ code: 1, stdout: "", stderr: "" })
    },
  )
})
