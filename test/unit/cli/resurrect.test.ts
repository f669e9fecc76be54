/** What `ctxbridge resurrect` says. */
import { expect, test } from "bun:test"
import { rmSync } from "node:fs"
import { Inside, run } from "../../support/inside.ts"

const GONE = "  (create that folder first: it is gone, and Claude Code looks for the session only there)\n"

/** `resurrect` told people to change to a folder that no longer exists, as that of a worktree. */
test("a session's folder that is gone is said to be", async () => {
  using machine = new Inside()
  const folder = `${machine.root}/worktree`
  const [here, there] = [machine.session(), machine.session({ cwd: folder })]
  for (const session of [here, there]) await machine.hook("stop", session.turn("a word").flush())
  for (const session of [here, there]) rmSync(session.path)
  const resurrected = async (session: string) => {
    const { code, stdout, stderr } = await run(["resurrect", session], machine)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return stdout
  }
  expect(await resurrected(here.session)).toEndWith(`claude --resume ${here.session}\n`)
  const lines = `cd ${folder} && claude --resume ${there.session}\n${GONE}`
  expect(await resurrected(there.session)).toEndWith(lines)
  const { stdout } = await run(["resurrect", there.session, "--json"], machine)
  expect(JSON.parse(stdout).sessions[0].resume).toMatchObject([{ folder, gone: true }])
})
