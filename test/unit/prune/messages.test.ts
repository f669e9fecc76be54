import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { FakeTranscript } from "../../../src/claude/fake/transcript.ts"
import { heldBlocks } from "../../../src/prune/held-blocks.ts"
import { type PruneOptions, pruneMessages } from "../../../src/prune/prune-messages.ts"
import {
  ANY_HANDLE,
  type Passage,
  recentSavings,
  scaleOf,
  sentPassages,
  unitsBefore,
} from "../../../src/prune/savings.ts"
import { turnsOfSession } from "../../../src/views/turn.ts"
import { Archive } from "../../support/archive.ts"
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

/** What each way would have taken out of the window in sessions whose sizes are known. */
describe("savings", () => {
  let archive: Archive
  beforeEach(() => {
    archive = new Archive()
  })
  afterEach(() => archive[Symbol.dispose]())

  const OPTIONS = { keep: 1, maxChars: 80, results: false, threshold: 4_000, step: 2_000 }

  /** Five turns with so much text in each; what was sent grows by 3 units per token, from 1,000. */
  function session(id: string, { text, output }: { text: number; output: number }) {
    const it = archive.session(id)
    let units = 0
    const usage = () => ({ usage: { input_tokens: 1_000 + Math.round(units / 3), output_tokens: 5 } })
    for (let n = 0; n < 5; n++) {
      const prompt = `${n} ${"p".repeat(text)}`
      units += JSON.stringify({ type: "text", text: prompt }).length
      it.user(prompt)
      for (let step = 0; step < 5; step++) {
        const id = `toolu_${n}_${step}`
        const call = { type: "tool_use", id, name: "Bash", input: {} }
        const result = { type: "tool_result", tool_use_id: id, content: "o".repeat(output) }
        it.message().block(call, {}, usage()).user([result])
        units += JSON.stringify(call).length + JSON.stringify(result).length
      }
      const answer = { type: "text", text: "Done." }
      it.message().block(answer, {}, usage())
      units += JSON.stringify(answer).length
    }
    archive.follow(it.flush())
    return it
  }

  const savings = (options = OPTIONS, count = 10) =>
    recentSavings(archive.db, archive.dataHome, options, count)

  test("in tokens of the session's own scale: text by the rule, results by the API", () => {
    session("s1", { text: 30_000, output: 9_000 })
    const [only, ...more] = savings()
    expect(more).toEqual([])
    expect(only!.session).toBe("s1")
    expect(only!.title).toMatch(/^0 p+…$/)
    expect(only!.title.length).toBeLessThanOrEqual(60)
    // Four of five prompts of 10,000 tokens; 15 of 25 results of 3,000 tokens.
    expect(Math.round(only!.saved.proxy! / 1_000)).toBe(40)
    expect(only!.saved.patch).toBe(only!.saved.proxy)
    expect(Math.round(only!.saved.native! / 1_000)).toBe(45)
    expect(only!.saved.plugin).toBeUndefined()
    expect(only!.tokens).toBeGreaterThan(120_000)
  })

  test("nothing, where no way would have become active", () => {
    session("s1", { text: 200, output: 100 })
    expect(savings()[0]!.saved).toEqual({ native: 0, plugin: undefined, proxy: 0, patch: 0 })
  })

  test("at a compaction, the plugin takes out what it does not need", () => {
    const it = session("s1", { text: 30_000, output: 9_000 })
    it.boundary().summary("s".repeat(6_000))
    const after = { usage: { input_tokens: 10_000, output_tokens: 5 } }
    it.user("Go on").message().block({ type: "text", text: "Yes." }, {}, after).flush()
    archive.follow(it)
    const [{ saved, tokens }] = savings() as [ReturnType<typeof savings>[number]]
    expect(Math.round(saved.plugin! / 100)).toBe(Math.round((tokens - 10_000 - 1_000) / 100))
  })

  test("the latest sessions, each once", () => {
    for (const id of ["s1", "s2", "s3"]) session(id, { text: 100, output: 10 })
    expect(savings(OPTIONS, 2)).toHaveLength(2)
    expect(new Set(savings().map(({ session }) => session))).toEqual(new Set(["s1", "s2", "s3"]))
    expect(ANY_HANDLE).toMatch(/^ctx:\w{6}$/)
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
