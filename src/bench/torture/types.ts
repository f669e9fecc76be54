/** What `ctxbridge bench torture` does and reports. */
import type { Dice } from "../dice.ts"
import type { World } from "./world.ts"

/** How often. */
export interface Scale {
  /** Hooks at once. */
  readonly writers: number
  /** Processes killed. */
  readonly kills: number
  /** Repetitions of whatever depends on the moment. */
  readonly rounds: number
}

export interface TortureCase {
  /** Outlives implementations. */
  readonly name: string
  /**
   * Does the damage and undoes it. What is left is judged afterwards.
   *
   * @returns why it cannot be done here; nothing when it was done
   */
  run(world: World, dice: Dice, scale: Scale): Promise<string | undefined | void>
}

/** What went wrong; all 0 when nothing did. */
export interface Faults {
  /** Lines that a hook was told of and that are in no copy. */
  readonly lostLines: number
  /** Prompts of theirs that are not in the views. */
  readonly lostTurns: number
  /** Lines that are in a copy twice, and prompts that are in the views twice. */
  readonly duplicates: number
  /** Output that says what is not so, or is no valid output. */
  readonly falseMessages: number
  /** Exit codes that should have been others, and anything on a hook's stderr. */
  readonly badExits: number
}

export interface CaseResult extends Faults {
  readonly name: string
  /** Why it could not be done; null when it was. */
  readonly skipped: string | null
  /** Processes of ctxbridge that were started, and those of them that were killed. */
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
