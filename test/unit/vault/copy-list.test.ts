/** The list of what the vault has held: what it says after every kind of change, and whoever dies or writes beside. */
import { afterEach, beforeEach, expect, test } from "bun:test"
import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { compactVault } from "../../../src/vault/compact-vault.ts"
import { doubtCopies, dropFromList, isUntouched, noteCopies, readList } from "../../../src/vault/copy-list.ts"
import { vaultFile } from "../../../src/vault/layout.ts"
import { findLosses } from "../../../src/vault/lost-copies.ts"
import { setAsideIfDifferent } from "../../../src/vault/mend-copy.ts"
import { rewriteCopy } from "../../../src/vault/rewrite.ts"
import { listVault } from "../../../src/views/list-vault.ts"
import { Archive } from "../../support/archive.ts"
import { holding } from "../../support/held.ts"
import type { Transcript } from "../../support/transcript.ts"

let archive: Archive
let session: Transcript
let copy: string

const list = (): string => join(archive.dataHome, "vault", "copies.jsonl")

/** As whoever brings the views up to date. */
function note(): void {
  noteCopies(archive.dataHome, [{ copy, session: session.session }])
}

const losses = () => findLosses({ dataHome: archive.dataHome })
const listed = () => [...readList(archive.dataHome).copies.values()]

beforeEach(() => {
  archive = new Archive()
  session = archive.session("one").turn("first").flush()
  copy = archive.take(session).copy
  note()
})

afterEach(() => archive[Symbol.dispose]())

test("an entry says what the copy's cursor says", () => {
  const file = vaultFile(archive.dataHome, copy)
  expect(listed()).toMatchObject([
    { copy, path: session.path, session: "one", to: statSync(session.path).size, size: statSync(file).size },
  ])
  expect(statSync(list()).mode & 0o777).toBe(0o600)
})

test("a hook writes none: the copy has grown, and is not lost", () => {
  const before = readFileSync(list())
  session.turn("second").flush()
  archive.take(session)
  expect(readFileSync(list()).equals(before)).toBe(true)
  expect(losses()).toMatchObject({ lost: [], restorable: [], replaced: [], changed: [] })
  note()
  expect(listed()).toMatchObject([{ to: statSync(session.path).size }])
})

/** What is killed between copy and list has left a copy that nobody noted; it is as safe as before. */
test("a copy that is not noted is noted by the next look", () => {
  const other = archive.session("two").turn("unknown to the list").flush()
  archive.take(other)
  expect(listed()).toHaveLength(1)
  expect(losses().lost).toEqual([])
  listVault(archive.dataHome)
  expect(listed().map((one) => one.session)).toEqual(["one", "two"])
})

test("merging, redacting and setting aside lose nothing in its eyes", () => {
  for (const word of ["second", "third"]) {
    session.turn(word).flush()
    archive.take(session)
  }
  note()
  rmSync(session.path)
  expect(compactVault(archive.dataHome, { dryRun: false })?.changed).toHaveLength(1)
  const edit = (content: Uint8Array) =>
    Buffer.from(Buffer.from(content).toString("latin1").replaceAll("third", "*****"), "latin1")
  expect(rewriteCopy(vaultFile(archive.dataHome, copy), edit)).toMatchObject({ changed: 1 })
  expect(losses()).toMatchObject({ lost: [], changed: [] })
  writeFileSync(session.path, '{"type":"user"}\n')
  expect(setAsideIfDifferent(session.path, vaultFile(archive.dataHome, copy), 0)).toContain(".~1.")
  archive.take(session)
  expect(losses()).toMatchObject({ lost: [], changed: [] })
})

test("a copy that was cut does not make it forget what there was", () => {
  const file = vaultFile(archive.dataHome, copy)
  const [before] = listed()
  session.turn("second").flush()
  archive.take(session)
  note()
  rmSync(session.path)
  truncateSync(file, before!.size)
  note()
  listVault(archive.dataHome)
  expect(losses().lost).toMatchObject([{ session: "one", left: { to: before!.to }, isOther: false }])
})

test("another copy with the same length is another one", () => {
  const file = vaultFile(archive.dataHome, copy)
  const bytes = readFileSync(file)
  rmSync(file)
  const text = readFileSync(session.path, "utf8")
  writeFileSync(session.path, `${text.slice(0, -40)}${"x".repeat(39)}\n`)
  archive.take(session)
  rmSync(session.path)
  expect(losses().lost).toMatchObject([{ left: undefined }])
  writeFileSync(file, bytes)
  expect(losses().lost).toEqual([])
})

test("it is written anew when most of it is outdated", () => {
  const file = vaultFile(archive.dataHome, copy)
  for (let n = 0; n < 500; n++) note()
  expect(statSync(list()).size).toBeLessThan(100_000)
  expect(readList(archive.dataHome)).toMatchObject({ damaged: 0 })
  expect(listed()).toMatchObject([{ size: statSync(file).size }])
})

test("half a line of a writer that was killed costs only itself", () => {
  const lines = readFileSync(list(), "utf8")
  for (let length = 1; length < lines.length - 1; length += 7) {
    writeFileSync(list(), lines.slice(0, length))
    note()
    expect(readList(archive.dataHome)).toMatchObject({ damaged: 1 })
    expect(listed()).toHaveLength(1)
  }
})

test("every flipped bit in a line is noticed", () => {
  const sound = readFileSync(list())
  for (let at = 0; at < sound.length - 1; at++) {
    const broken = Buffer.from(sound)
    broken[at]! ^= 0x10
    writeFileSync(list(), broken)
    const { copies, damaged } = readList(archive.dataHome)
    expect({ at, copies: copies.size, damaged: damaged > 0 }).toEqual({ at, copies: 0, damaged: true })
  }
})

test("what cannot be a list is none", () => {
  for (const text of ["", "\n\n", "{}\n", '{"id":"x"}\n', "\0\0\0"]) {
    writeFileSync(list(), text)
    expect(readList(archive.dataHome).copies.size).toBe(0)
  }
  rmSync(list())
  mkdirSync(list())
  note()
  expect(readList(archive.dataHome)).toMatchObject({ exists: false })
  expect(losses().lost).toEqual([])
})

test("a damaged copy is remembered until it is noted again", () => {
  expect(isUntouched(archive.dataHome, listed()[0]!)).toBe(true)
  doubtCopies(archive.dataHome, new Set([copy]))
  doubtCopies(archive.dataHome, new Set([copy]))
  expect(isUntouched(archive.dataHome, listed()[0]!)).toBe(false)
  expect(readFileSync(list(), "utf8").match(/doubt/g)).toHaveLength(1)
  listVault(archive.dataHome)
  expect(isUntouched(archive.dataHome, listed()[0]!)).toBe(true)
})

test("a copy that was changed without having grown is noted only if it is intact", () => {
  const file = vaultFile(archive.dataHome, copy)
  const bytes = readFileSync(file)
  bytes[bytes.length - 130]! ^= 1
  writeFileSync(file, bytes)
  listVault(archive.dataHome)
  expect(isUntouched(archive.dataHome, listed()[0]!)).toBe(false)
})

test("what is dropped leaves nothing behind", () => {
  appendFileSync(list(), "half a line about one")
  expect(dropFromList(archive.dataHome, (one) => one.session === "one")).toBe(true)
  expect(readFileSync(list(), "utf8")).not.toContain("one")
  expect(readList(archive.dataHome)).toEqual({
    copies: new Map(),
    accepted: new Set(),
    damaged: 0,
    exists: true,
  })
})

test("somebody else who holds it keeps nobody from working", async () => {
  session.turn("second").flush()
  archive.take(session)
  await holding(archive.dataHome, "vault/copies.jsonl", async () => {
    note()
    expect(dropFromList(archive.dataHome, () => true)).toBe(false)
  })
  expect(listed()).toHaveLength(1)
  listVault(archive.dataHome)
  expect(listed()).toMatchObject([{ to: statSync(session.path).size }])
})
