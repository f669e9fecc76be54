/** What must not happen while a hook starts, counted and not timed (docs/adr/0013). */
import { expect, setDefaultTimeout, test } from "bun:test"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

/** The engine reports on stderr what it compiles: at once here, else in a thread that a hook would have to start. */
const REPORT = { BUN_JSC_reportBaselineCompileTimes: "1", BUN_JSC_useConcurrentJIT: "0" }

/** A turn of tools with a few kilobytes of ordinary output. */
const work = (n: number) =>
  [1, 2].map((m) => ({
    tool: "Bash",
    input: { command: `npm test -- --grep case-${n}-${m}` },
    output: `PASS src/case-${n}.test.ts\n${"  ok works with a list of names (3 ms)\n".repeat(60)}`,
  }))

test("with little to do, no function runs so often that it is compiled", async () => {
  using machine = new Machine()
  const transcript = machine.session()
  for (let n = 0; n < 20; n++) transcript.turn(`Look at case ${n}.`, work(n))
  transcript.flush()
  // The first of each makes its folders.
  await machine.hook("stop", transcript)
  await machine.hook("user-prompt-submit", transcript, { prompt: "Begin." })
  for (let n = 20; n < 24; n++) {
    transcript.turn(`And at case ${n}.`, work(n)).flush()
    const env = { ...machine.env, ...REPORT }
    const answers = [
      await machine.hook("stop", transcript, {}, { env }),
      await machine.hook("user-prompt-submit", transcript, { prompt: `Go on with case ${n}.` }, { env }),
    ]
    for (const answer of answers) expect(answer).toMatchObject({ code: 0, stdout: "", stderr: "" })
  }
  await run(["import"], { env: machine.env, cwd: machine.cwd })
  // Once an hour a start asks the job to look for what no hook has reported.
  await machine.hook("session-start", machine.session(), { source: "startup" })
  await machine.idle()
  for (let n = 0; n < 2; n++) {
    const fresh = machine.session()
    const answer = await machine.hook(
      "session-start",
      fresh,
      { source: "startup" },
      { env: { ...machine.env, ...REPORT } },
    )
    expect(answer).toMatchObject({ code: 0, stdout: expect.stringContaining("ctx:"), stderr: "" })
  }
  // With a long work before it, a hook has it compiled, and the report is there.
  transcript
    .turn("All.", [{ tool: "Bash", input: {}, output: "a_Bcdefghijklmn0123 ".repeat(150_000) }])
    .flush()
  const busy = await machine.hook("stop", transcript, {}, { env: { ...machine.env, ...REPORT } })
  expect(busy.stderr).toContain("using Baseline")
})

/**
 * 80 KB of lines that say nothing of their tokens were weighed one by one, and what runs so often was compiled in threads of
 * its own, for a third of the hook's processor time.
 */
test("a prompt with some ten kilobytes of new lines starts none of the engine's compilers", async () => {
  using machine = new Machine()
  // Every line has the folder, and a temporary folder's name, which looks like a token, is weighed in each.
  const session = machine.session({ cwd: "/src/kiln" })
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
