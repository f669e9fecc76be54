/** What the archive takes on disk: counted at once while it is small, kept while it is large. */
import { describe, expect, test } from "bun:test"
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { NEWEST, newestOf } from "../../../src/cli/doctor/transcript-checks.ts"
import { backlog } from "../../../src/views/backlog.ts"
import { countDiskUse, diskUse, isCountDue } from "../../../src/views/disk-use.ts"
import { sessionsInNames, sourcesOf } from "../../../src/views/view-sources.ts"
import { Archive } from "../../support/archive.ts"
import { tempFolder } from "../../support/temp.ts"

const HOUR = 3_600_000
const NOW = Date.UTC(2026, 0, 2)

/** An archive of some bytes with a count of a large one. */
function withCount(text: string): { path: string } & Disposable {
  const folder = tempFolder()
  mkdirSync(join(folder.path, "vault", "home", "p"), { recursive: true })
  writeFileSync(join(folder.path, "vault", "home", "p", "a.jsonl.zst"), "12345")
  mkdirSync(join(folder.path, "sessions"))
  writeFileSync(join(folder.path, "sessions", "a.json"), "1234567")
  writeFileSync(join(folder.path, "archive.db"), "123")
  if (text !== "") writeFileSync(join(folder.path, "counted.json"), text)
  return folder
}

const large = (counted: number): string =>
  JSON.stringify({ vault: { files: 20_000, bytes: 1, problem: null }, other: 2, counted })

describe("bytes on disk", () => {
  test("are counted, without the database, and no count of a small archive is kept", () => {
    using folder = withCount("")
    expect(diskUse(folder.path, NOW)).toEqual({
      vault: { files: 1, bytes: 5, problem: null },
      other: 7,
      counted: NOW,
    })
    expect(existsSync(join(folder.path, "counted.json"))).toBe(false)
    expect(isCountDue(folder.path, NOW)).toBe(false)
  })

  test("of a large archive are those that were counted within a day, and say when", () => {
    using folder = withCount(large(NOW - 23 * HOUR))
    expect(diskUse(folder.path, NOW)).toMatchObject({ vault: { files: 20_000 }, counted: NOW - 23 * HOUR })
    expect(isCountDue(folder.path, NOW)).toBe(true)
  })

  test.each([
    ["a day old", large(NOW - 24 * HOUR)],
    ["of the future", large(NOW + HOUR)],
    ["half written", large(NOW).slice(0, 40)],
    ["without numbers", '{"vault":{"files":"many"},"other":null,"counted":1}'],
    ["something else", "[]"],
  ])("a count that is %s is made anew", (_, text) => {
    using folder = withCount(text)
    expect(diskUse(folder.path, NOW)).toMatchObject({
      vault: { files: 1, bytes: 5 },
      other: 7 + (existsSync(join(folder.path, "counted.json")) ? 0 : text.length),
      counted: NOW,
    })
  })

  test("an archive that has become large is counted by the job from then on, once an hour", () => {
    using folder = withCount("")
    for (let n = 0; n <= 10_000; n++)
      writeFileSync(join(folder.path, "vault", "home", "p", `${n}.jsonl.zst`), "")
    countDiskUse(folder.path, NOW)
    expect(JSON.parse(readFileSync(join(folder.path, "counted.json"), "utf8"))).toMatchObject({
      vault: { files: 10_002, bytes: 5 },
    })
    expect(statSync(join(folder.path, "counted.json")).mode & 0o777).toBe(0o600)
    expect(isCountDue(folder.path, NOW + HOUR - 1)).toBe(false)
    expect(isCountDue(folder.path, NOW + HOUR)).toBe(true)
  })
})

describe("many sessions", () => {
  test("what changed last is opened", () => {
    const all = Array.from({ length: NEWEST + 2 }, (_, n) => ({ changed: n, name: String(n) }))
    const newest = newestOf(all)
    expect(newest).toHaveLength(NEWEST)
    expect(newest.some(({ changed }) => changed < 2)).toBe(false)
    expect(newestOf(all.slice(0, 3))).toEqual(all.slice(0, 3))
  })

  test("the copies of one are found by their names, and its subagents with them", () => {
    using archive = new Archive()
    for (const id of ["one", "two"]) archive.follow(archive.session(id).user(`prompt of ${id}`).flush())
    // Claude Code up to 2.0 keeps subagents beside their session: only their lines say whose they are.
    for (const [agent, of] of [
      ["c0ffee", "one"],
      ["decade", "two"],
    ] as const)
      archive.follow(archive.session(`agent-${agent}`, { agent }).user("look", { sessionId: of }).flush())
    const named = (wanted: string): string[] =>
      sourcesOf(archive.dataHome, (id) => id === wanted).map(({ session }) => session)
    expect(named("one").sort()).toEqual(["one", "one/c0ffee"])
    expect(named("two").sort()).toEqual(["two", "two/decade"])
    expect(named("three")).toEqual([])
    const isCounted = (copy: string): boolean => !copy.includes("two")
    expect(sessionsInNames(archive.dataHome, isCounted)).toEqual(new Set(["one"]))
  })

  test("what has grown is told, wherever it is among the sessions that were active last", () => {
    using archive = new Archive()
    const grown = archive.session("one").user("prompt").flush()
    archive.follow(grown)
    archive.follow(archive.session("two").user("prompt").flush())
    const none = { transcripts: 0, bytes: 0 }
    expect(backlog(archive.db)).toEqual({ vault: none, views: none })
    const before = statSync(grown.path).size
    grown.user("more").flush()
    const bytes = statSync(grown.path).size - before
    expect(backlog(archive.db)).toEqual({ vault: { transcripts: 1, bytes }, views: none })
  })
})
