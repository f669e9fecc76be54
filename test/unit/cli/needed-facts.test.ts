import { expect, test } from "bun:test"
import { decodeLine } from "../../../src/agents/agents.ts"
import { Memory } from "../../../src/cli/bench/survive/needed-facts.ts"

test("the command of a call is found whichever field comes first", () => {
  const input = { description: "Check the retry of uploads", command: "npm run check -- retry" }
  const content = [{ type: "tool_use", id: "t1", name: "Bash", input }]
  const memory = new Memory(true)
  memory.take(decodeLine(JSON.stringify({ type: "assistant", message: { role: "assistant", content } })))
  expect([...memory.seen.command.keys()]).toEqual(["npm run check -- retry"])
})
