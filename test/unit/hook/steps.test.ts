/** A hook's steps: what one that fails means for the others, and files that earlier versions have written. */
import { describe, expect, test } from "bun:test"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { temporaryFolder } from "../../../src/base/temporary.ts"
import type { Settings } from "../../../src/config/load.ts"
import { callFor, type HookStep, runSteps } from "../../../src/hook/call.ts"
import { STEPS } from "../../../src/hook/steps.ts"
import type { HookEvent } from "../../../src/record/hook-event.ts"
import { Inside } from "../../support/inside.ts"
import { contextOf } from "../../support/machine.ts"

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
