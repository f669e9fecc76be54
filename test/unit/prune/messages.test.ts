import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { FakeTranscript } from "../../../src/claude/fake/transcript.ts"
import { resolveOptions } from "../../../src/config/options.ts"
import type { RequestPrice } from "../../../src/prune/costs.ts"
import { heldBlocks } from "../../../src/prune/held-blocks.ts"
import type { PruneOptions } from "../../../src/prune/prune-messages.ts"
import { playedWays, settingsOn, wayVerdicts } from "../../../src/prune/savings.ts"
import { type Passage, scaleOf, sentPassages, unitsBefore } from "../../../src/prune/sent-passages.ts"
import { wayOptions } from "../../../src/prune/way.ts"
import { priceList, requestCost } from "../../../src/views/prices.ts"
import { turnsOfSession } from "../../../src/views/turn.ts"
import { Archive } from "../../support/archive.ts"
import { pausedSession } from "../../support/paused-session.ts"
import { pruneMessages } from "../../support/pruned.ts"
import type { Transcript } from "../../support/transcript.ts"

/** What is pruned of a conversation, on examples that can be read. test/property/prune.test.ts has what holds for all. */
describe("prune messages", () => {
  /** Moves at every prompt, so that an example can be short. */
  const AT_ONCE: PruneOptions = { keep: 1, threshold: 0, step: 0, maxChars: 20, results: false }

  const MARK = "ctx:ab12 [earlier context pruned]"
  const LONG = "a long text, ".repeat(20)
  const SHORTENED = `a long text, a long\n${MARK}`

  const user = (...content: unknown[]) => ({ role: "user", content })
  const assistant = (...content: unknown[]) => ({ role: "assistant", content })
  const text = (words: string) => ({ type: "text", text: words })
  const thinking = (signature: string) => ({ type: "thinking", thinking: "hm, ".repeat(30), signature })
  const call = (id: string, input: unknown = {}) => ({ type: "tool_use", id, name: "Bash", input })
  const result = (id: string, content: unknown) => ({ type: "tool_result", tool_use_id: id, content })
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "x".repeat(300) } }

  const holdsAll = () => "ctx:ab12"

  /** What remains of messages once the conversation has gone on. */
  function remains(messages: readonly unknown[], options: Partial<PruneOptions> = {}): unknown[] {
    const after = [assistant(text("done")), user(text("and now?"))]
    const all = [...messages, ...after]
    const { messages: left } = pruneMessages(all, { ...AT_ONCE, ...options }, holdsAll)
    expect(left.slice(-2)).toEqual(after)
    return left.slice(0, -2)
  }

  /** Some old text that makes the cut move in any case. */
  const OLD = [user(text(LONG)), assistant(text("yes"))]
  const OLD_LEFT = [user(text(SHORTENED)), assistant(text("yes"))]

  const staysWhole = (...messages: unknown[]): void =>
    expect(remains([...OLD, ...messages])).toEqual([...OLD_LEFT, ...messages])

  test("what tools returned may go sooner than what was said", () => {
    const turn = (n: number) => [
      user(text(`${n} ${LONG}`)),
      assistant(call(`t${n}`)),
      user(result(`t${n}`, LONG)),
      assistant(text("done")),
    ]
    const messages = [...turn(0), ...turn(1), ...turn(2), user(text("and now?"))]
    const options = { ...AT_ONCE, keep: 3, keepResults: 1, results: true }
    const { pruned } = pruneMessages(messages, options, holdsAll)
    expect(pruned.map(({ kind, message }) => `${kind} ${message}`)).toEqual([
      "text 0",
      "result 2",
      "result 6",
      "result 10",
    ])
    expect(pruneMessages(messages, { ...options, results: false }, holdsAll).pruned).toHaveLength(1)
  })

  test("old prompts and answers are shortened, and the latest ones stay", () => {
    const before = [
      { role: "user", content: `make a kiln controller\n${LONG}` },
      assistant(text(`I will begin with the sensor.\n${LONG}`), call("t1", { command: LONG })),
      user(result("t1", LONG)),
      assistant(text("The sensor is there.")),
      user(text(LONG)),
      assistant(text(LONG)),
      user(text(LONG)),
    ]
    const { messages, pruned } = pruneMessages(before, { ...AT_ONCE, keep: 2, maxChars: 80 }, holdsAll)
    expect(messages).toEqual([
      { role: "user", content: `make a kiln controller\n${MARK}` },
      assistant(text(`I will begin with the sensor.\n${MARK}`), call("t1", { command: LONG })),
      ...before.slice(2),
    ])
    const saved = LONG.length - MARK.length - 1
    expect(pruned).toMatchObject([
      { message: 0, block: 0, kind: "text", handle: "ctx:ab12", saved },
      { message: 1, block: 0, kind: "text", handle: "ctx:ab12", saved },
    ])
  })

  describe("the cut", () => {
    /** As many turns, each with 260 units of prompt. What remains saves about 200. */
    const turns = (count: number): unknown[] =>
      Array.from({ length: count }, () => [assistant(text("yes")), user(text(LONG))]).flat()
    const prunedOf = (count: number, options: Partial<PruneOptions>): number =>
      pruneMessages(turns(count), { ...AT_ONCE, ...options }, holdsAll).pruned.length
    const each = Array.from({ length: 12 }, (_, n) => n + 1)

    test("moves with every prompt if nothing holds it", () => {
      expect(each.map((count) => prunedOf(count, {}))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
      expect(each.map((count) => prunedOf(count, { keep: 4 }))).toEqual([0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8])
    })

    test("moves in steps", () => {
      const steps = each.map((count) => prunedOf(count, { step: 600 }))
      expect(steps).toEqual([0, 0, 0, 3, 3, 3, 6, 6, 6, 9, 9, 9])
    })

    test("waits until there is much behind it, the latest prompts included", () => {
      const waiting = each.map((count) => prunedOf(count, { keep: 3, threshold: 1000 }))
      expect(waiting).toEqual([0, 0, 0, 0, 0, 3, 3, 3, 6, 6, 6, 9])
    })

    test("keeps the current prompt, whatever is asked", () => {
      expect(each.map((count) => prunedOf(count, { keep: 0 }))).toEqual(each.map((count) => count - 1))
    })

    test("does not move at all if an option is no number", () => {
      for (const name of ["keep", "threshold", "step"]) expect(prunedOf(9, { [name]: Number.NaN })).toBe(0)
    })

    test("counts what humans say, not what tools return", () => {
      const loop = Array.from({ length: 6 }, (_, n) => [
        assistant(call(`t${n}`)),
        user(result(`t${n}`, "ok")),
      ]).flat()
      const messages = [user(text(LONG)), ...loop]
      expect(pruneMessages(messages, AT_ONCE, holdsAll)).toEqual({ messages, pruned: [] })
    })

    test("counts prompts that were typed one after the other as one", () => {
      const messages = [user(text(LONG)), user(text(LONG)), user(text("go"))]
      expect(pruneMessages(messages, AT_ONCE, holdsAll).messages).toBe(messages)
    })

    test("is where it was when the conversation goes on without a human", () => {
      const begun = [...OLD, user(text(LONG))]
      const on = [...begun, assistant(text(LONG), call("t1")), user(result("t1", LONG))]
      const { messages } = pruneMessages(on, AT_ONCE, holdsAll)
      expect(messages).toEqual([...pruneMessages(begun, AT_ONCE, holdsAll).messages, ...on.slice(3)])
    })
  })

  describe("thinking", () => {
    test("goes if it is older than the prompt at which the cut moved, and stays if it is younger", () => {
      const before = [
        user(text(LONG)),
        assistant(thinking("s1"), text("yes")),
        user(text("go on")),
        assistant({ type: "redacted_thinking", data: "x".repeat(90) }, call("t1")),
        user(result("t1", "ok")),
        assistant(thinking("s2")),
        user(text("and then?")),
        assistant(thinking("s3"), call("t2")),
        user(result("t2", "ok")),
      ]
      const { messages, pruned } = pruneMessages(before, { ...AT_ONCE, keep: 3 }, holdsAll)
      expect(messages).toBe(before)
      expect(pruned).toEqual([])
      expect(pruneMessages(before, { ...AT_ONCE, keep: 2 }, holdsAll).messages).toEqual([
        user(text(SHORTENED)),
        assistant(text("yes")),
        user(text("go on")),
        assistant(call("t1")),
        user(result("t1", "ok")),
        // Nothing was left of the one that was only thought.
        ...before.slice(6),
      ])
    })

    test("that the vault lacks stays, and so must all that it was signed with", () => {
      const [first, second] = [user(text(LONG)), user(text(LONG))]
      const before = [
        first,
        assistant(text("yes")),
        second,
        assistant(thinking("s1"), text("yes")),
        user(text("go")),
      ]
      const lacking = (block: object) => ("signature" in block ? undefined : "ctx:ab12")
      expect(pruneMessages(before, AT_ONCE, lacking).messages).toEqual([
        user(text(SHORTENED)),
        assistant(text("yes")),
        ...before.slice(2),
      ])
    })
  })

  test("what the vault lacks stays", () => {
    const before = [user(text(LONG), text(`b${LONG}`)), assistant(text("yes")), user(text("go"))]
    const lacking = ({ text: words }: { text?: unknown }) => (words === LONG ? undefined : "ctx:ab12")
    const { messages } = pruneMessages(before, AT_ONCE, lacking)
    expect(messages[0]).toEqual(user(text(LONG), text(`ba long text, a long\n${MARK}`)))
  })

  describe("stays whole", () => {
    test("the summary of a compaction", () => {
      staysWhole(
        user(text(`This session is being continued from a previous conversation that ran out. ${LONG}`)),
      )
    })

    test("what Claude Code says of itself, also beside a human's words", () => {
      const reminder = `<system-reminder>${LONG}</system-reminder>`
      staysWhole(user(text(reminder)))
      staysWhole(user(text(`${reminder}\n${LONG}`)))
      staysWhole(user(text(`<task-notification>${LONG}</task-notification>`)))
      staysWhole({ role: "system", content: LONG })
      expect(remains([user(text(reminder), text(LONG))])).toEqual([user(text(reminder), text(SHORTENED))])
    })

    test("a command, and the skill that it loads", () => {
      staysWhole(user(text("<command-name>/review</command-name>"), text(LONG)))
      staysWhole(user(text(`/review ${LONG}`)))
      staysWhole(assistant(call("t1")), user(result("t1", "Launching skill"), text(LONG)))
    })

    test("a command that a human runs, with its output", () => {
      staysWhole(user(text(`<bash-input>${LONG}</bash-input>`), text(`<bash-stdout>${LONG}</bash-stdout>`)))
    })

    test("what a tool is told and returns, images and documents", () => {
      const document = { type: "document", source: { type: "text", media_type: "text/plain", data: LONG } }
      staysWhole(
        user(image, document, text("look")),
        assistant(call("t1", { command: LONG })),
        user(result("t1", LONG)),
      )
    })

    test("a text that something refers to, and one of which nobody knows all fields", () => {
      staysWhole(assistant({ ...text(LONG), citations: [{ type: "char_location", cited_text: "a" }] }))
      staysWhole(assistant({ ...text(LONG), parsed: {} }))
      const known = { citations: null, cache_control: { type: "ephemeral" } }
      const left = assistant({ ...text(SHORTENED), ...known })
      expect(remains([user(text("hi")), assistant({ ...text(LONG), ...known })])).toEqual([
        user(text("hi")),
        left,
      ])
    })

    test("what is shorter than the mark would be", () => {
      const limit = 20 + 1 + MARK.length
      staysWhole(assistant(text("x".repeat(limit + 1))))
      expect(remains([...OLD, assistant(text("x".repeat(limit + 2)))])).toEqual([
        ...OLD_LEFT,
        assistant(text(`${"x".repeat(20)}\n${MARK}`)),
      ])
    })

    test("what has no shape that is known", () => {
      const odd = [
        null,
        7,
        "words",
        [],
        {},
        { role: "user" },
        { role: "assistant", content: {} },
        user(null, 7, LONG),
      ]
      staysWhole(...odd, user({ type: "text" }), assistant({ type: "hologram", text: LONG }))
    })
  })

  describe("what tools returned, if it is to be pruned", () => {
    const shorter = (content: unknown): unknown =>
      remains([user(text("hi")), assistant(call("t1")), user(result("t1", content))], { results: true })[2]

    test("is its handle", () => {
      expect(shorter(LONG)).toEqual(user(result("t1", MARK)))
      expect(shorter([text(LONG), image])).toEqual(user(result("t1", [text(MARK), image])))
    })

    test("stays if that is not shorter, or there is no text", () => {
      for (const content of ["ok", [], [image], undefined, 7])
        expect(shorter(content)).toEqual(user(result("t1", content)))
    })

    test("keeps whether it failed", () => {
      const failed = { ...result("t1", LONG), is_error: true }
      const left = remains([user(text("hi")), assistant(call("t1")), user(failed)], { results: true })
      expect(left[2]).toEqual(user({ ...failed, content: MARK }))
    })
  })

  describe("what remains of a text", () => {
    const beginning = (words: string, maxChars: number): string => {
      const [left] = remains([user(text(words))], { maxChars }) as [{ content: [{ text: string }] }]
      return left.content[0].text
    }

    test("is its first line that is not blank", () => {
      expect(beginning(`\n\n  build it\r\nwith care ${LONG}`, 80)).toBe(`build it\n${MARK}`)
    })

    test("does not end in half a character", () => {
      expect(beginning(`abc😀${LONG}`, 3)).toBe(`abc\n${MARK}`)
      expect(beginning(`abc😀${LONG}`, 4)).toBe(`abc\n${MARK}`)
      expect(beginning(`abc😀${LONG}`, 5)).toBe(`abc😀\n${MARK}`)
      expect(beginning(`abc😀${LONG}`, 0)).toBe(`\n${MARK}`)
    })

    test("is the same for what was pasted", () => {
      const pasted = `look: <pasted_content id="a1">\n${LONG}</pasted_content id="a1">`
      expect(beginning(pasted, 5)).toBe(`look:\n${MARK}`)
    })
  })
})

/** Of which blocks of a conversation it is known that the vault holds them, and by what handles they open. */
describe("held blocks", () => {
  let archive: Archive
  beforeEach(() => {
    archive = new Archive()
  })
  afterEach(() => archive[Symbol.dispose]())

  const text = (words: string) => ({ type: "text", text: words })
  const PASSWORD = `ghp_${"aB3dE5gH7jK9".repeat(3)}`

  function told(session: string): Transcript {
    return archive
      .session(session)
      .user("Build the kiln controller")
      .think("The sensor first.")
      .step({ tool: "Bash", input: { command: "make" }, output: "made" })
      .say("The sensor is there.")
      .user(`Use ${PASSWORD} for it`)
      .say("I did.")
      .flush()
  }

  /** Everything a conversation sent, as handles or undefined, in the order of the transcript. */
  function asked(session: string, transcript: Transcript, held = heldBlocks(archive.dataHome, session)) {
    held.refresh(archive.db)
    return readFileSync(transcript.path, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).message)
      .filter((message) => message !== undefined)
      .flatMap(({ role, content }) =>
        (typeof content === "string" ? [text(content)] : content).map((block: { type: string }) => [
          block.type,
          held.handleOf(block, role),
        ]),
      )
  }

  describe("blocks of a session", () => {
    test("have the handles of their turns: words, thoughts, outputs, and what was filled in the vault", () => {
      const transcript = told("s1")
      archive.follow(transcript)
      const [first, second] = turnsOfSession(archive.db, "s1").map(({ handle }) => handle)
      expect(first).toStartWith("ctx:")
      expect(second).not.toBe(first)
      expect(asked("s1", transcript)).toEqual([
        ["text", first],
        ["thinking", first],
        ["tool_use", undefined],
        ["tool_result", first],
        ["text", first],
        ["text", second],
        ["text", second],
      ])
      expect(readFileSync(transcript.path, "utf8")).toContain(PASSWORD)
    })

    test("are not held if they are another's, or only alike", () => {
      const transcript = told("s1")
      archive.follow(transcript)
      const held = heldBlocks(archive.dataHome, "s1")
      held.refresh(archive.db)
      expect(held.handleOf(text("Build the kiln controller"), "assistant")).toBeUndefined()
      expect(held.handleOf(text("Build the kiln controller!"), "user")).toBeUndefined()
      expect(held.handleOf(text(`Ure ${PASSWORD} for it`), "user")).toBeUndefined()
      expect(
        held.handleOf({ type: "tool_result", tool_use_id: "toolu_other", content: "made" }, "user"),
      ).toBe(undefined)
      const other = heldBlocks(archive.dataHome, "s")
      other.refresh(archive.db)
      expect(other.handleOf(text("Build the kiln controller"), "user")).toBeUndefined()
    })

    test("become known as they are archived, and only what has come into the views", () => {
      const transcript = told("s1")
      archive.follow(transcript)
      const held = heldBlocks(archive.dataHome, "s1")
      held.refresh(archive.db)
      transcript.user("And the door?").say("It is locked.").flush()
      archive.take(transcript)
      held.refresh(archive.db)
      expect(held.handleOf(text("And the door?"), "user")).toBeUndefined()
      archive.follow(transcript)
      held.refresh(archive.db)
      const third = turnsOfSession(archive.db, "s1")[2]!.handle
      expect(held.handleOf(text("And the door?"), "user")).toBe(third)
      expect(held.handleOf(text("It is locked."), "assistant")).toBe(third)
    })

    test("of which only the signature was sent are told by it", () => {
      const transcript = archive.session("s1").user("Why?")
      transcript.message().block({ type: "thinking", thinking: "", signature: "c2lnbmVk" }).say("So.").flush()
      archive.follow(transcript)
      const { handle } = turnsOfSession(archive.db, "s1")[0]!
      const held = heldBlocks(archive.dataHome, "s1")
      held.refresh(archive.db)
      expect(held.handleOf({ type: "thinking", thinking: "", signature: "c2lnbmVk" }, "assistant")).toBe(
        handle,
      )
      expect(
        held.handleOf({ type: "thinking", thinking: "", signature: "b3RoZXI" }, "assistant"),
      ).toBeUndefined()
    })
  })

  test("a fork's blocks are those of its origin, by its origin's handles", () => {
    const origin = told("s1")
    archive.follow(origin)
    const fork = archive
      .session("s2")
      .raw(readFileSync(origin.path, "utf8").trim().replaceAll('"s1"', '"s2"'))
    fork.user("Another way?").say("Yes.").flush()
    archive.follow(fork)
    const handles = turnsOfSession(archive.db, "s1").map(({ handle }) => handle)
    const own = turnsOfSession(archive.db, "s2").at(-1)!.handle
    expect(new Set(asked("s2", fork).map(([, handle]) => handle))).toEqual(
      new Set([...handles, own, undefined]),
    )
  })
})

/** What a session sent, rebuilt from its transcript. */
describe("sent messages", () => {
  const transcript = () => new FakeTranscript({ session: "s1", cwd: "/project", version: "2.1.112" })
  const passages = (told: FakeTranscript): Passage[] => sentPassages(told.take().trim().split("\n"))

  /** Each message in short: its role and what its blocks say. */
  const told = ({ messages }: Passage): string[] =>
    messages.map(
      ({ role, content }) =>
        `${role}: ${content.map((block) => block["text"] ?? block["thinking"] ?? block["name"] ?? block["content"]).join(" + ")}`,
    )

  const sent = ({ requests }: Passage): number[] => requests.map(({ messages }) => messages)

  const BASH = { tool: "Bash", input: { command: "make" }, output: "made" }

  describe("messages of a session", () => {
    test("blocks of an answer are one message, and each answer is a request", () => {
      const [only, ...more] = passages(
        transcript()
          .user("Build it")
          .message()
          .think("Hm.")
          .step(BASH)
          .say("Done.")
          .user("Thanks")
          .message()
          .say("Yes."),
      )
      expect(more).toEqual([])
      expect(told(only!)).toEqual([
        "user: Build it",
        "assistant: Hm. + Bash",
        "user: made",
        "assistant: Done.",
        "user: Thanks",
        "assistant: Yes.",
      ])
      expect(sent(only!)).toEqual([1, 3, 5])
      expect(only).toMatchObject({ begins: "start", kept: 0 })
    })

    test("calls that ran side by side are one answer, and what they returned one message", () => {
      const it = transcript().user("Both").message()
      const use = (id: string) => ({ type: "tool_use", id, name: id, input: {} })
      const result = (id: string) => [{ type: "tool_result", tool_use_id: id, content: `of ${id}` }]
      it.block(use("one")).user(result("one")).block(use("two")).user(result("two")).message().say("Done.")
      const [only] = passages(it)
      expect(told(only!)).toEqual([
        "user: Both",
        "assistant: one + two",
        "user: of one + of two",
        "assistant: Done.",
      ])
      expect(sent(only!)).toEqual([1, 3])
    })

    test("a compaction begins anew, with its summary and what it kept behind it", () => {
      const it = transcript().turn("First", [BASH], "One.")
      const compactMetadata = { trigger: "auto", preservedMessages: { uuids: [it.tip] } }
      it.line({ type: "system", subtype: "compact_boundary", compactMetadata })
      const [before, after] = passages(it.summary("So far.").turn("Second", [], "Two."))
      expect(sent(before!)).toEqual([1, 3])
      expect(after).toMatchObject({ begins: "compaction", kept: 2 })
      expect(told(after!).slice(1)).toEqual(["assistant: One.", "user: Second", "assistant: Two."])
      expect(told(after!)[0]).toEndWith("So far.")
      expect(sent(after!)).toEqual([3])
    })

    test("after a rewind, what was taken back is not sent again", () => {
      const it = transcript().turn("First", [], "One.")
      const { tip } = it
      it.turn("Wrong", [BASH], "Oh.").backTo(tip).turn("Right", [], "Good.")
      const [before, after] = passages(it)
      expect(told(before!)).toHaveLength(6)
      expect(told(after!)).toEqual(["user: First", "assistant: One.", "user: Right", "assistant: Good."])
      expect(after).toMatchObject({ begins: "rewind", kept: 2 })
      expect(sent(after!)).toEqual([3])
    })

    test("subagents, errors and answers of Claude Code itself are not sent", () => {
      const it = transcript().turn("First", [], "One.")
      it.line({ type: "user", isSidechain: true, message: { role: "user", content: "For a subagent" } })
      it.block({ type: "text", text: "Overloaded" }, { isApiErrorMessage: true }, { model: "<synthetic>" })
      it.raw("{not json").line({ type: "system", subtype: "turn_duration", content: "3 s" })
      expect(told(passages(it)[0]!)).toEqual(["user: First", "assistant: One."])
    })
  })
})

/** What each way would have made of sessions whose sizes are known, and what follows from it. */
describe("savings", () => {
  let archive: Archive
  beforeEach(() => {
    archive = new Archive()
  })
  afterEach(() => archive[Symbol.dispose]())

  const { config } = resolveOptions({})
  const prices = priceList([])
  const listPrice: RequestPrice = (model, tokens) => requestCost(prices, model, tokens)

  /** One session for each, oldest first. */
  function played(sessions: readonly Parameters<typeof pausedSession>[1][], asked = config) {
    for (const [n, how] of sessions.entries())
      archive.follow(pausedSession(archive.session(`s${n}`), how).flush())
    const options = wayOptions(asked)
    const all = [...playedWays(archive.db, archive.dataHome, options, listPrice, 10)]
    return { all, verdicts: wayVerdicts(all), settings: settingsOn(all, options) }
  }

  const PAUSED = { turns: 10, pause: 10 }
  const BUSY = { turns: 10, pause: 1 }

  test("with pauses, the proxy pays: less is written to a cache that has expired, and none is broken", () => {
    const { all, verdicts } = played([PAUSED])
    const [{ none, ways, tokens }] = all as [(typeof all)[number]]
    expect(tokens).toBeGreaterThan(140_000)
    // What the API counted, at its prices: nobody had to estimate.
    expect(none).toMatchObject({ requests: 50, compactions: 0, prefixChanges: 0, broken: 0, relative: 1 })
    const [proxy] = ways.proxy
    expect(proxy!.sent).toBeLessThan(0.7 * none.sent)
    expect(proxy!.dollars!).toBeLessThan(0.7 * none.dollars!)
    expect(proxy!.relative).toBeCloseTo(proxy!.dollars! / none.dollars!)
    expect(proxy!.broken).toBe(0)
    expect(verdicts.find(({ way }) => way === "proxy")).toMatchObject({ pays: true, cheaper: 1, dearer: 0 })
    expect(ways.patch).toEqual([none])
    expect(ways.plugin).toEqual([none])
  })

  test("without a pause, doing nothing is best, and what breaks the cache costs more than it saves", () => {
    const { all, verdicts, settings } = played([BUSY])
    expect(verdicts.filter(({ pays }) => pays)).toEqual([])
    const [{ none, ways }] = all as [(typeof all)[number]]
    expect(ways.proxy).toEqual([none])
    const [, unremembered] = ways.native
    expect(unremembered!.prefixChanges).toBeGreaterThan(10)
    expect(unremembered!.sent).toBeLessThan(none.sent)
    expect(unremembered!.dollars!).toBeGreaterThan(none.dollars!)
    expect(unremembered!.dollars! - unremembered!.broken!).toBeLessThan(none.dollars!)
    expect(settings.map(({ setting }) => setting)).toEqual(["prune.when prompt", "prune.keep 1"])
  })

  test("pays in the median session only if most are cheaper, and not if one is dearer", () => {
    const { all } = played([BUSY, PAUSED])
    const byName = new Map(all.map((one) => [one.session, one]))
    const [busy, paused] = [byName.get("s0")!, byName.get("s1")!]
    const dearer = { ...busy, ways: { ...busy.ways, proxy: [{ ...busy.none, relative: 1.1 }] } }
    const proxyIn = (...sessions: (typeof all)[number][]) =>
      wayVerdicts(sessions).find(({ way }) => way === "proxy")
    expect(proxyIn(busy, paused, paused)).toMatchObject({ pays: true, cheaper: 2, dearer: 0 })
    expect(proxyIn(busy, busy, paused)).toMatchObject({ pays: false, cheaper: 1, dearer: 0, median: 1 })
    expect(proxyIn(dearer, paused, paused)).toMatchObject({ pays: false, cheaper: 2, dearer: 1, worst: 1.1 })
    expect(wayVerdicts([])).toEqual([])
    // From which size on all were cheaper.
    const long = { ...paused, tokens: busy.tokens + 2 }
    expect(proxyIn(busy, long, { ...long, tokens: busy.tokens + 1 })).toMatchObject({ from: busy.tokens + 1 })
    expect(proxyIn(busy, long)).toMatchObject({ from: undefined })
  })

  test("says which other setting would have paid", () => {
    const { verdicts, settings } = played([PAUSED], { ...config, "prune.results": false })
    expect(verdicts.filter(({ pays }) => pays)).toEqual([])
    expect(settings.filter(({ pays }) => pays).map(({ setting }) => setting)).toEqual(["prune.results true"])
  })

  test("a model without a price is reckoned by the ratios of all prices, and short sessions are left out", () => {
    const { all, verdicts } = played([
      { ...PAUSED, model: "claude-unheard-of" },
      { ...PAUSED, turns: 1 },
    ])
    expect(all).toHaveLength(1)
    expect(all[0]!.none.dollars).toBeUndefined()
    expect(verdicts.find(({ way }) => way === "proxy")!.pays).toBe(true)
  })

  test("the scale is what requests grew by; a picture has one of its own", () => {
    const line = (fields: object) => JSON.stringify({ type: "user", message: fields })
    const answer = (id: string, tokens: number) =>
      JSON.stringify({
        type: "assistant",
        message: {
          role: "assistant",
          id,
          content: [{ type: "text", text: "ok" }],
          usage: { input_tokens: tokens },
        },
      })
    const words = (length: number) => line({ role: "user", content: "w".repeat(length) })
    const [passage] = sentPassages([words(3_000), answer("a", 6_000), words(60_000), answer("b", 26_000)])
    const scale = scaleOf(passage!)
    expect(scale.unitsPerToken).toBeCloseTo(3, 1)
    expect(scale.overhead).toBeGreaterThan(4_900)
    expect(scale.overhead).toBeLessThan(5_100)
    const picture = { type: "image", source: { type: "base64", data: "A".repeat(1_000_000) } }
    expect(unitsBefore([{ role: "user", content: [picture] }])[1]).toBe(6_000)
  })
})
