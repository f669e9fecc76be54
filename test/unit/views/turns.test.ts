import { Database } from "bun:sqlite"
import { describe, expect, test } from "bun:test"
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { wordsOf } from "../../../src/base/words.ts"
import { fixesFor } from "../../../src/find/fixes.ts"
import { allOf, quoted, wordExpression } from "../../../src/find/fts-expression.ts"
import { WholeCalls } from "../../../src/find/whole-matches.ts"
import { CopyReaders } from "../../../src/vault/reader.ts"
import { chill, warm } from "../../../src/views/cold-turns.ts"
import { databasePath, SCHEMA_VERSION, schemaVersion } from "../../../src/views/database.ts"
import { editDiff } from "../../../src/views/edit-diff.ts"
import { open } from "../../../src/views/open.ts"
import { openCurrent } from "../../../src/views/open-current.ts"
import { toolCallsOf } from "../../../src/views/queries/calls.ts"
import { usageOf } from "../../../src/views/queries/token-use.ts"
import { turnsOf } from "../../../src/views/queries/turns.ts"
import { newestMatches } from "../../../src/views/queries/word-matches.ts"
import { damageOf, refuseNewer } from "../../../src/views/replace-database.ts"
import { readTurn, turnsOfSession } from "../../../src/views/turn.ts"
import { filterWord } from "../../../src/views/word-index.ts"
import { Archive } from "../../support/archive.ts"
import { expectSameWordsAgain } from "../../support/cold.ts"
import { promptsIn } from "../../support/machine.ts"

/** Turns in the views: all of them, at once, each with its own number, and only those that a human opened. */
describe("turns", () => {
  const STEP = { tool: "Bash", input: { command: "make" }, output: "ok" }

  /** However many messages a session has. */
  test("120 turns of 14 messages, a hook at every prompt: every turn is there, at once", () => {
    using archive = new Archive()
    const transcript = archive.session("s1")
    const prompts: string[] = []
    for (let n = 1; n <= 120; n++) {
      prompts.push(`prompt ${n}`)
      transcript
        .turn(
          `prompt ${n}`,
          Array.from({ length: 6 }, () => STEP),
        )
        .flush()
      archive.follow(transcript)
      expect(archive.count("turns")).toBe(n)
    }
    expect(promptsIn(archive.db, "s1")).toEqual(prompts)
    expect(archive.count("messages")).toBe(120 * 14)
  })

  /** No turn waits for the next one. */
  test("one new turn is archived by the next hook, however many there were", () => {
    using archive = new Archive()
    const transcript = archive.session("s1")
    for (let n = 0; n < 10; n++) transcript.turn(`old ${n}`)
    archive.follow(transcript.flush())
    archive.follow(transcript.turn("one more").flush())
    expect(promptsIn(archive.db, "s1").at(-1)).toBe("one more")
    archive.follow(transcript.turn("and another").flush())
    expect(promptsIn(archive.db, "s1")).toHaveLength(12)
  })

  /** Not by their place among the latest: then two of them would be number 30. */
  test("turns keep their number, whenever they are read", () => {
    using archive = new Archive()
    const transcript = archive.session("s1")
    const handles: string[] = []
    for (let n = 0; n < 60; n++) {
      transcript.turn(`prompt ${n}`).flush()
      if (n % 7 === 0) archive.follow(transcript)
    }
    archive.follow(transcript)
    const turns = turnsOf(archive.db, "s1")
    expect(turns.map(({ seq }) => seq)).toEqual(Array.from({ length: 60 }, (_, n) => n + 1))
    for (const { handle } of turns) handles.push(handle)
    expect(new Set(handles).size).toBe(60)
  })

  /** A turn that is read while it grows is not stored once half and once whole. */
  test("a turn that is read line by line is one row that grows", () => {
    using archive = new Archive()
    const transcript = archive.session("s1")
    const step = { tool: "Bash", input: { command: "make" }, output: "ok" }
    archive.follow(transcript.user("build it").message().flush())
    const handle = turnsOf(archive.db, "s1")[0]!.handle
    for (let tools = 1; tools <= 5; tools++) {
      archive.follow(transcript.step(step).flush())
      expect(turnsOf(archive.db, "s1")).toMatchObject([{ handle, prompt: "build it", tools, answer: "" }])
    }
    archive.follow(transcript.say("built").flush())
    expect(turnsOf(archive.db, "s1")).toMatchObject([{ handle, tools: 5, answer: "built" }])
    expect(archive.count("messages")).toBe(12)
  })

  test("a turn that is read byte by byte is whole, and stored once", () => {
    using archive = new Archive()
    const transcript = archive.session("s1").turn("build it 語").turn("again")
    const whole = Buffer.from(transcript.text)
    transcript.discard()
    transcript.flush()
    for (let at = 0; at < whole.length; at += 97) {
      appendFileSync(transcript.path, whole.subarray(at, at + 97))
      archive.follow(transcript)
    }
    expect(turnsOf(archive.db, "s1").map(({ prompt }) => prompt)).toEqual(["build it 語", "again"])
    expect(archive.count("messages")).toBe(4)
  })

  /** The same words are not the same turn: people say "continue" again and again. */
  test("turns of the same words with other commands are all kept, in both sessions", () => {
    using archive = new Archive()
    const commands = new Map<string, string[]>()
    for (const id of ["s1", "s2"]) {
      const transcript = archive.session(id)
      commands.set(id, [`make ${id} first`, `make ${id} second`])
      for (const command of commands.get(id)!) {
        transcript.turn("continue", [{ tool: "Bash", input: { command }, output: "ok" }], "Done.")
      }
      archive.follow(transcript.flush())
    }
    for (const [id, expected] of commands) {
      const turns = turnsOf(archive.db, id)
      expect(turns.map(({ prompt }) => prompt)).toEqual(["continue", "continue"])
      expect(turns.flatMap((turn) => toolCallsOf(archive.db, turn.id).map(({ target }) => target))).toEqual(
        expected,
      )
    }
  })

  /** Not meta lines, summaries of compactions, or notifications. */
  test("only humans open turns", () => {
    using archive = new Archive()
    const transcript = archive.session("s1")
    transcript.user("Caveat: The messages below were generated by the user while running local commands.", {
      isMeta: true,
    })
    transcript.turn("first")
    transcript.user("<task-notification>\n<status>completed</status>\n</task-notification>")
    transcript.user("<local-command-stdout>Compacted</local-command-stdout>")
    transcript.boundary().summary("1. Primary Request: the lossy summary").say("I go on.")
    transcript.user([{ type: "text", text: "[Request interrupted by user]" }])
    transcript.user("a subagent's brief", { isSidechain: true })
    transcript.turn("second")
    archive.follow(transcript.flush())
    expect(promptsIn(archive.db, "s1")).toEqual(["first", "second"])
    expect(archive.count("turns WHERE prompt LIKE '%lossy summary%'")).toBe(0)
  })
})

/** What a turn holds when it is read back from the vault. */
describe("turn parts", () => {
  /** Each line of the assistant adds to the one before, and replaces nothing. */
  test("10 turns, 30 tool calls: commands, paths, results, texts in between and thinking are all kept", () => {
    using archive = new Archive()
    const transcript = archive.session("s1")
    for (let n = 0; n < 10; n++) {
      transcript.user(`prompt ${n}`).message()
      transcript.think(`thought ${n}`).say(`text in between ${n}`)
      transcript.step({ tool: "Bash", input: { command: `make target${n}` }, output: `made ${n}` })
      transcript.step({ tool: "Read", input: { file_path: `/src/read${n}.ts` }, output: `content ${n}` })
      transcript.step({
        tool: "Edit",
        input: { file_path: `/src/edit${n}.ts` },
        output: "Error: no match",
        isError: true,
      })
      transcript.say(`answer ${n}`)
    }
    archive.follow(transcript.flush())
    const readers = new CopyReaders()
    const turns = turnsOfSession(archive.db, "s1")
    expect(turns).toHaveLength(10)
    for (const [n, row] of turns.entries()) {
      const turn = readTurn(archive.db, archive.dataHome, row, readers)
      expect(turn.tools.map(({ name, target, isError }) => ({ name, target, isError }))).toEqual([
        { name: "Bash", target: `make target${n}`, isError: false },
        { name: "Read", target: `/src/read${n}.ts`, isError: false },
        { name: "Edit", target: `/src/edit${n}.ts`, isError: true },
      ])
      // An edit that failed has changed no file.
      expect(turn.files).toEqual([{ path: `/src/read${n}.ts`, op: "read", count: 1 }])
      const said = turn.messages.flatMap(({ parts }) =>
        parts.map((part) => ("text" in part ? part.text : "")),
      )
      expect(said.filter((text) => text !== "")).toEqual([
        `prompt ${n}`,
        `thought ${n}`,
        `text in between ${n}`,
        `made ${n}`,
        `content ${n}`,
        "Error: no match",
        `answer ${n}`,
      ])
    }
    readers.close()
  })
})

/** A number in the database's header that cannot be: it is damage, while a later version's database is left alone. */
describe("header", () => {
  function flipped(archive: Archive, version: number, more = ""): void {
    archive.take(archive.session("one").turn("about the walrus").flush())
    archive.db.run(
      "INSERT INTO restores (session, source, mark, time, text) VALUES ('one', 's', 'm', '2026', 'kept')",
    )
    archive.db.close()
    const raw = new Database(databasePath(archive.dataHome))
    raw.run(`${more}; PRAGMA user_version = ${version}`)
    raw.close()
  }

  test("a bit flipped in the version: the views are rebuilt, and what only they know is kept", () => {
    for (const bit of [8, 12, 20, 30]) {
      using archive = new Archive()
      flipped(archive, SCHEMA_VERSION ^ (1 << bit))
      const db = openCurrent(archive.dataHome, "command")
      expect(schemaVersion(db)).toBe(SCHEMA_VERSION)
      expect(db.query("SELECT prompt FROM turns").all()).toEqual([{ prompt: "about the walrus" }])
      expect(db.query("SELECT text FROM restores").all()).toEqual([{ text: "kept" }])
      db.close()
    }
  })

  test("a later version's database is never replaced, however high its number", () => {
    for (const [version, more] of [
      [SCHEMA_VERSION + 1, ""],
      [SCHEMA_VERSION + 100, ""],
      [SCHEMA_VERSION + 1000, "CREATE TABLE of_later (n INTEGER)"],
    ] as const) {
      using archive = new Archive()
      flipped(archive, version, more)
      expect(damageOf(archive.dataHome)).toBeUndefined()
      expect(() => refuseNewer(databasePath(archive.dataHome))).toThrow(`has schema ${version}`)
      expect(() => open(archive.dataHome, "write", 0)).toThrow(`has schema ${version}`)
      openCurrent(archive.dataHome, "command").close()
      const raw = new Database(databasePath(archive.dataHome))
      expect(schemaVersion(raw)).toBe(version)
      raw.close()
    }
  })
})

/** A shell tells how the last command of a pipe ended; what ran before it tells of its failure only in its output. */
describe("hidden failures", () => {
  const PASSED = "ok  \texample.com/shop/basket\t0.2s"
  const FAILED = `${"=== RUN   TestPasses\n--- PASS: TestPasses (0.00s)\n".repeat(40)}--- FAIL: TestWalrus (0.00s)\nFAIL\texample.com/shop/basket\t0.2s\nFAIL`

  const bash = (command: string, output: string, isError = false) => ({
    tool: "Bash",
    input: { command },
    output,
    isError,
  })

  function callsOf({ db, dataHome }: Archive) {
    using readers = new CopyReaders()
    return turnsOfSession(db, "s1").flatMap((row) => readTurn(db, dataHome, row, readers).tools)
  }

  /** Messages that are marked as a failure and have this word. */
  function failuresWith(db: Database, text: string): number[] {
    const words = wordsOf(text).map((word) => wordExpression(word))
    return newestMatches(db, allOf([...words, quoted(filterWord.error)])!, undefined, 10)
  }

  test("the call failed, without an exit status; the turn and the search count it", () => {
    using archive = new Archive()
    const transcript = archive
      .session("s1")
      .turn("Run the tests", [
        bash("go test ./... 2>&1 | tail -100", FAILED),
        bash("go test ./... 2>&1 | tail -3", PASSED),
        bash("cat ci.log", FAILED),
        bash("go test ./...", `Exit code 1\n${FAILED}`, true),
      ])
    archive.follow(transcript.flush())
    expect(callsOf(archive).map(({ isError, exitCode }) => [isError, exitCode])).toEqual([
      [true, null],
      [false, null],
      [false, null],
      [true, 1],
    ])
    expect(turnsOfSession(archive.db, "s1")[0]).toMatchObject({ tools: 4, errors: 2 })
    expect(failuresWith(archive.db, "TestWalrus")).toHaveLength(2)
    // What is kept of the output begins where it tells of the failure.
    expect(archive.count("tool_calls WHERE error LIKE '--- FAIL: TestWalrus%'")).toBe(1)
  })

  test("the same when the result comes long after the call, and when all is read once more", () => {
    using archive = new Archive()
    const transcript = archive.session("s1").user("Run the tests").message()
    const id = "toolu_walrus"
    const input = { command: "cd shop && go test ./... 2>&1 | tail -100" }
    archive.follow(transcript.block({ type: "tool_use", id, name: "Bash", input }).flush())
    // Nothing of a session is remembered once another was read.
    archive.follow(archive.session("s2").turn("Something else").flush())
    transcript.user([{ type: "tool_result", tool_use_id: id, content: FAILED, is_error: false }])
    archive.follow(transcript.flush())
    expect(callsOf(archive)).toMatchObject([{ isError: true, exitCode: null }])

    using whole = new Archive()
    const again = whole.session("s1").user("Run the tests").message()
    again.block({ type: "tool_use", id, name: "Bash", input })
    again.user([{ type: "tool_result", tool_use_id: id, content: FAILED, is_error: false }])
    whole.follow(again.flush())
    expect(callsOf(whole)).toEqual(callsOf(archive))
  })

  /** A shell that goes on, a program that is content with itself: the exit status says nothing, and no pipe hides it. */
  const TOLD: readonly (readonly [command: string, output: string, error: string])[] = [
    [
      "git rebase main; git status --short",
      " M a.ts\nerror: cannot rebase: You have unstaged changes.\nerror: Please commit or stash them.",
      "error: cannot rebase: You have unstaged changes.",
    ],
    [
      "./deploy.sh staging",
      "Deploying\nError: the kiln is not reachable\nDone",
      "Error: the kiln is not reachable",
    ],
    [
      "python3 fire.py",
      'Traceback (most recent call last):\n  File "fire.py", line 3, in <module>\n    fire()\nKilnError: too hot to open',
      "KilnError: too hot to open",
    ],
    [
      "ls kilns; ls ovens",
      "oven1\nls: cannot access 'kilns': No such file or directory",
      "ls: cannot access 'kilns'",
    ],
  ]

  test.each(TOLD)(
    "%s: what a restore tells as an error is found as a failure, and counts as none",
    (command, output, error) => {
      using archive = new Archive()
      const again = bash(command, "all is well")
      archive.follow(
        archive
          .session("s1")
          .turn("Do it", [bash(command, output), bash("true", ""), again])
          .flush(),
      )
      const { db, dataHome } = archive
      expect(turnsOfSession(db, "s1")[0]).toMatchObject({ tools: 3, errors: 0 })
      expect(archive.count("facts WHERE kind = 'error' AND text LIKE ?", `${error}%`)).toBe(1)
      const word = error.match(/\w{5,}/g)!.at(-1)!
      const found = failuresWith(db, word)
      expect(found).toHaveLength(1)
      using readers = new CopyReaders()
      const [[fix, whole] = []] = fixesFor(db, found, new WholeCalls(db, dataHome, readers))
      // The same command, once it says nothing of an error, is what solved it.
      expect(fix).toMatchObject({
        target: command,
        solvedIn: fix!.handle,
        steps: [{ target: "true", failed: false }],
      })
      expect(fix!.error).toStartWith(error)
      expect(whole!().error).toContain(error)
    },
  )

  test("a command that shows what others wrote tells of no failure of its own", () => {
    using archive = new Archive()
    const steps = TOLD.map(([, output]) => bash("cat deploy.log", output))
    archive.follow(archive.session("s1").turn("Do it", steps).flush())
    expect(archive.count("tool_calls WHERE error IS NOT NULL")).toBe(0)
    expect(failuresWith(archive.db, "cannot")).toEqual([])
  })

  test("it is found as a failure again when its turn comes back into the index", () => {
    using archive = new Archive()
    const [[command, output]] = TOLD as [(typeof TOLD)[0]]
    archive.follow(
      archive
        .session("s1")
        .turn("Do it", [bash(command, output)])
        .flush(),
    )
    const before = failuresWith(archive.db, "rebase")
    const turns = archive.db
      .query<{ id: number }, []>("SELECT id FROM turns")
      .all()
      .map(({ id }) => id)
    chill(archive.db, turns)
    expect(failuresWith(archive.db, "rebase")).toEqual([])
    using readers = new CopyReaders()
    expect(warm(archive.db, archive.dataHome, turns, readers)).toEqual([])
    expect(failuresWith(archive.db, "rebase")).toEqual(before)
  })

  test("a whole output kept beside the transcript is found as a failure only if its call failed, also after it was cold", () => {
    for (const isError of [false, true]) {
      using archive = new Archive()
      const session = archive.session("s1")
      const path = join(session.path.replace(/\.jsonl$/, ""), "tool-results", "b1.txt")
      const told =
        'Traceback (most recent call last):\n  File "/app/run.py", line 3, in <module>\nValueError: no walrus'
      const output = `<persisted-output>\nOutput too large (61.2KB). Full output saved to: ${path}\n\nPreview (first 2KB):\n${told}\n...\n</persisted-output>`
      archive.follow(session.turn("Run it", [bash("python run.py; date", output, isError)]).flush())
      expect(archive.count(`tool_calls WHERE is_error = ${Number(isError)} AND error IS NOT NULL`)).toBe(1)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, `${told}\nthe falcon is fine\n`)
      archive.follow({ path } as typeof session)
      const failures = () => failuresWith(archive.db, "falcon").length
      expect(failures()).toBe(Number(isError))
      expectSameWordsAgain(archive.db, archive.dataHome)
      expect(failures()).toBe(Number(isError))
    }
  })
})

describe("edit diff", () => {
  const shown = (tool: string, input: unknown): string[][] | undefined =>
    editDiff(tool, input)?.map((hunk) => hunk.map(({ mark, text }) => mark + text))

  describe("what a call changed", () => {
    test("an edit: replaced lines between those that stay", () => {
      expect(
        shown("Edit", { file_path: "/p/a.ts", old_string: "one\ntwo\nthree", new_string: "one\n2\nthree" }),
      ).toEqual([[" one", "-two", "+2", " three"]])
    })

    test("several edits: a hunk each, in their order", () => {
      const edits = [
        { old_string: "a", new_string: "b" },
        { old_string: "c\n", new_string: "" },
      ]
      expect(shown("MultiEdit", { file_path: "/p/a.ts", edits })).toEqual([["-a", "+b"], ["-c"]])
    })

    test("changes far apart in one edit are hunks of their own", () => {
      const lines = Array.from({ length: 20 }, (_, n) => `line ${n}`)
      const before = lines.join("\n")
      const after = lines.map((line, n) => (n === 1 || n === 18 ? `${line}!` : line)).join("\n")
      const hunks = shown("Edit", { old_string: before, new_string: after })
      expect(hunks?.map((hunk) => hunk.filter((line) => line[0] !== " "))).toEqual([
        ["-line 1", "+line 1!"],
        ["-line 18", "+line 18!"],
      ])
    })

    test("a file that was written: its lines; a cell of a notebook: its new source", () => {
      expect(shown("Write", { file_path: "/p/a", content: "x\ny\n" })).toEqual([["+x", "+y"]])
      expect(shown("NotebookEdit", { notebook_path: "/p/a", new_source: "z" })).toEqual([["+z"]])
    })

    test("very long texts are not compared", () => {
      const long = (word: string): string => Array.from({ length: 3000 }, (_, n) => `${word} ${n}`).join("\n")
      const [hunk] = shown("Edit", { old_string: long("a"), new_string: long("b") })!
      expect([hunk!.length, hunk![0], hunk!.at(-1)]).toEqual([6000, "-a 0", "+b 2999"])
    })

    test("other tools, and inputs that tell nothing, have none", () => {
      expect([editDiff("Bash", { command: "ls" }), editDiff("Edit", {}), editDiff("Write", null)]).toEqual([
        undefined,
        undefined,
        undefined,
      ])
    })
  })
})

/** Which tokens are counted, and for whom. */
describe("usage", () => {
  const usage = (tokens: number) => ({
    input_tokens: 5,
    output_tokens: 1,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: tokens,
  })

  /** A subagent's 905 tokens are not the size of the context. */
  test("usage of a subagent's lines is told apart from the main chain's, and is no answer", () => {
    using archive = new Archive()
    const transcript = archive.session("s1")
    const assistant = (id: string, tokens: number, text: string, isSidechain: boolean) =>
      transcript.line({
        type: "assistant",
        isSidechain,
        message: {
          id,
          role: "assistant",
          model: "claude-sonnet-4-6",
          content: [{ type: "text", text }],
          usage: usage(tokens),
        },
      })
    transcript.user("ask an agent")
    assistant("msg_main", 86_000, "The main answer.", false)
    transcript.user("look at it", { isSidechain: true })
    assistant("msg_agent", 900, "The agent's answer.", true)
    archive.follow(transcript.flush())
    const rows = archive.db
      .query("SELECT message, cache_read AS tokens, sidechain FROM usage ORDER BY message")
      .all()
    expect(rows).toEqual([
      { message: "msg_agent", tokens: 900, sidechain: 1 },
      { message: "msg_main", tokens: 86_000, sidechain: 0 },
    ])
    const [turn] = turnsOf(archive.db, "s1")
    expect(turn).toMatchObject({ prompt: "ask an agent", answer: "The main answer." })
    const counted = { input: 5, output: 1, cacheCreation: 0, cacheRead: 86_000 }
    expect(usageOf(archive.db, turn!.id)).toEqual([{ model: "claude-sonnet-4-6", ...counted }])
  })

  test("a subagent's own transcript has its own usage", () => {
    using archive = new Archive()
    const transcript = archive.session("agent-c0ffee", { agent: "c0ffee" })
    const id = archive.follow(transcript.turn("look at it").flush()).session
    const [turn] = turnsOf(archive.db, id)
    expect(usageOf(archive.db, turn!.id)).toMatchObject([{ model: "claude-sonnet-4-6", output: 40 }])
  })

  test("usage that is repeated on each line of a message counts once", () => {
    using archive = new Archive()
    const transcript = archive.session("s1").user("go").message()
    transcript.think("hm").say("I will").say("Done")
    archive.follow(transcript.flush())
    expect(archive.count("usage")).toBe(1)
  })
})
