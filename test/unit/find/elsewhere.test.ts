/** What is found elsewhere: its place among the hits from here, what is refused, how it is named. */
import { describe, expect, test } from "bun:test"
import { type FarHit, farHandle, farId, refuseUnknown, withFar } from "../../../src/find/elsewhere.ts"
import type { Hit } from "../../../src/find/hit.ts"
import { parseQuery } from "../../../src/find/parse-query.ts"

const here = (...handles: string[]): Hit[] => handles.map((handle) => ({ handle, score: 9 }) as Hit)
const [T1, T2, T3] = ["1", "2", "3"].map((digit) => `far:${digit.repeat(16)}`) as [string, string, string]
const there = (...handles: string[]): FarHit[] => handles.map((handle) => ({ handle, score: 0 }) as FarHit)

describe("hits from here and from elsewhere", () => {
  const merged = (local: Hit[], far: FarHit[], share: number, lacking: readonly string[] = []): string[] =>
    withFar(local, { asked: ["a", "b", "c", "d"], lacking }, { hits: far, share }).map(({ handle }) => handle)

  test("alternate, from here first", () => {
    expect(merged(here("h1", "h2"), there(T1, T2, T3), 1)).toEqual(["h1", T1, "h2", T2, T3])
  })

  test("those that are here keep their order, whatever the target thinks of them", () => {
    expect(merged(here("h1", "h2", "h3"), there("h3", "h1", "h2"), 1)).toEqual(["h1", "h2", "h3"])
    expect(merged(here("h1", "h2", "h3"), there("h3", T1), 1)).toEqual(["h1", "h2", T1, "h3"])
    expect(merged(here("h1", "h2"), there("ctx:other", T1), 1)).toEqual(["h1", "h2", T1, "ctx:other"])
  })

  test("what has fewer of the words comes last, unless those here have no more", () => {
    expect(merged(here("h1", "h2"), there(T1), 0.5)).toEqual(["h1", "h2", T1])
    expect(merged(here("h1", "h2"), there(T1), 0.5, ["c", "d"])).toEqual(["h1", T1, "h2"])
    expect(merged([], there(T1), 0.25)).toEqual([T1])
  })

  test("scores follow the order", () => {
    const scores = withFar(here("h1", "h2"), { asked: [], lacking: [] }, { hits: there(T1), share: 1 }).map(
      ({ score }) => score,
    )
    expect(scores).toEqual([...scores].sort((a, b) => b - a))
  })
})

test.each(["a OR b", "a AND NOT b", "conf*", "role:human a", 'tool:Bash "x y"'])("%s is refused", (query) => {
  expect(() => refuseUnknown(parseQuery(query))).toThrow("cannot be used with --backend or --everywhere")
})

test.each(["", "flaky upload", '"exit code 2" npm', "検", "a and b", "role:admin"])("%j is not", (query) => {
  expect(() => refuseUnknown(parseQuery(query))).not.toThrow()
})

test("a handle is the beginning of the id, however it was copied", () => {
  const id = "0123456789abcdef".repeat(4)
  expect(farHandle(id)).toBe("far:0123456789abcdef")
  for (const typed of [
    farHandle(id),
    "`far:0123456789ABCDEF`.",
    "far:0123456789abcdef@12-",
    "(far:0123456789abcdef)",
  ])
    expect(farId(typed)).toBe("0123456789abcdef")
  expect(farId(`far:${id}`)).toBe(id)
  for (const typed of [
    "far:0123",
    "ctx:ab12cd",
    "far",
    "afar:0123456789abcdef",
    `far:${id}0`,
    "far:0123456789abcdeg",
  ])
    expect(farId(typed)).toBeUndefined()
})
