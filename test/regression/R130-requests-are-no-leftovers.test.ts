/**
 * `doctor --fix` deleted a request whose writer was killed before it could rename it as a leftover, before the
 * background job could do it. What a killed rebuild had left was not told of.
 */
import { expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, mkdirSync, utimesSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { archivedIn } from "../../src/vault/reader.ts"
import { findings } from "../support/doctor.ts"
import { Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

const HOUR = 3600

/** Left two hours ago by a process that has ended. */
function left(machine: Machine, name: (pid: number) => string, text: string): string {
  const file = join(machine.dataHome, name(Bun.spawnSync(["true"]).pid))
  mkdirSync(join(file, ".."), { recursive: true, mode: 0o700 })
  writeFileSync(file, text, { mode: 0o600 })
  const then = Date.now() / 1000 - 2 * HOUR
  utimesSync(file, then, then)
  return file
}

test("the request is done", async () => {
  using machine = new Machine()
  // Elsewhere than the host's folder, where doctor itself would find it.
  const unseen = machine.session().turn("Nobody tells of this").flush()
  machine.env["CLAUDE_CONFIG_DIR"] = join(machine.root, "none")
  const request = { transcripts: [unseen.path], sweep: [], settle: false }
  left(machine, (pid) => `requests/left.json.${pid}`, JSON.stringify(request))
  expect(await findings(machine, "leftovers")).toMatchObject([{ state: "ok" }])
  expect(await findings(machine, "requests", "--fix")).toMatchObject([{ state: "ok" }])
  expect(archivedIn(machine.copy(unseen.path))).toBeGreaterThan(0)
})

test("views that were being rebuilt are a leftover", async () => {
  using machine = new Machine()
  const file = left(machine, (pid) => `archive.db.new-${pid}`, "half of it")
  expect(await findings(machine, "leftovers")).toMatchObject([{ state: "warn", details: [file] }])
  expect(await findings(machine, "leftovers", "--fix")).toMatchObject([{ state: "ok" }])
  expect(existsSync(file)).toBe(false)
})
