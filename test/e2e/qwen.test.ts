/** Sessions of Qwen Code beside those of Claude Code: found, imported, listed, searched, shown, counted and verified. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { mkdirSync, renameSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { fullChat, QwenChat } from "../support/qwen-chat.ts"

const ID = "0a1b2c3d-0000-4000-8000-000000000001"

const machine = new Machine()
const folder = join(machine.home, ".qwen")
const options = { folder, session: ID, cwd: machine.cwd }
const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
const json = async (...args: string[]) => JSON.parse((await cli(...args, "--json")).stdout)

beforeAll(async () => {
  machine.session().turn("Why does the kiln overheat in winter?").flush()
  fullChat(options).flush()
  new QwenChat({ ...options, agent: "explore-call_1" })
    .user(["Look at the valve"])
    .answer("A lever is loose.")
    .flush()
  expect(await cli("import")).toMatchObject({
    code: 0,
    stderr: "",
    stdout: expect.stringContaining("3 transcripts examined, 2 of Qwen Code\n"),
  })
})

afterAll(() => machine[Symbol.dispose]())

test("a second import finds nothing new, and every byte is there", async () => {
  expect((await cli("import")).stdout).toContain("Nothing new: everything was already archived")
  expect(await cli("verify")).toMatchObject({ code: 0, stdout: expect.stringContaining("3 complete") })
})

test("sessions, search and stats narrow to them", async () => {
  expect((await json("sessions", "--agent", "qwen")).sessions).toMatchObject([{ id: ID, program: "qwen" }])
  const hits = async (...args: string[]) => (await json("search", ...args)).hits as { program?: string }[]
  expect((await hits("kiln overheat", "--agent", "qwen")).map(({ program }) => program)).toEqual(["qwen"])
  expect((await hits("kiln overheat", "--agent", "claude")).map(({ program }) => program)).toEqual([
    undefined,
  ])
  expect((await hits("valve", "--error"))[0]).toMatchObject({ program: "qwen", tool: "run_shell_command" })
  expect((await cli("search", "zeppelins")).code).toBe(3)
  expect(await json("stats", "--agent", "qwen")).toMatchObject({
    total: { tokens: { input: 4200, cacheRead: 2800, output: 140 } },
  })
})

test("show tells a session, its subagent and its turns", async () => {
  const session = await json("show", ID)
  expect(session.session).toMatchObject({ program: "qwen", version: "0.24.4", branch: "main", turns: 2 })
  expect(session.lineage.subagents).toEqual([`${ID}/explore-call_1`])
  const turn = (await cli("show", session.turns[0].handle)).stdout
  expect(turn).toContain("$ npm test")
  expect(turn).toContain("result of run_shell_command (error, exit 1)")
  expect(turn).toContain("The valve was mended.")
})

test("resume names Qwen Code's command; resurrect says that it takes none back", async () => {
  expect(await cli("resume", ID, "--print")).toMatchObject({
    code: 0,
    stdout: `cd ${machine.cwd} && qwen --resume ${ID}\n`,
    stderr: "",
  })
  expect(await cli("resurrect", ID)).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("Qwen Code takes no session back from a file; --to names a folder"),
  })
})

test("one that is put aside keeps its copy, and what follows is archived", async () => {
  const chat = fullChat(options)
  const from = chat.lines.length
  const archived = join(dirname(chat.path), "archive", basename(chat.path))
  mkdirSync(dirname(archived))
  renameSync(chat.path, archived)
  expect((await cli("import")).stdout).toContain("Nothing new")
  renameSync(archived, chat.path)
  chat.user(["Polish the brass knob."]).answer("Polished.").flush(from)
  expect((await cli("import")).stdout).toContain("from 1 transcript")
  expect((await json("search", "brass knob", "--agent", "qwen")).hits).toHaveLength(1)
})

test("a rebuild leaves all as it was", async () => {
  const before = await json("sessions", "--agents")
  expect(await cli("rebuild")).toMatchObject({ code: 0 })
  expect(await json("sessions", "--agents")).toEqual(before)
})
