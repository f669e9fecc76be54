/** What comes first in a restore, and what is not said again. */
import { describe, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { withoutPending } from "../../../src/restore/render.ts"
import { Inside, run } from "../../support/inside.ts"
import { contextOf, type Machine } from "../../support/machine.ts"
import type { Transcript } from "../../support/transcript.ts"

const FIRST = "Never push to main."
const SECOND = "Always use pnpm, not npm."

/** The quotations below a title. */
async function givenBelow(machine: Machine, session: Transcript, title: string): Promise<string[]> {
  await machine.hook("stop", session.flush())
  const text = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
  const section = text.split("\n## ").find((one) => one.startsWith(title)) ?? ""
  return [...section.matchAll(/^- "(.*)" \(ctx:/gm)].map(([, quoted]) => quoted!)
}

/**
 * A rule that the user had just repeated came where it was first given, so that newer ones took its room, and what was
 * decided within one turn came in the order of the alphabet, last letter first.
 */
test("a rule that is repeated counts where it was said last, and is given once", async () => {
  using machine = new Inside()
  const session = machine.session().turn(FIRST).turn(SECOND).turn(FIRST)
  expect(await givenBelow(machine, session, "Standing user constraints")).toEqual([FIRST, SECOND])
})

test("decisions of one turn come latest first", async () => {
  using machine = new Inside()
  const session = machine.session().user("Choose them all").message()
  const decided = ["zinc", "ash", "moss", "ash", "brick"].map(
    (one) => `For the roof I decided on ${one} rather than tar because it lasts.`,
  )
  for (const [n, text] of decided.entries()) {
    session.say(text).step({ tool: "Read", input: { file_path: `/roof/${n}.md` }, output: "…" })
  }
  const [zinc, , moss, ash, brick] = decided
  const given = await givenBelow(machine, session.say("Chosen."), "Decisions")
  expect(given).toEqual([brick!, ash!, moss!, zinc!].slice(0, given.length))
  expect(given.length).toBeGreaterThan(2)
})

/** A decision in a session of few turns was given back twice: as a decision, and as what was said on the way of its turn. */
test("what stands among the decisions is not told again among the turns", async () => {
  using machine = new Inside()
  const decision =
    "I decided on a token bucket instead of a fixed window, because a window lets bursts through."
  const finding = "The sixth request passes because the bucket is filled before it is asked for a token."
  const session = machine.session().user("Limit the requests").message().say(finding).message().say(decision)
  session.step({ tool: "Read", input: { file_path: "/src/limit.ts" }, output: "…" })
  await machine.hook("stop", session.say("The limiter is in place.").flush())
  const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
  expect(given.split(decision)).toHaveLength(2)
  expect(given).toContain(`## Decisions\n- "${decision}"`)
  expect(given).toContain(`"${finding}", said on the way`)
})

/** A summary that named `src/kiln.tsx` and `userIds` kept `src/kiln.ts` and `userId` from being given back. */
describe("words that begin alike", () => {
  /** A compaction with this summary, and what is given back. */
  async function compacted(machine: Machine, session: Transcript, summary: string): Promise<string> {
    await machine.hook("pre-compact", session.flush(), { trigger: "manual" })
    await machine.hook("subagent-stop", session, { agent_type: "", last_assistant_message: summary })
    const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
    await machine.hook("stop", session.boundary("manual").summary(summary).flush())
    return given
  }

  test("a longer word does not hold what it begins with", async () => {
    using machine = new Inside()
    const session = machine.session()
    const read = (path: string) => ({ tool: "Read", input: { file_path: path }, output: "…" })
    // The host shows the files that were used last by itself, unless they are gone.
    const others = [1, 2, 3, 4].map((n) => read(`${machine.cwd}/doc${n}.md`))
    for (const { input } of others) writeFileSync(input.file_path, "…")
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
    using machine = new Inside()
    const prompt = `Paint the roof of the house at the river, and then all ${"windows".repeat(9)} as well`
    const session = machine.session().turn(prompt, [], "Painted.")
    expect(await compacted(machine, session, `The user said: ${prompt}`)).toBe("")
  })
})

/**
 * A waiting prompt that was cut just behind a line break got its mark on a line outside the quotation, which stayed there
 * when the prompt was left out of the restore given again.
 */
describe("a waiting prompt that is cut at a line break", () => {
  test("wherever it is cut, the prompt is quoted as a whole", async () => {
    using machine = new Inside()
    machine.env["CTXBRIDGE_RESTORE_BUDGET"] = "700"
    for (let n = 0; n < 7; n++) {
      const session = machine.session().turn("Look").flush()
      const prompt = `${"x".repeat(230 + n)}\n${"line\n\n".repeat(60)}`
      await machine.hook("user-prompt-submit", session, { prompt })
      await machine.hook("pre-compact", session, { trigger: "auto" })
      const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
      expect(given.split("\n").filter((line) => line.includes("(cut)"))).toEqual([
        expect.stringMatching(/^> [xline]+ … \(cut\)$/),
      ])
      expect(withoutPending(given)).not.toContain("(cut)")
    }
  })
})
