/** `compaction.block` in the real clients: what the user sees of a refusal, and that nobody is stuck after it. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, renameSync, writeFileSync } from "node:fs"
import { clearStages, openStage, type Stage } from "./checks.ts"
import { type Client, clientFor, isOld } from "./clients.ts"
import { runPrint, Terminal } from "./drive.ts"
import { say } from "./mock-api.ts"
import { countCalls, hookCalls } from "./world.ts"

setDefaultTimeout(240_000)
afterAll(clearStages)

const TOLD = "ctxbridge could not write this session to its archive"

/** The archive cannot be written: a file stands in its place. */
function behind(client: Client): Stage {
  const stage = openStage(client)
  const { world, mock } = stage
  world.env["CTXBRIDGE_COMPACTION_BLOCK"] = "once-if-behind"
  if (existsSync(world.store)) renameSync(world.store, `${world.store}.aside`)
  writeFileSync(world.store, "in the way")
  mock.plan("Say something", [say("Something.")])
  mock.plan("Say more", [say("More.")])
  return stage
}

const summaries = ({ mock }: Stage): number => mock.requests.filter(({ kind }) => kind === "compact").length

function expectQuiet({ world }: Stage): void {
  const loud = hookCalls(world).filter(({ code, stderr }) => code !== 0 || stderr !== "")
  expect(loud.map(({ event, stderr }) => `${event}: ${stderr}`)).toEqual([])
}

for (const wanted of ["2.0.76", "2.1.112", "latest"]) {
  const { client, missing } = await clientFor(wanted)

  describe.skipIf(missing !== undefined)(`compaction.block in ${client.version}`, () => {
    test("print mode: refused once, compacted when asked again", async () => {
      const stage = behind(client)
      const prompts = ["Say something", "/compact", "Say more", "/compact", "Say something"]
      const run = await runPrint(stage.world, prompts)
      expect({ code: run.code, stderr: run.stderr }).toEqual({ code: 0, stderr: "" })
      expect(countCalls(stage.world, "PreCompact", "manual")).toBe(2)
      const told = run.outputs.filter(({ compact_error }) => String(compact_error).includes(TOLD))
      // The old one cannot be refused anything, and is not asked to heed.
      expect({ isTold: told.length > 0, summaries: summaries(stage) }).toEqual(
        isOld(client) ? { isTold: false, summaries: 2 } : { isTold: true, summaries: 1 },
      )
      const pasted = stage.mock.requests.filter((r) => r.kind === "compact" && r.text.includes('"decision"'))
      expect(pasted).toEqual([])
      expectQuiet(stage)
    })

    test("a terminal shows why, and the next /compact compacts", async () => {
      const stage = behind(client)
      const { world, mock } = stage
      const terminal = await Terminal.start(world)
      try {
        await terminal.enter("Say something", () => mock.requests.some(({ kind }) => kind === "main"))
        await terminal.waitFor("the answer", (screen) => screen.includes("Something."))
        await terminal.enter("/compact", () => countCalls(world, "PreCompact") === 1)
        if (!isOld(client)) {
          await terminal.waitFor("the refusal", () => terminal.shows(TOLD))
          expect(summaries(stage)).toBe(0)
          await terminal.enter("/compact", () => countCalls(world, "PreCompact") === 2)
        }
        await terminal.waitFor("the compaction", () => summaries(stage) === 1)
      } finally {
        terminal.kill()
      }
      expectQuiet(stage)
    })
  })
}
