/** A line can be nested so deeply that no function that calls itself gets to its end. */
import { expect, test } from "bun:test"
import { decodeLine, partsOfLine } from "../../../src/agents/agents.ts"

const DEEP = `${"[".repeat(20_000)}${"]".repeat(20_000)}`

test.each([
  `{"id":"m1","timestamp":"2026-03-02T08:00:00Z","type":"gemini","content":"","toolCalls":[{"id":"c","name":"x","args":{"a":${DEEP}}}]}`,
  `{"type":"tool.execution_start","data":{"toolCallId":"c1","toolName":"bash","arguments":{"command":${DEEP}}},"id":"a"}`,
  `{"type":"user","uuid":"u1","message":{"role":"user","content":${DEEP}}}`,
])("%#: decoding it does not throw", (line) => {
  expect(typeof decodeLine(line).type).toBe("string")
  expect(Array.isArray(partsOfLine(line).parts)).toBe(true)
})
