/** A copy edited in place: other bytes, same length, same name, same cursor, and nothing of the old ones left. */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test"
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
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
import { tailOf } from "../../src/vault/reader.ts"
import { type Edit, replacementOf, rewriteCopy } from "../../src/vault/rewrite.ts"
import { until } from "../support/machine.ts"

setDefaultTimeout(60_000)

const root = mkdtempSync(join(tmpdir(), "ctxbridge-rewrite-"))
afterAll(() => rmSync(root, { recursive: true, force: true }))

let runs = 0
const place = () => {
  const n = runs++
  return { transcript: join(root, `${n}.jsonl`), copy: join(root, `${n}.jsonl.zst`) }
}
type Place = ReturnType<typeof place>
const take = (where: Place) =>
  capture({ ...where, now: 1, deadline: Number.MAX_SAFE_INTEGER, lastLine: "whole" })
const stored = (copy: string): Buffer => zstdDecompressSync(readFileSync(copy))

const SECRET = "swordfish"
const FILLER = "*********"

/** As many bytes: each secret becomes its filler. */
const fill: Edit = (content) => {
  const text = Buffer.from(content).toString("latin1")
  return text.includes(SECRET) ? Buffer.from(text.replaceAll(SECRET, FILLER), "latin1") : content
}

function written(lines: readonly string[]): Place {
  const where = place()
  writeFileSync(where.transcript, "")
  for (const line of lines) {
    appendFileSync(where.transcript, line)
    take(where)
  }
  return where
}

function expectFilled(where: Place): void {
  const wanted = readFileSync(where.transcript, "latin1").replaceAll(SECRET, FILLER)
  expect(stored(where.copy).toString("latin1")).toBe(wanted)
  expect(checkCopy(where.copy, undefined)).toMatchObject({
    damage: [],
    halfFrame: 0,
    archived: wanted.length,
  })
  expect(existsSync(replacementOf(where.copy))).toBe(false)
}

const line = fc.oneof(
  { weight: 6, arbitrary: fc.string({ maxLength: 200 }).map((text) => `${JSON.stringify({ text })}\n`) },
  { weight: 3, arbitrary: fc.constantFrom(`{"a":"${SECRET}"}\n`, `${SECRET}${SECRET}\n`) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 1_500_000 }).map((n) => `${"x".repeat(n)}${SECRET}\n`) },
)

test("any layout: edited bytes, same name, same cursor; once is enough; the next capture appends", () => {
  fc.assert(
    fc.property(fc.array(line, { minLength: 1, maxLength: 20 }), line, (lines, more) => {
      const where = written(lines)
      const before = tailOf(where.copy)!
      const bytes = readFileSync(where.copy)
      const touched = lines.some((one) => one.includes(SECRET))
      const done = rewriteCopy(where.copy, fill)!
      expect(done.changed > 0).toBe(touched)
      expect(done).toMatchObject({ bytes: bytes.length, after: statSync(where.copy).size })
      if (!touched) expect(readFileSync(where.copy).equals(bytes)).toBe(true)
      expectFilled(where)
      const after = tailOf(where.copy)!
      expect(after.header).toEqual(before.header)
      const { from, to, inode, tailHash, time } = before.last!
      expect(after.last).toMatchObject({ from, to, inode, tailHash, time })
      expect(statSync(where.copy).mode & 0o777).toBe(0o600)
      expect(rewriteCopy(where.copy, fill)).toMatchObject({ changed: 0 })
      appendFileSync(where.transcript, more)
      expect(take(where)).toMatchObject({ taken: Buffer.byteLength(more), superseded: undefined })
    }),
    { numRuns: 60 },
  )
})

test("what is appended while it works is edited, too", () => {
  const where = written([`{"a":"${SECRET}"}\n`, '{"b":1}\n'])
  let calls = 0
  const appending: Edit = (content, from) => {
    // After the first look through the file, and before its lock is taken.
    if (++calls === 2) {
      appendFileSync(where.transcript, `{"c":"${SECRET}"}\n{"d":1}\n`)
      expect(take(where).state).toBe("current")
    }
    return fill(content, from)
  }
  expect(rewriteCopy(where.copy, appending)).toMatchObject({ frames: 3, changed: 2 })
  expectFilled(where)
})

test("a copy that is set aside meanwhile stays as it is, and so does the new one", () => {
  const where = written([`{"a":"${SECRET}"}\n`])
  const aside = where.copy.replace(".jsonl", ".~1.jsonl")
  let calls = 0
  const replacing: Edit = (content, from) => {
    if (++calls === 2) {
      writeFileSync(where.transcript, '{"other":1}\n')
      expect(take(where).superseded).toBe(aside)
    }
    return fill(content, from)
  }
  expect(() => rewriteCopy(where.copy, replacing)).toThrow("another process is writing this copy")
  expect(stored(where.copy).toString()).toBe('{"other":1}\n')
  expect(stored(aside).toString()).toBe(`{"a":"${SECRET}"}\n`)
  expect(existsSync(replacementOf(where.copy))).toBe(false)
})

test("half a frame at the end goes, and so does what a killed process has left beside it", () => {
  const where = written(['{"a":1}\n'])
  appendFileSync(where.copy, `half a frame with ${SECRET}`)
  writeFileSync(replacementOf(where.copy), `left by a killed process: ${SECRET}`)
  expect(rewriteCopy(where.copy, fill)).toMatchObject({ frames: 1, changed: 0 })
  expect(readFileSync(where.copy, "latin1")).not.toContain(SECRET)
  expectFilled(where)
})

test("a damaged frame: the copy stays as it is, byte for byte", () => {
  const where = written([`{"a":"${SECRET}"}\n`, '{"b":"beautiful"}\n'])
  const bytes = readFileSync(where.copy)
  bytes[tailOf(where.copy)!.headerLength + 10]! ^= 0xff
  writeFileSync(where.copy, bytes)
  expect(() => rewriteCopy(where.copy, fill)).toThrow()
  expect(readFileSync(where.copy).equals(bytes)).toBe(true)
  expect(existsSync(replacementOf(where.copy))).toBe(false)
})

test("an edit that changes the length is refused; there is nothing to edit where there is no copy", () => {
  const where = written(['{"a":1}\n'])
  const bytes = readFileSync(where.copy)
  expect(() => rewriteCopy(where.copy, () => new Uint8Array(3))).toThrow("must keep the length")
  expect(readFileSync(where.copy).equals(bytes)).toBe(true)
  expect(rewriteCopy(join(root, "nothing.jsonl.zst"), fill)).toBeUndefined()
})

test("killed in the middle: the old copy or the new one, and the next time it is done", async () => {
  const where = written(Array.from({ length: 300 }, (_, n) => `{"n":${n},"a":"${SECRET}"}\n`))
  const before = readFileSync(where.copy)
  const script = `
    import { rewriteCopy } from ${JSON.stringify(join(import.meta.dir, "../../src/vault/rewrite.ts"))}
    import { writeFileSync } from "node:fs"
    let calls = 0
    rewriteCopy(${JSON.stringify(where.copy)}, (content) => {
      if (++calls === 150) {
        writeFileSync(${JSON.stringify(`${where.copy}.reached`)}, "")
        for (;;) Bun.sleepSync(1000)
      }
      return Buffer.from(Buffer.from(content).toString("latin1").replaceAll("${SECRET}", "${FILLER}"), "latin1")
    })`
  const file = join(root, "killed.ts")
  writeFileSync(file, script)
  const child = Bun.spawn([process.execPath, file], { stdout: "ignore", stderr: "inherit" })
  await until(() => existsSync(`${where.copy}.reached`), 60_000, "the child to be in the middle")
  child.kill("SIGKILL")
  await child.exited
  expect(readFileSync(where.copy).equals(before)).toBe(true)
  expect(existsSync(replacementOf(where.copy))).toBe(true)
  expect(rewriteCopy(where.copy, fill)).toMatchObject({ frames: 300, changed: 300 })
  expectFilled(where)
  expect(readdirSync(root).filter((name) => name.endsWith(".compact"))).toEqual([])
})
