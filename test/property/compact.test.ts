/** Merged frames hold what the small ones held, whatever their layout, and archiving goes on behind them. */
import { afterAll, expect, test } from "bun:test"
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { zstdDecompressSync } from "node:zlib"
import fc from "fast-check"
import { capture } from "../../src/vault/capture.ts"
import { checkCopy } from "../../src/vault/check-copy.ts"
import { layoutOf, mergeFramesOf } from "../../src/vault/merge-frames.ts"
import { tailOf } from "../../src/vault/reader.ts"
import { replacementOf } from "../../src/vault/rewrite.ts"

const root = mkdtempSync(join(tmpdir(), "ctxbridge-compact-"))
afterAll(() => rmSync(root, { recursive: true, force: true }))

let runs = 0
const place = () => {
  const n = runs++
  return { transcript: join(root, `${n}.jsonl`), copy: join(root, `${n}.jsonl.zst`) }
}
const take = (where: { transcript: string; copy: string }) =>
  capture({ ...where, now: 1, deadline: Number.MAX_SAFE_INTEGER, lastLine: "whole" })
const stored = (copy: string): Buffer => zstdDecompressSync(readFileSync(copy))

function expectSound(where: { transcript: string; copy: string }): void {
  const bytes = readFileSync(where.transcript)
  expect(stored(where.copy).equals(bytes)).toBe(true)
  expect(checkCopy(where.copy, undefined)).toMatchObject({ damage: [], halfFrame: 0, archived: bytes.length })
}

/** Pieces of a transcript, in lines; now and then one so large that it fills a frame. */
const piece = fc.oneof(
  { weight: 8, arbitrary: fc.string({ maxLength: 300 }).map((text) => `${JSON.stringify({ text })}\n`) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 1_500_000 }).map((n) => `${"x".repeat(n)}\n`) },
)

test("any layout: same bytes, same name, same cursor; once is enough; the next capture appends", () => {
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1, maxLength: 30 }), piece, (pieces, more) => {
      const where = place()
      writeFileSync(where.transcript, "")
      for (const text of pieces) {
        appendFileSync(where.transcript, text)
        take(where)
      }
      const before = tailOf(where.copy)!
      const layout = layoutOf(where.copy)!
      expect(layout.frames).toBe(checkCopy(where.copy, undefined)!.frames)
      const done = mergeFramesOf(where.copy)
      expect(done === undefined).toBe(layout.merged === layout.frames)
      expectSound(where)
      const after = tailOf(where.copy)!
      expect(after.header).toEqual(before.header)
      const { to, inode, tailHash, time } = before.last!
      expect(after.last).toMatchObject({ to, inode, tailHash, time })
      expect(layoutOf(where.copy)).toMatchObject({ frames: layout.merged, merged: layout.merged })
      expect(statSync(where.copy).mode & 0o777).toBe(0o600)
      expect(existsSync(replacementOf(where.copy))).toBe(false)
      expect(mergeFramesOf(where.copy)).toBeUndefined()
      expect(take(where).taken).toBe(0)
      appendFileSync(where.transcript, more)
      expect(take(where)).toMatchObject({ taken: more.length, superseded: undefined })
      expectSound(where)
    }),
    { numRuns: 60 },
  )
})

test("a copy that the host has moved to another inode is still known by its first frame", () => {
  const where = place()
  for (let n = 0; n < 50; n++) {
    appendFileSync(where.transcript, `{"n":${n}}\n`)
    take(where)
  }
  expect(mergeFramesOf(where.copy)).toMatchObject({ frames: 50, merged: 1 })
  const bytes = readFileSync(where.transcript)
  rmSync(where.transcript)
  writeFileSync(`${where.transcript}.new`, Buffer.concat([bytes, Buffer.from('{"n":50}\n')]))
  const moved = { ...where, transcript: `${where.transcript}.new` }
  expect(take(moved)).toMatchObject({ superseded: undefined, taken: 9 })
  expectSound(moved)
})

test("a damaged frame: the copy stays as it is, byte for byte", () => {
  const where = place()
  for (let n = 0; n < 10; n++) {
    appendFileSync(where.transcript, `{"n":"${"abc".repeat(n)}"}\n`)
    take(where)
  }
  const bytes = readFileSync(where.copy)
  const { headerLength } = tailOf(where.copy)!
  bytes[headerLength + 10]! ^= 0xff
  writeFileSync(where.copy, bytes)
  expect(() => mergeFramesOf(where.copy)).toThrow()
  expect(readFileSync(where.copy).equals(bytes)).toBe(true)
  expect(existsSync(replacementOf(where.copy))).toBe(false)
})
