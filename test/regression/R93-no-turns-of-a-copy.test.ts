/** A fork copies its origin's lines. Those that hold no words, as newer models' thinking, became turns of the fork. */
import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

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
