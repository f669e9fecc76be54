import { afterEach, beforeEach, expect, test } from "bun:test"
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { programsNamed, versionIn } from "../../../src/claude/install/clients.ts"

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
