/**
 * What a question about earlier work is about, in everyday words too: "the parser" of "what did we decide about the
 * parser?". Such words tell little by themselves, so whoever uses them wants all of them. Pure.
 */
import { namesIn } from "../base/words.ts"
import { isStopWord } from "./parse-query.ts"
import type { Clue } from "./related-turns.ts"

/** Words that ask, as opposed to those that say for what. */
const ASKING = new Set(
  `decide decided decision choose chose chosen choice pick picked settle settled agree agreed use used say said tell told
  talk talked discuss discussed mention mentioned plan planned go went gone going make made change changed run ran find
  found try tried write wrote written add added fix fixed set remind remember recall again still earlier before
  previously last time command commands script error errors exception failure fail failed reason thing stuff way file
  files exactly please actually just first also here stop stopped leave left off reject rejected drop dropped rule
  ruled out all some any which one touch touched work worked working doing
  haben hatten hast hatte habe wir ich du uns mich mir noch mal nochmal bitte doch der die das den dem des ein eine
  einen einer für über zum zur bei beim mit warum wieso weshalb was welche welcher welches welchen wie wo wann war waren
  entschieden entscheidung gewählt genommen benutzt gemacht gesagt besprochen vereinbart geeinigt verworfen befehl
  skript fehler grund erinnere erinnerst dich vorhin eben zuvor auf im von und oder nicht es ihn sie
  qué cuál cuáles dónde cómo por usamos hicimos decidimos dijimos dijiste hiciste ejecutamos para el la los las un una
  de del con en recuérdame te acuerdas sobre comando`.split(/\s+/),
)

export const isAsking = (word: string): boolean => ASKING.has(word)

/** UTF-16 units of a question that are read, and how many words of it count. */
const READ = 400
const MOST = 6

export function topicWords(question: string): Clue[] {
  const found = new Map<string, Clue>()
  for (const { words, at, length } of namesIn(question.slice(0, READ))) {
    const typed = question.slice(at, at + length)
    const plain = typed.toLowerCase()
    const word = words.at(-1)!
    if (!isAsking(plain) && !isStopWord(plain)) found.set(word, { word, typed, weight: 1 })
  }
  return [...found.values()].slice(0, MOST)
}
