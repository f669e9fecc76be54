/** `search --cold`: what the index does not hold is found in the vault itself, and nothing that is not there any more. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import type { ColdHit } from "../../src/find/cold.ts"
import type { Hit } from "../../src/find/hit.ts"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

let machine: Machine
let main: Transcript
let other: Transcript

/** Longer than what is indexed of one output. */
const LONG = `${"nothing of note here\n".repeat(12_000)}then the obsidian-quartz valve burst`

beforeAll(async () => {
  machine = new Machine()
  main = machine.session()
  main
    .turn(
      "Read the big log of the heron",
      [{ tool: "Bash", input: { command: "cat big.log" }, output: LONG, isError: true }],
      "It is long.",
    )
    .raw(
      JSON.stringify({ type: "file-history-snapshot", snapshot: { note: "the malachite lever is stuck" } }),
    )
    .turn("The heron again", [], "Nothing new.")
    .flush()
  const folder = join(machine.root, "elsewhere")
  mkdirSync(folder)
  other = machine.session({ cwd: folder })
  other.turn("Elsewhere", [{ tool: "Bash", input: { command: "cat x" }, output: LONG }], "Long, too.").flush()
  for (const transcript of [main, other]) await machine.hook("stop", transcript)
})

afterAll(() => machine[Symbol.dispose]())

const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })

async function hits(...args: string[]): Promise<(Hit | ColdHit)[]> {
  const ran = await cli("search", "--json", ...args)
  if (ran.code === 3) return []
  expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code: 0, stderr: "" })
  return JSON.parse(ran.stdout).hits
}

test("a prompt is not cut inside a character", async () => {
  using own = new Machine()
  const prompt = `${"x".repeat(198)} 🦉 of the tamarack`
  const session = own
    .session()
    .turn(prompt, [{ tool: "Bash", input: { command: "cat x" }, output: LONG }])
    .flush()
  await own.hook("stop", session)
  const { stdout } = await run(["search", "--json", "--cold", "obsidian quartz"], {
    env: own.env,
    cwd: own.cwd,
  })
  const [hit] = JSON.parse(stdout).hits as ColdHit[]
  expect(hit!.prompt).toStartWith("xxx")
  expect(hit!.prompt!.isWellFormed()).toBe(true)
})

test("text beyond the indexed part of an output is found, with its turn, in this project", async () => {
  expect(await hits("obsidian quartz valves")).toEqual([])
  const found = await hits("--cold", "obsidian quartz valves")
  expect(found).toHaveLength(1)
  const [hit] = found
  expect(hit).toMatchObject({
    cold: true,
    session: main.session,
    seq: 1,
    role: "tool",
    tool: "Bash",
    line: null,
  })
  expect(hit!.snippet).toContain("obsidian-quartz valve burst")
  expect(hit!.marks.map(([from, to]) => hit!.snippet.slice(from, to))).toEqual(["obsidian-quartz", "valve"])
  const shown = await cli("show", hit!.handle!)
  expect({ code: shown.code, has: shown.stdout.includes("Read the big log") }).toEqual({ code: 0, has: true })
  const sessions = (await hits("--cold", "--all-projects", '"obsidian-quartz valve"')).map(
    ({ session }) => session,
  )
  expect(sessions.toSorted()).toEqual([main.session, other.session].toSorted())
})

test("a line that the views lack is found, with its session and number", async () => {
  expect(await hits("malachite lever")).toEqual([])
  const [hit, ...others] = await hits("--cold", "malachite lever")
  expect(others).toEqual([])
  expect(hit).toMatchObject({ cold: true, handle: null, seq: null, session: main.session, line: 5 })
  const { code, stdout, stderr } = await cli("search", "--cold", "malachite lever")
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  expect(stdout).toMatch(new RegExp(`^${main.session.slice(0, 8)} {2}.* · cold · line 5 · Claude Code\n`))
  const whole = await cli("search", "--cold", "-v", "malachite lever")
  expect(whole.stdout).toContain(`cold · line 5 of ${main.session.slice(0, 8)}`)
})

test("what the index finds is not reported twice, and filters apply", async () => {
  const found = await hits("--cold", "heron")
  expect(found.map(({ seq }) => seq).toSorted()).toEqual([1, 2])
  expect(found.filter((hit) => "cold" in hit)).toEqual([])
  const query = "obsidian quartz"
  expect(await hits("--cold", "--role", "tool", "--tool", "bash", "--error", query)).toHaveLength(1)
  for (const filter of [
    ["--role", "human"],
    ["--tool", "Read"],
    ["--until", "2026-01-01"],
    ["--file", "/no/such"],
  ]) {
    expect({ filter, hits: await hits("--cold", ...filter, query) }).toEqual({ filter, hits: [] })
  }
  expect(await hits("--cold", "--session", other.session, query)).toHaveLength(1)
  expect(await hits("--cold", "obsidian AND NOT quartz")).toEqual([])
  const none = await cli("search", "--cold", "tourmaline")
  expect({ code: none.code, stdout: none.stdout }).toEqual({ code: 3, stdout: "" })
})

test("forgotten text is not found", async () => {
  const forgot = await cli("forget", "--match", "obsidian-quartz", "--yes")
  expect({ code: forgot.code, stderr: forgot.stderr }).toEqual({ code: 0, stderr: "" })
  expect(await hits("--cold", "--all-projects", "obsidian quartz")).toEqual([])
  expect(await hits("--cold", "--all-projects", "malachite lever")).toHaveLength(1)
  expect((await cli("forget", main.session, "--yes")).code).toBe(0)
  expect(await hits("--cold", "--all-projects", "malachite lever")).toEqual([])
})
