/** What `stats` keeps of its answers: used while nothing is new, and never beyond that. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, lstatSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { databasePath } from "../../src/views/database.ts"
import { pagesFolder } from "../../src/views/kept-pages.ts"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

// Made of pieces, so that nobody takes this file for a leak.
const SECRET = ["ghp", "0123456789abcdefghijABCDEFGHIJ012345"].join("_")

const fails = (error: string) => ({
  tool: "Bash",
  input: { command: "make" },
  output: `Exit code 2\nerror: ${error}`,
  isError: true,
})

/** Two sessions, each with a compaction and an error that recurs. */
class Asked extends Machine {
  readonly first = this.#compacted("the kiln is cold", "/p/kiln.ts")
  readonly second = this.#compacted(`denied with ${SECRET}`, "/p/glaze.ts")

  #compacted(error: string, file: string) {
    const reads = { tool: "Read", input: { file_path: file }, output: "ok" }
    const session = this.session().turn(`Look at ${file}`, [fails(error), fails(error), reads])
    return session.boundary().summary("They looked.").turn("Go on").flush()
  }

  async cli(...args: string[]): Promise<string> {
    const env = { ...this.env, CTXBRIDGE_SECRETS: "false" }
    const { code, stdout, stderr } = await run(args, { env, cwd: this.cwd })
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return stdout
  }

  /** As when nobody has written for a while: before that, nothing is kept. */
  rest(seconds = 60): void {
    const then = Date.now() / 1000 - seconds
    utimesSync(databasePath(this.dataHome), then, then)
  }

  async stats(...words: string[]) {
    return JSON.parse(await this.cli("stats", ...words, "--json"))
  }

  /** The same without anything kept. */
  async anew() {
    rmSync(pagesFolder(this.dataHome), { recursive: true, force: true })
    return this.stats()
  }

  kept(name: RegExp): string[] {
    const folder = pagesFolder(this.dataHome)
    if (!existsSync(folder)) return []
    return readdirSync(folder)
      .filter((file) => name.test(file))
      .map((file) => join(folder, file))
  }

  /** Changes what is kept, so that its use can be told. */
  mark(name: RegExp, from: RegExp, to: string): void {
    const files = this.kept(name)
    expect(files).not.toEqual([])
    for (const file of files) {
      const text = readFileSync(file, "utf8")
      expect(text).toMatch(from)
      writeFileSync(file, text.replace(from, to))
    }
  }
}

async function asked(): Promise<Asked> {
  const machine = new Asked()
  await machine.cli("import")
  machine.rest()
  return machine
}

const ANSWER = /^answer-/
const SUMS = /^sums\.json$/
const RECEIPTS = /^receipts\.json$/

test("an answer is given again while nothing is new, of each question its own, and nobody else may read it", async () => {
  using machine = await asked()
  const first = await machine.stats()
  expect(first).toMatchObject({ sessions: 2, turns: 4, compactions: { examined: 2 } })
  expect(await machine.stats()).toEqual(first)
  machine.mark(ANSWER, /"turns":4,/, '"turns":4321,')
  expect((await machine.stats()).turns).toBe(4321)
  expect(await machine.cli("stats")).toContain("2 with 4321 turns")
  expect((await machine.stats("--by", "week")).turns).toBe(4)
  expect((await machine.stats("-n", "3")).turns).toBe(4)
  const kept = (): number => machine.kept(ANSWER).length
  const before = kept()
  expect((await machine.stats("--since", "90000d")).turns).toBe(4)
  expect(kept()).toBe(before)
  expect((await machine.stats("--since", "2026-01-01")).turns).toBe(4)
  expect((await machine.stats("--since", "2026-01-02")).turns).toBe(4)
  expect(kept()).toBe(before + 2)
  expect((await machine.stats("friction")).errors).toHaveLength(2)
  expect((await machine.stats("friction")).errors).toHaveLength(2)
  const blocks = await machine.stats("--blocks")
  expect(blocks.blocks).toMatchObject([
    { program: "claude", requests: first.total.requests, minutesLeft: null },
  ])
  expect(await machine.stats("--blocks")).toEqual(blocks)
  for (const file of machine.kept(/./)) expect(lstatSync(file).mode & 0o777).toBe(0o600)
  expect(lstatSync(pagesFolder(machine.dataHome)).mode & 0o777).toBe(0o700)
})

test("nothing is kept right after a write, and nothing that is damaged is used", async () => {
  using machine = await asked()
  machine.rest(0)
  const first = await machine.stats()
  expect(machine.kept(ANSWER)).toEqual([])
  machine.rest()
  expect(await machine.stats()).toEqual(first)
  for (const file of machine.kept(/./)) writeFileSync(file, '{"asked":')
  expect(await machine.stats()).toEqual(first)
})

test("another time zone and other prices are other questions", async () => {
  using machine = await asked()
  await machine.stats()
  machine.env["TZ"] = "Pacific/Kiritimati"
  const { hours } = await machine.stats()
  const tookPlace = hours.flatMap((turns: number, hour: number) => (turns > 0 ? [hour] : []))
  machine.env["TZ"] = "UTC"
  expect((await machine.stats()).hours[tookPlace[0]]).toBe(0)
  const file = join(machine.root, "prices.toml")
  writeFileSync(file, '[stats]\nprices = ["claude-sonnet-4-6 1000 1000 1000 1000"]\n')
  const { cost } = (await machine.stats()).total
  machine.env["CTXBRIDGE_CONFIG"] = file
  expect((await machine.stats()).total.cost).toBeGreaterThan(10 * cost)
})

test("after growth all figures are new, and only the session that has grown is counted again", async () => {
  using machine = await asked()
  const before = await machine.stats()
  machine.first
    .turn("More", [fails("the kiln is cold")])
    .boundary()
    .summary("More.")
    .turn("On")
    .flush()
  await machine.cli("import")
  machine.rest()
  // Of the other one, what is kept is used.
  machine.mark(RECEIPTS, /("path":\{"before":)\d+/g, "$1700")
  const after = await machine.stats()
  expect(after).toMatchObject({ sessions: 2, turns: 6, compactions: { examined: 3 } })
  expect(after.friction.errors[0]).toMatchObject({ times: 3 })
  expect(after.compactions.kinds.path.before).toBeGreaterThan(700)
  expect(after.compactions.kinds.path.before).toBeLessThan(1400)
  const anew = await machine.anew()
  expect(anew.compactions.kinds.path.before).toBeGreaterThanOrEqual(before.compactions.kinds.path.before)
  expect({ ...anew, compactions: 0 }).toEqual({ ...after, compactions: 0 })
})

test("after growth only the session that has grown is summed up again", async () => {
  using machine = await asked()
  const before = await machine.stats()
  expect(before.friction).toMatchObject({ interrupted: 0 })
  // Both have been summed up, and what is kept of them is used, whatever is asked.
  machine.mark(SUMS, /"interrupted":0/g, '"interrupted":40')
  expect((await machine.stats("--by", "project")).friction).toMatchObject({ interrupted: 80 })
  machine.first.turn("More", [fails("the kiln is cold")]).flush()
  await machine.cli("import")
  machine.rest()
  const after = await machine.stats()
  expect(after).toMatchObject({ turns: 5, friction: { interrupted: 40 } })
  expect(after.friction.errors[0]).toMatchObject({ times: 3 })
  // Of a span, nothing is kept.
  expect((await machine.stats("--since", "90000d")).friction).toMatchObject({ interrupted: 0 })
  const anew = await machine.anew()
  expect(anew).toEqual({ ...after, friction: { ...after.friction, interrupted: 0 } })
  // Nor are sums of other prices used.
  machine.mark(SUMS, /"interrupted":0/g, '"interrupted":40')
  const file = join(machine.root, "prices.toml")
  writeFileSync(file, '[stats]\nprices = ["claude-sonnet-4-6 1000 1000 1000 1000"]\n')
  machine.env["CTXBRIDGE_CONFIG"] = file
  expect((await machine.stats()).friction).toMatchObject({ interrupted: 0 })
  for (const one of machine.kept(SUMS)) writeFileSync(one, '{"head":')
  machine.rest(59)
  expect((await machine.stats()).friction).toMatchObject({ interrupted: 0 })
})

test("after rebuild the figures are those of the new views", async () => {
  using machine = await asked()
  const first = await machine.stats()
  machine.mark(ANSWER, /"turns":4,/, '"turns":4321,')
  await machine.cli("rebuild")
  machine.rest()
  expect(await machine.stats()).toEqual(first)
})

test("what is redacted or forgotten stays in nothing that was kept", async () => {
  using machine = await asked()
  await machine.stats()
  await machine.stats("friction")
  const holding = (): string[] =>
    machine.kept(/./).filter((file) => /denied with/.test(readFileSync(file, "utf8")))
  expect(holding()).not.toEqual([])
  const inFiles = (text: string): string[] =>
    machine.kept(/./).filter((file) => readFileSync(file, "utf8").includes(text))
  expect(inFiles(SECRET)).not.toEqual([])
  await machine.cli("redact")
  expect(inFiles(SECRET)).toEqual([])
  machine.rest()
  const redacted = await machine.stats()
  expect(JSON.stringify(redacted)).not.toContain(SECRET)
  expect(redacted.friction.errors).toHaveLength(2)
  machine.rest()
  await machine.stats("friction")
  expect(holding()).not.toEqual([])
  await machine.cli("forget", machine.second.session, "--yes")
  expect(holding()).toEqual([])
  expect(inFiles(machine.second.session)).toEqual([])
  machine.rest()
  const left = await machine.stats()
  expect(left).toMatchObject({ sessions: 1, turns: 2, compactions: { examined: 1 } })
  expect(left).toEqual(await machine.anew())
  expect(JSON.stringify(left)).not.toContain("denied")
})
