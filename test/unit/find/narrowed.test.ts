/** Searches within a file, a time, a role or a session. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { join } from "node:path"
import { exchange, Inside, run } from "../../support/inside.ts"
import { callOf, hitsIn, textOf } from "../../support/mcp.ts"
import { Transcript } from "../../support/transcript.ts"

/**
 * A search narrowed to a file or a time found nothing where that was not among the newest or best of all: only those were
 * asked where and when they were.
 */
describe("a search narrowed among many turns", () => {
  const machine = new Inside()
  const session = machine.session()
  const AGENT = "a1b2c3d"

  beforeAll(async () => {
    const file = join(machine.cwd, "src", "cursor.ts")
    session.turn("Read the cursor of the page, please.", [
      { tool: "Read", input: { file_path: file }, output: "the page has a cursor" },
    ])
    const path = machine.path(join(session.session, "subagents", `agent-${AGENT}.jsonl`))
    const agent = new Transcript({ ...session.options, agent: AGENT, path })
      .turn("Look at page and cursor.")
      .flush()
    for (let n = 0; n < 700; n++) session.turn(`cursor of page ${n}`, [], `cursor of page ${n}: done`)
    session.flush()
    const imported = await run(["import", agent.path, session.path], machine)
    expect(imported).toMatchObject({ code: 0, stderr: "" })
  })

  afterAll(() => machine[Symbol.dispose]())

  const BEFORE = "2026-03-02T08:00:06Z"

  async function found(...args: readonly string[]): Promise<readonly string[]> {
    const ran = await run(["search", "--json", ...args], machine)
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    const { hits } = JSON.parse(ran.stdout) as { hits: readonly { session: string; seq: number }[] }
    return hits.map((hit) => `${hit.session.split("/")[1] ?? "main"} ${hit.seq}`)
  }

  const FIRST = ["main 1"]

  test.each([["cursor"], ["cursor page"], ["cursor AND page"], ['"cursor of the page"'], [""]])(
    "%p in turns with a file",
    async (query) => {
      expect(await found("--file", "cursor.ts", query)).toEqual(FIRST)
      expect(await found("--file", "src/cursor.ts", "--all-projects", "--role", "human", query)).toEqual(
        FIRST,
      )
    },
  )

  test.each([["cursor"], ["cursor page"], ["cursor NOT zebra"], [""]])("%p within a time", async (query) => {
    expect(await found("--until", BEFORE, "--role", "tool", query)).toEqual(FIRST)
    expect((await found("--until", BEFORE, query)).toSorted()).toEqual([`${AGENT} 1`, "main 1", "main 2"])
    expect(await found("--since", BEFORE, "--until", "2026-03-02T08:00:07Z", query)).toEqual(["main 2"])
  })

  test("of one subagent", async () => {
    expect(await found("--session", `${session.session}/${AGENT}`, "cursor")).toEqual([`${AGENT} 1`])
  })

  test("the server narrows the same way", async () => {
    const args = { query: "cursor", file: "cursor.ts" }
    const { code, stderr, replies } = await exchange([callOf(1, "search", args)], machine)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    const text = textOf(replies[0]!)
    expect(hitsIn(text)).toMatchObject([{ about: expect.stringContaining(", Read") }])
    expect(text).not.toContain("There are more hits")
  })
})
