/** The hooks as the real clients run them in print mode (conversation.ts). */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { rmSync } from "node:fs"
import { clearStages, occurrences, once, RESTORE_MARK } from "./checks.ts"
import { clientFor } from "./clients.ts"
import {
  compactions,
  expectRestoredAfterClear,
  MID_TURN,
  playInPrintMode,
  TIMEOUT,
  testHarmlessness,
  testMemory,
  unquoted,
} from "./conversation.ts"
import { runPrint } from "./drive.ts"
import { countCalls } from "./world.ts"

setDefaultTimeout(TIMEOUT)

for (const wanted of ["2.0.76", "2.1.112", "latest"]) {
  const { client, missing } = await clientFor(wanted)
  const name = wanted === "latest" ? `latest (${client.version})` : wanted

  describe.skipIf(missing !== undefined)(`Claude Code ${name} in print mode`, () => {
    const play = once(() => playInPrintMode(client))
    afterAll(clearStages)

    test("the client does not notice us", async () => {
      const { runs } = await play()
      for (const run of runs) {
        expect({ code: run.code, stderr: run.stderr }).toEqual({ code: 0, stderr: "" })
        expect(run.outputs.filter((output) => output.is_error === true)).toEqual([])
      }
    })

    testMemory(play, 3)

    test("the prompt of the turn in which the window fills up is there after the compaction", async () => {
      const stage = await play()
      const [compaction] = compactions(stage, stage.midTurnFrom)
      expect(unquoted(compaction!.next.text)).toContain(MID_TURN)
      expect(occurrences(compaction!.next.text, RESTORE_MARK)).toBe(1)
    })

    test("the call at which the window filled up is given back, though newer clients keep it", async () => {
      const stage = await play()
      const { next, restored } = compactions(stage, stage.midTurnFrom)[0]!
      // Requests are recorded without calls: the output tells.
      const isKept = next.text.replace(restored.trim(), "").split("\n").includes("lexed")
      expect(isKept).toBe(Bun.semver.order(client.version, "2.1.112") > 0)
      expect(restored).toContain("echo lexed")
    })

    // Older versions have no /clear in print mode.
    const clears = Bun.semver.order(client.version, "2.1.112") > 0
    test.skipIf(!clears)("the next conversation after /clear gets a restore", async () => {
      const stage = await play()
      await runPrint(stage.world, [
        "Write the parser",
        "Run the tests",
        { text: "/clear", until: () => countCalls(stage.world, "SessionStart", "clear") > 0 },
        "Cleared: where were we?",
      ])
      expectRestoredAfterClear(stage)
    })

    testHarmlessness(play)

    // The last one: it takes the binary away.
    test("the client goes on without the binary", async () => {
      const { world } = await play()
      rmSync(world.binary)
      const run = await runPrint(world, ["Write the parser"])
      expect(run.code).toBe(0)
      expect(run.outputs.findLast((output) => output.type === "result")?.result).toBe(
        "The parser is written.",
      )
    })
  })
}
