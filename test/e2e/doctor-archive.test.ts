/** What doctor says of the archive, the transcripts and Claude Code's settings. */

import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { symlinkSync } from "node:fs"
import { join } from "node:path"
import { archivedIn } from "../../src/vault/reader.ts"
import { run } from "../support/binary.ts"
import { findings } from "../support/doctor.ts"
import { left } from "../support/leftovers.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

/**
 * `doctor --fix` deleted a request whose writer was killed before it could rename it as a leftover, before the
 * background job could do it. What a killed rebuild had left was not told of.
 */
describe("what killed processes have left", () => {
  test("the request is done", async () => {
    using machine = new Machine()
    // Elsewhere than Claude Code's folder, where doctor itself would find it.
    const unseen = machine.session().turn("Nobody tells of this").flush()
    machine.env["CLAUDE_CONFIG_DIR"] = join(machine.root, "none")
    const request = { transcripts: [unseen.path], sweep: [], settle: false }
    left(machine, (pid) => `requests/left.json.${pid}`, JSON.stringify(request))
    expect(await findings(machine, "leftovers")).toMatchObject([{ state: "ok" }])
    expect(await findings(machine, "requests", "--fix")).toMatchObject([{ state: "ok" }])
    expect(archivedIn(machine.copy(unseen.path))).toBeGreaterThan(0)
  })
})

/** In the home folder, where the project's settings are the user's, status and doctor told of one file twice. */
describe("one settings file is told", () => {
  test.each(["home", "link"])("once, with HOME=%s", async (name) => {
    using machine = new Machine()
    symlinkSync(machine.home, join(machine.root, "link"))
    const env = { ...machine.env, HOME: join(machine.root, name) }
    const cli = (...args: string[]) => run(args, { env, cwd: machine.home })
    expect((await cli("install", "--no-import")).code).toBe(0)
    const { hooks } = JSON.parse((await cli("status", "--json")).stdout)
    expect(hooks).toMatchObject([{ scope: "user", missing: [], stale: [] }])
    const { findings } = JSON.parse((await cli("doctor", "--json")).stdout)
    const told = findings.filter(({ check }: { check: string }) => check === "settings" || check === "hooks")
    expect(told.map(({ text }: { text: string }) => text)).toEqual([
      "valid JSON: user",
      "user settings: all 6",
    ])
  })
})
