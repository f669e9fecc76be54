/** The recording that README.md shows. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { readFileSync } from "node:fs"
import { COLUMNS, recorded, TOUR } from "../../docs/recording.ts"
import { svgOf } from "../../docs/terminal-svg.ts"
import { binary } from "../support/binary.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

test("docs/images/tour.svg is what the commands print today; if not: bun docs/recording.ts", async () => {
  const drawn = readFileSync(TOUR, "utf8")
  expect(svgOf(await recorded(binary()), COLUMNS)).toBe(drawn)
  expect(drawn.length).toBeLessThan(60_000)
  // An image in a page loads nothing from elsewhere.
  expect(drawn).not.toMatch(/(?:href|src|url\(|@import)/)
})
