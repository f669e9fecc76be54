/** `ctxbridge bench prune`: without an archive, and over a session of one. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { limit } from "../support/slowness.ts"
import { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

let root: string
const bench = (...args: string[]) => run(["bench", "prune", ...args], { env: { HOME: root }, cwd: root })

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "ctxbridge-bench-prune-"))
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

test("without an archive, the simulated session is reckoned, and nothing is written", async () => {
  const { code, stdout, stderr } = await bench()
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  expect(stdout.match(/^\| no pruning /gm)).toHaveLength(2)
  expect(stdout).toContain("simulated, 150 turns: ")
  expect(readdirSync(root)).toEqual([])
})

test("the user's own sessions are reckoned as well", async () => {
  const session = "11111111-1111-4111-8111-111111111111"
  const path = join(root, "transcripts", `${session}.jsonl`)
  const step = { tool: "Bash", input: { command: "make" }, output: "made ".repeat(2_000) }
  const transcript = new Transcript({ session, cwd: "/src/app", version: "2.1.112", path })
  for (let n = 0; n < 8; n++)
    transcript.turn(`Build it, attempt ${n} ${"please ".repeat(4_000)}`, [step, step])
  transcript.flush()
  expect((await run(["import", "transcripts"], { env: { HOME: root }, cwd: root })).code).toBe(0)
  const { code, stdout, stderr } = await bench("--json", "--quick")
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  const { sessions } = JSON.parse(stdout)
  expect(sessions).toHaveLength(4)
  const [, , own] = sessions
  expect(own).toMatchObject({ window: 200_000, steps: 24 })
  expect(own.session).toStartWith("Build it, attempt 0")
  const way = (name: string) => own.ways.find((one: { way: string }) => one.way === name)
  expect(way("no pruning")).toMatchObject({ requests: 24, compactions: 0, prefixChanges: 0, relative: 1 })
  expect(way("proxy, patch: texts").sent).toBeLessThan(way("no pruning").sent)
  expect(way("proxy, patch: texts").prefixChanges).toBeGreaterThan(0)
})
