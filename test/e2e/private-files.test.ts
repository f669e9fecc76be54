/** Nobody else may read the archive. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { lstatSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { binary } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

/** Transcripts hold what nobody else is to read. */
test("files are 0600 and folders 0700, whatever the umask of the host", async () => {
  using machine = new Machine()
  const transcript = machine.session().turn("first").flush()
  for (const [event, fields] of [
    ["session-start", { source: "startup" }],
    ["user-prompt-submit", { prompt: "next" }],
    ["pre-compact", { trigger: "auto" }],
    ["session-start", { source: "compact" }],
    ["session-end", { reason: "clear" }],
  ] as const) {
    const stdin = Buffer.from(machine.payload(event, transcript, fields))
    const hook = Bun.spawnSync(["sh", "-c", 'umask 000; exec "$0" hook "$1"', binary(), event], {
      env: machine.env,
      stdin,
    })
    expect(hook.exitCode).toBe(0)
  }
  await machine.idle()
  const open = ["", ...readdirSync(machine.dataHome, { recursive: true }).map(String)].filter((name) => {
    const stats = lstatSync(join(machine.dataHome, name))
    return (stats.mode & 0o777) !== (stats.isDirectory() ? 0o700 : 0o600)
  })
  expect(open).toEqual([])
})
