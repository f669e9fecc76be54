/** Our server in Codex' `config.toml`: added and removed, every other byte as it was. */
import { describe, expect, test } from "bun:test"
import { CODEX_HOOKS } from "../../../src/agents/codex/codex-hooks.ts"
import { addCodexServer, codexServer, removeCodexServer } from "../../../src/agents/install/codex-config.ts"

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
    expect(codexServer(now)).toBe("on")
    expect(Bun.TOML.parse(now.replace("\uFEFF", ""))).toMatchObject({
      mcp_servers: { ctxbridge: { command: EXE, args: ["mcp"], env: { BUN_OPTIONS: "" } } },
    })
    // Repeated it changes nothing.
    expect(addCodexServer(now, EXE)).toEqual({ text: now, added: [], replaced: [] })
  })

  test("one that is switched off is there, and not on", () => {
    const { text } = addCodexServer(undefined, EXE)
    const starts = (config: string) =>
      CODEX_HOOKS.other!.startsServer(
        { home: "/home/ada", claudeDir: "", named: () => undefined },
        () => config,
      )
    expect(codexServer(`${text}enabled = false\n`)).toBe("off")
    expect([starts(text), starts(`${text}enabled = false\n`)]).toEqual([true, false])
  })

  test("to no file", () => {
    expect(codexServer(addCodexServer(undefined, EXE).text)).toBe("on")
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
    expect(() => addCodexServer("model = = 1\n", EXE)).toThrow("cannot be read here")
    // Codex reads it.
    const large = "limit = 9007199254740993\n"
    expect(() => addCodexServer(large, EXE)).toThrow("cannot be read here")
    const { text } = addCodexServer(undefined, EXE)
    const hint = expect.stringContaining("`codex mcp remove ctxbridge`")
    expect(() => removeCodexServer(large + text)).toThrow(expect.objectContaining({ hint }))
  })

  test("nor is a list that cannot be added to at the end", () => {
    const hint = expect.stringContaining(`\`codex mcp add ctxbridge -- ${EXE} mcp\``)
    expect(() => addCodexServer('mcp_servers = { docs = { command = "docs" } }\n', EXE)).toThrow(
      expect.objectContaining({ hint }),
    )
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

  test.each([
    '# odd """ remark\n',
    "# it's ''' odd\n",
    'a = "\\"\\"\\" # no"\n',
    'a = """\n[mcp_servers.ctxbridge]\n\'\'\' """\n',
    `a = '''\n"""\n'''\n`,
    'a = ""\n',
  ])("below %j", (text) => {
    const { text: left, removed } = removeCodexServer(addCodexServer(text, EXE).text)
    expect({ left, removed }).toEqual({ left: text, removed: ["ctxbridge"] })
  })

  test("nothing from a file that cannot be read and does not name it", () => {
    expect(removeCodexServer("model = = 1\n")).toEqual({ text: "model = = 1\n", removed: [] })
    expect(() => removeCodexServer("# ctxbridge\nmodel = = 1\n")).toThrow("cannot be read here")
  })

  test("not where it is written in a way that is not edited here", () => {
    const inline = 'mcp_servers.ctxbridge = { command = "/usr/bin/ctxbridge", args = ["mcp"] }\n'
    expect(() => removeCodexServer(inline)).toThrow("written in a way that is not edited here")
  })
})
