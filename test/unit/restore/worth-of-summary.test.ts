/** What `show --json` tells a turn to be worth in which Claude Code compacted the session. */
import { expect, test } from "bun:test"
import { Inside, run } from "../../support/inside.ts"

test("Claude Code's own summary is an entry of high confidence; the turns around it are like others", async () => {
  using machine = new Inside()
  const start = Date.now() - 3_600_000
  const session = machine.session({ start }).turn("Before the compaction")
  session.turn("The compacted one").boundary().summary("We were at it.").turn("After the compaction").flush()
  await machine.hook("stop", session)
  const found = await run(["search", "compaction OR compacted", "--json"], machine)
  expect(found).toMatchObject({ code: 0, stderr: "" })
  const worth: Record<string, number> = {}
  for (const { handle } of JSON.parse(found.stdout).hits) {
    const shown = JSON.parse((await run(["show", handle, "--json"], machine)).stdout)
    worth[shown.prompt] = shown.worth.confidence
  }
  expect(Object.keys(worth).toSorted()).toEqual([
    "After the compaction",
    "Before the compaction",
    "The compacted one",
  ])
  expect(worth["The compacted one"]).toBeGreaterThan(0.98)
  expect(worth["Before the compaction"]).toBeLessThanOrEqual(0.8)
  expect(worth["After the compaction"]).toBeLessThanOrEqual(0.8)
})
