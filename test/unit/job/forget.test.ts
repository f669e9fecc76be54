import { describe, expect, test } from "bun:test"
import { appendFileSync, rmSync, utimesSync } from "node:fs"
import fc from "fast-check"
import { carriedFinder, findText, type Names } from "../../../src/job/forget-text.ts"
import { redactRestores } from "../../../src/job/redact-archive.ts"
import { textFinder } from "../../../src/record/find-text.ts"
import { vaultFile } from "../../../src/vault/layout.ts"
import { fillSpans } from "../../../src/vault/tombstone.ts"
import { claimGiven, keepGiven } from "../../../src/views/queries/restores.ts"
import { eraseTraces } from "../../../src/views/session-traces.ts"
import type { Source } from "../../../src/views/view-sources.ts"
import { Archive } from "../../support/archive.ts"
import { Inside, run } from "../../support/inside.ts"
import { contentOf } from "../../support/machine.ts"
import { filesWith } from "../../support/traces.ts"

/** Forgetting a text. */
describe("forget match", () => {
  /**
   * The end of a session whose last line was cut off is archived as it is; when Claude Code completes that line, it
   * stands in two frames. A text is to be taken out of each of them.
   */
  describe("a line that stands in two frames", () => {
    const WORD = "xylophone-4711"

    test.each([
      ["before the cut", 0.9],
      ["behind it", 0.1],
      ["across it", 0.5],
    ])("a text that stands %s is forgotten, and stays away", async (_name, share) => {
      using machine = new Inside()
      const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
      const session = machine.session().turn("hello").flush()
      const prompt = `${"words before it, ".repeat(20)}${WORD}${", words behind it".repeat(20)}`
      const line = `${JSON.stringify({
        type: "user",
        sessionId: session.session,
        uuid: "aaaaaaaa-0000-4000-8000-000000000001",
        cwd: machine.cwd,
        message: { role: "user", content: prompt },
      })}\n`
      const at = line.indexOf(WORD)
      const cut = share === 0.5 ? at + 5 : share > 0.5 ? at + WORD.length + 50 : at - 50
      appendFileSync(session.path, line.slice(0, cut))
      const before = new Date(Date.now() - 30 * 86_400_000)
      utimesSync(session.path, before, before)
      expect(await cli("import")).toMatchObject({ code: 0, stderr: "" })
      expect(contentOf(machine.copy(session.path)).toString()).toEndWith(line.slice(0, cut))
      appendFileSync(session.path, line.slice(cut))
      expect(await cli("import")).toMatchObject({ code: 0, stderr: "" })
      expect(contentOf(machine.copy(session.path)).toString()).toEndWith(line)

      expect(await cli("forget", "--match", WORD, "--yes")).toMatchObject({ code: 0, stderr: "" })
      const filled = line.replace(WORD, "*".repeat(WORD.length))
      expect(contentOf(machine.copy(session.path)).toString()).toEndWith(filled)
      expect(filesWith(machine.dataHome, WORD)).toEqual([])
      expect(await cli("import", "--check")).toMatchObject({ code: 0, stderr: "" })
      expect(filesWith(machine.dataHome, WORD)).toEqual([])
      expect(await cli("verify")).toMatchObject({ code: 0, stderr: "" })
    })
  })

  const WORD = "Quillfeather"

  /** `forget --match` did not say that Claude Code's own transcripts still hold the text, as `forget SESSION` does. */
  test("what Claude Code keeps is told, in words that fit the number", async () => {
    using machine = new Inside()
    const there = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
    const [first, second] = [machine.session(), machine.session()]
    first.turn(`${WORD} is the word`).flush()
    second.turn(`${WORD}, too`).flush()
    expect((await there("import")).code).toBe(0)
    const told = async (...args: string[]): Promise<string | undefined> => {
      const { code, stdout, stderr } = await there("forget", ...args, "--dry-run")
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      return stdout.split("\n").find((line) => line.startsWith("Claude Code itself"))
    }
    expect(await told("--match", WORD)).toBe("Claude Code itself still has 2 of these transcripts, unchanged")
    expect(await told(first.session)).toBe(
      "Claude Code itself still has 1 transcript of it; it will not be archived again",
    )
    expect(await told(machine.cwd)).toBe(
      "Claude Code itself still has 2 transcripts of them; they will not be archived again",
    )
    rmSync(first.path)
    expect(await told("--match", WORD)).toBe("Claude Code itself still has 1 of these transcripts, unchanged")
    rmSync(second.path)
    expect(await told("--match", WORD)).toBeUndefined()
  })

  test("a copy that another forget removes meanwhile is no failure", () => {
    using archive = new Archive()
    const { dataHome } = archive
    for (const session of ["one", "two"])
      archive.take(archive.session(session).turn("The kiln is hot.").flush())
    let removed = 0
    const finderFor = ({ copy }: Source) => {
      if (removed++ === 0) rmSync(vaultFile(dataHome, copy))
      return textFinder("kiln")
    }
    expect(findText(dataHome, finderFor, { now: 1 })).toMatchObject({
      copies: [{ session: "two" }],
      failed: [],
    })
    expect(removed).toBe(2)
  })
})

/** What ctxbridge carried of a session is told from what others said, whatever line of Claude Code it is in. */
describe("carried text", () => {
  const SECRET = "5ec2e7aa-0000-4000-8000-000000000001"
  const OTHER = "0dde7aaa-0000-4000-8000-000000000002"
  const NAMES: Names = {
    ids: new Set([SECRET, SECRET.slice(0, 8), "imported:one"]),
    otherIds: ["imported:one"],
    handles: new Set(["abc123", "sha3ed"]),
    shared: new Map([["fork", new Set(["sha3ed"])]]),
    told: new Set(),
  }
  const SENTENCE = "the heron nests behind the observatory"

  /** The lines with what was found filled. */
  function filled(lines: readonly object[], session = OTHER): string[] {
    const finder = carriedFinder(NAMES, { session } as Source)
    return lines.map((line) => {
      const bytes = new TextEncoder().encode(JSON.stringify(line))
      fillSpans(bytes, finder(bytes))
      return new TextDecoder().decode(bytes)
    })
  }

  const isGone = (lines: readonly object[], session?: string): boolean =>
    !filled(lines, session).some((line) => line.includes(SENTENCE))

  const frame = (about: string, session = OTHER): string =>
    `<ctxbridge-restore source="compact" session="${session}">\nQuoted. ${about} "${SENTENCE}"\n</ctxbridge-restore>`
  const hook = (fields: object) => ({
    type: "attachment",
    attachment: { hookEvent: "SessionStart", ...fields },
  })
  const asked = (name: string, input: object) => ({
    type: "assistant",
    message: { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name, input }] },
  })
  const answered = (text: string) => ({
    type: "user",
    message: {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "text", text }] }],
    },
    toolUseResult: [{ type: "text", text }],
  })
  const said = (role: string, text: string) => ({
    type: role,
    message: { role, content: [{ type: "text", text }] },
  })

  describe("goes", () => {
    const told = `- ctx:abc123 ${SENTENCE}`
    test.each([
      [
        "a restore that names a turn",
        [hook({ type: "hook_additional_context", content: [frame("ctx:abc123")] })],
      ],
      ["a restore of the session", [hook({ type: "hook_additional_context", content: [frame("", SECRET)] })]],
      [
        "of a session from another tool",
        [hook({ type: "hook_additional_context", content: [frame("", "imported:one")] })],
      ],
      ["a hook's plain output", [hook({ type: "hook_success", content: told, stdout: told })]],
      ["a restore without an end", [said("user", frame("ctx:abc123").replace("</ctxbridge-restore>", ""))]],
      ["an answer of our tool", [asked("mcp__ctxbridge__search", { query: "x" }), answered(told)]],
      ["through a plugin", [asked("mcp__plugin_x_ctxbridge__search", { query: "x" }), answered(told)]],
      [
        "an answer to a question that names it",
        [asked("mcp__ctxbridge__get", { handle: "ctx:abc123" }), answered(`page 2 ${SENTENCE}`)],
      ],
      [
        "a list with short ids",
        [asked("mcp__ctxbridge__status", {}), answered(`${SECRET.slice(0, 8)} "${SENTENCE}"`)],
      ],
      ["output of our command", [asked("Bash", { command: "cd x; ctxbridge show abc" }), answered(told)]],
    ])("%s", (_, lines) => {
      expect(isGone(lines)).toBe(true)
      const [, ...rest] = filled([...lines, said("user", "next")])
      expect(rest.at(-1)).toContain("next")
    })
  })

  describe("stays", () => {
    test.each([
      ["a restore about others", [hook({ type: "hook_additional_context", content: [frame("ctx:zzz999")] })]],
      ["what a human said", [said("user", `I read ctx:abc123: ${SENTENCE}`)]],
      ["what the model said", [said("assistant", `In ctx:abc123, ${SENTENCE}`)]],
      [
        "an answer of our tool about others",
        [asked("mcp__ctxbridge__search", { query: "x" }), answered(`ctx:zzz999 ${SENTENCE}`)],
      ],
      [
        "output of another command",
        [asked("Bash", { command: "cat notes" }), answered(`ctx:abc123 ${SENTENCE}`)],
      ],
      [
        "an answer of another tool",
        [asked("mcp__other__search", { query: "ctx:abc123" }), answered(`ctx:abc123 ${SENTENCE}`)],
      ],
    ])("%s", (_, lines) => {
      expect(filled(lines)).toEqual(lines.map((line) => JSON.stringify(line)))
    })

    test("what names only turns that a fork has as well", () => {
      const lines = [hook({ type: "hook_additional_context", content: [frame("ctx:sha3ed")] })]
      expect(isGone(lines, "fork")).toBe(false)
      expect(isGone(lines)).toBe(true)
    })
  })

  test("the lines stay JSON of the same length and kind, and nothing is found in them again", () => {
    const text = fc
      .string({ unit: "grapheme", maxLength: 30 })
      .map((some) => `${some} ctx:abc123 ${SENTENCE} ${some}`)
    const line = fc.oneof(
      text.map((one) => hook({ type: "hook_additional_context", content: [frame(one)] })),
      text.map((one) => hook({ type: "hook_success", content: one, stdout: frame(one), exitCode: 0 })),
      text.map(answered),
      fc.constant(asked("mcp__ctxbridge__search", { query: "x" })),
    )
    fc.assert(
      fc.property(fc.array(line, { maxLength: 6 }), (lines) => {
        const all = [asked("mcp__ctxbridge__get", { handle: "ctx:abc123" }), ...lines]
        const after = filled(all)
        for (const [n, json] of after.entries()) {
          expect(json).not.toContain(SENTENCE)
          expect(Buffer.byteLength(json)).toBe(Buffer.byteLength(JSON.stringify(all[n])))
          expect(JSON.parse(json)).toMatchObject({ type: (all[n] as { type: string }).type })
        }
        expect(filled(after.map((json) => JSON.parse(json) as object))).toEqual(after)
      }),
    )
  })
})

/** What was given back is overwritten when a secret is found in it, or when a session is forgotten. */
describe("redact restores", () => {
  const filter = (text: string): string => text.replaceAll("hunter22", "********")

  const texts = (archive: Archive): string[] =>
    archive.db
      .query<{ text: string }, []>("SELECT text FROM restores ORDER BY id")
      .all()
      .map(({ text }) => text)

  function given(archive: Archive): void {
    for (const [session, text] of [
      ["s1", "fireKiln"],
      ["s2", "hunter22"],
    ] as const) {
      claimGiven(archive.db, session, { source: "compact", mark: "at 1", time: 1 })
      keepGiven(archive.db, session, text)
    }
  }

  test("a secret in it, and all that an earlier version kept besides", () => {
    using archive = new Archive()
    given(archive)
    archive.db.run("CREATE TABLE slots (items TEXT NOT NULL)")
    archive.db.run("INSERT INTO slots (items) VALUES ('hunter22')")
    expect(redactRestores(archive.dataHome, filter, true)).toBe(1)
    expect([texts(archive), archive.count("slots")]).toEqual([["fireKiln", "hunter22"], 1])
    expect(redactRestores(archive.dataHome, filter, false)).toBe(1)
    expect([texts(archive), archive.count("slots")]).toEqual([["fireKiln", "********"], 0])
    expect(redactRestores(archive.dataHome, filter, false)).toBe(0)
  })

  test("sessions that are forgotten, and others that were told of them", () => {
    using archive = new Archive()
    given(archive)
    const of = { sessions: new Set(["s1"]), whole: new Set(["s1"]), told: new Set(["s2"]) }
    const traces = { ...of, handles: new Set<string>() }
    expect(eraseTraces(archive.dataHome, traces)).toBe(2)
    expect(texts(archive).filter((text) => text !== "")).toEqual([])
  })
})
