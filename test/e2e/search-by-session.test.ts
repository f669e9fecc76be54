/** Searches in a session and its subagents. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

let machine: Machine
const ids: string[] = []
let other: string

beforeAll(async () => {
  machine = new Machine()
  other = join(machine.root, "other")
  const here = machine.session().turn("the walrus sings").flush()
  const there = machine.session({ cwd: other }).turn("the walrus swims").flush()
  ids.push(here.session, there.session)
  const path = machine.path(join(here.session, "subagents", "agent-a1.jsonl"))
  const { session, cwd, version } = here.options
  const agent = new Transcript({ session, cwd, version, path, agent: "a1" })
  agent.turn("listen to the narwhal", [], "the narwhal hums").flush()
  await run(["import"], machine)
  await machine.hook("session-end", here)
  await machine.idle()
})

afterAll(() => machine[Symbol.dispose]())

async function search(...args: string[]) {
  const { code, stdout, stderr } = await run(["search", "--json", ...args], machine)
  const { hits = [], project } = JSON.parse(stdout) as {
    hits?: { session: string }[]
    project?: string | null
  }
  return { code, stderr, project, sessions: hits.map(({ session }) => session) }
}

/**
 * `search --session X --project Y` passed over the project. And by meaning, a session was searched without its subagents.
 */
test("a session is searched in the project that is named, or else in any", async () => {
  const [here, there] = ids as [string, string]
  const found = { code: 0, stderr: "", sessions: [there] }
  expect(await search("walrus", "--session", there)).toEqual({ ...found, project: null })
  expect(await search("walrus", "--session", there, "--all-projects")).toEqual({ ...found, project: null })
  expect(await search("walrus", "--session", there, "--project", other)).toEqual({ ...found, project: other })
  for (const cold of [[], ["--cold"]]) {
    const wrong = await search("walrus", "--session", here, "--project", other, ...cold)
    expect(wrong).toMatchObject({ code: 3, stderr: "", sessions: [] })
  }
  const both = await search("walrus", "--session", here, "--project", other, "--all-projects")
  expect(both).toMatchObject({ code: 64, stderr: "" })
})

test.each(["lexical", "semantic", "hybrid"])(
  "a session is searched with its subagents: --mode %s",
  async (mode) => {
    const found = await search("narwhal", "--mode", mode, "--session", ids[0]!)
    expect(found).toMatchObject({ code: 0, stderr: "" })
    expect(found.sessions[0]).toBe(`${ids[0]}/a1`)
  },
)
