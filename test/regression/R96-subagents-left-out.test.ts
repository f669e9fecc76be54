/** A subagent that works in an excluded folder was archived by the hook at its end, while job and import left it out. */
import { expect, test } from "bun:test"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { Machine } from "../support/machine.ts"
import { Transcript } from "../support/transcript.ts"

test("of a session that is archived, a subagent in an excluded folder is not", async () => {
  using machine = new Machine()
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
