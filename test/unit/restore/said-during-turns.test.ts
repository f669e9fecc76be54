/** What was said on the way of long turns, where there are few of them. */
import { expect, test } from "bun:test"
import { rmSync } from "node:fs"
import { join } from "node:path"
import { ArchivedLines } from "../../../src/restore/archived-line.ts"
import { gather } from "../../../src/restore/gather.ts"
import { renderRestore } from "../../../src/restore/render.ts"
import { stepsOf } from "../../../src/restore/restore.ts"
import { Archive } from "../../support/archive.ts"
import type { Transcript } from "../../support/transcript.ts"

const SMALL_TALK = "Let me look at the next one."
const found = (n: number): string =>
  `Finding ${n}: the cache of shard ${n} is never emptied, its tests see old rows.`

/** Many calls with a word before each, a finding behind some of them, and an answer. */
function longTurn(
  transcript: Transcript,
  findings: readonly number[],
  prompt = "find out why it fails",
): void {
  transcript.user(prompt)
  for (const n of findings) {
    for (let call = 0; call < 5; call++) {
      transcript.message().say(SMALL_TALK)
      transcript.step({ tool: "Bash", input: { command: `npm test -- ${n}.${call}` }, output: "ok" })
    }
    transcript.message().say(found(n))
  }
  transcript.message().say("All shards are looked at.")
}

function restored(archive: Archive, budget = 4000, summary = ""): string {
  const material = gather(archive.db, "s1")
  const steps = stepsOf(archive.db, material.turns, new ArchivedLines(archive.dataHome))
  return renderRestore({ ...material, steps }, { source: "compact", budget, summary })
}

const turnLines = (text: string): string[] =>
  (text.split("\n## Turns\n")[1] ?? "").split("\n").filter((line) => line.startsWith("- ctx:"))

const findingsIn = (text: string): number[] =>
  turnLines(text).flatMap((line) =>
    [...line.matchAll(/"Finding (\d+): .*", said on the way$/g)].map(([, n]) => Number(n)),
  )

test("one long turn gets five lines: the longest of what was said, in order, without small talk", () => {
  using archive = new Archive()
  const transcript = archive.session("s1")
  longTurn(transcript, [1, 2, 3, 4, 5])
  archive.follow(transcript.flush())
  const text = restored(archive)
  const lines = turnLines(text)
  expect(lines).toHaveLength(5)
  expect(lines[0]).toContain('"find out why it fails" → "All shards are looked at."')
  expect(findingsIn(text)).toEqual([2, 3, 4, 5])
  expect(new Set(lines.map((line) => line.split(" ")[1])).size).toBe(1)
  expect(text).not.toContain(SMALL_TALK)
})

test("steps follow their turn, and more turns leave room for fewer steps", () => {
  using archive = new Archive()
  const transcript = archive.session("s1")
  longTurn(transcript, [1, 2], "first")
  longTurn(transcript, [3, 4], "second")
  archive.follow(transcript.flush())
  const kinds = (): string[] =>
    turnLines(restored(archive)).map((line) => /"(first|second|Finding \d|third \d)/.exec(line)?.[1] ?? line)
  expect(kinds()).toEqual(["first", "Finding 2", "second", "Finding 3", "Finding 4"])
  for (let n = 1; n <= 3; n++) transcript.turn(`third ${n}`, [], "Done.")
  archive.follow(transcript.flush())
  expect(kinds()).toEqual(["first", "second", "third 1", "third 2", "third 3"])
})

test("neither what the summary contains nor what subagents say", () => {
  using archive = new Archive()
  const transcript = archive.session("s1")
  longTurn(transcript, [1, 2, 3])
  archive.follow(transcript.flush())
  const agent = archive.session("s1", { agent: "a1" })
  longTurn(agent, [7, 8, 9], "look at shards 7 to 9")
  archive.follow(agent.flush())
  const summary = `1. Primary Request: ${found(2)}`
  expect(findingsIn(restored(archive, 4000, summary))).toEqual([1, 3])
})

test("turns come first when there is little room", () => {
  using archive = new Archive()
  const transcript = archive.session("s1")
  longTurn(transcript, [1, 2, 3], "first")
  longTurn(transcript, [4, 5, 6], "second")
  archive.follow(transcript.flush())
  for (let budget = 200; budget < 1600; budget += 10) {
    const text = restored(archive, budget)
    expect(text.length).toBeLessThanOrEqual(budget)
    if (findingsIn(text).length > 0) expect(turnLines(text).join()).toMatch(/"first".*"second"/s)
  }
})

test("steps are read from the vault, where secrets are filtered; without it, only turns are shown", () => {
  using archive = new Archive()
  const transcript = archive.session("s1")
  const secret = `ghp_${"a1B2c3D4e5F6".repeat(3)}`
  transcript.user("try the token")
  transcript.message().say(`The token that works for the deployment of the shards is ${secret}.`)
  transcript.step({ tool: "Bash", input: { command: "deploy" }, output: "ok" })
  transcript.message().say("Deployed.")
  const { copy } = archive.follow(transcript.flush())
  expect(restored(archive)).toContain("The token that works for the deployment of the shards is ****")
  expect(restored(archive)).not.toContain(secret)
  rmSync(join(archive.dataHome, "vault", copy))
  expect(turnLines(restored(archive))).toHaveLength(1)
})
