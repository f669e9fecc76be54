/** Runs the cases, several at a time, since most of them wait for background jobs. */

import { mkdirSync, readdirSync, rmSync, statSync, truncateSync, utimesSync, writeFileSync } from "node:fs"
import { messageOf } from "../../../base/errors.ts"
import { tryTo } from "../../../base/files.ts"
import { renameSync } from "../../../base/fs.ts"
import { DAY } from "../../../base/local-time.ts"
import { dirname, join } from "../../../base/path.ts"
import { temporaryFolder } from "../../../base/temporary.ts"
import { captureTranscript } from "../../../vault/capture.ts"
import { open } from "../../../views/open.ts"
import { Dice } from "../seeded-random.ts"
import {
  cutShort,
  flipped,
  header,
  locked,
  log,
  missingDatabase,
  newer,
  page,
  vanished,
} from "./case-copy.ts"
import { blocked, flapping, full, limited, refused } from "./case-disk.ts"
import {
  type CaseResult,
  type Faults,
  faultsOf,
  type Scale,
  type TortureCase,
  type TortureReport,
} from "./torture-report.ts"
import {
  type ArchivedCopies,
  allLines,
  archivedLines,
  type GrowingSession,
  linesOf,
  promptsAmong,
  World,
} from "./torture-world.ts"

/* Many hooks at once, and hooks killed at any moment. */

const crowd: TortureCase = {
  name: "concurrent writers",
  async run(world, dice, { writers }) {
    const shared = world.session().grow(1)
    const many = Array.from({ length: writers }, () => world.session().grow(2))
    let growing = true
    const grow = async (): Promise<void> => {
      while (growing) {
        shared.grow(1)
        await Bun.sleep(1)
      }
    }
    const grown = grow()
    const one = many.map(() => world.hook(world.anyEvent(dice), shared))
    const own = many.map((session) => world.hook(world.anyEvent(dice), session))
    await Promise.all([...one, ...own])
    growing = false
    await grown
  },
}

const kills: TortureCase = {
  name: "kill -9",
  async run(world, dice, { kills }) {
    const sessions = Array.from({ length: 4 }, () => world.session().grow(1))
    // Some end before they can be killed, so more are started.
    for (let n = 0; world.killed < kills && n < 4 * kills; n++) {
      // Occasionally enough that a job is started for it.
      const session = dice.pick(sessions).grow(n % 25 === 0 ? 500 : dice.between(1, 12))
      const dying: Promise<unknown>[] = [
        world.hook(world.anyEvent(dice), session, { killAfter: dice.between(0, 40) }),
      ]
      if (dice.chance(0.3)) dying.push(world.hook("stop", session, { killAfter: dice.between(0, 40) }))
      if (dice.chance(0.3)) dying.push(world.job({ killAfter: dice.between(0, 60) }))
      await Promise.all(dying)
      if (dice.chance(0.3)) world.killEverything()
    }
    world.killEverything()
  },
}

/*
 * A transcript that Claude Code changes while hooks read it. What a hook was told of must remain, in one version or
 * another.
 */

const HOOKS = 4

/** In each round, Claude Code changes the transcript while hooks are reading it, and continues writing. */
function changing(name: string, change: (session: GrowingSession, dice: Dice) => void): TortureCase {
  return {
    name: `transcript ${name} while read`,
    async run(world, dice, { rounds }) {
      const session = world.session()
      for (let n = 0; n < rounds; n++) {
        await world.hook(world.anyEvent(dice), session.grow(dice.between(1, 300)))
        const reading = Array.from({ length: HOOKS }, () => {
          session.grow(dice.between(1, 300))
          return world.hook(world.anyEvent(dice), session)
        })
        await Bun.sleep(dice.between(0, 15))
        session.generation++
        change(session, dice)
        session.grow(1)
        await Promise.all(reading)
      }
    },
  }
}

const truncated = changing("truncated", (session, dice) =>
  truncateSync(session.path, dice.between(0, statSync(session.path).size)),
)

const replaced = changing("replaced", (session, dice) => {
  const other = `${session.path}.other`
  mkdirSync(dirname(other), { recursive: true })
  writeFileSync(other, session.text(dice.between(1, 100)))
  renameSync(other, session.path)
})

const deleted = changing("deleted", (session) => rmSync(session.path))

/* A machine that is not as it should be. */

/**
 * The clock cannot be set here. Instead, what hooks left is dated in the future: the files' time stamps, and those
 * inside them.
 */
const clockGoingBack: TortureCase = {
  name: "clock going back",
  async run(world, dice, { rounds }) {
    const sessions = [world.session().grow(2), world.session().grow(2)]
    for (let n = 0; n < rounds; n++) {
      for (const session of sessions) {
        session.grow(1)
        const now = Date.now() + dice.between(1, 400) * DAY
        captureTranscript(world, session.path, {
          now,
          deadline: performance.now() + 10_000,
          lastLine: "whole",
        })
        await world.hook(world.anyEvent(dice), session.grow(1))
      }
      intoTheFuture(world)
    }
  },
}

function intoTheFuture({ root }: World): void {
  const future = (Date.now() + 30 * DAY) / 1000
  for (const name of readdirSync(root, { recursive: true }) as string[]) {
    const file = join(root, name)
    // A job may have removed it in the meantime.
    tryTo(() => statSync(file).isFile() && utimesSync(file, future, future))
  }
}

/** When the environment names no home, the user database does; when that is unusable, nothing can be written. */
const homeless: TortureCase = {
  name: "home folder missing",
  async run(world, dice, { rounds }) {
    world.set("HOME", undefined)
    const session = world.session()
    const nowhere = {
      HOME: "/dev/null/home",
      XDG_DATA_HOME: "/dev/null/home/data",
      XDG_STATE_HOME: "/dev/null/home/state",
    }
    for (let n = 0; n < rounds; n++) {
      const HOME = dice.pick([undefined, "", "relative/home", "/dev/null/home"])
      await world.hook(world.anyEvent(dice), session.grow(1), { env: { HOME } })
      await world.hook(world.anyEvent(dice), session.grow(1), { env: nowhere })
    }
  },
}

/* Compares what hooks were told with what vault and views hold, and with what commands report. */

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

/** Longest first. */
export const CASES: readonly TortureCase[] = [
  kills,
  crowd,
  full,
  flapping,
  refused,
  blocked,
  limited,
  locked,
  header,
  page,
  log,
  missingDatabase,
  newer,
  truncated,
  replaced,
  deleted,
  vanished,
  flipped,
  cutShort,
  clockGoingBack,
  homeless,
]

export const FULL_SCALE: Scale = { writers: 50, kills: 200, rounds: 10 }
export const QUICK_SCALE: Scale = { writers: 12, kills: 30, rounds: 3 }

const AT_ONCE = 4

interface TortureOptions {
  /** The compiled ctxbridge. */
  readonly exe: string
  readonly seed: number
  readonly scale: Scale
  readonly cases: readonly TortureCase[]
  readonly onProgress?: (step: string, done: number, total: number) => void
}

/** Runs in temporary folders, which are removed. The user's own archive and settings are not touched. */
export async function torture(options: TortureOptions): Promise<TortureReport> {
  const { cases, seed, scale } = options
  const done: { result: CaseResult; n: number }[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    for (let n = next++; n < cases.length; n = next++) {
      const one = cases[n]!
      options.onProgress?.(one.name, done.length, cases.length)
      let world: World | undefined
      using folder = temporaryFolder("torture", () => world?.remove())
      world = new World(options.exe, folder.path)
      done.push({ n, result: await runCase(one, world, diceOf(one, seed), scale) })
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  const results = done.sort((a, b) => a.n - b.n).map(({ result }) => result)
  return { suite: "torture", ok: results.every((one) => faultsOf(one) === 0), seed, scale, cases: results }
}

async function runCase(one: TortureCase, world: World, dice: Dice, scale: Scale): Promise<CaseResult> {
  const start = performance.now()
  const { name } = one
  let skipped: string | null = null
  try {
    skipped = (await one.run(world, dice, scale)) ?? null
    if (skipped === null) await world.recover()
  } catch (error) {
    // The case itself failed, so it has shown nothing.
    world.isFalse(`the case broke off: ${messageOf(error)}`)
  }
  const faults = skipped === null ? await countFaults(world) : NONE
  const { runs, killed, problems } = world
  return { name, skipped, ...faults, runs, killed, ms: Math.round(performance.now() - start), problems }
}

/** Gives a case the same random numbers whichever other cases run. */
const diceOf = ({ name }: TortureCase, seed: number): Dice =>
  new Dice(seed * 0x1_0000_0000 + Number(Bun.hash.xxHash32(name)))

const NONE = { lostLines: 0, lostTurns: 0, duplicates: 0, falseMessages: 0, badExits: 0, turns: 0 }
