/** A turn as `show` prints it. */
import { expect, test } from "bun:test"
import { renderTurn } from "../../../src/cli/commands/show.ts"
import { createStyle } from "../../../src/cli/style.ts"
import type { WholeTurn } from "../../../src/views/turn.ts"

const LINES = 1_000_000

test("a result of a million lines is shown, each of them", () => {
  const result = {
    kind: "toolResult",
    id: "toolu_1",
    text: "x\n".repeat(LINES),
    isError: false,
    origin: "transcript",
  }
  const turn = {
    ...{ handle: "ctx:aaaaaa", session: "5e551011", seq: 1, via: "typed", started: null, ended: null },
    ...{ errors: 0, interrupted: false, takenBack: false, tools: [], usage: [], files: [], prompt: "Go" },
    messages: [{ role: "tool", time: null, sidechain: false, parts: [result] }],
  } as unknown as WholeTurn
  const lines = renderTurn(
    turn,
    { confidence: null, importance: null, uses: 0, cold: false },
    {
      screen: { columns: 80, style: createStyle(false), now: 0 },
      ...{ color: false, links: false, isLaidOut: false, isFolded: true },
      showPath: (path) => path,
    },
  )
  expect(lines.filter((line) => line === "x")).toHaveLength(LINES)
})
