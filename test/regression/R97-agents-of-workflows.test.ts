/**
 * Hosts keep the agents of a workflow one folder deeper than other subagents, beside a journal. They were nobody's, and so
 * neither forgotten nor written back with their session.
 */
import { expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { vaultFiles } from "../../src/vault/walk.ts"
import { run } from "../support/binary.ts"
import { doneIn } from "../support/events.ts"
import { Machine } from "../support/machine.ts"
import { Transcript } from "../support/transcript.ts"

setDefaultTimeout(60_000)

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
  using machine = new Machine()
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
    using machine = new Machine()
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
