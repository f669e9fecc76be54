import { Database } from "bun:sqlite"
import { describe, expect, test } from "bun:test"
import { appendFileSync, readdirSync, readFileSync, rmSync, utimesSync } from "node:fs"
import { join } from "node:path"
import { LONGEST_UNCUT } from "../../../src/vault/capture.ts"
import { listPending } from "../../../src/vault/pending.ts"
import { CopyReader } from "../../../src/vault/reader.ts"
import { catchUp } from "../../../src/views/indexing.ts"
import { malformedLines } from "../../../src/views/queries/transcripts.ts"
import { rebuild } from "../../../src/views/rebuild-views.ts"
import { WordWriter } from "../../../src/views/word-index.ts"
import { Archive } from "../../support/archive.ts"
import { findings } from "../../support/examined.ts"
import { Inside, run } from "../../support/inside.ts"
import { contextOf, promptsIn } from "../../support/machine.ts"
import type { Transcript } from "../../support/transcript.ts"
import { namedViews } from "../../support/views.ts"

/** Lines too long to be read are archived and passed over; what comes behind them is indexed as usual. */
describe("long lines", () => {
  /** A record of Claude Code with a text of this many bytes, in pieces that fit into memory. */
  function appendLong(path: string, bytes: number): void {
    appendFileSync(path, '{"type":"user","uuid":"long","message":{"role":"user","content":"')
    const piece = Buffer.alloc(1 << 20, "never to be read ")
    for (let done = 0; done < bytes; done += piece.length) appendFileSync(path, piece)
    appendFileSync(path, '"}}\n')
  }

  const prompts = ({ db }: Archive): string[] =>
    db
      .query<{ prompt: string }, []>("SELECT prompt FROM turns ORDER BY seq")
      .all()
      .map(({ prompt }) => prompt)

  const lineCount = (transcript: Buffer): number => transcript.toString("latin1").split("\n").length - 1

  test("a line of three frames: the job passes over it, however short its slices, and a rebuild does", () => {
    using archive = new Archive()
    const session = archive.session("one").turn("before").flush()
    appendLong(session.path, 2.2 * LONGEST_UNCUT)
    session.turn("after").flush()
    const taken = archive.take(session)
    const whole = readFileSync(session.path)
    const reader = new CopyReader(archive.file(taken))
    const hash = new Bun.CryptoHasher("sha256")
    for (const piece of reader.pieces()) hash.update(piece)
    reader.close()
    expect(hash.digest("hex")).toBe(new Bun.CryptoHasher("sha256").update(whole).digest("hex"))

    let slices = 0
    expect(catchUp(archive.db, archive.dataHome, Number.POSITIVE_INFINITY, () => slices++)).toBe(0)
    // Each passes over the whole line or does another: none reads the same again.
    expect(slices).toBeLessThanOrEqual(lineCount(whole))
    expect(listPending(archive.dataHome)).toEqual([])
    expect(prompts(archive)).toEqual(["before", "after"])
    expect(archive.count("transcripts WHERE indexed = archived")).toBe(1)
    const offsets = archive.db.query<{ o: number; n: number }, []>(
      "SELECT offset AS o, length AS n FROM messages",
    )
    for (const { o, n } of offsets.all())
      expect(whole.subarray(o, o + n).toString()).toStartWith('{"parentUuid"')

    archive.db.close()
    expect(rebuild(archive.dataHome, { now: 0, wait: 0 })).toMatchObject({ turns: 2, unreadable: [] })
  })
})

/** Lines of transcripts that are no JSON objects. */
describe("malformed lines", () => {
  const BROKEN = ['{"type":"user","mess', "null", "\0\0\0", "[1]"]

  test("are counted once, lose no turn, and are told by doctor, whatever reads them", async () => {
    using machine = new Inside()
    const session = machine.session().turn("first")
    for (const line of BROKEN) session.raw(line)
    session.turn("second").flush()
    await machine.hook("stop", session)
    session.raw("{").turn("third").flush()
    await machine.hook("stop", session)
    const quiet = machine.session().turn("whole").flush()
    await machine.hook("stop", quiet)
    const expected = [{ session: session.session, lines: 5, rescued: 0 }]
    const views = () => {
      using db = machine.views()
      expect(promptsIn(db, session.session)).toEqual(["first", "second", "third"])
      expect(malformedLines(db)).toEqual(expected)
      return namedViews(db)
    }
    const before = views()
    expect(await findings(machine, "lines")).toMatchObject([
      {
        state: "ok",
        text: "5 lines of 1 session are not JSON; the vault has the bytes, and every other line is read",
        details: [`${session.session}: 5 lines`],
      },
    ])
    expect(await run(["rebuild"], machine)).toMatchObject({ code: 0, stderr: "" })
    expect(views()).toEqual(before)
    const { stdout } = await run(["verify", "--json"], machine)
    expect(JSON.parse(stdout).ok).toBe(true)
  })

  test("half a line at the end waits, and what was forgotten is not one", async () => {
    using machine = new Inside()
    const session = machine.session().turn("keep the kiln closed").turn("forget the kiln").flush()
    appendFileSync(session.path, '{"type":"user","mess')
    await machine.hook("stop", session)
    const { code, stderr } = await run(["forget", "--match", "forget the kiln", "--yes"], machine)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    using db = machine.views()
    expect(malformedLines(db)).toEqual([])
  })

  test("null where a content block should be loses nothing of its turn", () => {
    using archive = new Archive()
    const session = archive.session("s1")
    session.user([null, { type: "text", text: "go" }, null])
    const content = [null, { type: "text", text: "Gone." }, null]
    session.line({ type: "assistant", message: { id: "m", role: "assistant", model: "x", content } })
    archive.follow(session.flush())
    expect(archive.db.query("SELECT prompt, answer FROM turns").all()).toEqual([
      { prompt: "go", answer: "Gone." },
    ])
    expect(malformedLines(archive.db)).toEqual([])
  })

  /** A record, and the next one as the file has them after a crash; `%` is where the first was torn. */
  const GLUED: readonly (readonly [
    name: string,
    line: (first: string, second: string) => string,
    whole: number,
  ])[] = [
    ["a torn record and a whole one", (first, second) => first.slice(0, first.length / 2) + second, 1],
    ["torn within a name", (first, second) => first.slice(0, first.indexOf('sessionId"') + 4) + second, 1],
    [
      "torn where a value is expected",
      (first, second) => first.slice(0, first.indexOf('"message":') + 10) + second,
      1,
    ],
    ["torn behind one byte", (_first, second) => `{${second}`, 1],
    ["two whole ones", (first, second) => first + second, 2],
    ["three, the second torn", (first, second) => `${first}${first.slice(0, 90)}${second}`, 2],
    ["a whole one and a torn one", (first, second) => `${second}${first.slice(0, 90)}`, 1],
    ["a run of NUL", (_first, second) => `${"\0".repeat(700)}${second}`, 1],
    ["NUL between two", (first, second) => `${first}\0\0\0\0${second}`, 2],
    ["a torn record, NUL, and a whole one", (first, second) => `${first.slice(0, 90)}\0\0\0${second}`, 1],
    ["a carriage return between two", (first, second) => `${first}\r${second}\r`, 2],
    ["a byte order mark in the file", (first, second) => `${first}\n\ufeff\0${second}`, 1],
    ["the end of a record whose beginning is gone", (first, second) => `${first.slice(90)}${second}`, 1],
  ]

  test.each(GLUED)("%s: every whole record is in its turn, and can be shown", async (_name, glue, whole) => {
    using machine = new Inside()
    const session = machine.session().turn("the first prompt")
    const parts = machine
      .session()
      .turn("lost or not", [], "")
      .user("the smithy is open")
      .take()
      .trim()
      .split("\n")
    session
      .raw(glue(parts[0]!.replaceAll("-4", "-5"), parts.at(-1)!))
      .turn("the last prompt")
      .flush()
    await machine.hook("stop", session)
    const isBoth = whole === 2 || _name.startsWith("a byte order")
    using db = machine.views()
    expect(promptsIn(db, session.session)).toEqual([
      "the first prompt",
      ...(isBoth ? ["lost or not"] : []),
      "the smithy is open",
      "the last prompt",
    ])
    expect(malformedLines(db)).toEqual([{ session: session.session, lines: 1, rescued: whole }])
    const found = await run(["search", "smithy", "-a", "--json"], machine)
    const [hit] = JSON.parse(found.stdout).hits
    expect(hit).toMatchObject({ role: "human", snippet: "the smithy is open" })
    const shown = await run(["export", hit.handle, "--raw"], machine)
    expect(shown).toMatchObject({ code: 0, stderr: "" })
    expect(shown.stdout.split("\n")[0]).toBe(parts.at(-1)!)
    const [lines] = await findings(machine, "lines")
    expect(lines!.text).toContain(`${whole === 1 ? "1 whole record" : "2 whole records"} in it`)
  })

  test("a last line without an end gives its whole records once, and what follows is read behind them", async () => {
    using machine = new Inside()
    const session = machine.session().turn("the first prompt").flush()
    const [line = "", next = ""] = machine.session().user("glued").user("later").take().split("\n")
    const left = async (text: string): Promise<void> => {
      appendFileSync(session.path, text)
      utimesSync(session.path, 1_700_000_000, 1_700_000_000)
      expect(await run(["import", "--quiet"], machine)).toMatchObject({ code: 0, stderr: "" })
    }
    await left(`{"type":"user","mess${line}`)
    await left(next.slice(0, 100))
    const views = () => {
      using db = machine.views()
      return promptsIn(db, session.session)
    }
    expect(views()).toEqual(["the first prompt", "glued"])
    appendFileSync(session.path, `${next.slice(100)}\n`)
    await machine.hook("stop", session)
    expect(views()).toEqual(["the first prompt", "glued", "later"])
    expect(await run(["rebuild"], machine)).toMatchObject({ code: 0, stderr: "" })
    expect(views()).toEqual(["the first prompt", "glued", "later"])
  })

  test("a last line that a crash has glued and left without an end is imported at once, half a line is not", async () => {
    using machine = new Inside()
    const [line = ""] = machine.session().user("the smithy is open").take().split("\n")
    for (const [left, prompts] of [
      [`{"type":"user","mess${line}`, ["the first prompt", "the smithy is open"]],
      [`\0\0\0\0${line}`, ["the first prompt", "the smithy is open"]],
      [line.slice(0, -3), ["the first prompt"]],
    ] as const) {
      const session = machine.session().turn("the first prompt").flush()
      appendFileSync(session.path, left.replaceAll("000000000001", session.session.slice(-12)))
      expect(await run(["import", "--quiet"], machine)).toMatchObject({ code: 0, stderr: "" })
      using db = machine.views()
      expect(promptsIn(db, session.session)).toEqual([...prompts])
    }
  })
})

/** The first texts that a process indexes are split by another function than those that follow. */
describe("word writer", () => {
  const TEXT = "getUserName reads org.example.caches, größe and 日本 twice: getUserName"

  test("a text has the same words in the index, however much was indexed before", () => {
    using db = new Database(":memory:")
    db.run("CREATE VIRTUAL TABLE words USING fts5(text, content = '', detail = none, tokenize = 'ascii')")
    db.run("CREATE VIRTUAL TABLE found USING fts5vocab('words', 'instance')")
    const writer = new WordWriter(db)
    writer.add(1, TEXT, { role: "human" })
    writer.add(2, "a long listing, line by line ".repeat(20_000), {})
    writer.add(3, TEXT, { role: "human" })
    writer.add(4, "", {})
    writer.flush()
    const wordsOf = (message: number) =>
      db
        .query<{ term: string }, [number]>("SELECT term FROM found WHERE doc = ? ORDER BY term")
        .all(message)
        .map(({ term }) => term)
    expect(wordsOf(1)).toContain("getusername")
    expect(wordsOf(1)).toContain("§rhuman")
    expect(wordsOf(3)).toEqual(wordsOf(1))
    expect(wordsOf(4)).toEqual([])
  })
})

/** Other writers of JSON put blanks behind names and commas: such a transcript is read like Claude Code's own. */
describe("spaced json", () => {
  const WAYS: Readonly<Record<string, (line: string) => string>> = {
    "as Claude Code writes it": (line) => line,
    "with blanks behind names": (line) => spaced(line, ": "),
    "with blanks around colons": (line) => spaced(line, " : "),
  }

  /** Line breaks within strings are escaped, so those that are left stand between names and values. */
  const spaced = (line: string, colon: string): string =>
    JSON.stringify(JSON.parse(line), null, 1).replace(/\n\s*/g, " ").replace(/" ?: /g, `"${colon}`)

  const RULE = "Never touch the generated files."

  async function told(write: (line: string) => string): Promise<unknown> {
    using machine = new Inside()
    const flush = (session: Transcript): Transcript => {
      const lines = session.take().trimEnd().split("\n")
      for (const line of lines) session.raw(write(line))
      return session.flush()
    }
    const session = machine
      .session()
      .turn(`Add retries. ${RULE}`, [
        { tool: "Edit", input: { file_path: "/src/app/client.ts" }, output: "ok" },
      ])
    await machine.hook("stop", flush(session))
    // Old versions of Claude Code keep subagents beside the session and name it in each line.
    const agent = machine.session({ id: "agent-77aa" })
    agent.line({
      type: "user",
      sessionId: session.session,
      isSidechain: true,
      message: { role: "user", content: "Look." },
    })
    flush(agent)
    const imported = await run(["import", "--quiet"], machine)
    flush(session.boundary().summary(`The user wants this: ${RULE}`))
    const restored = contextOf(await machine.hook("session-start", session, { source: "compact" }))
    rmSync(session.path)
    const back = await run(["resurrect", session.session, "--json"], machine)
    const { sessions } = JSON.parse((await run(["sessions", "--json", "--agents"], machine)).stdout)
    const plain = (text: string): string => text.replaceAll(machine.root, "ROOT")
    return {
      codes: [imported.code, back.code],
      restored: restored?.replace(/\d[\d.]* (?:B|KB)/g, "SIZE"),
      resume: plain(JSON.stringify(JSON.parse(back.stdout).sessions[0].resume)),
      sessions: sessions.map(({ id, parent, cwd, turns }: Record<string, unknown>) => [
        id,
        parent,
        plain(String(cwd)),
        turns,
      ]),
    }
  }

  test("hooks, import, resurrect and listings say the same of it", async () => {
    const expected = await told(WAYS["as Claude Code writes it"]!)
    expect(expected).toMatchObject({
      codes: [0, 0],
      sessions: expect.arrayContaining([
        [
          "5e551011-0000-4000-8000-000000000001/77aa",
          "5e551011-0000-4000-8000-000000000001",
          "ROOT/project",
          1,
        ],
      ]),
    })
    expect(JSON.stringify(expected)).not.toContain("Standing user constraints")
    for (const write of Object.values(WAYS)) expect(await told(write)).toEqual(expected)
  })

  /** A name with its value is looked for where blanks may stand between them, or not at all. */
  test("no source looks for a name and its value as one piece of text", () => {
    const src = join(import.meta.dir, "../../../src")
    const looks = /['"`/(|]"[A-Za-z_]+":(?:"|true|false|null|\[|\\d|\\{|\(")/
    const found: string[] = []
    for (const file of readdirSync(src, { recursive: true, encoding: "utf8" })) {
      if (!file.endsWith(".ts") || /^(?:cli\/bench|claude\/fake|cli\/demo)\//.test(file)) continue
      // Lines of a transcript that we make ourselves have no blanks.
      if (/(?:opencode-lines|opencode-hooks|take-document)\.ts$/.test(file)) continue
      for (const [n, line] of readFileSync(join(src, file), "utf8").split("\n").entries())
        if (looks.test(line)) found.push(`${file}:${n + 1}: ${line.trim()}`)
    }
    expect(found).toEqual([])
  })
})
