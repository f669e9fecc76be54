import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test"
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { capture } from "../../../src/vault/capture.ts"
import { remainderOf, withTranscript } from "../../../src/vault/check-copy.ts"
import { doubtCopies, dropFromList, isUntouched, noteCopies, readList } from "../../../src/vault/copy-list.ts"
import { vaultFile, vaultPath } from "../../../src/vault/layout.ts"
import { findLosses } from "../../../src/vault/lost-copies.ts"
import { setAsideIfDifferent } from "../../../src/vault/mend-copy.ts"
import { mergeFrames } from "../../../src/vault/merge-frames.ts"
import { CopyReader, tailOf } from "../../../src/vault/reader.ts"
import { rewriteCopy } from "../../../src/vault/rewrite.ts"
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
import { verify } from "../../../src/vault/verify-vault.ts"
import { listVault } from "../../../src/views/list-vault.ts"
import { Archive } from "../../support/archive.ts"
import { holding } from "../../support/held.ts"
import type { Transcript } from "../../support/transcript.ts"

/** The list of what the vault has held: what it says after every kind of change, and whoever dies or writes beside. */
describe("copy list", () => {
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
      {
        copy,
        path: session.path,
        session: "one",
        to: statSync(session.path).size,
        size: statSync(file).size,
      },
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
    expect(mergeFrames(archive.dataHome, { dryRun: false })?.changed).toHaveLength(1)
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
})

describe("verify", () => {
  let home: string
  let dataHome: string
  let path: string
  let copy: string

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "ctxbridge-verify-"))
    dataHome = join(home, "data")
    path = join(home, ".claude", "projects", "-p", "one.jsonl")
    copy = vaultFile(dataHome, vaultPath(path, home))
    mkdirSync(dirname(path), { recursive: true })
  })

  afterEach(() => rmSync(home, { recursive: true }))

  const line = (n: number): string => `${JSON.stringify({ n, text: "x".repeat(n * 50) })}\n`

  /** Each line a frame of its own. */
  function archive(from: number, to: number): void {
    for (let n = from; n < to; n++) {
      appendFileSync(path, line(n))
      capture({ transcript: path, copy, now: 0, deadline: Number.POSITIVE_INFINITY, lastLine: "whole" })
    }
  }

  const check = () => verify({ dataHome, home, transcripts: [path] })

  describe("verify", () => {
    test("counts frames and bytes, and reports how far it is", () => {
      archive(0, 9)
      const seen: number[] = []
      const report = verify({ dataHome, home, transcripts: [path], onProgress: (done) => seen.push(done) })
      const totals = { transcripts: 1, copies: 1, frames: 9, bytes: statSync(path).size, complete: 1 }
      expect(report).toMatchObject({ ok: true, totals })
      expect(seen).toHaveLength(9)
      expect(seen).toEqual(seen.toSorted((a, b) => a - b))
    })

    test("every single byte of a copy counts", () => {
      archive(0, 3)
      const sound = readFileSync(copy)
      for (let at = tailOf(copy)!.headerLength; at < sound.length; at++) {
        const broken = Buffer.from(sound)
        broken[at]! ^= 0x01
        writeFileSync(copy, broken)
        expect({ at, ok: check().ok }).toEqual({ at, ok: false })
      }
    })

    test("a transcript cut short, or gone from the vault's folder", () => {
      archive(0, 3)
      writeFileSync(path, readFileSync(path).subarray(0, -20))
      expect(check()).toMatchObject({ ok: false, transcripts: [{ state: "mismatch" }] })
      rmSync(copy)
      expect(check()).toMatchObject({
        ok: false,
        transcripts: [{ state: "missing", copy: undefined }],
        totals: { transcripts: 1, copies: 0, missing: 1 },
      })
    })

    test("a transcript that differs in many places: the first of them is named", () => {
      archive(0, 5)
      const original = readFileSync(path)
      for (const first of [0, 30, original.length - 400]) {
        const bytes = Buffer.from(original)
        for (let at = first; at < bytes.length - 300; at += 40) bytes[at]! ^= 1
        writeFileSync(path, bytes)
        const [{ state, problems } = { state: "", problems: [""] }] = check().transcripts
        expect({ first, state }).toEqual({ first, state: "mismatch" })
        expect(problems.join("\n")).toMatch(new RegExp(`\\b${first}\\b`))
      }
    })

    test("half a frame with its transcript gone is a loss, and said so", () => {
      archive(0, 3)
      writeFileSync(copy, readFileSync(copy).subarray(0, -5))
      rmSync(path)
      const { ok, transcripts } = verify({ dataHome, home, transcripts: [] })
      expect({ ok, state: transcripts[0]!.state }).toEqual({ ok: false, state: "damaged" })
      expect(transcripts[0]!.problems[0]).toContain("not a complete frame")
    })
  })

  describe("what is no loss", () => {
    const all = () => verify({ dataHome, home, transcripts: [] })

    test("a copy that was only begun: there is nothing in it", () => {
      archive(0, 3)
      const whole = readFileSync(copy)
      for (const length of [0, 5, 20]) {
        writeFileSync(copy, whole.subarray(0, length))
        expect(check()).toMatchObject({ ok: false, transcripts: [{ state: "missing", problems: [] }] })
      }
      rmSync(path)
      expect(all()).toMatchObject({ ok: true, transcripts: [] })
    })

    /** The same transcript, archived by somebody with another home folder. */
    function second(): string {
      const file = vaultFile(dataHome, vaultPath(path, "/elsewhere"))
      capture({ transcript: path, copy: file, now: 0, deadline: Number.POSITIVE_INFINITY, lastLine: "whole" })
      return file
    }

    test("a second copy of a transcript, made under another home folder, that lags behind", () => {
      archive(0, 2)
      second()
      archive(2, 4)
      const totals = {
        transcripts: 1,
        copies: 2,
        complete: 1,
        twin: 1,
        missingBytes: 0,
        bytes: statSync(path).size,
      }
      for (const report of [check(), all()]) expect(report).toMatchObject({ ok: true, totals })
      // And the other way round.
      expect(verify({ dataHome, home: "/elsewhere", transcripts: [path] })).toMatchObject({
        ok: true,
        totals,
      })
    })

    test("also once the transcript was rewritten, or is gone", () => {
      archive(0, 2)
      second()
      rmSync(path)
      archive(7, 9)
      expect(check()).toMatchObject({ ok: true, totals: { complete: 1, superseded: 1, twin: 1 } })
      rmSync(path)
      expect(all()).toMatchObject({
        ok: true,
        totals: { transcripts: 1, deleted: 1, superseded: 1, twin: 1 },
      })
    })

    test("but a damaged one is damaged, and what neither has is missing", () => {
      archive(0, 2)
      const file = second()
      appendFileSync(path, line(3))
      expect(check()).toMatchObject({
        ok: false,
        totals: { missing: 1, twin: 1, missingBytes: line(3).length },
      })
      const bytes = readFileSync(file)
      bytes[bytes.length - 150]! ^= 1
      writeFileSync(file, bytes)
      expect(check()).toMatchObject({ ok: false, totals: { missing: 1, damaged: 1 } })
    })
  })

  test("a folder in the place of a copy is named", () => {
    archive(0, 2)
    rmSync(copy)
    mkdirSync(copy)
    const problems = ["a folder is in the place of the copy"]
    expect(check()).toMatchObject({ ok: false, transcripts: [{ state: "damaged", problems }] })
    rmSync(path)
    expect(verify({ dataHome, home, transcripts: [] })).toMatchObject({
      ok: false,
      transcripts: [{ state: "damaged", problems }],
    })
  })

  test("what is left: whole lines are missing, half a line waits, a whole object does not", () => {
    const rest = (text: string, archived: number) => {
      writeFileSync(path, text)
      return withTranscript(path, (source) => remainderOf(source!, archived))
    }
    expect(rest("", 0)).toEqual({ size: 0, missing: 0, waiting: 0 })
    expect(rest('{"a":1}\n{"b":2}\n', 8)).toEqual({ size: 16, missing: 8, waiting: 0 })
    expect(rest('{"a":1}\n{"b":', 8)).toEqual({ size: 13, missing: 0, waiting: 5 })
    expect(rest('{"a":1}\n{"b":', 0)).toEqual({ size: 13, missing: 8, waiting: 5 })
    expect(rest('{"a":1}\n{"b":2}\n{"c":', 0)).toEqual({ size: 21, missing: 16, waiting: 5 })
    expect(rest('{"a":1}\n{"b":2}', 0)).toEqual({ size: 15, missing: 15, waiting: 0 })
    const long = `${"x".repeat(3 << 20)}\n{"half`
    expect(rest(long, 0)).toEqual({ size: long.length, missing: (3 << 20) + 1, waiting: 6 })
  })

  test("the reader gives any stretch, across frames", () => {
    archive(0, 12)
    const whole = readFileSync(path)
    const reader = new CopyReader(copy)
    expect(reader.size).toBe(whole.length)
    for (let from = 0; from < whole.length; from += 97) {
      for (const to of [from, from + 1, from + 500, whole.length]) {
        const end = Math.min(to, whole.length)
        expect(Buffer.from(reader.read(from, end)).equals(whole.subarray(from, end))).toBe(true)
      }
    }
    expect(() => reader.read(0, whole.length + 1)).toThrow("are not in")
    expect(Buffer.concat([...reader.pieces()]).equals(whole)).toBe(true)
    reader.close()
    expect(() => new CopyReader(`${copy}.none`)).toThrow("has no copy")
  })
})

describe("tombstones", () => {
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
})
