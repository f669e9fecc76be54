/** The hooks as the real clients run them in a terminal (conversation.ts). */
import { afterAll, describe, setDefaultTimeout, test } from "bun:test"
import { clearStages, once } from "./checks.ts"
import { clientFor } from "./clients.ts"
import {
  expectRestoredAfterClear,
  playInTerminal,
  TIMEOUT,
  testHarmlessness,
  testMemory,
} from "./conversation.ts"

setDefaultTimeout(TIMEOUT)

for (const wanted of ["2.0.76", "2.1.112", "latest"]) {
  const { client, missing } = await clientFor(wanted)
  const name = wanted === "latest" ? `latest (${client.version})` : wanted
  const noTerminal = missing ?? (Bun.which("tmux") === null ? "tmux is not installed" : undefined)
  if (missing === undefined && noTerminal !== undefined)
    console.warn(`skipped: Claude Code ${wanted} in a terminal: ${noTerminal}`)

  describe.skipIf(noTerminal !== undefined)(`Claude Code ${name} in a terminal`, () => {
    const play = once(() => playInTerminal(client))
    afterAll(clearStages)

    testMemory(play, 2)
    test("the next conversation after /clear gets a restore", async () =>
      expectRestoredAfterClear(await play()))
    testHarmlessness(play)
  })
}
