/**
 * A fork whose origin still waited for the views was taken for the origin: its messages and compactions were the fork's,
 * which was then given back what only the origin had lost.
 */
import { expect, setDefaultTimeout, test } from "bun:test"
import { copyFileSync, mkdirSync } from "node:fs"
import { dirname, join } from "node:path"
import { holding } from "../support/held.ts"
import { contextOf, type HookName, Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

const EDIT = { tool: "Edit", input: { file_path: "/src/kiln.ts" }, output: "ok" }

test.each<[HookName, Record<string, unknown>]>([
  ["user-prompt-submit", { prompt: "Fire it once more" }],
  ["pre-compact", { trigger: "manual" }],
  ["session-start", { source: "compact" }],
])("%s", async (event, fields) => {
  using machine = new Machine()
  mkdirSync(join(machine.dataHome, "state"), { recursive: true })
  // The background job would index the origin, sooner or later.
  await holding(machine.dataHome, "state/job.lock", async () => {
    const origin = machine.session().turn("Fire the kiln. Never open the door.", [EDIT]).flush()
    await machine.hook("pre-compact", origin, { trigger: "auto" })
    await machine.hook("session-start", origin, { source: "compact" })
    origin.boundary().summary("The kiln was fired.").turn("Let it cool", [EDIT]).flush()
    await machine.hook("stop", origin)
    const fork = machine.session()
    mkdirSync(dirname(fork.path), { recursive: true })
    copyFileSync(origin.path, fork.path)
    await machine.hook("session-start", fork, { source: "fork" })
    const ran = await machine.hook(event, fork, fields)
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    if (event === "user-prompt-submit") expect(contextOf(ran)).toBeUndefined()
    using db = machine.views()
    const own = (table: string) => db.query(`SELECT DISTINCT session FROM ${table}`).values().flat()
    expect([own("messages"), own("boundaries")]).toEqual([[origin.session], [origin.session]])
    expect(db.query("SELECT child, parent FROM lineage").values()).toEqual([[fork.session, origin.session]])
  })
})
