import { Database } from "bun:sqlite"
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { ftsExpression, fulfils, wordExpression } from "../../../src/find/fts-expression.ts"
import { type Node, parseQuery } from "../../../src/find/parse-query.ts"

const typed = (text: string): string[] => [...new Set(parseQuery(text).terms.map((term) => term.typed))]
const holds = (query: string, text: string, role = "human", tools: string[] = []): boolean =>
  fulfils(parseQuery(query).must as Node, { text, role, tools })

describe("parseQuery", () => {
  test("plain words require nothing, and stop words do not rank", () => {
    const query = parseQuery("how did we fix the flaky upload")
    expect(query.must).toBeUndefined()
    expect(typed("how did we fix the flaky upload")).toEqual(["fix", "flaky", "upload"])
    expect(typed("who are you")).toEqual(["who", "are", "you"])
  })

  test("what an apostrophe joins to a word is no word of its own", () => {
    for (const mark of ["'", "’"]) {
      const query = `why isn't Ada's upload run, they've said it'll crash and we can't, don't or won't`
      const asked = query.replaceAll("'", mark)
      expect(typed(asked)).toEqual(["Ada", "upload", "run", "said", "crash"])
      expect(typed(`isn${mark}t`)).not.toContain("t")
    }
    // In names and code it joins nothing.
    expect(typed("O'Brien runs echo 'd'")).toEqual(["O", "Brien", "runs", "echo", "d"])
  })

  test("the plural of an acronym also asks for the singular", () => {
    expect(parseQuery("merged PRs").terms.map(({ word }) => word)).toEqual(["merg", "pr", "prs"])
    expect(parseQuery("IDEs").terms.map(({ word }) => word)).toEqual(["ide", "ides"])
    // That is a name, whatever it ends in.
    expect(parseQuery("parseIDEs").terms.map(({ word }) => word)).toContain("pars")
  })

  test("AND, OR, NOT and parentheses; OR has the lowest precedence", () => {
    const query = "cat AND (dog OR bird) NOT fish"
    expect(holds(query, "a cat and a bird")).toBe(true)
    expect(holds(query, "a cat, a bird, a fish")).toBe(false)
    expect(holds(query, "a cat")).toBe(false)
    expect(holds("cat OR dog bird", "only a cat")).toBe(true)
    expect(holds("cat OR dog bird", "only a dog")).toBe(false)
    expect(typed(query)).toEqual(["cat", "dog", "bird"])
    expect(typed("cat NOT (dog bird) fish")).toEqual(["cat", "fish"])
    expect(typed("cat NOT (dog OR (bird owl)) fish")).toEqual(["cat", "fish"])
  })

  test("phrases match verbatim, apart from case and white space", () => {
    expect(holds('"exit code 2"', "It said: Exit  code\n2!")).toBe(true)
    expect(holds('"exit code 2"', "exit with code 2")).toBe(false)
    expect(holds('cat NOT "exit code"', "cat, exit, code")).toBe(true)
    expect(holds('cat NOT "exit code"', "cat: exit code")).toBe(false)
  })

  test("prefixes and fields", () => {
    expect(holds("conf* AND x", "x configuration")).toBe(true)
    expect(holds("getUserN* AND x", "x getUserNumber")).toBe(true)
    expect(holds("role:assistant", "x", "assistant")).toBe(true)
    expect(holds("tool:bash AND x", "x", "tool", ["Bash"])).toBe(true)
    expect(holds("tool:bash AND x", "x", "tool", ["Read"])).toBe(false)
  })

  test("operators in the wrong place are words", () => {
    expect(parseQuery("AND").must).toBeUndefined()
    expect(parseQuery("(((").must).toBeUndefined()
    expect(parseQuery("what is NOT").must).toBeUndefined()
    expect(typed("salt AND")).toEqual(["salt"])
  })

  test.each([40, 50_000])("%i nested parentheses: the outer ones count", (depth) => {
    using db = new Database(":memory:")
    db.run("CREATE VIRTUAL TABLE words USING fts5(text, content = '', detail = none, tokenize = 'ascii')")
    let query = "cat"
    for (let n = 0; n < depth; n++) query = `${n % 2 ? "bird OR getUserN* NOT" : '"big dog" AND'} (${query})`
    const { must } = parseQuery(query)
    db.query("SELECT rowid FROM words WHERE words MATCH ?").all(ftsExpression(must!)!)
    expect(fulfils(must!, { text: "big dog, bird", role: "human", tools: [] })).toBe(true)
    expect(fulfils(must!, { text: "fish", role: "human", tools: [] })).toBe(false)
  })

  test("any text parses, and its expression is valid FTS5", () => {
    using db = new Database(":memory:")
    db.run("CREATE VIRTUAL TABLE words USING fts5(text, content = '', detail = none, tokenize = 'ascii')")
    db.run("INSERT INTO words (rowid, text) VALUES (1, 'cat')")
    const match = db.query("SELECT rowid FROM words WHERE words MATCH ?")
    const piece = fc.oneof(
      fc.constantFrom(
        "AND",
        "OR",
        "NOT",
        "(",
        ")",
        '"',
        "*",
        "NEAR",
        "role:",
        "tool:x",
        "cat",
        "a-b",
        "^",
        ":",
        "{",
      ),
      fc.string({ unit: "grapheme", maxLength: 12 }),
      fc.string({ unit: "binary", maxLength: 6 }),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), fc.constantFrom("", " "), (pieces, space) => {
        const query = parseQuery(pieces.join(space))
        const expression = query.must && ftsExpression(query.must)
        if (expression !== undefined) match.all(expression)
        for (const { word, isPrefix } of query.terms) match.all(wordExpression(word, isPrefix))
        if (query.must !== undefined) fulfils(query.must, { text: "cat (dog)", role: "human", tools: [] })
      }),
      { numRuns: 500 },
    )
  })

  test("the index matches everything that fulfils the query", () => {
    const atom = fc.constantFrom("cat", "dog", '"cat dog"', "ca*", "bird")
    const query: fc.Arbitrary<string> = fc.letrec<{ tree: string }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 3 },
        atom,
        fc
          .tuple(tie("tree"), fc.constantFrom("AND", "OR", "NOT", ""), tie("tree"))
          .map(([a, op, b]) => `(${a} ${op} ${b})`),
      ),
    })).tree
    using db = new Database(":memory:")
    db.run("CREATE VIRTUAL TABLE words USING fts5(text, content = '', detail = none, tokenize = 'ascii')")
    const texts = ["cat", "dog", "cat dog", "dog cat", "bird", "bird cat dog", "cart"]
    for (const [n, text] of texts.entries())
      db.query("INSERT INTO words (rowid, text) VALUES (?, ?)").run(n, text)
    fc.assert(
      fc.property(query, (text) => {
        const { must } = parseQuery(text)
        const expression = must && ftsExpression(must)
        if (must === undefined || expression === undefined) return
        const found = new Set(
          db
            .query<{ rowid: number }, [string]>("SELECT rowid FROM words WHERE words MATCH ?")
            .all(expression)
            .map(({ rowid }) => rowid),
        )
        for (const [n, one] of texts.entries()) {
          if (fulfils(must, { text: one, role: "human", tools: [] })) expect(found.has(n)).toBe(true)
        }
      }),
      { numRuns: 300 },
    )
  })
})
