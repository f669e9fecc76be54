/** What may be wrong with a result: that it is weak, and that other projects have better ones. Pure. */
import { correctionNote, partialNote } from "../search/corrected-query.ts"
import type { NothingFound } from "../search/nothing-found.ts"
import type { FoundTurns } from "../search/search-turns.ts"
import { CtxError, EXIT } from "../util/errors.ts"
import { count } from "../util/text.ts"
import { nameOr, plain } from "./quoting.ts"

/** A result is weak when its best turn lacks more than this share of the query's words. */
const WEAK = 0.5
/** Another project's best turn is better when it lacks at most this share of what ours lacks. */
const BETTER = 0.5

/** What the model should know before it takes a result for the answer. */
export function doubts({
  hits,
  words: { asked, lacking },
  isLoose,
  corrections,
  partial = [],
}: FoundTurns): string[] {
  if (hits.length === 0) return []
  const corrected = correctionNote(corrections)
  if (corrected !== undefined) return [corrected]
  const whole = partialNote(partial.map((name) => plain(name, 120)))
  if (whole !== undefined) return [whole]
  if (isLoose) return ["No exact match; these have some of the words."]
  if (asked.length > 0 && hits[0]!.why.length === 0)
    return ["Weak: found by meaning only; the words of the query are not in it."]
  if (lacking.length <= WEAK * asked.length) return []
  return [
    `Weak: the best hit lacks ${lacking.length} of ${asked.length} words: ${plain(lacking.join(", "), 120)}.`,
  ]
}

/**
 * Why nothing was found, as far as filters are the reason.
 *
 * @throws CtxError for a tool that nobody has: that is a wrong argument, not a search without hits
 */
export function reasons({ unknownTool, emptiedBy }: NothingFound): string[] {
  if (unknownTool !== undefined) {
    const near = unknownTool.near.map((name) => nameOr(name, "")).filter(Boolean)
    throw new CtxError(
      "not-found",
      `no call of a tool named ${JSON.stringify(unknownTool.name)} is archived`,
      {
        hint:
          near.length > 0
            ? `did you mean ${near.join(" or ")}?`
            : "without tool, hits name the tools there are",
        exit: EXIT.notFound,
      },
    )
  }
  // That other projects have some is told besides.
  if (emptiedBy === undefined || emptiedBy.filters.includes("project")) return []
  const { filters, turns, isMore } = emptiedBy
  return [`Without ${filters.join(", ")}: ${isMore ? "more than " : ""}${count(turns, "turn")}.`]
}

/**
 * How many turns other projects have, if their best has more of the query's words. What is in them is for whoever asks:
 * this project's conversation may be read by others than theirs.
 *
 * @param find searches all projects
 */
export function betterElsewhere(
  find: () => FoundTurns,
  { hits, words, isLoose }: FoundTurns,
  own: string,
): string[] {
  if (hits.length > 0 && words.lacking.length === 0 && !isLoose) return []
  const found = find()
  const [best] = found.hits
  if (best === undefined || best.project === own) return []
  if (hits.length > 0 && found.words.lacking.length > words.lacking.length * BETTER) return []
  const others = found.hits.filter(({ project }) => project !== own).length
  const turns = `${found.more ? "at least " : ""}${count(others, "turn")}`
  return [`Other projects have better matches: ${turns}; all_projects searches there.`]
}
