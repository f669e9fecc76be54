/** What the user asked a compaction to keep (`/compact <words>`) comes first in each list. Pure. */
import { type Clue, cluesOf } from "../search/clue-words.ts"
import { placeOf } from "../search/related-turns.ts"
import type { Fact, Facts, Material } from "./material.ts"

/** Only the order changes, and that of equals is kept: what the words do not name may be needed as well. */
export function focusFirst(material: Material, focus: string): Material {
  const clues = cluesOf(focus)
  if (clues.length === 0) return material
  const texts = <T extends { readonly text: string }>(all: readonly T[]): T[] =>
    namedFirst(all, clues, ({ text }) => text)
  const facts = ({ paths, commands, names, errors }: Facts): Facts => ({
    paths: texts(paths),
    commands: namedFirst<Fact>(commands, clues, ({ text, form = text }) => form),
    names: texts(names),
    errors: texts(errors),
  })
  return {
    ...material,
    constraints: texts(material.constraints),
    answers: texts(material.answers),
    decisions: texts(material.decisions),
    refuted: texts(material.refuted),
    files: namedFirst(material.files, clues, ({ path }) => path),
    facts: facts(material.facts),
  }
}

function namedFirst<T>(all: readonly T[], clues: readonly Clue[], textOf: (one: T) => string): T[] {
  const named = all.filter((one) => clues.some((clue) => placeOf(clue, textOf(one)) >= 0))
  if (named.length === 0 || named.length === all.length) return [...all]
  const first = new Set(named)
  return [...named, ...all.filter((one) => !first.has(one))]
}
