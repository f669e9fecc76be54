/**
 * Translates a query's requirements into FTS5's language, and decides the same requirements on a text. An expression
 * contains only filter words and words made by base/words.ts, each quoted, so no query is a syntax error. Pure.
 */

import { once } from "../base/once.ts"
import { isHalfPair, shorterStems, wordSet } from "../base/words.ts"
import { filterWord } from "../views/word-index.ts"
import { folded, type Node } from "./parse-query.ts"

export const quoted = (word: string): string => `"${word.replaceAll('"', '""')}"`

export const wordExpression = (word: string, isPrefix = isHalfPair(word)): string =>
  isPrefix ? anyOf([`${quoted(word)} *`, ...shorterStems(word).map(quoted)]) : quoted(word)

/** Whether words like those in the index include one for which `wordExpression` stands. */
export const hasWord = (words: ReadonlySet<string>, word: string, isPrefix = isHalfPair(word)): boolean =>
  isPrefix
    ? words.values().some((one) => one.startsWith(word)) || shorterStems(word).some((one) => words.has(one))
    : words.has(word)

export const allOf = (expressions: readonly (string | undefined)[]): string | undefined => {
  const real = expressions.filter((one) => one !== undefined)
  return real.length > 1 ? real.map((one) => `(${one})`).join(" AND ") : real[0]
}

export const anyOf = (expressions: readonly string[]): string => expressions.join(" OR ")

/**
 * An expression that every message fulfilling `node` matches. Others may match as well: the index knows no phrases.
 *
 * @returns undefined when any message may fulfil it
 */
export function ftsExpression(node: Node): string | undefined {
  switch (node.kind) {
    case "words":
    case "phrase":
      return allOf(node.words.map((word) => wordExpression(word)))
    case "prefix":
      return wordExpression(node.prefix, true)
    case "field":
      return quoted(filterWord[node.field](node.value))
    case "and": {
      const [no, yes] = [node.nodes.filter(isNot), node.nodes.filter((one) => !isNot(one))]
      const wanted = allOf(yes.map(ftsExpression))
      const unwanted = no.flatMap((one) => (isExact(one.node) ? (ftsExpression(one.node) ?? []) : []))
      if (wanted === undefined || unwanted.length === 0) return wanted
      return `(${wanted}) NOT (${unwanted.map((one) => `(${one})`).join(" OR ")})`
    }
    case "or": {
      const each = node.nodes.map(ftsExpression)
      return each.includes(undefined) ? undefined : each.map((one) => `(${one})`).join(" OR ")
    }
    case "not":
      return undefined
  }
}

/** Words contained in every message that matches the expression of `node`. */
export function wordsGivenBy(node: Node | undefined): readonly string[] {
  if (node?.kind === "words" || node?.kind === "phrase") return node.words
  return node?.kind === "and" ? node.nodes.flatMap(wordsGivenBy) : []
}

/** Whether only messages with some of its words fulfil it: not so `a OR role:human`. */
export function needsWord(node: Node): boolean {
  if (node.kind === "and") return node.nodes.some(needsWord)
  if (node.kind === "or") return node.nodes.every(needsWord)
  return node.kind !== "field" && node.kind !== "not"
}

const isNot = (node: Node): node is Extract<Node, { kind: "not" }> => node.kind === "not"

export function isExact(node: Node): boolean {
  switch (node.kind) {
    case "phrase":
      return false
    case "not":
      return false
    case "and":
      return (
        node.nodes.every((one) => isExact(isNot(one) ? one.node : one)) &&
        node.nodes.some((one) => !isNot(one))
      )
    case "or":
      return node.nodes.every(isExact)
    default:
      return true
  }
}

/** The parts of a message that requirements look at. */
export interface Subject {
  readonly text: string
  readonly role: string
  readonly tools: readonly string[]
}

export function fulfils(node: Node, subject: Subject): boolean {
  // Made on demand: most queries need only one of the two.
  const wordsOf = once(() => wordSet(subject.text))
  const textOf = once(() => folded(subject.text))
  const decide = (one: Node): boolean => {
    switch (one.kind) {
      case "words":
        return one.words.every((word) => hasWord(wordsOf(), word))
      case "phrase":
        return textOf().includes(one.text)
      case "prefix":
        return hasWord(wordsOf(), one.prefix, true)
      case "field": {
        const values = one.field === "role" ? [subject.role] : subject.tools
        return values.some((value) => filterWord[one.field](value) === filterWord[one.field](one.value))
      }
      case "and":
        return one.nodes.every(decide)
      case "or":
        return one.nodes.some(decide)
      case "not":
        return !decide(one.node)
    }
  }
  return decide(node)
}
