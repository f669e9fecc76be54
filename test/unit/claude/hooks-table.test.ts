import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { HOOKS } from "../../../src/claude/hooks.ts"
import { programsNamed, versionIn } from "../../../src/claude/install/clients.ts"
import {
  CLEARED,
  HOST_EVENTS,
  hookCommand,
  isOurHook,
  readOurHook,
} from "../../../src/claude/install/hooks-table.ts"

describe("hooks table", () => {
  test("only events that every supported host knows are registered", () => {
    expect(HOOKS).toEqual({
      SessionStart: "session-start",
      UserPromptSubmit: "user-prompt-submit",
      PreCompact: "pre-compact",
      Stop: "stop",
      SubagentStop: "subagent-stop",
      SessionEnd: "session-end",
    })
  })

  test.each([
    ["/usr/local/bin/ctxbridge", "/usr/local/bin/ctxbridge"],
    ["/a b/ctxbridge", "'/a b/ctxbridge'"],
    ["/it's/ctxbridge", String.raw`'/it'\''s/ctxbridge'`],
    ["/$HOME/ctxbridge", "'/$HOME/ctxbridge'"],
    ["/é/ctxbridge", "'/é/ctxbridge'"],
  ])("%p is quoted only if needed", (path, word) => {
    expect(hookCommand(path, "Stop")).toBe(
      `CTXBRIDGE= BUN_OPTIONS= BUN_BE_BUN= BUN_INSPECT= BUN_INSPECT_CONNECT_TO= ${word} hook stop`,
    )
  })

  describe("on Windows, where PowerShell may be the shell", () => {
    const PLAIN = "C:/Users/dev/.local/bin/ctxbridge.exe"
    const SPACED = "C:/Users/Jo Doe/.local/bin/ctxbridge.exe"

    test("a command is what every shell there reads alike: no variables, slashes, quotes only if needed", () => {
      expect(hookCommand(PLAIN, "Stop")).toBe(`${PLAIN} hook stop`)
      expect(hookCommand(SPACED, "Stop")).toBe(`'${SPACED}' hook stop`)
      expect(hookCommand("//server/share/ctxbridge.exe", "Stop")).toContain(
        "//server/share/ctxbridge.exe hook",
      )
    })

    test("it is ours when read again, also with the backslashes of somebody who typed it", () => {
      for (const binary of [PLAIN, SPACED])
        expect(readOurHook(hookCommand(binary, "Stop"), "C:/Users/dev")).toEqual({ binary, variables: [] })
      expect(isOurHook(String.raw`"C:\Users\dev\ctxbridge.exe" hook stop`)).toBe(true)
    })
  })

  test.each(["ctxbridge", "./ctxbridge", "/usr/bin/bun", "/opt/myctxbridge", "/opt/ctxbridge/"])(
    "%p is not a binary to register",
    (path) => {
      expect(() => hookCommand(path, "Stop")).toThrow("not the absolute path of a ctxbridge binary")
    },
  )

  test("the shell runs exactly the binary, whatever its path, and clears BUN_*", () => {
    const root = mkdtempSync(join(tmpdir(), "ctxbridge-"))
    const folder = join(root, `it's a "$HOME" \`x\` \\ path;&`)
    mkdirSync(folder)
    const binary = join(folder, "ctxbridge")
    writeFileSync(
      binary,
      '#!/bin/sh\nprintf "%s|" "$@" "$BUN_OPTIONS" "$BUN_BE_BUN" "$BUN_INSPECT" "$BUN_INSPECT_CONNECT_TO"\n',
    )
    chmodSync(binary, 0o755)
    const env = {
      PATH: "/usr/bin:/bin",
      BUN_OPTIONS: "--preload=./evil.ts",
      BUN_BE_BUN: "1",
      BUN_INSPECT: "ws://127.0.0.1:0/x?wait=1",
      BUN_INSPECT_CONNECT_TO: "unix:///tmp/debugger",
    }
    const { stdout } = spawnSync("/bin/sh", ["-c", hookCommand(binary, "PreCompact")], {
      encoding: "utf8",
      env,
    })
    rmSync(root, { recursive: true })
    expect(stdout).toBe("hook|pre-compact|||||")
  })

  test.each([
    "/usr/bin/ctxbridge hook stop",
    "ctxbridge hook session-start",
    "BUN_OPTIONS= BUN_BE_BUN= /x/ctxbridge hook pre-compact",
    "BUN_BE_BUN= /x/ctxbridge hook pre-compact",
    "'/a b/ctxbridge' hook session-end",
    '"/a b/ctxbridge" hook subagent-stop',
    String.raw`BUN_OPTIONS= BUN_BE_BUN= '/it'\''s/ctxbridge' hook user-prompt-submit`,
    String.raw`/a\ b/ctxbridge hook stop`,
    '"$HOME"/.local/bin/ctxbridge hook stop',
    "~/.local/bin/ctxbridge hook stop",
    "'C:\\Program Files\\ctxbridge.exe' hook stop",
    "C:\\tools\\ctxbridge.exe hook stop",
    "CTXBRIDGE_HOME='/my data' /x/ctxbridge hook stop",
    "  /x/ctxbridge  hook  stop  ",
  ])("%p is ours", (command) => {
    expect(isOurHook(command)).toBe(true)
  })

  test.each([
    "",
    "ctxbridge",
    "/usr/bin/ctxbridge status",
    "/usr/bin/ctxbridge hook post-tool-use",
    "/usr/bin/ctxbridge hook stop --now",
    "/usr/bin/myctxbridge hook stop",
    "/usr/bin/ctxbridge-wrapper hook stop",
    "/usr/bin/ctxbridge/ hook stop",
    "timeout 3 /usr/bin/ctxbridge hook stop",
    "notify; /usr/bin/ctxbridge hook stop",
    "notify && /usr/bin/ctxbridge hook stop",
    "$(which ctxbridge) hook stop",
    "/usr/bin/ctxbridge hook stop || true",
    "echo 'ctxbridge hook stop'",
  ])("%p is somebody else's", (command) => {
    expect(isOurHook(command)).toBe(false)
  })

  test("every command we write is recognised as ours", () => {
    for (const event of HOST_EVENTS) {
      for (const path of ["/ctxbridge", '/a\'b "c"/ctxbridge', "D:\\x\\ctxbridge.exe"]) {
        expect(isOurHook(hookCommand(path, event))).toBe(true)
      }
    }
  })

  test("a long hostile command is judged: what backtracks would not end", () => {
    expect(isOurHook(`${"A=1 ".repeat(20_000)}x`)).toBe(false)
    expect(isOurHook(`${"a".repeat(100_000)} hook`)).toBe(false)
    expect(isOurHook(`A=${" ".repeat(50_000)}hook`)).toBe(false)
  })

  test.each(["/usr/bin/ctxbridge", "/a b/ctxbridge", '/it\'s a "$HOME" `x` \\ path;&/ctxbridge'])(
    "the binary of our own command is read back: %p",
    (path) => {
      const read = readOurHook(hookCommand(path, "Stop"), "/home/dev")
      expect(read).toEqual({ binary: path, variables: ["CTXBRIDGE", ...CLEARED] })
    },
  )

  test.each([
    ["~/bin/ctxbridge hook stop", "/home/dev/bin/ctxbridge", []],
    ['"$HOME/my bin/ctxbridge" hook stop', "/home/dev/my bin/ctxbridge", []],
    ["$" + "{HOME}/bin/ctxbridge hook stop", "/home/dev/bin/ctxbridge", []],
    [String.raw`/a\ b/ctxbridge hook stop`, "/a b/ctxbridge", []],
    ["CTXBRIDGE_HOME=/x A='b c' /bin/ctxbridge hook stop", "/bin/ctxbridge", ["CTXBRIDGE_HOME", "A"]],
  ])("%p is read as the shell does", (command, binary, variables) => {
    expect(readOurHook(command, "/home/dev")).toEqual({ binary, variables })
  })

  test("what is not ours is not read", () => {
    expect(readOurHook("/usr/bin/ctxbridge status", "/home/dev")).toBeUndefined()
  })
})

describe("clients", () => {
  let home: string

  beforeEach(() => {
    home = realpathSync(mkdtempSync(join(tmpdir(), "ctxbridge-clients-")))
  })

  afterEach(() => rmSync(home, { recursive: true, force: true }))

  /** Of a program whose command is nowhere on PATH. */
  const clients = () =>
    programsNamed(
      "no-such-agent",
      ["bin", "npm/bin", "again"].map((folder) => join(home, folder)),
    )

  const program = (path: string, content: string): string => {
    const file = join(home, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, content)
    chmodSync(file, 0o755)
    return file
  }

  const linked = (from: string, to: string): string => {
    const path = join(home, from)
    mkdirSync(dirname(path), { recursive: true })
    symlinkSync(to, path)
    return path
  }

  test("no program, no client; a file that cannot be run is none", () => {
    expect(clients()).toEqual([])
    chmodSync(program("bin/no-such-agent", "\x7fELF"), 0o644)
    expect(clients()).toEqual([])
  })

  test("a native program, a package's program and a script, each once, whatever links lead to it", () => {
    const native = program("share/versions/2.1.300", "\x7fELF")
    const cli = program("npm/lib/node_modules/@vendor/agent/cli.js", "#!/usr/bin/env node\n")
    const called = linked("bin/no-such-agent", native)
    const packaged = linked("npm/bin/no-such-agent", cli)
    linked("again/no-such-agent", native)
    expect(clients()).toEqual([
      { path: called, file: native, kind: "native" },
      { path: packaged, file: cli, kind: "npm" },
    ])
    rmSync(called)
    const script = program("bin/no-such-agent", "#!/bin/sh\n")
    expect(clients()[0]).toEqual({ path: script, file: script, kind: "script" })
  })

  test("the version in what a program says", () => {
    expect(versionIn("2.1.112 (Claude Code)\n")).toBe("2.1.112")
    expect(versionIn("no version")).toBeUndefined()
    expect(versionIn(undefined)).toBeUndefined()
  })
})
