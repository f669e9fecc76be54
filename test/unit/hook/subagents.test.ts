/** Transcripts of subagents. */
import { describe, expect, test } from "bun:test"
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { vaultFiles } from "../../../src/vault/vault-files.ts"
import { doneIn } from "../../support/events.ts"
import { Inside, run } from "../../support/inside.ts"
import type { Machine } from "../../support/machine.ts"
import { Transcript } from "../../support/transcript.ts"

/**
 * Some subagents go on from the conversation itself, and their transcripts begin with copies of it, under the same uuids:
 * one that summarizes it for a compaction, and forks. The session was told as forked from its own subagent, its prompts
 * were found twice, and what the copy held first was missing from the session.
 */
describe("subagents that copy the conversation", () => {
  const AGENT = "acompact-1a2b"
  const PROMPTS = ["Heat the kiln", "Open the kiln"]

  const lines = (text: string): string[] => text.trimEnd().split("\n")

  function begun(machine: Machine): Transcript {
    const session = machine.session({ version: "2.1.226" })
    const step = { tool: "Edit", input: { file_path: "/src/kiln.ts" }, output: "ok" }
    for (const prompt of PROMPTS) session.turn(prompt, [step], `${prompt}: done`)
    return session
  }

  /** What the subagent's transcript holds: the conversation, what it is asked, and its answer. */
  function summarizing({ text, session, options }: Transcript): string {
    const own = { isSidechain: true, agentId: AGENT }
    const copies = lines(text).map((line) => JSON.stringify({ ...JSON.parse(line), ...own }))
    const common = { ...own, sessionId: session, cwd: options.cwd, version: options.version }
    const asked = {
      type: "user",
      uuid: "c1",
      message: { role: "user", content: "Summarize it all" },
      ...common,
    }
    const content = [{ type: "text", text: "All is summarized" }]
    const said = {
      type: "assistant",
      uuid: "c2",
      message: { id: "m", role: "assistant", content },
      ...common,
    }
    return [...copies, JSON.stringify(asked), JSON.stringify(said), ""].join("\n")
  }

  async function told(machine: Machine, session: Transcript) {
    const { code, stdout, stderr } = await run(["show", session.session, "--json"], machine)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    using db = machine.views()
    const rows = (sql: string) => db.query<{ text: string }, []>(sql).all()
    return {
      turns: JSON.parse(stdout).turns.map(({ prompt, tools }: { prompt: string; tools: number }) => [
        prompt,
        tools,
      ]),
      answers: rows("SELECT answer AS text FROM turns WHERE session NOT LIKE '%/%' ORDER BY seq"),
      briefs: rows("SELECT prompt AS text FROM turns WHERE session LIKE '%/%' ORDER BY seq"),
      lineage: rows("SELECT child AS text FROM lineage"),
    }
  }

  /** A subagent ends: the host has written all of its session by then, or only a part. */
  async function played(machine: Machine, isWritten: boolean): Promise<Transcript> {
    const session = begun(machine)
    const path = join(session.path.replace(/\.jsonl$/, ""), "subagents", `agent-${AGENT}.jsonl`)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, summarizing(session))
    const all = lines(session.text)
    session.discard()
    const before = isWritten ? all.length : 3
    for (const line of all.slice(0, before)) session.raw(line)
    const fields = {
      agent_type: "",
      agent_id: AGENT,
      agent_transcript_path: path,
      last_assistant_message: "x",
    }
    await machine.hook("subagent-stop", session.flush(), fields)
    expect(await run(["sessions"], machine)).toMatchObject({ code: 0, stderr: "" })
    for (const line of all.slice(before)) session.raw(line)
    await machine.hook("stop", session.flush())
    return session
  }

  const WHOLE = {
    turns: PROMPTS.map((prompt) => [prompt, 1]),
    answers: PROMPTS.map((prompt) => ({ text: `${prompt}: done` })),
    lineage: [],
  }

  test("all of the conversation is the session's, and the subagent has what is its own", async () => {
    using machine = new Inside()
    const session = await played(machine, true)
    expect(await told(machine, session)).toEqual({ ...WHOLE, briefs: [{ text: "Summarize it all" }] })
    const { stdout } = await run(["search", "kiln", "--json"], machine)
    const hits: { session: string }[] = JSON.parse(stdout).hits
    expect(new Set(hits.map((hit) => hit.session))).toEqual(new Set([session.session]))
  })

  test("also where the subagent's copy was read first; made anew, it has no copies", async () => {
    using machine = new Inside()
    const session = await played(machine, false)
    expect(await told(machine, session)).toMatchObject(WHOLE)
    expect(await run(["rebuild"], machine)).toMatchObject({ code: 0, stderr: "" })
    expect(await told(machine, session)).toEqual({ ...WHOLE, briefs: [{ text: "Summarize it all" }] })
  })
})

/** A subagent that works in an excluded folder was archived by the hook at its end, while job and import left it out. */
test("of a session that is archived, a subagent in an excluded folder is not", async () => {
  using machine = new Inside()
  const config = join(machine.home, ".config", "ctxbridge", "config.toml")
  mkdirSync(dirname(config), { recursive: true })
  writeFileSync(config, `[capture]\nexclude = ["${machine.root}/diary"]\n`)
  const session = machine.session({ version: "2.1.329" }).turn("Sweep the kiln").flush()
  const ended = async (agent: string, cwd: string): Promise<boolean> => {
    const path = join(session.path.replace(/\.jsonl$/, ""), "subagents", `agent-${agent}.jsonl`)
    const { session: id, options } = session
    new Transcript({ ...options, session: id, cwd, path, agent }).turn("Look for ashes").flush()
    const fields = { agent_id: agent, agent_type: "Explore", agent_transcript_path: path }
    const ran = await machine.hook("subagent-stop", session, fields)
    expect(ran).toMatchObject({ code: 0, stdout: "", stderr: "" })
    return existsSync(machine.copy(path))
  }
  expect(await ended("a1", join(machine.root, "diary", "may"))).toBe(false)
  expect(await ended("a2", machine.cwd)).toBe(true)
  expect(existsSync(machine.copy(session.path))).toBe(true)
})

/**
 * Hosts keep the agents of a workflow one folder deeper than other subagents, beside a journal. They were nobody's, and so
 * neither forgotten nor written back with their session.
 */
describe("agents of workflows", () => {
  const VERSION = "2.1.329"

  /** A session with two agents and a journal: the paths of all four. */
  function written(machine: Machine): { session: Transcript; paths: string[] } {
    const session = machine.session({ version: VERSION }).turn("Heat all kilns").flush()
    const folder = join(session.path.replace(/\.jsonl$/, ""), "subagents", "workflows", "wf_1")
    const agents = ["a1", "a2"].map((agent) => {
      const path = join(folder, `agent-${agent}.jsonl`)
      const lines = new Transcript({ ...session.options, path, agent }).turn("Heat this one ".repeat(1000))
      mkdirSync(folder, { recursive: true })
      writeFileSync(path, lines.text.split("\n").map(nameLast).join("\n"))
      return path
    })
    const journal = join(folder, "journal.jsonl")
    const entry = { type: "result", key: "v2:1", agentId: "a1", result: { heat: 1180 } }
    writeFileSync(journal, `${JSON.stringify(entry)}\n`)
    return { session, paths: [session.path, ...agents, journal] }
  }

  /** These hosts write what was said first, and whose it is behind that. */
  function nameLast(line: string): string {
    if (line === "") return line
    const { sessionId, cwd, version, ...fields } = JSON.parse(line)
    return JSON.stringify({ ...fields, cwd, sessionId, version })
  }

  const cli = (machine: Machine, ...words: string[]) => run(words, { cwd: machine.cwd, env: machine.env })

  test("they are the session's: shown, written back and forgotten with it", async () => {
    using machine = new Inside()
    const { session, paths } = written(machine)
    expect(await cli(machine, "import")).toMatchObject({ code: 0, stderr: "" })
    expect((await cli(machine, "show", session.session)).stdout).toMatch(/^2 subagents: \S+\/a1, \S+\/a2$/m)

    const before = paths.map((path) => readFileSync(path, "utf8"))
    rmSync(dirname(session.path), { recursive: true })
    expect(await cli(machine, "resurrect", session.session)).toMatchObject({ code: 0, stderr: "" })
    expect(paths.map((path) => readFileSync(path, "utf8"))).toEqual(before)

    expect(await cli(machine, "forget", session.session, "--yes")).toMatchObject({ code: 0, stderr: "" })
    expect(vaultFiles(machine.dataHome)).toEqual([])
    expect(await cli(machine, "import")).toMatchObject({ code: 0, stderr: "" })
    expect(vaultFiles(machine.dataHome)).toEqual([])
  })

  test("left out with the session's folder; the journal, which names none, as the session", async () => {
    for (const [folder, taken] of [
      ["project", 0],
      ["diary", 4],
    ] as const) {
      using machine = new Inside()
      const config = join(machine.home, ".config", "ctxbridge", "config.toml")
      mkdirSync(dirname(config), { recursive: true })
      writeFileSync(config, `[capture]\nexclude = ["${machine.root}/${folder}"]\n`)
      written(machine)
      const imported = await cli(machine, "import", "--json")
      expect(imported).toMatchObject({ code: 0, stderr: "" })
      const { files } = doneIn(imported.stdout)
      const excluded = files.filter((file: { excluded: boolean }) => file.excluded)
      expect([vaultFiles(machine.dataHome).length, excluded.length]).toEqual([taken, 4 - taken])
    }
  })
})
