/** A line can be nested so deeply that no function that calls itself gets to its end. */
import { expect, test } from "bun:test"
import { decodeLine, partsOfLine } from "../../../src/agents/agents.ts"
import { jsonText } from "../../../src/record/json.ts"

const DEEP = `${"[".repeat(20_000)}${"]".repeat(20_000)}`

test.each([
  `{"id":"m1","timestamp":"2026-03-02T08:00:00Z","type":"gemini","content":"","toolCalls":[{"id":"c","name":"x","args":{"a":${DEEP}}}]}`,
  `{"type":"tool.execution_start","data":{"toolCallId":"c1","toolName":"bash","arguments":{"command":${DEEP}}},"id":"a"}`,
  `{"type":"user","uuid":"u1","message":{"role":"user","content":${DEEP}}}`,
])("%#: decoding it does not throw", (line) => {
  expect(typeof decodeLine(line).type).toBe("string")
  expect(Array.isArray(partsOfLine(line).parts)).toBe(true)
})

test("JSON is written as JSON.stringify would, however deep it is", () => {
  const value = {
    a: [1, "ä\n", null, true, [], {}, { b: { 2: [{}], "1": undefined, 'c"': -0.5 } }, undefined],
    d: "",
  }
  expect(jsonText(value)).toBe(JSON.stringify(value))
  const nested = [...Array(1200)].reduce<unknown>((inner) => ({ x: [inner, value], y: undefined }), value)
  expect(jsonText(nested)).toBe(JSON.stringify(nested))
  expect(jsonText(JSON.parse(`{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`))).toHaveLength(200_006)
})
