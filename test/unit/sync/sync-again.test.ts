import { expect, test } from "bun:test"
import { CtxError, usageError } from "../../../src/base/errors.ts"
import {
  POLL,
  pauseAfterFailure,
  type SyncLoop,
  stoppedWatching,
  syncAgain,
} from "../../../src/sync/sync-again.ts"

/** A world whose time passes while it sleeps. */
function played(sync: (n: number) => void, changes: (now: number) => string, until: number) {
  const log: string[] = []
  let now = 0
  let syncs = 0
  const world: SyncLoop = {
    async sync() {
      log.push(`${now} sync`)
      sync(++syncs)
    },
    signature: () => changes(now),
    isOver: () => now >= until,
    async sleep(ms) {
      now += ms
    },
    onFailure: (_, pause) => log.push(`${now} failed, ${pause}`),
    now: () => now,
  }
  return { log, end: syncAgain(world) }
}

const fails = (code: string): never => {
  throw new CtxError(code, "it is not there")
}

test("at once, when something has changed, and once a minute", async () => {
  const { log, end } = played(
    () => {},
    (now) => String(now >= 4000),
    70_000,
  )
  await end
  expect(log).toEqual(["0 sync", `${2 * POLL} sync`, `${22 * POLL} sync`])
})

test("a target that fails is waited for, with growing pauses, and then polled again", async () => {
  const { log, end } = played(
    (n) => (n <= 3 ? fails("target-refused") : undefined),
    () => "",
    40_000,
  )
  await end
  expect(log).toEqual([
    ...["0 sync", "0 failed, 5000", "5000 sync", "5000 failed, 10000", "15000 sync", "15000 failed, 20000"],
    "35000 sync",
  ])
  expect([0, 1, 5, 6, 100].map(pauseAfterFailure)).toEqual([5000, 10_000, 160_000, 300_000, 300_000])
})

test("what no waiting mends ends it, and being stopped is no failure", async () => {
  for (const error of [
    new CtxError("target-locked", "wrong passphrase"),
    usageError("no"),
    new TypeError("bug"),
  ]) {
    const { log, end } = played(
      () => {
        throw error
      },
      () => "",
      99_000,
    )
    await expect(end).rejects.toBe(error)
    expect(log).toEqual(["0 sync"])
  }
  const gone = Object.assign(new Error("unplugged"), { code: "EIO" })
  const unplugged = played(
    () => {
      throw gone
    },
    () => "",
    5000,
  )
  await unplugged.end
  expect(unplugged.log).toEqual(["0 sync", "0 failed, 5000"])
  const stopped = played(
    () => {
      throw stoppedWatching()
    },
    () => "",
    99_000,
  )
  await stopped.end
  expect(stopped.log).toEqual(["0 sync"])
})
