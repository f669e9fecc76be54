/** What users and the model see of turns that are out of the index. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test"
import { Inside, Peer, run } from "../../support/inside.ts"

setDefaultTimeout(60_000)

const DAY = 86_400_000
let machine: Inside

beforeAll(async () => {
  machine = new Inside()
  for (const [days, prompt, answer] of [
    [40, "Where does the theodolite stand?", "The theodolite stands on the northern heliport."],
    [2, "Where does the sextant stand?", "The sextant stands on the pier, not the theodolith."],
  ] as const) {
    const session = machine.session({ start: Date.now() - days * DAY })
    await machine.hook("stop", session.turn(prompt, [], answer).flush())
  }
  const env = { ...machine.env, CTXBRIDGE_ARCHIVE_RETENTION: "30" }
  const ran = await run(["optimize", "--json"], { ...machine, env })
  expect(ran).toMatchObject({ code: 0, stderr: "" })
  expect(JSON.parse(ran.stdout).tiers).toMatchObject({ hot: 1, cold: 1 })
})

afterAll(() => machine[Symbol.dispose]())

async function hits(...words: string[]) {
  const ran = await run(["search", "--json", ...words], machine)
  expect(ran).toMatchObject({ code: 0, stderr: "" })
  return JSON.parse(ran.stdout).hits
}

test("what was said 40 days ago is found without an option when the index has nothing", async () => {
  expect(await hits("theodolite")).toMatchObject([{ cold: true, seq: 1 }])
  const ran = await run(["search", "theodolite"], machine)
  expect(ran).toMatchObject({ code: 0, stderr: "" })
  expect(ran.stdout).toContain("cold")
  expect(ran.stdout).toContain("northern heliport")
})

test("and before what lacks some of the words", async () => {
  const found = await hits("stands", "heliport")
  expect(found[0]).toMatchObject({ cold: true })
  expect(found.slice(1)).toMatchObject([{ session: expect.any(String), seq: 1 }])
  expect(found[1]).not.toHaveProperty("cold")
})

test("by some of the words, if those are more than what the index has", async () => {
  const asked = ["where", "stands", "theodolite", "zzznever"]
  expect(await hits(...asked)).toMatchObject([{ cold: true, why: ["stands", "theodolite"] }])
  // The index has as many, as far as it takes one for mistyped.
  const [first] = await hits("sextant", "theodolite", "zzznever")
  expect(first).not.toHaveProperty("cold")
  expect(await hits("zzznever", "northern")).toMatchObject([{ cold: true, why: ["northern"] }])
})

test("and is not taken for a mistyped word, although the index has one like it", async () => {
  expect(await hits("theodolith")).toMatchObject([{ seq: 1, why: ["theodolith"] }])
  expect(await hits("theodolite")).toMatchObject([{ cold: true, why: ["theodolite"] }])
})

test("but not beside what has them all", async () => {
  expect(await hits("stands")).toHaveLength(1)
  expect(await hits("stands", "--cold")).toHaveLength(2)
})

test("filters hold for it, and what nobody said is still not found", async () => {
  const until = new Date(Date.now() - 60 * DAY).toISOString().slice(0, 10)
  for (const words of [["theodolite", "--until", until], ["theodolite", "--role", "host"], ["astrolabe"]]) {
    const ran = await run(["search", ...words], machine)
    expect(ran).toMatchObject({ code: 3, stdout: "" })
    expect(ran.stderr).toStartWith("ctxbridge: nothing in")
  }
})

test("a turn that is out of the index is shown, with what it is worth", async () => {
  const [{ handle }] = await hits("theodolite")
  const ran = await run(["show", handle, "--json"], machine)
  expect(ran).toMatchObject({ code: 0, stderr: "" })
  expect(JSON.parse(ran.stdout).worth).toEqual({
    confidence: 0.1,
    importance: expect.any(Number),
    uses: 0,
    cold: true,
  })
  const shown = await run(["show", handle], machine)
  expect(shown).toMatchObject({ code: 0, stderr: "" })
  expect(shown.stdout).toContain("out of the index")
})

test("status and doctor say how many there are, and find nothing wrong", async () => {
  const status = JSON.parse((await run(["status", "--json"], machine)).stdout)
  expect(status.index).toMatchObject({ cold: 2, complete: true })
  expect(status.embedding).toMatchObject({ turns: 1, embedded: 1 })
  expect((await run(["status", "--verbose"], machine)).stdout).toContain("2 of them cold")
  const doctor = await run(["doctor", "--json"], machine)
  expect(doctor.stdout).toContain("all but 2 cold ones in the word index")
})

test("the server tells of it as well", async () => {
  await using peer = await Peer.connect(machine.cwd, machine.env)
  const { text, isError } = await peer.call("search", { query: "theodolite heliport" })
  expect(isError).toBe(false)
  expect(text).toContain("Older, out of the index:")
  expect(text).toContain("northern heliport")
  const handle = /ctx:[0-9a-z]+/.exec(text)![0]
  expect(await peer.call("get", { handle })).toMatchObject({ isError: false })
  const both = await peer.call("search", { query: "stands heliport" })
  expect(both.text).toContain("northern heliport")
  expect(both.text).toContain("on the pier")
})
