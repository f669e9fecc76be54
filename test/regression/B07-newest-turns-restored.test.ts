/** The reference gave back the oldest turns, and after each restore more surely the same ones (B-7, B-8). */
import { expect, test } from "bun:test"
import { gather } from "../../src/restore/gather.ts"
import { renderRestore } from "../../src/restore/render.ts"
import { Archive } from "../support/archive.ts"

test("of 35 turns, the newest are given back, at every restore", () => {
  using archive = new Archive()
  const transcript = archive.session("s1")
  for (let n = 1; n <= 35; n++) transcript.turn(`what was said in turn ${n}`, [], "Done.")
  for (const last of [35, 36, 37]) {
    archive.follow(transcript.flush())
    const options = { source: "compact", budget: 1500, summary: "" } as const
    const text = renderRestore(gather(archive.db, "s1"), options)
    const told = [...text.matchAll(/turn (\d+)"/g)].map(([, n]) => Number(n))
    expect(told.length).toBeGreaterThan(5)
    expect(told).toEqual(Array.from({ length: told.length }, (_, n) => last - told.length + 1 + n))
    transcript.turn(`what was said in turn ${last + 1}`, [], "Done.")
  }
})
