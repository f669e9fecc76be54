/**
 * A hook that found the session's copy locked by another process took the transcript for one of no bytes. So the next hook
 * read it from its beginning, counted each compaction once more, and warned the model a second time.
 */
import { expect, setDefaultTimeout, test } from "bun:test"
import { relative } from "node:path"
import { run } from "../support/binary.ts"
import { holding } from "../support/held.ts"
import { contextOf, Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

test("a compaction counts once, and the model is warned once", async () => {
  using machine = new Machine()
  const session = machine.session()
  const prompt = (text: string) => machine.hook("user-prompt-submit", session, { prompt: text })
  await prompt("Heat the kiln")
  await machine.hook("stop", session.turn("Heat the kiln").flush())
  await machine.hook("pre-compact", session, { trigger: "auto" })
  await machine.hook("session-start", session, { source: "compact" })
  session.boundary().summary("The kiln was heated.").flush()
  await prompt("Open it")
  const usage = { input_tokens: 150_000, output_tokens: 1 }
  const message = { id: "m", role: "assistant", model: "claude-sonnet-4-6", content: [], usage }
  await machine.hook("stop", session.user("Open it").line({ type: "assistant", message }).flush())
  expect(contextOf(await prompt("Close it"))).toContain("%")

  session.turn("Close it").line({ type: "assistant", message: { ...message, id: "n" } })
  const copy = relative(machine.dataHome, machine.copy(session.flush().path))
  await holding(machine.dataHome, copy, () => machine.hook("stop", session))
  const held = await holding(machine.dataHome, copy, () => prompt("Once more"))
  expect(held).toMatchObject({ code: 0, stdout: "", stderr: "" })
  session.user("Once more").line({ type: "assistant", message: { ...message, id: "o" } })
  await machine.hook("stop", session.flush())
  expect(await prompt("And again")).toMatchObject({ code: 0, stdout: "", stderr: "" })

  const { code, stdout, stderr } = await run(["status", "--json"], machine)
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  expect(JSON.parse(stdout).context).toMatchObject({ compactions: 1, tokens: 150_001 })
})
