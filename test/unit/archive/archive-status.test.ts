/** What a status says where there is nothing to say it of. */
import { expect, test } from "bun:test"
import { join } from "node:path"
import { readStatus } from "../../../src/archive/archive-status.ts"
import { tempFolder } from "../../support/temp.ts"

test("before anything is archived, nothing is wrong", () => {
  using folder = tempFolder()
  const { database, totals } = readStatus(join(folder.path, "none"), Date.UTC(2026, 0, 1))
  expect({ database, totals }).toEqual({ database: { bytes: 0, problem: null, lost: false }, totals: null })
})
