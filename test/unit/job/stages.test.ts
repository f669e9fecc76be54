import { expect, test } from "bun:test"
import { type Permission, runStages, type Stage, type Start } from "../../../src/job/stages.ts"

const startWith = (...permitted: readonly Permission[]): Start => ({
  // No stage of these tests reads them.
  paths: {} as Start["paths"],
  end: 0,
  permitted: new Set(permitted),
  visits: [],
})

test("stages run in their order, as far as they are due and permitted, until one has more to do", async () => {
  const done: string[] = []
  const stage = (name: string, more: Partial<Stage<Start>> = {}): Stage<Start> => ({
    name,
    due: () => true,
    run: () => {
      done.push(name)
    },
    ...more,
  })
  const slow = stage("slow", {
    run: async () => {
      await Promise.resolve()
      done.push("slow")
      return undefined
    },
  })
  const unfinished = stage("unfinished", {
    run: async (): Promise<"more"> => {
      done.push("unfinished")
      return "more"
    },
  })
  const stages = [
    slow,
    stage("not due", { due: () => false }),
    stage("online", { needs: "network" }),
    unfinished,
    stage("last"),
  ]
  expect(await runStages(stages, startWith())).toBe("more")
  expect(done.splice(0)).toEqual(["slow", "unfinished"])
  expect(await runStages(stages.slice(0, 3), startWith("network"))).toBeUndefined()
  expect(done).toEqual(["slow", "online"])
})
