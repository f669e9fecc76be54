/** Our server in Codex' `config.toml`: added and removed, every other byte as it was. */
import { describe, expect, test } from "bun:test"
import {
  addCodexServer,
  hasCodexServer,
  removeCodexServer,
} from "../../../src/agents/install/codex-config.ts"

const EXE = "/usr/local/bin/ctxbridge"

const FILES: readonly (readonly [what: string, text: string])[] = [
  ["empty", ""],
  ["without a newline at its end", 'model = "m"'],
  ["with remarks at its end", "[tui]\nnotifications = true\n# mcp_servers.ctxbridge\n\n"],
  ["with other servers", '[mcp_servers.docs]\ncommand = "docs"\n\n[mcp_servers.docs.env]\nA = "1"\n'],
  ["with trust", '[hooks.state."/home/dev/.codex/hooks.json:stop:0:0"]\ntrusted_hash = "sha256:00"\n'],
  ["with a text that looks like ours", 'note = """\n[mcp_servers.ctxbridge]\ncommand = "x"\n"""\n'],
  ["with a byte order mark and Windows' lines", '\uFEFFmodel = "m"\r\n[tui]\r\na = 1\r\n'],
]

describe("added", () => {
  test.each(FILES)("to a file %s", (_what, text) => {
    const { text: now, added, replaced } = addCodexServer(text, EXE)
    expect({ added, replaced }).toEqual({ added: ["ctxbridge"], replaced: [] })
    expect(now.startsWith(text)).toBe(true)
    expect(hasCodexServer(now)).toBe(true)
    expect(Bun.TOML.parse(now.replace("\uFEFF", ""))).toMatchObject({
      mcp_servers: { ctxbridge: { command: EXE, args: ["mcp"], env: { BUN_OPTIONS: "" } } },
    })
    // Repeated it changes nothing.
    expect(addCodexServer(now, EXE)).toEqual({ text: now, added: [], replaced: [] })
  })

  test("to no file", () => {
    expect(hasCodexServer(addCodexServer(undefined, EXE).text)).toBe(true)
  })

  test("another path is replaced, and what the user has set of it stays", () => {
    const { text } = addCodexServer('model = "m"\n', EXE)
    const tuned = `${text}startup_timeout_sec = 20 # slow disk\n`
    const moved = addCodexServer(tuned, "/opt/it's/ctxbridge")
    expect(moved.replaced).toEqual(["ctxbridge"])
    expect(moved.text).toBe(tuned.replace(`"${EXE}"`, `"/opt/it's/ctxbridge"`))
  })

  test("somebody else's server of that name stays", () => {
    const theirs = '[mcp_servers.ctxbridge]\ncommand = "other"\nargs = ["serve"]\n'
    expect(() => addCodexServer(theirs, EXE)).toThrow("mcp_servers.ctxbridge is another server")
    expect(removeCodexServer(theirs)).toEqual({ text: theirs, removed: [] })
  })

  test("what is no TOML is not touched", () => {
    expect(() => addCodexServer("model = = 1\n", EXE)).toThrow("not TOML")
  })

  test("nor is a list that cannot be added to at the end", () => {
    expect(() => addCodexServer('mcp_servers = { docs = { command = "docs" } }\n', EXE)).toThrow()
  })
})

describe("removed", () => {
  test.each(FILES)("from a file %s", (_what, text) => {
    const { text: left, removed } = removeCodexServer(addCodexServer(text, EXE).text)
    expect(removed).toEqual(["ctxbridge"])
    // Nobody can tell whether a last line had its newline before; the install's own record can.
    expect(left === text || left === `${text}\n`).toBe(true)
  })

  test("from between other tables, with its own below it", () => {
    const { text } = addCodexServer('model = "m"\n', EXE)
    const later =
      '# mine\n[mcp_servers.ctxbridge.tools.get]\napproval_mode = "auto"\n\n# theirs\n[tui]\na = 1\n'
    const { text: left } = removeCodexServer(`${text}\n${later}`)
    expect(left).toBe('model = "m"\n\n# mine\n\n# theirs\n[tui]\na = 1\n')
  })

  test("not where it is written in a way that is not edited here", () => {
    const inline = 'mcp_servers.ctxbridge = { command = "/usr/bin/ctxbridge", args = ["mcp"] }\n'
    expect(() => removeCodexServer(inline)).toThrow("written in a way that is not edited here")
  })
})
