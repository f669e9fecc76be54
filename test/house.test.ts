/** The house does not grow back: how many files there are, how long they are, and who uses what they export. */
import { expect, test } from "bun:test"
import { join } from "node:path"
import { houseIn } from "./support/house.ts"

const house = houseIn(join(import.meta.dir, ".."))

test("no file is longer than what one reads in one sitting", () => {
  expect(house.longest).toBeLessThanOrEqual(600)
})

/** As it is, with room for what a new agent or command brings; whoever makes one of them smaller lowers it here. */
test.each([
  ["files", 570],
  ["short", 39],
  ["exported", 3221],
  ["once", 1554],
  ["never", 152],
] as const)("%s: at most %i", (name, most) => {
  expect(house[name]).toBeLessThanOrEqual(most)
})

test("half of the files have at least as many lines", () => {
  expect(house.median).toBeGreaterThanOrEqual(130)
})

test("what is exported is imported, if only by a test", () => {
  // It stands in a text that `demo` shows.
  expect(house.unused).toEqual(["src/cli/commands/demo.ts allow"])
})
