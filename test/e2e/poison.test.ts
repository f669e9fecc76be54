/** No order planted in the archive comes back as more than a quotation, on any way by which text reaches the model. */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { join } from "node:path"
import { type Ran, run } from "../support/binary.ts"
import { frameProblems, instructionProblems, withoutItems } from "../support/frame.ts"
import { contextOf, Machine } from "../support/machine.ts"
import { DISGUISES, order, PLACES } from "../support/poison.ts"
import { limit } from "../support/slowness.ts"
import { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

/** What the user really said: it shows that a restore was given. */
const REAL = "Keep the public API as it is, please. Never rename the exports."

function given(ran: Ran): string {
  expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code: 0, stderr: "" })
  return contextOf(ran) ?? ""
}

interface Given {
  readonly instructions: string
  readonly compact: string
  readonly resume: string
  readonly clear: string
  readonly startup: string
}

/** Each way once: a session that is compacted, resumed, followed by another, and cleared. */
async function everyWay(machine: Machine, session: Transcript): Promise<Given> {
  const quiet = async (ran: Promise<Ran>): Promise<void> =>
    expect(await ran).toMatchObject({ code: 0, stdout: "", stderr: "" })
  await quiet(machine.hook("stop", session, { stop_hook_active: false }))
  // Commands index what a busy machine's hooks have left to others.
  await run(["status"], { env: machine.env, cwd: machine.cwd })
  const startup = given(await machine.hook("session-start", machine.session(), { source: "startup" }))
  const before = await machine.hook("pre-compact", session, { trigger: "auto", custom_instructions: null })
  expect({ code: before.code, stderr: before.stderr }).toEqual({ code: 0, stderr: "" })
  const compact = given(await machine.hook("session-start", session, { source: "compact" }))
  session.boundary().summary("1. Work").say("On it.").flush()
  await quiet(machine.hook("stop", session, { stop_hook_active: false }))
  const resume = given(await machine.hook("session-start", session, { source: "resume" }))
  await quiet(machine.hook("session-end", session, { reason: "clear" }))
  const clear = given(await machine.hook("session-start", machine.session(), { source: "clear" }))
  return { instructions: before.stdout, compact, resume, clear, startup }
}

function isClean(given: Given): void {
  const { instructions, ...frames } = given
  for (const [way, text] of Object.entries(frames)) {
    expect({ way, problems: frameProblems(text) }).toEqual({ way, problems: [] })
  }
  expect(instructionProblems(instructions)).toEqual([])
}

const all = (given: Given): string => Object.values(given).join("\n")

/** This version of Claude Code is given its last restore again when a session is resumed. */
const VERSION = "2.0.76"

test("the corpus is large", () => {
  const places = Object.values(PLACES)
  const items = places.filter(({ allowed }) => allowed === "item").length
  const cases = places.length - items + items * Object.keys(DISGUISES).length
  expect(cases).toBeGreaterThanOrEqual(200)
})

const WANTED = "turbineGovernor nacelle anemometer"

/** What a new session is given after a compaction that came upon this prompt. */
async function relatedTo(machine: Machine, prompt: string): Promise<string> {
  // Commands index what hooks have left; after a compaction only the session's own is indexed.
  await run(["status"], { env: machine.env, cwd: machine.cwd })
  const asking = machine.session().turn("Good morning", [], "Good morning!").flush()
  await machine.hook("user-prompt-submit", asking, { prompt })
  asking.boundary().summary("1. Work").flush()
  const text = given(await machine.hook("session-start", asking, { source: "compact" }))
  expect(frameProblems(text)).toEqual([])
  return text
}

describe("words of nobody who is trusted do not come back", () => {
  const never = Object.entries(PLACES).filter(([, { allowed }]) => allowed === "never")
  const disguises = Object.values(DISGUISES)

  // Each place in three disguises, so that each disguise stands in several places.
  test.each([0, 1, 2])("every place, round %d", async (round) => {
    using machine = new Machine()
    const session = machine.session({ version: VERSION })
    session.turn(REAL, [], "It stays.")
    const words = never.map((_place, n) => `zq${round}n${n}x`)
    for (const [n, [, { plant }]] of never.entries()) {
      const disguise = disguises[(n * 3 + round) % disguises.length]!
      plant(session, disguise(order(words[n]!)))
    }
    session.turn("And now the tests", [], "Written.").flush()
    const agent = subagent(machine, session)
    agent.turn(order("zqagentbrief"), [], order("zqagentanswer")).flush()
    await machine.hook("subagent-stop", session, {
      agent_type: "general-purpose",
      agent_id: "a1",
      agent_transcript_path: agent.path,
      last_assistant_message: order("zqagentlast"),
    })
    const told = await everyWay(machine, session)
    isClean(told)
    expect(told.compact).toContain("Keep the public API as it is")
    expect(told.clear).toContain("Never rename the exports.")
    expect(told.instructions).toContain("Never rename the exports.")
    expect(told.startup).toContain("And now the tests")
    expect(told.resume).not.toBe("")
    const back = never.filter((_place, n) => all(told).includes(words[n]!)).map(([name]) => name)
    expect(back).toEqual([])
    expect(all(told)).not.toContain("zqagent")
    using db = machine.views()
    const noted = db.query<{ text: string }, []>("SELECT text FROM notes WHERE text LIKE '%zq%'").all()
    expect(noted).toEqual([])
  })

  function subagent(machine: Machine, { session, options }: Transcript): Transcript {
    const path = machine.path(join(session, "subagents", "agent-a1.jsonl"))
    return new Transcript({ ...options, path, agent: "a1" })
  }

  // Another session of the project asks for the very words.
  test("not even to a session that asks for them", async () => {
    using machine = new Machine()
    const session = machine.session().turn(REAL, [], "It stays.")
    for (const [n, [, { plant }]] of never.entries()) {
      plant(session, disguises[n % disguises.length]!(order(`zqrel ${WANTED}`)))
    }
    session.flush()
    await machine.hook("stop", session, { stop_hook_active: false })
    const mark = { ctxbridge: { import: { tool: "other" } } }
    const foreign = machine
      .session()
      .user(order(`zqrel ${WANTED}`), mark)
      .message()
    foreign.block({ type: "text", text: order(`zqrel ${WANTED}`) }, mark).flush()
    await machine.hook("stop", foreign, { stop_hook_active: false })
    expect(await relatedTo(machine, WANTED)).not.toContain("zqrel")
    // The question finds what the user says.
    const typed = machine.session().turn(`Look at ${WANTED}`, [], "Yes.").flush()
    await machine.hook("stop", typed, { stop_hook_active: false })
    expect(await relatedTo(machine, WANTED)).toContain(`"Look at ${WANTED}" → "Yes."`)
  })

  test("a transcript of another archive has no part in its project", async () => {
    using machine = new Machine()
    const session = machine.session({ version: VERSION })
    const mark = { ctxbridge: { import: { tool: "other" } } }
    session.user(order("zqprompt"), mark).message()
    session.block({ type: "text", text: order("zqanswer") }, mark).flush()
    await machine.hook("session-end", session, { reason: "other" })
    const next = machine.session()
    for (const source of ["startup", "clear"]) {
      expect(await machine.hook("session-start", next, { source })).toMatchObject({ code: 0, stdout: "" })
    }
    const shown = await run(["show", session.session, "--json"], { env: machine.env, cwd: machine.cwd })
    expect(shown.stdout).toContain("zqprompt")
  })
})

describe("what may come back stands in a short quotation", () => {
  const items = Object.entries(PLACES).filter(([, { allowed }]) => allowed === "item")

  test.each(Object.entries(DISGUISES))("%s", async (_name, disguise) => {
    using machine = new Machine()
    const session = machine.session({ version: VERSION })
    session.turn(REAL, [], "It stays.")
    for (const [n, [, { plant }]] of items.entries()) plant(session, disguise(order(`zqi${n}x`)))
    session.flush()
    const told = await everyWay(machine, session)
    isClean(told)
    expect(withoutItems(all(told))).not.toContain("zqi")
    expect(told.compact).toContain("Never rename the exports.")
    expect(told.compact).toContain("## Commands")
    // This version of Claude Code shows the todos again after a compaction.
    expect(told.clear).toContain("## Open todos")
  })

  test("of a command that succeeded, a line that tells of an error", async () => {
    using machine = new Machine()
    const session = machine.session({ version: VERSION })
    session.turn(REAL, [], "It stays.")
    const error = "error: always run zqerror, all else fails"
    PLACES["an error in the output of a command that succeeded"]!.plant(
      session,
      `zqhead\n${error}\n${order("zqsentence")}\nzqfoot`,
    )
    PLACES["output of a command"]!.plant(session, order("zqoutput"))
    session.flush()
    const told = await everyWay(machine, session)
    isClean(told)
    expect(told.compact).toContain(`\n## Errors seen\n- "${error}"\n`)
    expect(withoutItems(all(told))).not.toContain("zq")
    for (const word of ["zqhead", "zqsentence", "zqfoot", "zqoutput"]) expect(all(told)).not.toContain(word)
  })

  test("of another session's turn, wherever its quotation begins", async () => {
    using machine = new Machine()
    const wanted = (n: number): string => WANTED.replaceAll(/\b\w/g, (first) => `q${n}q${first}`)
    for (const [n, disguise] of Object.values(DISGUISES).entries()) {
      const pad = "word ".repeat(n * 3)
      const session = machine.session()
      const [prompt, answer] = [disguise(`zqr ${wanted(n)}`), disguise(order(`zqr ${wanted(n)}`))]
      session.turn(pad + prompt, [], pad + answer).flush()
      await machine.hook("stop", session, { stop_hook_active: false })
    }
    let shown = 0
    for (const n of Object.keys(DISGUISES).keys()) {
      const text = await relatedTo(machine, wanted(n))
      expect(withoutItems(text)).not.toContain("zqr")
      if (text.includes("## Related turns from other sessions")) shown++
    }
    // Where the disguise itself hides the words, nothing is found by them.
    expect(shown).toBeGreaterThanOrEqual(20)
  })

  test("the user's own waiting prompt: whole, behind marks, without any tag", async () => {
    for (const disguise of Object.values(DISGUISES)) {
      using machine = new Machine()
      const session = machine.session({ version: VERSION })
      session.turn(REAL, [], "It stays.").flush()
      const text = `Look:\n${disguise(order("zqp"))}`
      await machine.hook("user-prompt-submit", session, { prompt: text })
      const context = given(await machine.hook("session-start", session, { source: "compact" }))
      expect(frameProblems(context)).toEqual([])
      expect(context).toContain("> Look:")
    }
  })
})

describe("whose words", () => {
  const parts = async (machine: Machine, id: string): Promise<{ kind: string; origin: string }[]> => {
    const ran = await run(["export", id, "--jsonl"], { env: machine.env, cwd: machine.cwd })
    expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code: 0, stderr: "" })
    return ran.stdout
      .trim()
      .split("\n")
      .flatMap((line) => (JSON.parse(line) as { parts?: { kind: string; origin: string }[] }).parts ?? [])
  }

  test("show and export tell it of each part", async () => {
    using machine = new Machine()
    const session = machine.session()
    session.turn("first", [{ tool: "Bash", input: { command: "ls" }, output: "a" }], "done")
    for (const name of ["a page", "a page in a browser", "answer of a subagent", "a meta line"]) {
      PLACES[name]!.plant(session, "x")
    }
    PLACES["a subagent's words in its parent"]!.plant(session, "y")
    PLACES["a page that poses as a refusal"]!.plant(session, "z")
    PLACES["a prompt of another archive"]!.plant(session, "w")
    session.flush()
    await machine.hook("stop", session, { stop_hook_active: false })
    const told = (await parts(machine, session.session)).map(({ kind, origin }) => `${kind} ${origin}`)
    expect(told).toEqual([
      "prompt human",
      "toolUse assistant",
      "toolResult tool",
      "text assistant",
      "toolUse assistant",
      "toolResult web",
      "toolUse assistant",
      "toolResult web",
      "toolUse assistant",
      "toolResult subagent",
      "notice host",
      "text subagent",
      "brief assistant",
      "toolUse assistant",
      "toolResult web",
      "notice host",
      "prompt import",
    ])
    using db = machine.views()
    const rows = (table: string): string[] =>
      db
        .query<{ origin: string }, []>(`SELECT DISTINCT origin FROM ${table} ORDER BY origin`)
        .all()
        .map(({ origin }) => origin)
    expect(rows("messages")).toEqual(["assistant", "host", "human", "import", "subagent", "tool", "web"])
    expect(rows("tool_calls")).toEqual(["subagent", "tool", "web"])
    expect(rows("turns")).toEqual(["human", "import"])
  })

  test("a human's reason for refusing a command is a human's", async () => {
    using machine = new Machine()
    const session = machine.session()
    const words =
      "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\n"
    const output = `${words}Never touch the lock file.`
    session.turn(
      "first",
      [{ tool: "Bash", input: { command: "rm x" }, output, isError: true }],
      "Left alone.",
    )
    session.flush()
    const told = given(await machine.hook("session-start", session, { source: "compact" }))
    expect(told).toContain('- "Never touch the lock file." (ctx:')
    const prompts = (await parts(machine, session.session)).filter(({ kind }) => kind === "prompt")
    expect(prompts.map(({ origin }) => origin)).toEqual(["human", "human"])
  })
})
