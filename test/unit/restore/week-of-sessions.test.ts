/**
 * A simulated week: a user who always needs the same files, and one who opens any. Sessions are compacted and given real
 * restores; what is learnt is what the job learns.
 */
import { expect, test } from "bun:test"
import type { Step } from "../../../src/claude/fake/transcript.ts"
import { Dice } from "../../../src/cli/bench/seeded-random.ts"
import { learningReport } from "../../../src/cli/commands/learn.ts"
import { noteUses } from "../../../src/restore/learning/note-uses.ts"
import { restoreOf } from "../../../src/restore/restore.ts"
import { learnedRows } from "../../../src/views/queries/fact-uses.ts"
import { projectOfSession } from "../../../src/views/queries/projects.ts"
import { Archive } from "../../support/archive.ts"
import { compact } from "../../support/shown-again.ts"
import { Transcript } from "../../support/transcript.ts"

const DAY = 86_400_000
const MONDAY = Date.UTC(2026, 4, 4, 8)
const FILES = Array.from({ length: 90 }, (_, n) => `src/area${n % 9}/module${n}/handler${n}.ts`)
const NEEDED = FILES.filter((_, n) => n % 15 === 7)
const SESSIONS_A_DAY = 3

const absolute = (path: string): string => `/srv/app/${path}`
const read = (path: string) => ({ tool: "Read", input: { file_path: absolute(path) }, output: "…" })
const find = (path: string) => ({ tool: "Glob", input: { pattern: "**/*.ts" }, output: absolute(path) })

const shuffled = <T>(all: readonly T[], dice: Dice): T[] => dice.shuffled(all.length).map((n) => all[n]!)

/** A session in which every file was read once, in any order. */
function workedIn(archive: Archive, day: number, n: number, dice: Dice): Transcript {
  const { options, path } = archive.session(`day${day}-${n}`, { cwd: "/srv/app" })
  const session = new Transcript({ ...options, path, start: MONDAY + day * DAY + n * 3_600_000 })
  session.turn("read them all", shuffled(FILES, dice).map(read))
  archive.follow(session.flush())
  return session
}

/** What the user opens after a restore that shows these paths. */
type User = (shown: ReadonlySet<string>, dice: Dice) => Step[]

const needsTheSame: User = (shown) =>
  NEEDED.flatMap((path) => (shown.has(path) ? [read(path)] : [find(path), read(path)]))

const opensAny: User = (_shown, dice) => FILES.filter(() => dice.chance(0.15)).map(read)

function lived(archive: Archive, user: User, seed: number): void {
  const dice = new Dice(seed)
  for (let day = 0; day < 7; day++) {
    for (let n = 0; n < SESSIONS_A_DAY; n++) {
      const session = workedIn(archive, day, n, dice)
      const { slots } = compact(archive, session, { holdOut: 0.1 })
      const shown = new Set(
        slots.flatMap(([kind, text, , , isShown]) => (kind === "path" && isShown ? [text] : [])),
      )
      session.turn("go on", user(shown, dice))
      archive.follow(session.flush())
      noteUses(archive.db, archive.dataHome)
    }
  }
}

/** Mean position of the needed files among all, with what was learnt and without. */
function positions(archive: Archive): { learnt: number; unlearnt: number } {
  const session = workedIn(archive, 8, 0, new Dice(77)).session
  const mean = (learning: { holdOut: number } | undefined): number => {
    const { facts } = restoreOf(archive.db, session, {
      source: "compact",
      budget: 4000,
      summary: "",
      learning,
    })
    const order = facts!.paths.map(({ text }) => text)
    const places = NEEDED.map((path) => order.indexOf(path))
    expect(Math.min(...places)).toBeGreaterThanOrEqual(0)
    return places.reduce((sum, place) => sum + place, 0) / places.length
  }
  return { learnt: mean({ holdOut: 0 }), unlearnt: mean(undefined) }
}

test("a user who needs certain files finds them ranked higher after a week, and showing them is worth it", () => {
  using archive = new Archive()
  lived(archive, needsTheSame, 1)
  const { learnt, unlearnt } = positions(archive)
  expect(unlearnt).toBeGreaterThan(25)
  expect(learnt).toBeLessThan(unlearnt / 2)
  const { project } = projectOfSession(archive.db, "day0-0")!
  const rows = learnedRows(archive.db, project)
  const items = rows.filter(({ item }) => item !== "")
  expect(
    items
      .filter(({ weight }) => weight > 1.5)
      .map(({ item }) => item)
      .toSorted(),
  ).toEqual(NEEDED.toSorted())
  for (const { weight } of rows) expect(weight >= 0.5 && weight <= 2).toBe(true)
  const { lift, restores, waiting } = learningReport(archive.db, project)
  expect({ restores, waiting }).toEqual({ restores: 7 * SESSIONS_A_DAY, waiting: 0 })
  expect(lift!.isTelling).toBe(true)
  expect(lift!.interval[0]).toBeGreaterThan(0)
  expect(lift!.leftOut.found).toBeGreaterThan(0)
}, 60_000)

test("with a user who opens any file, the interval contains 0, and nothing is ranked much higher", () => {
  using archive = new Archive()
  lived(archive, opensAny, 2)
  const { project } = projectOfSession(archive.db, "day0-0")!
  const { lift } = learningReport(archive.db, project)
  expect(lift!.isTelling).toBe(true)
  expect(lift!.interval[0]).toBeLessThan(0)
  expect(lift!.interval[1]).toBeGreaterThan(0)
  const { learnt, unlearnt } = positions(archive)
  expect(Math.abs(learnt - unlearnt)).toBeLessThan(15)
}, 60_000)
