import { expect, test } from "bun:test"
import type { Finder } from "../../../src/search/finder.ts"
import { localFinder } from "../../../src/search/local-finder.ts"
import { CopyReaders } from "../../../src/vault/reader.ts"
import { Archive } from "../../support/archive.ts"

test("a hit is named by what another archive of the session would call it, and opens by that name", async () => {
  const found: unknown[] = []
  for (const others of [0, 2]) {
    using archive = new Archive()
    // What is archived before gives the turn another row, and no other name.
    for (let n = 0; n < others; n++)
      archive.follow(archive.session(`before-${n}`).turn(`something else ${n}`, [], "Well.").flush())
    const id = "11111111-0000-4000-8000-000000000005"
    const options = { cwd: "/home/someone/project" }
    archive.follow(archive.session(id, options).turn("where is the walrus", [], "In the harbour.").flush())
    const readers = new CopyReaders()
    const finder: Finder = localFinder(archive.db, archive.dataHome, readers)
    const { hits } = await finder.find({ query: "walrus", limit: 5 })
    const turn = await finder.open(hits[0]!.handle)
    expect(hits.map(({ session }) => session)).toEqual([id])
    expect(turn?.messages.map(({ role }) => role)).toEqual(["human", "assistant"])
    expect(turn).toMatchObject({ handle: hits[0]!.handle, session: id, prompt: "where is the walrus" })
    expect(await finder.open("ctx:zzzzzz")).toBeUndefined()
    // The beginning of a name is none.
    expect(await finder.open(hits[0]!.handle.slice(0, -1))).toBeUndefined()
    const { handle, project } = hits[0]!
    found.push({ handle, project })
    readers.close()
  }
  expect(found[1]).toEqual(found[0])
})
