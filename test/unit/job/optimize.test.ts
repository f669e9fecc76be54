/** `ctxbridge optimize`: what it says is what was done. */
import { expect, test } from "bun:test"
import { Inside, run } from "../../support/inside.ts"

const DAY = 86_400_000

/** Two sessions, 40 days apart. */
async function lived(machine: Inside): Promise<void> {
  for (const [days, word] of [
    [41, "otter"],
    [1, "falcon"],
  ] as const) {
    const session = machine.session({ start: Date.now() - days * DAY })
    await machine.hook("stop", session.turn(`about the ${word}`, [], `the ${word} it is`).flush())
  }
}

async function optimized(machine: Inside, env: Record<string, string> = {}, ...words: string[]) {
  const ran = await run(["optimize", "--json", ...words], { ...machine, env: { ...machine.env, ...env } })
  expect(ran).toMatchObject({ code: 0, stderr: "" })
  return JSON.parse(ran.stdout)
}

async function found(machine: Inside, word: string, ...more: string[]): Promise<unknown[]> {
  const ran = await run(["search", "--json", word, ...more], machine)
  expect(ran.stderr).toBe("")
  return ran.code === 0 ? JSON.parse(ran.stdout).hits : []
}

test("by default nothing leaves the index, however old", async () => {
  using machine = new Inside()
  await lived(machine)
  expect(await optimized(machine)).toMatchObject({
    dryRun: false,
    learns: true,
    turns: 2,
    decay: { used: 0, mayGo: 1 },
    demotion: { limit: 5_000_000_000, moved: 0 },
    retention: { days: 0, moved: 0 },
    back: { moved: 0, unreadable: 0 },
    tiers: { hot: 2, cold: 0 },
    embedding: { enabled: true, embedded: 2, left: 0 },
  })
  expect(await found(machine, "otter")).toMatchObject([{ seq: 1 }])
})

test("after 30 days, if that is wanted; a dry run says so and does nothing", async () => {
  using machine = new Inside()
  await lived(machine)
  const env = { CLAUDE_FLOW_RETENTION_DAYS: "30" }
  const planned = await optimized(machine, env, "--dry-run")
  expect(planned).toMatchObject({
    dryRun: true,
    retention: { days: 30, moved: 1 },
    tiers: { hot: 1, cold: 1 },
  })
  expect(planned.embedding).toMatchObject({ embedded: 1, left: 2 })
  expect(await optimized(machine, env, "--dry-run")).toEqual(planned)
  const done = await optimized(machine, env)
  expect(done).toMatchObject({ dryRun: false, retention: { days: 30, moved: 1 }, tiers: planned.tiers })
  expect(done.embedding).toMatchObject({ embedded: 1, left: 0 })
  expect(await optimized(machine, env)).toMatchObject({ retention: { moved: 0 }, tiers: planned.tiers })
  // Longer: it comes back.
  expect(await optimized(machine, { CLAUDE_FLOW_RETENTION_DAYS: "60" })).toMatchObject({
    back: { moved: 1, unreadable: 0 },
    tiers: { hot: 2, cold: 0 },
    embedding: { embedded: 1, left: 0 },
  })
  expect(await found(machine, "otter")).toMatchObject([{ seq: 1 }])
})

test("with learning off, turns stay where they are", async () => {
  using machine = new Inside()
  await lived(machine)
  const env = { CLAUDE_FLOW_RETENTION_DAYS: "30", CLAUDE_FLOW_AUTO_OPTIMIZE: "false" }
  expect(await optimized(machine, env)).toMatchObject({
    learns: false,
    retention: { moved: 0 },
    tiers: { hot: 2, cold: 0 },
  })
})

test("for people", async () => {
  using machine = new Inside()
  await lived(machine)
  const options = { ...machine, env: { ...machine.env, CTXBRIDGE_ARCHIVE_MAX_SIZE: "1kB" } }
  const dry = await run(["optimize", "--dry-run"], options)
  expect(dry).toMatchObject({ code: 0, stderr: "" })
  expect(dry.stdout).toContain(
    "1 turn would leave the index, of 1 that may; it may hold 1.0 KB of transcripts",
  )
  const ran = await run(["optimize"], options)
  expect(ran).toMatchObject({ code: 0, stderr: "" })
  expect(ran.stdout).toContain("1 turn left the index")
  expect(ran.stdout).toContain("1 turn embedded, 0 left")
  expect(ran.stdout).toMatch(/1 hot, .* 1 cold/)
})

test("without an archive it says so", async () => {
  using machine = new Inside()
  const ran = await run(["optimize"], machine)
  expect(ran).toMatchObject({ code: 3, stdout: "" })
  expect(ran.stderr).toContain("nothing is archived")
})

test.each(["-1", "3.5", "a month"])("a retention of %p is refused, and in hooks ignored", async (days) => {
  using machine = new Inside()
  const env = { CLAUDE_FLOW_RETENTION_DAYS: days }
  const session = machine.session().turn("about the otter").flush()
  expect(await machine.hook("stop", session, {}, { env })).toMatchObject({ code: 0, stdout: "", stderr: "" })
  const ran = await run(["doctor", "--json"], { ...machine, env: { ...machine.env, ...env } })
  expect(ran.stdout).toContain("CLAUDE_FLOW_RETENTION_DAYS")
  expect(ran.stdout).toContain("0 to 36500")
})
