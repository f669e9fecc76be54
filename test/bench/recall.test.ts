/** `bun bench/recall.ts` on data made here: what it counts, and that a search by words beats what it is compared with. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { hashEmbedding } from "../../bench/recall/baselines.ts"
import { mean, type Question, scoreOf, shows } from "../../bench/recall/scores.ts"
import { runScript } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { Transcript } from "../support/transcript.ts"

setDefaultTimeout(60_000)

const question = (evidence: Record<string, string>): Question => ({
  text: "?",
  group: "g",
  evidence: new Map(Object.entries(evidence)),
})
const shown = (...texts: string[]) => texts.map((text) => ({ text, handle: "ctx:abc" }))

describe("what counts", () => {
  test("evidence is shown whole or, if it is long, by eight consecutive words", () => {
    const long = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
    expect(shows("a cat sat", "cat sat")).toBe(true)
    expect(shows("cat", "cat sat")).toBe(false)
    expect(shows("… three four five six seven eight nine ten …", long)).toBe(true)
    expect(shows("three four five six seven eight nine", long)).toBe(false)
  })

  test("shares, places, and the first 4,000 characters", () => {
    const scores = scoreOf(
      question({ a: "the cat", b: "the dog" }),
      shown("x".repeat(3990), "The cat!", "the DOG"),
    )
    expect(scores).toEqual({ questions: 1, hit1: 0, r5: 1, r10: 1, mrr: 0.5, r4000: 0.5, turn5: null })
    expect(mean([scores, { ...scores, r5: 0 }])).toMatchObject({ questions: 2, r5: 0.5 })
  })

  test("the hash embedding matches the design documents", () => {
    const vector = hashEmbedding(" Ab ")
    // ((97·1 << 5) − 97·1) + 98·1, and the length is 1
    const first = (Math.sin(97 * 31 + 98) + 1) / 2
    const second = (Math.sin(194 * 31 + 196) + 1) / 2
    expect(vector[0]! / vector[1]!).toBeCloseTo(first / second, 4)
    expect(Math.hypot(...vector)).toBeCloseTo(1, 5)
  })
})

describe("the command", () => {
  let machine: Machine
  const data = (): string => join(machine.root, "data")
  const topics = ["otter", "falcon", "beetle", "walrus", "ibis", "marten", "gecko", "heron"]

  beforeAll(() => {
    machine = new Machine()
    mkdirSync(join(data(), "one"), { recursive: true })
    const transcript = new Transcript({
      session: "22222222-0000-4000-8000-000000000001",
      cwd: "/home/dev/zoo",
      version: "2.1.112",
      path: join(data(), "one", "22222222-0000-4000-8000-000000000001.jsonl"),
    })
    for (const topic of topics)
      transcript.turn(`Where does the ${topic} live?`, [], `The ${topic} lives by the river.`)
    transcript.flush()
    const dia = Object.fromEntries(
      topics.map((topic) => [topic, { text: `Bob: The ${topic} lives by the river.` }]),
    )
    const qa = topics.map((topic) => ({ question: `home of the ${topic}`, category: 4, gold: [topic] }))
    // Nothing answers it: it has no share in any figure.
    qa.push({ question: "home of the dodo", category: 5, gold: [] })
    writeFileSync(join(data(), "one.gold.json"), JSON.stringify({ qa, dia }))
  })
  afterAll(() => machine[Symbol.dispose]())

  test("compares ways of searching, in words and as JSON", async () => {
    const ran = await runScript("bench/recall.ts", ["--data", data(), "--json"], { env: machine.env })
    expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code: 0, stderr: "" })
    const { questions, arms, embedder } = JSON.parse(ran.stdout)
    expect(questions).toBe(topics.length)
    expect(Object.keys(arms)).toEqual([
      "hash embedding",
      "BM25 of turns",
      "lexical",
      "semantic",
      "hybrid",
      "auto",
    ])
    expect(embedder).toEqual({ id: "hashed-ngrams-1", runtime: "hashed" })
    for (const arm of ["semantic", "hybrid"]) expect(arms[arm].all.r5).toBe(1)
    expect(arms.lexical.all).toMatchObject({ questions: topics.length, hit1: 1, r5: 1, mrr: 1, r4000: 1 })
    expect(arms["hash embedding"].all.hit1).toBeLessThan(1)
    const table = await runScript("bench/recall.ts", ["--data", data()], { env: machine.env })
    expect(table.stdout).toContain("single-hop")
    expect(table.stdout).toContain("\nsemantic, hybrid: hashed words, no model\n")
  })

  test("says what is wrong with its data", async () => {
    const missing = await runScript("bench/recall.ts", [], { env: machine.env })
    expect(missing).toMatchObject({ code: 64, stdout: "" })
    const empty = await runScript("bench/recall.ts", ["--data", machine.home], { env: machine.env })
    expect(empty).toMatchObject({ code: 3, stdout: "" })
  })
})
