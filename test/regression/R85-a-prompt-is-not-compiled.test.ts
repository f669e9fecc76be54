/**
 * 80 KB of lines that say nothing of their tokens were weighed one by one, and what runs so often was compiled in threads of
 * its own, for a third of the hook's processor time.
 */
import { expect, test } from "bun:test"
import { Machine } from "../support/machine.ts"

/** The engine reports on stderr what it compiles: at once here, else in a thread that a hook would have to start. */
const REPORT = { BUN_JSC_reportBaselineCompileTimes: "1", BUN_JSC_useConcurrentJIT: "0" }

test("a prompt with some ten kilobytes of new lines starts none of the engine's compilers", async () => {
  using machine = new Machine()
  const session = machine.session()
  await machine.hook("user-prompt-submit", session.turn("Begin.").flush(), { prompt: "Begin." })
  for (let n = 0; n < 60; n++) {
    const content = [
      { type: "text", text: `Step ${n}: ${"the kiln is at 1,240 °C, and cools slowly; ".repeat(30)}` },
    ]
    session.line({ type: "assistant", message: { role: "assistant", content } })
  }
  const env = { ...machine.env, ...REPORT }
  const answer = await machine.hook("user-prompt-submit", session.flush(), { prompt: "Go on." }, { env })
  expect(answer).toMatchObject({ code: 0, stdout: "", stderr: "" })
})
