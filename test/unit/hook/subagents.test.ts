import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { vaultFiles } from "../../../src/vault/vault-files.ts"
import type { Ran } from "../../support/binary.ts"
import { doneIn } from "../../support/events.ts"
import { Inside, run } from "../../support/inside.ts"
import { contextOf, type Machine } from "../../support/machine.ts"
import { Transcript } from "../../support/transcript.ts"

/** Transcripts of subagents. */
describe("subagents", () => {
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

    /** A subagent ends: Claude Code has written all of its session by then, or only a part. */
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
   * Claude Code keeps the agents of a workflow one folder deeper than other subagents, beside a journal. They were
   * nobody's, and so neither forgotten nor written back with their session.
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

    /** These versions of Claude Code write what was said first, and whose it is behind that. */
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
})

/** What Claude Code's summary says is not given back again. */
/**
 * The restore said again what the summary says where Claude Code had written both compaction and summary down before it
 * called the hook of the new start, and where the announcement had been lost.
 */
describe("a summary that is there already", () => {
  const RULE = "Never touch the generated files."
  const FILE = "/src/app/client.ts"
  const SUMMARY = `The user wants this: ${RULE}`

  const begun = (machine: Machine): Transcript =>
    machine
      .session()
      .turn(`Add retries to the client. ${RULE}`, [
        { tool: "Edit", input: { file_path: FILE }, output: "ok" },
      ])
      .flush()

  async function givenAtStart(machine: Machine, session: Transcript): Promise<string> {
    return contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
  }

  test("what the summary says is left out, whether or not the compaction was announced", async () => {
    for (const isAnnounced of [true, false]) {
      using machine = new Inside()
      const session = begun(machine)
      if (isAnnounced) await machine.hook("pre-compact", session, { trigger: "auto" })
      session.boundary().summary(SUMMARY).flush()
      const given = await givenAtStart(machine, session)
      expect(given).toContain(FILE)
      expect(given).not.toContain("Standing user constraints")
    }
  })

  test("the summary of an earlier compaction says nothing of this one", async () => {
    using machine = new Inside()
    const session = begun(machine).boundary().summary(SUMMARY).turn("go on").flush()
    const given = await givenAtStart(machine, session)
    expect(given).toContain(FILE)
    expect(given).toContain("Standing user constraints")
  })

  test("a summary is known by its form where the announcement was lost", async () => {
    using machine = new Inside()
    const session = begun(machine)
    const message = `<analysis>Retries.</analysis><summary>${SUMMARY}</summary>`
    await machine.hook("subagent-stop", session, { agent_type: "", last_assistant_message: message })
    const given = await givenAtStart(machine, session)
    expect(given).toContain(FILE)
    expect(given).not.toContain("Standing user constraints")
  })
})

/** What the new context holds already is not given back, and nothing at all when nothing is missing. */
describe("complement", () => {
  setDefaultTimeout(60_000)

  const RULE = "Never touch the generated files."
  const NAMED = "retryAfter"

  function given(ran: Ran): string {
    expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code: 0, stderr: "" })
    return contextOf(ran) ?? ""
  }

  /** What a compaction is followed by; versions of Claude Code from 2.1 on say its summary. */
  async function compacted(machine: Machine, session: Transcript, summary?: string): Promise<string> {
    await machine.hook("pre-compact", session, { trigger: "auto", custom_instructions: "" })
    if (summary !== undefined) {
      const fields = { agent_type: "", agent_id: "a", agent_transcript_path: "", stop_hook_active: false }
      await machine.hook("subagent-stop", session, { ...fields, last_assistant_message: summary })
    }
    return given(await machine.hook("session-start", session, { source: "compact" }))
  }

  const cleared = async (machine: Machine, session: Transcript): Promise<string> => {
    await machine.hook("session-end", session, { reason: "clear" })
    return given(await machine.hook("session-start", machine.session(), { source: "clear" }))
  }

  /** A fixed folder: a random one has names in it. */
  const FOLDER = "/srv/app"
  const FILE = `${FOLDER}/src/deep/client.ts`

  function worked(machine: Machine, version = "2.1.112", folder = FOLDER): Transcript {
    const session = machine.session({ version, cwd: folder })
    const input = { file_path: FILE.replace(FOLDER, folder), old_string: "a", new_string: "b" }
    session.turn(`Add retries. ${RULE}`, [{ tool: "Edit", input, output: "ok" }], `Done, see ${NAMED}.`)
    return session.flush()
  }

  test("what the folder's and the user's memory files say is left out", async () => {
    using machine = new Inside()
    const claude = join(machine.home, ".claude")
    const sub = join(machine.cwd, "packages", "a")
    mkdirSync(sub, { recursive: true })
    mkdirSync(claude, { recursive: true })
    const slug = sub.replaceAll(/[^A-Za-z0-9]/g, "-")
    const memory = join(claude, "projects", slug, "memory")
    mkdirSync(memory, { recursive: true })
    const places = [
      join(sub, "CLAUDE.md"),
      join(machine.cwd, "CLAUDE.md"),
      join(machine.cwd, "CLAUDE.local.md"),
      join(machine.cwd, ".claude", "CLAUDE.md"),
      join(claude, "CLAUDE.md"),
      join(memory, "MEMORY.md"),
    ]
    mkdirSync(join(machine.cwd, ".claude"))
    for (const [n, place] of places.entries()) {
      const session = machine.session({ cwd: sub })
      session.turn(`Add retries ${n}. ${RULE}`, [], `Done, see ${NAMED}.`).flush()
      expect(await compacted(machine, session)).toContain(`- "${RULE}"`)
      session.boundary("manual").summary("1. Work").turn("Go on.", [], "Yes.").flush()
      writeFileSync(place, `# Rules\n- ${RULE.toLowerCase().replaceAll(" ", "\n")}\n`)
      const told = await compacted(machine, session)
      expect({ place: told.includes(`- "${RULE}"`), name: told.includes(NAMED) }).toEqual({
        place: false,
        name: true,
      })
      rmSync(place)
    }
  })

  test("the same is left out after /clear", async () => {
    using machine = new Inside()
    writeFileSync(join(machine.cwd, "CLAUDE.md"), RULE)
    const session = machine.session()
    session.turn(`Add retries. ${RULE}`, [], `Done, see ${NAMED}.`).flush()
    const told = await cleared(machine, session)
    expect(told).not.toContain(`- "${RULE}"`)
    expect(told).toContain(NAMED)
  })

  test("a memory file that is not a regular file does not block", async () => {
    using machine = new Inside()
    execFileSync("mkfifo", [join(machine.cwd, "CLAUDE.md")])
    mkdirSync(join(machine.home, ".claude", "CLAUDE.md"), { recursive: true })
    const session = machine.session()
    session.turn(`Add retries. ${RULE}`, [], "Done.").flush()
    expect(await compacted(machine, session)).toContain(`- "${RULE}"`)
  })

  test("nothing is given back when the summary contains everything", async () => {
    using machine = new Inside()
    const session = worked(machine)
    const summary = `<summary>Add retries. ${RULE} Edited src/deep/client.ts; ${NAMED}.</summary>`
    expect(await compacted(machine, session, summary)).toBe("")
  })

  test("nothing is given back when nothing was said", async () => {
    using machine = new Inside()
    const session = machine.session()
    expect(await compacted(machine, session)).toBe("")
    expect(await cleared(machine, session)).toBe("")
  })

  test("what newer hosts keep of the last answer is left out; what was done to a file that they show is told", async () => {
    for (const [version, isKept] of [
      ["2.0.75", false],
      ["2.0.76", false],
      ["2.1.329", true],
    ] as const) {
      using machine = new Inside()
      const file = FILE.replace(FOLDER, machine.cwd)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, "b")
      const told = await compacted(machine, worked(machine, version, machine.cwd))
      expect(told).toContain(`- "${RULE}"`)
      expect(told.includes(NAMED)).toBe(!isKept)
      expect(told).toContain("- `src/deep/client.ts`: edited")
    }
  })

  test("in the middle of the work, newer hosts keep what is said in the last message; its calls are given all the same", async () => {
    const check = { tool: "Bash", input: { command: "npm run check" }, output: "ok" }
    const lint = { tool: "Bash", input: { command: "npm run lint" }, output: "ok" }
    for (const version of ["2.1.112", "2.1.329"]) {
      const isKept = version === "2.1.329"
      using machine = new Inside()
      const session = machine.session({ version })
      session.user(`Add retries. ${RULE}`).message().say(`First ${NAMED}.`).step(check).flush()
      const after = await compacted(machine, session)
      expect(after.includes(NAMED)).toBe(!isKept)
      expect(after).toContain("npm run check")

      // A message of its own, in which nothing is said.
      const next = await compacted(machine, session.step(lint).flush())
      expect(next).toContain(NAMED)
      expect(next).toContain("npm run check")
      expect(next).toContain("npm run lint")
    }
  })
})
