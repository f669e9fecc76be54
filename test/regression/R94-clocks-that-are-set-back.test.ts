/**
 * After the clock was set back, a compaction was answered at each prompt anew, or not at all, until it had caught up.
 * What was noted before is dated later here, as by a clock that was ahead.
 */
import { expect, setDefaultTimeout, test } from "bun:test"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { openDatabase } from "../../src/archive/database.ts"
import { contextOf, Machine } from "../support/machine.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(60_000)

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
  const db = openDatabase(machine.dataHome, { wait: 1000 })
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
  using machine = new Machine()
  const session = begun(machine)
  await machine.hook("pre-compact", session, { trigger: "auto" })
  setBack(machine, session)
  const call = () => machine.hook("session-start", session, { source: "compact" })
  const answers = [contextOf(await call()), contextOf(await call())]
  expect(answers).toEqual([expect.stringContaining("make heat-kiln"), undefined])
  expect(await goOn(machine, session)).toEqual([undefined, undefined])
})

test("since the last restore: the next compaction is answered, too", async () => {
  using machine = new Machine()
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
  using machine = new Machine()
  await machine.hook("stop", begun(machine))
  const next = machine.session()
  const start = async () => contextOf(await machine.hook("session-start", next, { source: "startup" }))
  expect(await start()).toContain("Heat the oven")
  setBack(machine, next)
  expect(await start()).toContain("Heat the oven")
})
