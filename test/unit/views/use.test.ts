/** What sessions and projects have cost: tokens by the API's messages, and what the host itself says. */
import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { promptsAndCompactions } from "../../../src/views/queries/boundaries.ts"
import { useOfProject, useOfSessions } from "../../../src/views/queries/token-use.ts"
import { Archive } from "../../support/archive.ts"
import { Inside, run } from "../../support/inside.ts"
import { promptsIn } from "../../support/machine.ts"
import type { Transcript } from "../../support/transcript.ts"

/** An answer in as many lines as texts, each with the same counts. */
function answer(transcript: Transcript, id: string, output: number, ...texts: string[]): Transcript {
  for (const text of texts) {
    const usage = {
      input_tokens: 5,
      output_tokens: output,
      cache_creation_input_tokens: 70,
      cache_read_input_tokens: 900,
    }
    const content = [{ type: "text", text }]
    const message = { id, role: "assistant", model: "claude-sonnet-4-6", content, usage }
    transcript.line({ type: "assistant", message })
  }
  return transcript
}

const result = (cost: number, requests = 1, more: object = {}) => ({
  type: "result",
  subtype: "success",
  is_error: false,
  duration_ms: 1000,
  num_turns: requests,
  result: "Done.",
  total_cost_usd: cost,
  usage: { input_tokens: 10, output_tokens: 2, cache_creation_input_tokens: 0, cache_read_input_tokens: 20 },
  ...more,
})

const costState = (cost: number, duration: number) => ({
  type: "cost-state",
  totalCostUSD: cost,
  totalDuration: duration,
  startTime: 1_795_201_371_431,
  modelUsage: { "claude-sonnet-4-6": { costUSD: cost } },
})

const useOf = (archive: Archive, session: string) => useOfSessions(archive.db, [session]).get(session)

test("the tokens of a message count once, and a session's include its subagents'", () => {
  using archive = new Archive()
  const session = archive.session("s1").user("go")
  answer(session, "msg_1", 40, "One.", "Two.", "Three.")
  answer(session.user("on"), "msg_2", 60, "Four.")
  archive.follow(session.flush())
  const tokens = { input: 10, output: 100, cacheCreation: 140, cacheRead: 1800 }
  expect(useOf(archive, "s1")).toEqual({ tokens, cost: null, requests: null, duration: null })
  const agent = archive.session("agent-c0ffee", { agent: "c0ffee" }).user("look", { sessionId: "s1" })
  const { session: id } = archive.follow(answer(agent, "msg_3", 7, "Seen.").flush())
  expect(useOf(archive, id)?.tokens.output).toBe(7)
  archive.db.query("UPDATE sessions SET parent = 's1' WHERE id = ?").run(id)
  expect(useOf(archive, "s1")?.tokens).toEqual({
    input: 15,
    output: 107,
    cacheCreation: 210,
    cacheRead: 2700,
  })
})

describe("what the host says of cost", () => {
  test("grows within a process, and begins anew with the next", () => {
    using archive = new Archive()
    const session = archive.session("s1").user("go").line(result(0.0579, 2))
    archive.follow(session.flush())
    session
      .user("on")
      .line(result(0.0985))
      .user("resumed")
      .line(result(0.0411, 1, { is_error: true }))
    archive.follow(session.flush())
    const use = useOf(archive, "s1")!
    expect(use.cost).toBeCloseTo(0.0985 + 0.0411, 10)
    expect({ requests: use.requests, duration: use.duration }).toEqual({ requests: 4, duration: 3000 })
    const columns = "kind, is_error, cost, requests, duration, input, output, cache_creation, cache_read"
    expect(archive.db.query(`SELECT ${columns} FROM results ORDER BY offset LIMIT 1`).get()).toEqual({
      kind: "success",
      is_error: 0,
      cost: 0.0579,
      requests: 2,
      duration: 1000,
      input: 10,
      output: 2,
      cache_creation: 0,
      cache_read: 20,
    })
    // They are nobody's words, and open no turn.
    expect(promptsIn(archive.db, "s1")).toEqual(["go", "on", "resumed"])
    expect(promptsAndCompactions(archive.db, "s1").turns).toBe(3)
  })

  /** The origin's lines as the host copies them, which then bear the fork's id. */
  const copied = (archive: Archive, origin: Transcript, id: string): Transcript =>
    archive
      .session(id)
      .raw(readFileSync(origin.path, "utf8").trimEnd().replaceAll(`"${origin.session}"`, `"${id}"`))

  test("in newer hosts' transcripts, it is the last state that counts, and a fork's copies are its origin's", () => {
    using archive = new Archive()
    const session = archive.session("s1").user("go")
    session
      .line({ ...costState(0.01, 10), sessionId: "s1" })
      .line({ ...costState(0.386, 2464), sessionId: "s1" })
    archive.follow(session.flush())
    expect(useOf(archive, "s1")).toMatchObject({ cost: 0.386, requests: null, duration: null })
    const fork = copied(archive, session, "s2")
    archive.follow(fork.flush())
    expect(useOf(archive, "s2")?.cost).toBeNull()
    // Its process goes on from the origin's total.
    answer(fork.user("on"), "msg_9", 10, "Ok.").line({ ...costState(0.5, 3000), sessionId: "s2" })
    archive.follow(fork.flush())
    expect(useOf(archive, "s2")?.cost).toBeCloseTo(0.5 - 0.386, 10)
    // And another from nothing.
    fork.user("once more").line({ ...costState(0.02, 4000), sessionId: "s2" })
    archive.follow(fork.flush())
    expect(useOf(archive, "s2")?.cost).toBeCloseTo(0.5 - 0.386 + 0.02, 10)
    expect(useOf(archive, "s1")?.cost).toBe(0.386)
    const second = copied(archive, fork, "s3")
      .user("elsewhere")
      .line({ ...costState(0.3, 5000), sessionId: "s3" })
    archive.follow(second.flush())
    expect(useOf(archive, "s3")?.cost).toBeCloseTo(0.3 - 0.02, 10)
  })

  test("a fork of recorded queries has those that came after", () => {
    using archive = new Archive()
    const session = archive.session("s1").user("go").line(result(1, 2))
    archive.follow(session.flush())
    const fork = copied(archive, session, "s2").user("on").line(result(0.25, 3))
    archive.follow(fork.flush())
    expect(useOf(archive, "s2")).toMatchObject({ cost: 0.25, requests: 3, duration: 1000 })
  })

  test("fields of any type are kept as they can be", () => {
    using archive = new Archive()
    const session = archive.session("s1").user("go")
    session.line({ type: "result", total_cost_usd: "0.3", num_turns: -1, duration_ms: null, usage: [] })
    session.line({ type: "result", subtype: 7, cost_usd: 0.2, usage: { output_tokens: 3 } })
    session.line({ type: "cost-state", totalCostUSD: -0.5 })
    archive.follow(session.flush())
    const rows = archive.db.query(
      "SELECT kind, cost, requests, duration, output FROM results ORDER BY offset",
    )
    const none = { cost: null, requests: null, duration: null, output: null }
    expect(rows.all()).toEqual([
      { ...none, kind: "unknown" },
      { ...none, kind: "unknown", cost: 0.2, output: 3 },
      { ...none, kind: "cost-state" },
    ])
  })
})

test("sessions, show and status tell of it, and after a rebuild the same", async () => {
  using machine = new Inside()
  const first = machine.session({ id: "1e551011-0000-4000-8000-000000000001" })
  const second = machine.session({ id: "2e551011-0000-4000-8000-000000000001" })
  answer(first.user("go"), "msg_1", 40, "One.", "Two.").line(result(1.25, 2)).flush()
  answer(second.user("go"), "msg_2", 2_000_000, "Three.").flush()
  for (const session of [first, second]) await machine.hook("stop", session)
  const printed = async (...words: string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(words, machine)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return stdout
  }
  const told = async () => {
    const { sessions } = JSON.parse(await printed("sessions", "--json"))
    const { session } = JSON.parse(await printed("show", first.session, "--json"))
    const { use } = JSON.parse(await printed("status", "--json"))
    return { sessions, session, use }
  }
  const before = await told()
  const own = {
    tokens: { input: 5, output: 40, cacheCreation: 70, cacheRead: 900 },
    cost: 1.25,
    requests: 2,
    duration: 1000,
  }
  expect(before.session).toMatchObject(own)
  expect(before.sessions.find(({ id }: { id: string }) => id === first.session)).toEqual(before.session)
  expect(before.use).toMatchObject({
    sessions: 2,
    tokens: { input: 10, output: 2_000_040, cacheCreation: 140, cacheRead: 1800 },
    cost: 1.25,
  })
  expect(await printed("show", first.session)).toContain(
    "tokens 5 input, 70 written to cache, 900 read from cache, 40 output · $1.25 by Claude Code's account",
  )
  expect(await printed("status", "--verbose")).toMatch(
    /used here +tokens 10 input, .* 2\.00M output · \$1\.25 by/,
  )
  const list = await printed("sessions")
  expect(list).toMatch(/tokens +cost/)
  expect(list).toMatch(/2\.00M/)
  await printed("rebuild")
  expect(await told()).toEqual(before)
})

test("a message whose lines were archived in parts, with a fork in between, counts where it began", () => {
  using archive = new Archive()
  const session = archive.session("s1").user("go")
  archive.follow(answer(session, "msg_1", 40, "One.").flush())
  // The host has copied a line of the message that was not archived yet.
  const fork = archive.session("s2").raw(readFileSync(session.path, "utf8").trimEnd())
  answer(fork, "msg_1", 60, "Two.")
  archive.follow(answer(fork.user("on"), "msg_2", 7, "Three.").flush())
  expect(useOf(archive, "s1")?.tokens.output).toBe(40)
  expect(useOf(archive, "s2")?.tokens.output).toBe(7)
})

test("a project's sum is that of its sessions alone", () => {
  using archive = new Archive()
  for (const [id, cost] of [
    ["s1", 1],
    ["s2", 0.5],
  ] as const)
    archive.follow(answer(archive.session(id).user("go"), `msg_${id}`, 10, "Ok.").line(result(cost)).flush())
  const other = archive.session("s3", { cwd: "/elsewhere" }).user("go").line(result(9))
  archive.follow(other.flush())
  const { path } = archive.db
    .query<{ path: string }, []>(
      "SELECT p.path FROM sessions s JOIN projects p ON p.id = s.project WHERE s.id = 's1'",
    )
    .get()!
  const { cost, sessions, tokens } = useOfProject(archive.db, path)
  expect({ cost, sessions, output: tokens.output }).toEqual({ cost: 1.5, sessions: 2, output: 20 })
  expect(useOfProject(archive.db, "/nowhere")).toMatchObject({ sessions: 0, cost: null })
})
