/** `bun bench/related.ts`: what restores give of other sessions, by the set that comes with it and by one's own questions. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { writeSession } from "../../bench/related/write-session.ts"
import { runScript } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

let machine: Machine
beforeAll(() => {
  machine = new Machine()
})
afterAll(() => machine[Symbol.dispose]())

const bench = (...args: string[]) =>
  runScript("bench/related.ts", args, { env: machine.env, cwd: machine.cwd })

test("nothing for unrelated prompts, and the right turn for most related ones", async () => {
  const { code, stdout, stderr } = await bench("--json")
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  const { unrelated, related } = JSON.parse(stdout)
  expect(unrelated).toMatchObject({ answered: 0, turns: 0, characters: 0 })
  expect(unrelated.prompts).toBeGreaterThanOrEqual(30)
  expect(related.right).toBeGreaterThanOrEqual(30)
  expect(related.rightTurns).toBe(related.turns)
})

test("questions are put to their own conversation and to the others", async () => {
  const data = join(machine.root, "data")
  const topics = { pond: ["heron", "reeds", "dragonfly"], loom: ["shuttle", "warp", "heddle"] }
  for (const [n, [name, [a, b, c]]] of Object.entries(topics).entries()) {
    const id = `6a7e0000-0000-4000-8000-00000000000${n}`
    const answer = `The ${a} with its ${b} is beside the ${c}.`
    writeSession(join(data, name, `${id}.jsonl`), id, `/nowhere/${name}`, [{ prompt: "Look", answer }], n)
    const qa = [{ question: `Where is the ${a}, by the ${b} or the ${c}?`, category: 4, gold: ["d"] }]
    writeFileSync(join(data, `${name}.gold.json`), JSON.stringify({ qa, dia: { d: { text: answer } } }))
  }
  const { code, stdout, stderr } = await bench("--data", data, "--json")
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  const { unrelated, related } = JSON.parse(stdout)
  expect(unrelated).toMatchObject({ prompts: 2, answered: 0 })
  expect(related).toMatchObject({ prompts: 2, answered: 2, right: 2, turns: 2, rightTurns: 2 })
  const people = await bench("--data", data)
  expect(people.stdout).toMatch(/\nunrelated +2 +0 +0 *\nrelated +2 +2 +2 +2 +2\n$/)
})

test("reports what is missing", async () => {
  const empty = join(machine.root, "empty")
  mkdirSync(empty)
  expect(await bench("--data", empty)).toMatchObject({ code: 3, stdout: "" })
  expect((await bench("--data", empty)).stderr).toMatch(/^ctxbridge: .+\nhint: .+\n$/)
})

test("says so where no folder can be made", async () => {
  const TMPDIR = join(machine.root, "none")
  const ran = await runScript("bench/related.ts", [], { env: { ...machine.env, TMPDIR }, cwd: machine.cwd })
  expect(ran).toMatchObject({ code: 1, stdout: "" })
  expect(ran.stderr).toStartWith(`ctxbridge: no folder can be made in ${TMPDIR}: ENOENT`)
})
