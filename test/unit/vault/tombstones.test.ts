import { afterAll, expect, test } from "bun:test"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { lineHash, type Tombstone } from "../../../src/vault/tombstone.ts"
import {
  emptyTombstone,
  forgottenOf,
  listTombstones,
  ownerOf,
  readTombstone,
  removeTombstone,
  tombstoneCount,
  writeTombstone,
} from "../../../src/vault/tombstones.ts"

const root = mkdtempSync(join(tmpdir(), "ctxbridge-tombstones-"))
afterAll(() => rmSync(root, { recursive: true }))

const bytes = (text: string): Uint8Array => Buffer.from(text)
const home = (name: string): string => join(root, name)

test("written, read, listed in the order of time, removed; nothing where nothing is", () => {
  const data = home("a")
  expect([readTombstone(data, "s"), listTombstones(data), tombstoneCount(data)]).toEqual([undefined, [], 0])
  const [one, two] = [emptyTombstone("s", 2), { ...emptyTombstone("t", 1), whole: true }]
  for (const tombstone of [one, two]) writeTombstone(data, tombstone)
  expect(readTombstone(data, "s")).toEqual(one)
  expect(listTombstones(data)).toEqual([two, one])
  removeTombstone(data, "s")
  expect(tombstoneCount(data)).toBe(1)
})

test("a session is forgotten with its subagents, a subagent alone, an unknown parent's by its path", () => {
  const data = home("b")
  const whole = (session: string, path = "/p"): boolean => forgottenOf(data, session, path)?.whole ?? false
  writeTombstone(data, { ...emptyTombstone("s", 0), whole: true })
  writeTombstone(data, { ...emptyTombstone("t", 0), agents: ["a"] })
  writeTombstone(data, { ...emptyTombstone(ownerOf("unknown/x", "/p/agent-x.jsonl"), 0), whole: true })
  expect(["s", "s/a", "t", "t/a", "t/b", "u"].map((name) => whole(name))).toEqual([
    true,
    true,
    false,
    true,
    false,
    false,
  ])
  expect([whole("unknown/x", "/p/agent-x.jsonl"), whole("unknown/x", "/q/agent-x.jsonl")]).toEqual([
    true,
    false,
  ])
})

test("known lines are filled, again and again, in a copy; all others stay, whatever the array is", () => {
  const data = home("c")
  const empty = emptyTombstone("s", 0)
  const lines: Tombstone["lines"] = {
    [lineHash(empty.key, bytes("my secret"))]: [[3, 9]],
    [lineHash(empty.key, bytes("my ******"))]: [[0, 2]],
  }
  writeTombstone(data, { ...empty, lines })
  const { edit } = forgottenOf(data, "s", "/p")!
  for (const make of [
    (text: string) => Buffer.from(text),
    (text: string) => new Uint8Array(Buffer.from(text)),
  ]) {
    const content = make("one\nmy secret\nmy secret too\nmy secret")
    expect(Buffer.from(edit(content, 0)).toString()).toBe("one\n** ******\nmy secret too\n** ******")
    expect(Buffer.from(content).toString()).toBe("one\nmy secret\nmy secret too\nmy secret")
    const other = make("\n\nmy secrets\n")
    expect(edit(other, 0)).toBe(other)
  }
})

test("neither the text nor its hash without the line stands in the file; a damaged one lets nothing be archived", () => {
  const data = home("d")
  const empty = emptyTombstone("s", 0)
  writeTombstone(data, { ...empty, lines: { [lineHash(empty.key, bytes("my secret"))]: [[3, 9]] } })
  const file = join(data, "forgotten", readdirSync(join(data, "forgotten"))[0]!)
  const text = readFileSync(file, "utf8")
  expect(text).not.toContain("secret")
  expect(text).not.toContain(lineHash(empty.key, bytes("secret")))
  writeFileSync(file, text.slice(0, 20))
  expect(() => forgottenOf(data, "s", "/p")).toThrow("cannot read")
  expect(forgottenOf(data, "t", "/p")).toBeUndefined()
})
