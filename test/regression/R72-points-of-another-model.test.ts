/**
 * Where the host compacts was learnt for one model and went on counting after `/model` chose another in the same session:
 * one with five times the window was told that it was nearly full.
 */
import { expect, test } from "bun:test"
import { run } from "../support/binary.ts"
import { contextOf, Machine } from "../support/machine.ts"
import type { Transcript } from "../support/transcript.ts"

const SMALL = "claude-sonnet-4-6"
const LARGE = "claude-opus-5-5"

function answer(transcript: Transcript, model: string, tokens: number): Transcript {
  const usage = { input_tokens: 20, cache_read_input_tokens: tokens - 60, output_tokens: 40 }
  const content = [{ type: "text", text: `answered at ${tokens}` }]
  return transcript.line({
    type: "assistant",
    message: { id: `msg_${tokens}`, role: "assistant", model, content, usage },
  })
}

test("points that were learnt count for their model alone", async () => {
  using machine = new Machine()
  // No hook is told of the compactions here: only advice is to come at a prompt.
  machine.env["CTXBRIDGE_RESTORE"] = "false"
  const prompt = async (session: Transcript, text: string): Promise<string | undefined> => {
    const told = await machine.hook("user-prompt-submit", session.flush(), { prompt: text })
    expect(told).toMatchObject({ code: 0, stderr: "" })
    session.user(text)
    return told.stdout === "" ? undefined : contextOf(told)
  }
  const first = machine.session()
  await prompt(first, "begin")
  answer(first, SMALL, 90_000).boundary("auto", 90_300).summary("so far")
  answer(first, SMALL, 20_000)
  expect(await prompt(first, "go on")).toBeUndefined()

  const session = machine.session()
  await prompt(session, "begin")
  answer(session, SMALL, 20_000)
  expect(await prompt(session, "choose another model")).toBeUndefined()
  answer(session, LARGE, 80_000)
  expect(await prompt(session, "go on")).toBeUndefined()
  answer(session, SMALL, 80_100)
  expect(await prompt(session, "and back")).toContain("~80.1K of 90.3K tokens")
  answer(session, SMALL, 90_000).boundary("auto", 90_900).summary("so far")
  answer(session, LARGE, 85_000)
  expect(await prompt(session, "go on once more")).toBeUndefined()
  expect(await machine.hook("stop", session.flush())).toMatchObject({ code: 0, stdout: "", stderr: "" })
  const status = await run(["status", "--json"], { cwd: machine.cwd, env: machine.env })
  expect({ code: status.code, stderr: status.stderr }).toEqual({ code: 0, stderr: "" })
  const { context } = JSON.parse(status.stdout)
  expect(context).toMatchObject({ session: session.session, window: 1_000_000, learnt: false, zone: "ok" })
})
