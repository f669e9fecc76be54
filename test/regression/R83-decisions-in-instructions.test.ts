/** Ten files with long paths left no room for a decision in what the compaction is told to keep. */
import { expect, test } from "bun:test"
import { Machine } from "../support/machine.ts"

test("decisions have room before the files that were changed long ago", async () => {
  using machine = new Machine()
  const session = machine.session()
  const steps = Array.from({ length: 10 }, (_, n) => ({
    tool: "Write",
    input: { file_path: `/home/someone/${"a-folder-with-a-long-name/".repeat(5)}${n}.ts`, content: "" },
    output: "created",
  }))
  const decision = "I chose a slow kiln rather than a hot one because the glaze cracks otherwise."
  await machine.hook("stop", session.turn("Write them", steps, decision).flush())
  const { stdout } = await machine.hook("pre-compact", session, { trigger: "manual" })
  expect(stdout).toContain(decision)
  const files = [...stdout.matchAll(/^- file in flight: .*\/(\d)\.ts/gm)].map(([, n]) => Number(n))
  expect(files.slice(0, 5)).toEqual([9, 8, 7, 6, 5])
  expect(files.length).toBeGreaterThan(5)
})
