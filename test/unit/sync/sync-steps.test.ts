/** A sync is a table of steps: who runs them, and that the page about sync tells them as they are. */
import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { ENTRY_STEPS } from "../../../src/sync/sync-archive.ts"
import { SYNC_STEPS } from "../../../src/sync/sync-once.ts"
import { runSyncSteps, type SyncStep } from "../../../src/sync/sync-steps.ts"

interface Walk {
  readonly wanted: { readonly all: boolean; readonly pull: boolean }
  readonly seen: string[]
}

const step = (name: string, more: Partial<SyncStep<Walk>> = {}): SyncStep<Walk> => ({
  name,
  run: ({ seen }) => void seen.push(name),
  ...more,
})

test("steps run in their order, as far as they are wanted and due, until one fails", async () => {
  const walk: Walk = { wanted: { all: true, pull: false }, seen: [] }
  const steps = [
    step("open"),
    step("fetch", { needs: "pull" }),
    step("mend", { needs: "all" }),
    step("late", {
      run: async ({ seen }) => {
        await new Promise(setImmediate)
        seen.push("late")
      },
    }),
    step("forget", { due: ({ seen }) => seen.includes("fetch") }),
    step("send", { due: ({ seen }) => seen.at(-1) === "late" }),
  ]
  await runSyncSteps(steps, walk)
  expect(walk.seen).toEqual(["open", "mend", "late", "send"])
  const failing = step("fail", {
    run() {
      throw new Error("closed")
    },
  })
  await expect(runSyncSteps([failing, step("after")], walk)).rejects.toThrow("closed")
  expect(walk.seen).not.toContain("after")
})

test("the page about sync has a line for each step, in the order in which they run", () => {
  const page = readFileSync(join(import.meta.dir, "../../../docs/architecture/sync.md"), "utf8")
  const told = [...page.matchAll(/^\| `(\w+)` +\|/gm)].map(([, name]) => name)
  expect(told).toEqual([...SYNC_STEPS, ...ENTRY_STEPS].map(({ name }) => name))
})
