/**
 * A request whose writer was killed before it could rename it was never done, and `status` counted it as waiting for as
 * long as it lay there.
 */
import { expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { archivedIn } from "../../src/vault/reader.ts"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

/** Of a process that has ended. */
function endedPid(): number {
  return Bun.spawnSync(["true"]).pid
}

function requestOf(machine: Machine, name: string, text: string): string {
  const folder = join(machine.dataHome, "requests")
  mkdirSync(folder, { recursive: true })
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}

test("the next job does it", async () => {
  using machine = new Machine()
  const seen = machine.session().turn("A hook tells of this").flush()
  const unseen = machine.session().turn("Nobody tells of this").flush()
  const request = { transcripts: [], sweep: [join(unseen.path, "..")], settle: false, history: true }
  requestOf(machine, `left.json.${endedPid()}`, JSON.stringify(request))
  requestOf(machine, `half.json.${endedPid()}`, JSON.stringify(request).slice(0, 20))
  const status = await run(["status", "--json"], { env: machine.env, cwd: machine.cwd })
  expect(JSON.parse(status.stdout)).toMatchObject({ import: null })
  await machine.hook("session-end", seen, { reason: "other" })
  await machine.idle()
  expect(archivedIn(machine.copy(unseen.path))).toBeGreaterThan(0)
  expect(readdirSync(join(machine.dataHome, "requests"))).toEqual([])
})

test("one that is being written is left alone", async () => {
  using machine = new Machine()
  const session = machine.session().turn("A hook tells of this").flush()
  const file = requestOf(machine, `now.json.${process.pid}`, "{")
  await machine.hook("session-end", session, { reason: "other" })
  await machine.idle()
  expect(existsSync(file)).toBe(true)
})
