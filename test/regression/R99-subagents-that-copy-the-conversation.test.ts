/**
 * Some subagents go on from the conversation itself, and their transcripts begin with copies of it, under the same uuids:
 * one that summarizes it for a compaction, and forks. The session was told as forked from its own subagent, its prompts
 * were found twice, and what the copy held first was missing from the session.
 */
import { expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(60_000)

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
  const said = { type: "assistant", uuid: "c2", message: { id: "m", role: "assistant", content }, ...common }
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
  const fields = { agent_type: "", agent_id: AGENT, agent_transcript_path: path, last_assistant_message: "x" }
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
  using machine = new Machine()
  const session = await played(machine, true)
  expect(await told(machine, session)).toEqual({ ...WHOLE, briefs: [{ text: "Summarize it all" }] })
  const { stdout } = await run(["search", "kiln", "--json"], machine)
  const hits: { session: string }[] = JSON.parse(stdout).hits
  expect(new Set(hits.map((hit) => hit.session))).toEqual(new Set([session.session]))
})

test("also where the subagent's copy was read first; made anew, it has no copies", async () => {
  using machine = new Machine()
  const session = await played(machine, false)
  expect(await told(machine, session)).toMatchObject(WHOLE)
  expect(await run(["rebuild"], machine)).toMatchObject({ code: 0, stderr: "" })
  expect(await told(machine, session)).toEqual({ ...WHOLE, briefs: [{ text: "Summarize it all" }] })
})
