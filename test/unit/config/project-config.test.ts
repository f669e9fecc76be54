/** A project's file reaches the hooks, and can set only what it may. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Inside } from "../../support/inside.ts"
import { contextOf } from "../../support/machine.ts"

setDefaultTimeout(60_000)

const compacted = async (file: string): Promise<string> => {
  using machine = new Inside()
  writeFileSync(join(machine.cwd, ".ctxbridge.toml"), file)
  const session = machine
    .session()
    .turn("Never touch the generated files. 🛡️", [], "An answer. ".repeat(9))
    .turn("and more".repeat(30))
    .turn("and again ".repeat(20))
    .flush()
  await machine.hook("pre-compact", session, { trigger: "manual" })
  return contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
}

test("restore.budget in the project's file counts", async () => {
  const whole = await compacted("")
  const cut = await compacted("[restore]\nbudget = 600\n")
  expect(whole.length).toBeGreaterThan(600)
  expect(cut.length).toBeGreaterThan(0)
  expect(cut.length).toBeLessThanOrEqual(600)
})

test("restore.enabled = false in the project's file counts", async () => {
  expect(await compacted("[restore]\nenabled = false\n")).toBe("")
})

test("what only the user may set, and a broken file, change nothing", async () => {
  const whole = await compacted("")
  const same = (text: string): string => text.replaceAll(/session="[^"]*"|ctx:[0-9a-z]+/g, "")
  expect(same(await compacted("[capture]\nenabled = false\n"))).toBe(same(whole))
  expect(same(await compacted("[restore\nbudget = "))).toBe(same(whole))
})
