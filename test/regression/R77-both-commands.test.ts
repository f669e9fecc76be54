/**
 * A failed command with a long output took the room of the last one that succeeded, and what was quoted of the output was
 * its beginning, in which nothing had failed yet.
 */
import { expect, test } from "bun:test"
import { contextOf, Machine } from "../support/machine.ts"

test("the line that names the error is told, and the last good command has room beside it", async () => {
  using machine = new Machine()
  const steps = Array.from({ length: 40 }, (_, n) => `step ${n} of the long run is done`)
  const bash = (command: string, output: string, isError: boolean) => ({
    tool: "Bash",
    input: { command },
    output,
    isError,
  })
  const words = "with many words behind it so that it takes all of the room that a command is given "
  const session = machine
    .session()
    .turn("Ship it", [
      bash(
        `make release ${words.repeat(2)}`,
        `Exit code 2\n${steps.slice(0, 9).join("\n")}\nerror: the key for signing the package has expired${" and was not renewed".repeat(3)}\n${steps.join("\n")}`,
        true,
      ),
      bash(`make check ${words.repeat(2)}`, "ok", false),
    ])
  await machine.hook("stop", session.flush())
  const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
  expect(given).toMatch(
    /^- last failing: `make release .{60,}…` → "error: the key for signing the package has expired/m,
  )
  const { stdout } = await machine.hook("pre-compact", session, { trigger: "manual" })
  expect(stdout).toMatch(/^- failing command: `make release .{60,}…` \("error: the key for signing/m)
  expect(given).toMatch(/^- last good: `make check .{60,}…` \(ctx:/m)
})

test.each([" &&", ";", "\n"])(
  "a long command is told without the folder that it is run in: cd …%j",
  async (join) => {
    using machine = new Machine()
    const folder = `"/home/someone/code/${"a-long-name/".repeat(10)}"`
    const command = `cd ${folder}${join} npm run check -- --all the parts of it that are there`
    const session = machine.session().turn("Check", [{ tool: "Bash", input: { command }, output: "ok" }])
    await machine.hook("stop", session.flush())
    const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
    expect(given).toContain("- last good: `… npm run check -- --all the parts of it that are there` (ctx:")
  },
)
