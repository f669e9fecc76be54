/** What a session's archive ends with does not depend on when its lines came, or in which order its files were read. */
import { expect, test } from "bun:test"
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import fc from "fast-check"
import { fillKnown } from "../../src/job/fill-known.ts"
import { FILTERED } from "../../src/secrets/filter.ts"
import { captureTranscript } from "../../src/vault/capture.ts"
import { knownOf } from "../../src/vault/known-values.ts"
import { vaultFile, vaultPath } from "../../src/vault/layout.ts"
import { CopyReader } from "../../src/vault/reader.ts"
import { verify } from "../../src/vault/verify-vault.ts"
import { tempFolder } from "../support/temp.ts"

/** One is part of another, one ends as another begins, one is written differently within JSON. */
const VALUES = ["zebra-Kafe71", "x9-zebra-Kafe71-quilt", "Kafe71-quilt-Oboe", 'back\\slash"77Xy'] as const
const SESSION = "5e551011-0000-4000-8000-000000000001"

const said = fc.oneof(
  fc.constantFrom(...VALUES),
  fc.constantFrom(...VALUES).map((value) => `DB_PASSWORD="${value}"`),
  fc.constantFrom(...VALUES).map((value) => JSON.stringify({ password: value })),
  fc.constantFrom(...VALUES).map((value) => Buffer.from(`ab${value}cd`).toString("base64")),
  fc.tuple(fc.constantFrom(...VALUES), fc.constantFrom(...VALUES)).map(([a, b]) => `${a}${b}`),
  fc.constantFrom("nothing", "<private>x</private>", "token", "größe"),
)

const line = fc
  .tuple(fc.array(said, { minLength: 1, maxLength: 3 }), fc.boolean())
  .map(([texts, isAgent]) => ({
    isAgent,
    text: `${JSON.stringify({ type: "user", sessionId: SESSION, message: { content: texts.join(" and ") } })}\n`,
  }))

/** Archives the lines, with a hook after each group of them. */
function archive(
  root: string,
  groups: readonly (readonly { isAgent: boolean; text: string }[])[],
  jobs: boolean,
) {
  const home = join(root, "home")
  const place = { dataHome: join(root, "data"), stateHome: join(root, "state"), home, secrets: FILTERED }
  const main = join(home, ".claude", "projects", "p", `${SESSION}.jsonl`)
  const agent = join(home, ".claude", "projects", "p", SESSION, "subagents", "agent-a.jsonl")
  for (const path of [agent, place.dataHome, place.stateHome]) mkdirSync(dirname(path), { recursive: true })
  mkdirSync(place.dataHome, { recursive: true })
  for (const group of groups) {
    for (const { isAgent, text } of group) appendFileSync(isAgent ? agent : main, text)
    for (const path of [main, agent])
      captureTranscript(place, path, {
        now: 1,
        deadline: Number.MAX_SAFE_INTEGER,
        lastLine: "whole",
        known: knownOf,
      })
    if (jobs) fillKnown(place, 0)
  }
  fillKnown(place, 0)
  const report = verify({ ...place, transcripts: [] })
  expect(report.ok).toBe(true)
  return [main, agent].map((path) => {
    if (!existsSync(path)) return undefined
    const content = Buffer.concat([
      ...new CopyReader(vaultFile(place.dataHome, vaultPath(path, home))).pieces(),
    ])
    expect(content).toHaveLength(readFileSync(path).length)
    return content.toString("latin1")
  })
}

test("the archive is the same however its lines were split", () => {
  fc.assert(
    fc.property(
      fc.array(line, { minLength: 1, maxLength: 8 }),
      fc.array(fc.nat(8), { maxLength: 4 }),
      fc.boolean(),
      (lines, cuts, jobs) => {
        using once = tempFolder()
        using often = tempFolder()
        const at = [0, ...cuts.map((cut) => Math.min(cut, lines.length)).sort((a, b) => a - b), lines.length]
        const groups = at.slice(1).map((to, n) => lines.slice(at[n], to))
        expect(archive(often.path, groups, jobs)).toEqual(archive(once.path, [lines], false))
      },
    ),
    { numRuns: 60 },
  )
})
