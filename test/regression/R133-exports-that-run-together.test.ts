/**
 * What followed in an export ran into what came before: the first line of a subagent's transcript into a last line
 * without a newline (`--raw`), and all later turns into a fence that an answer had left open (`--md`). Lines that end in
 * CR LF became two in Markdown.
 */
import { expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, readFileSync, truncateSync, utimesSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

const cli = (machine: Machine, ...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })

test("each transcript begins on a line of its own, and one alone stays as it is", async () => {
  using machine = new Machine()
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
  using machine = new Machine()
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
  using machine = new Machine()
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
