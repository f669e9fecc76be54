/** A session that Claude Code has deleted goes on in the real clients, once it is written back from the vault. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { clearStages, expectArchived, openStage, transcripts } from "./checks.ts"
import { clientFor, isOld } from "./clients.ts"
import { runPrint } from "./drive.ts"
import { bash, delegate, say } from "./mock-api.ts"
import { ctxbridge, endJobs, hookCalls, until, type World } from "./world.ts"

setDefaultTimeout(240_000)

const PROMPT = "Remember the heron at the weir"
const ANSWER = "The heron is noted."
const MOVED = "And remember the grebe on the pond"
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

    // Older versions cut long outputs, and keep nothing of the rest.
    test.skipIf(isOld(client))(
      "a long output that it keeps beside the transcript is found, and comes back",
      async () => {
        const { world, mock } = openStage(client)
        mock.plan(PROMPT, [bash("seq 1 20000 | sed 's/^9000$/the zirconium is here/'"), say(ANSWER)])
        mock.plan(LATER, [say("A heron.")])
        const { sessionId } = await runPrint(world, [PROMPT, LATER])
        await until("the end of the session", () =>
          hookCalls(world).some(({ event }) => event === "SessionEnd"),
        )
        const below = () =>
          existsSync(projects(world)) ? readdirSync(projects(world), { recursive: true }).map(String) : []
        const [kept] = below().filter((name) => name.includes(`${sessionId}/tool-results/`))
        const content = readFileSync(join(projects(world), kept!), "utf8")
        expect(content).toContain("the zirconium is here")
        expect(ctxbridge(world, ["import", "--quiet"])).toMatchObject({ exitCode: 0 })
        endJobs(world.root)
        rmSync(projects(world), { recursive: true })
        const found = ctxbridge(world, ["search", "zirconium", "--json"])
        expect({ exitCode: found.exitCode, stderr: found.stderr }).toEqual({ exitCode: 0, stderr: "" })
        const { hits } = JSON.parse(found.stdout)
        expect(hits).toHaveLength(1)
        expect(hits[0]).toMatchObject({ session: sessionId, seq: 1, tool: "Bash" })
        expect(ctxbridge(world, ["resurrect", sessionId])).toMatchObject({ exitCode: 0 })
        expect(readFileSync(join(projects(world), kept!), "utf8")).toBe(content)
      },
    )

    test("goes on with the fullest version of a session that moved to a worktree, which is gone", async () => {
      const { world, mock } = openStage(client)
      const worktree = join(world.cwd, ".claude", "worktrees", "feature")
      const git = (...args: string[]) => {
        const author = ["-c", "user.name=A", "-c", "user.email=a@b.invalid"]
        const { exitCode } = Bun.spawnSync(["git", ...author, ...args], { cwd: world.cwd, env: world.env })
        expect(exitCode).toBe(0)
      }
      git("init", "-q")
      git("commit", "-q", "--allow-empty", "-m", "first")
      git("worktree", "add", "-q", worktree)
      mock.plan(PROMPT, [say(ANSWER)])
      mock.plan(MOVED, [say("The grebe is noted, too.")])
      mock.plan(LATER, [say("Both.")])
      const fileIn = (cwd: string, session: string) =>
        join(projects(world), cwd.replaceAll(/[^A-Za-z0-9]/g, "-"), `${session}.jsonl`)

      const { sessionId } = await runPrint(world, [PROMPT])
      const [before, after] = [fileIn(world.cwd, sessionId), fileIn(worktree, sessionId)]
      // As the client does when a session enters a worktree.
      mkdirSync(dirname(after), { recursive: true })
      renameSync(before, after)
      appendFileSync(after, `${JSON.stringify({ type: "relocated", relocatedCwd: worktree, sessionId })}\n`)
      const moved = await runPrint({ ...world, cwd: worktree }, [MOVED], ["--resume", sessionId])
      expect({ code: moved.code, stderr: moved.stderr }).toEqual({ code: 0, stderr: "" })
      await until(
        "the end of both",
        () => hookCalls(world).filter(({ event }) => event === "SessionEnd").length > 1,
      )
      expect(ctxbridge(world, ["import", "--quiet"])).toMatchObject({ exitCode: 0 })
      endJobs(world.root)
      git("worktree", "remove", "--force", worktree)
      rmSync(projects(world), { recursive: true })

      const { exitCode, stdout, stderr } = ctxbridge(world, ["resurrect", sessionId, "--json"])
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" })
      const [session] = JSON.parse(stdout).sessions
      const command = `cd ${world.cwd} && claude --resume ${sessionId}`
      expect(session.resume).toEqual([{ folder: world.cwd, gone: false, command }])
      expect(session.files[0]).toMatchObject({ path: before, state: "written" })

      const from = mock.requests.length
      const resumed = await runPrint(world, [LATER], ["--resume", sessionId])
      expect({ code: resumed.code, stderr: resumed.stderr }).toEqual({ code: 0, stderr: "" })
      const asked = mock.requests
        .slice(from)
        .find(({ kind, text }) => kind === "main" && text.includes(LATER))
      const said = JSON.stringify(asked?.body.messages ?? [])
      for (const text of [PROMPT, ANSWER, MOVED, "The grebe is noted, too."]) expect(said).toContain(text)
    })
  })
}
