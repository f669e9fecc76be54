/** Which files below a folder are transcripts, in which order, and what is told of the rest. */
import { expect, test } from "bun:test"
import { mkdirSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { isQuiet, transcriptsBelow } from "../../../src/job/find-transcripts.ts"
import { tempFolder } from "../../support/temp.ts"

/** Until the file system would give a new file another time: its clock may tick only every few milliseconds. */
function untilLater(file: string): void {
  const probe = `${file}.probe`
  const born = (path: string): number => statSync(path).birthtimeMs || statSync(path).mtimeMs
  for (let later = false; !later; rmSync(probe)) {
    writeFileSync(probe, "")
    later = born(probe) > born(file)
  }
}

test("transcripts are found in folders of any project, oldest first; links are told, and not followed", () => {
  using folder = tempFolder()
  const path = (name: string): string => join(folder.path, name)
  for (const name of [
    "p/b.jsonl",
    "p/a.jsonl",
    "p/b/subagents/agent-1.jsonl",
    "p/notes.txt",
    "q/c.jsonl.bak",
  ]) {
    mkdirSync(dirname(path(name)), { recursive: true })
    writeFileSync(path(name), "")
    untilLater(path(name))
  }
  symlinkSync(path("p/a.jsonl"), path("q/link.jsonl"))
  symlinkSync(path("p"), path("q/folder"))
  symlinkSync(path("nowhere"), path("q/broken"))
  const links: string[] = []
  expect(transcriptsBelow(folder.path, { onLink: (link) => links.push(link) })).toEqual(
    ["p/b.jsonl", "p/a.jsonl", "p/b/subagents/agent-1.jsonl"].map(path),
  )
  expect(links.sort()).toEqual(["q/folder", "q/link.jsonl"].map(path))
})

test("a folder that does not exist has none, and is not told as unreadable", () => {
  using folder = tempFolder()
  const unreadable: string[] = []
  const found = transcriptsBelow(join(folder.path, "none"), { onUnreadable: (path) => unreadable.push(path) })
  expect({ found, unreadable }).toEqual({ found: [], unreadable: [] })
})

test("a file is quiet once nobody has written it for a minute", () => {
  using folder = tempFolder()
  const file = join(folder.path, "a.jsonl")
  writeFileSync(file, "")
  expect(isQuiet(file)).toBe(false)
  utimesSync(file, Date.now() / 1000, Date.now() / 1000 - 61)
  expect(isQuiet(file)).toBe(true)
  expect(isQuiet(join(folder.path, "none"))).toBe(true)
})
