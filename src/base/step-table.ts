/** Work as a table of steps over one value, which each of them adds to. Pure. */

export interface TableStep<Work, Need extends string = never> {
  readonly name: string
  /** Without this the step is passed over. */
  readonly needs?: Need
  /** Left out: always. */
  due?(work: Work): boolean
  /** "more": it has more to do, and those after it have to wait. */
  run(work: Work): void | Promise<"more" | undefined | void>
}

/**
 * Runs what is due, one after the other; what one of them throws ends it.
 *
 * @returns "more" where a step said so, which was the last
 */
export async function runTable<Work, Need extends string>(
  steps: readonly TableStep<Work, Need>[],
  work: Work,
  has: (need: Need) => boolean,
): Promise<"more" | undefined> {
  for (const step of steps) {
    if (step.needs !== undefined && !has(step.needs)) continue
    if ((step.due?.(work) ?? true) && (await step.run(work)) === "more") return "more"
  }
  return undefined
}
