import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { searchColdTurns } from "../../../src/find/cold.ts"
import { search } from "../../../src/find/search-turns.ts"
import { knownTurns } from "../../../src/restore/worth/reopened.ts"
import { tend } from "../../../src/restore/worth/tiering.ts"
import { confidence } from "../../../src/restore/worth/tiers.ts"
import { CopyReaders } from "../../../src/vault/reader.ts"
import type { Database } from "../../../src/views/database.ts"
import { open } from "../../../src/views/open.ts"
import { rebuild } from "../../../src/views/rebuild-views.ts"
import { openTurn } from "../../../src/views/turn.ts"
import { Archive } from "../../support/archive.ts"
import { Transcript } from "../../support/transcript.ts"

/** Ninety days of work, with the clock passed in: who is cold when, and that nothing is lost. */
describe("ninety days", () => {
  setDefaultTimeout(60_000)

  const HOUR = 3_600_000
  const DAY = 24 * HOUR
  const BEGIN = Date.UTC(2026, 0, 5, 9)
  const DAYS = 90

  /** Each day's word, which no other day has. */
  const wordOf = (day: number): string =>
    `quarry${String.fromCharCode(97 + Math.floor(day / 10), 97 + (day % 10))}`

  /** The day that each day looks up again, by its handle; undefined for none. */
  const lookedUp = (day: number): number | undefined => (day >= 20 && day % 9 === 2 ? day - 20 : undefined)

  class Life {
    readonly archive = new Archive()

    get db(): Database {
      return this.archive.db
    }

    handle(day: number): string {
      return this.db
        .query<{ handle: string }, [string]>("SELECT handle FROM turns WHERE prompt = ?")
        .get(`Dig in ${wordOf(day)}.`)!.handle
    }

    /** One session a day: a turn about the day's word and, on some days, one that opens an earlier turn. */
    live(day: number): void {
      const { archive } = this
      const id = `5e551011-0000-4000-8000-${String(day).padStart(12, "0")}`
      const { path, options } = archive.session(id)
      const session = new Transcript({ ...options, path, start: BEGIN + day * DAY })
      session.turn(`Dig in ${wordOf(day)}.`, [{ tool: "Bash", input: { command: "dig" }, output: "dug" }])
      const back = lookedUp(day)
      if (back !== undefined) {
        const input = { handle: `ctx:${this.handle(back)}` }
        session.turn("What was that?", [{ tool: "mcp__ctxbridge__get", input, output: "a turn" }])
      }
      archive.follow(session.flush())
    }

    tend(now: number, limits = LIMITS): void {
      tend(this.db, this.archive.dataHome, limits, now, () => {})
    }

    /** The days whose turns are cold. */
    cold(db = this.db): number[] {
      const rows = db.query<{ prompt: string }, []>("SELECT prompt FROM turns WHERE cold = 1").all()
      const days = rows.map(({ prompt }) => prompt)
      return Array.from({ length: DAYS }, (_, day) => day).filter((day) =>
        days.includes(`Dig in ${wordOf(day)}.`),
      )
    }

    counts(): unknown {
      return this.db
        .query(
          `SELECT (SELECT count(*) FROM turns) AS turns, (SELECT count(*) FROM messages) AS messages,
           (SELECT count(*) FROM tool_calls) AS calls, (SELECT sum(indexed) FROM transcripts) AS bytes`,
        )
        .get()
    }
  }

  const LIMITS = { retention: 30, maxSize: 0 }

  test("ninety days", async () => {
    const life = new Life()
    using archive = life.archive
    const { db, dataHome } = archive
    /** When each day's turn was used, by the plan of these days. */
    const uses = new Map<number, number[]>()
    for (let day = 0; day < DAYS; day++) {
      life.live(day)
      const back = lookedUp(day)
      if (back !== undefined) uses.set(back, [BEGIN + day * DAY])
      const before = life.counts()
      const now = BEGIN + day * DAY + 8 * HOUR
      life.tend(now)
      // Nothing is deleted by it …
      expect(life.counts()).toEqual(before)
      // … and only what is older than 30 days, and was not used, is cold.
      const expected = Array.from({ length: day + 1 }, (_, n) => n).filter(
        (n) => day - n >= 30 && !uses.has(n),
      )
      expect(life.cold()).toEqual(expected)
      for (const { born, uses: times, handle } of knownTurns(db)) {
        const own = Array.from({ length: day + 1 }, (_, n) => n).find((n) => life.handle(n) === handle)
        if (own === undefined) continue
        expect(times.map((time) => Math.round((time - BEGIN) / DAY))).toEqual(
          (uses.get(own) ?? []).map((time) => (time - BEGIN) / DAY),
        )
        const value = confidence(born!, times, now)
        const hours = (day - own) * 24 + 8
        const used = uses.get(own)?.[0]
        const wanted =
          used === undefined
            ? Math.max(0.1, 0.8 - 0.005 * hours)
            : Math.max(0.1, Math.max(0.1, 0.8 - 0.005 * 20 * 24) + 0.03 - (0.005 * (now - used)) / HOUR)
        expect(Math.abs(value - wanted)).toBeLessThan(0.01 * wanted)
      }
    }
    const end = BEGIN + DAYS * DAY + 12 * HOUR

    // 130 compactions in one minute change nothing.
    life.tend(end)
    const then = { cold: life.cold(), counts: life.counts() }
    for (let n = 0; n < 130; n++) life.tend(end + n * 460)
    expect({ cold: life.cold(), counts: life.counts() }).toEqual(then)

    // What is cold is not in the index, but is found, and opened, and its session is what it was.
    using readers = new CopyReaders()
    const ask = (query: string) =>
      search(db, dataHome, { query, limit: 5, isExact: true }, readers).hits.length
    expect([ask(wordOf(10)), ask(wordOf(80))]).toEqual([0, 1])
    const wanting = { words: { asked: [], lacking: [] } }
    const inVault = (query: string, longest?: number) =>
      searchColdTurns(db, dataHome, { query, limit: 5 }, wanting, longest)
    expect(inVault(wordOf(10))).toMatchObject({
      hits: [{ cold: true, handle: `ctx:${life.handle(10)}` }],
      isCut: false,
    })
    expect(inVault(wordOf(80)).hits).toEqual([])
    expect(inVault(wordOf(10), 0)).toMatchObject({ hits: [], isCut: true })
    expect(openTurn(db, dataHome, `ctx:${life.handle(10)}`, readers)?.prompt).toBe(`Dig in ${wordOf(10)}.`)

    // A use brings it back.
    const session = archive.session("5e551011-0000-4000-8000-000000000999")
    const input = { handle: `ctx:${life.handle(10)}` }
    const late = new Transcript({ ...session.options, path: session.path, start: end })
    late.turn("Once more?", [{ tool: "mcp__ctxbridge__get", input, output: "a turn" }]).flush()
    archive.follow(late)
    life.tend(end)
    expect(life.cold()).not.toContain(10)
    expect(ask(wordOf(10))).toBe(1)

    // Views made anew have the same turns cold, as soon as they have been looked at.
    const cold = life.cold()
    expect(cold.length).toBeGreaterThan(40)
    readers.close()
    db.close()
    rebuild(dataHome, { now: end, wait: 0 })
    using anew = open(dataHome, "write", 0)
    expect(life.cold(anew)).toEqual([])
    tend(anew, dataHome, LIMITS, end, () => {})
    expect(life.cold(anew)).toEqual(cold)

    // Without a limit all of them come back.
    tend(anew, dataHome, { retention: 0, maxSize: 0 }, end, () => {})
    expect(life.cold(anew)).toEqual([])
  })

  test("by size: the oldest of the unused make room, and no more than needed", () => {
    const life = new Life()
    using archive = life.archive
    for (let day = 0; day < 30; day++) life.live(day)
    const now = BEGIN + 30 * DAY
    const turns = knownTurns(life.db)
    const all = turns.reduce((sum, { bytes }) => sum + bytes, 0)
    const limits = { retention: 0, maxSize: all - 1 }
    life.tend(now, limits)
    // Day 0 was looked up on day 20.
    expect(life.cold()).toEqual([1])
    life.tend(now, { retention: 0, maxSize: 1 })
    // The last five days are still above 0.15.
    const young = Array.from({ length: 30 }, (_, day) => day).filter((day) => (30 - day) * 24 < 130)
    expect(life.cold()).toEqual(
      Array.from({ length: 30 }, (_, day) => day).filter((day) => ![0, 9, ...young].includes(day)),
    )
    expect(archive.count("turns")).toBe(turns.length)
    // Ended at any moment, it goes on the next time.
    const stopped = (): never => {
      throw new Error("stopped")
    }
    let steps = 0
    const after = (most: number) => () => (++steps > most ? stopped() : undefined)
    expect(() => tend(life.db, archive.dataHome, limits, now, after(1))).toThrow("stopped")
    expect(life.cold().length).toBeGreaterThan(1)
    expect(life.cold().length).toBeLessThan(23)
    life.tend(now, limits)
    expect(life.cold()).toEqual([1])
  })
})
