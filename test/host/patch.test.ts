/** The real clients, patched, against an API that refuses a thought after something else than what led to it. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { readFileSync, rmSync } from "node:fs"
import { prefixChanges } from "./bound-thoughts.ts"
import { clearStages, expectArchived, openStage, type Stage } from "./checks.ts"
import { clientOrKit } from "./client-or-kit.ts"
import { type Client, clientFor } from "./clients.ts"
import { runPrint } from "./drive.ts"
import { answerEnd, EAGER, promptEnd, TURNS, talk, textsIn } from "./long-talk.ts"
import type { Recorded } from "./mock-api.ts"
import { type OwnClient, ownClient, patch } from "./patched.ts"
import { ctxbridge } from "./world.ts"

setDefaultTimeout(240_000)

const ENDS = Array.from({ length: TURNS }, (_, n) => [promptEnd(n), answerEnd(n)]).flat()
const MARK = "[earlier context pruned]"

/** With CTXBRIDGE_TEST_PATCH=all, every version that was tried when this was made, which takes minutes. */
const VERSIONS =
  process.env["CTXBRIDGE_TEST_PATCH"] === "all"
    ? ["2.0.76", "2.0.77", "2.1.20", "2.1.50", "2.1.80", "2.1.100", "2.1.112", "sdk"]
    : ["2.0.76", "2.1.112"]

const own: OwnClient[] = []
afterAll(() => {
  clearStages()
  for (const client of own) client.dispose()
})

function stageFor(client: Client): { readonly stage: Stage; readonly mine: OwnClient } {
  const mine = ownClient(client)
  own.push(mine)
  const stage = openStage(mine, { strict: true })
  // Older versions do not think by themselves.
  Object.assign(stage.world.env, EAGER, { MAX_THINKING_TOKENS: "4000" })
  return { stage, mine }
}

const marksIn = ({ body }: Recorded): number => JSON.stringify(body.messages).split(MARK).length - 1
/** Without what a client asks on the side, of its own accord. */
const planned = (requests: readonly Recorded[]) => requests.filter(({ plan }) => plan !== undefined)
/** What a client got and wrote, without what differs between runs. */
const shapeOf = (outputs: readonly { readonly type: string; readonly subtype?: string }[]): string[] =>
  outputs.map(({ type, subtype }) => `${type} ${subtype ?? ""}`).filter((line) => !line.startsWith("system"))

for (const version of VERSIONS) {
  const { client, missing } = await clientOrKit(version)
  describe.skipIf(missing !== undefined)(`Claude Code ${version}`, () => {
    test("says less and less of what is long past, in a resumed session and its summary, too; then as before", async () => {
      const { stage, mine } = stageFor(client)
      const { world, mock } = stage
      expect(patch(world, mine)).toMatchObject({ exitCode: 0, stderr: "" })
      const patched = await talk(stage)
      expect(patched.run.code).toBe(0)
      expect(patched.run.stderr).toBe("")
      expect(patched.refused).toEqual([])

      const main = planned(patched.main)
      expect(textsIn(main[5]!, ENDS)).toEqual(ENDS.slice(0, 5))
      // Clients write their transcripts with a delay; what is not archived waits for another prompt.
      const last = main.at(-1)!
      expect(textsIn(last, ENDS).length).toBeLessThanOrEqual(9)
      expect(textsIn(last, [promptEnd(TURNS - 1), answerEnd(TURNS - 2)])).toHaveLength(2)
      const marks = main.map(marksIn)
      const moves = marks.filter((count, n) => n > 0 && count !== marks[n - 1]).length
      expect(moves).toBeGreaterThan(0)
      expect(main.filter(({ body }, n) => n > 0 && isChanged(main[n - 1]!, { body })).length).toBe(moves)

      const [handle] = /ctx:[0-9a-z]{6,}(?= \[earlier)/.exec(JSON.stringify(last.body.messages)) ?? []
      const shown = ctxbridge(world, ["show", handle!])
      expect(shown.exitCode).toBe(0)
      expect(shown.stdout).toContain(promptEnd(0))

      expect(patched.stored).not.toContain(MARK)
      expect(ENDS.filter((text) => !patched.stored.includes(text))).toEqual([])
      await expectArchived(stage)

      const from = mock.requests.length
      const resume = ["--resume", patched.run.sessionId]
      const resumed = await runPrint(world, ["/compact", "Step 1: again"], resume)
      expect(resumed.code).toBe(0)
      const after = mock.requests.slice(from)
      expect(after.filter(({ refused }) => refused !== undefined)).toEqual([])
      expect(after.some(({ kind }) => kind === "compact")).toBe(true)

      expect(patch(world, mine, "--revert")).toMatchObject({ exitCode: 0, stderr: "" })
      expect(readFileSync(mine.file).equals(readFileSync(client.command[1]!))).toBe(true)
      const plain = await talk(stage)
      expect(plain.main.map(marksIn).filter((count) => count > 0)).toEqual([])
      expect(textsIn(plain.main.at(-1)!, ENDS)).toEqual(ENDS.slice(0, -1))
      expect(planned(plain.main)).toHaveLength(main.length)
      expect(shapeOf(plain.run.outputs)).toEqual(shapeOf(patched.run.outputs))
    })
  })
}

/** Whether a request does not begin with all of the one before. */
const isChanged = (before: Pick<Recorded, "body">, { body }: Pick<Recorded, "body">): boolean =>
  prefixChanges([before, { body }]) > 0

const { client, missing } = await clientFor("2.1.112")
test.skipIf(missing !== undefined)("without ctxbridge, a patched client says everything", async () => {
  const { stage, mine } = stageFor(client)
  const { world } = stage
  expect(patch(world, mine)).toMatchObject({ exitCode: 0, stderr: "" })
  rmSync(world.binary)
  const { run, main, refused } = await talk(stage)
  expect(run.code).toBe(0)
  expect(refused).toEqual([])
  expect(main.map(marksIn).filter((count) => count > 0)).toEqual([])
  expect(textsIn(main.at(-1)!, ENDS)).toEqual(ENDS.slice(0, -1))
})

const { client: latest, missing: noLatest } = await clientFor("latest")
test.skipIf(noLatest !== undefined)("a native program is refused, and stays as it is", () => {
  const { world } = openStage(latest)
  const file = latest.command[0]!
  const { exitCode, stdout, stderr } = ctxbridge(world, ["prune", "patch", "--target", file])
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" })
  expect(stderr).toContain("it is a native program (ELF), and only cli.js can be patched")
  expect(stderr).toContain("hint: ctxbridge prune recommend says what works here")
})
