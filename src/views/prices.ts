/**
 * What tokens cost at list prices, in US dollars per million. Models that are not in the table have no price: none is
 * guessed from their names. Pure.
 */
import type { Tokens } from "../record/types.ts"

/** Of the table. A price that changes later is wrong from then on, until the table is renewed. */
export const PRICES_AS_OF = "2026-11-20"
/** Where it was read: the same figures make up what `/cost` says there. */
export const PRICES_FROM = "the model catalogue of Claude Code 2.1.330"

interface Price {
  readonly input: number
  readonly output: number
  readonly cacheRead: number
  /** Written to the cache, to be kept for five minutes, and for an hour. */
  readonly cacheWrite: number
  readonly cacheHour: number
  /** What a request with a longer prompt costs, all of it. */
  readonly long?: { readonly above: number; readonly price: Price }
}

/** What is not named follows from the price of input by the API's usual factors. */
const price = (
  input: number,
  output: number,
  cacheRead = input * 0.1,
  cacheWrite = input * 1.25,
  cacheHour = input * 2,
): Price => ({ input, output, cacheRead, cacheWrite, cacheHour })

const SONNET = price(3, 15)
const OPUS = price(5, 25)
const FIRST_OPUS = price(15, 75)

const LIST: Readonly<Record<string, Price>> = {
  "claude-3-5-haiku": price(0.8, 4),
  "claude-haiku-4-5": price(1, 5),
  "claude-haiku-5-5": { ...price(0.1, 0.5), long: { above: 100_000, price: price(0.5, 2.5) } },
  "claude-3-5-sonnet": SONNET,
  "claude-3-7-sonnet": SONNET,
  "claude-sonnet-4": SONNET,
  "claude-sonnet-4-0": SONNET,
  "claude-sonnet-4-5": SONNET,
  "claude-sonnet-4-6": SONNET,
  "claude-sonnet-5": price(2, 10),
  "claude-sonnet-5-5": price(2, 10, 0.1),
  "claude-opus-4": FIRST_OPUS,
  "claude-opus-4-0": FIRST_OPUS,
  "claude-opus-4-1": FIRST_OPUS,
  "claude-opus-4-5": OPUS,
  "claude-opus-4-6": OPUS,
  "claude-opus-4-7": OPUS,
  "claude-opus-4-8": OPUS,
  "claude-opus-5": OPUS,
  "claude-opus-5-5": price(4, 20, 0.2),
  "claude-fable-5": price(10, 50),
  "claude-fable-5-1": price(10, 50, 0.25),
  "claude-fable-5-2": price(8, 40, 0.2),
  "claude-mythos-5": price(10, 50),
  "claude-mythos-5-1": price(10, 50, 0.25),
  "claude-mythos-5-2": price(8, 40, 0.2),
}

/**
 * Of fast mode, from the same program's own table of it; the transcript says of each request whether it was one. A
 * model that is not here has no such mode.
 */
const FAST: Readonly<Record<string, Price>> = {
  "claude-opus-4-6": price(30, 150),
  "claude-opus-4-7": price(30, 150),
  "claude-opus-4-8": price(10, 50),
  "claude-opus-5": price(10, 50),
  "claude-opus-5-5": price(8, 40, 0.4),
  "claude-fable-5-2": price(16, 80, 0.4),
  "claude-mythos-5-2": price(16, 80, 0.4),
}

/* OpenAI's models. */

/** When the newest of these prices was told. */
export const OPENAI_AS_OF = "2026-10-27"
/** Where they were read; models that are not named there have no price. */
export const OPENAI_FROM =
  "OpenAI's pages of its models, and tables of them by GitHub Copilot, LiteLLM and others, May to October 2026"

/** A longer prompt costs twice as much, and its answer half as much again. */
const LONG = 272_000

/** Nothing is charged for writing to the cache up to GPT-5.5. */
const openai = (input: number, output: number, cacheRead = input * 0.1, cacheWrite = input): Price =>
  price(input, output, cacheRead, cacheWrite, cacheWrite)

/** From GPT-5.6 on it costs a quarter more than input. */
const written = (input: number, output: number, cacheRead?: number): Price =>
  long(openai(input, output, cacheRead, input * 1.25))

const long = (one: Price): Price => ({
  ...one,
  long: {
    above: LONG,
    price: price(2 * one.input, 1.5 * one.output, 2 * one.cacheRead, 2 * one.cacheWrite, 2 * one.cacheHour),
  },
})

const GPT_5 = openai(1.25, 10)
const GPT_5_MINI = openai(0.25, 2)
const GPT_5_2 = openai(1.75, 14)
/** Since 2026-08-21; before, and perhaps again from 2026-11-22 on, it is 5 and 30. */
const GPT_5_6_SOL = written(4, 20)

const OPENAI: Readonly<Record<string, Price>> = {
  "gpt-4.1": openai(2, 8, 0.5),
  "gpt-4.1-mini": openai(0.4, 1.6, 0.1),
  o3: openai(2, 8, 0.5),
  "o4-mini": openai(1.1, 4.4, 0.275),
  "codex-mini": openai(1.5, 6, 0.375),
  "gpt-5": GPT_5,
  "gpt-5-codex": GPT_5,
  "gpt-5-mini": GPT_5_MINI,
  "gpt-5-nano": openai(0.05, 0.4),
  "gpt-5.1": GPT_5,
  "gpt-5.1-codex": GPT_5,
  "gpt-5.1-codex-max": GPT_5,
  "gpt-5.1-codex-mini": GPT_5_MINI,
  "gpt-5.2": GPT_5_2,
  "gpt-5.2-codex": GPT_5_2,
  "gpt-5.3-codex": GPT_5_2,
  "gpt-5.4": long(openai(2.5, 15)),
  "gpt-5.4-mini": openai(0.75, 4.5),
  "gpt-5.4-nano": openai(0.2, 1.25),
  "gpt-5.5": long(openai(5, 30)),
  "gpt-5.6": GPT_5_6_SOL,
  "gpt-5.6-sol": GPT_5_6_SOL,
  // Since 2026-07-30.
  "gpt-5.6-terra": written(2, 12),
  "gpt-5.6-luna": written(0.2, 1.2),
  "gpt-6-astra": written(10, 50),
  "gpt-6-sol": written(2, 10),
  "gpt-6-luna": written(0.1, 0.5),
  "gpt-6.1-sol": written(2, 10, 0.1),
  "gpt-6.1-terra": written(1, 5, 0.05),
}

/** By `priceKey`; the user's own come first. */
export type PriceList = ReadonlyMap<string, Price>

/** @param own lines of the option `stats.prices`: `MODEL INPUT OUTPUT [CACHE-READ [CACHE-WRITE [CACHE-HOUR]]]` */
export function priceList(own: readonly string[]): PriceList {
  const fast = Object.entries(FAST).map(([model, each]) => [priceKey(model, true), each] as const)
  const list = new Map([...Object.entries(LIST), ...fast, ...Object.entries(OPENAI)])
  for (const line of own) {
    const [model = "", ...figures] = line.trim().split(/\s+/)
    const [input = 0, output = 0, ...cache] = figures.map(Number)
    list.set(modelKey(model), price(input, output, ...cache))
  }
  return list
}

/** A model however its provider spells it: without region, date, version and size of the window. */
const modelKey = (model: string): string =>
  model
    .replace(/^.*?(?=claude-)|^(?:[\w.-]+[/.])+(?=(?:gpt|codex)-|o\d)/, "")
    .replace(/\[1m\]$/i, "")
    .replace(/(?:-v\d+(?::\d+)?|[-@](?:\d{8}|\d{4}-\d\d-\d\d|latest))+$/, "")

/** What is paid for: a model in fast mode costs as if it were another one. */
export const priceKey = (model: string, isFast: boolean): string =>
  `${modelKey(model)}${isFast ? "-fast" : ""}`

/** @returns US dollars; undefined if no price is known for the model */
export function requestCost(
  prices: PriceList,
  model: string,
  tokens: Tokens & { readonly cacheHour: number; readonly fast?: number },
): number | undefined {
  const found = prices.get(priceKey(model, tokens.fast === 1))
  if (found === undefined) return undefined
  const { input, output, cacheCreation, cacheRead, cacheHour } = tokens
  const isLong = found.long !== undefined && input + cacheCreation + cacheRead > found.long.above
  const each = isLong ? found.long!.price : found
  const sum =
    input * each.input +
    output * each.output +
    cacheRead * each.cacheRead +
    (cacheCreation - cacheHour) * each.cacheWrite +
    cacheHour * each.cacheHour
  return sum / 1_000_000
}
