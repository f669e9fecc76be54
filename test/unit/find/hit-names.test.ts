import { expect, test } from "bun:test"
import { search } from "../../../src/find/search-turns.ts"
import { CopyReaders } from "../../../src/vault/reader.ts"
import { openTurn } from "../../../src/views/turn.ts"
import { Archive } from "../../support/archive.ts"

test("a hit is named by what another archive of the session would call it, and opens by that name", () => {
  const found: unknown[] = []
  for (const others of [0, 2]) {
    using archive = new Archive()
    // What is archived before gives the turn another row, and no other name.
    for (let n = 0; n < others; n++)
      archive.follow(archive.session(`before-${n}`).turn(`something else ${n}`, [], "Well.").flush())
    const id = "11111111-0000-4000-8000-000000000005"
    const options = { cwd: "/home/someone/project" }
    archive.follow(archive.session(id, options).turn("where is the walrus", [], "In the harbour.").flush())
    using readers = new CopyReaders()
    const open = (handle: string) => openTurn(archive.db, archive.dataHome, handle, readers)
    const { hits } = search(archive.db, archive.dataHome, { query: "walrus", limit: 5 }, readers)
    const turn = open(hits[0]!.handle)
    expect(hits.map(({ session }) => session)).toEqual([id])
    expect(turn?.messages.map(({ role }) => role)).toEqual(["human", "assistant"])
    expect(turn).toMatchObject({ handle: hits[0]!.handle, session: id, prompt: "where is the walrus" })
    expect(open("ctx:zzzzzz")).toBeUndefined()
    // The beginning of a name is none.
    expect(open(hits[0]!.handle.slice(0, -1))).toBeUndefined()
    const { handle, project } = hits[0]!
    found.push({ handle, project })
  }
  expect(found[1]).toEqual(found[0])
})
