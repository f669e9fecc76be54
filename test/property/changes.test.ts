/** Whoever follows the feed of changes has every turn as it is now, and is told of none twice. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { readFileSync, rmSync } from "node:fs"
import fc from "fast-check"
import { openDatabase } from "../../src/archive/database.ts"
import { changesSince, type Watermark } from "../../src/archive/queries/changes.ts"
import { rebuild } from "../../src/archive/rebuild-views.ts"
import { followRemoval } from "../../src/archive/removal.ts"
import { sources } from "../../src/archive/view-sources.ts"
import { openTurn } from "../../src/read/turn.ts"
import { vaultFile } from "../../src/vault/layout.ts"
import { CopyReaders } from "../../src/vault/reader.ts"
import { rewriteCopy } from "../../src/vault/rewrite.ts"
import { Archive } from "../support/archive.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(120_000)

const SESSIONS = [0, 1, 2]
const idOf = (n: number): string => `5e551011-0000-4000-8000-00000000000${n}`
const wordOf = (n: number): string => `word${n}x`

const step = fc.record({
  session: fc.constantFrom(...SESSIONS),
  what: fc.constantFrom("turn", "grow", "rewind", "fork", "forget", "word", "rebuild", "look", "look"),
})

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

class World {
  readonly archive = new Archive()
  readonly transcripts: Transcript[] = SESSIONS.map((n) => this.archive.session(idOf(n)))
  readonly begun = new Set<number>()
  /** What the latest prompts follow. */
  readonly marks = SESSIONS.map((): (string | null)[] => [])
  /** What the follower has. */
  readonly mirror = new Map<string, string>()
  watermark: Watermark = new Map()

  look(): void {
    const { dataHome } = this.archive
    const db = openDatabase(dataHome, { wait: 0 })
    const readers = new CopyReaders()
    const wholeOf = (handle: string): string => JSON.stringify(openTurn(db, dataHome, handle, readers))
    const { changed, gone, watermark } = changesSince(db, this.watermark)
    expect(new Set([...changed, ...gone]).size).toBe(changed.length + gone.length)
    for (const handle of changed) {
      const whole = wholeOf(handle)
      expect(whole).not.toBe(this.mirror.get(handle) ?? "")
      this.mirror.set(handle, whole)
    }
    for (const handle of gone) expect(this.mirror.delete(handle)).toBe(true)
    const handles = db.query<{ handle: string }, []>("SELECT handle FROM turns").all()
    const now = new Map(handles.map(({ handle }) => [`ctx:${handle}`, wholeOf(`ctx:${handle}`)]))
    expect(Object.fromEntries(this.mirror)).toEqual(Object.fromEntries(now))
    expect(changesSince(db, watermark)).toMatchObject({ changed: [], gone: [] })
    this.watermark = watermark
    readers.close()
    db.close()
  }

  play({ session, what }: Step, n: number): void {
    const transcript = this.transcripts[session]!
    const word = wordOf(n)
    if (what === "look") this.look()
    else if (what === "rebuild") this.#closed(() => rebuild(this.archive.dataHome, { now: 0, wait: 0 }))
    else if (what === "forget" || what === "word") this.#forget(session, what, n)
    else {
      const parent = this.transcripts[session - 1]
      const mark = this.marks[session]!.at(-1) ?? null
      if (what === "rewind" && mark !== null) transcript.backTo(mark).turn(`instead ${word}`)
      else if (what === "grow" && this.begun.has(session)) transcript.say(`more ${word}`)
      else if (
        what === "fork" &&
        parent !== undefined &&
        this.begun.has(session - 1) &&
        !this.begun.has(session)
      )
        transcript.raw(readFileSync(parent.path, "utf8").trimEnd())
      else {
        this.marks[session]!.push(transcript.tip)
        const run = { tool: "Bash", input: { command: `run ${word}` }, output: "ok" }
        transcript.user(`do ${word}`).message().think(`hidden${n}x`).step(run).say("done")
      }
      this.begun.add(session)
      this.archive.follow(transcript.flush())
    }
  }

  /** Takes a session, or the latest word said in it, out of the vault. */
  #forget(session: number, what: "forget" | "word", n: number): void {
    if (!this.begun.has(session)) return
    const { dataHome } = this.archive
    const its = this.transcripts[session]!.session
    // Of what was thought, the row of the turn has nothing.
    const words = Array.from({ length: n }, (_, one) => (n % 2 === 0 ? wordOf(one) : `hidden${one}x`))
    for (const { copy } of sources(dataHome).filter((one) => one.session === its)) {
      const file = vaultFile(dataHome, copy)
      if (what === "forget") rmSync(file)
      else
        rewriteCopy(file, (content) => {
          const text = Buffer.from(content).toString("latin1")
          const last = words.findLast((word) => text.includes(word)) ?? "nothing"
          return Buffer.from(text.replaceAll(last, "*".repeat(last.length)), "latin1")
        })
    }
    const kind = what === "forget" ? "whole" : "text"
    this.#closed(() =>
      followRemoval(dataHome, (id) => (id === its ? kind : undefined), {
        now: 0,
        wait: 0,
        most: 1,
      }),
    )
    // The host goes on in another file.
    if (what !== "forget") return
    this.begun.delete(session)
    const id = `${idOf(session).slice(0, -4)}${String(n).padStart(4, "0")}`
    this.transcripts[session] = this.archive.session(id)
    this.marks[session] = []
  }

  #closed(work: () => unknown): void {
    this.archive.db.close()
    work()
    Object.assign(this.archive, { db: openDatabase(this.archive.dataHome, { wait: 0 }) })
  }
}

/** Every kind of change between two looks. */
const examples = (["turn", "turn", "grow", "rewind", "word", "rebuild", "forget"] as const).flatMap(
  (what): Step[] => [
    { session: 0, what },
    { session: 0, what: "look" },
  ],
)

test("turns grow, are taken back, are forgotten, and views are made anew", () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 4, maxLength: 24 }), (steps) => {
      const world = new World()
      using _archive = world.archive
      for (const [n, one] of steps.entries()) world.play(one, n)
      world.look()
    }),
    { numRuns: 25, examples: [[examples]] },
  )
})
