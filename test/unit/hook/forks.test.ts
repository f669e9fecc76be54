/** A fork has what is its own, and what was open where it began. */
import { describe, expect, test } from "bun:test"
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import type { HookName } from "../../../src/claude/fake/payload.ts"
import { captureTranscript } from "../../../src/views/capture-transcript.ts"
import { catchUp } from "../../../src/views/indexing.ts"
import { Archive } from "../../support/archive.ts"
import { holding } from "../../support/held.ts"
import { Inside, run } from "../../support/inside.ts"
import { contextOf } from "../../support/machine.ts"
import type { Transcript } from "../../support/transcript.ts"

/**
 * A fork whose origin still waited for the views was taken for the origin: its messages and compactions were the fork's,
 * which was then given back what only the origin had lost.
 */
describe("a fork whose origin still waits for the views", () => {
  const EDIT = { tool: "Edit", input: { file_path: "/src/kiln.ts" }, output: "ok" }

  test.each<[HookName, Record<string, unknown>]>([
    ["user-prompt-submit", { prompt: "Fire it once more" }],
    ["pre-compact", { trigger: "manual" }],
    ["session-start", { source: "compact" }],
  ])("%s", async (event, fields) => {
    using machine = new Inside()
    mkdirSync(join(machine.dataHome, "state"), { recursive: true })
    // The background job would index the origin, sooner or later.
    await holding(machine.dataHome, "state/job.lock", async () => {
      const origin = machine.session().turn("Fire the kiln. Never open the door.", [EDIT]).flush()
      await machine.hook("pre-compact", origin, { trigger: "auto" })
      await machine.hook("session-start", origin, { source: "compact" })
      origin.boundary().summary("The kiln was fired.").turn("Let it cool", [EDIT]).flush()
      await machine.hook("stop", origin)
      const fork = machine.session()
      mkdirSync(dirname(fork.path), { recursive: true })
      copyFileSync(origin.path, fork.path)
      await machine.hook("session-start", fork, { source: "fork" })
      const ran = await machine.hook(event, fork, fields)
      expect(ran).toMatchObject({ code: 0, stderr: "" })
      if (event === "user-prompt-submit") expect(contextOf(ran)).toBeUndefined()
      using db = machine.views()
      const own = (table: string) => db.query(`SELECT DISTINCT session FROM ${table}`).values().flat()
      expect([own("messages"), own("boundaries")]).toEqual([[origin.session], [origin.session]])
      expect(db.query("SELECT child, parent FROM lineage").values()).toEqual([[fork.session, origin.session]])
    })
  })
})

/**
 * Where a hook had met a fork's transcript with only half a line in it, the next one took the fork for a session that the
 * views hold. So it did not index the origin first, and the fork was taken for the origin.
 */
describe("a fork whose transcript is written in pieces", () => {
  test("the origin comes first", async () => {
    using machine = new Inside()
    mkdirSync(join(machine.dataHome, "state"), { recursive: true })
    // The background job would index the origin, sooner or later.
    await holding(machine.dataHome, "state/job.lock", async () => {
      const fork = machine.session()
      mkdirSync(dirname(fork.path), { recursive: true })
      const origin = machine.session().turn("Fire the kiln.").flush()
      const text = readFileSync(origin.path, "utf8")
      await machine.hook("stop", origin)
      writeFileSync(fork.path, text.slice(0, 100))
      await machine.hook("pre-compact", fork)
      writeFileSync(fork.path, text)
      await machine.hook("pre-compact", fork)
      using db = machine.views()
      expect(db.query("SELECT DISTINCT session FROM messages").values()).toEqual([[origin.session]])
      expect(db.query("SELECT child, parent FROM lineage").values()).toEqual([[fork.session, origin.session]])
    })
  })
})

/**
 * A fork copies its origin's lines. Those that hold no words, as newer models' thinking, became turns of the fork; and of a
 * long session that waited for the views together with its fork, all that was not read in the first slice.
 */
describe("a fork has its own turns only", () => {
  test("a fork of a session whose thinking is not told has its own turns only", async () => {
    using machine = new Inside()
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
})
