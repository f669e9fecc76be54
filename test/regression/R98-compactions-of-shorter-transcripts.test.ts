/**
 * Where the host had written a transcript anew and shorter, what it was before counted as the session's: the third
 * compaction since was given nothing back, and status told of the window as it was. A compaction that no hook was told of
 * was not noticed where something else had stood before; nor, where another process had archived the shorter transcript,
 * behind the end of the former one (R149).
 */
import { expect, setDefaultTimeout, test } from "bun:test"
import { readFileSync, writeFileSync } from "node:fs"
import { run } from "../support/binary.ts"
import { contextOf, Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

test("its compactions are answered, each once, and its window is told", async () => {
  using machine = new Machine()
  const session = machine.session()
  const step = { tool: "Bash", input: { command: "make heat-kiln" }, output: "hot" }
  for (let n = 0; n < 20; n++) session.turn(`Heat kiln ${n}`, [step])
  // No hook that indexes has seen it by then.
  await machine.hook("stop", session.flush())
  const lines = readFileSync(session.path, "utf8").split("\n")
  writeFileSync(session.path, `${lines.slice(0, 8).join("\n")}\n`)

  for (let n = 0; n < 4; n++) {
    await machine.hook("pre-compact", session, { trigger: "auto" })
    const answer = await machine.hook("session-start", session, { source: "compact" })
    expect(contextOf(answer)).toContain("make heat-kiln")
    session.boundary().summary("Kilns were heated.").say("Going on.").flush()
    expect(await machine.hook("user-prompt-submit", session, { prompt: "Go on" })).toMatchObject({
      stdout: "",
    })
    session.turn("Go on").flush()
    await machine.hook("stop", session)
  }
  const usage = { input_tokens: 90_000, output_tokens: 1 }
  const content = [{ type: "text", text: "Well heated." }]
  session.line({
    type: "assistant",
    message: { id: "m", role: "assistant", model: "claude-x", content, usage },
  })
  await machine.hook("stop", session.flush())
  const { code, stdout, stderr } = await run(["status", "--json"], machine)
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  expect(JSON.parse(stdout).context).toMatchObject({ session: session.session, tokens: 90_001 })
})

test.each(["a hook", "another process"])(
  "archived by %s, one that nobody announced is made up for at the next prompt",
  async (by) => {
    using machine = new Machine()
    const session = machine.session()
    const step = { tool: "Bash", input: { command: "make heat-kiln" }, output: "hot" }
    for (let n = 0; n < 10; n++) {
      await machine.hook("user-prompt-submit", session, { prompt: `Heat kiln ${n}` })
      await machine.hook("stop", session.turn(`Heat kiln ${n}`, [step]).flush())
    }
    const lines = readFileSync(session.path, "utf8").split("\n")
    writeFileSync(session.path, `${lines.slice(0, 8).join("\n")}\n`)
    if (by !== "a hook") expect(await run(["import"], machine)).toMatchObject({ code: 0, stderr: "" })
    await machine.hook("stop", session)
    session.boundary().summary("Kilns were heated.").flush()
    const given = await machine.hook("user-prompt-submit", session, { prompt: "Go on" })
    expect(contextOf(given)).toContain("make heat-kiln")
  },
)
