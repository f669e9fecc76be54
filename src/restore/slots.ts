/**
 * The slots of a restore: names, paths and commands that it shows or that were left out by chance, so that it can be
 * seen what showing them is worth. Constraints, tasks, words of the user, and what has failed are never left out. Pure.
 */
import { HANDLE_PREFIX } from "../views/handle-prefix.ts"
import { interest } from "./complement.ts"
import type { Fact, Facts, RelatedLine } from "./material.ts"
import { containsWhole } from "./page.ts"
import { ANSWERS_TITLE, FOCUSED_TITLE, RELATED_TITLE } from "./render.ts"

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
  trait,
  times = 1,
  age = 0,
}: {
  readonly trait: string
  readonly times?: number
  readonly age?: number
}): string {
  const often = times >= OFTEN ? "often" : times >= SOME ? "some" : "once"
  return `${trait}, ${often}, ${age < OLD ? "new" : "old"}`
}

interface Known {
  /** Whether only files and searches have shown it. */
  readonly seen?: boolean
  readonly edited?: boolean
  readonly failed?: boolean
}

/** What sets it apart from others of its kind. */
export function traitOf(kind: SlotKind, text: string, { seen, edited, failed }: Known): string {
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

/* Explains why each part of a restore is there. Pure. */

export interface Section {
  /** `""` for what precedes the first title. */
  readonly title: string
  readonly why: string
  readonly lines: readonly string[]
  /** In UTF-16 units, including newlines. */
  readonly characters: number
  /** The facts it shows that may be needed again, and how much they were used. */
  readonly facts: readonly Fact[]
  /** The other sessions' turns that it shows, and the words or files they share with the current subject. */
  readonly related: readonly { readonly handle: string; readonly words: readonly string[] }[]
}

/** Keyed by the beginning of a section's title. */
const REASONS: readonly (readonly [title: string, why: string])[] = [
  ["The user's prompt", "an automatic compaction swallows the prompt that waits for an answer"],
  ["Standing user constraints", "sentences of the user worded as rules, the latest first"],
  ["Notes kept", "what the model kept for the project, the latest first"],
  ["Open todos", "the task list, without what is done"],
  ["Files in flight", "written or edited last"],
  ["Commands run", "used often and lately"],
  ["Commands", "the last that failed and has not succeeded since, and the last that succeeded"],
  [ANSWERS_TITLE, "what the user chose or typed when the model asked, the latest first"],
  ["User decisions", "what the user chose among the options that the model gave, the latest first"],
  ["Model decisions", "sentences of the model worded as decisions, the latest first"],
  ["Subagents", "what the model had them do, the latest first"],
  ["Failed approaches", "sentences of the model about an approach that failed, the latest first"],
  ["Errors seen", "errors seen often and lately"],
  ["Paths", "used often and lately"],
  ["Names", "used often and lately"],
  [
    RELATED_TITLE,
    "they share rare words with the pending prompt, else with the latest turn's, or changed the same files last",
  ],
  [FOCUSED_TITLE, "they share rare words with what the user wrote after /compact"],
  ["Sessions before it", "the project's other sessions, the latest first"],
  ["Turns", "the latest turns, to be opened by their handles"],
]

const HEAD = "what the text is, and how to find more"

/** The parts of a restore or pointer, in order. */
export function explain(text: string, facts?: Facts, related: readonly RelatedLine[] = []): Section[] {
  if (text === "") return []
  return text.split("\n## ").map((part, n) => {
    const [title = "", ...lines] = n === 0 ? ["", ...part.split("\n")] : part.split("\n")
    return {
      title,
      why: n === 0 ? HEAD : (REASONS.find(([begin]) => title.startsWith(begin))?.[1] ?? ""),
      lines,
      characters: part.length + (n === 0 ? 0 : "\n## ".length),
      facts: factsOf(title, facts).filter(tellerOf(part)),
      related:
        title === RELATED_TITLE
          ? related
              .filter(({ handle }) => lines.some((line) => line.startsWith(`- ${HANDLE_PREFIX}${handle} `)))
              .map(({ handle, words, files = words }) => ({ handle: HANDLE_PREFIX + handle, words: files }))
          : [],
    }
  })
}

function factsOf(title: string, facts: Facts | undefined): readonly Fact[] {
  if (title === "Errors seen") return facts?.errors ?? []
  if (title === "Paths") return facts?.paths ?? []
  if (title === "Names") return facts?.names ?? []
  return title === "Commands run" ? (facts?.commands ?? []) : []
}

/** Makes a function that tells whether a section shows a fact. */
function tellerOf(part: string): (fact: Fact) => boolean {
  const words = new Set(part.split(/[\s`"]+/))
  return ({ text, whole, form = text }) => {
    if (/\s/.test(text)) return part.includes(form) || part.includes(text)
    return words.has(text) || (whole !== undefined && words.has(whole))
  }
}
