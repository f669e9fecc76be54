/**
 * A fork copies its origin's lines. Those that hold no words, as newer models' thinking, became turns of the fork; and of a
 * long session that waited for the views together with its fork, all that was not read in the first slice.
 */
import { expect, setDefaultTimeout, test } from "bun:test"
import { readFileSync } from "node:fs"
import { captureTranscript } from "../../src/archive/capture-transcript.ts"
import { catchUp } from "../../src/archive/indexing.ts"
import { Archive } from "../support/archive.ts"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(60_000)

test("a fork of a session whose thinking is not told has its own turns only", async () => {
  using machine = new Machine()
  const { cwd, env } = machine
  const origin = machine.session({ version: "2.1.329" })
  const step = { tool: "Bash", input: { command: "cat kiln.txt" }, output: "1180 °C" }
  for (const prompt of ["How hot is the kiln?", "And the oven?"])
    origin.user(prompt).message().think("").step(step).think("").say("As hot as that.")
  origin.flush()
  await machine.hook("stop", origin)

  const fork = machine.session({ version: "2.1.329" })
  const copied = readFileSync(origin.path, "utf8").replaceAll(origin.session, fork.session)
  fork.raw(copied.trimEnd()).user("And the stove?").message().think("").say("Not hot at all.").flush()
  await machine.hook("stop", fork)

  const shown = await run(["show", fork.session, "--json"], { env, cwd })
  expect(shown).toMatchObject({ code: 0, stderr: "" })
  const { turns } = JSON.parse(shown.stdout)
  expect(turns.map(({ prompt }: { prompt: string }) => prompt)).toEqual(["And the stove?"])
  using db = machine.views()
  const counted = db
    .query("SELECT session, count(*) AS messages FROM usage GROUP BY session ORDER BY 1")
    .all()
  expect(counted).toEqual([
    { session: origin.session, messages: 4 },
    { session: fork.session, messages: 1 },
  ])
})

test("a long session is indexed to its end before its fork is begun", () => {
  using archive = new Archive()
  const { dataHome, root, db } = archive
  const waits = (session: Transcript) => {
    const options = { now: 0, deadline: Number.POSITIVE_INFINITY, lastLine: "whole" } as const
    captureTranscript({ dataHome, home: root }, session.flush().path, options)
  }
  const origin = archive.session("11111111-0000-4000-8000-000000000000")
  for (let n = 0; n < 3000; n++)
    origin.turn(`Heat kiln ${n} to ${n * 7} degrees. ${"Then open it. ".repeat(40)}`)
  waits(origin)
  const fork = archive.session("22222222-0000-4000-8000-000000000000")
  waits(fork.raw(readFileSync(origin.path, "utf8").trimEnd()).turn("Only here"))
  // A slice takes as long as it takes: several for the origin, on any machine of today.
  expect(catchUp(db, dataHome, Number.POSITIVE_INFINITY)).toBe(0)
  const turns = db.query("SELECT session, count(*) AS turns FROM turns GROUP BY session ORDER BY 1").all()
  expect(turns).toEqual([
    { session: origin.session, turns: 3000 },
    { session: fork.session, turns: 1 },
  ])
})
