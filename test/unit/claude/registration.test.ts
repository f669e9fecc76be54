import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import fc from "fast-check"
import { encode, replaceFile } from "../../../src/base/edited-file.ts"
import { pieces } from "../../../src/claude/install/footprint.ts"
import { HOST_EVENTS, hookCommand } from "../../../src/claude/install/hooks-table.ts"
import { lineDiff, type OursToAdd, register, unregister } from "../../../src/claude/install/register.ts"
import { addServer, removeServer } from "../../../src/claude/install/server-edit.ts"
import { addHooks, removeHooks } from "../../../src/claude/install/settings-edit.ts"
import { NO_BUN_VARIABLES } from "../../../src/config/unused-variables.ts"

describe("register", () => {
  let root: string
  let file: string
  const locked: string[] = []

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "ctxbridge-register-"))
    file = join(root, "config", "agent.toml")
    locked.length = 0
  })

  afterEach(() => rmSync(root, { recursive: true, force: true }))

  const LINE = 'notify = ["ctxbridge"]\n'

  /** A line in a TOML file: nothing about it is JSON. */
  const ours = (): OursToAdd => ({
    file,
    folderMode: 0o700,
    lock: (path, work) => {
      locked.push(path)
      return work()
    },
    add: (text = "") =>
      text.includes(LINE) ? unchanged(text) : { text: text + LINE, added: ["notify"], replaced: [] },
    remove: (text) =>
      text.includes(LINE) ? { text: text.replace(LINE, ""), removed: ["notify"] } : { text, removed: [] },
    isEmpty: (text) => text.trim() === "",
  })

  const unchanged = (text: string) => ({ text, added: [], replaced: [] })

  const options = () => ({ dataHome: join(root, "data") })

  test("a file of any format: made, left as it is by the second install, and deleted again with its folder", () => {
    const made = register(ours(), options())
    expect(made).toMatchObject({ action: "created", added: ["notify"], diff: [`+${LINE.trim()}`] })
    expect(readFileSync(file, "utf8")).toBe(LINE)
    expect(register(ours(), options()).action).toBe("none")
    expect(unregister(ours(), options())).toMatchObject({ action: "deleted", removed: ["notify"] })
    expect(existsSync(join(root, "config"))).toBe(false)
    expect(existsSync(join(root, "data", "install"))).toBe(false)
    expect(locked).toEqual([file, file, file])
  })

  test("what others wrote since stays; what nobody touched gets its bytes and mode back", () => {
    register(ours(), options())
    writeFileSync(file, `${LINE}# mine\n`)
    expect(unregister(ours(), options()).action).toBe("edited")
    expect(readFileSync(file, "utf8")).toBe("# mine\n")
    chmodSync(file, 0o640)
    register(ours(), options())
    expect(statSync(file).mode & 0o777).toBe(0o640)
    expect(unregister(ours(), options()).action).toBe("restored")
    expect(readFileSync(file, "utf8")).toBe("# mine\n")
  })

  test("a dry run takes no lock and writes nothing; a private file's lines are not told", () => {
    expect(register(ours(), { ...options(), dryRun: true })).toMatchObject({
      action: "created",
      dryRun: true,
    })
    expect([existsSync(file), existsSync(join(root, "data")), locked]).toEqual([false, false, []])
    expect(register({ ...ours(), isPrivate: true }, options())).toMatchObject({ action: "created", diff: [] })
  })

  test("a file that cannot be read as text is named, and the hint stays", () => {
    mkdirSync(join(root, "config"))
    writeFileSync(file, Buffer.from([0x61, 0xff]))
    let error: unknown
    try {
      register(ours(), options())
    } catch (cause) {
      error = cause
    }
    expect(error).toMatchObject({
      code: "settings-encoding",
      message: `${file}: not UTF-8`,
      hint: expect.stringMatching(/\w/),
    })
    expect([...readFileSync(file)]).toEqual([0x61, 0xff])
  })
})

describe("server edit", () => {
  const EXE = "/opt/ctxbridge"
  const ENTRY = { type: "stdio", command: EXE, args: ["mcp"], env: NO_BUN_VARIABLES }
  const added = (text?: string, exe = EXE) => addServer(text, exe)

  describe("adding", () => {
    test("a file that is not there, or blank, becomes one with our server", () => {
      for (const text of [undefined, "", "\n"]) {
        const edit = added(text)
        expect(JSON.parse(edit.text)).toEqual({ mcpServers: { ctxbridge: ENTRY } })
        expect(edit.added).toEqual(["ctxbridge"])
      }
    })

    test("nothing else moves", () => {
      const text = '{\n\t"numStartups": 3,\n\t"mcpServers": {\n\t\t"a": {"command": "a"}\n\t},\n\t"x":1 }\n'
      const { text: now } = added(text)
      expect(now).toStartWith(
        '{\n\t"numStartups": 3,\n\t"mcpServers": {\n\t\t"a": {"command": "a"},\n\t\t"ctxbridge": {',
      )
      expect(now).toEndWith('\n\t},\n\t"x":1 }\n')
      expect(JSON.parse(now)).toEqual({
        ...JSON.parse(text),
        mcpServers: { a: { command: "a" }, ctxbridge: ENTRY },
      })
    })

    test("a second time it changes nothing; another binary changes the path alone", () => {
      const once = added('{"mcpServers":{}}').text
      expect(added(once)).toEqual({ text: once, added: [], replaced: [] })
      const moved = added(once, "/usr/bin/ctxbridge")
      expect(moved).toEqual({
        text: once.replace(EXE, "/usr/bin/ctxbridge"),
        added: [],
        replaced: ["ctxbridge"],
      })
    })

    test("an entry of ours that was changed is made right", () => {
      const broken = '{"mcpServers":{"ctxbridge":{"command":"/old/ctxbridge","args":["mcp","--json"]}}}'
      const { text, replaced } = added(broken)
      expect(JSON.parse(text)).toEqual({ mcpServers: { ctxbridge: ENTRY } })
      expect(replaced).toEqual(["ctxbridge"])
    })

    test("what the user has set of it stays, where the path or the variables are out of date", () => {
      const own = '"type": "local", "timeout": 9000, "tools": ["search"], "trust": true'
      const before = `{\n  "mcpServers": {\n    "ctxbridge": { ${own}, "command": "/old/ctxbridge", "args": ["mcp"], "env": { "MINE": "1" } }\n  }\n}\n`
      const { text, replaced } = added(before)
      expect(replaced).toEqual(["ctxbridge"])
      expect(text).toContain(`"ctxbridge": { ${own}, "command": "${EXE}"`)
      expect(JSON.parse(text).mcpServers.ctxbridge.env).toEqual({ MINE: "1", ...ENTRY.env })
      expect(added(text)).toEqual({ text, added: [], replaced: [] })
    })

    test.each([
      ['{"mcpServers":{"ctxbridge":{"command":"/bin/other"}}}', "settings-taken"],
      ['{"mcpServers":{"ctxbridge":7}}', "settings-taken"],
      ['{"mcpServers":[]}', "settings-shape"],
      ['{"mcpServers":{},}', "settings-syntax"],
      ["[]", "settings-shape"],
    ])("%s is left as it is", (text, code) => {
      expect(() => added(text)).toThrow(expect.objectContaining({ code }))
    })

    test("only the absolute path of a binary of ours is registered", () => {
      for (const exe of ["ctxbridge", "/usr/bin/bun"]) {
        expect(() => added("{}", exe)).toThrow(expect.objectContaining({ code: "not-ctxbridge" }))
      }
    })
  })

  describe("removing", () => {
    test("what somebody else registered under our name stays", () => {
      const text = '{"mcpServers":{"ctxbridge":{"command":"/bin/other","args":["mcp"]}}}'
      expect(removeServer(text)).toEqual({ text, removed: [] })
    })

    test("what we added goes, whatever stood around it, to the byte", () => {
      const value = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant({}), fc.constant([]))
      const servers = fc.dictionary(fc.string({ maxLength: 6 }), value, { maxKeys: 3 })
      const settings = fc.dictionary(fc.string({ maxLength: 6 }), value, { maxKeys: 4 })
      fc.assert(
        fc.property(
          settings,
          fc.option(servers, { nil: undefined }),
          fc.constantFrom(undefined, 2, 4, "\t"),
          (rest, list, indent) => {
            const { ctxbridge: _taken, ...others } = list ?? {}
            const whole = { ...rest, ...(list === undefined ? {} : { mcpServers: others }) }
            const before = JSON.stringify(whole, null, indent)
            const { text } = added(before)
            expect(JSON.parse(text)["mcpServers"]["ctxbridge"]).toEqual(ENTRY)
            expect(removeServer(text, before)).toEqual({ text: before, removed: ["ctxbridge"] })
          },
        ),
        { numRuns: 300 },
      )
    })
  })
})

describe("settings edit", () => {
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
      expect(spaced).toStartWith(
        '{"model": "opus", "hooks": {"SessionStart": [{"hooks": [{"type": "command", ',
      )
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
      const text = JSON.stringify({
        hooks: { Stop: [1, null, "x", {}, { hooks: 3 }, { hooks: [4, {}, []] }] },
      })
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

    test.each([
      ["of their own", (damaged: object, other: object) => [{ hooks: [damaged] }, { hooks: [other] }]],
      [
        "that narrows them",
        (damaged: object, other: object) => [{ matcher: "startup", hooks: [damaged] }, { hooks: [other] }],
      ],
      ["of somebody's", (damaged: object, other: object) => [{ hooks: [damaged, other] }]],
    ])("in a group %s they are made anew in their place, as it was written", (_, groups) => {
      const other = { type: "command", command: "x" }
      const damaged = { type: "command", command: command("SessionStart") }
      const isIn = (hooks: object[]) => JSON.stringify({ hooks: { SessionStart: hooks } }, null, 2)
      const made = value(addHooks(isIn(groups(damaged, other)), EXE).text).hooks.SessionStart
      const [first, ...rest] = groups(hook("SessionStart"), other) as { matcher?: string }[]
      delete first!.matcher
      expect(made).toEqual([first, ...rest])
      const { text } = addHooks(isIn(groups(damaged, other)), EXE)
      expect(text).toStartWith(isIn(made).replace(/\n {2}\}\n\}$/, ""))
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
})

describe("settings file", () => {
  test("a file written by someone else in the meantime is not overwritten", () => {
    const folder = mkdtempSync(join(tmpdir(), "ctxbridge-file-"))
    const path = join(folder, "settings.json")
    writeFileSync(path, "theirs")
    expect(() => replaceFile(path, encode("ours"), encode("seen"))).toThrow("another program wrote the file")
    expect(() => replaceFile(path, encode("ours"), null)).toThrow("another program wrote the file")
    expect(readFileSync(path, "utf8")).toBe("theirs")
    replaceFile(path, encode("ours"), encode("theirs"))
    expect(readFileSync(path, "utf8")).toBe("ours")
    expect(readdirSync(folder)).toEqual(["settings.json"])
    rmSync(folder, { recursive: true })
  })

  test.each([
    ["", "", []],
    ["a\n", "a\n", []],
    ["", "a\nb\n", ["+a", "+b"]],
    ["a\r\nb\r\n", "b\n", ["-a", " b"]],
    ["a\nb\nc\nd\ne\nf\n", "a\nB\nc\nd\ne\nF\n", [" a", "-b", "+B", " c", "...", " e", "-f", "+F"]],
  ])("difference of %j and %j", (before, after, lines) => {
    expect(lineDiff(before, after)).toEqual(lines)
  })

  test("the difference of long files is quick", () => {
    const long = Array.from({ length: 50_000 }, (_, line) => `line ${line}`)
    const before = long.join("\n")
    expect(lineDiff(before, long.toSpliced(25_000, 0, "new").join("\n"))).toEqual([
      "...",
      " line 24999",
      "+new",
      " line 25000",
    ])
  })
})

/** What an uninstall takes for ours. */
describe("footprint", () => {
  const SRC = join(import.meta.dir, "../../../src")
  /** The home within the home, and a path that only names the origin of copies. */
  const OTHERS = ["state", "summaries~"]

  /** Names in the data folder that the code spells out. */
  function namesInCode(): string[] {
    const names = [...new Bun.Glob("**/*.ts").scanSync(SRC)].flatMap((file) =>
      [...readFileSync(join(SRC, file), "utf8").matchAll(/join\([\w.]*\bdataHome, "([^"/]+)/g)].map(
        ([, name]) => name!,
      ),
    )
    return [...new Set(names)].filter((name) => !OTHERS.includes(name)).sort()
  }

  test("everything that the code makes in the data folder", () => {
    const root = mkdtempSync(join(tmpdir(), "ctxbridge-footprint-"))
    try {
      const [dataHome, stateHome] = [join(root, "data"), join(root, "state")]
      const names = namesInCode()
      expect(names.length).toBeGreaterThan(25)
      mkdirSync(dataHome)
      for (const name of [...names, "somebody-elses.json"]) writeFileSync(join(dataHome, name), "")
      const found = pieces({ dataHome, stateHome }, { made: [], found: [], theirs: [] }).map(({ path }) =>
        basename(path),
      )
      expect(found.sort()).toEqual(names)
    } finally {
      rmSync(root, { recursive: true })
    }
  })
})
