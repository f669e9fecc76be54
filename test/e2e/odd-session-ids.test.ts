/**
 * Transcripts whose names are no ids: archived, found and removed under the SHA-256 of their name, and never a word of
 * a command that starts Claude Code.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { contentOf, Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

const NAMES = [
  ["an option", "--dangerously-skip-permissions"],
  ["a short option", "-p"],
  ["an option with a value", "--model=other"],
  ["two words", "first second"],
  ["a hidden file", ".hidden"],
  ["dots", ".."],
  ["a script", "x;touch pwned;$(touch pwned)"],
  ["quotation marks", `it's "so"`],
  ["other letters", "sitzung-grün"],
  ["an underscore first", "_x"],
  ["a line break", "one\ntwo"],
  ["too long", "x".repeat(230)],
] as const

const sha256 = (name: string): string => new Bun.CryptoHasher("sha256").update(name).digest("hex")

describe.each(NAMES)("%s", (_what, name) => {
  const id = sha256(name)
  let machine: Machine
  let session: Transcript
  let content: string

  const cli = (...args: string[]) =>
    run(args, {
      env: { ...machine.env, PATH: `${join(machine.root, "bin")}:${process.env["PATH"]}` },
      cwd: machine.cwd,
    })
  const isStarted = (): boolean => existsSync(join(machine.root, "started"))

  beforeAll(async () => {
    machine = new Machine()
    mkdirSync(join(machine.root, "bin"))
    const script = `#!/bin/sh\necho "$@" > '${machine.root}/started'\n`
    writeFileSync(join(machine.root, "bin", "claude"), script, { mode: 0o755 })
    session = machine.session({ id: name }).turn("Polish the theodolite", [], "It shines.").flush()
    content = readFileSync(session.path, "utf8")
  })
  afterAll(() => machine[Symbol.dispose]())

  test("hooks archive it in silence, and leave no file of that name", async () => {
    const calls = [
      ["session-start", { source: "startup" }],
      ["user-prompt-submit", { prompt: "Polish the theodolite" }],
      ["pre-compact", { trigger: "manual", custom_instructions: "" }],
      ["session-start", { source: "compact" }],
      ["stop", {}],
      ["session-end", { reason: "clear" }],
    ] as const
    for (const [event, fields] of calls) {
      const { code, stdout, stderr } = await machine.hook(event, session, fields)
      expect({ event, code, stdout, stderr }).toEqual({ event, code: 0, stdout: "", stderr: "" })
    }
    const copy = machine.copy(session.path)
    expect(copy).toEndWith(`/${id}.jsonl.zst`)
    expect(contentOf(copy).toString()).toBe(content)
    const files = readdirSync(machine.dataHome, { recursive: true }).map(String)
    expect(files.filter((file) => file.split("/").some((part) => part.startsWith(name)))).toEqual([])
    expect(readdirSync(machine.root)).not.toContain("pwned")
  })

  test("import, verify and search know it by its SHA-256, show by its name, too", async () => {
    expect(await cli("import", "--quiet")).toMatchObject({ code: 0, stderr: "" })
    expect(await cli("verify")).toMatchObject({ code: 0, stderr: "" })
    const { code, stdout } = await cli("search", "theodolite", "--json", "-a")
    expect(code).toBe(0)
    const { hits } = JSON.parse(stdout)
    expect(hits).toMatchObject([{ session: id }])
    for (const named of [hits[0].handle, id, name]) {
      const shown = await cli("show", "--json", "--", named)
      expect({ code: shown.code, stderr: shown.stderr }).toEqual({ code: 0, stderr: "" })
      expect(shown.stdout).toContain("Polish the theodolite")
    }
  })

  test("no command starts Claude Code with it, and each says why", async () => {
    rmSync(session.path)
    for (const args of [["theodolite"], [id], ["--", name], [id, "--dry-run"]]) {
      const ran = await cli("resume", ...args)
      expect({ code: ran.code, stdout: ran.stdout }).toEqual({ code: 1, stdout: "" })
      expect(ran.stderr).toContain("cannot be resumed: its transcript is named")
      expect(ran.stderr).toContain("\nhint: ")
      expect(existsSync(session.path)).toBe(false)
    }
    const json = await cli("resume", id, "--json")
    expect(json).toMatchObject({ code: 1, stderr: "" })
    expect(JSON.parse(json.stdout).error.code).toBe("not-startable")
    expect(existsSync(session.path)).toBe(false)
    for (const named of [id, name]) {
      const ran = await cli("resurrect", "--", named)
      expect(ran).toMatchObject({ code: 0, stderr: "" })
      expect(ran.stdout).toContain("It cannot be resumed: its transcript is named")
      expect(ran.stdout).not.toContain("claude --resume")
      expect(readFileSync(session.path, "utf8")).toBe(content)
    }
    const { sessions } = JSON.parse((await cli("resurrect", id, "--json")).stdout)
    expect(sessions).toMatchObject([{ session: id, resume: [] }])
    expect(isStarted()).toBe(false)
  })

  test("export and view have it, forget removes it for good", async () => {
    const raw = await cli("export", id, "--raw")
    expect(raw).toMatchObject({ code: 0, stdout: content, stderr: "" })
    const page = join(machine.root, "page.html")
    expect(await cli("open", id, "-o", page)).toMatchObject({ code: 0, stderr: "" })
    expect(readFileSync(page, "utf8")).not.toContain("claude --resume")
    expect(await cli("forget", "--yes", "--", name === ".." ? id : name)).toMatchObject({
      code: 0,
      stderr: "",
    })
    expect(existsSync(machine.copy(session.path))).toBe(false)
    expect(await cli("import", "--quiet")).toMatchObject({ code: 0, stderr: "" })
    expect(existsSync(machine.copy(session.path))).toBe(false)
    expect((await cli("search", "theodolite", "-a")).code).toBe(3)
    expect(await cli("forget", "--undo", id)).toMatchObject({ code: 0, stderr: "" })
    expect(await cli("import", "--quiet")).toMatchObject({ code: 0, stderr: "" })
    expect(existsSync(machine.copy(session.path))).toBe(true)
    expect(isStarted()).toBe(false)
  })
})

test("ids of Claude Code's own kind stay as they are", async () => {
  using machine = new Machine()
  for (const id of ["5e551011-0000-4000-8000-00000000abcd", "my-session", "v1.2_x"]) {
    const session = machine.session({ id }).turn(`About ${id}`).flush()
    expect(await machine.hook("stop", session)).toMatchObject({ code: 0, stdout: "", stderr: "" })
    expect(machine.copy(session.path)).toEndWith(`/${id}.jsonl.zst`)
    rmSync(session.path)
    const ran = await run(["resume", id, "--dry-run"], { env: machine.env, cwd: machine.cwd })
    expect(ran).toMatchObject({ code: 0, stdout: `cd ${machine.cwd} && claude --resume ${id}\n`, stderr: "" })
  }
})
