/** `ctxbridge learn` on the compiled binary: restores given by the hook, followed by the job. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { type Ran, run } from "../support/binary.ts"
import { contextOf, Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

const FILES = Array.from({ length: 40 }, (_, n) => `src/area${n % 4}/part/file${n}.ts`)

const cli = (machine: Machine, ...args: string[]): Promise<Ran> =>
  run(args, { env: machine.env, cwd: machine.cwd })

async function json(machine: Machine, ...args: string[]) {
  const { code, stdout, stderr } = await cli(machine, ...args, "--json")
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  return JSON.parse(stdout)
}

const read = (machine: Machine, path: string) => ({
  tool: "Read",
  input: { file_path: `${machine.cwd}/${path}` },
  output: "…",
})

/** A session with a compaction, after which the model opens what these are. @returns what was given */
async function compacted(machine: Machine, id: string, opened: readonly string[]): Promise<string> {
  const session: Transcript = machine.session({ id })
  session
    .turn(
      "read them",
      FILES.map((path) => read(machine, path)),
    )
    .flush()
  await machine.hook("pre-compact", session, { trigger: "auto" })
  const text = contextOf(await machine.hook("session-start", session, { source: "compact" }))!
  session.boundary().summary("We read files.")
  session.line({
    type: "attachment",
    attachment: { type: "hook_additional_context", hookEvent: "SessionStart", content: [text] },
  })
  session
    .turn(
      "go on",
      opened.map((path) => read(machine, path)),
    )
    .flush()
  await machine.hook("stop", session)
  return text
}

const id = (n: number): string => `0000000${n}-0000-4000-8000-000000000000`

test("what is used is learnt, reported, kept by rebuild, and forgotten by reset", async () => {
  using machine = new Machine()
  machine.env["CTXBRIDGE_LEARN_HOLDOUT"] = "0.2"
  const needed = FILES.slice(-3)
  const first = await compacted(machine, id(1), needed)
  for (let n = 2; n <= 6; n++) await compacted(machine, id(n), needed)
  await machine.idle()
  expect(await cli(machine, "__job")).toMatchObject({ code: 0, stderr: "" })
  const report = await json(machine, "learn", "report")
  expect(report).toMatchObject({ enabled: true, holdOut: 0.2, restores: 6, sessions: 6, waiting: 0 })
  expect(report.kinds.path.used).toBeGreaterThan(6)
  expect(report.uses.path).toBe(report.kinds.path.used)
  expect(report.lift.leftOut.n).toBeGreaterThan(5)
  const { weights } = await json(machine, "learn")
  const high = weights.filter((row: { item: string; weight: number }) => row.item !== "" && row.weight > 1.5)
  expect(high.map((row: { item: string }) => row.item).toSorted()).toEqual(
    needed.map((path) => path.split("/").slice(-2).join("/")).toSorted(),
  )
  const told = await cli(machine, "learn")
  expect({ code: told.code, stderr: told.stderr }).toEqual({ code: 0, stderr: "" })
  expect(told.stdout).toContain(needed[0]!.split("/").slice(-2).join("/"))
  const shown = await cli(machine, "learn", "report")
  expect({ code: shown.code, stderr: shown.stderr }).toEqual({ code: 0, stderr: "" })
  expect(shown.stdout).toMatch(/^6 restores in 6 sessions/)
  expect(shown.stdout).toContain("Left out by chance: ")

  // Once the job has looked at them again, all is as it was.
  await json(machine, "rebuild")
  expect(await json(machine, "learn", "report")).toMatchObject({ restores: 0, waiting: 6 })
  expect(await cli(machine, "__job")).toMatchObject({ code: 0, stderr: "" })
  expect(await json(machine, "learn", "report")).toEqual(report)
  expect((await json(machine, "learn")).weights).toEqual(weights)

  expect(await json(machine, "learn", "reset")).toEqual({ restores: 6 })
  expect(await cli(machine, "__job")).toMatchObject({ code: 0, stderr: "" })
  expect(await json(machine, "learn", "report")).toMatchObject({ restores: 0, lift: null, uses: {} })
  expect(await json(machine, "learn")).toEqual({ enabled: true, weights: [] })
  // A restore is again what it was at first, with the same things left out.
  machine.env["CTXBRIDGE_LEARN_HOLDOUT"] = "0"
  const whole = await compacted(machine, id(7), [])
  machine.env["CTXBRIDGE_LEARN"] = "off"
  expect(pathsIn(await compacted(machine, id(8), []))).toEqual(pathsIn(whole))
  expect(pathsIn(first)).not.toEqual(pathsIn(whole))
  expect((await json(machine, "learn")).enabled).toBe(false)
})

const pathsIn = (text: string): string => /\n## Paths\n([\s\S]*?)(?:\n## |$)/.exec(text)![1]!

test("what is not understood, and what is not there", async () => {
  using machine = new Machine()
  const none = await cli(machine, "learn")
  expect(none).toMatchObject({ code: 3, stdout: "" })
  await compacted(machine, id(1), FILES.slice(0, 1))
  // One job at a time: the hooks' may still be at work, and then a second one leaves it to that.
  await machine.idle()
  expect(await cli(machine, "__job")).toMatchObject({ code: 0, stderr: "" })
  const unknown = await cli(machine, "learn", "everything")
  expect(unknown).toMatchObject({ code: 64, stdout: "" })
  expect(unknown.stderr).toContain("one of weights, report, reset")
  const all = await cli(machine, "learn", "--all-projects")
  expect(all).toMatchObject({ code: 64, stdout: "" })
  const fresh = await cli(machine, "learn", "report", "--project", "/")
  expect(fresh).toMatchObject({ code: 0, stderr: "", stdout: "No restore was followed by work yet.\n" })
  const { stdout, code, stderr } = await cli(machine, "learn", "report", "--all-projects")
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  expect(stdout).toContain("learn.holdout = 0.1 would leave out a tenth by chance")
})
