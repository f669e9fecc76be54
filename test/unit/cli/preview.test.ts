/** `preview`, and the server's. */
import { expect, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Inside, Peer, run } from "../../support/inside.ts"
import { contextOf } from "../../support/machine.ts"

const RULE = "Never push to main."

/** What the server's tool answers. */
async function asked(cwd: string, env: Record<string, string>): Promise<string> {
  await using peer = await Peer.connect(cwd, env)
  return (await peer.call("restore_preview")).text
}

/**
 * A preview left out what the memory files of the folder say in which it was asked for, which need not be the session's;
 * and the server's preview knew nothing of the waiting prompt, nor that restores were switched off.
 */
test("what a preview leaves out depends on the session's folder", async () => {
  using machine = new Inside()
  const below = join(machine.cwd, "packages")
  mkdirSync(below)
  writeFileSync(join(below, "CLAUDE.md"), RULE)
  const session = machine.session().turn(RULE).turn("Go on").flush()
  await machine.hook("stop", session)
  await machine.hook("user-prompt-submit", session, { prompt: "and this" })

  const previewed = async (cwd: string): Promise<string> => {
    const { code, stdout, stderr } = await run(["preview", "--session", session.session, "--json"], {
      cwd,
      env: machine.env,
    })
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return JSON.parse(stdout).text
  }
  const env = { ...machine.env, CLAUDE_PROJECT_DIR: below, CLAUDE_CODE_SESSION_ID: session.session }
  const texts = [await previewed(machine.cwd), await previewed(below), await asked(below, env)]
  expect(await asked(below, { ...env, CTXBRIDGE_RESTORE: "false" })).toBe(
    "Nothing would be restored: the user has switched it off.",
  )
  await machine.hook("pre-compact", session, { trigger: "auto" })
  const given = contextOf(await machine.hook("session-start", session, { source: "compact" }))!
  expect(given).toContain(`- "${RULE}" (ctx:`)
  expect(given).toContain("\n> and this\n")
  expect(texts).toEqual([given, given, given])
})
