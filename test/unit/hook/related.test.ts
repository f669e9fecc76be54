/** What a restore or pointer gives of the project's other sessions: the turn that a prompt goes on from, else nothing. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { join } from "node:path"
import { longPrompts, RELATED, UNRELATED } from "../../../bench/related/prompts.ts"
import { type Said, SESSIONS } from "../../../bench/related/sessions.ts"
import { writeSession } from "../../../bench/related/write-session.ts"
import { frameProblems } from "../../support/frame.ts"
import { Inside, Peer, run } from "../../support/inside.ts"
import { contextOf, type Machine } from "../../support/machine.ts"
import type { Transcript } from "../../support/transcript.ts"

setDefaultTimeout(120_000)

const TITLE = "## Related turns from other sessions"

/** The lines of the section; none when there is no such section. */
function relatedIn(text: string | undefined): string[] {
  const lines = (text ?? "").split("\n")
  const from = lines.indexOf(TITLE)
  if (from < 0) return []
  const rest = lines.slice(from + 1)
  const end = rest.findIndex((line) => !line.startsWith("- "))
  return rest.slice(0, end < 0 ? rest.length : end)
}

/** The sessions in the machine's project; in another project, sessions that say every prompt word for word. */
async function filled(machine: Machine): Promise<void> {
  const paths: string[] = []
  const write = (cwd: string, turns: readonly Said[]): void => {
    const id = `5e1a7ed0-0000-4000-8000-${String(paths.length).padStart(12, "0")}`
    const path = join(
      machine.home,
      ".claude",
      "projects",
      cwd === machine.cwd ? "shop" : "elsewhere",
      `${id}.jsonl`,
    )
    writeSession(path, id, cwd, turns, paths.length)
    paths.push(path)
  }
  for (const turns of Object.values(SESSIONS)) write(machine.cwd, turns)
  for (const prompt of [...UNRELATED, ...RELATED.map((one) => one.prompt)]) {
    write(join(machine.root, "elsewhere"), [{ prompt, answer: `Answer to: ${prompt}` }])
  }
  const { code, stderr } = await run(["import", ...paths], { env: machine.env, cwd: machine.cwd })
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
}

/** The restore after a compaction that came upon this prompt. */
async function restoreFor(
  machine: Machine,
  session: Transcript,
  prompt: string,
): Promise<string | undefined> {
  const asked = await machine.hook("user-prompt-submit", session, { prompt })
  expect(asked).toMatchObject({ code: 0, stdout: "", stderr: "" })
  session.boundary().summary("Nothing of note.").flush()
  const started = await machine.hook("session-start", session, { source: "compact" })
  expect(started).toMatchObject({ code: 0, stderr: "" })
  const text = contextOf(started)
  if (text !== undefined) expect(frameProblems(text)).toEqual([])
  return text
}

test("an unrelated prompt gets nothing from other sessions", async () => {
  using machine = new Inside()
  await filled(machine)
  const session = machine.session().turn("hello", [], "Hello! What shall we do?").flush()
  const controls = [...UNRELATED, ...longPrompts(11)]
  expect(controls.length).toBeGreaterThanOrEqual(30)
  let given = ""
  for (const prompt of controls) given += relatedIn(await restoreFor(machine, session, prompt)).join("\n")
  expect(given).toBe("")
})

test("a prompt gets the turn that it continues from, and never one of another project", async () => {
  using machine = new Inside()
  await filled(machine)
  const session = machine.session().turn("hello", [], "Hello! What shall we do?").flush()
  let right = 0
  for (const { prompt, session: name, turn } of RELATED) {
    const lines = relatedIn(await restoreFor(machine, session, prompt))
    // Somebody asked exactly this, elsewhere.
    expect(lines.join("\n")).not.toContain("Answer to:")
    const said: string = SESSIONS[name][turn]!.prompt
    if (lines.some((line) => line.includes(`"${said.slice(0, 40)}`))) right++
    else expect(lines).toEqual([])
  }
  expect(RELATED.length).toBeGreaterThanOrEqual(20)
  expect(right).toBeGreaterThanOrEqual(30)
})

const RETRIES = "Webhooks get lost when Redis restarts. Make the retry queue durable."
const AGAIN = "After a Redis restart some webhooks still go missing from the retry queue"

/** A session that is over and one that goes on about the same. */
async function twoSessions(machine: Machine) {
  const before = machine.session().turn(RETRIES, [], "The retry queue is a Redis stream now.").flush()
  await machine.hook("stop", before, {})
  const now = machine.session().turn(AGAIN, [], "I will look at the consumer.").flush()
  await machine.hook("stop", now, {})
  // Commands index what hooks have left.
  await run(["status"], { env: machine.env, cwd: machine.cwd })
  return { before, now }
}

test("after /clear and at startup, the latest turn decides what is related", async () => {
  using machine = new Inside()
  const { now } = await twoSessions(machine)
  const started = contextOf(await machine.hook("session-start", machine.session(), { source: "startup" }))!
  expect(relatedIn(started).join("\n")).toMatch(
    /^- ctx:\w+ "Webhooks get lost when Redis restarts\. .+" → "The retry queue is .+" \(2026-03-02\)$/,
  )
  expect(started.length).toBeLessThanOrEqual(1000)
  expect(frameProblems(started)).toEqual([])
  // The second time it was rendered beforehand.
  const prepared = await machine.hook("session-start", machine.session(), { source: "startup" })
  expect(contextOf(prepared)).toBe(started)
  await machine.hook("session-end", now, { reason: "clear" })
  const cleared = contextOf(await machine.hook("session-start", machine.session(), { source: "clear" }))!
  expect(relatedIn(cleared)).toHaveLength(1)
  expect(frameProblems(cleared)).toEqual([])
})

test("the receipt counts them", async () => {
  using machine = new Inside()
  const { now } = await twoSessions(machine)
  now.boundary().summary("Nothing of note.").flush()
  const { stdout } = await machine.hook("session-start", now, { source: "compact" })
  expect(JSON.parse(stdout).systemMessage).toMatch(/^ctxbridge restored .*\b1 related turn\b/)
})

test("a restore that was missed and made up for is about the prompt just typed", async () => {
  using machine = new Inside()
  await twoSessions(machine)
  const session = machine.session().turn("hello", [], "Hello!").flush()
  await machine.hook("pre-compact", session, { trigger: "auto" })
  session.boundary().summary("Nothing of note.").flush()
  const given = contextOf(await machine.hook("user-prompt-submit", session, { prompt: AGAIN }))!
  expect(relatedIn(given)).toHaveLength(2)
  expect(frameProblems(given)).toEqual([])
})

test("a pointer rendered with another setting is not used", async () => {
  using machine = new Inside()
  await twoSessions(machine)
  const start = async (related: string) =>
    contextOf(
      await machine.hook(
        "session-start",
        machine.session(),
        { source: "startup" },
        { env: { CTXBRIDGE_RESTORE_RELATED: related } },
      ),
    )
  expect(relatedIn(await start("3"))).toHaveLength(1)
  const without = await start("0")
  expect(without).toContain("Last session of this project")
  expect(relatedIn(without)).toEqual([])
  expect(relatedIn(await start("3"))).toHaveLength(1)
})

test("what a fork shares with the session or the summary already says is not given", async () => {
  using machine = new Inside()
  const before = machine.session().turn(RETRIES, [], "The retry queue is a Redis stream now.")
  const lines = before.text
  before.flush()
  await machine.hook("stop", before, {})
  // A fork under an id of its own: the same lines, and then more.
  const fork = machine.session()
  for (const line of lines.trimEnd().split("\n")) fork.raw(line.replaceAll(before.session, fork.session))
  fork
    .turn("Now the webhooks dashboard", [], "The webhooks dashboard reads the Redis retry queue, too.")
    .flush()
  await machine.hook("stop", fork, {})
  const related = async (session: Transcript, summary?: string): Promise<string[]> => {
    // Commands index what hooks have left; after a compaction only the session's own is indexed.
    await run(["status"], { env: machine.env, cwd: machine.cwd })
    await machine.hook("user-prompt-submit", session, { prompt: AGAIN })
    await machine.hook("pre-compact", session, { trigger: "auto" })
    if (summary !== undefined) {
      await machine.hook("subagent-stop", session, { agent_type: "", last_assistant_message: summary })
    }
    session
      .boundary()
      .summary(summary ?? "Nothing of note.")
      .flush()
    return relatedIn(contextOf(await machine.hook("session-start", session, { source: "compact" })))
  }
  expect(await related(fork)).toEqual([])
  expect(await related(before)).toEqual([])
  const other = machine.session().turn("hello", [], "Hello!").flush()
  // The fork is there once more, as an other session: each of its turns once.
  expect(await related(other)).toHaveLength(2)
  const told = `${RETRIES} The retry queue is a Redis stream now.`
  const left = await related(other, `<summary>${told}</summary>`)
  expect(left).toHaveLength(1)
  expect(left[0]).toContain("webhooks dashboard")
})

test("a forgotten session gives nothing", async () => {
  using machine = new Inside()
  const { before, now } = await twoSessions(machine)
  const preview = async (...args: string[]) =>
    run(["preview", "--session", now.session, ...args], { env: machine.env, cwd: machine.cwd })
  expect(relatedIn((await preview()).stdout)).toHaveLength(1)
  const gone = await run(["forget", before.session, "--yes"], {
    env: machine.env,
    cwd: machine.cwd,
  })
  expect(gone).toMatchObject({ code: 0 })
  expect(relatedIn((await preview()).stdout)).toEqual([])
  expect(relatedIn((await preview("--source", "startup")).stdout)).toEqual([])
})

test("preview shows the words for which a turn is included", async () => {
  using machine = new Inside()
  const { now } = await twoSessions(machine)
  const args = ["preview", "--session", now.session]
  const people = await run(args, { env: machine.env, cwd: machine.cwd })
  expect(people.stdout).toMatch(
    /\n {2}Related turns from other sessions: \d+ characters: they share rare words .+\n {4}ctx:\w+: .*webhooks.*\n/,
  )
  const { sections } = JSON.parse(
    (await run([...args, "--json"], { env: machine.env, cwd: machine.cwd })).stdout,
  )
  const [section] = sections.filter((one: { title: string }) => one.title === TITLE.slice(3))
  expect(section.related).toEqual([
    { handle: expect.stringMatching(/^ctx:\w{6,}$/), words: expect.arrayContaining(["webhooks", "Redis"]) },
  ])
  await using peer = await Peer.connect(machine.cwd, machine.env)
  const { text } = await peer.call("restore_preview", { session: now.session })
  expect(relatedIn(text)).toEqual(relatedIn(people.stdout))
  expect(relatedIn(text)).toHaveLength(1)
})
