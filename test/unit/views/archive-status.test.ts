/** What a status says where there is nothing to say it of. */
import { expect, test } from "bun:test"
import { join } from "node:path"
import { ReadOnce, readViews, statusWith } from "../../../src/views/archive-status.ts"
import { tempFolder } from "../../support/temp.ts"

test("before anything is archived, nothing is wrong", () => {
  using folder = tempFolder()
  using archive = new ReadOnce(join(folder.path, "none"))
  const { database, totals } = statusWith(readViews(archive), archive, Date.UTC(2026, 0, 1))
  expect({ database, totals }).toEqual({ database: { bytes: 0, problem: null, lost: false }, totals: null })
})
