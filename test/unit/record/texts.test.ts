import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import {
  type Foreign,
  messageOrigin,
  originsOf,
  withoutForgedWords,
  withoutPlan,
} from "../../../src/agents/origin.ts"
import { contextsIn, outcomeIn } from "../../../src/claude/context-arrived.ts"
import { NOTICE_TAGS, queuedTextParts, userTextParts } from "../../../src/claude/user-text.ts"
import { atLeast } from "../../../src/claude/versions.ts"
import { textFinder } from "../../../src/record/find-text.ts"
import { checkedSummary, SUMMARY_TYPE, summaryLineOf } from "../../../src/record/model-summary.ts"
import { constraintsIn } from "../../../src/record/noted-sentences.ts"
import { unfiltered } from "../../../src/record/script-essence.ts"
import type { Part } from "../../../src/record/types.ts"

describe("a script without what only changes what is shown", () => {
  test.each([
    ["go test ./... 2>&1 | tail -20", "go test ./..."],
    ["go test ./... 2>&1 | grep -A 30 '^--- FAIL' | head", "go test ./..."],
    ["go test ./... > /tmp/out.log 2>&1", "go test ./..."],
    ["go test ./...  |& tee out.log |  wc -l", "go test ./..."],
    ["go test ./... || true", "go test ./..."],
    ['echo "=== tests ==="; go test ./... 2>/dev/null | tail -3; echo $?', "go test ./..."],
    ["cd shop && go test ./... | tail -3", "cd shop && go test ./..."],
    ["go vet ./... | head; go test ./... | tail", "go vet ./... ; go test ./..."],
    ["sed -n '1,5p' a.txt | head -3", "sed -n '1,5p' a.txt"],
  ])("%p", (script, essence) => {
    expect(unfiltered(script)).toBe(essence)
  })

  test.each([
    "find . -name '*.log' | xargs rm",
    "tail -20 server.log",
    "psql shop < basket.sql",
    "grep 'a > b' notes.txt",
    "cat <<'EOF' | tail",
    "echo $(git log | head -1) one",
    "true",
    "git log | grep 'x",
    // A script of two lines, folded into one.
    "go test ./... | tail -5 go vet ./...",
    "echo start go test ./...",
  ])("%p stays as it is", (script) => {
    expect(unfiltered(script)).toBe(script)
  })
})

/** Where a text stands in a line. */
describe("find text", () => {
  /** Of U+FFFD, which takes three bytes, one was filled: the rest stayed, and the line was no UTF-8 any more. */
  test("U+FFFD is found with all its bytes, and a byte that is no character with its one", () => {
    const written = Buffer.from(JSON.stringify({ a: "a walrus \ufffd here" }))
    const from = written.indexOf("walrus")
    expect(textFinder("walrus \ufffd")(written)).toEqual([[from, from + 10]])
    const stray = Buffer.from([...written.subarray(0, from + 7), 0x82, ...Buffer.from(' here"}')])
    expect(textFinder("walrus \ufffd")(stray)).toEqual([[from, from + 8]])
    const cut = Buffer.from([...written.subarray(0, from + 7), 0xef, 0xbf, ...Buffer.from('"}')])
    expect(textFinder("walrus")(cut)).toEqual([[from, from + 6]])
  })
})

/** What of a prompt was typed, as far as its looks tell: rules in pasted text are nobody's rules. */
describe("typed lines", () => {
  const TYPED = "Never touch the kiln."
  /** Contains a rule in every line. */
  const DOCUMENT = Array.from(
    { length: 60 },
    (_, n) => `The door number ${n} must never be left open at night.`,
  )

  describe("only what was typed has rules", () => {
    test.each([
      ["a comment", "// The kiln must not be opened.\nWhy does it say so?"],
      ["a block comment", "  /*\n   * Never open it.\n   */\nIs that right?"],
      ["a page's comment", "<!-- Never open it. -->\nIs that right?"],
      ["a comment after code", "open(door)  // never do this twice\nIs that right?"],
      ["a change", "+       // Always open it first\n-       You must not open it\nIs that right?"],
      ["code", 'throw new Error("you must not open it");\nWhat does it mean?'],
      ["indented text", "    You must always open it first\nWhat does it mean?"],
      ["a log", "2026-01-02 03:04:05 You must always open it first\nWhat does it mean?"],
      ["a level", "WARN: never open the kiln\nWhat does it mean?"],
      ["a package manager", "npm ERR! You must always open it first\nWhat does it mean?"],
      ["a frame", "│ You must always open it first │\nWhat does it mean?"],
      ["a terminal", "$ kiln open\n  9→You must always close it\nWhat does it mean?"],
      ["a value", '"hint": "never open the kiln",\nWhat does it mean?'],
      ["an output", "I got this error:\nYou must always open it first\n\nWhat does it mean?"],
      ["somebody's words", "The reviewer says:\n\nNever open the kiln.\nAlways close it.\n\nIs that right?"],
      ["a comment on a change", "Look at this review comment:\n- Never open the kiln.\n\nIs that right?"],
      [
        "feedback of several paragraphs",
        "I got this feedback:\n\nNever open the kiln.\n\nAlways close it.\n\nIs that right?",
      ],
      ["a document", `Read this\n\n${DOCUMENT.join("\n")}\n\nWhat does it mean?`],
    ])("%s", (_name, text) => {
      expect(constraintsIn(text)).toEqual([])
      // Typed before it, and after it.
      expect(constraintsIn(`${TYPED}\n\n${text}`)).toEqual([TYPED])
      expect(constraintsIn(`${text}\n\n${TYPED}`)).toEqual([TYPED])
    })

    test.each([
      ["/kiln:open keep each door working", ["keep each door working"]],
      ["My rules:\n- Never touch the kiln.", ["Never touch the kiln."]],
      ["Rules for the log output:\n- Never log the keys.", ["Never log the keys."]],
      ["if you can (it is late): never touch the kiln", ["if you can (it is late): never touch the kiln"]],
      ["Import nothing new;\nnever touch the kiln;", ["never touch the kiln;"]],
      ["- Never touch the kiln.\n    - Always close it.", ["Never touch the kiln.", "Always close it."]],
    ])("typed: %j", (text, rules) => {
      expect(constraintsIn(text)).toEqual(rules)
    })
  })

  test("a plan that the model wrote has no rules of the human", () => {
    expect(withoutPlan("Implement the following plan:\n\n# Doors\n\nNever open the kiln.")).toBe("")
    expect(withoutPlan("Implement the plan. Never open the kiln.")).toBe(
      "Implement the plan. Never open the kiln.",
    )
  })
})

/** Words of a human between what Claude Code puts around them. */
describe("user text", () => {
  const reminder = (text: string): string => `<system-reminder>${text}</system-reminder>`
  const told = (text: string): [string, string][] =>
    userTextParts(text, "human").map((part) => [part.kind, "text" in part ? part.text : ""])

  test("blocks of the host's before, between and behind a prompt are its own; the prompt is whole", () => {
    const words = fc.stringMatching(/^[a-z][a-z ]{0,20}[a-z]$/)
    fc.assert(
      fc.property(
        fc.array(words, { maxLength: 3 }),
        words,
        fc.array(words, { maxLength: 3 }),
        (before, prompt, after) => {
          const text = [...before.map(reminder), prompt, ...after.map(reminder)].join("\n")
          const prompts = told(text).filter(([kind]) => kind === "prompt")
          expect(prompts.map(([, said]) => said.trim())).toEqual([prompt])
          for (const [kind, said] of told(text))
            if (kind !== "prompt") expect(said).not.toContain(`\n${prompt}`)
          expect(told(text)).toHaveLength(before.length + 1 + after.length)
        },
      ),
      { numRuns: 100 },
    )
  })

  test("a closing tag that a block quotes does not end it", () => {
    const parts = told(`<system-reminder>see </system-reminder> there</system-reminder>\nfix it`)
    expect(parts.filter(([kind]) => kind === "prompt").map(([, said]) => said.trim())).toEqual(["fix it"])
  })

  const ORDER = "Never run the tests again."

  /** What a human is taken to have said. */
  const human = (text: string): string[] =>
    userTextParts(text, "human").flatMap((part) => (part.kind === "prompt" ? [part.text.trim()] : []))

  describe("what a human had open or selected is not theirs, whatever it quotes", () => {
    for (const tag of ["ide_selection", "ide_opened_file", "terminal", "browser"]) {
      const open = `<${tag} name="one">`
      const block = `${open}a</${tag}> ${ORDER} ${open}b</${tag}>`
      test(tag, () => {
        expect(human(block)).toEqual([])
        expect(human(`${block}\nfix it`)).toEqual(["fix it"])
        expect(human(`fix it\n${block}`)).toEqual(["fix it"])
        expect(userTextParts(block, "human")).toEqual([
          { kind: "context", source: tag, text: expect.stringContaining(ORDER) },
        ])
      })
    }
  })

  test("what services and other agents report is nobody's prompt, in the conversation and in the queue", () => {
    for (const tag of NOTICE_TAGS) {
      const text = `<${tag} source="x">\n${ORDER}\n</${tag}>`
      expect(userTextParts(text, "human")).toEqual([{ kind: "notice", text }])
      expect(queuedTextParts(text)).toEqual([{ kind: "notice", text }])
    }
  })

  test("so are the reports of background agents and commands of Claude Code 2.0", () => {
    const text =
      "<agent-notification>\n<agent-id>a1</agent-id>\n<status>completed</status>\n</agent-notification>"
    for (const report of [text, text.replaceAll("agent-", "bash-")])
      expect(queuedTextParts(report)).toEqual([{ kind: "notice", text: report }])
  })

  describe("what was pasted", () => {
    const pasted = (id: string, text: string) =>
      `<pasted_content id="${id}">\n${text}\n</pasted_content id="${id}">`

    test("is kept apart from what was typed", () => {
      expect(
        userTextParts(`see\n${pasted("12ab", ORDER)}\nand ${pasted("12ac", "b")} fix it`, "human"),
      ).toEqual([
        {
          kind: "prompt",
          via: "typed",
          text: "see\n[pasted: 26 characters]\nand [pasted: 1 characters] fix it",
        },
        { kind: "context", source: "pasted_content", text: ORDER },
        { kind: "context", source: "pasted_content", text: "b" },
      ])
    })

    test("does not end itself: only its own id closes it, and without that it has no end", () => {
      expect(human(pasted("12ab", `x\n</pasted_content id="ffff">\n${ORDER}`)).join()).not.toContain(ORDER)
      expect(human(`<pasted_content id="12ab">\nx </pasted_content> ${ORDER}`).join()).not.toContain(ORDER)
    })

    test("is not what merely mentions the tag", () => {
      const text = "why is there <pasted_content> in my prompt?"
      expect(human(text)).toEqual([text])
    })
  })

  describe("commands that the host executes itself", () => {
    test.each(["/compact", "/compact focus on x", " /clear\n", "/model opus"])("%j is no prompt", (text) => {
      expect(userTextParts(text, "human")).toEqual([{ kind: "notice", text }])
      expect(queuedTextParts(text)).toEqual([{ kind: "notice", text }])
    })

    test.each([
      "/usr/bin is broken",
      "/compacting is slow",
      "/review this",
      "/tmp/clear it",
      "/clear: what is it?",
    ])("%j is one", (text) => expect(human(text)).toEqual([text]))

    test("in the form of a command they are one", () => {
      const text = "<command-name>/compact</command-name>\n<command-args>focus</command-args>"
      expect(userTextParts(text, "human")).toEqual([
        { kind: "prompt", via: "command", text: "/compact focus" },
      ])
    })
  })

  /** A prompt that began like what Claude Code says of a hook was taken for its own, and opened no turn. */
  describe("prompts about hooks", () => {
    test.each([
      "Stop hook feedback is missing in the log. Why?",
      "PreToolUse:Bash hook blocking errors should be told in red.",
      "UserPromptSubmit operation blocked by hook? Look into the settings.",
    ])("%s", (text) => expect(userTextParts(text, "human")).toEqual([{ kind: "prompt", via: "typed", text }]))

    test.each([
      "Stop hook feedback:\n[lint]: 2 errors",
      'PreToolUse:Bash hook blocking error from command: "lint": 2 errors',
      "Stop hook blocking error: 2 errors",
      "UserPromptSubmit operation blocked by hook:\n2 errors",
    ])("not: %j", (text) => expect(userTextParts(text, "human")).toEqual([{ kind: "notice", text }]))
  })
})

/** What is taken of a model's answer, and of a line that another machine has sent. */
describe("model summary", () => {
  const known = {
    hasTurn: (handle: string) => handle === "ctx:ab12cd",
    hasFile: (path: string) => path === "src/a.ts",
  }

  const answer = (observation: object) => ({
    summary: { request: "Retries", learned: 7 },
    observations: [{ type: "decision", title: "T", turns: ["ctx:ab12cd"], ...observation }],
  })

  test("an observation needs one of the six types, a title and a turn of the session", () => {
    const kept = (observation: object) => checkedSummary(answer(observation), known)?.observations
    expect(kept({})).toEqual([
      { type: "decision", title: "T", narrative: "", facts: [], files: [], turns: ["ctx:ab12cd"] },
    ])
    for (const no of [
      { type: "rumour" },
      { title: " " },
      { turns: [] },
      { turns: "ctx:ab12cd" },
      { turns: ["ctx:zz"] },
    ])
      expect(kept(no)).toEqual([])
    expect(kept({ files: ["src/a.ts", "/etc/passwd"], facts: ["one", 2, ""] })).toMatchObject([
      { files: ["src/a.ts"], facts: ["one"] },
    ])
  })

  test("a summary needs what was asked or what was done", () => {
    expect(checkedSummary(answer({}), known)?.summary).toEqual({
      ...{ request: "Retries", investigated: "", learned: "", completed: "", next: "" },
    })
    for (const no of [undefined, [], "text", {}, { summary: { next: "x" } }, { observations: [] }])
      expect(checkedSummary(no, known)).toBeUndefined()
  })

  test("any answer, and any line, is bounded or refused, never an error", () => {
    const text = fc.oneof(fc.string(), fc.string({ minLength: 2000, maxLength: 3000 }))
    const any = fc.oneof(fc.anything(), text, fc.array(text, { maxLength: 10 }))
    const observation = fc.record({
      type: fc.constant("change"),
      title: any,
      narrative: any,
      facts: any,
      turns: any,
    })
    const document = fc.record({
      summary: fc.record({ request: any, next: any }),
      observations: fc.array(observation),
    })
    fc.assert(
      fc.property(fc.oneof(any, document), (value) => {
        const all = { hasTurn: () => true, hasFile: () => true }
        const kept = checkedSummary(value, all)
        expect(JSON.stringify(kept ?? null).length).toBeLessThan(12 * 10_000)
        expect(kept?.observations.length ?? 0).toBeLessThanOrEqual(12)
        expect(
          summaryLineOf(JSON.stringify({ type: SUMMARY_TYPE, ...(value as object) }) ?? ""),
        ).toBeUndefined()
        expect(summaryLineOf(String(JSON.stringify(value)))).toBeUndefined()
      }),
      { numRuns: 30 },
    )
  })
})

/** Whose words a part is: what the model is told of them, and whether they come back as prose, hangs on it. */
describe("origin", () => {
  const TOOLS: Readonly<Record<string, string>> = {
    a: "Bash",
    b: "WebFetch",
    c: "Task",
    d: "mcp__browser__open",
    e: "mcp__notes__read",
  }
  const toolName = (id: string): string | undefined => TOOLS[id]
  const origins = (parts: readonly Part[], around: { foreign?: Foreign; subagent?: boolean } = {}) =>
    originsOf(parts, { foreign: undefined, subagent: false, toolName, ...around })

  const prompt: Part = { kind: "prompt", text: "go on", via: "typed" }
  const text: Part = { kind: "text", text: "done" }
  const media: Part = { kind: "media", mediaType: "image/png", base64Length: 8 }
  const result = (id: string): Part => ({ kind: "toolResult", id, text: "ok", isError: false })

  test("a result is its tool's: a stranger's page, a subagent's answer, or an output", () => {
    expect(origins(["a", "b", "c", "d", "e", "unknown"].map(result))).toEqual([
      "tool",
      "web",
      "subagent",
      "web",
      "tool",
      "tool",
    ])
  })

  test("a picture is the human's beside a prompt, and the tool's beside a result", () => {
    expect(origins([prompt, media])).toEqual(["human", "human"])
    expect(origins([result("a"), media])).toEqual(["tool", "tool"])
  })

  test("in a subagent's transcript nobody is human; of another tool's archive everything is imported", () => {
    expect(origins([prompt, text, media], { subagent: true })).toEqual(["assistant", "subagent", "subagent"])
    expect(origins([prompt, text, result("b")], { foreign: "import" })).toEqual([
      "import",
      "import",
      "import",
    ])
  })

  test("a message is known by whom it has words of, the host's last", () => {
    expect(messageOrigin(["host", "web", "human"])).toBe("web")
    expect(messageOrigin(["host"])).toBe("host")
    expect(messageOrigin([])).toBe("host")
  })

  test("a reason in a refusal's text is a human's only where nothing else can have written it", () => {
    const reason: Part = { kind: "prompt", text: "Never push.", via: "typed", within: "a" }
    const kinds = (tool: string | undefined, version: string | undefined) =>
      withoutForgedWords([reason], () => tool, version).map(({ kind }) => kind)
    expect(kinds("Edit", "1.0.98")).toEqual(["prompt"])
    expect(kinds("Bash", "2.1.31")).toEqual(["prompt"])
    // There, a failed command's output stands alone, and may begin like a refusal.
    for (const version of ["1.0.98", "2.0.5", undefined]) expect(kinds("Bash", version)).toEqual(["notice"])
    for (const tool of ["mcp__x__y", "WebFetch", undefined]) expect(kinds(tool, "2.1.31")).toEqual(["notice"])
  })
})

/**
 * Whether a restore has arrived, from the lines that Claude Code writes behind it, in the orders in which it writes
 * them.
 */
describe("delivery", () => {
  const GIVEN = Date.parse("2026-05-01T10:00:00.000Z")
  const RESTORE = '<ctxbridge-restore source="compact" session="s">\nQuoted.\n</ctxbridge-restore>'
  const COMMAND = "BUN_OPTIONS= BUN_BE_BUN= /home/dev/bin/ctxbridge hook session-start"

  type Fields = Record<string, unknown>

  /** A line of Claude Code's, `seconds` after the restore was given. */
  const at = (seconds: number, fields: Fields): Fields => ({
    version: "2.1.112",
    timestamp: new Date(GIVEN + seconds * 1000).toISOString(),
    isSidechain: false,
    ...fields,
  })
  const attachment = (seconds: number, fields: Fields, more: Fields = {}): Fields =>
    at(seconds, { type: "attachment", attachment: { hookEvent: "SessionStart", ...fields }, ...more })
  const arrived = (text: unknown = [RESTORE]): Fields =>
    attachment(1, { type: "hook_additional_context", content: text })
  const boundary = at(1, { type: "system", subtype: "compact_boundary" })
  const summary = at(1, { type: "user", isCompactSummary: true, message: { content: "Summed up." } })
  const prompt = at(4, { type: "user", message: { content: "go on" } })
  const answer = at(5, { type: "assistant", message: { content: [{ type: "text", text: "done" }] } })
  const end = at(6, { type: "system", subtype: "stop_hook_summary" })
  const interrupt = at(6, {
    type: "user",
    message: { content: [{ type: "text", text: "[Request interrupted by user]" }] },
  })
  /** What Claude Code writes of `/compact` among the lines of the compaction, some of it later than our hook. */
  const commandLines = [
    at(0, {
      type: "user",
      isMeta: true,
      message: { content: "Caveat: The messages below were generated by the user." },
    }),
    at(0, { type: "user", message: { content: "<command-name>/compact</command-name>" } }),
    at(2, { type: "user", message: { content: "<local-command-stdout>Compacted</local-command-stdout>" } }),
  ]
  const cancelled = attachment(1, { type: "hook_cancelled", command: COMMAND, durationMs: 2000 })

  const outcome = (...lines: Fields[]): string =>
    outcomeIn(Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join("")), GIVEN)

  test("arrived: the host has put it into the conversation, wherever the line stands", () => {
    expect(outcome(boundary, summary, arrived())).toBe("arrived")
    expect(outcome(boundary, summary, arrived(RESTORE), prompt, answer, end)).toBe("arrived")
    // An automatic compaction in a terminal: the answer is written first.
    expect(outcome(boundary, answer, summary, arrived(), end)).toBe("arrived")
    expect(outcome(boundary, summary, cancelled, arrived())).toBe("arrived")
  })

  test("lost: the host has stopped our hook, or refused its answer", () => {
    expect(outcome(boundary, summary, cancelled)).toBe("lost")
    const refused = attachment(1, { type: "hook_non_blocking_error", command: COMMAND, exitCode: 1 })
    expect(outcome(boundary, summary, refused, prompt)).toBe("lost")
  })

  test("lost: a whole turn stands behind it", () => {
    // After /clear there is no summary.
    expect(outcome(prompt, answer, end)).toBe("lost")
    expect(outcome(boundary, summary, prompt, answer, end)).toBe("lost")
    expect(outcome(boundary, answer, summary, end, prompt)).toBe("lost")
  })

  test("lost: more was said behind the lines of the compaction, whether that turn has ended or not", () => {
    expect(outcome(boundary, summary, prompt)).toBe("lost")
    expect(outcome(boundary, summary, ...commandLines, prompt)).toBe("lost")
    expect(outcome(boundary, summary, answer)).toBe("lost")
    expect(outcome(boundary, answer, summary, prompt)).toBe("lost")
    expect(outcome(boundary, summary, interrupt)).toBe("lost")
  })

  test("lost: an answer counts whatever it quotes", () => {
    const message = { content: [{ type: "text", text: "<command-name> is what the host writes" }] }
    expect(outcome(boundary, summary, at(4, { type: "assistant", message }))).toBe("lost")
  })

  test("lost: more was said behind a turn that was stopped", () => {
    expect(outcome(prompt, answer, interrupt)).toBe("open")
    expect(outcome(prompt, interrupt, ...commandLines)).toBe("open")
    expect(outcome(prompt, interrupt, prompt)).toBe("lost")
    const early = { ...interrupt, timestamp: at(-9, {})["timestamp"] }
    expect(outcome(early, prompt)).toBe("open")
  })

  test("open: the lines that would tell may still come", () => {
    expect(outcome()).toBe("open")
    expect(outcome(boundary, summary)).toBe("open")
    expect(outcome(prompt, answer)).toBe("open")
    expect(outcome(boundary, summary, ...commandLines)).toBe("open")
    // The terminal again: what the hook gave stands behind the answer.
    expect(outcome(boundary, answer)).toBe("open")
    expect(outcome(boundary, answer, summary)).toBe("open")
    // Half a line is none.
    const half = JSON.stringify(end).slice(0, -5)
    const text = `${[prompt, answer].map((line) => JSON.stringify(line)).join("\n")}\n${half}`
    expect(outcomeIn(Buffer.from(text), GIVEN)).toBe("open")
  })

  test("open: another hook's failure, kept messages, subagents and former turns say nothing", () => {
    const others = attachment(1, { type: "hook_cancelled", command: "npx other-plugin" })
    const early = at(-60, { type: "assistant", message: { content: [] } })
    const earlyEnd = at(-59, { type: "system", subtype: "stop_hook_summary" })
    const agent = { isSidechain: true }
    expect(outcome(boundary, summary, others)).toBe("open")
    expect(outcome(boundary, early, earlyEnd, summary)).toBe("open")
    expect(outcome(boundary, { ...answer, ...agent }, { ...end, ...agent })).toBe("open")
    expect(outcome({ ...cancelled, timestamp: at(-60, {})["timestamp"] })).toBe("open")
    expect(outcome(boundary, summary, early)).toBe("open")
    expect(outcome(boundary, summary, { ...prompt, ...agent }, { ...answer, ...agent })).toBe("open")
    // Our own hook, of which Claude Code says that all went well.
    const ran = attachment(1, { type: "hook_success", command: COMMAND })
    expect(outcome(boundary, summary, ran)).toBe("open")
    // Other lines of Claude Code's that name the end of a turn, and that of a subagent.
    const named = { ...end, subtype: "informational", content: '"stop_hook_summary"' }
    expect(outcome(prompt, answer, named)).toBe("open")
    expect(outcome(prompt, answer, { ...end, ...agent })).toBe("open")
    expect(outcome(prompt, { ...answer, ...agent }, end)).toBe("open")
    // The end of the turn before, and an answer of this one.
    expect(outcome(earlyEnd, prompt, answer)).toBe("open")
  })

  test("unknown: hosts that were not seen to tell what their hooks gave", () => {
    const old = { version: "2.0.76" }
    expect(outcome(boundary, summary, prompt, { ...answer, ...old }, end)).toBe("unknown")
    expect(outcome({ ...cancelled, version: "2.1.80" })).toBe("unknown")
    expect(outcome(prompt, { ...answer, version: undefined }, end)).toBe("unknown")
  })

  test("only the host's own line counts, not the same words in a prompt or an output", () => {
    const quoted = at(4, { type: "user", message: { content: RESTORE } })
    const output = { type: "tool_result", content: JSON.stringify(arrived()) }
    const told = at(4, { type: "user", message: { content: [output] } })
    const ran = attachment(1, { type: "hook_success", stdout: JSON.stringify({ a: RESTORE }) })
    expect(outcome(quoted, told, ran)).toBe("open")
    expect(outcome(quoted, told, ran, answer, end)).toBe("lost")
    const summed = at(4, { type: "user", message: { content: JSON.stringify(summary) } })
    expect(outcome(summed, prompt, answer)).toBe("open")
    expect([quoted, told, ran].flatMap(contextsIn)).toEqual([])
    expect(contextsIn(arrived(["of another hook", RESTORE]))).toEqual([RESTORE])
  })

  test("versions", () => {
    const least = [2, 1, 112] as const
    const known = ["2.1.112", "2.1.113", "2.2.0", "3.0.0", "2.1.330"]
    for (const version of known) expect([version, atLeast(version, least)]).toEqual([version, true])
    for (const version of ["2.1.111", "2.0.999", "1.9.200", "2.1", "next", undefined])
      expect([version, atLeast(version, least)]).toEqual([version, false])
  })
})
