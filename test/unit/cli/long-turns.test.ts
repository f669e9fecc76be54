/** What `get` shows of a turn that is longer than a page. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { Inside, Peer } from "../../support/inside.ts"
import { hitsIn } from "../../support/mcp.ts"

let machine: Inside
let handle: string
let line: number

const call = async (name: string, args: Record<string, unknown>): Promise<string> => {
  await using peer = await Peer.connect(machine.cwd, machine.env)
  const { text, isError } = await peer.call(name, args)
  expect({ text, isError }).toMatchObject({ isError: false })
  return text
}

beforeAll(async () => {
  machine = new Inside()
  const session = machine.session()
  const steps = [...Array(60).keys()].map((n) => ({
    tool: "Bash",
    input: { command: `step ${n}` },
    output:
      n === 30
        ? `${"row\n".repeat(200)}the walrus is in cage seven\n${"row\n".repeat(200)}`
        : "row\n".repeat(80),
    isError: n === 45,
  }))
  session.turn("Where do the animals live?", steps, "In the end: all of them live in the aquarium.").flush()
  await machine.hook("stop", session)
  const [hit] = hitsIn(await call("search", { query: "walrus cage" }))
  handle = hit!.handle
  line = hit!.line!
})

afterAll(() => machine[Symbol.dispose]())

describe("a long turn", () => {
  test("opens at the match with the handle as search gives it, and says how it began and ended", async () => {
    const text = await call("get", { handle: `${handle}@${line}` })
    expect(text).toContain("\n> the walrus is in cage seven\n")
    expect(text).toContain('\nAsked: "Where do the animals live?"\nresult of Bash: (continued)\n> row\n')
    expect(text).toMatch(/\nlast answer \(line \d+\):\n> In the end: all of them live in the aquarium\.\n/)
    expect(text).toMatch(/\n\nMore before: get ctx:\w+@-\d+; after: get ctx:\w+@\d+-\.$/)
    expect(text.length).toBeLessThanOrEqual(2400)
  })

  test("opens at other words of a query, and says when it has none of them", async () => {
    const text = await call("get", { handle: `${handle}@1`, query: "cage walrus" })
    expect(text).toContain("\n> the walrus is in cage seven\n")
    const none = await call("get", { handle, query: "giraffe" })
    expect(none).toContain('\nNone of the words of "giraffe" is in it.\nprompt:\n')
  })

  test("where the match is far into the last answer, shows how that begins", async () => {
    using other = new Inside()
    const session = other.session()
    const long = "Nothing of note happened on that day either.\n".repeat(80)
    const answer = `The lid was too tight.\n${long}The walrus is in cage seven.\n${long}`
    session.turn("Where do they live?", [], answer).flush()
    await other.hook("stop", session)
    await using peer = await Peer.connect(other.cwd, other.env)
    const [hit] = hitsIn((await peer.call("search", { query: "walrus cage" })).text)
    const { text } = await peer.call("get", { handle: `${hit!.handle}@${hit!.line}` })
    expect(text).toMatch(
      /\nlast answer \(line \d+\):\n> The lid was too tight\.\n(?:> Nothing .*\n)+> …\n\nanswer: \(continued\)\n> Nothing/,
    )
    expect(text).toContain("\n> The walrus is in cage seven.\n")
    expect(text.length).toBeLessThanOrEqual(2400)
  })

  test("without a place: prompt, outline, last answer", async () => {
    const text = await call("get", { handle })
    expect(text).toMatch(/; \d+ lines\. Quoted from the archive/)
    expect(text).toContain("\nprompt:\n> Where do the animals live?\n")
    expect(text).toMatch(/\n@\d+ result of Bash \(error.*\): "row"/)
    expect(text).toMatch(/\nlast answer \(line \d+\):\n> In the end/)
    expect(text.length).toBeLessThanOrEqual(2400)
  })

  test("is read on from any line in both directions, without a gap", async () => {
    const first = await call("get", { handle: `${handle}@100-`, size: 1000 })
    const [, to] = /; lines 100 to (\d+) of/.exec(first)!
    expect(first).toContain(`after: get ${handle}@${Number(to) + 1}-.`)
    const back = await call("get", { handle: `${handle}@-${to}`, size: 1000 })
    expect(back).toContain(` to ${to} of `)
    expect(first.length).toBeLessThanOrEqual(1000)
    const end = await call("get", { handle: `${handle}@${Number(to) + 1}-`, size: 20_000 })
    expect(end).toContain(`; lines ${Number(to) + 1} to `)
  })
})
