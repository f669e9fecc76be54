/** What is there already, archived by the background job that `install --import` starts. */
import { expect, test } from "bun:test"
import { existsSync, mkdirSync, renameSync, symlinkSync, utimesSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { bytes as bytesText } from "../../src/base/text.ts"
import { binary, run } from "../support/binary.ts"
import { doneIn } from "../support/events.ts"
import { Machine } from "../support/machine.ts"

const there = (own: Machine, ...args: string[]) => run(args, { env: own.env, cwd: own.cwd })

function filled(): { own: Machine; bytes: number } {
  const own = new Machine()
  let bytes = 0
  for (let n = 0; n < 3; n++) {
    const transcript = own.session().turn(`prompt ${n}`)
    bytes += Buffer.byteLength(transcript.text)
    transcript.flush()
  }
  return { own, bytes }
}

test("install --import archives all of it, and nobody waits for that", async () => {
  const { own, bytes } = filled()
  using _own = own
  const ran = await there(own, "install", "--import", "--json")
  expect(ran).toMatchObject({ code: 0, stderr: "" })
  expect(JSON.parse(ran.stdout)).toMatchObject({
    changed: true,
    history: { transcripts: 3, left: 3, bytes, bytesLeft: bytes, importing: true },
  })
  await own.idle()
  expect(JSON.parse((await there(own, "status", "--json")).stdout)).toMatchObject({
    import: null,
    totals: { turns: 3, archivedBytes: bytes },
  })
  expect((await there(own, "verify")).code).toBe(0)
  expect((await there(own, "install", "--import")).stdout).not.toContain("in the background")
})

test("the next session that starts tells that the import is done, once", async () => {
  const { own, bytes } = filled()
  using _own = own
  await there(own, "install", "--import")
  await own.idle()
  const start = async (source: string): Promise<{ systemMessage?: string }> => {
    const { stdout } = await own.hook("session-start", own.session(), { source })
    return stdout === "" ? {} : JSON.parse(stdout)
  }
  expect(await start("resume")).not.toHaveProperty("systemMessage")
  expect((await start("startup")).systemMessage).toBe(
    `ctxbridge has imported 3 transcripts (${bytesText(bytes)}). Try: ctxbridge search WORDS`,
  )
  expect(await start("startup")).not.toHaveProperty("systemMessage")
})

test("links are not followed but named: in the summary, in JSON, and where there is nothing else", async () => {
  using own = new Machine()
  const elsewhere = own.session().turn("linked").flush()
  const kept = join(own.root, "kept")
  renameSync(elsewhere.path, `${kept}.jsonl`)
  mkdirSync(kept)
  const folder = dirname(elsewhere.path)
  const links = [join(folder, "a.jsonl"), join(folder, "b.jsonl"), join(folder, "c")]
  for (const [n, to] of [`${kept}.jsonl`, "nowhere", kept].entries()) symlinkSync(to, links[n]!)
  symlinkSync("nowhere", join(folder, "other"))
  const nothing = await there(own, "import")
  expect(nothing.code).toBe(3)
  expect(nothing.stderr).toContain(`ctxbridge import ${links[0]}`)
  own.session().turn("its own").flush()
  const ran = await there(own, "import", "--json", "--dry-run")
  expect(doneIn(ran.stdout)).toMatchObject({ ok: true, links: expect.arrayContaining(links) })
  expect(doneIn(ran.stdout).links).toHaveLength(3)
  const { stdout } = await there(own, "import")
  expect(stdout).toContain("1 transcript examined")
  expect(stdout).toMatch(/^3 links not followed: ctxbridge import \//m)
  expect(doneIn((await there(own, "import", links[0]!, "--json")).stdout)).toMatchObject({
    ok: true,
    links: [],
  })
})

test("without a terminal nobody is asked; install says how, and begins nothing", async () => {
  const { own } = filled()
  using _own = own
  const ran = await there(own, "install")
  expect(ran).toMatchObject({ code: 0, stderr: "" })
  expect(ran.stdout).toContain("`ctxbridge import` archives the 3 transcripts")
  const refused = await there(own, "install", "--no-import")
  expect(refused.stdout).not.toContain("ctxbridge import")
  expect(existsSync(join(own.dataHome, "requests"))).toBe(false)
})

test("nobody is asked or waited for whose terminal does not show the question", async () => {
  const { own } = filled()
  using _own = own
  const inTerminal = async (command: string): Promise<number> => {
    const env = { PATH: process.env["PATH"] ?? "", ...own.env, TERM: "xterm" }
    const terminal = { cols: 80, rows: 24 }
    return await Bun.spawn(["sh", "-c", command, binary()], { env, cwd: own.cwd, terminal }).exited
  }
  expect(await inTerminal('"$0" install >/dev/null')).toBe(0)
  expect(await inTerminal('"$0" import >/dev/null')).toBe(0)
  expect(await inTerminal('"$0" forget --older-than 1h 2>/dev/null')).toBe(64)
})

test("status tells what is left of an interrupted import, and the next job goes on", async () => {
  const { own, bytes } = filled()
  using _own = own
  const folder = join(own.dataHome, "requests")
  mkdirSync(folder, { recursive: true })
  const sweep = [join(own.home, ".claude", "projects")]
  const request = { transcripts: [], sweep, settle: false, history: true }
  // As a job leaves it that is killed at work.
  writeFileSync(join(folder, "a.json.taken"), JSON.stringify(request))
  const status = await there(own, "status", "--verbose")
  expect(status.stdout).toMatch(/^import +in the background: 0 of 3 transcripts done/m)
  expect(JSON.parse((await there(own, "status", "--json")).stdout).import).toMatchObject({ bytesLeft: bytes })
  expect((await there(own, "__job")).code).toBe(0)
  expect(JSON.parse((await there(own, "status", "--json")).stdout)).toMatchObject({
    import: null,
    totals: { archivedBytes: bytes },
  })
})

test("says how much of it Claude Code will delete soon", async () => {
  const { own } = filled()
  using _own = own
  const [first, second] = [
    ...new Bun.Glob("**/*.jsonl").scanSync({ cwd: join(own.home, ".claude"), absolute: true }),
  ]
  const days = (n: number): Date => new Date(Date.now() - n * 86_400_000)
  utimesSync(first!, days(28), days(28))
  utimesSync(second!, days(26), days(26))
  const told = async (): Promise<{ expiring: number; text: string }> => {
    const { stdout } = await there(own, "install", "--dry-run", "--json")
    const { stdout: text } = await there(own, "install", "--no-model")
    return { expiring: JSON.parse(stdout).history.expiring, text }
  }
  const { expiring, text } = await told()
  expect(expiring).toBe(1)
  expect(text).toMatch(
    /archives the 3 transcripts that Claude Code has kept \(.*; 1 will be deleted within 3 days\)/,
  )
  writeFileSync(join(own.home, ".claude/settings.json"), JSON.stringify({ cleanupPeriodDays: 365 }))
  expect(await told()).toMatchObject({ expiring: 0, text: expect.not.stringContaining("will be deleted") })
})
