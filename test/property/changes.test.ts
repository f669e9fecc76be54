/** Whoever follows the feed of changes has every turn as it is now, and is told of none twice. */
import { expect, setDefaultTimeout, test } from "bun:test"
import fc from "fast-check"
import { CopyReaders } from "../../src/vault/reader.ts"
import { open } from "../../src/views/open.ts"
import {
  changesSince,
  familiesSince,
  type ViewsMark,
  type Watermark,
} from "../../src/views/queries/touched-files.ts"
import { openTurn } from "../../src/views/turn.ts"
import { ChangingArchive, changingStep, type Step } from "../support/changing-archive.ts"

setDefaultTimeout(120_000)

class World extends ChangingArchive {
  /** What the follower has. */
  readonly mirror = new Map<string, string>()
  watermark: Watermark = new Map()
  mark: ViewsMark | undefined

  look(): void {
    const { dataHome } = this.archive
    const db = open(dataHome, "write", 0)
    const readers = new CopyReaders()
    const wholeOf = (handle: string): string => JSON.stringify(openTurn(db, dataHome, handle, readers))
    const { changed, gone, watermark } = changesSince(db, this.watermark)
    expect(new Set([...changed, ...gone]).size).toBe(changed.length + gone.length)
    // Whoever looks only at sessions that may have changed sees the same.
    const { mark, families } = familiesSince(db, () => false, this.mark, [])
    expect(changesSince(db, this.watermark, families).changed).toEqual(changed)
    if (gone.length > 0) expect(families).toBeUndefined()
    expect(familiesSince(db, () => false, mark, [])).toEqual({ mark, families: new Set() })
    this.mark = mark
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

  override play(step: Step, n: number): void {
    if (step.what === "look") this.look()
    else super.play(step, n)
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
    fc.property(fc.array(changingStep, { minLength: 4, maxLength: 24 }), (steps) => {
      const world = new World()
      using _archive = world.archive
      for (const [n, one] of steps.entries()) world.play(one, n)
      world.look()
    }),
    { numRuns: 25, examples: [[examples]] },
  )
})
