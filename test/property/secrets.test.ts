/** What the filter promises of any text: its length, its JSON, and that pieces make no difference. */
import { expect, test } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import fc from "fast-check"
import { FILTERED, filterLines, filterText } from "../../src/secrets/filter.ts"
import { inContext, Noise, privateKey, TOKENS, VALUES } from "../support/planted.ts"

const KINDS = [...TOKENS, ...VALUES]

/** A text with a secret in it, or none. */
const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 60 }),
  fc
    .tuple(fc.nat(KINDS.length - 1), fc.nat(), fc.string({ maxLength: 20 }), fc.string({ maxLength: 20 }))
    .map(
      ([n, seed, before, after]) =>
        `${before} ${inContext(KINDS[n]!, KINDS[n]!.secret(new Noise(seed)))} ${after}`,
    ),
  fc.nat().map((seed) => `x\n${privateKey(new Noise(seed)).text}y`),
  fc.constantFrom("a <private>b", "c</private> d", "`<private>` it says", "\\u003cprivate\\u003e"),
)

/** A record of a transcript, or what is none. */
const record = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.array(text, { maxLength: 3 }).map((texts) =>
      JSON.stringify({
        type: "user",
        message: { content: texts.map((one) => ({ type: "text", text: one })) },
      }),
    ),
  },
  {
    weight: 2,
    arbitrary: text.map((one) => JSON.stringify({ toolUseResult: JSON.stringify({ stdout: one }) })),
  },
  { weight: 1, arbitrary: text.map((one) => one.replaceAll("\n", " ")) },
  { weight: 1, arbitrary: fc.json() },
)
const document = fc.array(record, { maxLength: 12 }).map((lines) => lines.map((one) => `${one}\n`))

const filter = (lines: string, hidden = 0) => filterLines(Buffer.from(lines), hidden, FILTERED)

test("length, lines and JSON stay; twice is once; only the filler is new", () => {
  fc.assert(
    fc.property(document, (lines) => {
      const before = Buffer.from(lines.join(""))
      const { content } = filter(lines.join(""))
      const after = Buffer.from(content)
      expect(after.length).toBe(before.length)
      for (let n = 0; n < before.length; n++) if (after[n] !== before[n]) expect(after[n]).toBe(0x2a)
      const back = after.toString().split("\n")
      for (const [n, line] of lines.entries()) {
        if (/^[{["]/.test(line) && isJson(line)) expect(isJson(back[n]!)).toBe(true)
      }
      expect(Buffer.from(filter(after.toString()).content).equals(after)).toBe(true)
    }),
    { numRuns: 400 },
  )
})

test("however the lines come: the same", () => {
  fc.assert(
    fc.property(document, fc.array(fc.nat(), { maxLength: 6 }), (lines, cuts) => {
      const whole = filter(lines.join(""))
      let hidden = 0
      let at = 0
      const pieces: Uint8Array[] = []
      for (const cut of [...cuts.map((n) => n % (lines.length + 1)).sort((a, b) => a - b), lines.length]) {
        const done = filter(lines.slice(at, cut).join(""), hidden)
        pieces.push(done.content)
        if (cut > at) hidden = done.hidden
        at = Math.max(at, cut)
      }
      expect(Buffer.concat(pieces).equals(Buffer.from(whole.content))).toBe(true)
      expect(hidden).toBe(whole.hidden)
    }),
    { numRuns: 400 },
  )
})

test("text that is no line: the same length in UTF-8, and twice is once", () => {
  fc.assert(
    fc.property(text, (one) => {
      const done = filterText(one, FILTERED)
      expect(Buffer.byteLength(done)).toBe(Buffer.byteLength(one))
      expect(filterText(done, FILTERED)).toBe(done)
    }),
    { numRuns: 400 },
  )
})

function isJson(line: string): boolean {
  try {
    JSON.parse(line)
    return true
  } catch {
    return false
  }
}

const real = join(import.meta.dir, "../../../shared/transcripts")

/** Of people who have gone through theirs before they published them: whatever is found there is none. */
test.skipIf(!existsSync(real))(
  "real transcripts: what is filled and should not be",
  () => {
    let spans = 0
    for (const path of new Bun.Glob("**/*.jsonl").scanSync({ cwd: real, absolute: true })) {
      const before = readFileSync(path)
      const after = filterLines(before, 0, FILTERED).content
      if (after === before) continue
      for (let n = 1; n < before.length; n++)
        if (after[n] !== before[n] && after[n - 1] === before[n - 1]) spans++
    }
    expect(spans).toBe(0)
  },
  120_000,
)
