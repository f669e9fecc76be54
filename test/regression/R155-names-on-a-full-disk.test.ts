/**
 * A file is written under another name and then renamed. Where there was no room for it, the empty file stayed: up to four
 * for each hook, and nothing ever removed them.
 */
import { expect, test } from "bun:test"
import { readdirSync } from "node:fs"
import { type HookName, Machine } from "../support/machine.ts"

/** No file may grow. */
const FULL = { through: ["/bin/sh", "-c", 'ulimit -f 0; exec "$0" "$@"'] }

test("hooks that find no room leave no files", async () => {
  using machine = new Machine()
  const session = machine.session().turn("before it").flush()
  await machine.hook("session-start", session, { source: "startup" })
  await machine.hook("stop", session)
  await machine.idle()
  for (const event of ["user-prompt-submit", "stop", "session-end"] satisfies HookName[]) {
    session.turn(`then ${event}`).flush()
    const ran = await machine.hook(event, session, { prompt: "go on", reason: "clear" }, FULL)
    expect(ran).toMatchObject({ code: 0, stdout: "", stderr: "" })
  }
  await machine.idle()
  const names = readdirSync(machine.dataHome, { recursive: true, encoding: "utf8" })
  expect(names.filter((name) => /\.\d+$/.test(name))).toEqual([])
})
