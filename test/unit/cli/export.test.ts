/** `ctxbridge export`. */
import { describe, expect, test } from "bun:test"
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import { Inside, run } from "../../support/inside.ts"
import type { Machine } from "../../support/machine.ts"

/**
 * `export --force` emptied the file that was there before anything was written, and removed it when the export failed: by a
 * damaged vault, or a full disk, the last good export was lost. A full disk was blamed on the archive.
 */
describe("over a file that is there", () => {
  async function archived() {
    const machine = new Inside()
    const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
    const session = machine.session()
    // More than one frame of the vault.
    for (let n = 0; n < 3; n++) session.turn(`${n} ${"word ".repeat(60_000)}`)
    session.flush()
    expect(await cli("import")).toMatchObject({ code: 0, stderr: "" })
    return { machine, cli, session }
  }

  test("what is there stays when the export fails, and goes when it is whole", async () => {
    const { machine, cli, session } = await archived()
    using _ = machine
    const file = join(machine.cwd, "kept.jsonl")
    writeFileSync(file, "the last good export", { mode: 0o644 })
    symlinkSync("kept.jsonl", join(machine.cwd, "link.jsonl"))
    const copy = machine.copy(session.path)
    const bytes = readFileSync(copy)
    // In the middle of the last frame: those before it are written first.
    bytes.fill(0, bytes.length - 150, bytes.length - 110)
    const sound = readFileSync(copy)
    writeFileSync(copy, bytes)
    const failed = await cli("export", session.session, "--raw", "--output", "link.jsonl", "--force")
    expect(failed).toMatchObject({ code: 1, stdout: "" })
    expect(failed.stderr).toContain("ctxbridge verify")
    expect(readFileSync(file, "utf8")).toBe("the last good export")
    expect(readdirSync(machine.cwd).sort()).toEqual(["kept.jsonl", "link.jsonl"])

    writeFileSync(copy, sound)
    const done = await cli("export", session.session, "--raw", "--output", "link.jsonl", "--force")
    expect(done).toMatchObject({ code: 0, stderr: "" })
    expect(readFileSync(file)).toEqual(readFileSync(session.path))
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(lstatSync(join(machine.cwd, "link.jsonl")).isSymbolicLink()).toBe(true)
    expect(readdirSync(machine.cwd).sort()).toEqual(["kept.jsonl", "link.jsonl"])
  })

  test.skipIf(!existsSync("/dev/full"))("a full disk is told as the file's, not the archive's", async () => {
    const { machine, cli, session } = await archived()
    using _ = machine
    const { code, stdout, stderr } = await cli("export", session.session, "-o", "/dev/full", "--force")
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    expect(stderr).toMatch(/^ctxbridge: cannot write \/dev\/full: ENOSPC.*\nhint: .*\n$/)
  })
})

/**
 * What followed in an export ran into what came before: the first line of a subagent's transcript into a last line
 * without a newline (`--raw`), and all later turns into a fence that an answer had left open (`--md`). Lines that end in
 * CR LF became two in Markdown.
 */
describe("what follows does not run into what comes before", () => {
  const cli = (machine: Machine, ...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })

  test("each transcript begins on a line of its own, and one alone stays as it is", async () => {
    using machine = new Inside()
    const session = machine.session().turn("One.").flush()
    const size = readFileSync(session.path).length
    // The host was killed.
    truncateSync(session.path, size - 1)
    const then = Date.now() / 1000 - 86_400
    utimesSync(session.path, then, then)
    const agent = join(dirname(session.path), session.session, "subagents", "agent-abc.jsonl")
    mkdirSync(dirname(agent), { recursive: true })
    const brief = { role: "user", content: "Look." }
    const line = { type: "user", uuid: "a1", sessionId: session.session, agentId: "abc", isSidechain: true }
    writeFileSync(agent, `${JSON.stringify({ ...line, cwd: machine.cwd, message: brief })}\n`)
    expect((await cli(machine, "import")).code).toBe(0)
    const [own, agents] = [readFileSync(session.path, "utf8"), readFileSync(agent, "utf8")]
    expect((await cli(machine, "export", session.session, "--raw")).stdout).toBe(own)
    expect((await cli(machine, "export", session.session, "--raw", "--agents")).stdout).toBe(
      `${own}\n${agents}`,
    )
  })

  test("an open fence ends with its answer", async () => {
    using machine = new Inside()
    const session = machine.session()
    session
      .user("Show it.")
      .say("Here:\n\n~~~~ts\n```\nconst a = 1")
      .user("And?")
      .say("```js\nb\n```\nDone.")
      .flush()
    expect((await cli(machine, "import")).code).toBe(0)
    const { stdout } = await cli(machine, "export", session.session)
    expect(stdout).toContain("\n~~~~ts\n```\nconst a = 1\n~~~~\n\n## 2. And?\n")
    expect(stdout).toEndWith("\n```js\nb\n```\nDone.\n")
  })

  test("a line that ends in CR LF is one line", async () => {
    using machine = new Inside()
    const input = { file_path: "/a", old_string: "x\r\ny", new_string: "z" }
    const session = machine
      .session()
      .turn("a\r\n\r\nb", [{ tool: "Edit", input, output: "ok" }])
      .flush()
    expect((await cli(machine, "import")).code).toBe(0)
    const { stdout } = await cli(machine, "export", session.session)
    expect(stdout).toContain("\n> a\n> \n> b\n")
    expect(stdout).toContain("\nold_string:\n    x\r\n    y\nnew_string: z\n")
  })
})

describe("several sessions, and the conversation alone", () => {
  async function two() {
    const machine = new Inside()
    const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
    const call = { tool: "Bash", input: { command: "make kiln" }, output: "FAIL in line 3", isError: true }
    const sessions = ["Build the kiln", "Paint the door"].map((prompt) =>
      machine.session().turn(prompt, [call], `Done: ${prompt}`).flush(),
    )
    expect(await cli("import")).toMatchObject({ code: 0, stderr: "" })
    return { machine, cli, ids: sessions.map(({ session }) => session) }
  }

  test("in the order they are named, with heads of their own", async () => {
    const { machine, cli, ids } = await two()
    using _ = machine
    const ran = await cli("export", ids[1]!, ids[0]!)
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    expect(ran.stdout.match(/^- session: .*$/gm)).toEqual([`- session: ${ids[1]}`, `- session: ${ids[0]}`])
    expect(ran.stdout).toContain("make kiln")
  })

  test("once, however often a session is named", async () => {
    const { machine, cli, ids } = await two()
    using _ = machine
    const one = await cli("export", "--html", ids[0]!)
    expect(await cli("export", "--html", ids[0]!, ids[0]!)).toMatchObject({ code: 0, stdout: one.stdout })
    expect((await cli("export", ids[0]!, ids[1]!, ids[0]!)).stdout.match(/^- session: /gm)).toHaveLength(2)
  })

  test("--conversation leaves out tools, as Markdown and as JSON lines", async () => {
    const { machine, cli, ids } = await two()
    using _ = machine
    for (const format of ["--md", "--jsonl"]) {
      const ran = await cli("export", ids[0]!, "--conversation", format)
      expect(ran).toMatchObject({ code: 0, stderr: "" })
      expect(ran.stdout).toContain("Build the kiln")
      expect(ran.stdout).toContain("Done: Build the kiln")
      expect(ran.stdout).not.toContain("FAIL in line 3")
    }
    expect((await cli("export", ids[0]!, "--conversation")).stdout).not.toContain("make kiln")
  })

  test("what cannot be: refused before anything is written", async () => {
    const { machine, cli, ids } = await two()
    using _ = machine
    for (const args of [
      [...ids, "--raw"],
      [ids[0]!, "--raw", "--conversation"],
    ])
      expect(await cli("export", ...args)).toMatchObject({ code: 64, stdout: "" })
    expect(await cli("export", ids[0]!, "nosuchname")).toMatchObject({ code: 3, stdout: "" })
  })
})
