/**
 * Just after a compaction, `status` knew nothing of the tokens that the host says remain, so it told of half of what the
 * status line showed; and hooks forgot them at the next prompt that came before an answer.
 */
import { expect, test } from "bun:test"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

const BASE = 20_312

test("hooks, status line and status estimate alike until an answer counts", async () => {
  using machine = new Machine()
  const session = machine.session({ version: "2.1.329" })
  const tokens = async (): Promise<{ line: number; status: number }> => {
    const stdin = JSON.stringify({ session_id: session.session })
    const line = await run(["statusline", "--json"], { cwd: machine.cwd, env: machine.env, stdin })
    const status = await run(["status", "--json"], { cwd: machine.cwd, env: machine.env })
    for (const { code, stderr } of [line, status]) expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    const { context } = JSON.parse(status.stdout)
    expect(context.estimated).toBe(true)
    return { line: JSON.parse(line.stdout).tokens, status: context.tokens }
  }
  const prompt = async (text: string): Promise<void> => {
    expect(await machine.hook("user-prompt-submit", session.flush(), { prompt: text })).toMatchObject({
      code: 0,
      stderr: "",
    })
    session.user(text)
  }
  await prompt("begin")
  session.message().say("Begun.")
  await machine.hook("stop", session.flush())
  const metadata = { trigger: "manual", preTokens: 150_000, postTokens: 30_000 }
  session
    .line({ type: "system", subtype: "compact_boundary", content: "Compacted", compactMetadata: metadata })
    .summary("s".repeat(7000))
  await prompt("go on")
  expect(await tokens()).toEqual({ line: BASE + 30_000, status: BASE + 30_000 })

  // The user stops the model before it answers, twice.
  await prompt(`Here is a page: ${"p".repeat(3500 - 16)}`)
  await prompt("and now?")
  expect(await tokens()).toEqual({ line: BASE + 31_001, status: BASE + 31_001 })
})
