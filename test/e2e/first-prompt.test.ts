/** The first prompt after a compaction, as the compiled file answers it. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, rmSync } from "node:fs"
import { join } from "node:path"
import { frameProblems } from "../support/frame.ts"
import { contextOf, Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

const COMMAND = "./tools/ship.sh --region fra"

async function compacted(machine: Machine): Promise<Transcript> {
  const ship = { tool: "Bash", input: { command: COMMAND }, output: "ok" }
  const session = machine.session().turn("Ship the canary", [ship], "It is out.")
  for (let n = 0; n < 20; n++) session.turn(`Align the labels of page ${n}`)
  await machine.hook("stop", session.flush())
  await machine.hook("pre-compact", session, { trigger: "manual" })
  // Without room, nothing is restored, and everything is lacking.
  const env = { CTXBRIDGE_RESTORE_BUDGET: "100" }
  expect(
    contextOf(await machine.hook("session-start", session, { source: "compact" }, { env })),
  ).toBeUndefined()
  return session.boundary("manual").summary("Labels were aligned.").flush()
}

test("is told what it asks for", async () => {
  using machine = new Machine()
  const session = await compacted(machine)
  const asked = { prompt: "What was the command we used to ship the canary?" }
  const told = await machine.hook("user-prompt-submit", session, asked)
  expect(told).toMatchObject({ code: 0, stderr: "" })
  expect(frameProblems(contextOf(told)!)).toEqual([])
  expect(contextOf(told)).toContain(COMMAND)
  expect(await machine.hook("user-prompt-submit", session, asked)).toMatchObject({
    code: 0,
    stdout: "",
    stderr: "",
  })
})

test("opens no database unless it asks for something", async () => {
  using machine = new Machine()
  const session = await compacted(machine)
  await machine.idle()
  const database = join(machine.dataHome, "archive.db")
  for (const end of ["", "-wal", "-shm"]) rmSync(database + end, { force: true })
  const ran = await machine.hook("user-prompt-submit", session, { prompt: "Continue with the plan" })
  expect(ran).toMatchObject({ code: 0, stdout: "", stderr: "" })
  expect(existsSync(database)).toBe(false)
})
