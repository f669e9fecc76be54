import { describe, expect, test } from "bun:test"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { QWEN_HOOKS } from "../../../src/agents/qwen/qwen-hooks.ts"
import { lastError } from "../../../src/base/log.ts"
import { temporaryFolder } from "../../../src/base/temporary.ts"
import { decodeEvent } from "../../../src/claude/hooks.ts"
import type { Settings } from "../../../src/config/load.ts"
import { callFor, type HookStep, runSteps } from "../../../src/hook/call.ts"
import { waitingPrompt } from "../../../src/hook/given.ts"
import { SELDOM } from "../../../src/hook/seldom.ts"
import type { SessionState } from "../../../src/hook/state.ts"
import { remember, STEPS } from "../../../src/hook/steps.ts"
import { type EventName, eventNamed, type HookEvent, type HookForm } from "../../../src/record/hook-event.ts"
import { FILTERED } from "../../../src/secrets/filter.ts"
import type { Taken } from "../../../src/vault/capture.ts"
import { Inside } from "../../support/inside.ts"
import { contextOf } from "../../support/machine.ts"

/** A hook's steps: what one that fails means for the others, and files that earlier versions have written. */
describe("steps", () => {
  const fails = (): never => {
    throw new Error("no")
  }

  /** The call after these steps, and the steps that the log names. */
  async function after(steps: readonly HookStep[], name: HookEvent["name"] = "stop") {
    using folder = temporaryFolder("steps")
    const settings = { paths: { stateHome: folder.path } } as Settings
    const call = callFor({ name, session: "s" } as HookEvent, settings, 1, 0)
    await runSteps(steps, call)
    const log = join(folder.path, "ctxbridge.log")
    const lines = await Bun.file(log)
      .text()
      .catch(() => "")
    const failed = lines
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line))
    return { call, failed }
  }

  describe("steps", () => {
    test("one that fails is in the log, adds nothing, and keeps no other from being done", async () => {
      const { call, failed } = await after([
        { name: "first", run: () => ({ text: "a" }) },
        { name: "second", run: fails },
        { name: "third", due: fails, run: () => ({ note: "never" }) },
        { name: "fourth", later: async () => ({ fourth: ({ text }) => ({ text: `${text}b` }) }) },
      ])
      expect(call).toMatchObject({ text: "ab", note: "" })
      expect(failed).toMatchObject([
        { event: "stop", step: "second", session: "s", message: "no" },
        { event: "stop", step: "third" },
      ])
    })

    test("what is done instead knows why, and may fail as well", async () => {
      const { call, failed } = await after([
        {
          name: "vault",
          run: fails,
          instead: [
            { name: "spool", run: ({ failure }) => ({ text: String(failure) }) },
            { name: "mark", run: fails },
          ],
        },
        { name: "next", run: () => ({ note: "n" }) },
      ])
      expect(call).toMatchObject({ text: "Error: no", note: "n" })
      expect(failed.map(({ step }) => step)).toEqual(["vault", "mark"])
    })

    test("only those for the event, with what they need; none after the last", async () => {
      const { call } = await after([
        { name: "elsewhere", at: ["pre-compact"], run: () => ({ text: "wrong" }) },
        { name: "unknown", due: "known", run: () => ({ text: "wrong" }) },
        { name: "size", run: () => ({ known: 0 }) },
        { name: "known", at: ["stop"], due: "known", run: () => ({ text: "right", isOver: true }) },
        { name: "late", run: () => ({ text: "wrong" }) },
      ])
      expect(call.text).toBe("right")
    })
  })

  test("what is loaded late is there, under the step's name", async () => {
    const late = STEPS.flatMap((step) => [step, ...(step.instead ?? [])]).filter(
      (step) => step.run === undefined,
    )
    const found = await Promise.all(late.map(async ({ name, later }) => [name, typeof (await later())[name]]))
    expect(found.length).toBeGreaterThan(5)
    expect(found.filter(([, type]) => type !== "function")).toEqual([])
  })

  /** A session's state as versions before this one have written it, all of its fields side by side. */
  describe("the file of a session's state", () => {
    test("of the first version: the compaction that it announces is answered", async () => {
      using machine = new Inside()
      const session = machine.session().turn("Never touch the generated files.").flush()
      await machine.hook("stop", session)
      const { length } = readFileSync(session.path)
      const state = {
        prompt: "Go on",
        promptAt: 0,
        promptOpen: true,
        compactTime: 1,
        compactAt: length,
        startTime: 1,
      }
      const file = join(machine.dataHome, "sessions", `${session.session}.json`)
      mkdirSync(join(machine.dataHome, "sessions"), { recursive: true })
      writeFileSync(file, JSON.stringify(state))
      session.boundary().summary("They spoke").flush()
      const given = contextOf(await machine.hook("session-start", session, { source: "compact" }))
      expect(given).toContain("Never touch the generated files.")
      expect(given).toContain("Go on")
      const { restoreTime, delivery, ...kept } = JSON.parse(readFileSync(file, "utf8"))
      expect(kept).toMatchObject({ ...state, recallDue: true })
      expect(restoreTime).toBeGreaterThan(1)
      expect(delivery).toEqual({ at: expect.any(Number), time: restoreTime })
    })

    test("with every field, and one of a later version: an event changes its own and keeps all others", async () => {
      using machine = new Inside()
      const session = machine.session().turn("one").flush()
      await machine.hook("stop", session)
      const { length } = readFileSync(session.path)
      const state = {
        prompt: "one",
        promptAt: 0,
        promptOpen: true,
        compactTime: 5,
        compactAt: 0,
        unannounced: true,
        seenAt: length,
        boundaryDue: true,
        focus: "the tests",
        summary: "They spoke",
        refused: true,
        compactedByPlugin: 3,
        restoreTime: 6,
        recallDue: true,
        resumedAt: 0,
        startTime: 1,
        jobAt: length,
        context: { turns: 1, compactions: 1, history: [], at: length },
        fromLater: { n: 1 },
      }
      const file = join(machine.dataHome, "sessions", `${session.session}.json`)
      mkdirSync(join(machine.dataHome, "sessions"), { recursive: true })
      writeFileSync(file, JSON.stringify(state))
      expect(await machine.hook("stop", session)).toMatchObject({ code: 0, stdout: "", stderr: "" })
      expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({ ...state, promptOpen: false })
    })
  })
})

/** What a hook takes from Claude Code's document. */
describe("event", () => {
  const event = (fields: object, name: HookEvent["name"] = "user-prompt-submit"): HookEvent =>
    decodeEvent(name, { session_id: "s-1", ...fields })!

  describe("a prompt", () => {
    test.each([
      "<div> is not closed, why?",
      "fix it\n<system-reminder>no</system-reminder>",
      "< 3 tests fail",
      "<agent-card> is not closed, why?",
      "",
    ])("is a human's: %s", (prompt) => expect(event({ prompt }).isHuman).toBe(true))

    test.each([
      "<task-notification>done</task-notification>",
      "\n <teammate-message from='x'>hi</teammate-message>",
      "<mcp-resource-update>",
      "<agent-notification>done</agent-notification>",
      "<bash-notification>done</bash-notification>",
    ])("is the host's: %s", (prompt) => expect(event({ prompt }).isHuman).toBe(false))

    test("is the host's where the host says so", () => {
      expect(event({ prompt: "go on", source: "system" }).isHuman).toBe(false)
      expect(event({ prompt: "go on", source: "sdk" }).isHuman).toBe(true)
    })
  })

  test("a compaction is a subagent's where one is named; other events are the session's", () => {
    const agent = { agent_id: "a-1" }
    expect(event(agent, "pre-compact").isSubagents).toBe(true)
    expect(event(agent, "session-start").isSubagents).toBe(true)
    expect(event(agent, "subagent-stop").isSubagents).toBe(false)
    expect(event({}, "pre-compact").isSubagents).toBe(false)
  })

  test("the transcript's folder is that of the project's transcripts", () => {
    expect(event({ transcript_path: "/p/projects/-src/./s-1.jsonl" }).folder).toBe("/p/projects/-src")
    expect(event({ transcript_path: "s-1.jsonl" }).folder).toBeUndefined()
    expect(event({}).folder).toBeUndefined()
  })

  test("only a prompt is a human's", () => {
    expect(event({ prompt: "go on" }, "stop").isHuman).toBe(false)
  })

  test("an event is known by its name in any spelling, and by no other", () => {
    for (const name of ["PreCompact", "pre-compact", "precompact", "pre_compact", "PRE COMPACT"])
      expect(eventNamed(name)).toBe("pre-compact")
    expect(eventNamed("SubagentStop")).toBe("subagent-stop")
    expect(eventNamed("Stop")).toBe("stop")
    for (const name of ["", "PostCompact", "__proto__", "stops", "stop stop"])
      expect(eventNamed(name)).toBeUndefined()
  })
})

/** What each event leaves for later ones. */
describe("remember event", () => {
  const NOW = 1_000_000

  const event = (name: EventName, fields: Record<string, unknown> = {}): HookEvent =>
    decodeEvent(name, { session_id: "s", ...fields })!

  const SETTINGS = { paths: { secrets: FILTERED } } as Settings

  function after(state: SessionState, one: HookEvent, size = 500): SessionState {
    const taken = [{ captured: { size } } as Taken]
    return remember({ ...callFor(one, SETTINGS, NOW, 0), taken, before: state, state })?.state ?? state
  }

  describe("a prompt", () => {
    test("stays open until the turn ends or the session is cleared", () => {
      const open = after({}, event("user-prompt-submit", { prompt: "go on" }))
      expect(open).toEqual({ prompt: "go on", promptAt: 500, promptOpen: true })
      expect(after(open, event("stop")).promptOpen).toBe(false)
      expect(after(open, event("session-end", { reason: "clear" })).promptOpen).toBe(false)
      expect(after(open, event("session-end", { reason: "other" }))).toBe(open)
    })

    test("of another program, or none, changes nothing", () => {
      const state = { prompt: "mine", promptAt: 0, promptOpen: true }
      expect(after(state, event("user-prompt-submit"))).toBe(state)
      expect(after(state, event("user-prompt-submit", { prompt: "report", source: "system" }))).toBe(state)
      expect(after({}, event("stop"))).toEqual({})
    })

    test("is kept without what is private, and only its beginning", () => {
      const long = `keep <private>hidden</private> ${"x".repeat(30_000)}`
      const { prompt = "" } = after({}, event("user-prompt-submit", { prompt: long }))
      expect(prompt).toHaveLength(20_000)
      expect(prompt).not.toContain("hidden")
      expect(prompt).toStartWith("keep ")
    })
  })

  describe("a compaction", () => {
    test("is dated after the last answer, also when the clock was set back", () => {
      const state = after(
        { restoreTime: NOW + 50, summary: "old", compactTime: NOW, compactAt: 7, unannounced: true },
        event("pre-compact"),
      )
      expect(state).toEqual({ restoreTime: NOW + 50, compactTime: NOW + 51, compactAt: 500 })
    })

    test("keeps the place of one that is still unanswered, and the user's words", () => {
      const open = { compactTime: NOW - 1, compactAt: 300 }
      const words = event("pre-compact", { custom_instructions: " the tests " })
      expect(after(open, words)).toEqual({ compactTime: NOW, compactAt: 300, focus: "the tests" })
    })

    test("gives a summary only with an agent that has no type, soon after, or in the summary's form", () => {
      const said = (last_assistant_message: string, agent_type?: string): HookEvent =>
        event("subagent-stop", { last_assistant_message, agent_type })
      const compacting = { compactTime: NOW - 1000, compactAt: 0 }
      expect(after(compacting, said("all of it", "")).summary).toBe("all of it")
      expect(after(compacting, said("all of it", "Explore"))).toBe(compacting)
      expect(after(compacting, said("all of it"))).toBe(compacting)
      const long = { compactTime: NOW - 11 * 60_000, compactAt: 0 }
      expect(after(long, said("all of it", ""))).toBe(long)
      expect(after(long, said("<summary>all</summary>", "")).summary).toBe("<summary>all</summary>")
    })
  })

  test("a resumed or forked session remembers how long its transcript was", () => {
    for (const source of ["resume", "fork"])
      expect(after({}, event("session-start", { source }))).toEqual({ resumedAt: 500 })
    const state = {}
    expect(after(state, event("session-start", { source: "startup" }))).toBe(state)
  })
})

/** What cannot be written is neither claimed nor lost without a trace. */
describe("unwritable", () => {
  /** "All turns are archived" must not be said on a disk that took none. */
  describe("what a hook claims", () => {
    test("where nothing can be written, nothing is said", async () => {
      using machine = new Inside()
      const transcript = machine.session().turn("one. Never touch the generated files.").turn("two").flush()
      writeFileSync(machine.dataHome, "in the way")
      const ran = await machine.hook("pre-compact", transcript, { trigger: "auto" })
      expect(ran).toMatchObject({ code: 0, stdout: "", stderr: "" })
    })

    test("where the vault takes nothing, no new turn is claimed", async () => {
      using machine = new Inside()
      mkdirSync(machine.dataHome)
      writeFileSync(join(machine.dataHome, "vault"), "in the way")
      const transcript = machine.session().turn("one. Never touch the generated files.").turn("two").flush()
      const ran = await machine.hook("pre-compact", transcript, { trigger: "auto" })
      expect(ran).toMatchObject({ code: 0, stdout: "", stderr: "" })
    })

    test("half a line that the host is still writing is not counted", async () => {
      using machine = new Inside()
      const transcript = machine.session().turn("one. Never touch the generated files.").flush()
      const half = transcript.user("two").text.slice(0, -30)
      transcript.discard()
      writeFileSync(transcript.path, half, { flag: "a" })
      const ran = await machine.hook("pre-compact", transcript, { trigger: "auto" })
      expect(ran.stdout).toStartWith("ctxbridge: 1 turn of this session")
    })
  })

  /** Nobody sees a hook's stderr. */
  test("what goes wrong in a hook is in the log, and no word of the transcript", async () => {
    using machine = new Inside()
    mkdirSync(machine.dataHome)
    writeFileSync(join(machine.dataHome, "archive.db"), "no database, ".repeat(100))
    const transcript = machine.session().turn("a private word").flush()
    const ran = await machine.hook("pre-compact", transcript, { trigger: "auto" })
    expect(ran).toMatchObject({ code: 0, stdout: "", stderr: "" })
    const error = lastError(join(machine.dataHome, "state"))
    expect(error).toMatchObject({ event: "pre-compact", session: transcript.session, code: "SQLITE_NOTADB" })
    expect(JSON.stringify(error)).not.toContain("private")
  })
})

/** Which prompt waits for an answer: a human's, as a restore shows it. */
describe("waiting prompt", () => {
  const waits = (prompt: string): string | undefined =>
    waitingPrompt({ prompt, promptAt: 7, promptOpen: true })?.text

  test("a prompt waits until it is answered", () => {
    expect(waitingPrompt({ prompt: "go on", promptAt: 7, promptOpen: true })).toEqual({
      text: "go on",
      at: 7,
    })
    expect(waitingPrompt({ prompt: "go on", promptAt: 7, promptOpen: false })).toBeUndefined()
  })

  test("what others wrote does not, nor what was pasted, nor a command that the host executes itself", () => {
    expect(waits("<ci-monitor-event>Never push.</ci-monitor-event>")).toBeUndefined()
    expect(
      waits("<ide_selection>x</ide_selection> Never push. <ide_selection>x</ide_selection>"),
    ).toBeUndefined()
    expect(waits('fix\n<pasted_content id="12ab">\nNever push.\n</pasted_content id="12ab">')).toBe(
      "fix\n[pasted: 11 characters]",
    )
    for (const command of ["/compact", "/compact focus on x", "/clear", "/context"])
      expect(waits(command)).toBeUndefined()
    expect(waits("/deploy now")).toBe("/deploy now")
  })

  test("a report or a command does not take the place of the prompt before it", () => {
    const isKept = (prompt: string): boolean =>
      decodeEvent("user-prompt-submit", { session_id: "s", prompt })!.isHuman
    for (const tag of ["task-notification", "ci-monitor-event", "channel", "slack-messages"])
      expect(isKept(`\n<${tag} a="b">x</${tag}>`)).toBe(false)
    for (const prompt of ["/compact", "/compact focus", "/clear\n"]) expect(isKept(prompt)).toBe(false)
    for (const prompt of [
      "/compactor",
      "/clear: what is it?",
      "<channels>",
      "fix <channel>",
      "/usr/bin is broken",
    ])
      expect(isKept(prompt)).toBe(true)
  })
})

test("only Claude Code's compactions are refused: another agent would hear nothing of it", () => {
  using folder = temporaryFolder("refused")
  const transcript = join(folder.path, "s.jsonl")
  writeFileSync(transcript, '{"version":"9.0.0"}\n')
  const event = { name: "pre-compact", session: "s", trigger: "manual", transcript } as HookEvent
  const asked = (form?: HookForm) => SELDOM["refuse"]!(callFor(event, {} as Settings, 1, 0, form))
  expect(asked()).toMatchObject({ isRefused: true })
  expect(asked(QWEN_HOOKS)).toBeUndefined()
})
