/** Where the copy of one session was damaged, sessions of the same project began without being told where it was left. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { listPending } from "../../src/archive/pending.ts"
import { holding } from "../support/held.ts"
import { contextOf, Machine, until } from "../support/machine.ts"

setDefaultTimeout(60_000)

test("the others are told of, and the damaged one goes on waiting", async () => {
  using machine = new Machine()
  mkdirSync(join(machine.dataHome, "state"), { recursive: true })
  // The background job would index the others, sooner or later.
  await holding(machine.dataHome, "state/job.lock", async () => {
    const [damaged, whole] = ["Paint the fence", "Oil the hinges"].map((text) => machine.session().turn(text))
    for (const session of [damaged!, whole!]) await machine.hook("stop", session.flush())
    const copy = machine.copy(damaged!.path)
    const bytes = readFileSync(copy)
    // Within the first frame of zstd.
    const at = bytes.indexOf(Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd)) + 20
    writeFileSync(copy, bytes.fill(0x55, at, at + 30))

    // On a busy machine, one start may not have the time.
    const isTold = async (): Promise<boolean> => {
      const started = await machine.hook("session-start", machine.session(), { source: "startup" })
      expect(started).toMatchObject({ code: 0, stderr: "" })
      return contextOf(started)?.includes("Oil the hinges") ?? false
    }
    await until(isTold, 20_000, "a session that is told")
    expect(listPending(machine.dataHome).map(({ session }) => session)).toEqual([damaged!.session])
  })
})
