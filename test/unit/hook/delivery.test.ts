/**
 * A restore that Claude Code has dropped is given once more at a prompt, never a third time; one that arrived never.
 */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Delivery } from "../../../src/hook/state.ts"
import { SAME_EVENT } from "../../../src/hook/state.ts"
import { open } from "../../../src/views/open.ts"
import { type Ran, type RunOptions, start } from "../../support/binary.ts"
import { Inside, run } from "../../support/inside.ts"
import { contextOf, type HookName, type Machine, until } from "../../support/machine.ts"
import type { Transcript } from "../../support/transcript.ts"

setDefaultTimeout(60_000)

const MARK = "<ctxbridge-restore"
const SILENT = { code: 0, stdout: "", stderr: "" }

/** Claude Code's lines carry the time at which they are written. */
const now = (): { timestamp: string } => ({ timestamp: new Date().toISOString() })

const attachment = (transcript: Transcript, fields: Record<string, unknown>): Transcript =>
  transcript.line({ type: "attachment", attachment: { hookEvent: "SessionStart", ...fields }, ...now() })

/** Claude Code has put the text into the conversation. */
const arrive = (transcript: Transcript, text: string): Transcript =>
  attachment(transcript, { type: "hook_additional_context", hookName: "SessionStart", content: [text] })

/** Claude Code has not waited for our hook. */
const cancel = (transcript: Transcript): Transcript =>
  attachment(transcript, { type: "hook_cancelled", command: "/opt/bin/ctxbridge hook session-start" })

function turn(transcript: Transcript, prompt: string): Transcript {
  transcript.user(prompt, now()).message()
  transcript.block({ type: "text", text: `Answer to: ${prompt}` }, now())
  return transcript.line({ type: "system", subtype: "stop_hook_summary", ...now() })
}

class Play {
  readonly machine: Machine
  readonly session: Transcript

  constructor(machine: Machine, version?: string) {
    this.machine = machine
    this.session = machine.session(version === undefined ? {} : { version })
    this.session
      .turn("Add retries. Never touch the generated files.", [
        { tool: "Edit", input: { file_path: "/src/app/client.ts" }, output: "ok" },
      ])
      .flush()
  }

  hook(name: HookName, fields: Record<string, unknown> = {}, options: RunOptions = {}) {
    return this.machine.hook(name, this.session, fields, options)
  }

  prompt(text: string, options: RunOptions = {}) {
    return this.hook("user-prompt-submit", { prompt: text }, options)
  }

  /** A compaction, up to Claude Code's boundary and summary; the text that our hook gave. */
  async compact(): Promise<string> {
    await this.hook("pre-compact", { trigger: "manual", custom_instructions: null })
    const ran = await this.hook("session-start", { source: "compact" })
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    const text = contextOf(ran)
    expect(text).toStartWith(MARK)
    this.session.boundary("manual").summary("Retries were added.").flush()
    return text!
  }

  get stateFile(): string {
    return join(this.machine.dataHome, "sessions", `${this.session.session}.json`)
  }

  /** What `status` says of it. */
  async told(): Promise<{ json: Record<string, unknown> | null; text: string }> {
    const { cwd, env } = this.machine
    const [asJson, asText] = await Promise.all([
      run(["status", "--json"], { cwd, env }),
      run(["status", "--verbose"], { cwd, env }),
    ])
    for (const { code, stderr } of [asJson, asText]) expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    const text = /^last restore +(.*)$/m.exec(asText.stdout)?.[1] ?? ""
    return { json: JSON.parse(asJson.stdout).lastRestore, text }
  }

  get delivery(): Delivery | undefined {
    return JSON.parse(readFileSync(this.stateFile, "utf8")).delivery
  }
}

test("once it has arrived, nothing is given again, and nobody looks any more", async () => {
  using machine = new Inside()
  const play = new Play(machine)
  const text = await play.compact()
  expect(play.delivery).toMatchObject({ at: expect.any(Number), time: expect.any(Number) })
  // Claude Code's line is not there yet: in doubt, nothing.
  expect(await play.prompt("go on")).toMatchObject(SILENT)
  expect(play.delivery).toBeDefined()
  turn(arrive(play.session, text), "go on").flush()
  expect(await play.hook("stop")).toMatchObject(SILENT)
  expect(play.delivery).toBeUndefined()
  expect(await play.prompt("and on")).toMatchObject(SILENT)
})

test("when the host stopped our hook, the same text comes at the next prompt, once", async () => {
  using machine = new Inside()
  const play = new Play(machine)
  const text = await play.compact()
  cancel(play.session).flush()
  // Hooks of two settings files are called for one prompt.
  const both = await Promise.all([play.prompt("go on"), play.prompt("go on")])
  for (const ran of both) expect(ran).toMatchObject({ code: 0, stderr: "" })
  expect(both.map(contextOf).filter((given) => given !== undefined)).toEqual([text])
  turn(play.session, "go on").flush()
  expect(await play.hook("stop")).toMatchObject(SILENT)
  for (const again of ["and on", "further"]) expect(await play.prompt(again)).toMatchObject(SILENT)
  using views = machine.views()
  expect(views.query("SELECT source FROM restores ORDER BY id").all()).toEqual([
    { source: "compact" },
    { source: "again" },
  ])
})

test("after a whole turn without it, the same text comes at the next prompt", async () => {
  using machine = new Inside()
  const play = new Play(machine)
  const text = await play.compact()
  expect(await play.prompt("go on")).toMatchObject(SILENT)
  turn(play.session, "go on").flush()
  expect(await play.hook("stop")).toMatchObject(SILENT)
  expect(contextOf(await play.prompt("and on"))).toBe(text)
  turn(play.session, "and on").flush()
  expect(await play.prompt("further")).toMatchObject(SILENT)
})

test("a user who stops every turn gets the same text at the second prompt, once", async () => {
  for (const isAnswered of [true, false]) {
    using machine = new Inside()
    const play = new Play(machine)
    const text = await play.compact()
    const stop = (prompt: string): void => {
      play.session.user(prompt, now()).message()
      if (isAnswered) play.session.block({ type: "text", text: "I will" }, now())
      play.session.user([{ type: "text", text: "[Request interrupted by user]" }], now()).flush()
    }
    expect(await play.prompt("go on")).toMatchObject(SILENT)
    stop("go on")
    expect(contextOf(await play.prompt("no, wait"))).toBe(text)
    stop("no, wait")
    for (const again of ["and on", "further"]) expect(await play.prompt(again)).toMatchObject(SILENT)
  }
})

test("the next compaction begins anew, whatever became of the last restore", async () => {
  using machine = new Inside()
  const play = new Play(machine)
  await play.compact()
  turn(play.session, "go on").flush()
  const second = await play.compact()
  arrive(play.session, second).flush()
  turn(play.session, "and on").flush()
  expect(await play.prompt("further")).toMatchObject(SILENT)
  expect(play.delivery).toBeUndefined()
})

test("when our note of it is lost, the transcript shows it, and nothing is given again", async () => {
  for (const isThere of [true, false]) {
    using machine = new Inside()
    const play = new Play(machine)
    await play.hook("pre-compact", { trigger: "manual", custom_instructions: null })
    const announced = readFileSync(play.stateFile)
    const text = contextOf(await play.hook("session-start", { source: "compact" }))!
    writeFileSync(play.stateFile, announced)
    play.session.boundary("manual").summary("Retries were added.")
    if (isThere) arrive(play.session, text)
    play.session.flush()
    const next = await play.prompt("go on")
    if (isThere) expect(next).toMatchObject(SILENT)
    else expect(contextOf(next)).toStartWith(MARK)
    turn(play.session, "go on").flush()
    expect(await play.prompt("and on")).toMatchObject(SILENT)
  }
})

test("nothing is given again to a host that does not tell, or with restores switched off", async () => {
  using machine = new Inside()
  const old = new Play(machine, "2.0.76")
  await old.compact()
  turn(old.session, "go on").flush()
  expect(await old.prompt("and on")).toMatchObject(SILENT)
  expect(old.delivery).toBeUndefined()

  const off = new Play(machine)
  const text = await off.compact()
  cancel(off.session).flush()
  const env = { CTXBRIDGE_RESTORE: "0" }
  expect(await off.prompt("go on", { env })).toMatchObject(SILENT)
  expect(contextOf(await off.prompt("go on"))).toBe(text)
})

test("no core for the hook: a host that forgets it on resume is given it again all the same", async () => {
  using machine = new Inside()
  const old = new Play(machine, "2.0.76")
  const text = await old.compact()
  turn(old.session, "go on").flush()
  await old.hook("stop")
  const imported = await run(["import"], { cwd: machine.cwd, env: machine.env })
  expect(imported).toMatchObject({ code: 0, stderr: "" })
  machine.isStarved = true
  const again = contextOf(await old.hook("session-start", { source: "resume" }))
  expect(again).toBe(text)
})

test("a prompt that the restore told of as waiting is not waiting any more", async () => {
  using machine = new Inside()
  const play = new Play(machine)
  await play.prompt("Rename it to Tok")
  play.session.user("Rename it to Tok", now()).flush()
  const text = await play.compact()
  expect(text).toContain("> Rename it to Tok")
  turn(play.session, "continue").flush()
  expect(await play.hook("stop")).toMatchObject(SILENT)
  const again = contextOf(await play.prompt("and on"))
  expect(again).toStartWith(MARK)
  expect(again).not.toContain("> Rename it to Tok")
  expect(again).toContain("/src/app/client.ts")
})

test("status tells whether the last restore has arrived", async () => {
  using machine = new Inside()
  const play = new Play(machine)
  await play.hook("stop")
  expect(await play.told()).toEqual({ json: null, text: "" })
  const text = await play.compact()
  const given = { session: play.session.session, source: "compact", characters: text.length, again: null }
  const after = `just now, after a compaction, ${text.length} characters: `
  const open = await play.told()
  expect(open.json).toMatchObject({ ...given, proof: "open", time: expect.stringMatching(/^\d{4}-.*Z$/) })
  expect(open.text).toBe(`${after}not confirmed yet`)
  await play.prompt("go on")
  turn(play.session, "go on").flush()
  await play.hook("stop")
  const lost = await play.told()
  expect(lost.json).toMatchObject({ ...given, proof: "lost" })
  expect(lost.text).toBe(`${after}did not arrive`)
  expect(contextOf(await play.prompt("and on"))).toBe(text)
  const again = await play.told()
  expect(again.json).toMatchObject({ ...given, proof: "open", again: expect.stringMatching(/^\d{4}-.*Z$/) })
  expect(again.text).toBe(`${after}sent again just now, not confirmed yet`)
  const hookEvent = "UserPromptSubmit"
  attachment(play.session, { type: "hook_additional_context", hookEvent, content: [text] }).flush()
  await play.hook("stop")
  const later = await play.told()
  expect(later.json).toMatchObject({ proof: "arrived-later", again: expect.any(String) })
  expect(later.text).toBe(`${after}arrived at a later prompt`)
  const second = await play.compact()
  arrive(play.session, second).flush()
  await play.hook("stop")
  expect((await play.told()).json).toMatchObject({ proof: "arrived", characters: second.length, again: null })

  using elsewhere = new Inside()
  const old = new Play(elsewhere, "2.0.76")
  await old.compact()
  turn(old.session, "go on").flush()
  await old.prompt("and on")
  const untold = await old.told()
  expect(untold.json).toMatchObject({ proof: "untold" })
  expect(untold.text).toEndWith("this version of Claude Code does not say whether it arrived")
})

test("after /clear, the next conversation is given again what it did not get", async () => {
  using machine = new Inside()
  const play = new Play(machine)
  await play.hook("session-end", { reason: "clear" })
  const next = machine.session()
  const text = contextOf(await machine.hook("session-start", next, { source: "clear" }))
  expect(text).toStartWith(MARK)
  const prompt = (words: string) => machine.hook("user-prompt-submit", next, { prompt: words })
  expect(await prompt("where were we?")).toMatchObject(SILENT)
  turn(next, "where were we?").flush()
  expect(contextOf(await prompt("go on"))).toBe(text)
  turn(next, "go on").flush()
  expect(await prompt("further")).toMatchObject(SILENT)
})

test("after /clear, a user who stops every turn gets it at the third prompt", async () => {
  using machine = new Inside()
  const play = new Play(machine)
  await play.hook("session-end", { reason: "clear" })
  const next = machine.session()
  const text = contextOf(await machine.hook("session-start", next, { source: "clear" }))
  const prompt = (words: string) => machine.hook("user-prompt-submit", next, { prompt: words })
  const stop = (words: string) =>
    next
      .user(words, now())
      .user([{ type: "text", text: "[Request interrupted by user]" }], now())
      .flush()
  expect(await prompt("where were we?")).toMatchObject(SILENT)
  stop("where were we?")
  // No summary stands there to tell that all lines of that start are written.
  expect(await prompt("go on")).toMatchObject(SILENT)
  stop("go on")
  expect(contextOf(await prompt("further"))).toBe(text)
})

test("nothing is given again when the transcript was rewritten, or the state or archive is gone", async () => {
  using machine = new Inside()
  const rewritten = new Play(machine)
  await rewritten.compact()
  rmSync(rewritten.session.path)
  turn(rewritten.session, "go on").flush()
  expect(await rewritten.prompt("and on")).toMatchObject(SILENT)
  expect(rewritten.delivery).toBeUndefined()

  const forgetful = new Play(machine)
  await forgetful.compact()
  turn(forgetful.session, "go on").flush()
  rmSync(forgetful.stateFile)
  expect(await forgetful.prompt("and on")).toMatchObject(SILENT)

  const other = new Play(machine)
  await other.compact()
  turn(other.session, "go on").flush()
  await machine.idle()
  for (const suffix of ["", "-wal", "-shm"])
    rmSync(join(machine.dataHome, `archive.db${suffix}`), { force: true })
  expect(await other.prompt("and on")).toMatchObject(SILENT)
})

test("the line for the user has counts only, is not for the model, and can be switched off", async () => {
  using machine = new Inside()
  const play = new Play(machine)
  const start = (env = {}) => play.hook("session-start", { source: "compact" }, { env })
  const ran = await start()
  const { systemMessage } = JSON.parse(ran.stdout)
  const given = contextOf(ran)!
  expect(systemMessage).toBe(
    `ctxbridge restored 1 constraint, 1 path, 1 turn (${given.length} characters, about ` +
      `${Math.ceil(given.length / 3.5)} tokens). Details: ctxbridge receipts`,
  )
  expect(given).not.toContain("ctxbridge restored")
  play.session.boundary().summary("Retries were added.").flush()
  const quiet = await start({ CTXBRIDGE_RESTORE_RECEIPT: "0" })
  expect(Object.keys(JSON.parse(quiet.stdout))).toEqual(["hookSpecificOutput"])
  // Where nothing is given, nothing is said.
  const empty = machine.session()
  expect(await machine.hook("session-start", empty, { source: "compact" })).toMatchObject(SILENT)
})

/** Two hooks for one compaction that have both read the session's state before either of them answers. */
async function together({ machine, session }: Play): Promise<Ran[]> {
  const { cwd } = machine
  const env = { ...machine.env, CTXBRIDGE_HOOK_DEADLINE: "4000" }
  const db = open(machine.dataHome, "write")
  try {
    db.run("BEGIN IMMEDIATE")
    const hooks = [1, 2].map(() => start(["hook", "session-start"], { cwd, env }))
    for (const { child } of hooks) {
      child.stdin.write(machine.payload("session-start", session, { source: "compact" }))
      await child.stdin.end()
    }
    await until(
      () => hooks.every(({ child }) => hasViewsOpen(child)),
      20_000,
      "hooks that wait for the views",
    )
    db.run("ROLLBACK")
    return await Promise.all(hooks.map(({ ended }) => ended))
  } finally {
    db.close()
  }
}

function hasViewsOpen({ pid, exitCode }: { pid: number; exitCode: number | null }): boolean {
  if (exitCode !== null) return true
  const folder = `/proc/${pid}/fd`
  try {
    return readdirSync(folder).some((fd) => readlinkSync(join(folder, fd)).endsWith("/archive.db"))
  } catch {
    // One was closed at this moment.
    return false
  }
}

describe.skipIf(process.platform !== "linux")("hooks of two settings files for one compaction", () => {
  test("one gives the restore, and the other does not take its note away", async () => {
    for (let attempt = 1; ; attempt++) {
      using machine = new Inside()
      const play = new Play(machine)
      await play.hook("pre-compact", { trigger: "manual", custom_instructions: null })
      const both = await together(play)
      for (const ran of both) expect(ran).toMatchObject({ code: 0, stderr: "" })
      // Held up too long, on a machine that is too slow: they have answered without the views.
      const log = join(machine.home, ".local", "state", "ctxbridge", "ctxbridge.log")
      if (existsSync(log) && readFileSync(log, "utf8").includes("SQLITE_BUSY") && attempt < 5) continue
      expect(both.map(contextOf).filter((text) => text?.startsWith(MARK))).toHaveLength(1)
      expect(play.delivery).toMatchObject({ at: expect.any(Number), time: expect.any(Number) })
      return
    }
  })

  test("one gives the restore, also where the host writes between the two", async () => {
    using machine = new Inside()
    const play = new Play(machine)
    await play.hook("pre-compact", { trigger: "manual", custom_instructions: null })
    const first = await play.hook("session-start", { source: "compact" })
    attachment(play.session, { type: "hook_progress" }).flush()
    const both = [first, await play.hook("session-start", { source: "compact" })]
    for (const ran of both) expect(ran).toMatchObject({ code: 0, stderr: "" })
    using views = machine.views()
    const times = views
      .query<{ time: number }, []>("SELECT time FROM restores WHERE source = 'compact' ORDER BY time")
      .all()
      .map(({ time }) => time)
    expect(both.map(contextOf).filter((text) => text !== undefined)).toHaveLength(times.length)
    // On a machine so slow that they began long after each other, they are two events to us.
    if (times.length > 1) expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(SAME_EVENT)
    else expect(times).toHaveLength(1)
  })
})
