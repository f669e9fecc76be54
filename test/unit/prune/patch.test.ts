import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { encode, hashOf } from "../../../src/base/edited-file.ts"
import { answerPatch, type PatchQuestion } from "../../../src/prune/patch/answer-patch.ts"
import { patchState } from "../../../src/prune/patch/apply-patch.ts"
import {
  insertionDiff,
  patchedText,
  patchIn,
  programKind,
  recordFile,
} from "../../../src/prune/patch/examine-program.ts"
import { findPlace } from "../../../src/prune/patch/find-place.ts"
import { bundle, installedBundle } from "../../support/bundle.ts"
import { inserted, type OwnBlock, type OwnMessage } from "../../support/inserted.ts"
import { tempFolder } from "../../support/temp.ts"

/** What a patched client is answered. */
describe("answer patch", () => {
  const LONG = "and so on, ".repeat(40)
  const OPTIONS = { keep: 1, threshold: 400, step: 0, maxChars: 12, results: false } as const

  const text = (role: string, ...words: string[]) => ({
    role,
    content: words.map((one) => ({ type: "text", text: one })),
  })
  const TALK = [text("user", LONG), text("assistant", LONG)]

  /** @param isHeld whether the vault has a text */
  const answer = (messages: readonly unknown[], from = -1, isHeld = (_: unknown) => true) =>
    answerPatch(
      { session: "s", from, messages },
      { refresh() {}, handleOf: (block) => (isHeld(block["text"]) ? "ctx:ab12" : undefined) },
      OPTIONS,
    )

  test("the cut, and what is left out with it, by the messages as they were sent", () => {
    const told = answer([
      text("user", "Hello"),
      text("user", LONG),
      { role: "assistant", content: [] },
      ...TALK.slice(1),
      text("user", "Now?"),
    ])
    expect(told).toMatchObject({ cut: { prompt: 4, whole: 4 }, wait: 400 })
    expect(
      told.edits!.map(({ message, changes }) => [message, changes.map(({ block, type }) => [block, type])]),
    ).toEqual([
      [1, [[0, "text"]]],
      [3, [[0, "text"]]],
    ])
  })

  test("a string is one block", () => {
    const told = answer([
      { role: "user", content: LONG },
      ...TALK.slice(1),
      { role: "user", content: "Now?" },
    ])
    expect(told.edits?.map(({ message }) => message)).toEqual([0, 1])
  })

  test("only at a prompt that follows an answer", () => {
    const use = { role: "assistant", content: [{ type: "tool_use" }] }
    const result = { role: "user", content: [{ type: "tool_result" }] }
    for (const messages of [
      [],
      TALK,
      [...TALK, use, result],
      [...TALK, use, result, text("user", "By the way?")],
    ])
      expect(answer(messages)).toEqual({ wait: 0 })
  })

  test("only if it gets on, and with what the vault has", () => {
    const messages = [...TALK, text("user", "Now?")]
    expect(answer(messages).cut).toEqual({ prompt: 2, whole: 2 })
    expect(answer(messages, 2)).toEqual({ wait: 400 })
    expect(answer(messages, -1, () => false)).toEqual({ wait: 0 })
    const thought = { role: "assistant", content: [{ type: "thinking", thinking: "hm", signature: "s" }] }
    expect(answer([...TALK, thought, text("user", "Now?")], -1, (held) => held !== undefined)).toEqual({
      wait: 0,
    })
  })

  test("how much more must be said", () => {
    const { wait, cut } = answer([
      text("user", LONG.slice(0, 200)),
      text("assistant", "Yes."),
      text("user", "Now?"),
    ])
    expect(cut).toBeUndefined()
    expect(wait).toBeGreaterThan(200)
    expect(wait).toBeLessThan(400)
  })
})

/** What is told of a program that is patched, could be, or could not. */
describe("patch state", () => {
  let folder: ReturnType<typeof tempFolder>
  let file: string
  beforeEach(() => {
    folder = tempFolder()
    file = installedBundle(folder.path)
  })
  afterEach(() => folder[Symbol.dispose]())

  /** As `prune patch` leaves it. */
  function patched(binary: string): string {
    const result = patchedText(bundle(), binary)
    if ("why" in result) throw new Error(result.why)
    const hashes = { original: hashOf(encode(bundle())), patched: hashOf(encode(result.text)) }
    writeFileSync(file, result.text)
    writeFileSync(recordFile(file), JSON.stringify({ ...hashes, binary, inserted: "", version: "9.9.9" }))
    return result.text
  }

  const told = () => {
    const { way, ...rest } = patchState({ file })
    expect(way).toBe("patch")
    return rest
  }

  test("one that could be patched", () => {
    expect(told()).toEqual({ isActive: false })
  })

  test("one that is, and asks a program that is there or not", () => {
    patched(process.execPath)
    expect(told()).toEqual({ isActive: true, detail: `patched: ${file}` })
    patched("/nowhere/ctxbridge")
    expect(told()).toMatchObject({ isActive: true, problem: expect.stringContaining("/nowhere/ctxbridge") })
  })

  test("one that an update has brought instead, which could be patched or not", () => {
    patched(process.execPath)
    writeFileSync(file, bundle(["9.9.9", "9.9.10"]))
    expect(told()).toEqual({ isActive: false, detail: expect.stringContaining("update") })
    writeFileSync(file, "\x7fELF")
    expect(told()).toEqual({ isActive: false, unsupported: expect.stringContaining("native program (ELF)") })
  })

  test.each([
    ["somebody has changed the patched one", () => `${patched(process.execPath)}//`, "changed since"],
    ["another tool has patched it", () => "#!/usr/bin/env node\n_aggressiveTextPrune", "another tool"],
    ["it is not as others are", () => "#!/usr/bin/env node\n", "found nowhere"],
    ["it is a script", () => "#!/bin/sh\n", "script"],
  ])("one that cannot be patched: %s", (_, text, why) => {
    writeFileSync(file, text())
    expect(told()).toEqual({ isActive: false, unsupported: expect.stringContaining(why) })
  })

  test("one that is gone", () => {
    file = join(folder.path, "none")
    expect(told()).toEqual({ isActive: false, unsupported: "it cannot be read" })
  })
})

/** Where a bundle is patched, when it is not, and what comes of it. */
describe("patched text", () => {
  const BINARY = '/opt/a "b"/$&/ctxbridge'

  function patched(text: string) {
    const result = patchedText(text, BINARY)
    if ("why" in result) throw new Error(result.why)
    return result
  }

  describe("the place", () => {
    test("is after the micro-compaction and before the automatic one, whatever things are called", () => {
      for (const text of [
        bundle(),
        bundle(
          ["let m=", "let $m="],
          ["(m,t)", "($m,t)"],
          ["m=r.", "$m=r."],
          ["m=c", "$m=c"],
          [":m}", ":$m}"],
        ),
        bundle(["await compact(m,t)", "await deps.autocompact(m,t,{forked:m})"]),
        bundle(["[...a.slice(0),q]", "[...a,q]"]),
      ]) {
        const place = findPlace(text)
        if ("why" in place) throw new Error(place.why)
        expect(text.slice(place.call)).toStartWith("let{compactionResult:c}=await")
        expect(text.slice(place.before)).toStartWith("async function*loop(")
        expect(text.slice(place.summary)).toStartWith("async function sum(")
        expect(text.slice(place.summarised.start, place.summarised.end)).toStartWith("a")
        expect(place.messages).toBeOneOf(["m", "$m"])
        expect(place.context).toBe("t")
        expect(place.session).toEqual({ name: "sid", source: "function sid(){return S.sessionId}" })
      }
    })

    test.each([
      ["nothing of it", 'yield{type:"stream_request_start"}', "yield{}", "the loop"],
      [
        "it twice",
        "async function compact(",
        'function*x(){yield{type:"stream_request_start"}}async function compact(',
        "2 times",
      ],
      ["no generator around it", "async function*loop(", "async function loop(", "parsed"],
      ["syntax that is not known", "let m=[...a]", "let m=[...a] <> 1", "parsed"],
      ["the loop within an expression", "async function*loop", "var f=async function*loop", "by itself"],
      ["a loop that does not compact", "tengu_auto_compact_succeeded", "other", "does not compact"],
      ["no session", "S.sessionId}", "S.other}", "names the session was found nowhere"],
      [
        "two sessions",
        "async function micro",
        "function b(){return T.sessionId}async function micro",
        "2 times",
      ],
      ["no compaction", "{compactionResult:c}", "{other:c}", "compaction was found nowhere"],
      [
        "a compaction within another function",
        "let{compactionResult:c}=await compact(m,t);",
        "let c,f=async()=>{let{compactionResult:d}=await compact(m,t)};",
        "function of its own",
      ],
      [
        "a compaction in the middle of something",
        "let{compactionResult:c}=await",
        "for(let{compactionResult:c}=await compact(m,t);0;);let{x:c}=await",
        "by itself",
      ],
      ["a compaction of something else", "compact(m,t)", "compact([m],t)", "not in a variable"],
      ["no context", "compact(m,t)", "compact(m)", "not in a variable"],
      ["a constant", "let m=", "const m=", "cannot be replaced"],
      ["another context", "t.abortController", "0", "subagents"],
      ["no micro-compaction", "m=r.messages", "0", "own shortening"],
      ["something else that is sent", "api({messages:m})", "api({messages:a})", "not what is sent"],
      ["no summary", "tasked with summarizing", "tasked", "what a compaction sends"],
      ["two summaries", "[...a.slice(0),q]", "[...a,q],more:[...a,q]", "what a compaction sends"],
    ])("is not found in a bundle with %s", (_, from, to, why) => {
      // Elsewhere, the loop uses it, too.
      const text =
        why === "not what is sent" ? bundle([from, to], ["messages:m}", "messages:a}"]) : bundle([from, to])
      expect(findPlace(text)).toEqual({ why: expect.stringContaining(why) })
      expect(patchedText(text, BINARY)).toEqual({ why: expect.any(String) })
    })

    test("is not found in a bundle that was cut off anywhere", () => {
      const text = bundle()
      const end = text.indexOf("if(process.argv")
      for (let length = 0; length < end; length += 7)
        expect(findPlace(text.slice(0, length))).toHaveProperty("why")
    })
  })

  describe("a patched bundle", () => {
    test("is the bundle with some text of ours, and valid", () => {
      const text = bundle()
      const { text: after, insertions } = patched(text)
      expect(() => new Bun.Transpiler({ loader: "js" }).scan(after)).not.toThrow()
      const without = insertions.reduceRight((left, one) => {
        const at = left.lastIndexOf(one.text)
        return left.slice(0, at) + left.slice(at + one.text.length)
      }, after)
      expect(without).toBe(text)
      expect(after).toContain("m=await _aggressiveTextPrune(m,t);")
      expect(after).toContain("_ctxbridgeSummarised(a.slice(0))")
      expect(after).toContain(JSON.stringify(BINARY))
      expect(after).toContain("session = sid()")
    })

    test("is not patched again, by us or after another tool", () => {
      expect(patchIn(bundle())).toBeUndefined()
      const { text } = patched(bundle())
      expect(patchIn(text)).toBe("ours")
      expect(patchedText(text, BINARY)).toEqual({ why: "it is patched already" })
      const foreign = bundle(["let{compact", "m=_aggressiveTextPrune(m);let{compact"])
      expect(patchIn(foreign)).toBe("another")
      expect(patchedText(foreign, BINARY)).toEqual({ why: "it is patched already" })
    })

    test("is shown by what is inserted", () => {
      const text = bundle()
      const lines = insertionDiff(text, patched(text).insertions)
      expect(lines.filter((line) => line.startsWith("@@"))).toHaveLength(4)
      expect(lines).toContain("+/*ctxbridge:prune*/m=await _aggressiveTextPrune(m,t);/*ctxbridge:prune:end*/")
      expect(lines.find((line) => line.includes("…let{compactionResult:c}"))).toBeDefined()
    })
  })

  test("what kind of program a file is", () => {
    const kind = (text: string, file = "/bin/claude") => {
      const found = programKind(file, Buffer.from(text, "latin1"))
      return "format" in found ? found.format : "runner" in found ? found.runner : found.kind
    }
    expect(kind("\x7fELF\x02\x01")).toBe("ELF")
    expect(kind("\xcf\xfa\xed\xfe")).toBe("Mach-O")
    expect(kind("\xca\xfe\xba\xbe")).toBe("Mach-O")
    expect(kind("MZ\x90\0")).toBe("PE")
    expect(kind("#!/usr/bin/env node\nx")).toBe("node")
    expect(kind("#!/usr/bin/env -S bun run\nx")).toBe("bun")
    expect(kind("#!/bin/sh\nexec node x")).toBe("script")
    expect(kind("import x", "/a/cli.js")).toBe("node")
    expect(kind("import x", "/a/cli")).toBe("unknown")
    expect(kind("a\0b", "/a/cli.js")).toBe("unknown")
    expect(kind("", "/a/cli.js")).toBe("node")
  })
})

/** What the inserted function asks, when, and what it does with the answer. */
describe("inserted", () => {
  const MARK = "[earlier context pruned]"
  const LONG = "and so on, ".repeat(40)
  const OPTIONS = { keep: 1, threshold: 0, step: 0, maxChars: 12, results: false } as const

  const text = (words: string): OwnBlock => ({ type: "text", text: words })
  let count = 0
  const own = (type: string, content: string | OwnBlock[], flags = {}): OwnMessage => ({
    type,
    uuid: `u${count++}`,
    ...flags,
    message: { content },
  })

  /** Everything is held. */
  function patched(env: Record<string, string> = {}, options: Parameters<typeof answerPatch>[2] = OPTIONS) {
    const questions: PatchQuestion[] = []
    const functions = inserted((question) => {
      questions.push(JSON.parse(question))
      return JSON.stringify(
        answerPatch(questions.at(-1)!, { refresh() {}, handleOf: () => "ctx:ab12" }, options),
      )
    }, env)
    return { ...functions, questions }
  }

  const textsOf = (messages: readonly OwnMessage[]) =>
    messages.map(({ message }) => {
      const content = message?.content ?? ""
      return typeof content === "string"
        ? content
        : content.map((block) => block["text"] ?? block.type).join("|")
    })

  const TALK = (): OwnMessage[] => [
    own("user", `Make it so\n${LONG}`),
    own("assistant", [{ type: "thinking", thinking: "hm", signature: "s" }]),
    own("assistant", [text(`I will. ${LONG}`)]),
    own("assistant", [{ type: "tool_use", id: "t1", name: "Bash", input: { command: LONG } }]),
    own("user", [{ type: "tool_result", tool_use_id: "t1", content: LONG }]),
    own("assistant", [text("Done.")]),
  ]

  describe("what is left out", () => {
    test("old texts end in the mark, thinking goes, and all else is the same object", async () => {
      const before = [...TALK(), own("user", LONG)]
      const after = await patched().prune(before, {})
      expect(textsOf(after)).toEqual([
        `Make it so\nctx:ab12 ${MARK}`,
        `I will. and\nctx:ab12 ${MARK}`,
        "tool_use",
        "tool_result",
        "Done.",
        LONG,
      ])
      expect(after.slice(2)).toEqual(before.slice(3))
      for (const message of after.slice(2)) expect(before).toContain(message)
    })

    test("never what Claude Code says by itself, images, or half of a character", async () => {
      const image = { type: "image", source: { type: "base64", data: "A".repeat(5000) } }
      const before = [
        own("user", LONG, { isMeta: true }),
        own("user", LONG, { isCompactSummary: true, isVisibleInTranscriptOnly: true }),
        own("user", [text(`${"a".repeat(11)}🗜🗜${LONG}`), image]),
        own("assistant", LONG, { isApiErrorMessage: true }),
        { type: "attachment", uuid: "a1", attachment: LONG },
        own("assistant", [text(`<system-reminder>${LONG}</system-reminder>`)]),
        own("user", [text(`<system-reminder>${LONG}</system-reminder>`)]),
        own("assistant", [text("Yes.")]),
        own("user", "Now?"),
      ]
      const { prune, questions } = patched()
      const after = await prune(before, {})
      const same = after.map((message, n) => message === before[n])
      expect(same).toEqual([true, true, false, true, true, false, true, true, true])
      expect(textsOf(after)[2]).toBe(`${"a".repeat(11)}\nctx:ab12 ${MARK}|image`)
      // What it is not asked about is not handed out either.
      expect(JSON.stringify(questions)).not.toContain("AAAA")
    })

    test("stays out while tools are at work, in forks, and in a summary, and comes back if the user goes back", async () => {
      const { prune, applied, questions } = patched()
      const stored = [...TALK(), own("user", "Next?")]
      const first = await prune(stored, {})
      const answer = own("assistant", [{ type: "tool_use", id: "t2", name: "Bash", input: {} }])
      const output = own("user", [{ type: "tool_result", tool_use_id: "t2", content: "out" }])
      expect(await prune([...stored, answer, output], {})).toEqual([...first, answer, output])
      expect(await prune([...first, answer, output], {})).toEqual([...first, answer, output])
      expect(await prune([...stored, own("user", "Title?")], { agentId: "a1" })).toHaveLength(
        first.length + 1,
      )
      expect(applied(stored)).toEqual(first)
      expect(questions).toHaveLength(1)
      const back = stored.slice(0, -1)
      expect(applied(back)).toBe(back)
    })
  })

  describe("what is summarised", () => {
    test("is what was sent last", async () => {
      const { prune, summarised } = patched()
      const stored = [...TALK(), own("user", "Next?")]
      const sent = await prune(stored, {})
      expect(summarised(stored)).toEqual(sent)
      const thought = own("assistant", [{ type: "thinking", thinking: "so", signature: "s" }])
      expect(summarised([...stored, thought])).toEqual([...sent, thought])
    })

    test("has no thoughts of a session that was resumed, whoever summarises", async () => {
      const stored = TALK()
      expect(patched().summarised(stored)).toEqual(stored.toSpliced(1, 1))
      const request = own("user", "Summarise.")
      const { prune, summarised } = patched()
      expect(await prune([...stored, request], { agentId: "a1" })).toEqual([
        ...stored.toSpliced(1, 1),
        request,
      ])
      await prune([own("user", "first")], {})
      expect(summarised(stored)).toBe(stored)

      let session = "a"
      const other = inserted(
        () => "{}",
        {},
        () => session,
      )
      await other.prune([own("user", "first")], {})
      session = "b"
      expect(other.summarised(stored)).toEqual(stored.toSpliced(1, 1))
      await other.prune([own("user", "first")], {})
      expect(other.summarised(stored)).toBe(stored)
      expect(patched({ CLAUDE_TEXT_PRUNE_DISABLE: "1" }).summarised(stored)).toBe(stored)
    })
  })

  describe("nobody is asked", () => {
    const cases: [string, OwnMessage[], object][] = [
      ["at the first prompt", [own("user", LONG)], {}],
      ["while tools are at work", TALK().slice(0, 5), {}],
      ["after an answer", TALK(), {}],
    ]
    test.each(cases)("%s", async (_, messages, context) => {
      const { prune, questions } = patched()
      expect(await prune(messages, context)).toBe(messages)
      expect(questions).toEqual([])
    })

    test("by a subagent, nor by what asks on the side", async () => {
      const { prune, questions } = patched()
      const messages = [...TALK(), own("user", LONG)]
      await prune([own("user", "first")], {})
      expect(await prune(messages, { agentId: "a1" })).toBe(messages)
      expect(questions).toEqual([])
    })

    test("if it is switched off", async () => {
      const { prune, applied, questions } = patched({ CLAUDE_TEXT_PRUNE_DISABLE: "1" })
      const messages = [...TALK(), own("user", LONG)]
      expect(await prune(messages, {})).toBe(messages)
      expect(applied(messages)).toBe(messages)
      expect(questions).toEqual([])
    })

    test("before so much more was said as was answered, unless the conversation is another", async () => {
      const { prune, questions } = patched({}, { ...OPTIONS, threshold: 3000 })
      const stored = TALK()
      const prompt = async (words: string) => {
        stored.push(own("user", words))
        await prune([...stored], {})
        stored.push(own("assistant", [text("Yes.")]))
        return questions.length
      }
      expect(await prompt("first")).toBe(1)
      expect(await prompt("second")).toBe(1)
      expect(await prompt(LONG)).toBe(1)
      stored.push(own("user", LONG.repeat(8)), own("assistant", [text("Yes.")]))
      expect(await prompt("third")).toBe(2)
      stored.splice(0, stored.length, ...TALK())
      expect(await prompt("anew")).toBe(3)
    })

    test("twice at the same prompt, whatever was answered", async () => {
      let asked = 0
      const { prune } = inserted(() => {
        asked++
        throw new Error("it is gone")
      })
      const messages = [...TALK(), own("user", LONG)]
      expect(await prune(messages, {})).toBe(messages)
      expect(await prune(messages, {})).toBe(messages)
      expect(asked).toBe(1)
    })
  })

  test.each([
    "",
    "{",
    "null",
    "[]",
    '{"cut":{}}',
    '{"wait":0,"cut":{"prompt":0,"whole":0},"edits":[{"message":99}]}',
  ])("an answer that is none (%s) changes nothing", async (answer) => {
    const { prune } = inserted(() => answer)
    const messages = [...TALK(), own("user", LONG)]
    expect(await prune(messages, {})).toBe(messages)
  })

  test("messages of a shape that is not known are sent as they are", async () => {
    const { prune } = patched()
    for (const odd of [
      null,
      7,
      { type: "user" },
      { type: "user", uuid: "x", message: { content: 7 } },
      { type: "assistant", message: { content: [null] } },
    ]) {
      const messages = [...TALK(), odd as unknown as OwnMessage, own("user", LONG)]
      const after = await prune(messages, {})
      expect(after.length).toBeGreaterThanOrEqual(messages.length - 1)
      expect(after).toContain(odd as unknown as OwnMessage)
    }
  })
})
