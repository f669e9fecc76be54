/** `recall.actions` in the real clients: what the model sees of it, when, and that nothing is decided. */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { clearStages, openStage } from "./checks.ts"
import { type Client, clientFor, isOld } from "./clients.ts"
import { runPrint } from "./drive.ts"
import { bash, say } from "./mock-api.ts"
import { countCalls, hookCalls, until } from "./world.ts"

setDefaultTimeout(240_000)
afterAll(clearStages)

const FAILING = "echo 'Error: the kiln door is open'; exit 3"
const TOLD = "failed the last 2 times, with"

/** A stage with the hook, on which the command has failed twice in a session that has ended. */
async function failedBefore(client: Client) {
  const stage = openStage(client, {}, [["config", "set", "recall.actions", "on"]])
  const { world, mock } = stage
  mock.plan("Fire it", [bash(FAILING), bash(FAILING), say("It is open.")])
  mock.plan("Once more", [bash(FAILING), bash(FAILING), say("Still open.")])
  const first = await runPrint(world, ["Fire it"])
  expect({ code: first.code, stderr: first.stderr }).toEqual({ code: 0, stderr: "" })
  // By the background job, once the session has ended.
  const written = () => existsSync(join(world.store, "reminders"))
  await until("the reminders", written)
  return stage
}

for (const wanted of ["2.0.76", "2.1.112", "latest"]) {
  const { client, missing } = await clientFor(wanted)

  test.skipIf(missing !== undefined)(`${client.version} is told beside the result, once`, async () => {
    const { world, mock } = await failedBefore(client)
    // Both calls of the first session, which had nothing to say.
    expect(countCalls(world, "PreToolUse")).toBe(2)
    const before = mock.requests.length
    const second = await runPrint(world, ["Once more"])
    expect({ code: second.code, stderr: second.stderr }).toEqual({ code: 0, stderr: "" })
    expect(countCalls(world, "PreToolUse")).toBe(4)
    const quiet = hookCalls(world).filter(({ code, stderr }) => code !== 0 || stderr !== "")
    expect(quiet).toEqual([])
    const said = hookCalls(world).filter(({ event, stdout }) => event === "PreToolUse" && stdout !== "")
    expect(said.map(({ stdout }) => Object.keys(JSON.parse(stdout).hookSpecificOutput))).toEqual([
      ["hookEventName", "additionalContext"],
    ])
    const asked = mock.requests.slice(before).filter(({ kind }) => kind === "main")
    const told = asked.map(({ text }) => text.split(TOLD).length - 1)
    // The request that has the first result has it, and later ones still do; before the call, nobody is told.
    expect(told).toEqual(isOld(client) ? [0, 0, 0] : [0, 1, 1])
    if (isOld(client)) return
    const { text } = asked[1]!
    expect(text.indexOf(TOLD)).toBeGreaterThan(text.indexOf("Exit code 3"))
  })
}
