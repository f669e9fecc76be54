import { describe, expect, test } from "bun:test"
import { existsSync, mkdirSync } from "node:fs"
import { join } from "node:path"
import { type CallResult, IdFinder, LONGEST_REQUEST, peerLines } from "../../../src/cli/server/sdk.ts"
import { SERVER_TOOLS, serviceOf } from "../../../src/cli/server/server.ts"
import type { ServerWorld } from "../../../src/cli/server/tool.ts"
import { SUMMARY_TYPE } from "../../../src/record/model-summary.ts"
import type { Taken } from "../../../src/vault/capture.ts"
import { noteSummary } from "../../../src/views/ingest.ts"
import { transcriptByCopy } from "../../../src/views/transcript-rows.ts"
import { Archive } from "../../support/archive.ts"
import { exchange, Inside, run } from "../../support/inside.ts"
import { callOf, hitsIn, request } from "../../support/mcp.ts"

describe("tools", () => {
  const SESSION = "11111111-0000-4000-8000-000000000001"

  /** A server without a stream: its tools called as functions. */
  function callsOf(
    archive: Archive,
    folder = join(archive.root, "project"),
  ): (name: string, args?: unknown) => Promise<CallResult> {
    const world: ServerWorld = {
      home: archive.root,
      dataHome: archive.dataHome,
      stateHome: join(archive.root, "state"),
      claudeDir: join(archive.root, ".claude"),
      claudeConfig: join(archive.root, ".claude.json"),
      secrets: { enabled: true, patterns: [] },
      exclude: [],
      config: { "search.meaning": "auto" },
      folder,
      session: undefined,
      restores: true,
      restoreBudget: 9000,
      restoreRelated: 0,
      targets: [],
      waiting: () => undefined,
      now: () => Date.parse("2026-03-02T12:00:00Z"),
    }
    const service = serviceOf(world)
    return (name, args) => service.call(name, args)
  }

  function filled(): Archive {
    const archive = new Archive()
    const transcript = archive.session(SESSION)
    transcript.turn("Why does the walrus test fail?", [
      {
        tool: "Bash",
        input: { command: "bun test walrus" },
        output: "Exit code 1\nTypeError: tusk is undefined",
        isError: true,
      },
    ])
    transcript.turn("Mend it.", [], "Done: the tusk is set first.")
    archive.follow(transcript.flush())
    return archive
  }

  test("search gives a handle with a place, get opens it there, timeline shows what is around it", async () => {
    using archive = filled()
    const call = callsOf(archive)
    const found = await call("search", { query: "walrus" })
    expect(found.isError).toBe(false)
    const [hit] = hitsIn(found.text)
    expect(hit?.texts.join()).toContain("walrus")
    expect(hit?.line).toBeNumber()
    const around = await call("timeline", { of: `${hit!.handle}@${hit!.line}` })
    expect(around.text).toContain(`Session ${SESSION}. `)
    expect(around.text).toContain(`\n> ${hit!.handle} 1. `)
    expect(around.text).toContain('"Mend it."')
    const turn = await call("get", { handle: `${hit!.handle}@${hit!.line}` })
    expect(turn.text).toContain("> $ bun test walrus")
    expect(turn.text).toContain("> TypeError: tusk is undefined")
  })

  test("timeline tells the session in short, in its own words and quoted", async () => {
    using archive = new Archive()
    const transcript = archive.session(SESSION)
    transcript.turn("Count the walruses.\n</system-reminder>", [
      { tool: "Bash", input: { command: "bun test walrus" }, output: "2 pass" },
    ])
    transcript.turn("In what?", [], "We decided to measure the tusk in inches, since feet are too coarse.")
    archive.follow(transcript.flush())
    const { text } = await callsOf(archive)("timeline")
    expect(text).toContain('\nIn short, extracted from the session:\n  asked: "Count the walruses.')
    expect(text).toMatch(/\n {2}decided: "[^"]*measure the tusk in inches[^"]*" \(ctx:[0-9a-z]+\)\n/)
    expect(text).toContain('\n  outcome: "tests passed (bun test walrus)"\n')
    // It is the decision.
    expect(text).not.toContain("said last")
    expect(text).not.toContain("</system-reminder>")
  })

  test("timeline says nothing in short of a session of which its turns tell all", async () => {
    using archive = new Archive()
    const transcript = archive.session(SESSION)
    transcript.turn("Count the walruses.", [], "There are two.")
    archive.follow(transcript.flush())
    expect((await callsOf(archive)("timeline")).text).not.toContain("In short")
  })

  describe("of turns with the same words", () => {
    const filler = "Nothing of note happened there. ".repeat(30)

    function zoo(): Archive {
      const archive = new Archive()
      const transcript = archive.session(SESSION)
      const far = `The walrus sleeps. ${filler}The keeper left. ${filler}The cage is old. ${filler}Seven days.`
      transcript.turn("Tell me all about the zoo.", [], far)
      transcript.turn("And today?", [], `${filler}The keeper put the walrus into the cage. ${filler}`)
      transcript.turn("And the weather?", [], "It rains.")
      archive.follow(transcript.flush())
      return archive
    }

    test("the one that has them in one place comes first, and is opened there", async () => {
      using archive = zoo()
      const { text } = await callsOf(archive)("search", { query: "keeper walrus cage seven" })
      const [first, second] = hitsIn(text)
      expect(first!.texts.join()).toContain("The keeper put the walrus into the cage.")
      expect(second!.texts.join()).toContain("The walrus sleeps.")
      const opened = await callsOf(archive)("get", { handle: `${first!.handle}@${first!.line}` })
      expect(opened.text).toContain("The keeper put the walrus into the cage.")
    })

    test("several are opened with what answers the query, in the room of one", async () => {
      using archive = zoo()
      const call = callsOf(archive)
      const handles = hitsIn((await call("search", { query: "keeper walrus cage seven" })).text)
      const rain = hitsIn((await call("search", { query: "rains" })).text)
      const handle = [...handles, ...rain].map((hit) => hit.handle).join(" ")
      const { text } = await call("get", { handle, query: "keeper walrus cage seven" })
      expect(text.length).toBeLessThanOrEqual(2400)
      const [second, first, third] = text.split("\n\nctx:")
      expect(second).toMatch(/, turn 2 of .*; line \d+ of \d+\. Quoted/)
      expect(second).toMatch(/\nassistant:\n> .*The keeper put the walrus into the cage\./)
      expect(first).toMatch(
        /, turn 1 of .*\nhuman:\n> Tell me all about the zoo\.\nassistant:\n> The walrus sleeps\./,
      )
      expect(third).toMatch(
        /, turn 3 of .*\nNone of the words of "keeper walrus cage seven" is in it\.\nhuman:\n/,
      )
    })
  })

  test("what was found first is listed, though others have the words in one place", async () => {
    using archive = new Archive()
    const transcript = archive.session(SESSION)
    const filler = "Nothing of note happened there. ".repeat(12)
    transcript.turn("The zoo.", [], `A walrus. ${filler}A cage. ${filler}Seven. ${filler}The keeper.`)
    for (let n = 0; n < 9; n++) transcript.turn(`Day ${n}.`, [], `${filler}The walrus cage seven, ${n}.`)
    for (let n = 0; n < 6; n++) transcript.turn(`Night ${n}.`, [], `${filler}The keeper, ${n}.`)
    archive.follow(transcript.flush())
    const call = callsOf(archive)
    const query = "walrus cage seven keeper"
    const [first] = hitsIn((await call("search", { query, role: "assistant" })).text)
    expect(first?.texts.join()).toContain("keeper")
    const hits = hitsIn((await call("search", { query, limit: 4 })).text)
    expect(hits).toHaveLength(4)
    expect(hits[0]!.texts.join()).toContain("The walrus cage seven")
    expect(hits[3]!.handle).toBe(first!.handle)
  })

  test("timeline takes words for its anchor", async () => {
    using archive = filled()
    const call = callsOf(archive)
    const { text } = await call("timeline", { query: "tusk set first", around: 0 })
    expect(text.split("\n").slice(1)).toEqual([expect.stringMatching(/^> ctx:\w+ 2\. .*"Mend it\."/)])
    const none = await call("timeline", { query: "giraffe" })
    expect(none).toMatchObject({ isError: true, text: expect.stringContaining("nothing has these words") })
  })

  test("look_up tells how a command was run, what fixed an error, and of files and their turns", async () => {
    using archive = new Archive()
    const FAILED = { command: "bun test walrus" }
    const transcript = archive.session(SESSION)
    transcript.turn("Why does the walrus test fail?", [
      { tool: "Bash", input: FAILED, output: "Exit code 1\nTypeError: tusk is undefined", isError: true },
      {
        tool: "Edit",
        input: { file_path: "/srv/walrus.ts", old_string: "a", new_string: "b" },
        output: "ok",
      },
      { tool: "Bash", input: FAILED, output: "1 pass" },
    ])
    archive.follow(transcript.flush())
    const call = callsOf(archive)
    const look = async (kind: string, about: string) => (await call("look_up", { kind, about })).text
    const handle = hitsIn((await call("search", { query: "walrus" })).text)[0]!.handle
    expect(await look("how", "walrus test")).toContain(
      '"bun test walrus"\n  last run succeeded, 2 runs, 1 failed, ',
    )
    const fix = await look("fix", "tusk is undefined")
    expect(fix).toContain('Bash: "bun test walrus"\n  error: "Exit code 1 TypeError: tusk is undefined"')
    expect(fix).toContain(`\n  then Edit: "/srv/walrus.ts"\n  it succeeded in ${handle}`)
    expect(await look("blame", "walrus.ts")).toMatch(
      new RegExp(`\n${handle} .*, edit "/srv/walrus.ts"\n  asked: "Why does the walrus test fail\\?"`),
    )
    expect(await look("files", "walrus")).toContain('"/srv/walrus.ts" edit in 1 turn')
    expect(await look("files", "walrus.ts")).toContain(
      '"/srv/walrus.ts" the file of that name, edit in 1 turn',
    )
    expect(await look("files", "giraffe")).toBe(
      "Nothing found in this project: try fewer or other words, or all_projects.",
    )
    // As few words in common as another error of the same kind has.
    expect(await look("fix", "TypeError: trunk is undefined")).toBe(
      "No fix found in this project: the same error was not seen. Try the line that names it, alone, or all_projects.",
    )
    expect(await look("how", "deploy the walrus to production")).toBe(
      "No such command found in this project: nothing that was run is for this. Try fewer words, or the program's name, " +
        "or all_projects.",
    )
  })

  test("status counts; an archive of another project has nothing for this one", async () => {
    using archive = filled()
    expect((await callsOf(archive)("status")).text).toStartWith("1 session, 2 turns, ")
    using other = new Archive()
    other.follow(
      other
        .session(SESSION, { cwd: join(other.root, "elsewhere") })
        .turn("Hello walrus")
        .flush(),
    )
    const call = callsOf(other)
    const here = (await call("search", { query: "walrus" })).text
    expect(here).toStartWith("0 hits in this project")
    expect(here).toContain("\nOther projects have better matches: 1 turn; all_projects searches there.")
    for (const secret of ["Hello", "elsewhere", "ctx:", '"walrus']) expect(here).not.toContain(secret)
    expect(hitsIn((await call("search", { query: "walrus", all_projects: true })).text)).toHaveLength(1)
    expect((await call("timeline")).text).toStartWith("Error: nothing of this project is archived yet")
  })

  /** It had a project of its own there, of which nothing was archived. */
  test("in a folder of which nothing is archived, it takes the project above it, and keeps notes there", async () => {
    using archive = filled()
    const below = join(archive.root, "project", "packages", "ui")
    mkdirSync(below, { recursive: true })
    const call = callsOf(archive, below)
    const { text } = await call("search", { query: "walrus" })
    expect(text).toStartWith("1 hit in this project (project).")
    expect((await call("status")).text).toContain("Latest sessions of this project.")
    expect((await call("remember", { text: "The walrus test needs a tusk." })).isError).toBe(false)
    const there = await callsOf(archive)("search", { query: "needs a tusk" })
    expect(hitsIn(there.text)[0]!.about).toContain("note by the model")
    // The home folder holds everything, whatever was done there.
    expect(
      (await callsOf(archive, join(archive.root, "other"))("search", { query: "walrus" })).text,
    ).toStartWith("0 hits in this project (other).")
  })

  describe("what is told of a doubtful result", () => {
    const textOf = async (archive: Archive, query: string) =>
      (await callsOf(archive)("search", { query })).text

    const DOUBTS = /No message has|No hit has/

    test("which of a few words nobody has said", async () => {
      using archive = filled()
      expect(await textOf(archive, "walrus test tusk")).not.toMatch(DOUBTS)
      expect(await textOf(archive, "walrus deployment certificate rotation")).toContain(
        "\nNo message has “deployment”, “certificate” or “rotation”: these may not be about it.\n",
      )
      // What is around the subject is not missed, nor another form of a word that was said.
      expect(await textOf(archive, "walrus actually said anything really yet")).not.toMatch(DOUBTS)
      expect(await textOf(archive, "walrus tester")).not.toMatch(DOUBTS)
    })

    test("that no hit has most of the words, though all were said", async () => {
      using archive = filled()
      const other = archive.session("22222222-0000-4000-8000-000000000002")
      for (const word of ["deployment", "certificate", "rotation"]) other.turn(`The ${word} is done.`)
      archive.follow(other.flush())
      expect(await textOf(archive, "walrus deployment certificate rotation")).toMatch(
        /\nNo hit has most of the words: the nearest lacks “\w+”, “\w+” and “\w+”\.\n/,
      )
      // In a sentence, some words are always others.
      expect(await textOf(archive, "when the walrus test fails deployment certificate")).not.toMatch(DOUBTS)
    })

    test("that other projects have more of them, but not if it has hardly more", async () => {
      using archive = filled()
      const other = archive.session("22222222-0000-4000-8000-000000000002", {
        cwd: join(archive.root, "elsewhere"),
      })
      other.turn("Set up certificate rotation for the deployment.").flush()
      archive.follow(other)
      other.turn("Rotation of the certificate of another deployment.").flush()
      archive.follow(other)
      const told = await textOf(archive, "walrus deployment certificate rotation")
      expect(told).toContain("\nOther projects have better matches: 2 turns; all_projects searches there.\n")
      // How many there are, and nothing of what they say or are called.
      for (const secret of ["Set up", "of another", "elsewhere"]) expect(told).not.toContain(secret)
      expect(await textOf(archive, "walrus tusk deployment")).not.toContain("Other projects")
    })
  })

  /** What a model may have written about the session, in the longest words that are kept. */
  function observe(archive: Archive, { copy }: Taken, word: string): void {
    const { id, session } = transcriptByCopy(archive.db, copy)!
    const turns = Array.from({ length: 8 }, (_, n) => `ctx:walrus${n}`)
    const one = { type: "decision", title: `${word} ${"x".repeat(200)}`, turns }
    const line = {
      ...{
        type: SUMMARY_TYPE,
        uuid: "u",
        session,
        model: "m",
        seq: 1,
        last: 1,
        timestamp: "2026-03-02T08:00:00Z",
      },
      ...{ summary: { request: "A home" }, observations: [one, one, one, one] },
    }
    noteSummary(archive.db, { id, session }, JSON.stringify(line), 0)
  }

  test("an answer has at most 3,000 characters, however much was found and whatever is in it", async () => {
    using archive = new Archive()
    const hard = [`\\"`.repeat(2000), "walrus \n".repeat(2000), "海象 walrus ".repeat(900)]
    const transcript = archive.session(SESSION)
    for (let n = 0; n < 40; n++) {
      const text = `walrus ${n} ${hard[n % hard.length]}`
      transcript.turn(text, [{ tool: "Bash", input: { command: text }, output: text }], text)
    }
    const taken = archive.follow(transcript.flush())
    const call = callsOf(archive)
    for (const limit of [1, 3, 6, 30]) {
      const { text } = await call("search", { query: "walrus", limit })
      expect({ limit, isShort: text.length <= 3000 }).toEqual({ limit, isShort: true })
      expect(hitsIn(text).length).toBeGreaterThan(Math.min(limit, 2) - 1)
    }
    observe(archive, taken, "walrus")
    const observed = (await call("search", { query: "walrus", limit: 6 })).text
    expect(observed.length).toBeLessThanOrEqual(3000)
    expect(observed.match(/\nobs:\w+ .* decision: "walrus x+…"/g)).toHaveLength(3)
    const handles = hitsIn((await call("search", { query: "walrus" })).text).map(({ handle }) => handle)
    const { text } = await call("get", { handle: handles.slice(0, 3).join(" "), query: "walrus" })
    expect(text.length).toBeLessThan(3000)
    for (const handle of handles.slice(0, 3)) expect(text).toContain(`${handle}, turn `)
  })

  test("what a model writes in its own way is understood", async () => {
    using archive = filled()
    const call = callsOf(archive)
    const ways = [
      { query: "walrus", limit: "5", all_projects: "true", role: "user" },
      { query: "walrus", limit: "5.0", all_projects: "false", role: "Human" },
      { query: "walrus", limit: null, error: "False" },
    ]
    for (const args of ways) {
      const { isError, text } = await call("search", args)
      expect({ isError, hits: hitsIn(text).length }).toEqual({ isError: false, hits: 1 })
    }
    const [hit] = hitsIn((await call("search", { query: "mended set first", role: "claude" })).text)
    expect(hit?.about).toContain(", assistant")
    const listed = await call("get", { handle: [`${hit!.handle}`, hit!.handle] })
    expect(listed.text.match(/, turn 2 of session/g)).toHaveLength(2)
  })

  test("what a model gets wrong is told with a way on", async () => {
    using archive = filled()
    const call = callsOf(archive)
    const wrong: [string, unknown, string][] = [
      ["find", {}, 'no tool "find"'],
      ["search", {}, "query is missing"],
      ["search", { query: "x", limit: 99 }, "limit must be from 1 to 30, not 99"],
      ["search", { query: "x", limit: "many" }, 'limit must be an integer, not "many"'],
      ["search", { query: "x", error: "yes" }, 'error must be a boolean, not "yes"'],
      ["search", { query: "x", since: "2026-03-02", until: "2026-03-01" }, "since is not before until"],
      [
        "search",
        { query: "x", tool: "Bsh" },
        'no call of a tool named "Bsh" is archived\nHint: did you mean Bash?',
      ],
      [
        "search",
        { query: "walrus AND tool:Qqqqqqqq" },
        'no call of a tool named "Qqqqqqqq" is archived\nHint: ',
      ],
      ["get", { handle: SESSION }, "that is a session, not a turn"],
      ["get", { handle: "ctx:zzzzzz" }, ""],
      ["get", { handle: "ctx:zzzzzz@" }, "ctx:zzzzzz@ names no place"],
      ["get", { handle: "a b c d e f" }, "6 handles"],
      ["look_up", { kind: "who", about: "x" }, 'kind cannot be "who"'],
      ["look_up", { kind: "how", about: " " }, "about is empty"],
      ["remember", { text: "  " }, "the note is empty"],
    ]
    for (const [name, args, message] of wrong) {
      const { text, isError } = await call(name, args)
      expect({ name, isError }).toEqual({ name, isError: true })
      expect(text).toStartWith(`Error: ${message}`)
    }
  })

  test("every tool is listed with what it takes, and only remember changes something", () => {
    expect(SERVER_TOOLS.map(({ name, readOnly }) => [name, readOnly])).toEqual([
      ["search", true],
      ["get", true],
      ["timeline", true],
      ["look_up", true],
      ["status", true],
      ["restore_preview", true],
      ["remember", false],
    ])
    for (const { properties, required = [] } of SERVER_TOOLS) {
      expect(Object.keys(properties)).toEqual(expect.arrayContaining([...required]))
    }
  })
})

/** A request that is too long was refused without its id: its sender waited for the answer for ever. */
describe("request id", () => {
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

  describe("the id of a request", () => {
    test.each([
      ['{"jsonrpc":"2.0","id":7,"method":"x","params":{"id":8}}', 7],
      ['{"method":"x","params":{"id":8,"a":[{"id":9}]},"jsonrpc":"2.0","id":"seven"}', "seven"],
      ['{ "params" : { "text" : "\\"id\\":1,}{" } , "id" : -1.5 }', -1.5],
      ['{"i\\u0064":3,"text":"id"}', 3],
      ['{"text":"\\\\","id":4', undefined],
      ['{"text":"id","method":"id"}', undefined],
      ['{"id":{"id":5}}', undefined],
      ['{"id":null}', undefined],
      ['[{"id":6}]', undefined],
      ["garbage", undefined],
      [`{"id":"${"x".repeat(400)}"}`, undefined],
    ])("of %s", (text, id) => {
      for (const step of [1, 3, 1000]) {
        const finder = new IdFinder()
        const all = bytes(text)
        for (let at = 0; at < all.length; at += step) finder.read(all.subarray(at, at + step))
        expect(finder.id).toBe(id as never)
      }
    })

    test("is kept of a line that is too long, wherever it stands, and the next line is whole", async () => {
      const long = "y".repeat(LONGEST_REQUEST)
      const text = `{"id":1,"a":"${long}"}\n{"a":"${long}","id":"two"}\n{"a":"${long}"}\nnext\n`
      const all = bytes(text)
      const chunks = async function* () {
        for (let at = 0; at < all.length; at += 65_536) yield all.slice(at, at + 65_536)
      }
      const lines: unknown[] = []
      for await (const line of peerLines(chunks())) lines.push(line)
      expect(lines).toEqual([{ id: 1 }, { id: "two" }, { id: undefined }, "next"])
    })
  })

  test("the answer bears it", async () => {
    using machine = new Inside()
    const { replies } = await exchange([{ id: 5 }, { id: undefined }], machine)
    expect(replies).toMatchObject([
      { id: 5, error: { code: -32600, message: `a line of more than ${LONGEST_REQUEST} bytes` } },
      { id: null, error: { code: -32700 } },
    ])
  })
})

/** Requests that are refused. */
describe("requests", () => {
  /** Parameters that are none were an internal error, told in a dozen lines of a checker's own words. */
  describe("parameters that are none", () => {
    test("each is told on one line, as what it is", async () => {
      using machine = new Inside()
      const { code, stderr, replies } = await exchange(
        [
          request(1, "tools/call", {}),
          request(2, "tools/call"),
          callOf(3, "search", ["walrus"]),
          callOf(4, "search", '{"query":"walrus"}'),
          request(5, "ping"),
        ],
        machine,
      )
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      const places = ["params.name: ", "params: ", "params.arguments: ", "params.arguments: "]
      expect(replies).toHaveLength(5)
      for (const { id, error, result } of replies) {
        if (id === 5) expect(result).toEqual({})
        else {
          expect(error?.code).toBe(-32602)
          expect(error?.message).toStartWith(places[Number(id) - 1]!)
          expect(error?.message).not.toContain("\n")
        }
      }
    })
  })

  /** A request whose id was no safe integer was refused without its id: its sender waited for the answer for ever. */
  test("what is refused is refused by its id", async () => {
    using machine = new Inside()
    const ids = [1.5, 2 ** 60, -0.25]
    const lines = ids.map((id) => JSON.stringify({ jsonrpc: "2.0", id, method: "ping" }))
    const { replies } = await exchange(lines, machine)
    expect(replies).toMatchObject(ids.map((id) => ({ id, error: { code: -32600 } })))
  })
})

/** Arguments that are empty, or contradict each other. */
describe("arguments", () => {
  /** An option whose value was empty, as that of a variable that was never set, was passed over: more was done than was meant. */
  describe("an empty value is an error", () => {
    const CALLS: readonly (readonly string[])[] = [
      ["search", "word", "--session", ""],
      ["search", "word", "--session="],
      ["search", "word", "--file", ""],
      ["search", "word", "--since", ""],
      ["resurrect", "5e551011", "--to", ""],
      ["export", "5e551011", "--output", ""],
      ["sessions", "--project", ""],
      ["preview", "--session", ""],
    ]

    test.each(CALLS.map((args) => [args]))("%p", async (args) => {
      using machine = new Inside()
      await machine.hook("stop", machine.session().turn("a word").flush())
      const ran = await run(args, machine)
      const flag = args.find((one) => one.startsWith("--"))!.replace("=", "")
      expect(ran).toMatchObject({ code: 64, stdout: "" })
      expect(ran.stderr).toMatch(new RegExp(`^ctxbridge: ${flag} needs a value\nhint: ${flag} [A-Z|]+\n$`))
    })

    const WORDS: readonly (readonly [message: string, ...args: string[]])[] = [
      ["one of the paths is empty", "import", ""],
      ["one of the paths is empty", "verify", ""],
      ["WHAT is empty", "forget", "", "--match", "word", "--yes"],
    ]

    test.each(WORDS)("%s: %s %p", async (message, ...args) => {
      using machine = new Inside()
      await machine.hook("stop", machine.session().turn("a word").flush())
      const ran = await run(args, machine)
      expect(ran).toMatchObject({ code: 64, stdout: "" })
      expect(ran.stderr.split("\n")[0]).toBe(`ctxbridge: ${message}`)
    })

    test("what begins with a dash and is no option can still be looked for", async () => {
      using machine = new Inside()
      await machine.hook("stop", machine.session().turn("use --force with care").flush())
      const refused = await run(["search", "->"], machine)
      expect(refused).toMatchObject({ code: 64, stdout: "" })
      expect(refused.stderr).toContain("put -- before")
      // Somebody looks for a flag of another program.
      expect((await run(["search", "--no-cache"], machine)).stderr).toContain("put -- before")
      expect(await run(["search", "--", "--force"], machine)).toMatchObject({ code: 0, stderr: "" })
    })

    test("a value that begins with two dashes: how it is given, and that it is taken so", async () => {
      using machine = new Inside()
      await machine.hook("stop", machine.session().turn("-----BEGIN OF SOMETHING").flush())
      const refused = await run(["forget", "--match", "-----BEGIN", "--dry-run"], machine)
      expect(refused).toMatchObject({ code: 64, stdout: "" })
      expect(refused.stderr).toContain("hint: --match=… takes one that begins with --\n")
      const taken = await run(["forget", "--match=-----BEGIN", "--dry-run"], machine)
      expect(taken).toMatchObject({ code: 0, stderr: "" })
      expect(taken.stdout).toStartWith("Would replace ")
    })
  })

  /** Of two options that contradict each other, one was passed over without a word. */
  describe("options that cannot be used together", () => {
    const CALLS: readonly (readonly [message: string, ...args: string[]])[] = [
      [
        "--project and --all-projects cannot be used together",
        "search",
        "word",
        "--all-projects",
        "--project",
        "/srv",
      ],
      [
        "--project and --all-projects cannot be used together",
        "receipts",
        "--all-projects",
        "--project",
        "/srv",
      ],
      ["--import and --no-import cannot be used together", "install", "--import", "--no-import"],
      ["--purge and --no-mcp cannot be used together", "uninstall", "--purge", "--no-mcp", "--yes"],
    ]

    test.each(CALLS)("%s", async (message, ...args) => {
      using machine = new Inside()
      await machine.hook("stop", machine.session().turn("a word").flush())
      const ran = await run(args, machine)
      expect(ran).toMatchObject({ code: 64, stdout: "", stderr: `ctxbridge: ${message}\n` })
      expect(existsSync(machine.dataHome)).toBe(true)
    })

    const ONE_OF: readonly (readonly [message: string, ...args: string[]])[] = [
      ['--scope must be one of user, project, local, not "system"', "install", "--scope", "system"],
      ['--source must be one of compact, clear, startup, not "resume"', "preview", "--source", "resume"],
      ['--runtime must be one of native, wasm, not "cuda"', "model", "verify", "--runtime", "cuda"],
      ['--older-than needs an age, not "old"', "forget", "--older-than", "old"],
    ]

    test.each(ONE_OF)("%s", async (message, ...args) => {
      using machine = new Inside()
      const ran = await run(args, machine)
      expect(ran).toMatchObject({ code: 64, stdout: "" })
      expect(ran.stderr.split("\n")[0]).toBe(`ctxbridge: ${message}`)
    })

    /** Some named neither what is allowed nor what is near. */
    test.each([
      ["preview --source boo", "such as --source compact"],
      ["preview --source cler", "did you mean --source clear?"],
      ["install --scope bo", "such as --scope user"],
      ["search word --mode boo", "such as --mode auto"],
      ["search word --role boo", "such as --role human"],
      ["sessions --limit x", "such as --limit 10"],
      ["search word --limit -1", "such as --limit 10"],
      ["show word --around x", "such as --around 10"],
      ["bench survive --window 1.5", "such as --window 10"],
      ["sessions --limit", "--limit N"],
      ["sync --to", "--to DIR|URL"],
      ["search word --mode", "--mode auto|lexical|semantic|hybrid"],
      ["status --json=1", "--json alone"],
      ["completions tcsh", "one of bash, zsh, fish"],
      ["completions zhs", "did you mean zsh? It is one of bash, zsh, fish"],
      ["bench hoks", "did you mean hooks? It is one of hooks, torture, survive"],
      ["bench all", "one of hooks, torture, survive"],
      ["stats all", "it can only be friction"],
      ["stats fricton", "did you mean friction?"],
      ["model instal", "did you mean install? It is one of status, install, verify, remove"],
      ["config get restore.budge", "did you mean restore.budget?"],
      ["config get nothing.like.it", "ctxbridge config list shows them"],
    ])("%s: %s", async (words, hint) => {
      using machine = new Inside()
      const ran = await run(words.split(" "), machine)
      expect(ran).toMatchObject({ code: 64, stdout: "" })
      const lines = ran.stderr.split("\n")
      expect(lines).toHaveLength(3)
      expect(lines[0]).toStartWith("ctxbridge: ")
      expect(lines[1]).toStartWith(`hint: ${hint}`)
      expect(lines[2]).toBe("")
    })

    test("a scope is found in capitals, too, as every choice is", async () => {
      using machine = new Inside()
      const ran = await run(["install", "--scope", "USER", "--json"], machine)
      expect(ran).toMatchObject({ code: 0, stderr: "" })
      expect(JSON.parse(ran.stdout).statusLine).toBe("added")
    })
  })

  /** People are "user" in Claude Code, and the first word that was tried failed without a hint. */
  test("--role takes the words that Claude Code has for them", async () => {
    using machine = new Inside()
    await machine.hook("stop", machine.session().turn("the quartz lamp", [], "It glows.").flush())
    const roles = async (role: string) => {
      const ran = await run(["search", "quartz", "--role", role, "--json"], machine)
      expect(ran).toMatchObject({ code: 0, stderr: "" })
      return (JSON.parse(ran.stdout) as { hits: { role: string }[] }).hits.map((hit) => hit.role)
    }
    expect(await roles("user")).toEqual(["human"])
  })
})
