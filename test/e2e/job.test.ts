/** The background job: one at a time, nothing asked of it is lost. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { readFileSync, statSync } from "node:fs"
import { archivedIn } from "../../src/vault/reader.ts"
import { contentOf, Machine, promptsIn, until } from "../support/machine.ts"

setDefaultTimeout(60_000)

test("when sessions of many projects end at once, their last lines are taken, and no job stays behind", async () => {
  using machine = new Machine()
  const sessions = Array.from({ length: 8 }, (_, n) =>
    machine
      .session({ cwd: `${machine.root}/project-${n}` })
      .turn(`first of ${n}`)
      .flush(),
  )
  await Promise.all(sessions.map((session) => machine.hook("session-end", session, { reason: "other" })))
  // What the host writes after its last hook.
  for (const [n, session] of sessions.entries()) session.turn(`last of ${n}`).flush()
  const taken = ({ path }: { path: string }): boolean =>
    archivedIn(machine.copy(path)) === statSync(path).size
  await until(() => sessions.every(taken), 30_000, "every last line to be in the vault")
  await machine.idle()
  using db = machine.views()
  for (const [n, { session, path }] of sessions.entries()) {
    expect(contentOf(machine.copy(path)).equals(readFileSync(path))).toBe(true)
    expect(promptsIn(db, session)).toEqual([`first of ${n}`, `last of ${n}`])
  }
}, 90_000)

test("a hundred session ends leave no job", async () => {
  using machine = new Machine()
  const session = machine.session().turn("hello").flush()
  for (let round = 0; round < 20; round++) {
    const five = Array.from({ length: 5 }, () => machine.hook("session-end", session, { reason: "other" }))
    for (const { code, stdout, stderr } of await Promise.all(five)) {
      expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "", stderr: "" })
    }
  }
  // Those that find another at work end at once; that one when it has nothing to do.
  await until(() => machine.processes().length <= 1, 30_000, "all but one job to end")
  await machine.idle()
}, 90_000)
