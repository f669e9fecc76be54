/** Sessions of Gemini CLI beside those of Claude Code: found, imported, listed, searched, shown, counted and verified. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { fullChat, GeminiChat } from "../support/gemini-chat.ts"
import { Machine } from "../support/machine.ts"

const ID = "0a1b2c3d-0000-4000-8000-000000000001"
const AGENT = "1a1b2c3d-0000-4000-8000-00000000000a"

const machine = new Machine()
const options = { home: machine.home, session: ID, cwd: machine.cwd }
const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
const json = async (...args: string[]) => JSON.parse((await cli(...args, "--json")).stdout)

beforeAll(async () => {
  machine.session().turn("Why does the kiln overheat in winter?").flush()
  fullChat(options).flush()
  new GeminiChat({ ...options, agent: AGENT }).user(["Look at it"]).answer("A lever is loose.").flush()
  expect(await cli("import")).toMatchObject({
    code: 0,
    stderr: "",
    stdout: expect.stringContaining("3 transcripts examined, 2 of Gemini CLI\n"),
  })
})

afterAll(() => machine[Symbol.dispose]())

test("a second import finds nothing new, and every byte is there", async () => {
  expect((await cli("import")).stdout).toContain("Nothing new: everything was already archived")
  expect(await cli("verify")).toMatchObject({ code: 0, stdout: expect.stringContaining("3 complete") })
})

test("sessions, search and stats narrow to them", async () => {
  expect((await json("sessions", "--agent", "gemini")).sessions).toMatchObject([
    { id: ID, program: "gemini" },
  ])
  const hits = async (...args: string[]) => (await json("search", ...args)).hits as { program?: string }[]
  expect((await hits("kiln overheat", "--agent", "gemini")).map(({ program }) => program)).toEqual(["gemini"])
  expect((await hits("valve", "--error"))[0]).toMatchObject({ program: "gemini", tool: "run_shell_command" })
  expect((await cli("search", "zeppelins")).code).toBe(3)
  expect(await json("stats", "--agent", "gemini")).toMatchObject({
    total: { tokens: { input: 4200, cacheRead: 2800, output: 175 } },
  })
})

test("show tells a session, its subagent and its turns, with each call and result once", async () => {
  const session = await json("show", ID)
  expect(session.session).toMatchObject({ program: "gemini", turns: 2 })
  expect(session.lineage.subagents).toEqual([`${ID}/${AGENT}`])
  const turn = (await cli("show", session.turns[0].handle)).stdout
  expect(turn.split("$ npm test")).toHaveLength(2)
  expect(turn.split("1 failed: valve")).toHaveLength(2)
  expect(turn).toContain("result of run_shell_command (error, exit 1)")
  expect(turn.split("The valve was mended.")).toHaveLength(2)
  const page = await cli("export", session.turns[1].handle)
  expect(page.stdout.split("all passed")).toHaveLength(2)
})

test("resume names Gemini CLI's command; resurrect says that it takes none back", async () => {
  expect(await cli("resume", ID, "--print")).toMatchObject({
    code: 0,
    stdout: `cd ${machine.cwd} && gemini --resume ${ID}\n`,
    stderr: "",
  })
  expect(await cli("resurrect", ID)).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("Gemini CLI takes no session back from a file; --to names a folder"),
  })
})

test("what is written later is archived", async () => {
  const chat = fullChat(options)
  const from = chat.lines.length
  chat.user(["Polish the brass knob."]).call("list_directory", {}, { output: "knob.txt" }).flush(from)
  expect((await cli("import")).stdout).toContain("from 1 transcript")
  expect((await json("search", "brass knob", "--agent", "gemini")).hits).toHaveLength(1)
})

test("an old session, one document, is archived as it grows, also by its name", async () => {
  const path = join(machine.home, ".gemini/tmp/kiln/chats/session-2026-01-02T03-04-2b3c4d5e.json")
  writeFileSync(join(machine.home, ".gemini/tmp/kiln/.project_root"), machine.cwd)
  const old = "2b3c4d5e-0000-4000-8000-000000000001"
  const said = (id: string, type: string, content: string) => ({
    id,
    timestamp: "2026-01-02T03:04:05.000Z",
    type,
    content,
  })
  const write = (...messages: object[]) =>
    writeFileSync(
      path,
      JSON.stringify(
        { sessionId: old, projectHash: "f", startTime: "2026-01-02T03:04:05.000Z", messages },
        null,
        2,
      ),
    )
  write(said("a", "user", "Sweep the sooty chimney."))
  expect(await cli("import", path, "--dry-run")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("Would archive"),
  })
  expect(await cli("import", path)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("1 transcript examined, 1 of Gemini CLI"),
  })
  expect((await cli("import")).stdout).toContain("Nothing new")
  write(said("a", "user", "Sweep the sooty chimney."), said("b", "gemini", "It gleams."))
  expect(await cli("verify")).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("1 with bytes that are not archived yet"),
  })
  expect((await cli("import")).stdout).toContain("from 1 transcript")
  expect(await cli("verify")).toMatchObject({ code: 0 })
  expect((await json("search", "sooty chimney")).hits).toMatchObject([{ session: old, program: "gemini" }])
  expect((await cli("show", old)).stdout).toContain("1 turn ")
})

test("a compaction whose list has megabytes is answered at the next tool, once", async () => {
  using other = new Machine()
  const chat = new GeminiChat({ home: other.home, session: ID, cwd: other.cwd })
  let told = 0
  const hook = async (event: string, fields: object = {}): Promise<string> => {
    chat.flush(told)
    told = chat.lines.length
    const stdin = JSON.stringify({ session_id: ID, transcript_path: chat.path, cwd: other.cwd, ...fields })
    const { code, stdout, stderr } = await run(["hook", event, "gemini"], {
      env: other.env,
      cwd: other.cwd,
      stdin,
    })
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return stdout
  }
  const text = "The kiln.\n".repeat(300_000)
  expect(await hook("session-start", { source: "startup" })).toBe("")
  expect(await hook("user-prompt-submit", { prompt: "Mend the kiln." })).toBe("")
  chat.user(["Mend the kiln."]).call("read_file", { file_path: "/kiln" }, { output: text })
  expect(await hook("post-tool-use")).toBe("")
  chat.compaction("<state_snapshot>The kiln.</state_snapshot>").shell("npm test", "ok", 0)
  expect(await hook("post-tool-use")).toContain("ctxbridge-restore")
  chat.shell("npm test", "ok", 0)
  expect(await hook("post-tool-use")).toBe("")
  chat.answer("Mended.")
  expect(await hook("stop")).toBe("")
  expect(await hook("user-prompt-submit", { prompt: "Go on." })).toBe("")
})

test("a rebuild leaves all as it was", async () => {
  const before = await json("sessions", "--agents")
  expect(await cli("rebuild")).toMatchObject({ code: 0 })
  expect(await json("sessions", "--agents")).toEqual(before)
})
