/** Pieces of vaults in a folder. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { appendFileSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { openFolderFrames } from "../../support/frames-of.ts"
import { tempFolder } from "../../support/temp.ts"
import { piece } from "./contract.ts"

setDefaultTimeout(60_000)

test("half a line is dropped, and put again", async () => {
  using folder = tempFolder()
  const first = piece("first\n")
  const second = piece("second\n", { from: first.to })
  await openFolderFrames(folder.path, "one").put([first, second])
  const file = join(folder.path, "frames", "one.1.jsonl")
  truncateSync(file, statSync(file).size - 20)
  const store = openFolderFrames(folder.path, "one")
  expect(await store.list()).toHaveLength(1)
  expect(await store.put([first, second])).toEqual({ stored: 1, known: 1, refused: 0 })
  expect(await store.get([first, second])).toEqual([first, second])
  expect(statSync(file).mode & 0o777).toBe(0o600)
})

test("lines that are damaged, or say to be somebody else's, are passed over", async () => {
  using folder = tempFolder()
  const its = piece("mine\n")
  const store = openFolderFrames(folder.path, "one")
  await store.put([its])
  const file = join(folder.path, "frames", "one.1.jsonl")
  const foreign = readFileSync(file, "utf8").replace('"writer":"one"', '"writer":"other"')
  appendFileSync(file, `no json\n{"frame":"x"}\n${foreign}`)
  expect(await store.list()).toHaveLength(1)
  expect(await store.get([its])).toEqual([its])
})

test("forgotten bytes leave our files at once, and those of another machine at its next turn", async () => {
  using folder = tempFolder()
  const everything = (): string =>
    readdirSync(join(folder.path, "frames"))
      .map((name) => readFileSync(join(folder.path, "frames", name), "utf8"))
      .join("\n")
  const its = piece("the launch code\n", { session: "gone" })
  const inFile = Buffer.from(its.frame).toString("base64")
  const one = openFolderFrames(folder.path, "one")
  await one.put([its])
  await openFolderFrames(folder.path, "other").put([{ ...its, writer: "other" }])
  // What a process killed in the middle of this leaves.
  writeFileSync(join(folder.path, "frames/.one.1.jsonl.new"), inFile)
  await one.forget(["gone"])
  expect(readdirSync(join(folder.path, "frames"))).toEqual(["other.1.jsonl"])
  expect(everything()).toContain(inFile)
  await openFolderFrames(folder.path, "other").put([])
  expect(everything()).not.toContain(inFile)
})
