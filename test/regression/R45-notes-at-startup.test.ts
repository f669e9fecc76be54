/** A new session was not told that there are notes: what had been kept with `remember` was found only by chance. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { run } from "../support/binary.ts"
import { frameProblems } from "../support/frame.ts"
import { contextOf, Machine } from "../support/machine.ts"
import { Peer } from "../support/mcp.ts"

setDefaultTimeout(60_000)

const TODOS = {
  tool: "TodoWrite",
  input: {
    todos: ["Write it", "Test it", "Ship it"].map((content, n) => ({
      content,
      status: n === 0 ? "completed" : "pending",
    })),
  },
  output: "ok",
}

const started = async (machine: Machine) => {
  const text = contextOf(await machine.hook("session-start", machine.session(), { source: "startup" }))!
  expect(frameProblems(text)).toEqual([])
  expect(text.length).toBeLessThanOrEqual(1000)
  return text
}

test("how many todos are open, and how many notes there are; nothing where there are none", async () => {
  using machine = new Machine()
  const session = machine.session().turn("Write the parser").flush()
  await machine.hook("stop", session)
  const bare = await started(machine)
  expect(bare).toContain("Write the parser")
  expect(bare).not.toMatch(/todos|notes/i)
  session.turn("Write the tests", [TODOS]).flush()
  await machine.hook("stop", session)
  expect(await started(machine)).toContain("\nOpen todos: 2 items.\n")
  {
    await using peer = await Peer.connect(machine.cwd, machine.env)
    await peer.call("remember", { text: "The parser needs two cores." })
    await peer.call("remember", { text: "The tests need TZ=UTC." })
  }
  const told = await started(machine)
  const [, count, name] =
    /^Notes kept for this project with `remember`: (\d+); `ctxbridge show (\S+)` lists them\.$/m.exec(told)!
  expect(count).toBe("2")
  expect(told).toContain("Open todos: 2 items.")
  const shown = await run(["show", name!], { cwd: machine.cwd, env: machine.env })
  expect(shown).toMatchObject({ code: 0, stderr: "" })
  for (const note of ["The parser needs two cores.", "The tests need TZ=UTC."])
    expect(shown.stdout).toContain(note)
  // The second time it was rendered beforehand.
  expect(await started(machine)).toBe(told)
})

test("another project's notes are not counted", async () => {
  using machine = new Machine()
  const session = machine.session().turn("Write the parser").flush()
  await machine.hook("stop", session)
  {
    await using peer = await Peer.connect(machine.root, machine.env)
    await peer.call("remember", { text: "Something else." })
  }
  expect(await started(machine)).not.toContain("Notes")
})
