/**
 * `doctor` counted the transcripts of forgotten sessions among those that are in the vault, and `install` among those
 * that an import would archive.
 */
import { expect, setDefaultTimeout, test } from "bun:test"
import { utimesSync } from "node:fs"
import { run } from "../support/binary.ts"
import { findings } from "../support/doctor.ts"
import { Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

const DAY = 86_400

test("what is forgotten is neither in the vault nor about to be lost", async () => {
  using machine = new Machine()
  const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
  const [kept, forgotten] = [machine.session().turn("Kept."), machine.session().turn("Forgotten.")]
  for (const { path } of [kept.flush(), forgotten.flush()]) {
    const then = Date.now() / 1000 - 29 * DAY
    utimesSync(path, then, then)
  }
  expect((await cli("import")).code).toBe(0)
  expect((await cli("forget", forgotten.session, "--yes")).code).toBe(0)
  expect(await findings(machine, "archived")).toMatchObject([
    { state: "ok", text: "1 transcript, all in the vault" },
  ])
  const [due] = await findings(machine, "clean-up")
  expect(due).toMatchObject({ state: "ok", text: expect.stringContaining("will delete 1 transcript within") })
  expect(due!.details).toEqual([expect.stringContaining(kept.session)])
})

test("an import of it is not offered", async () => {
  using machine = new Machine()
  const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
  const forgotten = machine.session().turn("Forgotten.").flush()
  expect((await cli("import")).code).toBe(0)
  expect((await cli("forget", forgotten.session, "--yes")).code).toBe(0)
  const { history } = JSON.parse((await cli("install", "--json")).stdout)
  expect(history).toMatchObject({ transcripts: 0, left: 0, bytes: 0, bytesLeft: 0 })
})
