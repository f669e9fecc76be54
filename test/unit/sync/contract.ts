/**
 * What every target does. Runs over a pair of machines that see the same target; a new kind of target is one file that
 * passes this.
 */
import { expect, test } from "bun:test"
import { type Entry, type EntryMetadata, entryOf } from "../../../src/sync/targets/entry.ts"
import type { LineFills, VaultPiece } from "../../../src/sync/targets/pieces.ts"
import type { Target } from "../../../src/sync/targets/target.ts"
import { dataFrame, frameContent, sha256 } from "../../../src/vault/frame.ts"
import { type FramesOf, framesOf } from "../../support/frames-of.ts"

/** A place for a target, in which nothing is yet. */
export interface SharedTarget extends AsyncDisposable {
  /** Opens it, as often as wanted, each time as another machine. */
  open(machine: string): Promise<Target>
  /** Opens it for whoever only reads. */
  read(): Promise<Target>
}

interface Kind {
  /** Whether it keeps the bytes of vaults, too. */
  readonly frames: boolean
  /** Whether nothing can be found there, and no vectors are kept. */
  readonly isBlind?: boolean
  /** false: the tests are skipped, and say so. */
  readonly isThere?: boolean
  /** Whether it is made before anybody opens it. */
  readonly isMade?: boolean
}

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

/** As versions before the design documents' fields have made it. */
function asEarlier({ id, key, summary, content, metadata: told }: Entry): Entry {
  const { turnRange: _range, contentHash: _hash, ...metadata } = told
  return { id, key, summary, content, metadata }
}

const idsOf = (found: readonly { readonly id: string }[]): string[] => found.map(({ id }) => id).sort()

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")

/** A piece of a transcript whose bytes are the text's. */
export function piece(text: string, about: Partial<VaultPiece> = {}): VaultPiece {
  const content = new TextEncoder().encode(text)
  const from = about.from ?? 0
  return {
    writer: "one",
    copy: "c0ffee00-0000",
    place: "home/-src-app/5e551011.jsonl.zst",
    path: "/home/ada/.claude/projects/-src-app/5e551011.jsonl",
    created: 1_700_000_000_000,
    session: "5e551011",
    folder: "/src/app",
    from,
    to: from + content.length,
    sha256: hex(sha256(content)),
    tailHash: "abc",
    time: 1_700_000_000_001,
    rules: 3,
    hidden: 0,
    frame: dataFrame(content),
    ...about,
  }
}

const textOf = ({ frame }: VaultPiece): string => new TextDecoder().decode(frameContent(frame))
const aboutOf = ({ frame: _, ...about }: VaultPiece) => about

/** @param makeTarget makes a place of its own for each test */
export function targetContract(name: string, makeTarget: () => Promise<SharedTarget>, kind: Kind): void {
  const only = test.skipIf(!(kind.isThere ?? true))
  const check = (title: string, run: (one: Target, other: Target) => Promise<void>, isDue = true): void => {
    if (!isDue) return
    only(`${name}: ${title}`, async () => {
      await using shared = await makeTarget()
      const [one, other] = [await shared.open("one"), await shared.open("other")]
      try {
        await run(one, other)
      } finally {
        await one.close()
        await other.close()
      }
    })
  }

  const finds = kind.isBlind !== true
  const checkFound: typeof check = (title, run) => check(title, run, finds)

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
      ...(finds && { vector: [0.6, 0.8] }),
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

  checkFound(
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

  checkFound("by words: all of them, whole or in parts, within a session or project", async (one) => {
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

  checkFound("by any of the words: those with more of them first", async (one) => {
    const both = draft({ content: "a crane and a heron" })
    const first = draft({ content: "only a crane, Änderung" })
    await one.put([first, both, draft({ content: "an owl" })])
    const find = async (words: string) =>
      (await one.find({ words, isAny: true, limit: 9 })).map(({ id }) => id)
    expect(await find("heron crane zebra")).toEqual([both.id, first.id])
    expect(await find("anderung zebra")).toEqual([first.id])
    expect(await find("zebra")).toEqual([])
  })

  checkFound("by words of any script, and of names in code", async (one) => {
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

  checkFound("without words: the newest first", async (one) => {
    const at = (day: number) => draft({ timestamp: `2026-01-0${day}T00:00:00.000Z` })
    const [second, third, first] = [at(2), at(3), at(1)]
    await one.put([second, third, first])
    const found = await one.find({ words: "", limit: 2 })
    expect(found.map(({ id }) => id)).toEqual([third.id, second.id])
  })

  checkFound(
    "narrowed to a project's name, a time, a tool, a file, a session with its subagents",
    async (one) => {
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
    },
  )

  checkFound("content comes with what is found only if it was asked for", async (one) => {
    const entry = draft({ content: "the whole of it" })
    await one.put([entry])
    const { id, key, summary, content, metadata } = entry
    const { score, ...whole } = (await one.find({ words: "whole", limit: 1, withContent: true }))[0]!
    expect(whole).toEqual({ id, key, summary, content, metadata })
    expect(score).toBeGreaterThan(0)
    expect((await one.find({ words: "whole", limit: 1 }))[0]).not.toHaveProperty("content")
  })

  check(
    "what an earlier version has sent is the same entry, though it says less of itself",
    async (one, other) => {
      const [known, added] = [draft({ content: "about owls" }), draft({ content: "about herons" })]
      expect(await one.put([asEarlier(known)])).toMatchObject({ stored: 1 })
      expect(await one.put([known])).toEqual({ stored: 0, known: 1, refused: 0 })
      expect(await one.put([added])).toMatchObject({ stored: 1 })
      expect(await one.put([asEarlier(added)])).toEqual({ stored: 0, known: 1, refused: 0 })
      expect(await other.get(known.id)).toMatchObject(asEarlier(known))
      expect(await other.get(added.id)).toEqual(added)
      expect(await other.mend()).toBe(0)
      expect(await other.stats()).toMatchObject({ entries: 2, damaged: 0 })
    },
  )

  check("an entry is named by the beginning of its id, if that is long enough", async (one) => {
    const entry = draft({})
    await one.put([draft({}), entry, draft({})])
    expect(await one.get(entry.id.slice(0, 16))).toEqual(entry)
    expect(await one.get(entry.id.slice(0, 15))).toBeUndefined()
    expect(await one.get(`${entry.id.slice(0, 20)}x`)).toBeUndefined()
  })

  checkFound("by meaning: the nearest first, of the same embedder only", async (one) => {
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

  checkFound("a vector made later is added", async (one, other) => {
    const bare = draft({})
    const { chunkIndex } = bare.metadata
    const whole = draft({ chunkIndex, vector: [0, 1] })
    await one.put([bare])
    expect(await one.put([whole])).toMatchObject({ stored: 1 })
    await other.put([bare])
    expect(await other.get(bare.id)).toEqual(whole)
  })

  checkFound("what is forgotten is gone for all, and refused from then on", async (one, other) => {
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

  checkFound("when the longest version is forgotten, a longer one still comes in", async (one) => {
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
        (await one.lacking(entries.map(sentVersion))).map(({ id }) => id)
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
      const told = async (machine: Target, name: string, sessions?: readonly string[]) =>
        (await machine.ownThere(name, sessions)).toSorted((a, b) => (a.id < b.id ? -1 : 1))
      const all = (...entries: Entry[]) => entries.map(sentVersion).sort((a, b) => (a.id < b.id ? -1 : 1))
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

  checkFound(
    "of two versions in one batch, the later one is stored, in whichever order",
    async (one, other) => {
      const [short, next] = [draft({ messages: 2 }), draft({ messages: 2 })]
      const later = ({ metadata: { chunkIndex } }: Entry) =>
        draft({ content: "more", messages: 4, chunkIndex })
      const [long, longer] = [later(short), later(next)]
      expect(await one.put([short, long, longer, next])).toEqual({ stored: 2, known: 2, refused: 0 })
      expect(idsOf(await other.find({ words: "", limit: 9 }))).toEqual(idsOf([long, longer]))
      expect(await other.get(short.id)).toBeUndefined()
    },
  )

  check("what is prepared is not there before it is put", async (one, other) => {
    const entries = [draft({ content: "prepared" })]
    one.prepare?.(entries)
    expect((await other.stats()).entries).toBe(0)
    expect(await one.put(entries)).toMatchObject({ stored: 1 })
    expect(await other.get(entries[0]!.id)).toEqual(entries[0]!)
  })

  checkFound("a writer that has less than before shows where there is a tally", async (one, other) => {
    const [gone, stays, theirs] = [draft({ messages: 3 }), draft({ messages: 4 }), draft({ messages: 5 })]
    await one.put([gone, stays])
    await other.put([theirs])
    await other.forget({ ids: [gone.id] })
    if (one.tally !== undefined) expect(await one.tally()).toEqual({ one: [1, 4], other: [1, 5] })
    expect(await one.lacking([gone, stays, theirs].map(sentVersion))).toEqual([])
  })

  check("text that was taken out can be told to any", async (one) => {
    const entry = draft({})
    await one.put([entry])
    const fills = [{ session: "5e551011", key: "k", lines: { aa: [[1, 5]] as const } }]
    expect(await one.forget({ fills })).toBe(0)
    expect(await one.stats()).toMatchObject({ entries: 1, forgotten: 0 })
    expect(await one.frames?.fills()).toEqual(kind.frames ? fills : undefined)
  })

  only(`${name}: what was put and forgotten is there when all have closed it`, async () => {
    await using shared = await makeTarget()
    const first = await shared.open("one")
    const [entry, secret] = [draft({}), draft({ content: "swordfish" })]
    await first.put([entry, secret])
    await first.forget({ ids: [secret.id] })
    await first.close()
    const later = await shared.open("later")
    expect(later.id).toBe(first.id)
    expect(await later.get(entry.id)).toEqual(entry)
    expect(await later.put([entry, secret])).toMatchObject({ refused: 1 })
    expect(await later.stats()).toMatchObject({ entries: 1, forgotten: 1 })
    await later.close()
  })

  test.skipIf(kind.isThere === false || kind.isMade === true)(
    `${name}: whoever only reads makes nothing`,
    async () => {
      await using shared = await makeTarget()
      for (let n = 0; n < 2; n++)
        await expect(shared.read()).rejects.toMatchObject({ code: "target-missing" })
      const one = await shared.open("one")
      const entry = draft({ content: "about herons" })
      await one.put([entry])
      const reader = await shared.read()
      expect(reader.id).toBe(one.id)
      expect(await reader.get(entry.id)).toEqual(entry)
      const found = idsOf(await reader.find({ words: "herons", limit: 5 }))
      expect(found).toEqual(finds ? [entry.id] : [])
      expect(await reader.stats()).toEqual(await one.stats())
      await reader.close()
      await one.close()
    },
  )

  check("it says whether it keeps frames", async (one) => {
    expect(one.frames !== undefined).toBe(kind.frames)
  })
  if (!kind.frames) return
  const checkFrames = (title: string, run: (one: FramesOf, other: FramesOf) => Promise<void>): void =>
    check(title, (one, other) => run(framesOf(one), framesOf(other)))

  check("a session is forgotten once, with its turns and its frames", async (one, other) => {
    const [its, stays] = [draft({ sessionId: "gone" }), draft({ sessionId: "gone-not" })]
    const bytes = piece("a\n", { session: "gone/worker" })
    await one.put([its, stays])
    await one.frames!.put([bytes])
    expect(await other.forget({ sessions: ["gone"] })).toBe(1)
    expect(await one.frames!.list()).toEqual([])
    expect(await one.frames!.put([bytes])).toEqual({ stored: 0, known: 0, refused: 1 })
    expect(await one.put([its, stays])).toEqual({ stored: 0, known: 1, refused: 1 })
    expect(await other.stats()).toMatchObject({ entries: 1, forgotten: 1 })
  })

  checkFrames("an empty target has no frames", async (one) => {
    expect(await one.list()).toEqual([])
    expect(await one.get([piece("x")])).toEqual([])
    expect(await one.forgotten([])).toEqual([])
    expect(await one.put([])).toEqual({ stored: 0, known: 0, refused: 0 })
  })

  checkFrames("what one machine puts, another one gets, byte for byte, in order", async (one, other) => {
    const first = piece('{"a":"größer 语言 \\u0000"}\n')
    const second = piece(`${"x".repeat(300_000)}\n`, { from: first.to })
    expect(await one.put([second, first])).toEqual({ stored: 2, known: 0, refused: 0 })
    expect(await other.list()).toEqual([first, second].map(aboutOf))
    expect(await other.get([first, second])).toEqual([first, second])
    expect((await other.get([second])).map(textOf)).toEqual([textOf(second)])
  })

  checkFrames(
    "putting again changes nothing; the same copy of another machine is another",
    async (one, other) => {
      const its = piece("same\n")
      const others = { ...its, writer: "other" }
      expect(await one.put([its])).toMatchObject({ stored: 1 })
      expect(await one.put([its, its])).toEqual({ stored: 0, known: 2, refused: 0 })
      expect(await other.put([others])).toMatchObject({ stored: 1 })
      expect(await one.list("one")).toEqual([aboutOf(its)])
      expect(await one.list()).toEqual([its, others].map(aboutOf))
    },
  )

  checkFrames(
    "a copy that is dropped can be put anew, and nobody else's goes with it",
    async (one, other) => {
      const its = piece("with swordfish\n")
      const anew = piece("with *********\n")
      const others = { ...its, writer: "other" }
      const more = piece("another\n", { copy: "facade" })
      await one.put([its, more])
      await other.put([others])
      await one.drop([its.copy])
      expect(await one.list()).toEqual([more, others].map(aboutOf))
      expect(await one.put([anew])).toMatchObject({ stored: 1 })
      expect((await other.get([anew])).map(textOf)).toEqual(["with *********\n"])
    },
  )

  checkFrames(
    "a forgotten session is gone for all, with its subagents, and refused from then on",
    async (one, other) => {
      const its = piece("a\n", { session: "gone" })
      const agent = piece("b\n", { session: "gone/worker", copy: "b" })
      const stays = piece("c\n", { session: "gone-not", copy: "c" })
      const others = { ...its, writer: "other" }
      await one.put([its, agent, stays])
      await other.put([others])
      await other.forget(["gone"])
      expect(await one.list()).toEqual([aboutOf(stays)])
      expect(await one.forgotten(["gone", "other"])).toEqual(["gone"])
      expect(await one.put([its, piece("d\n", { session: "gone/late", copy: "d" })])).toEqual({
        stored: 0,
        known: 0,
        refused: 2,
      })
      await other.forget(["gone"])
      expect(await other.forgotten(["gone"])).toEqual(["gone"])
      expect(await other.list()).toEqual([aboutOf(stays)])
    },
  )

  checkFrames("text that was taken out is told to all, once, and grows", async (one, other) => {
    const fill = (lines: LineFills["lines"]): LineFills => ({ session: "5e551011", key: "k", lines })
    await one.forget([], [fill({ aa: [[1, 5]] })])
    await one.forget([], [fill({ aa: [[1, 5]] })])
    await other.forget(
      [],
      [
        fill({
          bb: [
            [0, 2],
            [4, 9],
          ],
        }),
      ],
    )
    const both = fill({
      aa: [[1, 5]],
      bb: [
        [0, 2],
        [4, 9],
      ],
    })
    expect(await one.fills()).toEqual([both])
    expect(await other.fills()).toEqual([both])
    expect(await one.forgotten([])).toEqual([])
  })

  checkFrames("many at once come back as they were", async (one, other) => {
    let from = 0
    const all = Array.from({ length: 200 }, (_, n) => {
      const made = piece(`line ${n} ${"y".repeat(n * 7)}\n`, { from })
      from = made.to
      return made
    })
    for (let at = 0; at < all.length; at += 30) await one.put(all.slice(at, at + 30))
    const listed = await other.list()
    expect(listed).toEqual(all.map(aboutOf))
    expect((await other.get(listed)).map(textOf)).toEqual(all.map(textOf))
  })
}

export const nameOfEntry = ({ id, metadata }: Entry) => ({ id, session: metadata.sessionId })

const sentVersion = (entry: Entry) => ({
  ...nameOfEntry(entry),
  key: entry.key,
  messages: entry.metadata.messages,
})
