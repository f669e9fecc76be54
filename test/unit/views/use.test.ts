import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { preparePointers } from "../../../src/job/prepare-pointers.ts"
import type { TranscriptRecord } from "../../../src/record/types.ts"
import { captureTranscript } from "../../../src/vault/capture.ts"
import { encodeHeader } from "../../../src/vault/frame.ts"
import { fetchedPath, vaultFile } from "../../../src/vault/layout.ts"
import { settlePending } from "../../../src/vault/pending.ts"
import { CopyReader } from "../../../src/vault/reader.ts"
import { index } from "../../../src/views/indexing.ts"
import { open } from "../../../src/views/open.ts"
import { readPointer, writePointer } from "../../../src/views/pointers.ts"
import { promptsAndCompactions } from "../../../src/views/queries/boundaries.ts"
import { useOfProject, useOfSessions } from "../../../src/views/queries/token-use.ts"
import { revive, TurnChain, takeBack } from "../../../src/views/take-back.ts"
import { sources } from "../../../src/views/view-sources.ts"
import { Archive } from "../../support/archive.ts"
import { Inside, run } from "../../support/inside.ts"
import { promptsIn } from "../../support/machine.ts"
import { begun, PLAN, SESSION, told } from "../../support/taken-back.ts"
import type { Transcript } from "../../support/transcript.ts"

/** What sessions and projects have cost: tokens by the API's messages, and what Claude Code itself says. */
describe("use", () => {
  /** An answer in as many lines as texts, each with the same counts. */
  function answer(transcript: Transcript, id: string, output: number, ...texts: string[]): Transcript {
    for (const text of texts) {
      const usage = {
        input_tokens: 5,
        output_tokens: output,
        cache_creation_input_tokens: 70,
        cache_read_input_tokens: 900,
      }
      const content = [{ type: "text", text }]
      const message = { id, role: "assistant", model: "claude-sonnet-4-6", content, usage }
      transcript.line({ type: "assistant", message })
    }
    return transcript
  }

  const result = (cost: number, requests = 1, more: object = {}) => ({
    type: "result",
    subtype: "success",
    is_error: false,
    duration_ms: 1000,
    num_turns: requests,
    result: "Done.",
    total_cost_usd: cost,
    usage: {
      input_tokens: 10,
      output_tokens: 2,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 20,
    },
    ...more,
  })

  const costState = (cost: number, duration: number) => ({
    type: "cost-state",
    totalCostUSD: cost,
    totalDuration: duration,
    startTime: 1_795_201_371_431,
    modelUsage: { "claude-sonnet-4-6": { costUSD: cost } },
  })

  const useOf = (archive: Archive, session: string) => useOfSessions(archive.db, [session]).get(session)

  test("the tokens of a message count once, and a session's include its subagents'", () => {
    using archive = new Archive()
    const session = archive.session("s1").user("go")
    answer(session, "msg_1", 40, "One.", "Two.", "Three.")
    answer(session.user("on"), "msg_2", 60, "Four.")
    archive.follow(session.flush())
    const tokens = { input: 10, output: 100, cacheCreation: 140, cacheRead: 1800 }
    expect(useOf(archive, "s1")).toEqual({ tokens, cost: null, requests: null, duration: null })
    const agent = archive.session("agent-c0ffee", { agent: "c0ffee" }).user("look", { sessionId: "s1" })
    const { session: id } = archive.follow(answer(agent, "msg_3", 7, "Seen.").flush())
    expect(useOf(archive, id)?.tokens.output).toBe(7)
    archive.db.query("UPDATE sessions SET parent = 's1' WHERE id = ?").run(id)
    expect(useOf(archive, "s1")?.tokens).toEqual({
      input: 15,
      output: 107,
      cacheCreation: 210,
      cacheRead: 2700,
    })
  })

  describe("what the host says of cost", () => {
    test("grows within a process, and begins anew with the next", () => {
      using archive = new Archive()
      const session = archive.session("s1").user("go").line(result(0.0579, 2))
      archive.follow(session.flush())
      session
        .user("on")
        .line(result(0.0985))
        .user("resumed")
        .line(result(0.0411, 1, { is_error: true }))
      archive.follow(session.flush())
      const use = useOf(archive, "s1")!
      expect(use.cost).toBeCloseTo(0.0985 + 0.0411, 10)
      expect({ requests: use.requests, duration: use.duration }).toEqual({ requests: 4, duration: 3000 })
      const columns = "kind, is_error, cost, requests, duration, input, output, cache_creation, cache_read"
      expect(archive.db.query(`SELECT ${columns} FROM results ORDER BY offset LIMIT 1`).get()).toEqual({
        kind: "success",
        is_error: 0,
        cost: 0.0579,
        requests: 2,
        duration: 1000,
        input: 10,
        output: 2,
        cache_creation: 0,
        cache_read: 20,
      })
      // They are nobody's words, and open no turn.
      expect(promptsIn(archive.db, "s1")).toEqual(["go", "on", "resumed"])
      expect(promptsAndCompactions(archive.db, "s1").turns).toBe(3)
    })

    /** The origin's lines as Claude Code copies them, which then bear the fork's id. */
    const copied = (archive: Archive, origin: Transcript, id: string): Transcript =>
      archive
        .session(id)
        .raw(readFileSync(origin.path, "utf8").trimEnd().replaceAll(`"${origin.session}"`, `"${id}"`))

    test("in newer hosts' transcripts, it is the last state that counts, and a fork's copies are its origin's", () => {
      using archive = new Archive()
      const session = archive.session("s1").user("go")
      session
        .line({ ...costState(0.01, 10), sessionId: "s1" })
        .line({ ...costState(0.386, 2464), sessionId: "s1" })
      archive.follow(session.flush())
      expect(useOf(archive, "s1")).toMatchObject({ cost: 0.386, requests: null, duration: null })
      const fork = copied(archive, session, "s2")
      archive.follow(fork.flush())
      expect(useOf(archive, "s2")?.cost).toBeNull()
      // Its process goes on from the origin's total.
      answer(fork.user("on"), "msg_9", 10, "Ok.").line({ ...costState(0.5, 3000), sessionId: "s2" })
      archive.follow(fork.flush())
      expect(useOf(archive, "s2")?.cost).toBeCloseTo(0.5 - 0.386, 10)
      // And another from nothing.
      fork.user("once more").line({ ...costState(0.02, 4000), sessionId: "s2" })
      archive.follow(fork.flush())
      expect(useOf(archive, "s2")?.cost).toBeCloseTo(0.5 - 0.386 + 0.02, 10)
      expect(useOf(archive, "s1")?.cost).toBe(0.386)
      const second = copied(archive, fork, "s3")
        .user("elsewhere")
        .line({ ...costState(0.3, 5000), sessionId: "s3" })
      archive.follow(second.flush())
      expect(useOf(archive, "s3")?.cost).toBeCloseTo(0.3 - 0.02, 10)
    })

    test("a fork of recorded queries has those that came after", () => {
      using archive = new Archive()
      const session = archive.session("s1").user("go").line(result(1, 2))
      archive.follow(session.flush())
      const fork = copied(archive, session, "s2").user("on").line(result(0.25, 3))
      archive.follow(fork.flush())
      expect(useOf(archive, "s2")).toMatchObject({ cost: 0.25, requests: 3, duration: 1000 })
    })

    test("fields of any type are kept as they can be", () => {
      using archive = new Archive()
      const session = archive.session("s1").user("go")
      session.line({ type: "result", total_cost_usd: "0.3", num_turns: -1, duration_ms: null, usage: [] })
      session.line({ type: "result", subtype: 7, cost_usd: 0.2, usage: { output_tokens: 3 } })
      session.line({ type: "cost-state", totalCostUSD: -0.5 })
      archive.follow(session.flush())
      const rows = archive.db.query(
        "SELECT kind, cost, requests, duration, output FROM results ORDER BY offset",
      )
      const none = { cost: null, requests: null, duration: null, output: null }
      expect(rows.all()).toEqual([
        { ...none, kind: "unknown" },
        { ...none, kind: "unknown", cost: 0.2, output: 3 },
        { ...none, kind: "cost-state" },
      ])
    })
  })

  test("sessions, show and status tell of it, and after a rebuild the same", async () => {
    using machine = new Inside()
    const first = machine.session({ id: "1e551011-0000-4000-8000-000000000001" })
    const second = machine.session({ id: "2e551011-0000-4000-8000-000000000001" })
    answer(first.user("go"), "msg_1", 40, "One.", "Two.").line(result(1.25, 2)).flush()
    answer(second.user("go"), "msg_2", 2_000_000, "Three.").flush()
    for (const session of [first, second]) await machine.hook("stop", session)
    const printed = async (...words: string[]): Promise<string> => {
      const { code, stdout, stderr } = await run(words, machine)
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      return stdout
    }
    const told = async () => {
      const { sessions } = JSON.parse(await printed("sessions", "--json"))
      const { session } = JSON.parse(await printed("show", first.session, "--json"))
      const { use } = JSON.parse(await printed("status", "--json"))
      return { sessions, session, use }
    }
    const before = await told()
    const own = {
      tokens: { input: 5, output: 40, cacheCreation: 70, cacheRead: 900 },
      cost: 1.25,
      requests: 2,
      duration: 1000,
    }
    expect(before.session).toMatchObject(own)
    expect(before.sessions.find(({ id }: { id: string }) => id === first.session)).toEqual(before.session)
    expect(before.use).toMatchObject({
      sessions: 2,
      tokens: { input: 10, output: 2_000_040, cacheCreation: 140, cacheRead: 1800 },
      cost: 1.25,
    })
    expect(await printed("show", first.session)).toContain(
      "tokens 5 input, 70 written to cache, 900 read from cache, 40 output · $1.25 by Claude Code's account",
    )
    expect(await printed("status", "--verbose")).toMatch(
      /used here +tokens 10 input, .* 2\.00M output · \$1\.25 by/,
    )
    const list = await printed("sessions")
    expect(list).toMatch(/tokens +cost/)
    expect(list).toMatch(/2\.00M/)
    await printed("rebuild")
    expect(await told()).toEqual(before)
  })

  test("a message whose lines were archived in parts, with a fork in between, counts where it began", () => {
    using archive = new Archive()
    const session = archive.session("s1").user("go")
    archive.follow(answer(session, "msg_1", 40, "One.").flush())
    // Claude Code has copied a line of the message that was not archived yet.
    const fork = archive.session("s2").raw(readFileSync(session.path, "utf8").trimEnd())
    answer(fork, "msg_1", 60, "Two.")
    archive.follow(answer(fork.user("on"), "msg_2", 7, "Three.").flush())
    expect(useOf(archive, "s1")?.tokens.output).toBe(40)
    expect(useOf(archive, "s2")?.tokens.output).toBe(7)
  })

  test("a project's sum is that of its sessions alone", () => {
    using archive = new Archive()
    for (const [id, cost] of [
      ["s1", 1],
      ["s2", 0.5],
    ] as const)
      archive.follow(
        answer(archive.session(id).user("go"), `msg_${id}`, 10, "Ok.").line(result(cost)).flush(),
      )
    const other = archive.session("s3", { cwd: "/elsewhere" }).user("go").line(result(9))
    archive.follow(other.flush())
    const { path } = archive.db
      .query<{ path: string }, []>(
        "SELECT p.path FROM sessions s JOIN projects p ON p.id = s.project WHERE s.id = 's1'",
      )
      .get()!
    const { cost, sessions, tokens } = useOfProject(archive.db, path)
    expect({ cost, sessions, output: tokens.output }).toEqual({ cost: 1.5, sessions: 2, output: 20 })
    expect(useOfProject(archive.db, "/nowhere")).toMatchObject({ sessions: 0, cost: null })
  })
})

describe("view sources", () => {
  test("a copy comes after what was set aside for it, whatever its clock says", () => {
    const dataHome = mkdtempSync(join(tmpdir(), "ctxbridge-source-"))
    try {
      const folder = join(dataHome, "vault", "home", "p")
      mkdirSync(folder, { recursive: true })
      const copy = (name: string, created: number): void =>
        writeFileSync(join(folder, name), encodeHeader({ id: name, path: "/h/p/a.jsonl", created }))
      copy("a.jsonl.zst", 10)
      copy("a.~1.jsonl.zst", 20)
      copy("a.~2.jsonl.zst", 15)
      copy("b.jsonl.zst", 12)
      expect(sources(dataHome).map((one) => one.copy)).toEqual(
        ["b.jsonl.zst", "a.~1.jsonl.zst", "a.~2.jsonl.zst", "a.jsonl.zst"].map((name) => `home/p/${name}`),
      )
    } finally {
      rmSync(dataHome, { recursive: true })
    }
  })
})

/** What of a transcript is read again. */
describe("take", () => {
  /** A hook runs at every prompt, and transcripts grow to hundreds of megabytes. */
  test("a call without new bytes leaves the copy as it is, one with new bytes adds them alone", () => {
    using archive = new Archive()
    const transcript = archive.session("s1")
    for (let n = 0; n < 200; n++) transcript.turn(`prompt ${n}`)
    const first = archive.follow(transcript.flush())
    const copy = archive.file(first)
    const { size, mtimeMs } = statSync(copy)
    const again = archive.follow(transcript)
    expect(again.captured).toMatchObject({ state: "current", taken: 0 })
    expect(statSync(copy)).toMatchObject({ size, mtimeMs })

    transcript.turn("one more")
    const added = Buffer.byteLength(transcript.text)
    const third = archive.follow(transcript.flush())
    expect(third.captured.taken).toBe(added)
    expect(third.fresh.reduce((sum, { content }) => sum + content.length, 0)).toBe(added)
    const reader = new CopyReader(copy)
    expect([...reader.pieces()].map(({ length }) => length)).toEqual([first.captured.archived, added])
    reader.close()
  })
})

/** What a start is told beforehand, while others index. */
describe("pointers", () => {
  setDefaultTimeout(60_000)

  const POINTERS = join(import.meta.dir, "../../../src/views/pointers.ts")

  const placesOf = ({ dataHome, root }: Archive) => ({
    dataHome,
    home: root,
    claudeDir: join(root, ".claude"),
    claudeConfig: join(root, ".claude.json"),
  })

  /** Runs a script beside us until `work` is done; it begins once the script has written something. */
  async function beside(script: string, work: () => void): Promise<void> {
    const other = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "inherit" })
    try {
      await other.stdout.getReader().read()
      work()
    } finally {
      other.kill()
      await other.exited
    }
  }

  test("before the views are new, the pointer to the old ones is gone", () => {
    using archive = new Archive()
    const session = archive.session("one").turn("The first thing").flush()
    archive.follow(session)
    const project = archive.db.query<{ path: string }, []>("SELECT path FROM projects").get()!.path
    preparePointers(archive.db, placesOf(archive), 3)
    expect(readPointer(archive.dataHome, project)?.text).toContain("The first thing")
    session.turn("The second thing").flush()
    const place = { dataHome: archive.dataHome, home: archive.root }
    const now = Date.now()
    const taken = captureTranscript(place, session.path, {
      now,
      deadline: Number.POSITIVE_INFINITY,
      lastLine: "whole",
    })
    archive.db
      .transaction(() => {
        index(archive.db, archive.dataHome, taken, () => false)
        // Other folders of the project do not look at this one's markers.
        expect(readPointer(archive.dataHome, project)).toBeUndefined()
      })
      .immediate()
    settlePending(archive.dataHome, taken.copy)
  })

  test("a pointer is written while nobody can index", () => {
    using archive = new Archive()
    archive.follow(archive.session("one").turn("The first thing").flush())
    const other = open(archive.dataHome, "write", 0)
    try {
      // Somebody indexes at this moment.
      other.run("BEGIN IMMEDIATE")
      archive.db.run("PRAGMA busy_timeout = 0")
      expect(() => preparePointers(archive.db, placesOf(archive), 3)).toThrow("locked")
      other.run("ROLLBACK")
      preparePointers(archive.db, placesOf(archive), 3)
      const project = archive.db.query<{ path: string }, []>("SELECT path FROM projects").get()!.path
      expect(readPointer(archive.dataHome, project)?.text).toContain("The first thing")
    } finally {
      other.close()
    }
  })

  test("one that another process takes away while it is written does not fail its writer", async () => {
    const dataHome = mkdtempSync(join(tmpdir(), "ctxbridge-pointers-"))
    const script = `
    import { dropPointers } from ${JSON.stringify(POINTERS)}
    process.stdout.write("ready")
    for (;;) dropPointers(${JSON.stringify(dataHome)})
  `
    try {
      await beside(script, () => {
        for (let n = 0; n < 300; n++)
          writePointer(dataHome, `/p${n % 5}`, { session: "s", text: "", related: 3 })
      })
      writePointer(dataHome, "/p", { session: "s", text: "told", related: 3 })
      expect(readPointer(dataHome, "/p")?.text).toBe("told")
    } finally {
      rmSync(dataHome, { recursive: true })
    }
  })
})

/** Which turns count as taken back by the user (`/rewind`). */
describe("taken back", () => {
  const CAVEAT =
    "Caveat: The messages below were generated by the user while running local commands. DO NOT respond to these messages."

  const command = (name: string): string =>
    `<command-name>/${name}</command-name>\n<command-message>${name}</command-message>\n<command-args></command-args>`

  const tips = (archive: Archive): unknown[] =>
    archive.db.query("SELECT id, tip FROM turns ORDER BY id").all()

  /** What the user took back (`/rewind`) was given back after the next compaction as if it had happened. */
  test("turns are marked when the prompt comes that takes their place", () => {
    using archive = new Archive()
    const { session, first } = begun(archive)
    archive.follow(session.turn("two").turn("three").flush())
    expect(told(archive)).toEqual(["one", "two", "three"])
    session.backTo(first)
    archive.follow(session.turn("two, otherwise").flush())
    const second = session.tip!
    archive.follow(session.turn("four").flush())
    expect(told(archive)).toEqual(["one", "[two]", "[three]", "two, otherwise", "four"])
    session.backTo(second).turn("five").backTo(first)
    archive.follow(session.turn("two, once more").flush())
    expect(told(archive)).toEqual([
      "one",
      "[two]",
      "[three]",
      "[two, otherwise]",
      "[four]",
      "[five]",
      "two, once more",
    ])
  })

  test("a command is marked that the model carried out, and by a prompt beside what the host puts before it", () => {
    using archive = new Archive()
    const { session, first } = begun(archive)
    session.user(command("review")).message().say("Reviewed.").backTo(first)
    const beside = [
      { type: "text", text: "<ide_opened_file>The user opened /src/a.ts</ide_opened_file>" },
      { type: "text", text: "three" },
    ]
    archive.follow(session.user(beside).flush())
    expect(told(archive)).toEqual(["one", "[/review]", "three"])
  })

  test("the same turns are marked in one go, a line at a time, and read again", () => {
    using archive = new Archive()
    const { session, first } = begun(archive)
    session
      .turn("two", [PLAN("a")])
      .backTo(first)
      .turn("three")
      .turn("four")
    const lines = session.text.trimEnd().split("\n")
    session.discard()
    for (const line of lines) archive.follow(session.raw(line).flush())
    const expected = ["one", "[two]", "three", "four"]
    expect(told(archive)).toEqual(expected)
    archive.db.run("UPDATE transcripts SET indexed = 0, turn = NULL")
    archive.follow(session.turn("five").flush())
    expect(told(archive)).toEqual([...expected, "five"])
  })

  test("what was read again can be taken back as before", () => {
    using archive = new Archive()
    const { session } = begun(archive)
    const third = session.turn("two").turn("three").tip!
    archive.follow(session.turn("four").flush())
    archive.db.run("UPDATE transcripts SET indexed = 0, turn = NULL")
    archive.follow(session.turn("five").turn("six").flush())
    const before = tips(archive)
    archive.db.run("UPDATE transcripts SET indexed = 0, turn = NULL")
    archive.follow(session.backTo(third).turn("four, otherwise").flush())
    expect(tips(archive).slice(0, before.length)).toEqual(before)
    expect(told(archive)).toEqual(["one", "two", "three", "[four]", "[five]", "[six]", "four, otherwise"])
  })

  test.each([true, false])("what somebody else's copy adds is not where turns end (whole: %p)", (isWhole) => {
    using archive = new Archive()
    const { session, first } = begun(archive)
    const a = session.turn("a1").tip!
    archive.follow(session.backTo(first).turn("b1").flush())
    expect(told(archive)).toEqual(["one", "[a1]", "b1"])
    const before = tips(archive)
    using others = new Archive()
    const theirs = others.session(SESSION)
    if (isWhole) for (const line of readFileSync(session.path, "utf8").trimEnd().split("\n")) theirs.raw(line)
    theirs.line({ type: "system", subtype: "informational", content: "Noted", uuid: "theirs", parentUuid: a })
    const taken = others.take(theirs.backTo("theirs").message().say("Theirs.").flush())
    const copy = fetchedPath("guest", "1", taken.copy, false)
    mkdirSync(dirname(vaultFile(archive.dataHome, copy)), { recursive: true })
    copyFileSync(others.file(taken), vaultFile(archive.dataHome, copy))
    archive.db
      .transaction(() => index(archive.db, archive.dataHome, { ...taken, copy }, () => false))
      .immediate()
    expect(told(archive)).toEqual(["one", "[a1]", "b1", ""])
    expect(tips(archive).slice(0, before.length)).toEqual(before)
    archive.follow(session.backTo(a).turn("a2").flush())
    expect(told(archive)).toEqual(["one", "a1", "b1", "", "a2"])
  })

  test("turns that follow each other are looked up, not searched for among all", () => {
    using archive = new Archive()
    const { session, first } = begun(archive)
    archive.follow(session.turn("two").turn("three").flush())
    const asked = new Set<string>()
    const listening = new Proxy(archive.db, {
      get: (db, name) =>
        name === "query" ? (sql: string) => db.query(asked.add(sql) && sql) : Reflect.get(db, name, db),
    })
    const record = {
      type: "user",
      parentUuid: first,
      sidechain: false,
      parts: [],
    } as unknown as TranscriptRecord
    expect(new TurnChain(listening, SESSION).turnBefore(record)).toBe(1)
    takeBack(listening, SESSION, record, [], undefined)
    revive(listening, SESSION, 3)
    expect(told(archive)).toEqual(["one", "two", "three"])
    const plans = [...asked].map((sql) =>
      archive.db
        .query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`)
        .all()
        .map(({ detail }) => detail),
    )
    const steps = plans.flat().filter((step) => /turns_(?:tip|parent)/.test(step))
    const exact = steps.filter((step) => /\(session=\? AND (?:tip|parent)=\?\)/.test(step))
    expect(exact).toEqual(steps)
    expect(steps.filter((step) => step.includes("turns_tip"))).toHaveLength(3)
    expect(steps.filter((step) => step.includes("turns_parent"))).toHaveLength(2)
  })

  test("a command of the host, or a compaction, may come before that prompt", () => {
    using archive = new Archive()
    const { session, first } = begun(archive)
    session.turn("two").backTo(first).user(CAVEAT, { isMeta: true }).user(command("cost"))
    archive.follow(session.user("<local-command-stdout>Total cost: 1</local-command-stdout>").flush())
    const costs = ["one", "[two]", "/cost"]
    expect(told(archive)).toEqual(costs)
    const second = session.tip
    session.turn("three").backTo(second)
    archive.follow(session.boundary("manual").summary("They spoke").turn("four").flush())
    expect(told(archive)).toEqual([...costs, "[three]", "four"])
    // One version of Claude Code writes the command itself before the boundary; it is no turn.
    const third = session.tip
    session.turn("five").backTo(third).user("/compact").backTo(third).boundary("manual").summary("They spoke")
    archive.follow(session.turn("six").flush())
    expect(told(archive)).toEqual([...costs, "[three]", "four", "[five]", "six"])
  })

  test("todos are again what they were before the turns", () => {
    using archive = new Archive()
    const todos = () =>
      JSON.parse(archive.db.query<{ todos: string }, []>("SELECT todos FROM sessions").get()!.todos).map(
        ({ content }: { content: string }) => content,
      )
    const session = archive.session(SESSION).turn("one")
    const first = session.tip!
    session.turn("two", [PLAN("keep")])
    const second = session.tip!
    archive.follow(session.turn("three", [PLAN("keep", "drop")]).flush())
    expect(todos()).toEqual(["keep", "drop"])
    archive.follow(session.backTo(second).turn("four").flush())
    expect(todos()).toEqual(["keep"])
    archive.follow(session.backTo(first).turn("five").flush())
    expect(todos()).toEqual([])
  })

  test("what only looks like it is not marked", () => {
    using archive = new Archive()
    const { session, first } = begun(archive)
    // Commands that Claude Code carries out, as it wrote them once.
    for (const name of ["doctor", "status", "mcp"]) session.backTo(first).user(command(name))
    // Lines of Claude Code behind the same line as a prompt.
    session.turn("two")
    const second = session.tip
    session.turn("three").backTo(second)
    session.user("Stop hook feedback: go on", { isMeta: true })
    session.line({ type: "system", subtype: "informational", content: "Noted", parentUuid: second })
    session.line({
      type: "attachment",
      attachment: { type: "queued_command", prompt: "four", commandMode: "prompt" },
      parentUuid: second,
    })
    // Two calls at once, both refused with words.
    const refusal = (id: string) => [
      {
        type: "tool_result",
        tool_use_id: id,
        is_error: true,
        content: `The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, the user said:\nnot ${id}`,
      },
    ]
    const uses = ["a", "b"].map((id) => ({ type: "tool_use", id, name: "Edit", input: { file_path: "/x" } }))
    session.message()
    for (const use of uses) session.block(use)
    const called = session.tip
    for (const id of ["a", "b"]) session.backTo(called).user(refusal(id))
    // A subagent's, told in its parent's transcript.
    for (const brief of ["look", "look again"]) session.user(brief, { isSidechain: true, parentUuid: second })
    // A compaction: of its own accord while a prompt waited, and asked for by a line before it.
    session.backTo(second).boundary("auto").summary("They spoke").turn("five")
    const last = session.tip
    session.user("/compact").backTo(last).boundary("manual").summary("They spoke").turn("six")
    archive.follow(session.flush())
    expect(told(archive).filter((prompt) => prompt.startsWith("["))).toEqual([])
    expect(told(archive)).toContain("three")
  })

  /** A second window on a session has what was said before it was opened, and says more from there. */
  const WINDOWS: readonly (readonly [
    name: string,
    write: (session: ReturnType<typeof begun>["session"], first: string) => void,
    turns: readonly string[],
  ])[] = [
    [
      "a prompt continues what another window's seemed to replace",
      (session, first) => {
        const a = session.turn("a1").tip
        session.backTo(first).turn("b1")
        session.backTo(a).turn("a2")
      },
      ["one", "a1", "b1", "a2"],
    ],
    [
      "several turns of it come back, and the other window's stay",
      (session, first) => {
        const a = session.turn("a1").turn("a2").turn("a3").tip
        const b = session.backTo(first).turn("b1").turn("b2").tip
        session.backTo(a).turn("a4").backTo(b).turn("b3")
      },
      ["one", "a1", "a2", "a3", "b1", "b2", "a4", "b3"],
    ],
    [
      "an answer that is still being written",
      (session, first) => {
        const a = session.user("a1").tip
        session.backTo(first).user("b1")
        session.backTo(a).message().say("Working on a1.")
      },
      ["one", "a1", "b1"],
    ],
    [
      "what is then taken back in one window, leaves the other alone",
      (session, first) => {
        const a = session.turn("a1").tip
        const b = session.backTo(first).turn("b1").tip
        session.backTo(a).turn("a2").backTo(b).turn("b2")
        session.backTo(a).turn("a2, otherwise")
      },
      ["one", "a1", "b1", "[a2]", "b2", "a2, otherwise"],
    ],
    [
      "one window goes back and on, and nobody continues the rest",
      (session, first) => {
        session.turn("a1").turn("a2").backTo(first)
        session.turn("b1").turn("b2")
      },
      ["one", "[a1]", "[a2]", "b1", "b2"],
    ],
  ]

  test.each(WINDOWS)("two windows on one session: %s", (_name, write, turns) => {
    for (const isInPieces of [false, true]) {
      using archive = new Archive()
      const { session, first } = begun(archive)
      write(session, first!)
      const lines = session.text.trimEnd().split("\n")
      if (isInPieces) {
        session.discard()
        for (const line of lines) archive.follow(session.raw(line).flush())
      } else archive.follow(session.flush())
      expect(told(archive)).toEqual([...turns])
    }
  })

  test("what was still being written when the user went back does not bring its turn back", () => {
    using archive = new Archive()
    const { session, first } = begun(archive)
    const left = session.user("two").tip
    session.backTo(left).message().say("Too late.")
    const [late] = session.text.trimEnd().split("\n").slice(-1)
    const lines = session.text.trimEnd().split("\n").slice(0, -1)
    session.discard()
    for (const line of lines) session.raw(line)
    session.backTo(first).turn("otherwise").raw(late!)
    archive.follow(session.flush())
    expect(told(archive)).toEqual(["one", "[two]", "otherwise"])
  })
})
