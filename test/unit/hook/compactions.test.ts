import { describe, expect, test } from "bun:test"
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import type { Settings } from "../../../src/config/load.ts"
import { callFor } from "../../../src/hook/call.ts"
import { noticeCompactions } from "../../../src/hook/notice.ts"
import { giveWay } from "../../../src/hook/seldom.ts"
import type { SessionState } from "../../../src/hook/state.ts"
import type { HookEvent } from "../../../src/record/hook-event.ts"
import { open } from "../../../src/views/open.ts"
import { Archive } from "../../support/archive.ts"
import type { RunOptions } from "../../support/binary.ts"
import { holding } from "../../support/held.ts"
import { Inside, run } from "../../support/inside.ts"
import { contextOf, type Machine } from "../../support/machine.ts"
import type { Transcript } from "../../support/transcript.ts"

/** Compactions of which no hook was told are answered at the next prompt. */
describe("unannounced compactions", () => {
  /**
   * A compaction of which no hook was told (hooks were off or too slow, Claude Code had ended) went unnoticed: the
   * conversation was given nothing back for it. And a restore that was given at a prompt said again what the summary
   * said.
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

    test("within a turn, and archived by an import before its end: given back at the prompt after it", async () => {
      using machine = new Inside()
      const session = await begun(machine)
      expect(await prompt(machine, session, "and on")).toMatchObject(SILENT)
      compacted(session.turn("and on", [EDIT]))
      expect(await run(["import"], { cwd: machine.cwd, env: machine.env })).toMatchObject({ code: 0 })
      expect(await machine.hook("stop", session)).toMatchObject(SILENT)
      expect(contextOf(await prompt(machine, session, "go on"))).toContain(RULE)
      session.turn("go on").flush()
      await silentAfter(machine, session)
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
        // A Claude Code that does not tell what has arrived.
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
      expect(await prompt(machine, session, "go on", { env: { CTXBRIDGE_RESTORE: "0" } })).toMatchObject(
        SILENT,
      )
      session.turn("go on").flush()
      await machine.hook("stop", session)
      expect(contextOf(await prompt(machine, session, "and on"))).toContain(RULE)
    })

    test("the views tell of it as of a restore after a compaction", async () => {
      using machine = new Inside()
      const session = compacted(await begun(machine))
      const text = contextOf(await prompt(machine, session, "go on"))!
      const { code, stdout, stderr } = await run(["receipts", "--json"], {
        cwd: machine.cwd,
        env: machine.env,
      })
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
})

/** A subagent's compaction is not the session's. */
describe("subagents compactions", () => {
  const SILENT = { code: 0, stdout: "", stderr: "" }
  const AGENT = { agent_id: "a4896785b52fcd81b", agent_type: "general-purpose" }
  const RULE = "Write the parser; never touch the grammar file"

  /** Claude Code's lines carry the time at which they are written; by this one it tells that a turn is over. */
  const now = (): { timestamp: string } => ({ timestamp: new Date().toISOString() })
  const answer = (transcript: Transcript, text: string): Transcript =>
    transcript
      .block({ type: "text", text }, now())
      .line({ type: "system", subtype: "stop_hook_summary", ...now() })
      .flush()

  /** A turn is under way in which an agent looks around. */
  async function begun(machine: Machine, version: string): Promise<Transcript> {
    const session = machine.session({ version })
    await machine.hook("session-start", session, { source: "startup" })
    await machine.hook("user-prompt-submit", session, { prompt: RULE })
    session.user(RULE).message().say("An agent looks around.").flush()
    return session
  }

  /**
   * A subagent's compaction was taken for the session's: the subagent was given what the session had lost, with the user's
   * open prompt, and the session, which compacted at the same time, was given nothing.
   */
  test("a host that tells whose it is: the agent is given nothing, the session all of it", async () => {
    using machine = new Inside()
    const session = await begun(machine, "2.1.330")
    const before = { trigger: "auto" }
    const after = { source: "compact" }
    expect((await machine.hook("pre-compact", session, before)).stdout).toStartWith("ctxbridge:")
    expect(await machine.hook("pre-compact", session, { ...before, ...AGENT })).toMatchObject(SILENT)
    expect(await machine.hook("session-start", session, { ...after, ...AGENT })).toMatchObject(SILENT)
    const given = contextOf(await machine.hook("session-start", session, after))
    expect(given).toStartWith('<ctxbridge-restore source="compact"')
    expect(given).toContain(RULE)
  })

  test("a host that tells whose it is: an agent's alone changes nothing for the session", async () => {
    using machine = new Inside()
    const session = await begun(machine, "2.1.330")
    await machine.hook("pre-compact", session, { trigger: "auto", ...AGENT })
    await machine.hook("session-start", session, { source: "compact", ...AGENT })
    answer(session, "It has looked around.")
    expect(await machine.hook("stop", session)).toMatchObject(SILENT)
    for (const prompt of ["Go on", "And on"]) {
      expect(await machine.hook("user-prompt-submit", session, { prompt })).toMatchObject(SILENT)
      answer(session.user(prompt, now()).message(), "Gone on.")
      expect(await machine.hook("stop", session)).toMatchObject(SILENT)
    }
    expect((await machine.hook("pre-compact", session, { trigger: "manual" })).stdout).toContain("ctxbridge:")
  })

  test("a host that does not tell: the session is not given it later, as if it had been lost", async () => {
    using machine = new Inside()
    const session = await begun(machine, "2.1.112")
    await machine.hook("pre-compact", session, { trigger: "auto" })
    expect(contextOf(await machine.hook("session-start", session, { source: "compact" }))).toContain(RULE)
    answer(session, "It has looked around.")
    await machine.hook("stop", session)
    for (const prompt of ["Go on", "And on", "And further"]) {
      expect(await machine.hook("user-prompt-submit", session, { prompt })).toMatchObject(SILENT)
      answer(session.user(prompt, now()).message(), "Gone on.")
      expect(await machine.hook("stop", session)).toMatchObject(SILENT)
    }
  })

  test("a host that does not tell, and forgets: nor when the session is resumed", async () => {
    using machine = new Inside()
    const session = await begun(machine, "2.0.76")
    await machine.hook("pre-compact", session, { trigger: "auto" })
    expect(contextOf(await machine.hook("session-start", session, { source: "compact" }))).toContain(RULE)
    session.say("It has looked around.").flush()
    await machine.hook("stop", session)
    await machine.hook("session-end", session, { reason: "other" })
    expect(await machine.hook("session-start", session, { source: "resume" })).toMatchObject(SILENT)
    session.boundary("auto").summary("A parser is written.").flush()
    await machine.hook("stop", session)
    const given = contextOf(await machine.hook("session-start", session, { source: "resume" }))
    expect(given).toContain(RULE)
  })
})

/** Each compaction is answered, and counted, once. */
describe("answered once", () => {
  /**
   * After the clock was set back, a compaction was answered at each prompt anew, or not at all, until it had caught up.
   * What was noted before is dated later here, as by a clock that was ahead.
   */
  describe("after the clock was set back", () => {
    const AHEAD = 60 * 60_000

    function begun(machine: Machine): Transcript {
      const session = machine.session({ version: "2.1.112" })
      for (const place of ["kiln", "oven"]) {
        session.turn(`Heat the ${place}`, [
          { tool: "Bash", input: { command: `make heat-${place}` }, output: "done" },
        ])
      }
      return session.flush()
    }

    /** Dates what hooks have noted an hour later. */
    function setBack(machine: Machine, { session }: Transcript): void {
      const file = join(machine.dataHome, "sessions", `${session}.json`)
      const state = JSON.parse(readFileSync(file, "utf8"))
      for (const key of ["compactTime", "restoreTime", "startTime"]) if (key in state) state[key] += AHEAD
      writeFileSync(file, JSON.stringify(state))
      const db = open(machine.dataHome, "write", 1000)
      db.query("UPDATE restores SET time = time + ?").run(AHEAD)
      db.close()
    }

    /** What Claude Code writes behind a compaction, and the next prompts: what they are given. */
    async function goOn(machine: Machine, session: Transcript): Promise<(string | undefined)[]> {
      session.boundary().summary("Something was heated.").say("Going on.").flush()
      const given: (string | undefined)[] = []
      for (const prompt of ["Go on", "And on"]) {
        given.push(contextOf(await machine.hook("user-prompt-submit", session, { prompt })))
        session.turn(prompt).flush()
        await machine.hook("stop", session)
      }
      return given
    }

    test("between a compaction's announcement and its answer: answered once", async () => {
      using machine = new Inside()
      const session = begun(machine)
      await machine.hook("pre-compact", session, { trigger: "auto" })
      setBack(machine, session)
      const call = () => machine.hook("session-start", session, { source: "compact" })
      const answers = [contextOf(await call()), contextOf(await call())]
      expect(answers).toEqual([expect.stringContaining("make heat-kiln"), undefined])
      expect(await goOn(machine, session)).toEqual([undefined, undefined])
    })

    test("since the last restore: the next compaction is answered, too", async () => {
      using machine = new Inside()
      const session = begun(machine)
      for (let time = 0; time < 3; time++) {
        await machine.hook("pre-compact", session, { trigger: "auto" })
        const answer = await machine.hook("session-start", session, { source: "compact" })
        expect(contextOf(answer)).toContain("make heat-kiln")
        expect(await goOn(machine, session)).toEqual([undefined, undefined])
        setBack(machine, session)
      }
    })

    test("since a session's start: the next start is another", async () => {
      using machine = new Inside()
      await machine.hook("stop", begun(machine))
      const next = machine.session()
      const start = async () => contextOf(await machine.hook("session-start", next, { source: "startup" }))
      expect(await start()).toContain("Heat the oven")
      setBack(machine, next)
      expect(await start()).toContain("Heat the oven")
    })
  })

  /**
   * Where Claude Code had written a transcript anew and shorter, what it was before counted as the session's: the third
   * compaction since was given nothing back, and status told of the window as it was. A compaction that no hook was
   * told of was not noticed where something else had stood before; nor, where another process had archived the shorter
   * transcript, behind the end of the former one.
   */
  describe("in a transcript that was written anew and shorter", () => {
    test("its compactions are answered, each once, and its window is told", async () => {
      using machine = new Inside()
      const session = machine.session()
      const step = { tool: "Bash", input: { command: "make heat-kiln" }, output: "hot" }
      for (let n = 0; n < 20; n++) session.turn(`Heat kiln ${n}`, [step])
      // No hook that indexes has seen it by then.
      await machine.hook("stop", session.flush())
      const lines = readFileSync(session.path, "utf8").split("\n")
      writeFileSync(session.path, `${lines.slice(0, 8).join("\n")}\n`)

      for (let n = 0; n < 4; n++) {
        await machine.hook("pre-compact", session, { trigger: "auto" })
        const answer = await machine.hook("session-start", session, { source: "compact" })
        expect(contextOf(answer)).toContain("make heat-kiln")
        session.boundary().summary("Kilns were heated.").say("Going on.").flush()
        expect(await machine.hook("user-prompt-submit", session, { prompt: "Go on" })).toMatchObject({
          stdout: "",
        })
        session.turn("Go on").flush()
        await machine.hook("stop", session)
      }
      const usage = { input_tokens: 90_000, output_tokens: 1 }
      const content = [{ type: "text", text: "Well heated." }]
      session.line({
        type: "assistant",
        message: { id: "m", role: "assistant", model: "claude-x", content, usage },
      })
      await machine.hook("stop", session.flush())
      const { code, stdout, stderr } = await run(["status", "--json"], machine)
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      expect(JSON.parse(stdout).context).toMatchObject({ session: session.session, tokens: 90_001 })
    })

    test.each(["a hook", "another process"])(
      "archived by %s, one that nobody announced is made up for at the next prompt",
      async (by) => {
        using machine = new Inside()
        const session = machine.session()
        const step = { tool: "Bash", input: { command: "make heat-kiln" }, output: "hot" }
        for (let n = 0; n < 10; n++) {
          await machine.hook("user-prompt-submit", session, { prompt: `Heat kiln ${n}` })
          await machine.hook("stop", session.turn(`Heat kiln ${n}`, [step]).flush())
        }
        const lines = readFileSync(session.path, "utf8").split("\n")
        writeFileSync(session.path, `${lines.slice(0, 8).join("\n")}\n`)
        if (by !== "a hook") expect(await run(["import"], machine)).toMatchObject({ code: 0, stderr: "" })
        await machine.hook("stop", session)
        session.boundary().summary("Kilns were heated.").flush()
        const given = await machine.hook("user-prompt-submit", session, { prompt: "Go on" })
        expect(contextOf(given)).toContain("make heat-kiln")
      },
    )
  })

  /**
   * A hook that found the session's copy locked by another process took the transcript for one of no bytes. So the next hook
   * read it from its beginning, counted each compaction once more, and warned the model a second time.
   */
  describe("while another process holds the copy", () => {
    test("a compaction counts once, and the model is warned once", async () => {
      using machine = new Inside()
      const session = machine.session()
      const prompt = (text: string) => machine.hook("user-prompt-submit", session, { prompt: text })
      await prompt("Heat the kiln")
      await machine.hook("stop", session.turn("Heat the kiln").flush())
      await machine.hook("pre-compact", session, { trigger: "auto" })
      await machine.hook("session-start", session, { source: "compact" })
      session.boundary().summary("The kiln was heated.").flush()
      await prompt("Open it")
      const usage = { input_tokens: 150_000, output_tokens: 1 }
      const message = { id: "m", role: "assistant", model: "claude-sonnet-4-6", content: [], usage }
      await machine.hook("stop", session.user("Open it").line({ type: "assistant", message }).flush())
      expect(contextOf(await prompt("Close it"))).toContain("%")

      session.turn("Close it").line({ type: "assistant", message: { ...message, id: "n" } })
      const copy = relative(machine.dataHome, machine.copy(session.flush().path))
      await holding(machine.dataHome, copy, () => machine.hook("stop", session))
      const held = await holding(machine.dataHome, copy, () => prompt("Once more"))
      expect(held).toMatchObject({ code: 0, stdout: "", stderr: "" })
      session.user("Once more").line({ type: "assistant", message: { ...message, id: "o" } })
      await machine.hook("stop", session.flush())
      expect(await prompt("And again")).toMatchObject({ code: 0, stdout: "", stderr: "" })

      const { code, stdout, stderr } = await run(["status", "--json"], machine)
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      expect(JSON.parse(stdout).context).toMatchObject({ compactions: 1, tokens: 150_001 })
    })
  })
})
