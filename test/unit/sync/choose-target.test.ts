/** Which target counts where none is named. */
import { expect, test } from "bun:test"
import { type BackendName, chooseTargets } from "../../../src/sync/targets.ts"

const named = (to: string) => ({ named: to, by: "CTXBRIDGE_SYNC_TO" as const })
const NOTHING = { to: undefined, server: false, agentdb: undefined }

test.each<[BackendName, Partial<typeof NOTHING> & object, string[]]>([
  ["auto", {}, []],
  ["auto", { server: true, agentdb: "/a" } as never, ["postgres:", "agentdb:"]],
  ["auto", { agentdb: "/a" } as never, ["agentdb:"]],
  // What is named expressly is the only one.
  ["auto", { to: named("/stick"), server: true, agentdb: "/a" } as never, ["/stick"]],
  ["json", { to: named("/stick"), server: true } as never, ["/stick"]],
  ["sqlite", { to: named("sqlite:/x.db"), server: true } as never, ["sqlite:/x.db"]],
  ["postgres", { to: named("/stick") } as never, ["postgres:"]],
  ["postgres", { to: named("postgres://me@db/x"), server: true } as never, ["postgres://me@db/x"]],
  ["postgres", {}, ["postgres:"]],
  ["agentdb", { to: named("/stick"), agentdb: "/a" } as never, ["agentdb:"]],
  ["agentdb", { to: named("agentdb:/x.db"), agentdb: "/a" } as never, ["agentdb:/x.db"]],
])("%s with %j", (backend, wishes, wanted) => {
  const chosen = chooseTargets(backend, { ...NOTHING, ...wishes })
  expect(chosen.map((one) => one.named)).toEqual(wanted)
  for (const { why } of chosen) expect(why).toMatch(/^(CTXBRIDGE|RUVECTOR)_/)
})

test.each<[BackendName]>([["sqlite"], ["json"], ["agentdb"]])("%s without a place is an error", (backend) => {
  const to = backend === "json" ? "sqlite:/x.db" : "/stick"
  expect(() => chooseTargets(backend, { ...NOTHING, to: named(to) })).toThrow(
    `CTXBRIDGE_BACKEND is ${backend}, but nothing says where that is`,
  )
})
