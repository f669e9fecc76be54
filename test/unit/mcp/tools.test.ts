import { expect, test } from "bun:test"
import { join } from "node:path"
import type { CallResult } from "../../../src/mcp/sdk.ts"
import { SERVER_TOOLS, serviceOf } from "../../../src/mcp/server.ts"
import type { ServerWorld } from "../../../src/mcp/tool.ts"
import { Archive } from "../../support/archive.ts"

const SESSION = "11111111-0000-4000-8000-000000000001"

/** A server without a stream: its tools called as functions. */
function callsOf(archive: Archive): (name: string, args?: unknown) => CallResult {
  const world: ServerWorld = {
    home: archive.root,
    dataHome: archive.dataHome,
    claudeDir: join(archive.root, ".claude"),
    hostConfig: join(archive.root, ".claude.json"),
    secrets: { enabled: true, patterns: [] },
    exclude: [],
    folder: join(archive.root, "project"),
    session: undefined,
    restores: true,
    restoreBudget: 9000,
    restoreRelated: 0,
    waiting: () => undefined,
    now: () => Date.parse("2026-03-02T12:00:00Z"),
  }
  const service = serviceOf(world)
  return (name, args) => service.call(name, args)
}

const hitsOf = ({ structured = {} }: CallResult) => structured["hits"] as { handle: string; text: string }[]

function filled(): Archive {
  const archive = new Archive()
  const transcript = archive.session(SESSION)
  transcript.turn("Why does the walrus test fail?", [
    {
      tool: "Bash",
      input: { command: "bun test walrus" },
      output: "Exit code 1\nTypeError: tusk is undefined",
      isError: true,
    },
  ])
  transcript.turn("Mend it.", [], "Done: the tusk is set first.")
  archive.follow(transcript.flush())
  return archive
}

test("search gives a handle, timeline what is around it, get the whole turn", () => {
  using archive = filled()
  const call = callsOf(archive)
  const found = call("search", { query: "walrus" })
  expect(found.isError).toBe(false)
  const [hit] = hitsOf(found)
  expect(hit?.text).toContain("walrus")
  const around = call("timeline", { of: hit!.handle })
  expect(around.structured).toMatchObject({
    session: SESSION,
    turns: [{ here: true, errors: 1 }, { prompt: "Mend it." }],
  })
  const turn = call("get", { handle: hit!.handle })
  expect(turn.text).toContain("> $ bun test walrus")
  expect(turn.text).toContain("> TypeError: tusk is undefined")
})

test("status counts; an archive of another project has nothing for this one", () => {
  using archive = filled()
  expect(callsOf(archive)("status").structured).toMatchObject({ sessions: 1, turns: 2, problem: null })
  using other = new Archive()
  other.follow(
    other
      .session(SESSION, { cwd: join(other.root, "elsewhere") })
      .turn("Hello walrus")
      .flush(),
  )
  const call = callsOf(other)
  expect(hitsOf(call("search", { query: "walrus" }))).toEqual([])
  expect(hitsOf(call("search", { query: "walrus", all_projects: true }))).toHaveLength(1)
  expect(call("timeline").text).toStartWith("Error: nothing of this project is archived yet")
})

test("what a model gets wrong is told with a way on", () => {
  using archive = filled()
  const call = callsOf(archive)
  const wrong: [string, unknown, string][] = [
    ["find", {}, 'no tool "find"'],
    ["search", {}, "query is missing"],
    ["search", { query: "x", limit: 99 }, "limit must be from 1 to 30, not 99"],
    ["search", { query: "x", since: "2026-03-02", until: "2026-03-01" }, "since is not before until"],
    ["get", { handle: SESSION }, "that is a session, not a turn"],
    ["get", { handle: "ctx:zzzzzz" }, ""],
    ["remember", { text: "  " }, "the note is empty"],
  ]
  for (const [name, args, message] of wrong) {
    const { text, isError } = call(name, args)
    expect({ name, isError }).toEqual({ name, isError: true })
    expect(text).toStartWith(`Error: ${message}`)
  }
})

test("every tool is listed with what it takes, and only remember changes something", () => {
  expect(SERVER_TOOLS.map(({ name, readOnly }) => [name, readOnly])).toEqual([
    ["search", true],
    ["timeline", true],
    ["get", true],
    ["status", true],
    ["restore_preview", true],
    ["remember", false],
  ])
  for (const { properties, required = [] } of SERVER_TOOLS) {
    expect(Object.keys(properties)).toEqual(expect.arrayContaining([...required]))
  }
})
