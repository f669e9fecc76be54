/** Texts made hard for the filter: how long it takes, and what becomes of what was not searched. */
import { describe, expect, test } from "bun:test"
import { FILTERED, filterLines, filterText, hurried } from "../../../src/secrets/filter.ts"
import { HARD } from "../../support/hard.ts"

const line = (text: string, more: Record<string, unknown> = {}): string =>
  `${JSON.stringify({ type: "user", uuid: "u-1", message: { role: "user", content: text }, ...more })}\n`

const cpu = (work: () => void): number => {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

const PLAIN = "The build of the shop failed in src/app/index.ts because of a missing import. "
const SIZE = 512 << 10
const filling = (piece: string): string => piece.repeat(Math.ceil(SIZE / piece.length))

test.each(HARD)("%s: a hook stops in time", (_name, piece) => {
  const text = Buffer.from(line("before") + line(filling(piece)) + line("after"))
  const usual = Buffer.from(line("before") + line(filling(PLAIN)) + line("after"))
  filterLines(usual, 0, FILTERED)
  const plain = cpu(() => filterLines(usual, 0, FILTERED))
  let done = 0
  const took = cpu(() => {
    done = filterLines(text, 0, FILTERED, hurried(performance.now() + 60_000)).content.length
  })
  expect(took).toBeLessThan(plain + 700)
  // Whatever is taken is whole lines, and those before the hard one are.
  expect([line("before").length, text.length]).toContain(done)
})

describe("when time is up at once", () => {
  const NONE = { until: undefined, cpu: -1 }
  const text = `${line("one", { toolUseResult: { stdout: "two", type: "text" } })}plain\n${line("three")}`

  test("with somebody waiting, nothing is taken", () => {
    for (const limits of [
      { until: 0, cpu: 1000 },
      { until: Number.MAX_SAFE_INTEGER, cpu: -1 },
    ]) {
      const done = filterLines(Buffer.from(text), 3, FILTERED, limits)
      expect(done).toMatchObject({ hidden: 3 })
      expect(done.content).toHaveLength(0)
    }
  })

  test("with nobody waiting, what was said is filled, and the lines can still be read", () => {
    const done = filterLines(Buffer.from(text), 0, FILTERED, NONE)
    const stars = (n: number): string => "*".repeat(n)
    const hidden = line(stars(3), { toolUseResult: { stdout: stars(3), type: "text" } })
    expect(Buffer.from(done.content).toString()).toBe(`${hidden}*****\n${line(stars(5))}`)
    expect(done.hidden).toBe(0)
  })

  test("a tag that such a line leaves open hides what follows", () => {
    const done = filterLines(Buffer.from(line("a <private> b") + line("c")), 0, FILTERED, NONE)
    expect(done.hidden).toBe(7)
  })
})

test("lines behind a hard one are searched as usual", () => {
  const secret = `ghp_${"9fK2mQ7xW4".repeat(4)}`
  const text = Buffer.from(`${line(filling("sig="))}${line(`my ${secret} here`)}`)
  const { content } = filterLines(text, 0, FILTERED)
  expect(Buffer.from(content).toString()).toEndWith(line(`my ${"*".repeat(secret.length)} here`))
})

test("steps change nothing: lines one by one, or all at once", () => {
  const lines = Array.from({ length: 3000 }, (_, n) =>
    line(`number ${n} password="hunter${n}!x" and <private>`),
  )
  let hidden = 0
  const single = lines.map((one) => {
    const done = filterLines(Buffer.from(one), hidden, FILTERED)
    hidden = done.hidden
    return Buffer.from(done.content).toString()
  })
  const all = filterLines(Buffer.from(lines.join("")), 0, FILTERED)
  expect(Buffer.from(all.content).toString()).toBe(single.join(""))
  expect(all.hidden).toBe(hidden)
})

test("a secret of a long line is found wherever it is", () => {
  const secret = `ghp_${"9fK2mQ7xW4".repeat(4)}`
  for (const before of [0, (192 << 10) - 60, (256 << 10) - 60, (256 << 10) - 20, 700_000]) {
    const encoded = Buffer.from(`token=${secret} end of it`).toString("base64")
    for (const text of [` ${secret} `, ` ${encoded} `]) {
      const filtered = Buffer.from(
        filterLines(Buffer.from(line(`${"x ".repeat(before >> 1)}${text}`)), 0, FILTERED).content,
      ).toString()
      expect(filtered).not.toContain(text.trim())
    }
  }
})

test("a text that cannot be searched in time is filled", () => {
  const text = filterText("sig=".repeat(400_000), FILTERED)
  expect(text.replaceAll(/\*/g, "").length).toBeLessThan(100)
})
