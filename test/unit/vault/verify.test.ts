import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { capture } from "../../../src/vault/capture.ts"
import { remainderOf, withTranscript } from "../../../src/vault/check-copy.ts"
import { vaultFile, vaultPath } from "../../../src/vault/layout.ts"
import { CopyReader, tailOf } from "../../../src/vault/reader.ts"
import { verify } from "../../../src/vault/verify-vault.ts"

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
    expect(verify({ dataHome, home: "/elsewhere", transcripts: [path] })).toMatchObject({ ok: true, totals })
  })

  test("also once the transcript was rewritten, or is gone", () => {
    archive(0, 2)
    second()
    rmSync(path)
    archive(7, 9)
    expect(check()).toMatchObject({ ok: true, totals: { complete: 1, superseded: 1, twin: 1 } })
    rmSync(path)
    expect(all()).toMatchObject({ ok: true, totals: { transcripts: 1, deleted: 1, superseded: 1, twin: 1 } })
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
