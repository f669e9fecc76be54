/** What tokens cost at list prices, and which models have none. */
import { describe, expect, test } from "bun:test"
import { modelKey, priceList, requestCost } from "../../../src/cli/stats/prices.ts"

const MILLION = 1_000_000
const none = { input: 0, output: 0, cacheCreation: 0, cacheRead: 0, cacheHour: 0 }

test("each kind of token has its price", () => {
  const prices = priceList([])
  const cost = (tokens: Partial<typeof none>) =>
    requestCost(prices, "claude-opus-4-5", { ...none, ...tokens })
  expect(cost({ input: MILLION })).toBe(5)
  expect(cost({ output: MILLION })).toBe(25)
  expect(cost({ cacheRead: MILLION })).toBe(0.5)
  expect(cost({ cacheCreation: MILLION })).toBe(6.25)
  expect(cost({ cacheCreation: MILLION, cacheHour: MILLION })).toBe(10)
  expect(cost({ cacheCreation: MILLION, cacheHour: MILLION / 2 })).toBe(8.125)
})

test("a long prompt raises the price of all of its request, where a model has such a price", () => {
  const prices = priceList([])
  const cost = (model: string, cacheRead: number) =>
    requestCost(prices, model, { ...none, output: MILLION, cacheRead })
  expect(cost("claude-haiku-5-5", 100_000)).toBeCloseTo(0.501)
  expect(cost("claude-haiku-5-5", 100_001)).toBeCloseTo(2.505)
  expect(cost("claude-haiku-4-5", 150_000)).toBeCloseTo(5.015)
})

test.each([
  ["claude-opus-4-5-20251101", "claude-opus-4-5"],
  ["us.anthropic.claude-opus-4-5-20251101-v1:0", "claude-opus-4-5"],
  ["claude-opus-4-5@20251101", "claude-opus-4-5"],
  ["claude-3-5-sonnet-v2@20241022", "claude-3-5-sonnet"],
  ["anthropic/claude-sonnet-4-6[1m]", "claude-sonnet-4-6"],
  ["claude-3-5-haiku-latest", "claude-3-5-haiku"],
  ["gpt-oss-120b", "gpt-oss-120b"],
])("%s is %s", (spelled, key) => {
  expect(modelKey(spelled)).toBe(key)
})

describe("a model that is not in the table", () => {
  test("has no price, however much its name is like another's", () => {
    for (const model of ["claude-opus-6", "claude-opus-4-55", "claude-opus", "<synthetic>", ""])
      expect(requestCost(priceList([]), model, { ...none, input: 1 })).toBeUndefined()
  })

  test("has the user's, before ours", () => {
    const prices = priceList(["my-model 1 3", "claude-opus-4-5 2 4 1 7 9"])
    expect(requestCost(prices, "my-model", { ...none, input: MILLION, cacheRead: MILLION })).toBeCloseTo(1.1)
    expect(
      requestCost(prices, "claude-opus-4-5-20251101", {
        ...none,
        cacheRead: MILLION,
        cacheCreation: MILLION,
      }),
    ).toBe(8)
  })
})
