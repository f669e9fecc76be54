import { Database } from "bun:sqlite"
import { describe, expect, test } from "bun:test"
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs"
import { dirname, join } from "node:path"
import fc from "fast-check"
import { NEWEST, newestOf } from "../../../src/cli/doctor/transcript-checks.ts"
import { CopyReaders, tailOf } from "../../../src/vault/reader.ts"
import { ReadOnce, readViews, statusWith } from "../../../src/views/archive-status.ts"
import { backlog } from "../../../src/views/backlog.ts"
import { chill, warm } from "../../../src/views/cold-turns.ts"
import { databasePath, emptyDatabase } from "../../../src/views/database.ts"
import { countDiskUse, diskUse, isCountDue } from "../../../src/views/disk-use.ts"
import { changeJoined, type JoinedProjects, withJoin } from "../../../src/views/joined-projects.ts"
import { open } from "../../../src/views/open.ts"
import { archivedByPath } from "../../../src/views/queries/transcripts.ts"
import { hasCold } from "../../../src/views/queries/turns.ts"
import { followRemoval, wipeUnused } from "../../../src/views/removal.ts"
import { goneEnding } from "../../../src/views/transcript-rows.ts"
import { dueTurns, packVectors, putVectors, vectorTotals } from "../../../src/views/vectors.ts"
import { sessionsInNames, sourcesOf } from "../../../src/views/view-sources.ts"
import { Archive } from "../../support/archive.ts"
import { expectSameWordsAgain, turnsIn } from "../../support/cold.ts"
import { Inside, run } from "../../support/inside.ts"
import { syntheticSession } from "../../support/session.ts"
import { tempFolder } from "../../support/temp.ts"
import { Transcript } from "../../support/transcript.ts"
import { namedViews } from "../../support/views.ts"

/** What the archive takes on disk: counted at once while it is small, kept while it is large. */
describe("disk use", () => {
  const HOUR = 3_600_000
  const NOW = Date.UTC(2026, 0, 2)

  /** An archive of some bytes with a count of a large one. */
  function withCount(text: string): { path: string } & Disposable {
    const folder = tempFolder()
    mkdirSync(join(folder.path, "vault", "home", "p"), { recursive: true })
    writeFileSync(join(folder.path, "vault", "home", "p", "a.jsonl.zst"), "12345")
    mkdirSync(join(folder.path, "sessions"))
    writeFileSync(join(folder.path, "sessions", "a.json"), "1234567")
    writeFileSync(join(folder.path, "archive.db"), "123")
    if (text !== "") writeFileSync(join(folder.path, "counted.json"), text)
    return folder
  }

  const large = (counted: number): string =>
    JSON.stringify({ vault: { files: 20_000, bytes: 1, problem: null }, other: 2, counted })

  describe("bytes on disk", () => {
    test("are counted, without the database, and no count of a small archive is kept", () => {
      using folder = withCount("")
      expect(diskUse(folder.path, NOW)).toEqual({
        vault: { files: 1, bytes: 5, problem: null },
        other: 7,
        counted: NOW,
      })
      expect(existsSync(join(folder.path, "counted.json"))).toBe(false)
      expect(isCountDue(folder.path, NOW)).toBe(false)
    })

    test("of a large archive are those that were counted within a day, and say when", () => {
      using folder = withCount(large(NOW - 23 * HOUR))
      expect(diskUse(folder.path, NOW)).toMatchObject({ vault: { files: 20_000 }, counted: NOW - 23 * HOUR })
      expect(isCountDue(folder.path, NOW)).toBe(true)
    })

    test.each([
      ["a day old", large(NOW - 24 * HOUR)],
      ["of the future", large(NOW + HOUR)],
      ["half written", large(NOW).slice(0, 40)],
      ["without numbers", '{"vault":{"files":"many"},"other":null,"counted":1}'],
      ["something else", "[]"],
    ])("a count that is %s is made anew", (_, text) => {
      using folder = withCount(text)
      expect(diskUse(folder.path, NOW)).toMatchObject({
        vault: { files: 1, bytes: 5 },
        other: 7 + (existsSync(join(folder.path, "counted.json")) ? 0 : text.length),
        counted: NOW,
      })
    })

    test("an archive that has become large is counted by the job from then on, once an hour", () => {
      using folder = withCount("")
      for (let n = 0; n <= 10_000; n++)
        writeFileSync(join(folder.path, "vault", "home", "p", `${n}.jsonl.zst`), "")
      countDiskUse(folder.path, NOW)
      expect(JSON.parse(readFileSync(join(folder.path, "counted.json"), "utf8"))).toMatchObject({
        vault: { files: 10_002, bytes: 5 },
      })
      expect(statSync(join(folder.path, "counted.json")).mode & 0o777).toBe(0o600)
      expect(isCountDue(folder.path, NOW + HOUR - 1)).toBe(false)
      expect(isCountDue(folder.path, NOW + HOUR)).toBe(true)
    })
  })

  describe("many sessions", () => {
    test("what changed last is opened", () => {
      const all = Array.from({ length: NEWEST + 2 }, (_, n) => ({ changed: n, name: String(n) }))
      const newest = newestOf(all)
      expect(newest).toHaveLength(NEWEST)
      expect(newest.some(({ changed }) => changed < 2)).toBe(false)
      expect(newestOf(all.slice(0, 3))).toEqual(all.slice(0, 3))
    })

    test("the copies of one are found by their names, and its subagents with them", () => {
      using archive = new Archive()
      for (const id of ["one", "two"]) archive.follow(archive.session(id).user(`prompt of ${id}`).flush())
      // Claude Code up to 2.0 keeps subagents beside their session: only their lines say whose they are.
      for (const [agent, of] of [
        ["c0ffee", "one"],
        ["decade", "two"],
      ] as const)
        archive.follow(archive.session(`agent-${agent}`, { agent }).user("look", { sessionId: of }).flush())
      const named = (wanted: string): string[] =>
        sourcesOf(archive.dataHome, (id) => id === wanted).map(({ session }) => session)
      expect(named("one").sort()).toEqual(["one", "one/c0ffee"])
      expect(named("two").sort()).toEqual(["two", "two/decade"])
      expect(named("three")).toEqual([])
      const isCounted = (copy: string): boolean => !copy.includes("two")
      expect(sessionsInNames(archive.dataHome, isCounted)).toEqual(new Set(["one"]))
    })

    test("what has grown is told, wherever it is among the sessions that were active last", () => {
      using archive = new Archive()
      const grown = archive.session("one").user("prompt").flush()
      archive.follow(grown)
      archive.follow(archive.session("two").user("prompt").flush())
      const none = { transcripts: 0, bytes: 0 }
      expect(backlog(archive.db)).toEqual({ vault: none, views: none })
      const before = statSync(grown.path).size
      grown.user("more").flush()
      const bytes = statSync(grown.path).size - before
      expect(backlog(archive.db)).toEqual({ vault: { transcripts: 1, bytes }, views: none })
    })
  })
})

/** A database file holds nothing outside its rows any more, and all its rows; a damaged one is not written to. */
describe("wipe unused", () => {
  const change = fc.record({
    row: fc.nat(60),
    what: fc.constantFrom("insert", "insert", "longer", "delete"),
    // Some fill several pages.
    length: fc.oneof(fc.nat(200), fc.nat(12_000)),
  })

  const textOf = (n: number, length: number): string => `only-${n}-only `.repeat(1 + Math.floor(length / 10))

  const rootsOf = (db: Database): number[] =>
    db
      .query<{ root: number }, []>("SELECT rootpage AS root FROM sqlite_schema WHERE rootpage > 1")
      .all()
      .map(({ root }) => root)

  test("rows that were written, grew and were deleted, with indexes and long rows", () => {
    fc.assert(
      fc.property(
        fc.array(change, { maxLength: 120 }),
        fc.constantFrom(512, 4096, 65_536),
        (changes, page) => {
          using folder = tempFolder()
          const path = join(folder.path, "some.db")
          const db = new Database(path)
          db.run(`PRAGMA page_size = ${page}`)
          db.run("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT) STRICT")
          db.run("CREATE TABLE u (text TEXT PRIMARY KEY) STRICT, WITHOUT ROWID")
          db.run("CREATE INDEX t_text ON t (text)")
          for (const [n, { row, what, length }] of changes.entries()) {
            const text = textOf(n, length)
            if (what === "insert") db.query("INSERT OR REPLACE INTO t VALUES (?, ?)").run(row, text)
            else if (what === "longer") db.query("UPDATE t SET text = ? WHERE id = ?").run(text, row)
            else db.query("DELETE FROM t WHERE id = ?").run(row)
            db.query("INSERT OR IGNORE INTO u SELECT text FROM t WHERE id = ?").run(row)
            if (what === "delete") db.run("DELETE FROM u WHERE text NOT IN (SELECT text FROM t)")
          }
          const rows = () => db.query("SELECT text FROM t UNION ALL SELECT text FROM u").all()
          const before = rows()
          const roots = rootsOf(db)
          wipeUnused(path, roots)
          // What SQLite has in its cache does not count.
          const again = new Database(path)
          expect(again.query("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" })
          expect(again.query("SELECT text FROM t UNION ALL SELECT text FROM u").all()).toEqual(before)
          again.close()
          db.close()
          const held = JSON.stringify(before)
          const bytes = readFileSync(path).toString("latin1")
          for (const n of changes.keys())
            if (!held.includes(`only-${n}-only`)) expect(bytes).not.toContain(`only-${n}-only`)
          expect(wipeUnused(path, roots)).toBe(0)
        },
      ),
      { numRuns: 40 },
    )
  })

  test("a page in no place is damage; then the views are made anew", () => {
    using archive = new Archive()
    const gone = archive.session("11111111-0000-4000-8000-000000000000").turn("gone").flush()
    const kept = archive.session("22222222-0000-4000-8000-000000000000").turn("kept").flush()
    const { copy } = archive.follow(gone)
    archive.follow(kept)
    archive.db.run("PRAGMA wal_checkpoint(TRUNCATE)")
    const path = databasePath(archive.dataHome)
    const [first, ...roots] = rootsOf(archive.db)
    archive.db.close()
    expect(first).toBeGreaterThan(1)
    const before = readFileSync(path)
    expect(() => wipeUnused(path, roots)).toThrow("in no place")
    expect(() => wipeUnused(path, [first!, first!, ...roots])).toThrow("in two places")

    // The list of free pages leads nowhere.
    const fd = openSync(path, "r+")
    writeSync(fd, Uint8Array.of(0, 0, 0, 3), 0, 4, 32)
    closeSync(fd)
    expect(before.length).toBe(statSync(path).size)
    rmSync(join(archive.dataHome, "vault", copy))
    const { ino } = statSync(path)
    const removed = (session: string) => (session === gone.session ? ("whole" as const) : undefined)
    expect(followRemoval(archive.dataHome, removed, { now: 1, wait: 0, most: 1 })).toMatchObject({ turns: 1 })
    expect(statSync(path).ino).not.toBe(ino)
    expect(readFileSync(path).includes("gone")).toBe(false)
  })
})

/** What a status says where there is nothing to say it of. */
describe("archive status", () => {
  test("before anything is archived, nothing is wrong", () => {
    using folder = tempFolder()
    using archive = new ReadOnce(join(folder.path, "none"))
    const { database, totals } = statusWith(readViews(archive), archive, Date.UTC(2026, 0, 1))
    expect({ database, totals }).toEqual({ database: { bytes: 0, problem: null, lost: false }, totals: null })
  })
})

describe("cold turns", () => {
  test("turns that come back are found by exactly the words that they had", () => {
    using archive = new Archive()
    const one = archive.session("11111111-2222-3333-4444-555555555555")
    for (const line of syntheticSession()) one.raw(line.trimEnd())
    one.flush()
    archive.follow(one)
    expectSameWordsAgain(archive.db, archive.dataHome)
  })

  test("a file beside a transcript is found in the project of its folder, whatever that is joined with", () => {
    using archive = new Archive()
    const { db, root } = archive
    const one = archive.session("11111111-2222-3333-4444-555555555558", { cwd: "/old" })
    archive.follow(one.turn("Look at the otter", [], "Done.").flush())
    changeJoined(db, root, (file) => withJoin(file, { from: "/old", to: "/new", by: "hand" }))
    const path = join(one.path.replace(/\.jsonl$/, ""), "tool-results", "b1.txt")
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, "the falcon is fine\n")
    archive.follow({ path } as typeof one)
    expect(archive.count("messages WHERE role = 'tool'")).toBe(1)
    expectSameWordsAgain(db, archive.dataHome)
  })

  test("a prompt that waited in the queue is still found only where it was taken out", () => {
    using archive = new Archive()
    const one = archive.session("11111111-2222-3333-4444-555555555556")
    const timestamp = "2026-03-02T08:00:30.000Z"
    const queue = { type: "queue-operation", timestamp, sessionId: one.session }
    one.turn("the first").raw(JSON.stringify({ ...queue, operation: "enqueue", content: "then the gasket" }))
    one
      .raw(JSON.stringify({ ...queue, operation: "dequeue" }))
      .turn("then the gasket", [], "It fits.")
      .flush()
    archive.follow(one)
    expectSameWordsAgain(archive.db, archive.dataHome)
  })

  test("only the turns named are out of the index; their rows stay, and no vectors are made for them", () => {
    using archive = new Archive()
    const one = archive.session("11111111-2222-3333-4444-555555555557")
    one.turn("about the otter").turn("about the falcon").flush()
    archive.follow(one)
    const { db } = archive
    const vectors = packVectors([{ message: 1, scale: 0, data: new Int8Array(4) }], 4)
    putVectors(
      db,
      turnsIn(db).map((turn) => ({ turn, embedder: "e", dimension: 4, last: 0, vectors })),
    )
    const rows = db.query("SELECT * FROM messages").all()
    chill(db, [1])
    const found = (word: string) => db.query("SELECT rowid FROM words WHERE words MATCH ?").all(word).length
    expect([found("otter"), found("falcon")]).toEqual([0, 2])
    expect(db.query("SELECT * FROM messages").all()).toEqual(rows)
    expect(db.query("SELECT turn FROM vectors").all()).toEqual([{ turn: 2 }])
    expect(dueTurns(db, "other", 100, 10).map(({ id }) => id)).toEqual([2])
    expect(vectorTotals(db, "e")).toEqual({ turns: 1, embedded: 0 })
    // A turn that grows while it is cold has words for what is new, once.
    one.say("The otter came back.").flush()
    db.run("UPDATE transcripts SET turn = 1")
    archive.follow(one)
    expect(found("otter")).toBe(1)
    using readers = new CopyReaders()
    expect(warm(db, archive.dataHome, [1], readers)).toEqual([])
    expect(found("otter")).toBe(3)
  })

  test("views of an earlier version have no cold turns, and can be asked", () => {
    const db = emptyDatabase(1)
    expect(hasCold(db)).toBe(false)
    db.close()
  })
})

/** Copies that messages of several sessions are in: what the views know of them stays whole, whichever of them is lost. */
describe("lost rows", () => {
  const AGENT = "a1b2c3"

  class World extends Inside {
    /** Large, so that what concerns the others is no reason to read everything again. */
    readonly large = this.session()
      .turn(Array.from({ length: 9000 }, (_, n) => Bun.hash(`${n}`).toString(36)).join(" "))
      .flush()
    readonly main = this.session().turn("Map the marshes.")
    readonly agent = new Transcript({
      session: this.main.session,
      cwd: this.cwd,
      version: "2.1.112",
      agent: AGENT,
      path: this.path(join(this.main.session, "subagents", `agent-${AGENT}.jsonl`)),
    })
    readonly output = this.path(join(this.main.session, "tool-results", "b7x0a1cd.txt"))
    readonly list = join(this.home, ".claude", "history.jsonl")
    readonly prompted = [1, 2].map((n) => `60000000-0000-4000-8000-00000000000${n}`)

    constructor() {
      super()
      const saved = `<persisted-output>\nOutput too large (61.2KB). Full output saved to: ${this.output}\n\nPreview (first 2KB):\nreed\n...\n</persisted-output>`
      this.agent
        .turn("Measure the sluice.", [{ tool: "Bash", input: { command: "gauge" }, output: saved }], "Done.")
        .turn("Then the causeway.", [], "Done.")
        .flush()
      this.main.flush()
      mkdirSync(dirname(this.output), { recursive: true })
      writeFileSync(this.output, `${"reed\n".repeat(600)}bulrush at the end\n`)
      for (const [n, word] of ["ferryman", "lockkeeper"].entries()) this.typed(word, this.prompted[n]!)
    }

    /** A prompt as Claude Code notes it. */
    typed(word: string, sessionId: string): void {
      const line = {
        display: `Ask the ${word}`,
        pastedContents: {},
        timestamp: 1.7e12,
        project: this.cwd,
        sessionId,
      }
      appendFileSync(this.list, `${JSON.stringify(line)}\n`)
    }

    async done(code: number, ...args: string[]): Promise<string> {
      const ran = await run(args, { env: this.env, cwd: this.cwd })
      expect({ args, ...ran }).toMatchObject({ args, code, stderr: "" })
      return ran.stdout
    }

    async found(word: string): Promise<string[]> {
      const { code, stdout } = await run(["search", word, "--json", "-a"], { env: this.env, cwd: this.cwd })
      return code === 0 ? JSON.parse(stdout).hits.map((hit: { session: string }) => hit.session) : []
    }

    get historyCopy(): string {
      return join(this.dataHome, "vault", "history", "home.jsonl.zst")
    }

    get subagent(): string {
      return `${this.main.session}/${AGENT}`
    }

    /** All that the views know, with copies that are gone under their former names. */
    known(): Record<string, string[]> {
      using db = this.views()
      const { transcripts: _, ...known } = namedViews(db)
      const named = JSON.stringify(known).replaceAll(
        new RegExp(`${goneEnding("")}[0-9a-f-]+\\\\"`, "g"),
        '\\"',
      )
      return JSON.parse(named)
    }
  }

  async function archived(): Promise<World> {
    const world = new World()
    await world.done(0, "import")
    expect(await world.found("bulrush")).toEqual([world.subagent])
    expect(await world.found("ferryman")).toEqual([world.prompted[0]!])
    return world
  }

  /** What is lost, and what is told of it. */
  const LOSSES: readonly (readonly [what: string, lose: (world: World) => string[], told: RegExp])[] = [
    ["a subagent's long output", (world) => [world.output], /: 1 turn of session \S+ is kept/],
    ["its transcript", (world) => [world.agent.path], /: 2 turns of session \S+ are kept/],
    ["its session's transcript", (world) => [world.main.path], /: 1 turn of session \S+ is kept/],
    ["the transcript and the output", (world) => [world.main.path, world.output], /: 1 turn of session/],
    ["all three", (world) => [world.main.path, world.agent.path, world.output], /: 2 turns of session/],
    ["the list of prompts", (world) => [world.list], /: 2 turns of session history are kept/],
  ]

  const copyOf = (world: World, path: string): string =>
    path === world.list ? world.historyCopy : path === world.output ? outputCopy(world) : world.copy(path)

  const outputCopy = (world: World): string =>
    join(world.copy(world.main.path).replace(/\.jsonl\.zst$/, ""), "tool-results", "b7x0a1cd.txt.zst")

  describe.each(LOSSES)("%s lost", (_what, lose, told) => {
    test("rebuilt, twice: nothing that was known is missing", async () => {
      using world = await archived()
      const before = world.known()
      for (const path of lose(world)) {
        rmSync(copyOf(world, path))
        rmSync(path)
      }
      for (let times = 0; times < 2; times++) {
        expect(await world.done(1, "rebuild")).toMatch(told)
        expect(world.known()).toEqual(before)
        expect(await world.found("bulrush")).toEqual([world.subagent])
        expect(await world.found("lockkeeper")).toEqual([world.prompted[1]!])
      }
    })

    test("the others read again: nothing that was known is missing", async () => {
      using world = await archived()
      const before = world.known()
      for (const path of lose(world)) {
        rmSync(copyOf(world, path))
        rmSync(path)
      }
      const removed = (session: string) => (session === world.large.session ? undefined : "nothing")
      const { copies, unreadable, gaps } = followRemoval(world.dataHome, removed, {
        now: Date.now(),
        wait: 0,
      })
      expect({ copies: copies + lose(world).length, unreadable, gaps }).toEqual({
        copies: 5,
        unreadable: [],
        gaps: [],
      })
      expect(world.known()).toEqual(before)
    })
  })

  test("what came into the list of prompts after the former views is there with what it lost", async () => {
    using world = await archived()
    const early = readFileSync(world.historyCopy)
    world.typed("miller", world.prompted[0]!)
    world.typed("bargee", "60000000-0000-4000-8000-000000000003")
    await world.done(0, "import")
    const before = world.known()
    writeFileSync(world.historyCopy, early)
    truncateSync(world.list, 0)
    expect(await world.done(1, "rebuild")).toContain("4 turns of session history are kept")
    expect(world.known()).toEqual(before)
  })

  test("a session whose transcript came since is not put back as its prompts alone", async () => {
    using world = await archived()
    rmSync(world.historyCopy)
    rmSync(world.list)
    const [id] = world.prompted
    const late = world.session({ id: id! }).turn("Ask the ferryman", [], "He has left.").flush()
    // Into the vault, and not into the views.
    const views = readFileSync(join(world.dataHome, "archive.db"))
    await world.done(0, "import")
    writeFileSync(join(world.dataHome, "archive.db"), views)
    for (const suffix of ["-wal", "-shm"])
      rmSync(join(world.dataHome, `archive.db${suffix}`), { force: true })
    await world.done(1, "rebuild")
    expect(JSON.parse(await world.done(0, "show", late.session, "--json")).turns).toHaveLength(1)
    expect(await world.found("left")).toEqual([late.session])
    expect(await world.found("lockkeeper")).toEqual([world.prompted[1]!])
    expect(JSON.stringify(world.known())).not.toContain('"no ')
  })

  test.each<[what: string, session: (world: World) => string]>([
    ["a subagent", ({ subagent }) => subagent],
    ["its session", ({ main }) => main.session],
    ["a session of prompts", ({ prompted }) => prompted[0]!],
    ["the list of prompts", () => "history"],
  ])("%s read again: the views are as they were", async (_what, session) => {
    using world = await archived()
    const before = world.known()
    const removed = (one: string) => (one === session(world) ? "nothing" : undefined)
    expect(followRemoval(world.dataHome, removed, { now: Date.now(), wait: 0 })).toMatchObject({
      copies: 5,
      unreadable: [],
      gaps: [],
    })
    expect(world.known()).toEqual(before)
  })

  test.each<[what: string, args: (world: World) => string[], stays: boolean]>([
    ["a text that only the subagent has", () => ["--match", "the causeway"], true],
    ["a text that only the session has", () => ["--match", "the marshes"], true],
    ["a text of the output", () => ["--match", "bulrush at"], false],
    ["a session of prompts", ({ prompted }) => [prompted[0]!], true],
    ["the session", ({ main }) => [main.session], false],
    ["the subagent", ({ subagent }) => [subagent], false],
  ])("%s forgotten: the views are as after a rebuild", async (_what, args, stays) => {
    using world = await archived()
    await world.done(0, "forget", "--yes", ...args(world))
    expect(await world.found("bulrush")).toEqual(stays ? [world.subagent] : [])
    const followed = world.known()
    expect(JSON.stringify(followed)).not.toContain('"no ')
    await world.done(0, "rebuild")
    expect(world.known()).toEqual(followed)
  })

  test("a subagent forgotten: its outputs go with it and stay away, those of its session stay", async () => {
    using world = await archived()
    const own = world.output.replace("b7x0a1cd", "toolu_own")
    writeFileSync(own, "sedge\n".repeat(300))
    await world.done(0, "import")
    const isKnown = async () => ({
      copy: existsSync(outputCopy(world)),
      found: await world.found("bulrush"),
      own: await world.found("sedge"),
      map: (await world.found("marshes")).length > 0,
    })
    const before = { copy: true, found: [world.subagent], own: [world.main.session], map: true }
    expect(await isKnown()).toEqual(before)
    const dry = JSON.parse(await world.done(0, "forget", "--dry-run", "--json", world.subagent))
    expect(dry.sessions[0]).toMatchObject({
      session: world.subagent,
      transcripts: [world.agent.path, world.output],
    })
    expect(await isKnown()).toEqual(before)
    await world.done(0, "forget", "--yes", world.subagent)
    const after = { ...before, copy: false, found: [] }
    expect(await isKnown()).toEqual(after)
    await world.done(0, "import", "--check")
    expect(await world.hook("stop", world.main)).toMatchObject({ code: 0, stdout: "", stderr: "" })
    expect(await isKnown()).toEqual(after)
    expect((await world.done(0, "verify")).split("\n").at(-2)).toStartWith("All good: ")
    // Taken back, it is archived as before.
    await world.done(0, "forget", "--undo", world.main.session)
    await world.done(0, "import")
    expect(await isKnown()).toEqual(before)
  })

  test("the project of a lost session stays joined with where its folder was moved", async () => {
    using world = await archived()
    const folder = (name: string): string => join(world.root, name)
    for (const name of ["old", "new"]) mkdirSync(folder(name))
    // More projects, and an order in which a rebuild gives them other numbers.
    const session = world
      .session({ cwd: folder("old") })
      .turn("Dredge the canal.")
      .flush()
    world
      .session({ cwd: folder("new") })
      .turn("Fill the lock.")
      .flush()
    await world.done(0, "import")
    await world.done(0, "forget", "--yes", world.large.session)
    const change = (made: (file: JoinedProjects) => JoinedProjects): void => {
      using db = open(world.dataHome, "write", 0)
      changeJoined(db, world.dataHome, made)
    }
    change((file) => withJoin(file, { from: folder("old"), to: folder("new"), by: "hand" }))
    const placeOf = (): unknown => {
      using db = world.views()
      return db
        .query(
          `SELECT p.path AS project, o.path AS own FROM sessions s JOIN projects p ON p.id = s.project
         LEFT JOIN projects o ON o.id = s.own WHERE s.id = ?`,
        )
        .get(session.session)
    }
    const joined = { project: folder("new"), own: folder("old") }
    expect(placeOf()).toEqual(joined)
    rmSync(world.copy(session.path))
    rmSync(session.path)
    await world.done(1, "rebuild")
    expect(placeOf()).toEqual(joined)
    // Taken apart again.
    change((file) => ({ ...file, joins: [] }))
    await world.done(1, "rebuild")
    expect(placeOf()).toEqual({ project: folder("old"), own: null })
  })

  describe("a copy that is gone", () => {
    test("counts neither as archived nor as the session's longest transcript", async () => {
      using world = await archived()
      const { path, session } = world.main
      const longest = tailOf(world.copy(path))!.last!.to
      rmSync(world.copy(path))
      rmSync(path)
      await world.done(1, "rebuild")
      {
        using db = world.views()
        expect(archivedByPath(db).get(path)).toBeUndefined()
        expect(archivedByPath(db).get(world.agent.path)).toBeGreaterThan(0)
      }
      // The session goes on elsewhere.
      const shorter = new Transcript({
        session,
        cwd: world.cwd,
        version: "2.1.112",
        path: world.path(join("..", "-elsewhere", `${session}.jsonl`)),
      })
      shorter.turn("On.").flush()
      await world.done(0, "import")
      const written = readFileSync(shorter.path, "utf8")
      expect(written.length).toBeLessThan(longest)
      expect(await world.done(0, "export", session, "--raw")).toBe(written)
    })
  })
})
