/**
 * The slots of a restore: names, paths and commands that it shows or that were left out by chance, so that it can be
 * seen what showing them is worth. Constraints, tasks, words of the user, and what has failed are never left out. Pure.
 */
import { interest } from "./diverse-commands.ts"
import { explain } from "./explain.ts"
import type { Fact, Facts } from "./material.ts"
import { containsWhole } from "./whole-words.ts"

export const SLOT_KINDS = ["path", "command", "name"] as const

export type SlotKind = (typeof SLOT_KINDS)[number]

export interface Slot {
  readonly kind: SlotKind
  readonly text: string
  /** Id of the last message that held it; null: unknown. */
  readonly latest: number | null
  readonly cell: string
  /** false: it would have been shown, but was left out by chance. */
  readonly shown: boolean
}

/** How much likelier something is needed than others like it. */
export type Weigh = (kind: SlotKind, text: string, cell: string) => number

export const UNLEARNT: Weigh = () => 1

/** Messages with facts after the last that holds it: about two long turns. */
const OLD = 40
const SOME = 2
const OFTEN = 5

/** What is known of a fact before it is shown, in words for people: `edited, often, new`. */
export function cellOf({
  mark,
  times = 1,
  age = 0,
}: {
  readonly mark: string
  readonly times?: number
  readonly age?: number
}): string {
  const often = times >= OFTEN ? "often" : times >= SOME ? "some" : "once"
  return `${mark}, ${often}, ${age < OLD ? "new" : "old"}`
}

interface Known {
  /** Whether only files and searches have shown it. */
  readonly seen?: boolean
  readonly edited?: boolean
  readonly failed?: boolean
}

/** What sets it apart from others of its kind. */
export function markOf(kind: SlotKind, text: string, { seen, edited, failed }: Known): string {
  if (kind === "command") return failed ? "failed" : interest(text) < 1 ? "common" : "run"
  return seen ? "seen" : edited ? "edited" : "used"
}

const LISTS = { path: "paths", command: "commands", name: "names" } as const satisfies Record<
  SlotKind,
  keyof Facts
>

/** The sections that show them (complement.ts). */
const TITLES = { path: "Paths", command: "Commands run", name: "Names" } as const

/**
 * Facts to leave out by chance, always the same for the same seed.
 *
 * @param share of all
 * @param seed of this restore
 */
export function heldOut(facts: Facts, share: number, seed: string): ReadonlySet<Fact> {
  const isLeftOut = (kind: SlotKind, { text, exit }: Fact): boolean =>
    exit === undefined && chance(`${seed}\0${kind}\0${text}`) < share
  return new Set(SLOT_KINDS.flatMap((kind) => facts[LISTS[kind]].filter((fact) => isLeftOut(kind, fact))))
}

/** From 0 to 1, evenly. */
const chance = (text: string): number => Number(Bun.hash.xxHash64(text, 0n) >> 11n) / 2 ** 53

export const withoutHeldOut = (facts: Facts, out: ReadonlySet<Fact>): Facts => ({
  ...facts,
  ...Object.fromEntries(
    SLOT_KINDS.map((kind) => [LISTS[kind], facts[LISTS[kind]].filter((fact) => !out.has(fact))]),
  ),
})

/**
 * @param text as given
 * @param whole as it would have been given with nothing left out
 */
export function slotsOf(
  text: string,
  facts: Facts,
  out: ReadonlySet<Fact> = new Set(),
  whole = text,
): Slot[] {
  const given = explain(text, facts)
  const full = out.size === 0 ? [] : explain(whole, facts)
  return SLOT_KINDS.flatMap((kind) => {
    const factsIn = (sections: typeof given): readonly Fact[] =>
      sections.find(({ title }) => title === TITLES[kind])?.facts ?? []
    const slot = (fact: Fact, shown: boolean): Slot => {
      const { text, latest = null, cell = "" } = fact
      return { kind, text, latest, cell, shown }
    }
    return [
      ...factsIn(given)
        .filter((fact) => !out.has(fact))
        .map((fact) => slot(fact, true)),
      // What another section says nevertheless was shown.
      ...factsIn(full)
        .filter((fact) => out.has(fact) && !containsWhole(text, fact.text))
        .map((fact) => slot(fact, false)),
    ]
  })
}
