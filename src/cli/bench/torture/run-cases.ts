/** Runs the cases, several at a time, since most of them wait for background jobs. */

import { messageOf } from "../../../base/errors.ts"
import { temporaryFolder } from "../../../base/temporary.ts"
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
import { crowd, kills } from "./case-crowd.ts"
import { blocked, flapping, full, limited, refused } from "./case-disk.ts"
import { clockGoingBack, homeless } from "./case-surroundings.ts"
import { deleted, replaced, truncated } from "./case-transcript.ts"
import { countFaults } from "./count-faults.ts"
import {
  type CaseResult,
  faultsOf,
  type Scale,
  type TortureCase,
  type TortureReport,
} from "./torture-report.ts"
import { World } from "./torture-world.ts"

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
