/** A subagent's context fills up and is compacted: the session that it works for has lost nothing, and is given nothing. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { clearStages, expectArchived, FULL, once, openStage, RESTORE_MARK, type Stage } from "./checks.ts"
import { type Client, clientFor } from "./clients.ts"
import { runPrint } from "./drive.ts"
import { bash, delegate, type Recorded, SUMMARY, say } from "./mock-api.ts"
import { ctxbridge, hookCalls, until } from "./world.ts"

setDefaultTimeout(240_000)

const TASK = "Survey the folder"

async function play(client: Client): Promise<Stage> {
  const stage = openStage(client)
  const { world, mock } = stage
  mock.plan("Delegate it", [delegate(TASK), say("It is being looked at.")])
  mock.plan(TASK, [bash("echo one"), bash("echo two", FULL), say("Never reached.")])
  const surveyed = (): boolean =>
    hookCalls(world).some(
      ({ event, stdin }) =>
        event === "SubagentStop" && stdin["agent_type"] !== "" && mock.requests.some(isSummary),
    )
  const run = await runPrint(world, [
    {
      text: "Delegate it, never touch the grammar file",
      until: (outputs) => outputs.some(({ type }) => type === "result") && surveyed(),
    },
    "Go on",
    "And on",
    "And further",
  ])
  expect({ code: run.code, stderr: run.stderr }).toEqual({ code: 0, stderr: "" })
  await until("the end of the session", () => hookCalls(world).some(({ event }) => event === "SessionEnd"))
  return stage
}

const isSummary = ({ kind }: Recorded): boolean => kind === "compact"
const tellsWhose = (client: Client): boolean => Bun.semver.order(client.version, "2.1.112") > 0

for (const wanted of ["2.0.76", "2.1.112", "latest"]) {
  const { client, missing } = await clientFor(wanted, `a subagent's compaction in Claude Code ${wanted}`)

  describe.skipIf(missing !== undefined)(`Claude Code ${client.version}`, () => {
    const performance = once(() => play(client))
    afterAll(clearStages)

    test("the host calls our hooks for it in the session's name", async () => {
      const { world, mock } = await performance()
      expect(mock.requests.filter(isSummary).length).toBe(1)
      const calls = hookCalls(world).filter(
        ({ event, detail }) => event === "PreCompact" || detail === "compact",
      )
      expect(calls.map(({ event }) => event)).toEqual(["PreCompact", "SessionStart"])
      const told = calls.map(({ stdin }) => typeof stdin["agent_id"] === "string")
      expect(told).toEqual([tellsWhose(client), tellsWhose(client)])
      // Where Claude Code does not tell, it looks like the session's own.
      const silent = calls.map(({ stdout }) => stdout === "")
      expect(silent).toEqual(told)
    })

    test("the session is given nothing, then or later", async () => {
      const { mock } = await performance()
      // Where the agent is given the session's turns, it is known by the summary of its own.
      const own = mock.requests.filter(
        ({ kind, text }) => kind === "main" && text.includes("Delegate it") && !text.includes(SUMMARY),
      )
      expect(own.length).toBeGreaterThanOrEqual(4)
      expect(own.filter(({ text }) => text.includes(RESTORE_MARK)).map(({ n }) => n)).toEqual([])
    })

    test("every byte is archived, and no compaction of the session is told", async () => {
      const stage = await performance()
      await expectArchived(stage)
      const { exitCode, stdout } = ctxbridge(stage.world, ["status", "--json"])
      expect(exitCode).toBe(0)
      expect(JSON.parse(stdout).context.compactions).toBe(0)
    })
  })
}
