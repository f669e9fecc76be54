/** The command and the server make one search: for the same request they find the same turns. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { Inside, Peer, run } from "../../support/inside.ts"
import { limit } from "../../support/slowness.ts"

setDefaultTimeout(limit(60_000))

const DAY = 86_400_000
/** As many as the server tells when no number is asked for. */
const USUAL = 8
const bash = (command: string, isError = false) => ({
  tool: "Bash",
  input: { command },
  output: isError ? "the lathe jammed" : "done",
  isError,
})

let machine: Inside
let other: Inside
let elsewhere: string

beforeAll(async () => {
  other = new Inside()
  machine = new Inside()
  const target = join(other.root, "target")
  const there = other.session().turn("Oil the lathe", [bash("oil lathe")], "The lathe there is oiled.")
  await other.hook("stop", there.flush())
  expect(await run(["sync", "--to", target], other)).toMatchObject({ code: 0, stderr: "" })
  expect(await run(["config", "set", "sync.to", target], machine)).toMatchObject({ code: 0, stderr: "" })
  elsewhere = join(machine.root, "elsewhere")
  mkdirSync(elsewhere)
  const said = async (days: number, cwd: string, prompt: string, commands: string[], answer: string) => {
    const session = machine.session({ start: Date.now() - days * DAY, cwd })
    const calls = commands.map((command, n) => bash(command, n === 0 && days < 4))
    await machine.hook("stop", session.turn(prompt, calls, answer).flush())
  }
  await said(40, machine.cwd, "Who built the mill?", [], "The mill was built by the cooper, beside the weir.")
  await said(9, machine.cwd, "A new belt?", ["turn lathe", "belt on"], "The lathe is old.")
  await said(
    8,
    machine.cwd,
    "Where is the lathe?",
    [],
    `The lathe has a new belt, in the mill. ${"It is dark there. ".repeat(60)}`,
  )
  await said(
    7,
    machine.cwd,
    `The belt is worn. ${"It has been so for years. ".repeat(40)}`,
    ["lathe"],
    "Yes.",
  )
  await said(
    3,
    machine.cwd,
    "Start the lathe",
    ["start lathe", "stop lathe"],
    "It jammed; now it stands still.",
  )
  await said(
    2,
    elsewhere,
    "Whose lathe is it?",
    ["ask for the lathe"],
    "The lathe is the cooper's, and the weir too.",
  )
  const env = { ...machine.env, CTXBRIDGE_ARCHIVE_RETENTION: "30" }
  const tiered = await run(["optimize", "--json"], { ...machine, env })
  expect(JSON.parse(tiered.stdout).tiers).toMatchObject({ hot: 5, cold: 1 })
})

afterAll(() => {
  machine[Symbol.dispose]()
  other[Symbol.dispose]()
})

interface Hits {
  readonly indexed: readonly string[]
  readonly cold: readonly string[]
}

async function byCommand(query: string, options: readonly string[]): Promise<Hits> {
  const words = ["search", "--json", "--limit", String(USUAL), ...options, "--", query]
  const { code, stdout, stderr } = await run(words, machine)
  expect({ stderr, code: code === 3 ? 0 : code }).toEqual({ stderr: "", code: 0 })
  const hits: { handle: string; cold?: true }[] = JSON.parse(stdout).hits ?? []
  const handles = (isCold: boolean) =>
    hits.filter(({ cold = false }) => cold === isCold).map((hit) => hit.handle)
  return { indexed: handles(false), cold: handles(true) }
}

async function byServer(query: string, options: Record<string, unknown>): Promise<Hits> {
  await using peer = await Peer.connect(machine.cwd, machine.env)
  const { text, isError } = await peer.call("search", { query, ...options })
  expect({ isError, text: isError ? text : "" }).toEqual({ isError: false, text: "" })
  // What is out of the index is told above the hits.
  const [, older = "", rest = text] = /Older, out of the index:\n((?:ctx:.*\n)+)([\s\S]*)/.exec(text) ?? []
  const handlesIn = (some: string): string[] => some.match(/^(?:ctx|far):[0-9a-z]+/gm) ?? []
  return { indexed: handlesIn(rest), cold: handlesIn(older) }
}

/** A request as the one and the other put it, and how many turns of the index and elsewhere it finds. */
type Request = readonly [
  query: string,
  options: readonly string[],
  args: Record<string, unknown>,
  turns: number,
]

describe("the same turns in the same order", () => {
  const requests: readonly Request[] = [
    ["", [], {}, 4],
    ["", ["--all-projects"], { all_projects: true }, 6],
    ["", ["--since", "5d"], { since: "5d" }, 1],
    ["", ["--until", "5d", "--since", "2w"], { until: "5d", since: "2w" }, 3],
    ["lathe", ["--tool", "Bash"], { tool: "Bash" }, 3],
    ["lathe", ["--role", "assistant"], { role: "assistant" }, 4],
    ["lathe jammed", ["--error"], { error: true }, 1],
    ["lathe", ["--tool", "Bash", "--all-projects"], { tool: "Bash", all_projects: true }, 4],
    ["lathe", ["--tool", "Bash", "--everywhere"], { tool: "Bash", everywhere: true }, 4],
    ["coopper", ["--role", "assistant", "--all-projects"], { role: "assistant", all_projects: true }, 1],
    ["xylophone", [], {}, 0],
    ["lathe", ["--tool", "Bash", "--since", "1d"], { tool: "Bash", since: "1d" }, 0],
  ]
  test.each(requests)("%j %j", async (query, options, args, turns) => {
    const found = await byCommand(query, options)
    expect(await byServer(query, args)).toEqual(found)
    expect(found.indexed).toHaveLength(turns)
  })
})

test("by words alone the same turns, of which the server puts those first that have the words together", async () => {
  const [command, server] = [await byCommand("lathe belt", []), await byServer("lathe belt", {})]
  expect([...server.indexed].sort()).toEqual([...command.indexed].sort())
  expect(command.indexed).toHaveLength(4)
  const [together] = (await byCommand("new belt", ["--role", "assistant"])).indexed
  expect([command.indexed[0] === together, server.indexed[0] === together]).toEqual([false, true])
})

test("elsewhere the same turns, and what is out of the index: in the one case first, in the other apart", async () => {
  const everywhere = [
    await byCommand("lathe oiled", ["--everywhere"]),
    await byServer("lathe oiled", { everywhere: true }),
  ]
  expect(everywhere[0]!.indexed.filter((handle) => handle.startsWith("far:"))).toHaveLength(1)
  expect([...everywhere[1]!.indexed].sort()).toEqual([...everywhere[0]!.indexed].sort())
  const command = await byCommand("mill weir", [])
  expect(command.cold).toHaveLength(1)
  expect(await byServer("mill weir", {})).toEqual(command)
})

test("both refuse a span that ends before it begins, in their own words", async () => {
  await using peer = await Peer.connect(machine.cwd, machine.env)
  const { text } = await peer.call("search", { query: "lathe", since: "2026-03-02", until: "2026-03-01" })
  const ran = await run(["search", "lathe", "--since", "2026-03-02", "--until", "2026-03-01"], machine)
  const [, hint] = /^hint: (2026-\S+ and 2026-\S+)$/m.exec(ran.stderr) ?? []
  expect(ran).toMatchObject({
    code: 64,
    stdout: "",
    stderr: `ctxbridge: --since is not before --until\nhint: ${hint}\n`,
  })
  expect(text).toBe(`Error: since is not before until\nHint: ${hint}`)
})
