/** Each compaction is answered, and counted, once. */
import { describe, expect, test } from "bun:test"
import { readFileSync, writeFileSync } from "node:fs"
import { join, relative } from "node:path"
import { open } from "../../../src/views/open.ts"
import { holding } from "../../support/held.ts"
import { Inside, run } from "../../support/inside.ts"
import { contextOf, type Machine } from "../../support/machine.ts"
import type { Transcript } from "../../support/transcript.ts"

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

  /** What the host writes behind a compaction, and the next prompts: what they are given. */
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
 * Where the host had written a transcript anew and shorter, what it was before counted as the session's: the third
 * compaction since was given nothing back, and status told of the window as it was. A compaction that no hook was told of
 * was not noticed where something else had stood before; nor, where another process had archived the shorter transcript,
 * behind the end of the former one.
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
