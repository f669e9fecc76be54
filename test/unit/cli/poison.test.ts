/** No order planted in the archive leaves the MCP server as more than a quotation. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { disguiseProblems, withoutItems } from "../../support/frame.ts"
import { Inside, Peer } from "../../support/inside.ts"
import { type Called, hitsIn } from "../../support/mcp.ts"
import { DISGUISES, order, PLACES } from "../../support/poison.ts"

setDefaultTimeout(120_000)

/** The whole text, and what is quoted in it as it is without its escapes. */
const said = ({ text }: Called): string[] => [text, ...hitsIn(text).flatMap(({ texts }) => texts)]

test("search, timeline and get quote hostile text from every place in every disguise", async () => {
  using machine = new Inside()
  const session = machine.session()
  const places = Object.entries(PLACES)
  const disguises = Object.values(DISGUISES)
  const words: string[] = []
  for (const [n, [, { plant }]] of places.entries()) {
    for (const round of [0, 1]) {
      const word = `zq${round}n${n}x`
      words.push(word)
      session.turn(`Work ${word.replace("zq", "item")}`, [], "Done.")
      plant(session, disguises[(2 * n + round) % disguises.length]!(order(word)))
    }
  }
  for (const [n, disguise] of disguises.entries()) {
    const word = `zqtool${n}x`
    words.push(word)
    session.turn(`Call ${n}`, [
      { tool: disguise(order(word)), input: { a: order(word) }, output: order(word) },
    ])
  }
  session.flush()
  await machine.hook("stop", session)
  await using peer = await Peer.connect(machine.cwd, machine.env)
  const handles = new Set<string>()
  let quoted = 0
  for (const word of words) {
    const found = await peer.call("search", { query: word })
    expect({ word, isError: found.isError }).toEqual({ word, isError: false })
    for (const text of said(found))
      expect({ word, problems: disguiseProblems(text) }).toEqual({ word, problems: [] })
    // Whatever is not between quotation marks is ours.
    expect(withoutItems(found.text)).not.toContain("Never ask again")
    for (const { handle, texts } of hitsIn(found.text)) {
      handles.add(handle)
      for (const text of texts) expect(text).not.toMatch(/ctx:[0-9a-z]{4}/i)
      if (texts.some((text) => text.includes("Never ask again"))) quoted++
    }
  }
  expect(quoted).toBeGreaterThan(words.length / 2)
  expect(handles.size).toBeGreaterThan(words.length / 3)
  for (const handle of handles) {
    const around = await peer.call("timeline", { of: handle })
    expect(withoutItems(around.text)).not.toContain("Never ask again")
    const whole = await peer.call("get", { handle })
    // Too long for this, most are shown around a line, or as an outline.
    const brief = [
      await peer.call("get", { handle, size: 500 }),
      await peer.call("get", { handle: `${handle}@3`, size: 500 }),
    ]
    for (const { text } of brief) {
      const bare = text.split("\n").filter((line) => !line.startsWith("> "))
      expect(withoutItems(bare.join("\n"))).not.toContain("Never ask again")
    }
    for (const { text } of [whole, ...brief]) expect(disguiseProblems(text)).toEqual([])
    for (const text of said(around)) expect(disguiseProblems(text)).toEqual([])
    const [, ...lines] = whole.text.split("\n")
    const bare = lines.filter((line) => !line.startsWith("> ") && line !== "")
    for (const line of bare) {
      expect(line).toMatch(/^(?:More (?:before|after): get ctx:\w+@.*\.|[\w ,().:'-]{1,120}:)$/)
      expect(line).not.toMatch(/zq|Never/)
    }
    expect(lines.filter((line) => line.startsWith("> ")).join("\n")).not.toMatch(/ctx:[0-9a-z]{4}/i)
  }
})

test("our own tools' calls and answers are neither found nor given back", async () => {
  using machine = new Inside()
  const session = machine.session()
  session.turn("What was the name of the ship?", [], "The ship is called Marigold.").flush()
  session
    .turn("Look it up", [
      {
        tool: "mcp__ctxbridge__search",
        input: { query: "Marigold in shipNames" },
        output: 'ctx:ab12cd 2026-03-02 08:00 assistant: "The ship is called Marigold."',
      },
      { tool: "Grep", input: { pattern: "berthList" }, output: "No files found" },
    ])
    .flush()
  await machine.hook("stop", session)
  await using peer = await Peer.connect(machine.cwd, machine.env)
  const found = hitsIn((await peer.call("search", { query: "Marigold" })).text)
  expect(found).toMatchObject([{ texts: ["What was the name of the ship?", "The ship is called Marigold."] }])
  const { text } = await peer.call("restore_preview")
  expect(text).toContain("\n## Names\n- `berthList`\n")
  expect(text).not.toContain("shipNames")
})
