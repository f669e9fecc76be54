/** What doctor says of the data folder and what lies in it. */

import { describe, expect, test } from "bun:test"
import { chmodSync, existsSync, renameSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { databasePath } from "../../../src/views/database.ts"
import { findings } from "../../support/examined.ts"
import { Inside } from "../../support/inside.ts"
import { left } from "../../support/leftovers.ts"
import type { Machine } from "../../support/machine.ts"

/**
 * `doctor` did not follow a data folder that is a link, and called it private without having looked. It called an
 * archive writable whose files were not, and one that could never be made.
 */
describe("an archive behind a link", () => {
  async function archived(machine: Machine): Promise<void> {
    const session = machine.session().turn("Kept.").flush()
    expect((await machine.hook("pre-compact", session, { trigger: "manual" })).code).toBe(0)
  }

  test("what the link leads to is looked at, and repaired", async () => {
    using machine = new Inside()
    await archived(machine)
    const real = join(machine.root, "disk")
    renameSync(machine.dataHome, real)
    symlinkSync(real, machine.dataHome)
    chmodSync(real, 0o755)
    expect(await findings(machine, "private")).toMatchObject([
      { state: "warn", details: [`755 ${machine.dataHome}`] },
    ])
    expect(await findings(machine, "private", "--fix")).toMatchObject([{ state: "ok" }])
    expect(statSync(real).mode & 0o777).toBe(0o700)
  })

  test.skipIf(process.getuid?.() === 0)("files that may not be written are told of", async () => {
    using machine = new Inside()
    await archived(machine)
    chmodSync(databasePath(machine.dataHome), 0o400)
    const [found] = await findings(machine, "owner")
    expect(found).toMatchObject({
      state: "fail",
      details: expect.arrayContaining([databasePath(machine.dataHome)]),
    })
  })

  test("a data folder that cannot be made", async () => {
    using machine = new Inside()
    expect(await findings(machine, "owner")).toMatchObject([{ state: "skipped" }])
    symlinkSync(join(machine.root, "nowhere"), machine.dataHome)
    const unmade = { state: "fail", text: `${machine.dataHome} cannot be made` }
    expect(await findings(machine, "owner")).toMatchObject([unmade])
    const file = join(machine.root, "file")
    writeFileSync(file, "")
    machine.env["CTXBRIDGE_HOME"] = join(file, "archive")
    expect(await findings(machine, "owner")).toMatchObject([
      { state: "fail", text: `${join(file, "archive")} cannot be made`, hint: `look at ${file}` },
    ])
    expect(await findings(machine, "space")).toHaveLength(1)
  })
})

test("views that were being rebuilt are a leftover", async () => {
  using machine = new Inside()
  const file = left(machine, (pid) => `archive.db.new-${pid}`, "half of it")
  expect(await findings(machine, "leftovers")).toMatchObject([{ state: "warn", details: [file] }])
  expect(await findings(machine, "leftovers", "--fix")).toMatchObject([{ state: "ok" }])
  expect(existsSync(file)).toBe(false)
})
