import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { addServer, removeServer } from "../../../src/claude/install/server-edit.ts"
import { NO_BUN_VARIABLES } from "../../../src/config/unused-variables.ts"

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
