import { Database } from "bun:sqlite"
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import fc from "fast-check"
import { nameAround, namesIn, stem, wordSet } from "../../../src/base/words.ts"
import { ftsExpression, fulfils, wordExpression } from "../../../src/find/fts-expression.ts"
import { type Node, parseQuery } from "../../../src/find/parse-query.ts"
import { exchange, Inside, run } from "../../support/inside.ts"
import type { Machine } from "../../support/machine.ts"
import { callOf, hitsIn, replyTo, textOf } from "../../support/mcp.ts"

describe("query", () => {
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

    test("quotation marks of data are no phrases: what is pasted is looked for by its words", () => {
      for (const pasted of ['"mode": "full"', '{"mode":"full"}', '"retries": 3', '"is_on" : true'])
        expect(parseQuery(pasted).must).toBeUndefined()
      expect(parseQuery('"mode": "full"').terms.map(({ word }) => word)).toEqual(["mod", "full"])
      expect(parseQuery('"mode": "full" role:tool').must).toMatchObject({ kind: "field" })
      expect(parseQuery('"full mode": what is it').must).toMatchObject({ kind: "phrase" })
      expect(parseQuery('"mode" "full"').must).toMatchObject({ kind: "and" })
      expect(parseQuery('"mode": AND "full"').isStrict).toBe(true)
    })

    test("prefixes and fields", () => {
      expect(holds("conf* AND x", "x configuration")).toBe(true)
      expect(holds("getUserN* AND x", "x getUserNumber")).toBe(true)
      expect(holds("role:assistant", "x", "assistant")).toBe(true)
      for (const word of ["host", "claude-code", "Claude-Code,"])
        expect(holds(`role:${word}`, "x", "host")).toBe(true)
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
      for (let n = 0; n < depth; n++)
        query = `${n % 2 ? "bird OR getUserN* NOT" : '"big dog" AND'} (${query})`
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
        // A sign that stands for "(1)": the expression was one of a phrase, which this index refuses.
        { numRuns: 500, examples: [[["Ⴀ⑴", "*"], ""]] },
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
})

/** What queries mean: signs, operators, filters, and nothing at all. */
describe("queries", () => {
  /**
   * Queries that have no word were answered with the newest turns in one project and with nothing in all of them; those with
   * no text at all the other way round. A long one in quotation marks took a minute.
   */
  describe("queries that have no word", () => {
    const machine = new Inside()
    const later = machine.session()
    const former = machine.session()

    beforeAll(async () => {
      // Archived first, though it was said last.
      for (let n = 0; n < 5; n++) later.turn("an early turn, for the clock to run on")
      later.turn("the last word")
      await machine.hook("stop", later.flush())
      former.turn("the first word", [{ tool: "Bash", input: { command: "make" }, output: "=> made" }])
      await machine.hook("stop", former.flush())
    })

    afterAll(() => machine[Symbol.dispose]())

    const search = (...args: readonly string[]) => run(["search", "--json", ...args], machine)

    async function sessions(...args: readonly string[]): Promise<readonly string[]> {
      const { code, stdout, stderr } = await search(...args)
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      return (JSON.parse(stdout) as { hits: readonly { session: string }[] }).hits.map(
        ({ session }) => session,
      )
    }

    async function refused(...args: readonly string[]): Promise<unknown> {
      const { code, stdout, stderr } = await run([...args, "--json"], machine)
      expect(stderr).toBe("")
      const text = stdout.trimEnd().split("\n").at(-1)!
      return { exit: code, ...JSON.parse(text).error }
    }

    test.each([["(((("], ['""'], ["🛡️"], ["..."]])(
      "%p is found nowhere, in one project as in all",
      async (query) => {
        const error = {
          exit: 3,
          code: "not-found",
          hint: "the query has no word; ctxbridge search --cold finds symbols as they are written",
        }
        expect(await refused("search", query)).toMatchObject(error)
        expect(await refused("search", query, "--all-projects")).toMatchObject(error)
        expect(await refused("how", query)).toMatchObject(error)
      },
    )

    test("filters are no signs: what they leave is looked for elsewhere", async () => {
      expect(await refused("search", "role:human tool:Nosuchtool")).toMatchObject({
        exit: 3,
        hint: expect.not.stringContaining("the query has no word"),
      })
    })

    test("signs are found as they stand in the vault", async () => {
      const { code, stdout } = await search("--cold", "=>")
      expect(code).toBe(0)
      expect(JSON.parse(stdout).hits).toMatchObject([{ session: former.session, cold: true }])
    })

    test("without a query, the newest by the clock", async () => {
      for (const where of [[], ["--all-projects"]]) {
        const found = await sessions(...where, "--limit", "1")
        expect(found).toEqual([later.session])
        expect(new Set(await sessions(...where))).toEqual(new Set([later.session, former.session]))
        expect(await sessions(...where, "--tool", "Bash")).toEqual([former.session])
      }
    })

    test("commands that answer one question do not answer an empty one", async () => {
      for (const name of ["how", "fix", "files", "blame"]) {
        expect(await refused(name, " ")).toMatchObject({ exit: 64, code: "usage" })
      }
    })

    test("a folder in a project is that project, named or not", async () => {
      const cwd = join(machine.cwd, "deep", "below")
      mkdirSync(cwd, { recursive: true })
      const wanted = await run(["search", "word", "--json"], machine)
      expect(JSON.parse(wanted.stdout)).toMatchObject({ project: machine.cwd, hits: [{}, {}] })
      expect(await run(["search", "word", "--json"], { env: machine.env, cwd })).toMatchObject({
        code: 0,
        stdout: wanted.stdout,
        stderr: "",
      })
      const named = await run(["search", "word", "--json", "--project", cwd], { env: machine.env, cwd: "/" })
      expect(named).toMatchObject({ code: 0, stdout: wanted.stdout, stderr: "" })
    })

    test.each([
      ["search", ["search", "word"]],
      ["how", ["how", "make"]],
    ])("%s: in a folder without sessions, every project, as the first line says", async (_name, args) => {
      const cwd = join(machine.root, "elsewhere", "project")
      mkdirSync(cwd, { recursive: true })
      const note = `No session of ${cwd} is archived: this is from every project.`
      const { code, stdout, stderr } = await run(args, { env: machine.env, cwd })
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      expect(stdout.split("\n", 1)[0]).toBe(note)
      const json = JSON.parse((await run([...args, "--json"], { env: machine.env, cwd })).stdout)
      expect(json).toMatchObject({ project: null, note })
      expect(
        JSON.parse((await run([...args, "-a", "--json"], { env: machine.env, cwd })).stdout),
      ).not.toHaveProperty("note")
      // Who names a folder means that one.
      expect(await run([...args, "--project", "."], { env: machine.env, cwd })).toMatchObject({
        code: 3,
        stdout: "",
        stderr:
          `ctxbridge: no session of ${cwd} is archived\n` +
          `hint: --project ${machine.cwd} has the same name; --all-projects looks everywhere\n`,
      })
    })

    test("a pasted log is looked for by its beginning", async () => {
      const many = Array.from({ length: 90_000 }, () => "word").join(" ")
      const queries = [`"${many}"`, many.slice(0, 200_000).replaceAll(" ", " OR ")]
      const { replies } = await exchange(
        queries.map((query, n) => callOf(n, "search", { query })),
        machine,
      )
      for (const reply of replies) expect(hitsIn(textOf(reply))).toHaveLength(2)
      expect(replies).toHaveLength(2)
    })

    test("a pasted log is looked for by its beginning", async () => {
      const many = Array.from({ length: 90_000 }, () => "word").join(" ")
      const queries = [`"${many}"`, many.slice(0, 200_000).replaceAll(" ", " OR ")]
      const { replies } = await exchange(
        queries.map((query, n) => callOf(n, "search", { query })),
        machine,
      )
      for (const reply of replies) expect(hitsIn(textOf(reply))).toHaveLength(2)
      expect(replies).toHaveLength(2)
    })
  })

  /**
   * `a OR role:human` found only what has the word, and `it OR zebra` only zebras. `files tool:Edit` gave files without a score, in any order. And the error
   * of a query that finds nothing repeated all of it, however long.
   */
  describe("filters among words", () => {
    let machine: Machine

    beforeAll(async () => {
      machine = new Inside()
      const session = machine.session()
      const edit = (name: string) => ({
        tool: "Edit",
        input: { file_path: `${machine.cwd}/${name}`, old_string: "a", new_string: "b" },
        output: "ok",
      })
      session.turn("Feed the walrus", [], "It sleeps.").turn("Go on", [], "The narwhal is awake.")
      session
        .turn("Write it down", [edit("b.md"), { ...edit("a.md"), tool: "Read" }])
        .turn("Again", [edit("b.md")])
      await machine.hook("stop", session.flush())
    })

    afterAll(() => machine[Symbol.dispose]())

    async function json(...args: string[]) {
      const { code, stdout, stderr } = await run([...args, "--json"], machine)
      return { code, stderr, ...JSON.parse(stdout) }
    }

    test.each([
      ["narwhal OR role:human", [2, 1, 3, 4]],
      ["it OR zebra", [3, 1]],
      ["zebra OR role:human", [4, 1, 2, 3]],
      ["(narwhal OR role:human) NOT walrus", [2, 3, 4]],
      ["narwhal OR NOT role:assistant", [2, 1, 3, 4]],
      ["narwhal AND role:human", undefined],
      ["narwhal AND (zebra OR role:assistant)", [2]],
    ])("%s", async (query, turns) => {
      const { code, stderr, hits } = await json("search", query)
      expect({ code, stderr }).toEqual({ code: turns === undefined ? 3 : 0, stderr: "" })
      if (turns === undefined) return
      const [first, ...others] = hits.map(({ seq }: { seq: number }) => seq)
      expect([first, ...others.sort()]).toEqual(turns)
    })

    test("files of a query that ranks nothing", async () => {
      const { found } = await json("files", "NOT zebra")
      expect(found).toMatchObject([
        { path: `${machine.cwd}/b.md`, score: 2 },
        { path: `${machine.cwd}/a.md`, score: 0.5 },
      ])
    })

    test.each(["search", "how"])(
      "%s: the error tells the beginning of what was looked for",
      async (command) => {
        const { code, stderr, error } = await json(command, "zebra ".repeat(20_000))
        expect({ code, stderr }).toEqual({ code: 3, stderr: "" })
        expect(error.message).toContain('matches "zebra zebra')
        expect(error.message.length).toBeLessThan(400)
      },
    )
  })

  /**
   * `role:admin` asked for messages of nobody, though the words stood there; that capitals are operators was told
   * nowhere when nothing was found; and with `--cold`, `--tool` knew a tool only as Claude Code writes it.
   */
  describe("words that look like operators", () => {
    let machine: Machine

    beforeAll(async () => {
      machine = new Inside()
      const output = `${"x ".repeat(100_100)} walrus`
      const session = machine.session()
      session.turn("Add role: admin to the token", [{ tool: "mcp__remote__run", input: { q: "1" }, output }])
      session.turn("do NOT touch the generated files", [], "I will not.")
      await machine.hook("stop", session.flush())
    })

    afterAll(() => machine[Symbol.dispose]())

    async function search(...args: string[]) {
      const { code, stdout, stderr } = await run(["search", "--json", ...args], machine)
      return { code, stderr, ...JSON.parse(stdout) }
    }

    test("only who may say something is a role", async () => {
      for (const query of ["role:admin", "role:admin AND token", "role:human, admin"]) {
        const { note, ...found } = await search(query)
        expect(found).toMatchObject({ code: 0, stderr: "", hits: [{ seq: 1, role: "human" }] })
        expect(note).toBeUndefined()
      }
    })

    test("where operators let nothing through, the error says so", async () => {
      const { code, stderr, error } = await search("do NOT touch the generated files")
      expect({ code, stderr, hint: error.hint }).toEqual({
        code: 3,
        stderr: "",
        hint: "AND, OR and NOT in capitals are operators; in lower case they are words",
      })
    })

    test.each(["mcp__remote__run", "MCP-Remote-Run"])(
      "the vault is searched for calls of %s",
      async (tool) => {
        const { code, stderr, hits } = await search("--cold", "--tool", tool, "walrus")
        expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
        expect(hits).toMatchObject([{ cold: true, seq: 1, tool: "mcp__remote__run" }])
      },
    )
  })
})

describe("words", () => {
  const words = (text: string): string[] => [...wordSet(text)].sort()

  describe("words", () => {
    test("a name in code gives the same words in every spelling", () => {
      for (const name of ["getUserName", "get_user_name", "get-user-name", "GetUserName", "GET_USER_NAME"]) {
        expect(words(name)).toEqual(["get", "getusername", "nam", "user"])
      }
    })

    test("acronyms, digits, paths and options are split into parts", () => {
      expect(words("parseJSONLine2")).toEqual(["json", "line2", "pars", "parsejsonline2"])
      expect(words("src/search/query.test.ts")).toEqual([
        "queri",
        "querytestts",
        "search",
        "src",
        "test",
        "ts",
      ])
      expect(words("--no-verify")).toEqual(["no", "noverify", "verifi"])
      expect(words("sha256")).toEqual(["sha256"])
    })

    test("forms of a word share a stem", () => {
      for (const forms of ["cache caches cached caching", "run runs running", "study studies studied"]) {
        expect(new Set(forms.split(" ").map(stem)).size).toBe(1)
      }
      expect(new Set(["create", "created", "creates", "creation", "creating"].map(stem)).size).toBe(1)
    })

    test("accents are ignored, and scripts without spaces are found by any two characters", () => {
      expect(words("Café naïve")).toEqual(words("cafe naive"))
      expect(words("検索エンジン")).toEqual(["検索", "索エ", "エン", "ンシ", "シン", "ン"].sort())
      expect(words("サーバー")).toEqual(["サー", "ーハ", "ハー", "ー"].sort())
      expect(words("索")).toEqual(["索"])
      expect(words("getUserNameを呼ぶ")).toEqual([...words("getUserName"), "を呼", "呼ふ", "ふ"].sort())
    })

    test("what is too long for a name is data and gives no words", () => {
      expect(words("x".repeat(65))).toEqual([])
      expect(words("x".repeat(64))).toHaveLength(1)
      expect(words(`${"x".repeat(65)}-ledger`)).toEqual(["ledger"])
      expect(words("a-b2C-ledger_v2.".repeat(20))).toEqual([])
    })

    test("a long name is found by its words only", () => {
      const name = "org.example.warehouse.inventory.reconciliation.jobs.NightlyStockReconciler"
      expect(words(name)).toEqual([...new Set(name.split(".").flatMap(words))].sort())
      const at = name.indexOf("inventory")
      expect(namesIn(name)).toContainEqual({ words: ["inventori"], at, length: 9 })
      expect(nameAround(`see ${name}`, at + 6)).toEqual({ words: ["inventori"], at: at + 4, length: 9 })
    })

    test("for any text, words are single runs of letters and digits, and names are where they are reported", () => {
      fc.assert(
        fc.property(fc.string({ unit: "grapheme", maxLength: 80 }), (text) => {
          for (const word of wordSet(text)) expect(word).toMatch(/^[\p{L}\p{M}\p{N}]+$/u)
          let end = 0
          for (const { at, length } of namesIn(text)) {
            expect(at).toBeGreaterThanOrEqual(end)
            expect(length).toBeGreaterThan(0)
            end = at + length
          }
          expect(end).toBeLessThanOrEqual(text.length)
        }),
      )
    })
  })

  test("the name around a place is the one that scanning the text finds there", () => {
    const piece = fc.constantFrom(
      "a",
      "Zq",
      "_",
      "9",
      ".",
      "-",
      " ",
      "é",
      "日",
      "(",
      "getUser",
      "x".repeat(30),
    )
    const text = fc.array(piece, { minLength: 1, maxLength: 12 }).map((pieces) => pieces.join(""))
    fc.assert(
      fc.property(text, (whole) => {
        for (const name of [...namesIn(whole)].filter(({ length }) => length <= 64)) {
          for (let at = name.at; at < name.at + name.length; at++) {
            if (/[.-]/.test(whole[at]!)) continue
            expect(nameAround(whole, at)).toEqual(name)
          }
        }
      }),
      { numRuns: 1000 },
    )
  })
})

/** Words that begin as the query says. */
describe("prefixes", () => {
  const SAID =
    "While caching runs, verify each file; the configurations of authentication follow quickly. Größe des Überlaufs. 設定ファイルの確認"

  let machine: Machine

  beforeAll(async () => {
    machine = new Inside()
    const session = machine.session().turn("Go on", [], SAID)
    session.raw(JSON.stringify({ type: "future-record-type", payload: "a walrusherd configuration" })).flush()
    await machine.hook("stop", session)
  })

  afterAll(() => machine[Symbol.dispose]())

  async function hits(...args: string[]): Promise<{ snippet: string; marks: [number, number][] }[]> {
    const { code, stdout, stderr } = await run(["search", "--json", ...args], machine)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return JSON.parse(stdout).hits
  }

  /**
   * `verify* AND x` found nothing, since the index holds stems (`verifi`) and no accents. And with `--cold`, `walrus*` was the
   * word "walrus".
   */
  test.each([
    ["verify*", "verify"],
    ["file*", "file"],
    ["cachi*", "caching"],
    ["run*", "runs"],
    ["configurati*", "configurations"],
    ["configurations*", "configurations"],
    ["authenticat*", "authentication"],
    ["quickl*", "quickly"],
    ["größ*", "Größe"],
    ["Überl*", "Überlaufs"],
    ["ファイ*", "設定ファイルの確認"],
  ])("%s is how %s begins", async (prefix, word) => {
    const [hit] = await hits(`${prefix} OR ${prefix}`)
    const { snippet, marks } = hit!
    expect(marks.map(([from, to]) => snippet.slice(from, to))).toContain(word)
  })

  test.each(["walrus*", "walrus* configurati*", "walrus* AND configurati*"])(
    "in the vault itself: %s",
    async (query) => {
      const cold = (await hits("--cold", query)).filter((hit) => "cold" in hit)
      expect(cold).toMatchObject([{ snippet: "a walrusherd configuration" }])
    },
  )

  test("the beginning of a name is found in a longer one", async () => {
    const session = machine.session().turn("Catch zipfile.BadZipFile as well").flush()
    await machine.hook("stop", session)
    for (const prefix of ["BadZ*", "BadZip*", "BadZipF*", "BadZipFi*"]) {
      const [hit] = await hits(prefix)
      expect(hit!.snippet).toContain("BadZipFile")
    }
  })

  test("what does not begin so is not found", async () => {
    for (const prefix of ["verifier*", "fileserver*", "größer*", "ファイア*"]) {
      expect(await run(["search", `${prefix} AND each`], machine)).toMatchObject({ code: 3, stdout: "" })
    }
  })

  test("files: a path that has a word beginning so comes first", async () => {
    const edit = (name: string) => ({
      tool: "Edit",
      input: { file_path: `${machine.cwd}/${name}`, old_string: "a", new_string: "b" },
      output: "ok",
    })
    const session = machine.session().turn("Verify the configuration", [edit("a.ts"), edit("verifyAll.ts")])
    await machine.hook("stop", session.flush())
    const { code, stdout, stderr } = await run(["files", "--json", "verify*"], machine)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(JSON.parse(stdout).found[0]).toMatchObject({ path: `${machine.cwd}/verifyAll.ts` })
  })
})

/** Phrases, and what is said where nobody has said exactly that. */
describe("exact", () => {
  const NOTE = "no exact match; these have some of the words"

  async function search(machine: Machine, query: string) {
    const ran = await run(["search", "--json", query], machine)
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    return JSON.parse(ran.stdout) as { note?: string; hits: readonly { session: string; seq: number }[] }
  }

  /**
   * A phrase of common words was given up after 12 MB of transcripts, though it stood in one of the messages that have its
   * words; and turns that have the words alone were shown as if they had the phrase.
   */
  test("a phrase that stands in an old message, behind megabytes of newer ones with its words", async () => {
    using machine = new Inside()
    const old = machine.session().turn("what was it that the reader of the file had in mind").flush()
    const noise = "of the reader, what the file had; in it was that mind "
    const files = [old.path]
    // Other words between, so that no two frames are alike; each line is a frame of its own.
    for (let n = 0; n < 60; n++) {
      const filler = Array.from({ length: 24_000 }, (_, k) => `w${n}x${k}`).join(" ")
      files.push(
        machine
          .session()
          .turn(`number ${n}`, [], noise + filler + noise)
          .flush().path,
      )
    }
    expect(await run(["import", ...files], machine)).toMatchObject({ code: 0, stderr: "" })
    const { hits, note } = await search(machine, '"that the reader of the file had in mind"')
    expect(hits.map(({ session, seq }) => [session, seq])).toEqual([[old.session, 1]])
    expect(note).toBeUndefined()
  })

  test("the beginning of a name whose parts are joined by a sign comes before what has both parts", async () => {
    using machine = new Inside()
    const said = machine.session().turn("The loom runs at every warp_thread_count now").flush()
    const files = [said.path]
    for (let n = 0; n < 9; n++)
      files.push(machine.session().turn(`Warp ${n}: the warp is there, thin and thick`).flush().path)
    expect(await run(["import", ...files], machine)).toMatchObject({ code: 0, stderr: "" })
    for (const prefix of ["warp_th*", "warp-th*", "warp_thread_c*"]) {
      const { hits } = await search(machine, prefix)
      expect(hits[0]).toMatchObject({ session: said.session })
    }
  })

  test("pasted data comes first where it stands so, whoever else has both words", async () => {
    using machine = new Inside()
    const said = machine.session().turn('Set `"mode": "full"` in the settings').flush()
    const files = [said.path]
    for (let n = 0; n < 40; n++)
      files.push(machine.session().turn(`number ${n}: the full disk was in no mode to go on`).flush().path)
    expect(await run(["import", ...files], machine)).toMatchObject({ code: 0, stderr: "" })
    const { hits, note } = await search(machine, '"mode": "full"')
    expect(hits[0]).toMatchObject({ session: said.session })
    expect(note).toBeUndefined()
  })

  test("the name of a turn or a session: what opens it is told", async () => {
    using machine = new Inside()
    const said = machine.session().turn("the retry waits for the server").turn("where is ctx").flush()
    await machine.hook("stop", said)
    const { stdout } = await run(["search", "--json", "retry"], machine)
    const { handle } = JSON.parse(stdout).hits[0]
    const note = `${handle} is a turn: ctxbridge show ${handle} opens it`
    expect((await search(machine, handle)).note).toBe(note)
    expect(await run(["search", handle.slice(4)], machine)).toMatchObject({
      code: 3,
      stderr: `ctxbridge: nothing in ${machine.cwd} matches "${handle.slice(4)}"\nhint: ${note}\n`,
    })
    const { stderr } = await run(["search", said.session.slice(0, 8)], machine)
    expect(stderr).toContain(`hint: ${said.session} is a session: ctxbridge show ${said.session} opens it\n`)
    expect((await run(["search", "beef0000"], machine)).stderr).toContain(
      "hint: --all-projects looks everywhere\n",
    )
  })

  test("that nobody has said exactly that is told", async () => {
    using machine = new Inside()
    await machine.hook("stop", machine.session().turn("the retry waits for the server").flush())
    expect((await search(machine, '"retry waits"')).note).toBeUndefined()
    expect((await search(machine, "waits retry")).note).toBeUndefined()
    const { note, hits } = await search(machine, '"waits retry"')
    expect({ note, hits: hits.length }).toEqual({ note: NOTE, hits: 1 })
    const shown = await run(["search", '"waits retry"'], machine)
    expect(shown.stdout).toStartWith(`${NOTE}\nctx:`)
    const { replies } = await exchange(
      ['"waits retry"', '"retry waits"'].map((query, n) => callOf(n, "search", { query })),
      machine,
    )
    const [loose, exact] = [0, 1].map((id) => textOf(replyTo(replies, id)))
    expect(loose).toContain("\nNo exact match; these have some of the words.\n")
    expect(hitsIn(loose!)).toHaveLength(1)
    expect(exact).not.toContain("No exact match")
  })
})

/** Words of any script are found. */
describe("any script", () => {
  const SAID = [
    "データベースのサーバーを再起動した。getUserNameを呼ぶ、parse_config関数も。最後は値。第3章を読む",
    "请检查锁。修复登录页面的显示问题",
    "မြန်မာနိုင်ငံတော်တွင်ဆာဗာပြန်စရန်လိုအပ်ပါသည်",
    "see org.example.warehouse.inventory.reconciliation.jobs.NightlyStockReconciler",
    "Crème brûlée",
    "the src/user-profile-card.tsx file",
  ]

  let machine: Machine

  beforeAll(async () => {
    machine = new Inside()
    const session = machine.session()
    for (const text of SAID) session.turn("Go on", [], text.normalize("NFD"))
    await machine.hook("stop", session.flush())
  })

  afterAll(() => machine[Symbol.dispose]())

  /**
   * Words that stand in the archive were not found: Japanese ones with `ー`, names in code beside a script without spaces, a
   * single letter at the end of a run, Burmese, words in names of more than 64 characters, phrases that a text has in another
   * Unicode form.
   */
  test.each([
    [1, '"データ"'],
    [1, "データ AND 再起動"],
    [1, "サーバー AND 値"],
    [1, '"getUserName"'],
    [1, "getUserName AND 呼ぶ"],
    [1, "parseConfig AND 関数"],
    [1, "値"],
    [1, '"第3章"'],
    [2, "锁"],
    [2, '"登录页面"'],
    [3, "ဆာဗာ"],
    [4, "NightlyStockReconciler AND inventory"],
    [4, '"jobs.NightlyStock"'],
    [5, '"brûlée"'],
    [6, '"user-profile"'],
  ])("turn %i has %s", async (seq, query) => {
    const { code, stdout, stderr } = await run(["search", "--json", query], machine)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    const { hits, note } = JSON.parse(stdout) as { hits: { seq: number; snippet: string }[]; note?: string }
    expect({ first: hits[0]!.seq, note }).toEqual({ first: seq, note: undefined })
  })

  test("a word with accents is found in the vault as well", async () => {
    const session = machine
      .session()
      .raw(JSON.stringify({ type: "future-record-type", payload: "naïve walrus" }))
    await machine.hook("stop", session.flush())
    const { code, stdout, stderr } = await run(
      ["search", "--json", "--all-projects", "--cold", "naïve walrus"],
      machine,
    )
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(JSON.parse(stdout).hits).toMatchObject([{ cold: true, snippet: "naïve walrus" }])
  })

  test("a hit shows where a word with accents stands, far from one without", async () => {
    const filler = "Ein Satz ohne Belang steht hier im Text. ".repeat(120)
    const session = machine.session()
    session.turn("Frage", [], `Der Fehler ist alt. ${filler}Die Größe wurde geprüft. ${filler}`)
    await machine.hook("stop", session.flush())
    const { code, stdout, stderr } = await run(["search", "--json", "Fehler Größe geprüft"], machine)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    const [{ snippet, marks }] = JSON.parse(stdout).hits
    const marked = marks.map(([from, to]: [number, number]) => snippet.slice(from, to))
    expect(marked).toEqual(["Größe", "geprüft"])
  })

  /** One character of a script without spaces was found nowhere; of notes it was said that Claude Code keeps them. */
  test("one character of Chinese, Korean or Thai is a word", async () => {
    using machine = new Inside()
    await machine.hook("stop", machine.session().turn("缓存出错了。 캐시 오류. แคช 𠮷野").flush())
    for (const query of ["错", "오", "แ", "𠮷"]) {
      const ran = await run(["search", "--json", query], machine)
      expect(ran).toMatchObject({ code: 0, stderr: "" })
      expect(JSON.parse(ran.stdout).hits).toHaveLength(1)
    }
    expect(await run(["search", "界"], machine)).toMatchObject({ code: 3, stdout: "" })
  })
})
