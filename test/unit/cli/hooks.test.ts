/** What doctor says of the hooks in the host's settings. */
import { expect, test } from "bun:test"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { findings } from "../../support/examined.ts"
import { Inside, run } from "../../support/inside.ts"

/** `doctor` found nothing wrong while a setting of the host kept it from calling any hook. */
test("disableAllHooks is told of, and the narrowest file decides", async () => {
  using machine = new Inside()
  const installed = await run(["install"], { env: machine.env, cwd: machine.cwd })
  expect(installed).toMatchObject({ code: 0, stderr: "" })
  const user = join(machine.home, ".claude", "settings.json")
  const settings = JSON.parse(readFileSync(user, "utf8"))
  writeFileSync(user, JSON.stringify({ ...settings, disableAllHooks: true }))
  const registered = { state: "ok", text: "user settings: all 6" }
  expect(await findings(machine, "hooks")).toMatchObject([
    { state: "fail", text: 'user settings: "disableAllHooks" is true', repair: undefined },
    registered,
  ])
  mkdirSync(join(machine.cwd, ".claude"))
  writeFileSync(join(machine.cwd, ".claude", "settings.local.json"), '{"disableAllHooks": false}')
  expect(await findings(machine, "hooks")).toMatchObject([registered])
})
