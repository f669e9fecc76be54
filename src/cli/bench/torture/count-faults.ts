/** Compares what hooks were told with what vault and views hold, and with what commands report. */
import { open } from "../../../views/open.ts"
import type { Faults } from "./torture-report.ts"
import {
  type ArchivedCopies,
  allLines,
  archivedLines,
  type GrowingSession,
  linesOf,
  promptsAmong,
  type World,
} from "./torture-world.ts"

/** Call this only when nothing is running. */
export async function countFaults(world: World): Promise<Faults & { readonly turns: number }> {
  let lostLines = 0
  let duplicates = 0
  let turns = 0
  const views = viewsOf(world)
  let lostTurns = 0
  for (const session of world.sessions) {
    const held = archivedLines(world.dataHome, session.id)
    const missing = missingLines(session, held)
    const twice = repeatedLines(held)
    const told = promptsAmong(session.told)
    const counted = views.get(session.id)
    const unseen = told.filter((prompt) => !counted?.has(prompt)).length
    const again = [...(counted?.values() ?? [])].reduce((sum, n) => sum + n - 1, 0)
    if (missing + twice + unseen + again > 0) {
      world.problems.push(
        `${session.id}: ${missing} lines lost, ${twice} twice; ${unseen} turns lost, ${again} twice`,
      )
    }
    lostLines += missing
    duplicates += twice + again
    lostTurns += unseen
    turns += told.length
  }
  if (turns > 0) await checkCommands(world, turns, lostLines)
  const { falseMessages, badExits } = world
  return { lostLines, lostTurns, duplicates, falseMessages, badExits, turns }
}

/** Number of missing lines: those that a hook was told of, and those in the current transcript. */
function missingLines(session: GrowingSession, held: ArchivedCopies): number {
  const all = allLines(held)
  const lost = [...session.told].filter((line) => !all.has(line)).length
  const now = session.content()
  if (now.length === 0 || Buffer.compare(now, held.current) === 0) return lost
  const current = new Set(linesOf(held.current))
  // The bytes also differ if lines are reordered or others are mixed in.
  return Math.max(lost, linesOf(now).filter((line) => !current.has(line)).length, 1)
}

function repeatedLines({ current, former }: ArchivedCopies): number {
  let repeated = 0
  for (const copy of [...former, current]) {
    const lines = linesOf(copy)
    repeated += lines.length - new Set(lines).size
  }
  return repeated
}

/** How often each prompt occurs in the views of each session. */
function viewsOf(world: World): Map<string, Map<string, number>> {
  const found = new Map<string, Map<string, number>>()
  try {
    using db = open(world.dataHome, "look", 5000)
    const rows = db
      .query<{ session: string; prompt: string }, []>(
        "SELECT session, prompt FROM turns WHERE via NOT IN ('none', 'brief', 'history')",
      )
      .all()
    for (const { session, prompt } of rows) {
      const prompts = found.get(session) ?? new Map<string, number>()
      found.set(session, prompts.set(prompt, (prompts.get(prompt) ?? 0) + 1))
    }
    const check = db.query<{ integrity_check: string }, []>("PRAGMA integrity_check(1)").get()
    if (check?.integrity_check !== "ok") world.isFalse(`the database is damaged: ${check?.integrity_check}`)
  } catch (error) {
    world.problems.push(`the views cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
  return found
}

interface Verify {
  readonly ok?: boolean
  readonly transcripts?: readonly { readonly state: string; readonly problems: readonly string[] }[]
}

interface Status {
  readonly totals?: { readonly turns: number } | null
  readonly spool?: readonly unknown[]
}

/** Checks that `verify` and `status` report what we found. */
async function checkCommands(world: World, turns: number, lostLines: number): Promise<void> {
  const { ok, transcripts = [] } = await world.asked<Verify>(["verify"], [0, 1])
  if (ok !== (lostLines === 0)) {
    const said = transcripts.map(({ state, problems }) => [state, ...problems].join(": "))
    world.isFalse(`verify said ${ok ? "all is well" : "not all is well"}: ${said.join("; ")}`)
  }
  const { totals, spool } = await world.asked<Status>(["status"])
  if ((totals?.turns ?? 0) < turns) {
    world.isFalse(`status counted ${totals?.turns ?? "no"} turns; hooks were told of ${turns}`)
  }
  if (spool?.length !== 0) world.isFalse("something is still spooled")
}
