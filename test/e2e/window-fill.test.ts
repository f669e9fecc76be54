/** How full the window is said to be after a compaction. */
import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

const BASE = 20_312

/**
 * Just after a compaction, `status` knew nothing of the tokens that Claude Code says remain, so it told of half of what
 * the status line showed; and hooks forgot them at the next prompt that came before an answer.
 */
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

/** What fills the window of a fork was told with all that its origin's compaction had taken out of it. */
test("a fork of a compacted session is filled by what stands behind the compaction", async () => {
  using machine = new Machine()
  const read = (name: string) => ({
    tool: "Read",
    input: { file_path: `/kiln/${name}.ts` },
    output: "export const heat = 1180\n".repeat(400),
  })
  const origin = machine.session()
  origin
    .turn("Read them", [read("before"), read("older")])
    .boundary()
    .summary("Two files were read.")
  origin.turn("And this one", [read("after")]).flush()
  await machine.hook("stop", origin)
  const fork = machine.session()
  fork.raw(readFileSync(origin.path, "utf8").replaceAll(origin.session, fork.session).trimEnd())
  // Later than all else: status tells of the latest session.
  fork.user("Go on from here", { timestamp: "2026-03-04T08:00:00.000Z" }).flush()
  await machine.hook("stop", fork)

  const { code, stdout, stderr } = await run(["status", "--json"], machine)
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  const { session, fill } = JSON.parse(stdout).context
  const files = fill.files.map(({ name }: { name: string }) => name)
  expect({ session, files: files.sort() }).toEqual({
    session: fork.session,
    files: ["(no file)", "/kiln/after.ts"],
  })
})
