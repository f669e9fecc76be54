/** What the vault promises: the copy is the transcript, however Claude Code writes it and wherever we were cut off. */
import { afterAll, expect, test } from "bun:test"
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { zstdDecompressSync } from "node:zlib"
import fc from "fast-check"
import { capture } from "../../src/vault/capture.ts"

const root = mkdtempSync(join(tmpdir(), "ctxbridge-capture-"))
afterAll(() => rmSync(root, { recursive: true, force: true }))

let runs = 0
function place() {
  const dir = join(root, String(runs++))
  return { transcript: join(root, `${runs}.jsonl`), copy: join(dir, "copy.jsonl.zst") }
}

/** Any bytes: what looks like a secret among them is the filter's business. */
const UNFILTERED = { enabled: false, patterns: [] }

const take = (where: { transcript: string; copy: string }, lastLine: "whole" | "any" = "whole") =>
  capture({ ...where, now: 1, deadline: Number.MAX_SAFE_INTEGER, lastLine, secrets: UNFILTERED })

const stored = (copy: string): Buffer =>
  existsSync(copy) ? zstdDecompressSync(readFileSync(copy)) : Buffer.alloc(0)

/** Lines of any bytes, with or without sense. */
const line = fc.oneof(
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes.filter((byte) => byte !== 10))),
  fc.json().map((json) => Buffer.from(JSON.stringify({ value: json, text: "语言 🛡️ \\ud83d" }))),
)
const file = fc
  .array(line, { maxLength: 40 })
  .map((lines) => Buffer.concat(lines.flatMap((l) => [l, Buffer.from("\n")])))

test("written in any pieces, captured after each: the copy is every whole line, in the end every byte", () => {
  fc.assert(
    fc.property(file, fc.array(fc.nat(), { maxLength: 8 }), (bytes, cuts) => {
      const where = place()
      writeFileSync(where.transcript, "")
      let at = 0
      for (const cut of [...cuts.map((n) => n % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]) {
        appendFileSync(where.transcript, bytes.subarray(at, cut))
        at = Math.max(at, cut)
        take(where)
        const copy = stored(where.copy)
        // a prefix, ending where a line ends
        expect(bytes.subarray(0, copy.length).equals(copy)).toBe(true)
        expect(copy.length).toBeGreaterThanOrEqual(bytes.subarray(0, at).lastIndexOf(10) + 1)
      }
      expect(stored(where.copy).equals(bytes)).toBe(true)
      expect(take(where).taken).toBe(0)
    }),
    { numRuns: 150 },
  )
})

test("the copy cut or dirtied anywhere, as by a crash: the next capture mends it", () => {
  fc.assert(
    fc.property(file, file, fc.nat(), fc.uint8Array({ maxLength: 200 }), (first, second, cut, dirt) => {
      const where = place()
      writeFileSync(where.transcript, first)
      take(where)
      if (!existsSync(where.copy)) return
      const size = readFileSync(where.copy).length
      truncateSync(where.copy, cut % (size + 1))
      appendFileSync(where.copy, dirt)
      appendFileSync(where.transcript, second)
      take(where)
      expect(stored(where.copy).equals(Buffer.concat([first, second]))).toBe(true)
    }),
    { numRuns: 150 },
  )
})

test("a transcript that is written anew is read anew, and the former copy stays", () => {
  fc.assert(
    fc.property(file, file, (first, second) => {
      const where = place()
      writeFileSync(where.transcript, first)
      take(where)
      const before = stored(where.copy)
      writeFileSync(where.transcript, second)
      const again = take(where)
      expect(stored(where.copy).equals(second)).toBe(true)
      if (again.superseded !== undefined) expect(stored(again.superseded).equals(before)).toBe(true)
      else expect(second.subarray(0, before.length).equals(before)).toBe(true)
    }),
    { numRuns: 150 },
  )
})

test("another file that ends where the former one ended is another file", () => {
  fc.assert(
    fc.property(fc.nat(200), (more) => {
      const where = place()
      const end = `${JSON.stringify({ n: 2, text: "x".repeat(300 + more) })}\n`
      writeFileSync(where.transcript, `{"n":1}\n`)
      take(where)
      appendFileSync(where.transcript, end)
      take(where)
      // Under another number, as an editor saves it: what was archived last is in it, what was archived first is not.
      writeFileSync(`${where.transcript}.new`, `{"n":7}\n${end}`)
      renameSync(`${where.transcript}.new`, where.transcript)
      appendFileSync(where.transcript, `{"n":3}\n`)
      const again = take(where)
      expect(stored(again.superseded!).toString()).toBe(`{"n":1}\n${end}`)
      expect(stored(where.copy).toString()).toBe(`{"n":7}\n${end}{"n":3}\n`)
    }),
    { numRuns: 20 },
  )
})

test("what is forgotten while a capture begins is not archived", () => {
  const where = place()
  writeFileSync(where.transcript, `{"n":1}\n`)
  let asked = 0
  const late = () => (asked++ === 0 ? undefined : { whole: true, edit: (content: Uint8Array) => content })
  const request = { ...where, now: 1, deadline: Number.MAX_SAFE_INTEGER, lastLine: "whole" } as const
  expect(capture({ ...request, forgotten: late })).toMatchObject({ state: "forgotten", archived: 0 })
  expect(existsSync(where.copy)).toBe(false)
})

test("a last line without a newline: taken when it is a whole object, or when asked; else it waits", () => {
  const where = place()
  writeFileSync(where.transcript, '{"a":1}\n{"b":')
  expect(take(where)).toMatchObject({ state: "current", archived: 8, size: 13 })
  appendFileSync(where.transcript, "2}")
  expect(take(where).archived).toBe(15)
  appendFileSync(where.transcript, "\nhalf")
  expect(take(where).archived).toBe(16)
  expect(take(where, "any").archived).toBe(20)
})

test("a line of more than a frame, and a frame of more than a chunk", () => {
  const where = place()
  const long = `{"text":"${"x".repeat(3_000_000)}"}\n`
  writeFileSync(where.transcript, `{"a":1}\n${long}${'{"b":2}\n'.repeat(300_000)}`)
  take(where)
  expect(stored(where.copy).equals(readFileSync(where.transcript))).toBe(true)
})

test("out of time: whole frames only, and the next call goes on from there", () => {
  const where = place()
  writeFileSync(where.transcript, '{"n":1}\n'.repeat(1_000_000))
  const first = capture({ ...where, now: 1, deadline: 0, lastLine: "whole" })
  expect(first.state).toBe("behind")
  expect(first.archived).toBeGreaterThan(0)
  expect(stored(where.copy).length).toBe(first.archived)
  take(where)
  expect(stored(where.copy).equals(readFileSync(where.transcript))).toBe(true)
})
