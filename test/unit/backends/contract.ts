/** What every backend does. Runs over a pair of them that see the same target, as two machines do. */
import { expect } from "bun:test"
import { type Backend, nameOfEntry } from "../../../src/backends/backend.ts"
import { type Entry, type EntryMetadata, entryOf } from "../../../src/backends/entry.ts"
import { type SharedTarget, withTwoMachines } from "./with-two-machines.ts"

/** Opens the same, empty target as often as wanted, each time as another machine. */
export type Target = SharedTarget<Backend>

interface Draft extends Partial<EntryMetadata> {
  readonly content?: string
  readonly summary?: string
  readonly vector?: readonly number[]
  readonly embedder?: string
}

let turns = 0

/** An entry of a turn of its own, unless session and number are given. */
export function draft({ content = "nothing special", summary, vector, embedder, ...metadata }: Draft): Entry {
  return entryOf({
    summary: summary ?? content.slice(0, 60),
    content,
    metadata: {
      sessionId: "5e551011-0000-4000-8000-000000000001",
      chunkIndex: ++turns,
      timestamp: "2026-01-01T00:00:00.000Z",
      ended: null,
      project: "/src/app",
      toolNames: [],
      filePaths: [],
      messages: 2,
      takenBack: false,
      ...metadata,
    },
    ...(vector === undefined ? {} : { vector: { embedder: embedder ?? "minilm", values: padded(vector) } }),
  })
}

/** 384 numbers, as all real vectors have. */
export const padded = (values: readonly number[]): number[] => [
  ...values,
  ...Array.from({ length: 384 - values.length }, () => 0),
]

const idsOf = (found: readonly { readonly id: string }[]): string[] => found.map(({ id }) => id).sort()

/** @param isThere false: the tests are skipped, and say so */
export function backendContract(name: string, makeTarget: () => Promise<Target>, isThere = true): void {
  const check = withTwoMachines(name, makeTarget, isThere)

  check("an empty target has nothing, and the same id for all", async (one, other) => {
    expect(await one.stats()).toEqual({ entries: 0, sessions: 0, forgotten: 0, damaged: 0 })
    expect(await one.get("0".repeat(64))).toBeUndefined()
    expect(await one.find({ words: "anything", limit: 5 })).toEqual([])
    expect(one.id).not.toBe("")
    expect(other.id).toBe(one.id)
  })

  check("what one machine puts, another one gets, unchanged", async (one, other) => {
    const hard = draft({
      content: 'quotes \' " \\ $1 {"a":1}\nlines\r\n\tand 语言 🛡️ größer',
      toolNames: ["Bash", "Edit"],
      filePaths: ["/src/it's here/a.ts"],
      vector: [0.6, 0.8],
    })
    expect(await one.put([hard])).toEqual({ stored: 1, known: 0, refused: 0 })
    expect(await other.get(hard.id)).toEqual(hard)
    expect(await other.stats()).toEqual({ entries: 1, sessions: 1, forgotten: 0, damaged: 0 })
  })

  check("putting again changes nothing, whoever does it", async (one, other) => {
    const entries = [draft({}), draft({}), draft({})]
    expect(await one.put(entries)).toEqual({ stored: 3, known: 0, refused: 0 })
    expect(await one.put([...entries, ...entries])).toEqual({ stored: 0, known: 6, refused: 0 })
    await other.put(entries)
    expect((await one.stats()).entries).toBe(3)
  })

  check(
    "a turn that grows is one entry: the longest version, in whichever order they come",
    async (one, other) => {
      const short = draft({ content: "first", messages: 2 })
      const { chunkIndex } = short.metadata
      const long = draft({ content: "first second", messages: 4, chunkIndex })
      await one.put([long])
      await other.put([short])
      await one.put([short])
      expect((await one.stats()).entries).toBe(1)
      expect(idsOf(await other.find({ words: "first", limit: 5 }))).toEqual([long.id])
      expect(await other.find({ words: "second", limit: 5 })).toMatchObject([{ id: long.id, key: short.key }])
    },
  )

  check("a turn that was taken back says so from then on", async (one, other) => {
    const stands = draft({})
    const { chunkIndex } = stands.metadata
    await one.put([stands])
    expect(await one.put([draft({ chunkIndex, takenBack: true })])).toMatchObject({ stored: 1 })
    expect(await other.put([stands])).toMatchObject({ refused: 0 })
    expect((await other.get(stands.id))?.metadata.takenBack).toBe(true)
  })

  check("by words: all of them, whole or in parts, within a session or project", async (one) => {
    const retry = draft({ content: "I renamed getUserName in the retry loop", project: "/src/a" })
    const other = draft({ content: "the retry was dropped", sessionId: "other", project: "/src/b" })
    await one.put([retry, other, draft({ content: "about something else" })])
    const find = async (words: string, more = {}) => idsOf(await one.find({ words, limit: 9, ...more }))
    expect(await find("retry")).toEqual(idsOf([retry, other]))
    expect(await find("user retries")).toEqual([retry.id])
    expect(await find("retry zebra")).toEqual([])
    expect(await find("retry", { session: "other" })).toEqual([other.id])
    expect(await find("retry", { project: "/src/a" })).toEqual([retry.id])
    expect(await one.find({ words: "retry", limit: 1 })).toHaveLength(1)
    expect(await find("'); DROP TABLE entries; --")).toEqual([])
  })

  check("by any of the words: those with more of them first", async (one) => {
    const both = draft({ content: "a crane and a heron" })
    const first = draft({ content: "only a crane, Änderung" })
    await one.put([first, both, draft({ content: "an owl" })])
    const find = async (words: string) =>
      (await one.find({ words, isAny: true, limit: 9 })).map(({ id }) => id)
    expect(await find("heron crane zebra")).toEqual([both.id, first.id])
    expect(await find("anderung zebra")).toEqual([first.id])
    expect(await find("zebra")).toEqual([])
  })

  check("by words of any script, and of names in code", async (one) => {
    const texts = [
      "größere Änderung",
      "हिन्दी में लिखा",
      "検索の順位",
      "ความจำ",
      "naïve café",
      "é́x̂ y",
      "HTTPServer2 parse_url-2 a.b.c",
    ]
    const entries = texts.map((content) => draft({ content }))
    await one.put(entries)
    for (const [n, words] of [...texts, "grosse", "cafe", "索の", "httpserver2", "url"].entries()) {
      const found = idsOf(await one.find({ words, limit: 9 }))
      if (n < texts.length) expect({ words, found }).toEqual({ words, found: [entries[n]!.id] })
      else expect(found.length).toBeLessThanOrEqual(1)
    }
    expect(idsOf(await one.find({ words: "cafe", limit: 9 }))).toEqual([entries[4]!.id])
  })

  check("without words: the newest first", async (one) => {
    const at = (day: number) => draft({ timestamp: `2026-01-0${day}T00:00:00.000Z` })
    const [second, third, first] = [at(2), at(3), at(1)]
    await one.put([second, third, first])
    const found = await one.find({ words: "", limit: 2 })
    expect(found.map(({ id }) => id)).toEqual([third.id, second.id])
  })

  check("narrowed to a project's name, a time, a tool, a file, a session with its subagents", async (one) => {
    const entry = draft({
      sessionId: "main",
      project: "/home/me/app/.git",
      timestamp: "2026-03-02T10:00:00.000Z",
      ended: "2026-03-02T12:00:00.000Z",
      toolNames: ["Read", "mcp__db__query"],
      filePaths: ["/home/me/app/src/pool (1).ts"],
    })
    const worker = draft({ sessionId: "main/worker", project: "C:\\work\\app" })
    const bare = draft({ sessionId: "mainly", project: null, timestamp: null })
    await one.put([entry, worker, bare])
    const find = async (more: object) => idsOf(await one.find({ words: "", limit: 9, ...more }))
    expect(await find({ projectName: "app" })).toEqual(idsOf([entry, worker]))
    expect(await find({ projectName: "ap" })).toEqual([])
    expect(await find({ session: "main" })).toEqual(idsOf([entry, worker]))
    expect(await find({ since: "2026-03-02T12:00:00.000Z" })).toEqual([entry.id])
    expect(await find({ since: "2026-03-02T12:00:01.000Z" })).toEqual([])
    expect(await find({ until: "2026-03-02T10:00:00.000Z" })).toEqual([worker.id])
    expect(await find({ tool: "mcp__DB-query" })).toEqual([entry.id])
    expect(await find({ tool: "query" })).toEqual([])
    for (const file of [
      "pool (1).ts",
      "src/pool (1).ts",
      "/home/me/app/src/pool (1).ts",
      "src/",
      "*.ts",
      "s?c/*",
    ])
      expect({ file, found: await find({ file }) }).toEqual({ file, found: [entry.id] })
    for (const file of ["ool (1).ts", "pool .1..ts", "*.tsx", "rc/"])
      expect({ file, found: await find({ file }) }).toEqual({ file, found: [] })
  })

  check("content comes with what is found only if it was asked for", async (one) => {
    const entry = draft({ content: "the whole of it" })
    await one.put([entry])
    const { vector: _vector, ...rest } = entry
    const { score, ...whole } = (await one.find({ words: "whole", limit: 1, withContent: true }))[0]!
    expect(whole).toEqual(rest)
    expect(score).toBeGreaterThan(0)
    expect((await one.find({ words: "whole", limit: 1 }))[0]).not.toHaveProperty("content")
  })

  check("an entry is named by the beginning of its id, if that is long enough", async (one) => {
    const entry = draft({})
    await one.put([draft({}), entry, draft({})])
    expect(await one.get(entry.id.slice(0, 16))).toEqual(entry)
    expect(await one.get(entry.id.slice(0, 15))).toBeUndefined()
    expect(await one.get(`${entry.id.slice(0, 20)}x`)).toBeUndefined()
  })

  check("by meaning: the nearest first, of the same embedder only", async (one) => {
    const near = draft({ vector: [1, 0] })
    const far = draft({ vector: [0.6, 0.8] })
    const foreign = draft({ vector: [1, 0], embedder: "other" })
    await one.put([far, foreign, near, draft({})])
    const vector = { embedder: "minilm", values: padded([1, 0]) }
    const found = await one.find({ vector, limit: 5 })
    expect(found.map(({ id }) => id)).toEqual([near.id, far.id])
    expect(found[0]!.score).toBeCloseTo(1, 3)
    expect(found[1]!.score).toBeCloseTo(0.6, 3)
  })

  check("a vector made later is added", async (one, other) => {
    const bare = draft({})
    const { chunkIndex } = bare.metadata
    const whole = draft({ chunkIndex, vector: [0, 1] })
    await one.put([bare])
    expect(await one.put([whole])).toMatchObject({ stored: 1 })
    await other.put([bare])
    expect(await other.get(bare.id)).toEqual(whole)
  })

  check("what is forgotten is gone for all, and refused from then on", async (one, other) => {
    const secret = draft({ content: "the launch code is swordfish" })
    const kept = draft({ content: "the launch is on monday" })
    await one.put([secret, kept])
    await other.put([secret])
    expect(await one.forget({ ids: [secret.id] })).toBe(1)
    expect(await one.forget({ ids: [secret.id] })).toBe(0)
    expect(await other.get(secret.id)).toBeUndefined()
    expect(idsOf(await other.find({ words: "launch", limit: 5 }))).toEqual([kept.id])
    expect(await other.put([secret])).toEqual({ stored: 0, known: 0, refused: 1 })
    expect(await other.stats()).toMatchObject({ entries: 1, forgotten: 1 })
  })

  check("a session is forgotten with its subagents, and with what comes later", async (one, other) => {
    const main = draft({ sessionId: "gone" })
    const agent = draft({ sessionId: "gone/worker" })
    const stays = draft({ sessionId: "gone-not" })
    await one.put([main, stays])
    await other.put([agent])
    expect(await other.forget({ sessions: ["gone"] })).toBe(2)
    expect(await one.stats()).toMatchObject({ entries: 1, sessions: 1, forgotten: 1 })
    expect(await one.put([draft({ sessionId: "gone" }), main])).toEqual({ stored: 0, known: 0, refused: 2 })
    expect(await one.get(stays.id)).toEqual(stays)
  })

  check("when the longest version is forgotten, a longer one still comes in", async (one) => {
    const first = draft({ content: "with swordfish", messages: 4 })
    const { chunkIndex } = first.metadata
    const clean = draft({ content: "with *********", messages: 4, chunkIndex })
    await one.put([first])
    await one.forget({ ids: [first.id] })
    expect(await one.put([clean])).toMatchObject({ stored: 1 })
    expect(idsOf(await one.find({ words: "with", limit: 5 }))).toEqual([clean.id])
  })

  check(
    "what was sent and is missing is told: not what was forgotten, nor a later version",
    async (one, other) => {
      const [there, gone, grown, absent] = ["a", "b", "c", "d"].map((content) =>
        draft({ content, messages: 4 }),
      )
      const { chunkIndex } = grown!.metadata
      const later = draft({ content: "c and more", messages: 6, chunkIndex })
      const latest = draft({ content: "c and even more", messages: 8, chunkIndex })
      await one.put([there!, gone!, grown!])
      await one.put([later])
      await other.forget({ ids: [gone!.id], sessions: ["away"] })
      const sent = [
        there!,
        gone!,
        grown!,
        absent!,
        draft({ sessionId: "away" }),
        draft({ sessionId: "away/worker" }),
      ]
      const lacking = async (entries: readonly Entry[]) =>
        (await one.lacking(entries.map(sentOf))).map(({ id }) => id)
      await one.put([])
      expect(await lacking(sent)).toEqual([absent!.id])
      expect(await lacking([later, latest])).toEqual([latest.id])
      expect(await one.forgottenThere()).toBe(2)
      expect(await one.mend()).toBe(0)
      expect(await lacking([there!, later])).toEqual([])
    },
  )

  check(
    "what an archive has put is told: of all sessions, or of some and their subagents",
    async (one, other) => {
      const [main, agent, next] = ["main", "main/worker", "mainly"].map((sessionId) =>
        draft({ sessionId, machine: "one" }),
      )
      const theirs = draft({ sessionId: "main", machine: "other" })
      await one.put([main!, agent!, next!])
      await other.put([theirs])
      const told = async (machine: Backend, name: string, sessions?: readonly string[]) =>
        (await machine.ownThere(name, sessions)).toSorted((a, b) => (a.id < b.id ? -1 : 1))
      const all = (...entries: Entry[]) => entries.map(sentOf).sort((a, b) => (a.id < b.id ? -1 : 1))
      expect(await told(one, "one")).toEqual(all(main!, agent!, next!))
      expect(await told(one, "one", ["main"])).toEqual(all(main!, agent!))
      expect(await told(one, "one", [])).toEqual([])
      expect(await told(other, "other")).toEqual(all(theirs))
      const { chunkIndex } = main!.metadata
      const longer = draft({ sessionId: "main", machine: "one", content: "more", messages: 4, chunkIndex })
      await one.put([longer])
      await other.forget({ ids: [agent!.id] })
      expect(await told(one, "one", ["other", "main"])).toEqual(all(longer))
    },
  )
}

const sentOf = (entry: Entry) => ({
  ...nameOfEntry(entry),
  key: entry.key,
  messages: entry.metadata.messages,
})
