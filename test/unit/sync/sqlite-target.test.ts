/** Entries in a SQLite file. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { openSqliteTarget } from "../../../src/sync/targets/sqlite-target.ts"
import { tempFolder } from "../../support/temp.ts"
import { draft, targetContract } from "./contract.ts"

setDefaultTimeout(60_000)

const target = async () => {
  const folder = tempFolder()
  const path = join(folder.path, "target.db")
  return {
    open: async () => openSqliteTarget(path),
    read: async () => openSqliteTarget(path, true),
    [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
  }
}

targetContract("sqlite", target, { frames: false })

test("it is one private file, and forgotten or replaced text is not in it any more", async () => {
  using folder = tempFolder()
  const path = join(folder.path, "target.db")
  const backend = openSqliteTarget(path)
  const secret = draft({ content: "the launch code is swordfish", messages: 2 })
  const { chunkIndex } = secret.metadata
  const other = draft({ content: "marlin" })
  await backend.put([secret, other, draft({ content: "kept" })])
  expect(readFileSync(path, "latin1")).toContain("swordfish")
  await backend.put([draft({ content: "the launch code is *********", messages: 3, chunkIndex })])
  await backend.forget({ ids: [other.id] })
  await backend.close()
  expect(readdirSync(folder.path)).toEqual(["target.db"])
  expect(statSync(path).mode & 0o777).toBe(0o600)
  const bytes = readFileSync(path, "latin1")
  for (const word of ["swordfish", "marlin"]) expect(bytes).not.toContain(word)
  expect(bytes).toContain("kept")
})

test("a reader makes and changes nothing", async () => {
  using folder = tempFolder()
  const path = join(folder.path, "target.db")
  const codeOf = (open: () => unknown): unknown => {
    try {
      open()
      return "opened"
    } catch (error) {
      return (error as { code?: unknown }).code
    }
  }
  expect(codeOf(() => openSqliteTarget(path, true))).toBe("target-missing")
  expect(existsSync(path)).toBe(false)
  expect(codeOf(() => openSqliteTarget(join(folder.path, "missing", "x.db")))).toBe("target-missing")
  const entry = draft({})
  const writer = openSqliteTarget(path)
  await writer.put([entry])
  const reader = openSqliteTarget(path, true)
  expect(await reader.get(entry.id)).toEqual(entry)
  await expect(reader.put([draft({})])).rejects.toMatchObject({ code: "target-unwritable" })
  await reader.close()
  await writer.close()
})

test("what is no file of ours is left alone", async () => {
  using folder = tempFolder()
  const at = (name: string): string => join(folder.path, name)
  const codeOf = (path: string): unknown => {
    try {
      openSqliteTarget(path)
      return "opened"
    } catch (error) {
      return (error as { code?: unknown }).code
    }
  }
  mkdirSync(at("folder"))
  expect(codeOf(at("folder"))).toBe("target-missing")
  writeFileSync(at("text"), "not a database, but long enough to be taken for one".repeat(40))
  expect(codeOf(at("text"))).toBe("target-damaged")
  const { Database } = await import("bun:sqlite")
  const foreign = new Database(at("foreign"))
  foreign.run("CREATE TABLE notes (text)")
  foreign.close()
  expect(codeOf(at("foreign"))).toBe("target-damaged")
  const newer = new Database(at("newer"))
  newer.run("PRAGMA user_version = 99")
  newer.close()
  expect(codeOf(at("newer"))).toBe("target-newer")
})
