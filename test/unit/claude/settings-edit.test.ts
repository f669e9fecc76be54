import { describe, expect, test } from "bun:test"
import { HOST_EVENTS, hookCommand } from "../../../src/claude/install/hooks-table.ts"
import { addHooks, removeHooks } from "../../../src/claude/install/settings-edit.ts"

const EXE = "/opt/ctxbridge"
const command = (event: (typeof HOST_EVENTS)[number], exe = EXE) => hookCommand(exe, event)
const hook = (event: (typeof HOST_EVENTS)[number], exe = EXE) => ({
  type: "command",
  command: command(event, exe),
  timeout: 5,
  statusMessage: "ctxbridge",
})
const ourHooks = () => Object.fromEntries(HOST_EVENTS.map((event) => [event, [{ hooks: [hook(event)] }]]))
const value = (text: string) => JSON.parse(text.replace(/^\uFEFF/, ""))

describe("a file with nothing in it", () => {
  test.each([
    [undefined, "\n"],
    ["", "\n"],
    ["\n", "\n"],
    ["\r\n", "\r\n"],
    ["\uFEFF", "\n"],
    ["{}", ""],
    ["{}\n", "\n"],
    ["{ \n\n }\n", "\n"],
  ])("%j", (text, end) => {
    const done = addHooks(text, EXE)
    expect(value(done.text)).toEqual({ hooks: ourHooks() })
    expect(done.text.endsWith(`}${end}`)).toBe(true)
    expect(done.text.startsWith("\uFEFF")).toBe(text?.startsWith("\uFEFF") ?? false)
    expect(done.added).toEqual([...HOST_EVENTS])
    expect(done.replaced).toEqual([])
  })

  test("looks like a file of the host", () => {
    expect(addHooks(undefined, EXE).text).toBe(`${JSON.stringify({ hooks: ourHooks() }, null, 2)}\n`)
    expect(addHooks("{}\n", EXE).text).toBe(`${JSON.stringify({ hooks: ourHooks() }, null, 2)}\n`)
  })
})

describe("the style of the file is kept", () => {
  const settings = { model: "opus", permissions: { allow: ["Bash(ls:*)"] } }
  const wanted = { ...settings, hooks: ourHooks() }

  test.each([["  "], ["    "], ["\t"], ["   "]])("indentation %j", (indent) => {
    expect(addHooks(JSON.stringify(settings, null, indent), EXE).text).toBe(
      JSON.stringify(wanted, null, indent),
    )
  })

  test("CRLF, byte order mark and final line breaks", () => {
    const windows = (json: unknown) => `\uFEFF${JSON.stringify(json, null, 4)}\n\n`.replaceAll("\n", "\r\n")
    expect(addHooks(windows(settings), EXE).text).toBe(windows(wanted))
  })

  test("all on one line", () => {
    expect(addHooks(JSON.stringify(settings), EXE).text).toBe(JSON.stringify(wanted))
    const spaced = addHooks('{"model": "opus", "hooks": {}}', EXE).text
    expect(spaced).toStartWith('{"model": "opus", "hooks": {"SessionStart": [{"hooks": [{"type": "command", ')
    expect(spaced).not.toContain("\n")
  })

  test("line breaks without indentation", () => {
    expect(addHooks('{\n"a": 1\n}', EXE).text).toStartWith('{\n"a": 1,\n"hooks": {\n"SessionStart": [\n{\n')
  })

  test("an empty list or object in an indented file opens up", () => {
    const text = JSON.stringify({ hooks: { Stop: [] }, last: {} }, null, 4)
    const { Stop, ...others } = ourHooks()
    expect(addHooks(text, EXE).text).toBe(JSON.stringify({ hooks: { Stop, ...others }, last: {} }, null, 4))
  })
})

describe("foreign hooks", () => {
  const foreign = `{
  "hooks": {
    "Stop": [{"matcher":"*",   "hooks": [ {"type":"command","command":"say done"} ]}],
    "PreToolUse": [
      {"matcher": "Bash", "hooks": [{ "type": "command", "command": "lint" , "timeout":1 }]}
    ],
    "SessionStart": [
      {
        "matcher": "startup",
        "hooks": [
          { "type": "command", "command": "echo \\u0068i" }
        ]
      }
    ]
  },
  "env": { "A": "1e400" }
}
`
  test("stay byte for byte, beside ours", () => {
    const { text } = addHooks(foreign, EXE)
    for (const line of foreign.split("\n")) expect(text).toContain(line.replace(/\],?$/, ""))
    expect(text).toContain(
      '"Stop": [{"matcher":"*",   "hooks": [ {"type":"command","command":"say done"} ]}, {"hooks"',
    )
    expect(value(text).hooks.SessionStart).toEqual([
      value(foreign).hooks.SessionStart[0],
      { hooks: [hook("SessionStart")] },
    ])
    expect(Object.keys(value(text).hooks).slice(0, 3)).toEqual(["Stop", "PreToolUse", "SessionStart"])
    expect(removeHooks(text).text).toBe(foreign)
    expect(removeHooks(foreign)).toEqual({ text: foreign, removed: [] })
  })

  test("ours inside somebody's group is cut out of it alone", () => {
    const others = [
      { type: "command", command: "a" },
      { type: "command", command: "b" },
    ]
    for (const at of [0, 1, 2]) {
      const hooks = others.toSpliced(at, 0, hook("Stop"))
      const text = JSON.stringify({ hooks: { Stop: [{ matcher: "", hooks }] } }, null, 2)
      expect(removeHooks(text).text).toBe(
        JSON.stringify({ hooks: { Stop: [{ matcher: "", hooks: others }] } }, null, 2),
      )
    }
  })

  test("entries of no known shape are passed over", () => {
    const text = JSON.stringify({ hooks: { Stop: [1, null, "x", {}, { hooks: 3 }, { hooks: [4, {}, []] }] } })
    const { text: with_, added } = addHooks(text, EXE)
    expect(added).toEqual([...HOST_EVENTS])
    expect(value(with_).hooks.Stop).toHaveLength(7)
    expect(removeHooks(with_).text).toBe(text)
  })
})

describe("our own hooks", () => {
  const old = addHooks(JSON.stringify({ model: "x" }, null, 2), "/old place/ctxbridge").text

  test("twice is once", () => {
    const once = addHooks('{\n  "model": "x"\n}\n', EXE).text
    expect(addHooks(once, EXE)).toEqual({ text: once, added: [], replaced: [] })
  })

  test("of a moved binary are replaced where they stand", () => {
    const moved = addHooks(old, EXE)
    expect(moved.replaced).toEqual([...HOST_EVENTS])
    expect(moved.added).toEqual([])
    expect(moved.text).toBe(addHooks(JSON.stringify({ model: "x" }, null, 2), EXE).text)
  })

  test("keep what the user has set on them", () => {
    const text = old
      .replaceAll('"timeout": 5', '"timeout": 9')
      .replaceAll('"statusMessage": "ctxbridge"', '"statusMessage": "archiving"')
    const hooks = value(addHooks(text, EXE).text).hooks.Stop[0].hooks
    expect(hooks).toEqual([{ ...hook("Stop"), timeout: 9, statusMessage: "archiving" }])
  })

  test("of an earlier version get the label that /hooks lists, where that is wanted", () => {
    const text = old.replaceAll(/,\s*"statusMessage": "ctxbridge"/g, "").replaceAll("/old/", "/opt/")
    expect(text).not.toContain("statusMessage")
    const labelled = addHooks(text, EXE)
    expect(labelled.replaced).toEqual([...HOST_EVENTS])
    expect(value(labelled.text).hooks).toEqual(ourHooks())
    expect(addHooks(labelled.text, EXE)).toEqual({ text: labelled.text, added: [], replaced: [] })
  })

  test.each([
    ["without a timeout", { type: "command", command: command("Stop") }],
    ["of no type", { command: command("Stop"), timeout: 5 }],
    ["with a useless timeout", { type: "command", command: command("Stop"), timeout: 0 }],
  ])("%s are made anew, and the event keeps its place", (_, damaged) => {
    const text = JSON.stringify({ hooks: { Stop: [{ hooks: [damaged] }], Zebra: [] } }, null, 2)
    const done = addHooks(text, EXE)
    expect(done.replaced).toEqual(["Stop"])
    expect(value(done.text).hooks.Stop).toEqual([{ hooks: [hook("Stop")] }])
    expect(Object.keys(value(done.text).hooks).slice(0, 2)).toEqual(["Stop", "Zebra"])
  })

  test("under a matcher that narrows them are moved to a group of their own", () => {
    const text = JSON.stringify({
      hooks: { SessionStart: [{ matcher: "startup", hooks: [hook("SessionStart")] }] },
    })
    expect(value(addHooks(text, EXE).text).hooks.SessionStart).toEqual([{ hooks: [hook("SessionStart")] }])
  })

  test("doubled, or for another event, leave one", () => {
    const text = JSON.stringify({
      hooks: {
        Stop: [
          {
            hooks: [
              hook("Stop", "/a/ctxbridge"),
              { type: "command", command: "x" },
              hook("Stop", "/b/ctxbridge"),
            ],
          },
          { hooks: [hook("SessionEnd")] },
        ],
        PostToolUse: [{ hooks: [hook("Stop")] }],
      },
    })
    const done = addHooks(text, EXE)
    expect(done.replaced).toEqual(["PostToolUse", "Stop"])
    expect(value(done.text).hooks.Stop).toEqual([
      { hooks: [hook("Stop"), { type: "command", command: "x" }] },
    ])
    expect(value(done.text).hooks.PostToolUse).toBeUndefined()
  })

  test("are removed from every event, and what only they had filled goes too", () => {
    expect(removeHooks(old)).toEqual({ text: '{\n  "model": "x"\n}', removed: [...HOST_EVENTS] })
    expect(removeHooks(addHooks("{}", EXE).text).text).toBe("{}")
    const stray = JSON.stringify({ hooks: { Elsewhere: [{ hooks: [hook("Stop")] }] } })
    expect(removeHooks(stray)).toEqual({ text: "{}", removed: ["Elsewhere"] })
  })

  test.each(['{"hooks": {}}', '{"hooks": {"Stop": [], "Other": []}, "a": 1}'])(
    "%s: what was empty before us stays",
    (original) => {
      expect(removeHooks(addHooks(original, EXE).text, original).text).toBe(original)
    },
  )
})

describe("what is not settings is refused", () => {
  test.each([
    ['{"a": 1,}', "line 1, column 8: trailing commas are not allowed"],
    ['{\n  "a": [1, 2 , ]\n}', "line 2, column 14: trailing commas are not allowed"],
    ['{\r\n  // note\r\n  "a": 1\r\n}', "line 2, column 3: comments are not allowed"],
    ["\uFEFF{ /* x */ }", "line 1, column 3: comments are not allowed"],
    ['{\n  "a": 1\n  "b": 2\n}', "line 3, column 3: a comma is expected"],
    ["{\n  a: 1\n}", "line 2, column 3: this is not JSON"],
    ['{\n  "a": \n}', "line 3, column 1: a value is expected"],
    ['{\n  "a": "b\n}', "line 2, column 8: a string does not end"],
    ['{"a": 1', "line 1, column 8: a closing brace is missing"],
    ['{"a": 1} x', "line 1, column 10: "],
    ["{'a': 1}", "line 1, column 2: this is not JSON"],
    ['{"a": -01}', ""],
    ["[]", "the top level must be an object, but is array"],
    ["null", "the top level must be an object, but is null"],
    ['"{}"', "the top level must be an object, but is string"],
    ['{"hooks": []}', "hooks must be an object, but is array"],
    ['{"hooks": null}', "hooks must be an object, but is null"],
    ['{"hooks": {"Stop": {}}}', "hooks.Stop must be an array, but is object"],
    ['{"hooks": {"PreToolUse": "x"}}', "hooks.PreToolUse must be an array, but is string"],
  ])("%j", (text, message) => {
    expect(() => addHooks(text, EXE)).toThrow(message)
    expect(() => removeHooks(text)).toThrow(message)
  })
})
