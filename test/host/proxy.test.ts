/** The real clients behind the proxy, against an API that refuses a thought after something else than what led to it. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { listening } from "../support/proxy.ts"
import { prefixChanges } from "./bound-thoughts.ts"
import { clearStages, expectArchived, openStage } from "./checks.ts"
import { clientOrKit } from "./client-or-kit.ts"
import { answerEnd, EAGER, promptEnd, TURNS, talk, textsIn } from "./long-talk.ts"
import { ctxbridge } from "./world.ts"

setDefaultTimeout(240_000)
afterAll(clearStages)

const ENDS = Array.from({ length: TURNS }, (_, n) => [promptEnd(n), answerEnd(n)]).flat()
const MARK = "[earlier context pruned]"

/** With CTXBRIDGE_TEST_PROXY=all, also others that were tried when this was made. */
const VERSIONS =
  process.env["CTXBRIDGE_TEST_PROXY"] === "all"
    ? ["2.0.76", "2.0.77", "2.1.50", "2.1.112", "latest", "sdk"]
    : ["2.0.76", "2.1.112", "latest"]

for (const version of VERSIONS) {
  const { client, missing } = await clientOrKit(version)
  describe.skipIf(missing !== undefined)(`Claude Code ${version}`, () => {
    test("says less and less of what is long past, and nothing is refused", async () => {
      const stage = openStage(client, { strict: true })
      const { world } = stage
      Object.assign(world.env, EAGER)
      await using proxy = await listening(["prune", "proxy", "--json"], world.env)
      world.env["ANTHROPIC_BASE_URL"] = proxy.url
      const { run, main: all, refused, stored } = await talk(stage)
      expect(run.code).toBe(0)
      expect(refused).toEqual([])

      // Without what a client asks on the side, of its own accord.
      const main = all.filter(({ plan }) => plan !== undefined)
      // All is there at first; in the end, the latest prompts and what followed them.
      expect(textsIn(main[5]!, ENDS)).toEqual(ENDS.slice(0, 5))
      // Clients write their transcripts with a delay; what is not archived waits for another prompt.
      const last = main.at(-1)!
      expect(textsIn(last, ENDS).length).toBeLessThanOrEqual(9)
      expect(textsIn(last, [promptEnd(TURNS - 1), answerEnd(TURNS - 2)])).toHaveLength(2)
      const marks = main.map(({ body }) => JSON.stringify(body.messages).split(MARK).length - 1)
      const moves = marks.filter((count, n) => n > 0 && count !== marks[n - 1]).length
      expect(moves).toBeGreaterThan(0)
      expect(prefixChanges(main)).toBe(moves)

      // What is pruned can be opened.
      const [handle] = /ctx:[0-9a-z]{6,}(?= \[earlier)/.exec(JSON.stringify(last.body.messages)) ?? []
      const { stdout, exitCode } = ctxbridge(world, ["show", handle!])
      expect(exitCode).toBe(0)
      expect(stdout).toContain(promptEnd(0))

      // What the client stores is whole, and so is the archive.
      expect(stored).not.toContain(MARK)
      expect(ENDS.filter((text) => !stored.includes(text))).toEqual([])
      await expectArchived(stage)
      const ended = await proxy.end()
      expect(ended).toMatchObject({
        event: "ended",
        pruned: all.filter(({ body }) => JSON.stringify(body.messages).includes(MARK)).length,
      })
    })
  })
}
