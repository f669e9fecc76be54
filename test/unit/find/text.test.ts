/** What is embedded: which words, in which pieces, and the vectors that need no model. */
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { dot } from "../../../src/cli/commands/model.ts"
import { MOST_PIECES, MOST_TOKENS, piecesOf } from "../../../src/find/embed/embedder.ts"
import { HASHED_DIMENSION, hashedVector } from "../../../src/find/embed/hashed-words.ts"
import { textsToEmbed } from "../../../src/job/embedding.ts"
import { CopyReaders } from "../../../src/vault/reader.ts"
import { Archive } from "../../support/archive.ts"

/** As bad as it gets: every letter a token, and two besides. */
const letters = (text: string): number => text.length + 2
const words = (text: string): number => text.split(/\s+/).length + 2

describe("pieces", () => {
  test("a short text is one piece, an empty one none", () => {
    expect(piecesOf("  Add retries to the client.\n", words)).toEqual(["Add retries to the client."])
    expect(piecesOf(" \n ", words)).toEqual([])
  })

  test("a long text is cut after a paragraph, or else a sentence, or else a word", () => {
    const sentence = "One sentence follows another, and they are all alike. "
    const pieces = piecesOf(`${sentence.repeat(12)}\n\n${sentence.repeat(12)}`, words)
    expect(pieces).toHaveLength(2)
    for (const piece of pieces) expect(piece.startsWith("One") && piece.endsWith("alike.")).toBe(true)
    const plain = piecesOf("abcdefg ".repeat(300), words)
    expect(plain.length).toBeGreaterThan(2)
    for (const piece of plain) expect(piece).toMatch(/^(abcdefg ?)+$/)
  })

  test("no piece has too many tokens, nothing is lost, no surrogate pair is split", () => {
    const unit = fc.constantFrom("a", "ß", "語", "🛡️", " ", "\n", "\n\n", ". ", "word ", "x".repeat(50))
    const text = fc.array(unit, { maxLength: 900 }).map((parts) => parts.join(""))
    fc.assert(
      fc.property(text, fc.constantFrom(letters, words), (whole, tokens) => {
        const pieces = piecesOf(whole, tokens)
        for (const piece of pieces) {
          expect(tokens(piece)).toBeLessThanOrEqual(MOST_TOKENS)
          expect(piece.isWellFormed()).toBe(true)
          expect(piece.trim()).toBe(piece)
        }
        const bare = (value: string): string => value.replace(/\s+/g, "")
        const joined = bare(pieces.join(""))
        if (pieces.length < MOST_PIECES) expect(joined).toBe(bare(whole))
        else expect(bare(whole).startsWith(joined)).toBe(true)
      }),
      { numRuns: 60 },
    )
  })

  test("only the beginning of a pasted file is embedded", () => {
    expect(piecesOf("log line after log line\n".repeat(100_000), words)).toHaveLength(MOST_PIECES)
  })
})

describe("hashed vectors", () => {
  test("have length 1 and are the same every time", () => {
    const text = "Never touch the generated files; use fetchJson, not axios."
    const vector = hashedVector(text)
    expect(vector).toHaveLength(HASHED_DIMENSION)
    expect(dot(vector, vector)).toBeCloseTo(1, 5)
    expect(hashedVector(text)).toEqual(vector)
    // Written down: vectors of another machine, or of yesterday, are compared with these.
    expect(
      new Bun.CryptoHasher("sha256").update(Int8Array.from(vector, (x) => Math.round(x * 100))).digest("hex"),
    ).toMatchInlineSnapshot(`"cfb93c4e2afdd4e8e60aa5387207e5c799fc00b7c4325d392dc5a3600489c99a"`)
    expect(hashedVector("…").every((value) => value === 0)).toBe(true)
  })

  test("are closer the more words, or parts of words, are shared", () => {
    const close = (a: string, b: string): number => dot(hashedVector(a), hashedVector(b))
    const query = "How do we retry failed requests?"
    const same = close(query, "Failed requests are retried with a growing delay.")
    const other = close(query, "The logo is blue on every page.")
    expect(same).toBeGreaterThan(other + 0.2)
    expect(close("fetchUserProfile", "fetch the user's profile")).toBeGreaterThan(0.4)
    expect(close("the and of to", "is it a")).toBe(0)
  })
})

test("words of human and assistant are embedded; output, thinking and the host's own lines are not", () => {
  using archive = new Archive()
  const session = archive
    .session("5e551011-0000-4000-8000-000000000001")
    .user("Add retries to the client.")
    .think("Where is the client?")
    .say("I will look.")
    .step({ tool: "Read", input: { file_path: "/src/client.ts" }, output: "SECRET OUTPUT" })
    .say("It is small, so I will rewrite it.")
    .step({ tool: "Bash", input: { command: "npm test" }, output: "SECRET OUTPUT" })
    .say(`Done. ${"It works now. ".repeat(60)}`)
    .flush()
  archive.follow(session)
  const readers = new CopyReaders()
  const said = textsToEmbed(archive.db, archive.dataHome, 1, readers)
  readers.close()
  expect(said.map(({ text }) => text.slice(0, 80).trim())).toEqual([
    "Add retries to the client.",
    "I will look.\n\nIt is small, so I will rewrite it.",
    `Done. ${"It works now. ".repeat(60)}`.slice(0, 80).trim(),
  ])
  const roles = said.map(
    ({ message }) =>
      archive.db.query<{ role: string }, [number]>("SELECT role FROM messages WHERE id = ?").get(message)!
        .role,
  )
  expect(roles).toEqual(["human", "assistant", "assistant"])
  expect(new Set(said.map(({ message }) => message)).size).toBe(3)
})
