/** A session that the host has deleted goes on in the real clients, once it is written back from the vault. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { clearStages, expectArchived, openStage, transcripts } from "./checks.ts"
import { clientFor } from "./clients.ts"
import { runPrint } from "./drive.ts"
import { delegate, say } from "./mock-api.ts"
import { ctxbridge, endJobs, hookCalls, until, type World } from "./world.ts"

setDefaultTimeout(240_000)

const PROMPT = "Remember the heron at the weir"
const ANSWER = "The heron is noted."
const LATER = "Which bird was it?"

const projects = (world: World): string => join(world.home, ".claude", "projects")

function contents(world: World): Record<string, string> {
  const names = transcripts(world).filter((name) => Bun.file(join(projects(world), name)).size > 0)
  return Object.fromEntries(
    names.map((name) => [name, readFileSync(join(projects(world), name), "base64")] as const),
  )
}

for (const wanted of ["2.0.76", "2.1.112", "latest"]) {
  const { client, missing } = await clientFor(wanted, `resurrection with Claude Code ${wanted}`)

  describe.skipIf(missing !== undefined)(`Claude Code ${wanted}`, () => {
    afterAll(clearStages)

    test("resumes a session that was deleted and written back", async () => {
      const stage = openStage(client)
      const { world, mock } = stage
      mock.plan(PROMPT, [delegate("Look for feathers"), say(ANSWER)])
      mock.plan("Look for feathers", [say("None left.")])
      mock.plan(LATER, [say("A heron.")])

      const played = await runPrint(world, [PROMPT])
      expect({ code: played.code, stderr: played.stderr }).toEqual({ code: 0, stderr: "" })
      await until("the end of the session", () =>
        hookCalls(world).some(({ event }) => event === "SessionEnd"),
      )
      await expectArchived(stage)
      // What was still to be looked at is in the vault; nothing shall write while the files go.
      endJobs(world.root)
      const before = contents(world)
      const own = Object.keys(before).filter((name) => name.includes(played.sessionId))
      expect(own.length).toBeGreaterThan(0)
      rmSync(projects(world), { recursive: true })

      const { exitCode, stdout, stderr } = ctxbridge(world, ["resurrect", played.sessionId, "--json"])
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" })
      const [session] = JSON.parse(stdout).sessions
      const command = `cd ${world.cwd} && claude --resume ${played.sessionId}`
      expect(session.resume).toEqual([{ folder: world.cwd, gone: false, command }])
      const after = contents(world)
      expect(Object.keys(after)).toEqual(expect.arrayContaining(own))
      for (const [name, content] of Object.entries(after)) expect(content).toBe(before[name]!)
      // The subagent's transcript came back with the session.
      const agents = session.files.filter((file: { agent?: string }) => file.agent !== undefined)
      expect(agents.length).toBeGreaterThan(0)
      for (const { path } of agents) expect(existsSync(path)).toBe(true)

      const from = mock.requests.length
      const resumed = await runPrint(world, [LATER], ["--resume", played.sessionId])
      expect({ code: resumed.code, stderr: resumed.stderr }).toEqual({ code: 0, stderr: "" })
      const asked = mock.requests
        .slice(from)
        .find(({ kind, text }) => kind === "main" && text.includes(LATER))
      const said = JSON.stringify(asked?.body.messages ?? [])
      expect(said).toContain(PROMPT)
      expect(said).toContain(ANSWER)
      expect(said.indexOf(PROMPT)).toBeLessThan(said.indexOf(LATER))
      expect(resumed.outputs.findLast(({ type }) => type === "result")?.result).toBe("A heron.")
      await expectArchived(stage)
    })
  })
}
