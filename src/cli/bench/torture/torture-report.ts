/** What `ctxbridge bench torture` does and reports. */
import type { Dice } from "../seeded-random.ts"
import type { World } from "./torture-world.ts"

/** How much of everything. */
export interface Scale {
  /** Number of hooks at once. */
  readonly writers: number
  /** Number of processes killed. */
  readonly kills: number
  /** Repetitions of whatever depends on timing. */
  readonly rounds: number
}

export interface TortureCase {
  /** Stable across implementations. */
  readonly name: string
  /**
   * Does the damage and undoes it; the result is judged afterwards.
   *
   * @returns why it cannot be done here; nothing when it was done
   */
  run(world: World, dice: Dice, scale: Scale): Promise<string | undefined | void>
}

/** What went wrong; all 0 when nothing did. */
export interface Faults {
  /** Lines that a hook was told of and that are in no copy. */
  readonly lostLines: number
  /** Prompts in those lines that are not in the views. */
  readonly lostTurns: number
  /** Lines that are twice in a copy, and prompts that are twice in the views. */
  readonly duplicates: number
  /** Output that is untrue or invalid. */
  readonly falseMessages: number
  /** Wrong exit codes, and anything on a hook's stderr. */
  readonly badExits: number
}

export interface CaseResult extends Faults {
  readonly name: string
  /** Why it could not be done; null when it was. */
  readonly skipped: string | null
  /** Number of ctxbridge processes started, and how many of them were killed. */
  readonly runs: number
  readonly killed: number
  readonly turns: number
  readonly ms: number
  /** What went wrong, in words. */
  readonly problems: readonly string[]
}

export interface TortureReport {
  readonly suite: "torture"
  readonly ok: boolean
  readonly seed: number
  readonly scale: Scale
  readonly cases: readonly CaseResult[]
}

export const faultsOf = (result: Faults): number =>
  result.lostLines + result.lostTurns + result.duplicates + result.falseMessages + result.badExits
