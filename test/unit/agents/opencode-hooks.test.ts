/** opencode's plugin and hooks: what they are told and answer, what they look for, and what an install writes. */
import { describe, expect, test } from "bun:test"
import {
  addOpencodeServer,
  hasOpencodeServer,
  isEmptyConfig,
  removeOpencodeServer,
} from "../../../src/agents/install/opencode-config.ts"
import { OPENCODE_INSTALLER } from "../../../src/agents/install/opencode-install.ts"
import { OPENCODE_HOOKS } from "../../../src/agents/opencode/opencode-hooks.ts"
import { messagePieces, pieceLine } from "../../../src/agents/opencode/opencode-lines.ts"
import { opencodeTranscript } from "../../../src/agents/opencode/opencode-places.ts"
import { resolvePlaces } from "../../../src/config/load.ts"
import type { EventName, HookEvent } from "../../../src/record/hook-event.ts"
import { MARK } from "../../../src/record/our-marks.ts"
import { said } from "../../support/opencode-store.ts"

const { encode, compactionOffsets, other } = OPENCODE_HOOKS
const places = { home: "/home/dev", claudeDir: "/c", named: () => undefined }
const decode = (name: EventName, document: unknown) => OPENCODE_HOOKS.decode(name, document, places)
const ID = "ses_0001synthetic"
const FOLDER = "/home/dev/.local/share/opencode"
const told = (fields: object = {}) => ({
  session_id: ID,
  transcript_path: opencodeTranscript(FOLDER, ID),
  cwd: "/home/dev/kiln",
  ...fields,
})

describe("what the plugin tells", () => {
  test("whose session it is, and a human's prompt as it was typed", () => {
    expect(decode("user-prompt-submit", told({ prompt: '"Light \\"it\\" now"' }))).toMatchObject({
      agent: "opencode",
      session: ID,
      folder: FOLDER,
      prompt: 'Light "it" now',
      isHuman: true,
      isSubagents: false,
    })
    expect(decode("user-prompt-submit", told({ prompt: '"Light" and "it"' }))?.prompt).toBe(
      '"Light" and "it"',
    )
  })

  test("a session that another one has started is no human's", () => {
    for (const name of ["user-prompt-submit", "pre-compact", "stop"] satisfies EventName[])
      expect(decode(name, told({ agent_id: ID }))).toMatchObject({ isHuman: false, isSubagents: true })
  })

  test.each([
    [null],
    [{ session_id: 7 }],
    [{ session_id: ID }],
    [told({ transcript_path: "/etc/passwd.jsonl" })],
    [told({ session_id: "ses_other" })],
  ])("%j is about no session of opencode's", (document) => {
    expect(decode("stop", document)).toBeUndefined()
  })

  test("it is answered in plain text, with the names that tools have there", () => {
    const at = (name: EventName) => decode(name, told()) as HookEvent
    const reply = { text: "the tool `mcp__ctxbridge__get` opens one", note: "told" }
    expect(encode(at("session-start"), reply)).toBe("the tool `ctxbridge_get` opens one")
    expect(encode(at("pre-compact"), reply)).toBe("")
    expect(encode(at("stop"), reply)).toBe("")
  })
})

describe("what hooks look for in the lines", () => {
  const message = (id: string, data: object, ...parts: object[]): string => {
    const row = { id, data: JSON.stringify(data) }
    const rows = parts.map((part, n) => ({ id: `prt_${id}_${n}`, data: JSON.stringify(part) }))
    return messagePieces(ID, { row, parts: rows }, true)
      .pieces.map((piece) => pieceLine(piece))
      .join("")
  }
  const before = message("1", { role: "user" }, { type: "text", text: 'What is {"type":"compaction"}?' })
  const boundary = message("2", { role: "user" }, { type: "compaction", auto: true })
  const summary = (text: string): string => message("3", { role: "assistant", summary: true }, said(text))
  const answer = message("4", { role: "assistant" }, said("Going on."))
  const offsets = (...texts: string[]): number[] => compactionOffsets(Buffer.from(texts.join("")))

  test("compactions, where they begin; words about one are none", () => {
    expect(offsets(before)).toEqual([])
    expect(offsets(before, boundary, summary("Handover"))).toEqual([Buffer.byteLength(before)])
  })

  test("one whose summary has what we have given is answered, as in a fork", () => {
    const given = summary(`Handover\n\n${MARK}"compact">\nkept\n</ctxbridge-restore>`)
    expect(offsets(before, boundary, given, answer)).toEqual([])
    const from = Buffer.byteLength(before + boundary + given)
    expect(offsets(before, boundary, given, boundary, summary("Once more"))).toEqual([from])
  })

  test("its summary, and whether the model has spoken since", () => {
    const content = Buffer.from(boundary + summary("Handover"))
    expect(other?.summaryIn(content)).toBe("Handover")
    expect(other?.hasAnswer(content)).toBe(false)
    expect(other?.hasAnswer(Buffer.from(boundary + summary("Handover") + answer))).toBe(true)
  })

  test("whether opencode starts our server", () => {
    const starts = (name: string, text: string): boolean | undefined =>
      other?.startsServer(places, (file) =>
        file === `/home/dev/.config/opencode/${name}` ? text : undefined,
      )
    const { text } = addOpencodeServer(undefined, "/usr/bin/ctxbridge")
    expect(starts("opencode.json", text)).toBe(true)
    expect(starts("opencode.jsonc", text)).toBe(true)
    expect(starts("opencode.json", '{"mcp":{"other":{}}}')).toBe(false)
    expect(starts("opencode.json", `\uFEFF// mine\n${text.replace(/\}\s*$/, ",}")}`)).toBe(true)
    const off = text.replace('"enabled": true', '"enabled": false')
    expect(starts("opencode.json", off)).toBe(false)
    expect(starts("opencode.json", text.replace(/"ctxbridge": /, '// $&{}\n"not-ours":'))).toBe(false)
  })

  test("a later one of its files has the last word on that", () => {
    const { text } = addOpencodeServer(undefined, "/usr/bin/ctxbridge")
    const starts = (json: string, jsonc: string) =>
      other?.startsServer(places, (file) => (file.endsWith(".json") ? json : jsonc))
    expect(starts(text, '{"mcp":{"ctxbridge":{"enabled":false /* for now */}}}')).toBe(false)
    expect(starts(text.replace('"enabled": true', '"enabled": false'), text)).toBe(true)
  })
})

describe("our server in its settings", () => {
  const EXE = "/opt/ctxbridge"
  const COMMENTED = `// mine
{
  "model": "x/y", // "mcp": {
  "theme": "a,}",
  /* servers */
  "mcp": {
    "other": { "type": "remote", "url": "https://example.org/*" },
  },
}
`

  test.each([
    ["a new file", undefined],
    ["a blank one", "\n"],
    ["an object", '{"model":"x/y"}'],
    ["several lines", '{\n  "model": "x/y"\n}\n'],
    ["remarks, last commas, and another server", COMMENTED],
    ["a last comma", '{\n\t"model": "x/y",\n}'],
  ])("%s: is added once, and goes without a trace", (_, before) => {
    const once = addOpencodeServer(before, EXE)
    expect(once).toMatchObject({ added: ["ctxbridge"], replaced: [] })
    expect(hasOpencodeServer(once.text)).toBe(true)
    expect(addOpencodeServer(once.text, EXE)).toEqual({ text: once.text, added: [], replaced: [] })
    const { text, removed } = removeOpencodeServer(once.text, before)
    expect(removed).toEqual(["ctxbridge"])
    if (before === undefined || before.trim() === "") expect(isEmptyConfig(text)).toBe(true)
    else expect(text).toBe(before)
    // Also where nobody knows any more what was there.
    expect(hasOpencodeServer(removeOpencodeServer(once.text).text)).toBe(false)
  })

  // Only what stands between the marks is ours.
  test.each([
    ["the first of two", '{"mcp":{\n  // a\n  «"ctxbridge":OURS,» // b\n  // c\n  "other":{}}}'],
    ["the last", '{\n  "mcp": {\n    "other": {}«,» // a\n    // b«\n    "ctxbridge": OURS»\n  } // c\n}\n'],
    ["with a comma behind it", '{"mcp":{\n "other":{}, // a\n «"ctxbridge":OURS,» // b\n}}'],
    ["between two", '{"mcp":{"a":{}, /* , */ «"ctxbridge": OURS,» /* b */\n"b":{}}}'],
    [
      "alone in the list",
      '{\n  "model": "x/y",\n  "mcp": {\n    // a, b\n    «"ctxbridge": OURS,» // c\n  },\n}\n',
    ],
    ["before a line's end", '{"mcp":{ // a\n«"ctxbridge":OURS»}}'],
    ["the list, too", '{\n  // a\n  «"mcp": {"ctxbridge": OURS},» // b\n  "model": "x/y"\n}'],
  ])("remarks beside it stay as they are: %s", (_, marked) => {
    const ours = JSON.stringify({ type: "local", command: [EXE, "mcp"] })
    const text = marked.replace(/[«»]/g, "").replace("OURS", ours)
    const left = removeOpencodeServer(text).text
    const blank = (one: string) => one.replace(/\s+/g, "")
    expect(blank(left)).toBe(blank(marked.replace(/«[^»]*»/g, "")))
    // No line is left blank.
    expect(left).not.toMatch(/\n[ \t]*\n/)
    expect(hasOpencodeServer(left)).toBe(false)
    expect(isEmptyConfig(left)).toBe(false)
  })

  test.each([
    '{\n  /* a */ "model": "x/y"\n}\n',
    '{"mcp":{"a":{} /* , */, /* b */ "b":{}}}',
    '{ /* a */ "model":"x/y" /* b */ }',
    '{\n  "mcp": {\n    // a\n    "a": {}, // b\n  }, // c\n}',
  ])("remarks are not written twice, nor missing after an uninstall: %j", (before) => {
    const { text } = addOpencodeServer(before, EXE)
    for (const remark of before.match(/\/\*.*?\*\/|\/\/.*/g)!) expect(text.split(remark)).toHaveLength(2)
    expect(removeOpencodeServer(text, before).text).toBe(before)
  })

  test("a file that we have made is not empty once somebody has written a remark into it", () => {
    const { text } = addOpencodeServer(undefined, EXE)
    const { text: left } = removeOpencodeServer(`// mine\n${text}`)
    expect(left).toStartWith("// mine\n")
    expect(isEmptyConfig(left)).toBe(false)
    expect(isEmptyConfig(removeOpencodeServer(text).text)).toBe(true)
  })

  test("only the path of our program is brought up to date", () => {
    const { text } = addOpencodeServer('{"model":"x/y"}', EXE)
    const changed = text.replace('"enabled":true', '"enabled":false')
    const now = addOpencodeServer(changed, "/usr/local/bin/ctxbridge")
    expect(now).toEqual({
      text: changed.replace(EXE, "/usr/local/bin/ctxbridge"),
      added: [],
      replaced: ["ctxbridge"],
    })
  })

  test.each([
    ['{"mcp":{"ctxbridge":{"type":"local","command":["other"]}}}', "is another server"],
    ['{"mcp":[]}', "mcp must be an object"],
    ['{"mcp":{ /* none yet */ }}', "not edited here"],
    ['{"model":', "line 1"],
  ])("%s is left alone", (text, problem) => {
    expect(() => addOpencodeServer(text, EXE)).toThrow(problem)
  })
})

test("the plugin names the program as it is, whatever is in its path", () => {
  const { text } = OPENCODE_INSTALLER.files(
    resolvePlaces({ HOME: "/home/dev" }),
    '/o"d$&d/ctxbridge',
  )[0]!.add(undefined)
  expect(text).toStartWith("// ctxbridge: ")
  expect(text).toContain('const PROGRAM = "/o\\"d$&d/ctxbridge"\n')
})
