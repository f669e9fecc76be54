/** What this machine remembers of encrypted folders: at each path, under each id, whatever somebody puts there. */
import { expect, test } from "bun:test"
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { SealedFolders } from "../../../src/sync/targets/seal.ts"
import { tempFolder } from "../../support/temp.ts"

const idsOf = (seen: SealedFolders, root: string, id?: string): string[] =>
  seen.about(root, id).map((one) => one.id)

test("a folder is known at its path, under its id, through links, and wherever it was", () => {
  using folder = tempFolder()
  const at = (name: string): string => join(folder.path, name)
  const seen = new SealedFolders(at("state"))
  expect(idsOf(seen, at("cloud"), "one")).toEqual([])
  mkdirSync(at("cloud"))
  symlinkSync(at("cloud"), at("link"))
  seen.note(at("link"), "one", "key", true)
  const again = new SealedFolders(at("state"))
  for (const root of ["cloud", "link"]) expect(idsOf(again, at(root))).toEqual(["one"])
  expect(idsOf(again, at("elsewhere"), "one")).toEqual(["one"])
  expect(idsOf(again, at("elsewhere"), "two")).toEqual([])
  // A link that leads elsewhere now, and a folder that is gone.
  rmSync(at("link"))
  mkdirSync(at("other"))
  symlinkSync(at("other"), at("link"))
  expect(idsOf(again, at("link"))).toEqual(["one"])
  expect(idsOf(again, at("other"))).toEqual([])
  renameSync(at("cloud"), at("moved"))
  expect(idsOf(again, at("cloud"))).toEqual(["one"])
  seen.note(at("moved"), "one", "key", true)
  expect(idsOf(again, at("moved"))).toEqual(["one"])
  expect(idsOf(again, at("cloud"))).toEqual(["one"])
})

test.skipIf(process.platform !== "linux")("upper and lower case are told apart where the system does", () => {
  using folder = tempFolder()
  const at = (name: string): string => join(folder.path, name)
  const seen = new SealedFolders(at("state"))
  mkdirSync(at("cloud"))
  mkdirSync(at("Cloud"))
  seen.note(at("cloud"), "one", "key", true)
  expect(idsOf(seen, at("Cloud"))).toEqual([])
  // As on a stick that does not: one folder with both names.
  rmSync(at("Cloud"), { recursive: true })
  symlinkSync(at("cloud"), at("Cloud"))
  expect(idsOf(seen, at("Cloud"))).toEqual(["one"])
})

test("what a passphrase has opened is not replaced by what it has not; a new key takes the place of the old one", () => {
  using folder = tempFolder()
  const root = join(folder.path, "cloud")
  const seen = new SealedFolders(join(folder.path, "state"))
  seen.note(root, "stranger", "key", false)
  expect(seen.about(root)).toMatchObject([{ id: "stranger", proven: false }])
  seen.note(root, "one", "key", true)
  expect(seen.about(root)).toMatchObject([{ id: "one", proven: true }])
  seen.note(root, "stranger", "key", false)
  seen.note(join(folder.path, "copy"), "one", "another key", false)
  expect(seen.about(root)).toMatchObject([{ id: "one", key: "key", proven: true }])
  expect(idsOf(seen, join(folder.path, "copy"))).toEqual([])
  seen.note(root, "two", "key", true)
  expect(seen.about(root, "one")).toMatchObject([{ id: "two" }])
  // Others stay.
  seen.note(join(folder.path, "other"), "three", "key", true)
  expect(idsOf(seen, root)).toEqual(["two"])
})

test("a file that is damaged is as none", () => {
  using folder = tempFolder()
  const seen = new SealedFolders(folder.path)
  for (const text of ["", "{", "[]", '{"folders":7}', '{"folders":[null,{"id":7}]}']) {
    writeFileSync(seen.file, text)
    expect({ text, about: seen.about("/x", "one") }).toEqual({ text, about: [] })
  }
})
