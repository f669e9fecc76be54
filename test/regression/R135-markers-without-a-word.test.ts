/**
 * A marker that a power failure had emptied kept every later one out: the views did not follow the transcript until the
 * background job looked after it.
 */
import { expect, setDefaultTimeout, test } from "bun:test"
import { readdirSync, truncateSync } from "node:fs"
import { join } from "node:path"
import { markPending } from "../../src/archive/pending.ts"
import { vaultPath } from "../../src/vault/layout.ts"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

test("the next hook marks the transcript again", async () => {
  using machine = new Machine()
  const session = machine.session().turn("After the power failure.").flush()
  const copy = vaultPath(session.path, machine.home)
  markPending(machine.dataHome, { path: session.path, copy, session: session.session })
  const folder = join(machine.dataHome, "pending")
  for (const marker of readdirSync(folder)) truncateSync(join(folder, marker), 0)
  await machine.hook("stop", session)
  const { stdout } = await run(["sessions", "--json"], { env: machine.env, cwd: machine.cwd })
  expect(JSON.parse(stdout).sessions).toMatchObject([{ id: session.session, turns: 1 }])
  expect(readdirSync(folder)).toEqual([])
})
