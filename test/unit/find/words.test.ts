import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import fc from "fast-check"
import { wordSet } from "../../../src/base/words.ts"
import { dot } from "../../../src/cli/commands/model.ts"
import { lineMayFulfil } from "../../../src/find/candidates.ts"
import { MOST_PIECES, MOST_TOKENS, piecesOf } from "../../../src/find/embed/embedder.ts"
import { HASHED_DIMENSION, hashedVector } from "../../../src/find/embed/hashed-words.ts"
import { fulfils } from "../../../src/find/fts-expression.ts"
import { type Node, parseQuery } from "../../../src/find/parse-query.ts"
import { search } from "../../../src/find/search-turns.ts"
import { wholeNamesIn } from "../../../src/find/whole-matches.ts"
import { textsToEmbed } from "../../../src/job/embedding.ts"
import { CopyReaders } from "../../../src/vault/reader.ts"
import { open } from "../../../src/views/open.ts"
import { WordGatherer } from "../../../src/views/word-index.ts"
import { Archive } from "../../support/archive.ts"
import { Inside, Peer, run } from "../../support/inside.ts"

/** Indexing gathers words in another way than a query does, and must find the same ones. */
describe("word gatherer", () => {
  const sorted = (words: Iterable<string>): string[] => [...words].sort()

  const gatherer = new WordGatherer()
  const gathered = (text: string): string[] => {
    const words = Buffer.from(gatherer.wordsIn(text)).toString()
    return words === "" ? [] : words.slice(0, -1).split(" ").sort()
  }
  const same = (text: string): void => expect(gathered(text)).toEqual(sorted(wordSet(text)))

  /** What begins, joins and ends names, and what may or may not be a letter. */
  const piece = fc.constantFrom(
    ..."aZ9_.- /\n",
    ..."é日ーศ—“→─➜✅🎉①\u0301\ud83c\u2060\u2c00",
    "getUserName",
    "HTTPServer2",
    "cached",
    "toolu_01AbCdEfGhIjKlMnOp",
    "0123456789abcdef",
    "x".repeat(40),
    "org.example.warehouse.",
  )

  describe("words gathered for the index", () => {
    test("are those of a query, whatever the text", () => {
      fc.assert(
        fc.property(fc.array(piece, { maxLength: 14 }), (pieces) => same(pieces.join(""))),
        { numRuns: 3000 },
      )
      fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 60 }), same), { numRuns: 1000 })
    })

    test("no character beyond ASCII is taken for another kind", () => {
      for (let unit = 0x80; unit <= 0xffff; unit++) {
        const text = `a${String.fromCharCode(unit)}b c.${String.fromCharCode(unit)}`
        if (gathered(text).join() !== sorted(wordSet(text)).join())
          throw new Error(`U+${unit.toString(16)} differs`)
      }
    })

    test("marks are put behind them, however long they are", () => {
      const marks = Buffer.from(`§p1 ${"§".repeat(200_000)}`)
      const words = Buffer.from(gatherer.wordsIn("kiln kiln", marks)).toString()
      expect(words).toBe(`kiln ${marks.toString()}`)
      expect(Buffer.from(gatherer.wordsIn("", marks)).equals(marks)).toBe(true)
    })

    test("runs of letters beyond ASCII that come again, and more of them than are remembered", () => {
      for (let round = 0; round < 2; round++)
        for (let n = 0; n < 5000; n += 50)
          same(Array.from({ length: 50 }, (_, at) => `für_Öfen${n + at} ${"ö".repeat(at)} für`).join(" "))
    })

    test("a word counts once, in whichever names it occurs", () => {
      same("get getUser get_user_1234567 GET 1234567")
    })

    test("more names than there is room for: in one text, and over many", () => {
      const letters = (n: number): string =>
        [...n.toString(26)].map((digit) => "abcdefghijklmnopqrstuvwxyz"[Number.parseInt(digit, 26)]).join("")
      const name = (n: number): string => `name_${letters(n)}${"q".repeat(n % 30)}`
      const many = Array.from({ length: 90_000 }, (_, n) => name(n)).join(" ")
      same(many)
      for (let n = 0; n < 90_000; n += 3000) same(`get ${many.slice(n * 10, n * 10 + 40_000)} get`)
    })
  })
})

describe("word index", () => {
  const found = (archive: Archive, query: string): number => {
    const readers = new CopyReaders()
    try {
      return search(archive.db, archive.dataHome, { query, limit: 10 }, readers).hits.length
    } finally {
      readers.close()
    }
  }

  test("words are removed with their message", () => {
    using archive = new Archive()
    const transcript = archive.session("11111111-0000-4000-8000-000000000001")
    transcript.turn("the xylophonist plays", [], "a marimbaphone instead").flush()
    archive.follow(transcript)
    expect(found(archive, "xylophonist")).toBe(1)
    expect(found(archive, "marimbaphone")).toBe(1)
    archive.db.run("DELETE FROM messages WHERE role = 'human'")
    expect(found(archive, "xylophonist")).toBe(0)
    expect(found(archive, "marimbaphone")).toBe(1)
  })

  test("a line that is indexed again is not found twice", () => {
    using archive = new Archive()
    const transcript = archive.session("11111111-0000-4000-8000-000000000002")
    transcript.turn("the xylophonist plays").flush()
    archive.follow(transcript)
    archive.db.run("UPDATE transcripts SET indexed = 0")
    archive.follow(transcript)
    const rows = archive.db.query("SELECT rowid FROM words WHERE words MATCH 'xylophonist'").all()
    expect(rows).toHaveLength(2) // prompt, and the answer that repeats it
  })

  test("results of a search by meaning are merged with those by words, or used alone", () => {
    using archive = new Archive()
    const transcript = archive.session("11111111-0000-4000-8000-000000000003")
    for (const topic of ["otter", "falcon", "beetle"]) transcript.turn(`about the ${topic}`, [], "noted")
    transcript.flush()
    archive.follow(transcript)
    const readers = new CopyReaders()
    const seqs = (query: string, more: object): number[] =>
      search(archive.db, archive.dataHome, { query, limit: 10, ...more }, readers).hits.map(({ seq }) => seq)
    const similar = [
      { turn: 3, score: 0.9 },
      { turn: 2, score: 0.8 },
    ]
    expect(seqs("falcon", {})).toEqual([2])
    // The word covers the query.
    expect(seqs("falcon", { similar })).toEqual([2])
    expect(seqs("falcon", { similar, isHybrid: true })).toEqual([2, 3])
    expect(seqs("falcon plumage", { similar })).toEqual([2, 3])
    expect(seqs("falcon", { similar, byWords: false })).toEqual([3, 2])
    expect(seqs("falcon AND about", { similar })).toEqual([2])
    readers.close()
  })
})

/** What is embedded: which words, in which pieces, and the vectors that need no model. */
describe("text", () => {
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
        new Bun.CryptoHasher("sha256")
          .update(Int8Array.from(vector, (x) => Math.round(x * 100)))
          .digest("hex"),
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
})

/** Ids, versions, codes and paths: what has a part of one is found, and never said to have it all. */
describe("whole names", () => {
  /** A name as it is typed; texts that have it, and texts that only have its parts. */
  const NAMES: readonly (readonly [typed: string, whole: readonly string[], parts: readonly string[]])[] = [
    [
      "CVE-2024-1234",
      ["fixes CVE-2024-1234.", "cve-2024-1234-poc", "CVE_2024_1234", "(CVE-2024-1234)"],
      ["port 1234 is open", "CVE-2024-12345", "CVE-2023-1234 of 2024", "XCVE-2024-1234"],
    ],
    [
      "2.1.332",
      ["Claude Code 2.1.332", "v2.1.332?", "2.1.332-beta"],
      ["2.1.33", "2.1.3321", "21332", "2.1.332.4", "12.1.332"],
    ],
    ["utf-8", ["utf8", "UTF-8 text", "utf_8"], ["utf-16 in 8 bytes", "utf-80"]],
    ["ERR_KILN_404", ["throws ERR_KILN_404", "err-kiln-404"], ["404 from the kiln: err", "ERR_KILN_4040"]],
    ["getUserName", ["get_user_name()", "getUserName(1)", "get-user-name"], ["the user gets a name"]],
    [
      "src/kiln/door.ts",
      ["edited src/kiln/door.ts:12", "/app/src/kiln/door.ts", "src\\kiln\\door.ts"],
      ["src/oven/door.ts", "door.ts in src", "src/kiln/door.tsx"],
    ],
    [
      "5e551011-0000-4000-8000-00000000000a",
      ["session 5e551011-0000-4000-8000-00000000000a"],
      ["5e551011", "5e551011-0000-4000-8000-00000000000b"],
    ],
    ["kiln@3.2.1", ["npm i kiln@3.2.1"], ["kiln 3.2.1", "kiln@3.2.10"]],
  ]

  test.each(NAMES)("%s is told from its parts", (typed, whole, parts) => {
    const [name, ...others] = wholeNamesIn(`where was "quoted-1" ${typed}, please?`)
    expect(others).toEqual([])
    expect(name!.typed).toBe(typed)
    for (const text of whole) expect([text, name!.isIn(text)]).toEqual([text, true])
    for (const text of parts) expect([text, name!.isIn(text)]).toEqual([text, false])
  })

  test("words with hyphens or slashes, filters, single words and abbreviations are no such names", () => {
    for (const query of [
      "re-run the and/or tests",
      "role:human tool:mcp__x__y",
      "kiln TS2345",
      "e.g. U.S",
      "src/kil*",
      "größe-1",
      "…",
    ])
      expect(wholeNamesIn(query).map(({ typed }) => typed)).toEqual([])
  })

  let machine: Inside
  beforeAll(async () => {
    machine = new Inside()
    const session = machine.session()
    const texts = [
      ["Which port is it?", "It listens on port 1234, in 2024, as the CVE page says."],
      ["Which version?", "2.1.331 is installed."],
      ["Where is the door?", "In src/kiln/door.ts, see ERR_KILN_404."],
      ["Is utf8 read?", "Yes, getUserName is."],
    ] as const
    for (const [prompt, answer] of texts) session.turn(prompt, [], answer)
    await machine.hook("stop", session.flush())
  })
  afterAll(() => machine[Symbol.dispose]())

  const NOTES: readonly (readonly [query: string, note: string | undefined, why: readonly string[]])[] = [
    [
      "CVE-2024-1234",
      "No message has “CVE-2024-1234” as a whole; these have parts of it.",
      ["cve", "1234", "2024"],
    ],
    ["version 2.1.332", "No message has “2.1.332” as a whole; these have parts of it.", []],
    ["2.1.331", undefined, ["2.1.331"]],
    ["src/oven/door.ts", "No message has “src/oven/door.ts” as a whole; these have parts of it.", []],
    ["src/kiln/door.ts", undefined, []],
    ["ERR_KILN_404", undefined, ["err_kiln_404"]],
    ["ERR_KILN_500", "No message has “ERR_KILN_500” as a whole; these have parts of it.", ["err", "kiln"]],
    ["utf-8 get_user_name", undefined, ["get_user_name"]],
    [
      "CVE-2024-1234 and ERR_OVEN_1",
      "No message has “CVE-2024-1234” or “ERR_OVEN_1” as a whole; these have parts of it.",
      [],
    ],
  ]

  test.each(NOTES)(
    "%s: the search says what its hits lack, and so does the server",
    async (query, note, why) => {
      const { code, stdout, stderr } = await run(["search", query, "-a", "--json"], machine)
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      const found = JSON.parse(stdout)
      expect(found.note).toBe(note)
      expect(found.partial).toEqual(note === undefined ? undefined : note.match(/(?<=“)[^”]+/g))
      if (why.length > 0) expect([...found.hits[0].why].sort()).toEqual([...why].sort())
      for (const hit of found.hits)
        for (const name of found.partial ?? []) expect(hit.why).not.toContain(name.toLowerCase())
      const plain = await run(["search", query, "-a"], machine)
      if (note === undefined) expect(plain.stdout).not.toContain("as a whole")
      else expect(plain.stdout).toContain(note)
      const server = await Peer.connect(machine.cwd, machine.env)
      const { text, isError } = await server.call("search", { query })
      expect(isError).toBe(false)
      if (note === undefined) expect(text).not.toContain("as a whole")
      else expect(text).toContain(note)
    },
  )

  test("where a message has it, and no more is asked for, what has only parts of it is no hit", () => {
    using archive = new Archive()
    const transcript = archive.session("5e551011-0000-4000-8000-000000000001")
    const answers = [
      "CVE-2024-12345 it was.",
      "CVE-2024-1 it was.",
      "Any CVE of 2024.",
      "See cve-2024-12345-poc.",
    ]
    for (const answer of answers) transcript.turn("Which one?", [], answer)
    archive.follow(transcript.flush())
    using readers = new CopyReaders()
    const shownFor = (query: string) =>
      search(archive.db, archive.dataHome, { query, limit: 9 }, readers).hits.map(({ snippet }) => snippet)
    expect(shownFor("what is CVE-2024-12345?")).toEqual([answers[0]!, answers[3]!])
    expect(shownFor("see CVE-2024-12345")).toHaveLength(4)
    expect(shownFor("CVE-2024-12")).toHaveLength(4)
  })

  test("nothing of it is told to whoever does not want to know", () => {
    const db = open(machine.dataHome, "write", 0)
    using readers = new CopyReaders()
    const request = { query: "ERR_KILN_500", limit: 1, isBrief: true }
    const [told, untold] = [true, false].map((tellsPartial) =>
      search(db, machine.dataHome, { ...request, tellsPartial }, readers),
    )
    db.close()
    expect(told).toMatchObject({ partial: ["ERR_KILN_500"] })
    expect(untold!.partial).toBeUndefined()
    expect(untold!.hits).toEqual(told!.hits)
    expect(untold!.hits).toHaveLength(1)
  })

  test("an id of which nothing has any part is not found, and named", async () => {
    const { code, stdout, stderr } = await run(["search", "GHSA-77aa-99zz", "-a"], machine)
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" })
    expect(stderr).toContain('nothing in the archive matches "GHSA-77aa-99zz"')
  })
})

describe("raw line", () => {
  const phrase = (text: string): Node => parseQuery(`"${text}"`).must!
  const subject = (text: string) => ({ text, role: "human", tools: [] })

  test("a line is skipped only if its text lacks the phrase", () => {
    const may = lineMayFulfil(phrase("Exit code 2"))
    for (const text of ["exit code 2", 'He said: "EXIT\n\tcode  2".', "x exit\u00a0code 2y"]) {
      expect({ text, may: may(JSON.stringify({ text })) }).toEqual({ text, may: true })
    }
    expect(may(JSON.stringify({ text: "exit 2, code" }))).toBe(false)
    const path = lineMayFulfil(phrase("C:\\temp/a"))
    expect(path(JSON.stringify({ text: "in c:\\temp/a now" }))).toBe(true)
    expect(path('{"text":"in C:\\\\temp\\/a"}')).toBe(true)
    expect(lineMayFulfil(phrase("größer als"))('{"text":"gr\\u00f6\\u00dfer als"}')).toBe(true)
  })

  test("for any text, a line that fulfils the phrase is never skipped", () => {
    const piece = fc.constantFrom(
      "a",
      "B",
      "7",
      " ",
      "\n",
      "\t",
      ".",
      "-",
      "\\",
      "/",
      "<",
      "'",
      "ß",
      "\u00a0",
      "&",
      "=",
    )
    const text = fc.array(piece, { minLength: 1, maxLength: 30 }).map((pieces) => pieces.join(""))
    fc.assert(
      fc.property(text, fc.nat(), fc.nat(), (whole, from, length) => {
        const part = whole.slice(from % whole.length).slice(0, 1 + (length % 12))
        const { must } = parseQuery(`"${part}"`)
        if (must === undefined || !fulfils(must, subject(whole))) return
        expect(lineMayFulfil(must)(JSON.stringify({ text: whole }))).toBe(true)
      }),
      { numRuns: 2000 },
    )
  })
})
