/** Compactions of which no hook was told are answered at the next prompt. */
import { describe, expect, test } from "bun:test"
import { copyFileSync, mkdirSync, readFileSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import type { Settings } from "../../../src/config/load.ts"
import { callFor } from "../../../src/hook/call.ts"
import { noticeCompactions } from "../../../src/hook/notice.ts"
import { giveWay } from "../../../src/hook/seldom.ts"
import type { SessionState } from "../../../src/hook/state.ts"
import type { HookEvent } from "../../../src/record/hook-event.ts"
import { Archive } from "../../support/archive.ts"
import type { RunOptions } from "../../support/binary.ts"
import { Inside, run } from "../../support/inside.ts"
import { contextOf, type Machine } from "../../support/machine.ts"
import type { Transcript } from "../../support/transcript.ts"

/**
 * A compaction of which no hook was told (hooks were off or too slow, the host had ended) went unnoticed: the conversation
 * was given nothing back for it. And a restore that was given at a prompt said again what the summary said.
 */
describe("a compaction that nobody announced", () => {
  const SILENT = { code: 0, stdout: "", stderr: "" }
  const MARK = '<ctxbridge-restore source="compact"'
  const RULE = "Never touch the generated files."
  const FILE = "/src/app/client.ts"
  const EDIT = { tool: "Edit", input: { file_path: FILE }, output: "ok" }

  const prompt = (machine: Machine, session: Transcript, text: string, options: RunOptions = {}) =>
    machine.hook("user-prompt-submit", session, { prompt: text }, options)

  /** A turn that all hooks have seen. */
  async function turn(machine: Machine, session: Transcript, text: string): Promise<void> {
    expect(await prompt(machine, session, text)).toMatchObject(SILENT)
    session.turn(text, [EDIT]).flush()
    expect(await machine.hook("stop", session)).toMatchObject(SILENT)
  }

  async function begun(machine: Machine, version?: string): Promise<Transcript> {
    const session = machine.session(version === undefined ? {} : { version })
    await turn(machine, session, `Add retries to the client. ${RULE}`)
    return session
  }

  const compacted = (session: Transcript, summary = "Retries were added."): Transcript =>
    session.boundary().summary(summary).flush()

  async function silentAfter(machine: Machine, session: Transcript): Promise<void> {
    for (const text of ["and on", "further", "to the end"]) await turn(machine, session, text)
  }

  test("between two turns: given back at the next prompt, once", async () => {
    using machine = new Inside()
    const session = await begun(machine)
    compacted(session)
    const given = contextOf(await prompt(machine, session, "go on"))
    expect(given).toStartWith(MARK)
    expect(given).toContain(RULE)
    session.turn("go on").flush()
    expect(await machine.hook("stop", session)).toMatchObject(SILENT)
    await silentAfter(machine, session)
  })

  test("a hook that was kept waiting for a core gives way, and the next prompt gives", async () => {
    using machine = new Inside()
    const session = compacted(await begun(machine))
    machine.isStarved = true
    expect(await machine.hook("session-start", session, { source: "compact" })).toMatchObject(SILENT)
    machine.isStarved = false
    const given = contextOf(await prompt(machine, session, "go on"))
    expect(given).toStartWith(MARK)
    expect(given).toContain(RULE)
    session.turn("go on").flush()
    await silentAfter(machine, session)
  })

  test("hooks of two settings files, called at once: one of them gives", async () => {
    using machine = new Inside()
    const session = compacted(await begun(machine))
    const both = await Promise.all([prompt(machine, session, "go on"), prompt(machine, session, "go on")])
    expect(both.map(contextOf).filter((given) => given !== undefined)).toEqual([
      expect.stringContaining(RULE),
    ])
    session.turn("go on").flush()
    await silentAfter(machine, session)
  })

  test("within a turn: given back at the prompt after it", async () => {
    using machine = new Inside()
    const session = await begun(machine)
    expect(await prompt(machine, session, "a long task")).toMatchObject(SILENT)
    session.turn("a long task", [EDIT], "")
    compacted(session).say("The rest of the task.").flush()
    expect(await machine.hook("stop", session)).toMatchObject(SILENT)
    expect(contextOf(await prompt(machine, session, "go on"))).toContain(RULE)
    session.turn("go on").flush()
    await silentAfter(machine, session)
  })

  test("archived by an import, and by a session that is resumed: given back at the next prompt", async () => {
    for (const by of ["import", "resume"]) {
      using machine = new Inside()
      const session = compacted(await begun(machine))
      if (by === "resume") await machine.hook("session-start", session, { source: "resume" })
      else expect(await run(["import"], { cwd: machine.cwd, env: machine.env })).toMatchObject({ code: 0 })
      expect(contextOf(await prompt(machine, session, "go on"))).toContain(RULE)
      session.turn("go on").flush()
      await silentAfter(machine, session)
    }
  })

  test("a session that hooks have never heard of: what was archived without them is not gone through at its prompt", async () => {
    using machine = new Inside()
    const session = compacted(machine.session().turn(RULE, [EDIT]))
      .turn("go on")
      .flush()
    expect(await run(["import"], { cwd: machine.cwd, env: machine.env })).toMatchObject({ code: 0 })
    await silentAfter(machine, session)
    compacted(session)
    expect(contextOf(await prompt(machine, session, "once more"))).toContain(RULE)
  })

  test("one that was answered is not answered again; one behind it that nobody announced is", async () => {
    for (const isAnnounced of [true, false]) {
      using machine = new Inside()
      const session = await begun(machine)
      // A plugin's is not announced, and answered all the same.
      if (isAnnounced) await machine.hook("pre-compact", session, { trigger: "auto" })
      expect(contextOf(await machine.hook("session-start", session, { source: "compact" }))).toContain(RULE)
      compacted(session)
      // A host that does not tell what has arrived.
      session.turn("go on", [], "Gone on.").flush()
      expect(await machine.hook("stop", session)).toMatchObject(SILENT)
      compacted(session, "Nothing of note.")
      const given = contextOf(await prompt(machine, session, "and on"))
      expect(given).toContain(RULE)
      session.turn("and on").flush()
      await silentAfter(machine, session)
    }
  })

  test("our notes are gone: what was given at a prompt, or at the session's start, is not given again", async () => {
    for (const at of ["prompt", "start"]) {
      using machine = new Inside()
      const session = await begun(machine)
      if (at === "start") {
        await machine.hook("pre-compact", session, { trigger: "auto" })
        await machine.hook("session-start", session, { source: "compact" })
      }
      compacted(session)
      if (at === "prompt") expect(contextOf(await prompt(machine, session, "go on"))).toContain(RULE)
      session.turn("go on").flush()
      rmSync(join(machine.dataHome, "sessions", `${session.session}.json`))
      await silentAfter(machine, session)
    }
  })

  test("what the summary says is left out", async () => {
    for (const isAnnounced of [true, false]) {
      using machine = new Inside()
      const session = await begun(machine, "2.0.76")
      if (isAnnounced) await machine.hook("pre-compact", session, { trigger: "auto" })
      compacted(session, `The user wants this: ${RULE}`)
      const given = contextOf(await prompt(machine, session, "go on"))
      expect(given).toStartWith(MARK)
      expect(given).toContain(FILE)
      expect(given).not.toContain("Standing user constraints")
    }
  })

  test("the lines that a fork has from its origin are no compaction of its own", async () => {
    using machine = new Inside()
    const session = await begun(machine)
    await machine.hook("pre-compact", session, { trigger: "auto" })
    await machine.hook("session-start", session, { source: "compact" })
    compacted(session)
    await turn(machine, session, "go on")
    const fork = machine.session()
    mkdirSync(dirname(fork.path), { recursive: true })
    copyFileSync(session.path, fork.path)
    await machine.hook("session-start", fork, { source: "resume" })
    await silentAfter(machine, fork)
  })

  test("while restores are off nothing is given; with them on again, the next prompt brings it", async () => {
    using machine = new Inside()
    const session = compacted(await begun(machine))
    expect(await prompt(machine, session, "go on", { env: { CTXBRIDGE_RESTORE: "0" } })).toMatchObject(SILENT)
    session.turn("go on").flush()
    await machine.hook("stop", session)
    expect(contextOf(await prompt(machine, session, "and on"))).toContain(RULE)
  })

  test("the views tell of it as of a restore after a compaction", async () => {
    using machine = new Inside()
    const session = compacted(await begun(machine))
    const text = contextOf(await prompt(machine, session, "go on"))!
    const { code, stdout, stderr } = await run(["receipts", "--json"], { cwd: machine.cwd, env: machine.env })
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(JSON.parse(stdout).receipts).toMatchObject([{ characters: text.length, delivery: "open" }])
    expect(readFileSync(session.path, "utf8")).not.toContain("ctxbridge-restore")
  })
})

/**
 * A compaction that no hook had seen was answered with the turns, files and commands since it as well, although the model
 * still had them before it.
 */
describe("turns since a compaction that was missed", () => {
  const edit = (name: string) => ({
    tool: "Edit",
    input: { file_path: `/kiln/${name}.ts`, old_string: "a", new_string: "b" },
    output: "ok",
  })
  const bash = (command: string) => ({ tool: "Bash", input: { command }, output: "" })

  /** Two turns that hooks have seen. */
  async function begun(machine: Machine): Promise<Transcript> {
    const session = machine.session()
    for (const name of ["first", "second"]) {
      await machine.hook("user-prompt-submit", session.flush(), { prompt: `The ${name} thing` })
      session.turn(`The ${name} thing`, [edit(name), bash(`make ${name}`)])
      await machine.hook("stop", session.flush())
    }
    return session
  }

  test("what was said since is not given back", async () => {
    using machine = new Inside()
    const session = await begun(machine)
    session.boundary().summary("So far.")
    for (const name of ["third", "fourth"])
      session.turn(`The ${name} thing`, [edit(name), bash(`make ${name}`)])
    const given =
      contextOf(await machine.hook("user-prompt-submit", session.flush(), { prompt: "Go on" })) ?? ""
    expect(given).toContain("2 turns archived")
    for (const told of ["The second thing", "/kiln/first.ts", "last good: `make second`"])
      expect(given).toContain(told)
    expect(given).not.toMatch(/third|fourth/)
  })

  test("a turn within which it happened is given back", async () => {
    using machine = new Inside()
    const session = await begun(machine)
    session.turn("The third thing", [edit("third"), bash("make third")], "")
    session.boundary().summary("So far.").say("The third thing is done.")
    session.turn("The fourth thing", [edit("fourth")])
    const given =
      contextOf(await machine.hook("user-prompt-submit", session.flush(), { prompt: "Go on" })) ?? ""
    for (const told of ["The third thing", "/kiln/third.ts", "last good: `make third`"])
      expect(given).toContain(told)
    expect(given).not.toContain("fourth")
  })
})

/** What the transcript already holds, and what was known of it, when a hook at a compaction's start gives way. */
const LEFT: readonly (readonly [
  what: string,
  boundaries: number,
  known: SessionState,
  unanswered: number | undefined,
])[] = [
  ["the compaction", 1, {}, 1],
  ["nothing yet", 0, {}, undefined],
  ["one that was answered", 1, { restoreTime: 4, boundaryDue: true }, undefined],
  ["one that was answered, and this one", 2, { restoreTime: 4, boundaryDue: true }, 2],
  ["an announced one", 1, { compactTime: 5, compactAt: 3 }, undefined],
]

test.each(LEFT)("a hook gives way and the transcript holds %s", (_what, boundaries, known, unanswered) => {
  using archive = new Archive()
  const session = archive.session("s1").turn("one").flush()
  const before = { ...known, seenAt: archive.take(session).captured.archived }
  const offsets: number[] = []
  for (let n = 0; n < boundaries; n++) {
    offsets.push(readFileSync(session.path).length)
    session.boundary().summary("They spoke").flush()
  }
  const own = archive.take(session.say("And so on.").flush())
  const event = { name: "session-start", source: "compact", session: "s1" } as HookEvent
  const settings = {} as Settings
  const call = { ...callFor(event, settings, 10, 0), before, state: before, own }
  const late = giveWay({ ...call, ...noticeCompactions(call) })
  expect(late?.text).toBeUndefined()
  expect(late).toMatchObject({ isReplied: true, isJobDue: true })
  const { state } = late!
  const { compactTime, compactAt, unannounced } = state!
  expect({ compactTime, compactAt, unannounced }).toEqual(
    unanswered === undefined
      ? { compactTime: known.compactTime, compactAt: known.compactAt, unannounced: undefined }
      : { compactTime: 10, compactAt: offsets[unanswered - 1], unannounced: true },
  )
  if (boundaries > 0) expect(state!.seenAt).toBe(own.captured.archived)
  expect(state!.boundaryDue).toBeUndefined()
})
