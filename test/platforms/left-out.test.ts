/** What is left out of the e2e tests elsewhere is named as it is named here. */
import { expect, test } from "bun:test"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { TARGETS } from "../../build/release/targets.ts"
import { patternOf, trialOf } from "./left-out.ts"

test("every file that is left out exists, and every reason names something", () => {
  for (const { name } of TARGETS) {
    for (const { files = [], tests = [], why } of trialOf(name).leftOut) {
      const missing = files.filter((file) => !existsSync(join(import.meta.dir, "../e2e", `${file}.test.ts`)))
      expect({ why, missing, some: files.length + tests.length > 0 }).toEqual({
        why,
        missing: [],
        some: true,
      })
    }
  }
})

test("the pattern matches all tests but those whose names start as said", () => {
  expect(patternOf({ slowness: 1, leftOut: [] })).toBeUndefined()
  const pattern = new RegExp(
    patternOf({ slowness: 1, leftOut: [{ why: "slow", tests: ["a job (1)", "b"] }] })!,
  )
  const names = ["a job", "a job (1) ends", "b", "not b"]
  expect(names.filter((name) => pattern.test(name))).toEqual(["a job", "not b"])
})
