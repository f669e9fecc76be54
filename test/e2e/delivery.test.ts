/** A restore that the host has dropped is given once more at a prompt, never a third time; one that arrived never. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Delivery } from "../../src/hook/state.ts"
import { type RunOptions, run } from "../support/binary.ts"
import { contextOf, type HookName, Machine } from "../support/machine.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(60_000)

const MARK = "<ctxbridge-restore"
const SILENT = { code: 0, stdout: "", stderr: "" }

/** The host's lines carry the time at which they are written. */
const now = (): { timestamp: string } => ({ timestamp: new Date().toISOString() })

const attachment = (transcript: Transcript, fields: Record<string, unknown>): Transcript =>
  transcript.line({ type: "attachment", attachment: { hookEvent: "SessionStart", ...fields }, ...now() })

/** The host has put the text into the conversation. */
const arrive = (transcript: Transcript, text: string): Transcript =>
  attachment(transcript, { type: "hook_additional_context", hookName: "SessionStart", content: [text] })

/** The host has not waited for our hook. */
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

  /** A compaction, up to the host's boundary and summary; the text that our hook gave. */
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
      run(["status"], { cwd, env }),
    ])
    for (const { code, stderr } of [asJson, asText]) expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    const text = /^last restore +(.*)$/m.exec(asText.stdout)?.[1] ?? ""
    return { json: JSON.parse(asJson.stdout).lastRestore, text }
  }

  get delivery(): Delivery | undefined {
    return JSON.parse(readFileSync(this.stateFile, "utf8")).delivery
  }
}

test("arrived: nothing is given again, and nobody looks any more", async () => {
  using machine = new Machine()
  const play = new Play(machine)
  const text = await play.compact()
  expect(play.delivery).toMatchObject({ at: expect.any(Number), time: expect.any(Number) })
  // The host's line is not there yet: in doubt, nothing.
  expect(await play.prompt("go on")).toMatchObject(SILENT)
  expect(play.delivery).toBeDefined()
  turn(arrive(play.session, text), "go on").flush()
  expect(await play.hook("stop")).toMatchObject(SILENT)
  expect(play.delivery).toBeUndefined()
  expect(await play.prompt("and on")).toMatchObject(SILENT)
})

test("the host stopped our hook: the same text at the next prompt, once", async () => {
  using machine = new Machine()
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

test("a whole turn without it: the same text at the prompt after", async () => {
  using machine = new Machine()
  const play = new Play(machine)
  const text = await play.compact()
  expect(await play.prompt("go on")).toMatchObject(SILENT)
  turn(play.session, "go on").flush()
  expect(await play.hook("stop")).toMatchObject(SILENT)
  expect(contextOf(await play.prompt("and on"))).toBe(text)
  turn(play.session, "and on").flush()
  expect(await play.prompt("further")).toMatchObject(SILENT)
})

test("a user who stops every turn: the same text at the second prompt, once", async () => {
  for (const isAnswered of [true, false]) {
    using machine = new Machine()
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
  using machine = new Machine()
  const play = new Play(machine)
  await play.compact()
  turn(play.session, "go on").flush()
  const second = await play.compact()
  arrive(play.session, second).flush()
  turn(play.session, "and on").flush()
  expect(await play.prompt("further")).toMatchObject(SILENT)
  expect(play.delivery).toBeUndefined()
})

test("given, but our note of it is lost: the transcript shows it, and nothing is given again", async () => {
  for (const isThere of [true, false]) {
    using machine = new Machine()
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

test("a host that does not tell, another host's words, and restores switched off: nothing is given again", async () => {
  using machine = new Machine()
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

test("a prompt that the restore told of as waiting is not waiting any more", async () => {
  using machine = new Machine()
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
  using machine = new Machine()
  const play = new Play(machine)
  await play.hook("stop")
  expect(await play.told()).toEqual({ json: null, text: "" })
  const text = await play.compact()
  const given = { session: play.session.session, source: "compact", characters: text.length, again: null }
  const after = `just now, after a compaction, ${text.length} characters: `
  const open = await play.told()
  expect(open.json).toMatchObject({ ...given, proof: "open", time: expect.stringMatching(/^\d{4}-.*Z$/) })
  expect(open.text).toBe(`${after}not answered yet`)
  await play.prompt("go on")
  turn(play.session, "go on").flush()
  await play.hook("stop")
  const lost = await play.told()
  expect(lost.json).toMatchObject({ ...given, proof: "lost" })
  expect(lost.text).toBe(`${after}did not arrive`)
  expect(contextOf(await play.prompt("and on"))).toBe(text)
  const again = await play.told()
  expect(again.json).toMatchObject({ ...given, proof: "open", again: expect.stringMatching(/^\d{4}-.*Z$/) })
  expect(again.text).toBe(`${after}given again just now, not seen yet`)
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

  using elsewhere = new Machine()
  const old = new Play(elsewhere, "2.0.76")
  await old.compact()
  turn(old.session, "go on").flush()
  await old.prompt("and on")
  const untold = await old.told()
  expect(untold.json).toMatchObject({ proof: "untold" })
  expect(untold.text).toEndWith("this version of the host does not tell whether it arrived")
})

test("/clear: what the next conversation was given and did not get", async () => {
  using machine = new Machine()
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

test("/clear, and a user who stops every turn: at the third prompt", async () => {
  using machine = new Machine()
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

test("a transcript that was rewritten, a state or an archive that is gone: nothing is given again", async () => {
  using machine = new Machine()
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

test("the line for the user: counts only, not for the model, and an option switches it off", async () => {
  using machine = new Machine()
  const play = new Play(machine)
  const start = (env = {}) => play.hook("session-start", { source: "compact" }, { env })
  const ran = await start()
  const { systemMessage } = JSON.parse(ran.stdout)
  const given = contextOf(ran)!
  expect(systemMessage).toBe(
    `ctxbridge gave back 1 constraint, 1 path, 1 turn (${given.length} characters, about ` +
      `${Math.ceil(given.length / 3.5)} tokens). ctxbridge receipts tells more.`,
  )
  expect(given).not.toContain("gave back")
  play.session.boundary().summary("Retries were added.").flush()
  const quiet = await start({ CTXBRIDGE_RESTORE_RECEIPT: "0" })
  expect(Object.keys(JSON.parse(quiet.stdout))).toEqual(["hookSpecificOutput"])
  // Where nothing is given, nothing is said.
  const empty = machine.session()
  expect(await machine.hook("session-start", empty, { source: "compact" })).toMatchObject(SILENT)
})
