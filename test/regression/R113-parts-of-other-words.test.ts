/** A summary that named `src/kiln.tsx` and `userIds` kept `src/kiln.ts` and `userId` from being given back. */
import { expect, test } from "bun:test"
import { run } from "../support/binary.ts"
import { contextOf, Machine } from "../support/machine.ts"
import type { Transcript } from "../support/transcript.ts"

/** A compaction with this summary, and what is given back. */
async function compacted(machine: Machine, session: Transcript, summary: string): Promise<string> {
  await machine.hook("pre-compact", session.flush(), { trigger: "manual" })
  await machine.hook("subagent-stop", session, { agent_type: "", last_assistant_message: summary })
  const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
  await machine.hook("stop", session.boundary("manual").summary(summary).flush())
  return given
}

test("a longer word does not hold what it begins with", async () => {
  using machine = new Machine()
  const session = machine.session()
  const read = (path: string) => ({ tool: "Read", input: { file_path: path }, output: "…" })
  // The host shows the files that were used last by itself.
  const others = [1, 2, 3, 4].map((n) => read(`/app/doc/${n}.md`))
  session.turn("Look", [read("/app/src/kiln.ts"), ...others], "`userId` opens the `kiln_door`.")
  const given = await compacted(machine, session, "In src/kiln.tsx: userIds, _userId and the kiln_door.")
  expect(given).toContain("## Paths\n- `/app/src/kiln.ts`\n")
  expect(given).toContain("## Names\n- `userId`\n")

  const { code, stdout, stderr } = await run(["receipts", "--json"], { cwd: machine.cwd, env: machine.env })
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  expect(JSON.parse(stdout).receipts[0].kinds).toMatchObject({
    path: { before: 5, kept: 0, given: 1, lost: 4 },
    name: { before: 2, kept: 1, given: 1, lost: 0 },
  })
})

test("a prompt that is held whole is held although only its beginning is looked up", async () => {
  using machine = new Machine()
  const prompt = `Paint the roof of the house at the river, and then all ${"windows".repeat(9)} as well`
  const session = machine.session().turn(prompt, [], "Painted.")
  expect(await compacted(machine, session, `The user said: ${prompt}`)).toBe("")
})
