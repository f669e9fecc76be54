/** The real clients, patched, against an API that refuses a thought after something else than what led to it. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { readFileSync } from "node:fs"
import { clearStages, expectArchived, openStage } from "./checks.ts"
import { type Client, clientFor } from "./clients.ts"
import { fromNpm } from "./from-npm.ts"
import { answerEnd, EAGER, promptEnd, TURNS, talk, textsIn } from "./long-talk.ts"
import { type OwnClient, ownClient, patch } from "./patched.ts"
import { ctxbridge } from "./world.ts"

setDefaultTimeout(120_000)

const ENDS = Array.from({ length: TURNS }, (_, n) => [promptEnd(n), answerEnd(n)]).flat()
const MARK = "[earlier context pruned]"

const own: OwnClient[] = []
afterAll(() => {
  clearStages()
  for (const client of own) client.dispose()
})

const ALL = process.env["CTXBRIDGE_TEST_ALL"] === "1"
const VERSIONS = ALL ? ["2.0.76", "2.0.77", "2.1.50", "2.1.112", "sdk"] : ["2.0.76", "2.1.112"]

async function find(version: string): Promise<{ client: Client; missing: string | undefined }> {
  if (version !== "sdk") return clientFor(version)
  const found = await fromNpm("@anthropic-ai/claude-agent-sdk@0.1.76", "agent-sdk-0.1.76")
  if ("missing" in found) return { client: { version: "0.0.0", command: [] }, missing: found.missing }
  const file = `${found.modules}/@anthropic-ai/claude-agent-sdk/cli.js`
  return { client: { version: "2.0.76", command: [Bun.which("node")!, file] }, missing: undefined }
}

for (const version of VERSIONS) {
  const { client, missing } = await find(version)
  describe.skipIf(missing !== undefined)(`Claude Code ${version}`, () => {
    test("says less and less of what is long past, and nothing is refused", async () => {
      const mine = ownClient(client)
      own.push(mine)
      const stage = openStage(mine, { strict: true })
      const { world } = stage
      Object.assign(world.env, EAGER)
      const t0 = performance.now()
      expect(patch(world, mine)).toMatchObject({ exitCode: 0, stderr: "" })
      console.log("patch", performance.now() - t0)
      const { run, main, refused, prefixChanges, stored } = await talk(stage)
      console.log("talk", performance.now() - t0, main.length)
      expect(run.code).toBe(0)
      console.log({ refused, prefixChanges })
      const marks = main.map(({ body }) => JSON.stringify(body.messages).split(MARK).length - 1)
      console.log(marks.join(" "), main.map((m) => textsIn(m, ENDS).length).join(" "))
      expect(refused).toEqual([])
      const last = main.at(-1)!
      expect(textsIn(last, ENDS).length).toBeLessThanOrEqual(5)
      expect(textsIn(last, [promptEnd(TURNS - 1), answerEnd(TURNS - 2)])).toHaveLength(2)
      const moves = marks.filter((count, n) => n > 0 && count !== marks[n - 1]).length
      expect(moves).toBeGreaterThan(0)
      expect(prefixChanges).toBe(moves)

      const [handle] = /ctx:[0-9a-z]{6,}(?= \[earlier)/.exec(JSON.stringify(last.body.messages)) ?? []
      const { stdout, exitCode } = ctxbridge(world, ["show", handle!])
      expect(exitCode).toBe(0)
      expect(stdout).toContain(promptEnd(0))

      expect(stored).not.toContain(MARK)
      expect(ENDS.filter((text) => !stored.includes(text))).toEqual([])
      await expectArchived(stage)

      expect(patch(world, mine, "--revert")).toMatchObject({ exitCode: 0, stderr: "" })
      expect(readFileSync(mine.file).equals(readFileSync(client.command[1]!))).toBe(true)
    })
  })
}
