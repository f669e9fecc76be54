/** What the user writes behind `/compact` decides which other turns a restore tells of. */
import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { frameProblems } from "../../support/frame.ts"
import { Inside, run } from "../../support/inside.ts"
import { contextOf, type Machine } from "../../support/machine.ts"
import type { Transcript } from "../../support/transcript.ts"

const QUEUE = "Webhooks get lost when Redis restarts. Make the retry queue durable."
const LABELS = "The shipping labels of parcels to Norway miss the customs number"
const LABELS_AGAIN = "Parcels to Norway still miss the customs number on their shipping labels"

/** Two sessions that are over, about a queue and about labels; and one under way, about labels. */
async function shop(machine: Machine): Promise<Transcript> {
  for (const prompt of [QUEUE, LABELS]) {
    const before = machine.session().turn(prompt, [], "It is done.").flush()
    await machine.hook("stop", before)
  }
  const session = machine.session().turn(LABELS_AGAIN, [], "I will look at the form.").flush()
  await machine.hook("stop", session)
  expect(await run(["status"], { env: machine.env, cwd: machine.cwd })).toMatchObject({ code: 0, stderr: "" })
  return session
}

/** Lines about other sessions in the restore after this compaction. */
async function related(machine: Machine, session: Transcript, words: string | null, isMissed = false) {
  await machine.hook("pre-compact", session, { trigger: "manual", custom_instructions: words })
  session.boundary("manual").summary("Nothing of note.").flush()
  const given = contextOf(
    isMissed
      ? await machine.hook("user-prompt-submit", session, { prompt: "go on" })
      : await machine.hook("session-start", session, { source: "compact" }),
  )
  expect(frameProblems(given!)).toEqual([])
  const section = given!.split("\n## ").find((text) => text.startsWith("Related turns")) ?? ""
  return section
    .split("\n")
    .filter((line) => line.startsWith("- "))
    .map((line) => ["Redis", "Norway"].find((name) => line.includes(name)))
}

/** `/compact <words>`: the restore after it did not know what the user had asked the compaction to mind. */
test("turns about the words behind /compact come first, and those about the session behind them", async () => {
  using machine = new Inside()
  const session = await shop(machine)
  expect(await related(machine, session, "keep what we know about the durable Redis retry queue")).toEqual([
    "Redis",
    "Norway",
  ])
  session.turn("and on").flush()
  await machine.hook("stop", session)
  // They are asked of that compaction alone.
  expect(await related(machine, session, "")).not.toContain("Redis")
})

test("without words, or with words that say nothing, turns about the session come", async () => {
  for (const words of [null, "", "be brief, please", "focus on the tests"]) {
    using machine = new Inside()
    expect(await related(machine, await shop(machine), words)).toEqual(["Norway"])
  }
})

test("the words count also at the prompt after a compaction that was missed", async () => {
  using machine = new Inside()
  const session = await shop(machine)
  expect(await related(machine, session, "focus on the Redis queue", true)).toContain("Redis")
})

test("secrets among the words are not kept", async () => {
  using machine = new Inside()
  const session = await shop(machine)
  const secret = `ghp_${"a1B2c3D4e5".repeat(4).slice(0, 36)}`
  await machine.hook("pre-compact", session, { trigger: "manual", custom_instructions: `mind ${secret}` })
  const state = readFileSync(join(machine.dataHome, "sessions", `${session.session}.json`), "utf8")
  expect(JSON.parse(state).focus).toBe(`mind ${"*".repeat(40)}`)
})

/** They steered only what came of other sessions: of the session itself, the latest came whatever the user asked for. */
test("the words bring what the session itself has about them, however long ago", async () => {
  const restoreFor = async (words: string | null): Promise<string> => {
    using machine = new Inside()
    const session = machine.session()
    const queue = "The webhook queue was made durable: Redis streams, group `hooks`."
    session.turn(
      QUEUE,
      [write(machine, "queue/durable.ts")],
      `${queue} I chose streams over lists because they keep acknowledgements.`,
    )
    for (let n = 0; n < 90; n++) {
      const answer =
        n < 40 ? `I chose grid ${n} rather than flexbox because it aligns.` : `Page ${n} is aligned.`
      session.turn(`Align the labels of page ${n}`, [write(machine, `pages/page${n}.ts`)], answer)
    }
    await machine.hook("stop", session.flush())
    await machine.hook("pre-compact", session, { trigger: "manual", custom_instructions: words })
    session.boundary("manual").summary("Nothing of note.").flush()
    const given = contextOf(await machine.hook("session-start", session, { source: "compact" }))!
    expect(frameProblems(given)).toEqual([])
    expect(given.length).toBeLessThanOrEqual(4000)
    return given
  }
  const plain = await restoreFor(null)
  expect(plain).not.toContain("Redis")
  expect(plain).not.toContain("durable.ts")
  for (const words of ["keep everything about the durable webhook queue", "focus on Redis"]) {
    const given = await restoreFor(words)
    const [, section = ""] =
      /## Turns about the user's focus for this compaction\n((?:- .*\n)+)/.exec(given) ?? []
    expect(section).toMatch(
      /^- ctx:\w+ "Webhooks get lost when Redis restarts\. [^\n]*Redis streams[^\n]*\n$/,
    )
    // Its other lists follow as before.
    expect(given).toContain("## Turns\n")
  }
  expect(await restoreFor("what we know about durable queues")).toContain("durable.ts")
  // Words that say nothing change nothing.
  expect(stripped(await restoreFor("be brief, please"))).toBe(stripped(plain))
})

const stripped = (text: string): string => text.replace(/session="[^"]*"|ctx:\w+/g, "…")

const write = (machine: Machine, name: string) => ({
  tool: "Write",
  input: { file_path: join(machine.cwd, name), content: "export {}" },
  output: "File created successfully",
})
