/** Copies of sessions that a real client goes on with: from an earlier turn, in another folder, without what it fails at. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { clearStages, openStage, type Stage } from "./checks.ts"
import { clientFor } from "./clients.ts"
import { runPrint } from "./drive.ts"
import { bash, type Recorded, say } from "./mock-api.ts"
import { ctxbridge, endJobs, type World } from "./world.ts"

setDefaultTimeout(240_000)

const [FIRST, SECOND, LATER] = ["Remember the heron", "Remember the grebe", "Which birds were there?"]

const WANTED = "2.1.112"
const { client, missing } = await clientFor(WANTED, `rescued sessions with Claude Code ${WANTED}`)

describe.skipIf(missing !== undefined)(`Claude Code ${WANTED}`, () => {
  afterAll(clearStages)

  const fileIn = ({ home }: World, cwd: string, session: string): string =>
    join(home, ".claude/projects", cwd.replaceAll(/[^A-Za-z0-9]/g, "-"), `${session}.jsonl`)

  /** Two turns of which the archive has every byte. */
  async function played(cwdOf = (world: World) => world.cwd) {
    const stage = openStage(client)
    const cwd = cwdOf(stage.world)
    mkdirSync(cwd, { recursive: true })
    stage.mock.plan(FIRST, [bash("echo heron"), say("The heron is noted.")])
    stage.mock.plan(SECOND, [say("The grebe is noted.")])
    stage.mock.plan(LATER, [say("I looked them up.")])
    const { code, stderr, sessionId } = await runPrint({ ...stage.world, cwd }, [FIRST, SECOND])
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(ctxbridge(stage.world, ["import", "--quiet"])).toMatchObject({ exitCode: 0 })
    endJobs(stage.world.root)
    return { ...stage, cwd, sessionId }
  }

  /** @returns what the model was sent with the next prompt */
  async function goneOn({ world, mock }: Stage, session: string): Promise<Recorded> {
    const from = mock.requests.length
    const { code, stderr, outputs } = await runPrint(world, [LATER], ["--resume", session])
    const ended = outputs.findLast(({ type }) => type === "result")
    expect({ code, stderr, session: ended?.session_id }).toEqual({ code: 0, stderr: "", session })
    return mock.requests.slice(from).find(({ kind, text }) => kind === "main" && text.includes(LATER))!
  }

  test("--from: goes on from the first turn; the session keeps its bytes", async () => {
    const { world, mock, sessionId } = await played()
    const own = fileIn(world, world.cwd, sessionId)
    const before = readFileSync(own)
    const { exitCode, stdout, stderr } = ctxbridge(world, ["resume", sessionId, "--from", "1", "--json"])
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" })
    const { session, command } = JSON.parse(stdout)
    expect(command).toBe(`cd ${world.cwd} && claude --resume ${session}`)
    const said = JSON.stringify((await goneOn({ world, mock }, session)).body.messages)
    for (const text of [FIRST, "echo heron", "The heron is noted."]) expect(said).toContain(text)
    for (const text of [SECOND, "The grebe is noted."]) expect(said).not.toContain(text)
    expect(readFileSync(own)).toEqual(before)
  })

  test("--here: goes on in another folder with all of a session whose folder is gone", async () => {
    const { world, mock, cwd, sessionId } = await played(({ root }) => join(root, "worktree"))
    const own = fileIn(world, cwd, sessionId)
    const before = readFileSync(own)
    rmSync(cwd, { recursive: true })
    const { exitCode, stdout, stderr } = ctxbridge(world, ["resume", sessionId, "--here", "--json"])
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" })
    const { session, command, folder, path } = JSON.parse(stdout)
    expect({ command, folder, path }).toEqual({
      command: `cd ${world.cwd} && claude --resume ${session}`,
      folder: world.cwd,
      path: fileIn(world, world.cwd, session),
    })
    const said = JSON.stringify((await goneOn({ world, mock }, session)).body.messages)
    for (const text of [FIRST, "echo heron", SECOND, "The grebe is noted."]) expect(said).toContain(text)
    expect(readFileSync(own)).toEqual(before)
  })
})
