/** Values of the environment. */
import { expect, test } from "bun:test"
import { resolveOptions } from "../../../src/config/options.ts"

const BAD = [
  "abc",
  "4k0",
  "4000.5",
  "-1",
  "1e3",
  "NaN",
  "Infinity",
  "0x10",
  "9501",
  "999999999999",
  "4_000",
  "true",
]

for (const name of ["CTXBRIDGE_RESTORE_BUDGET", "CLAUDE_FLOW_COMPACT_RESTORE_BUDGET"]) {
  test.each(BAD)(`${name}=%s is named and ignored`, (value) => {
    const { config, origin, problems } = resolveOptions({ env: { [name]: value } })
    expect(config["restore.budget"]).toBe(4000)
    expect(origin["restore.budget"]).toBe("default")
    expect(problems).toMatchObject([{ key: "restore.budget", origin: "env" }])
  })
}

/** `4k0` must not be a budget of 4, nor `abc` one without end. */
test("an empty value is none", () => {
  expect(resolveOptions({ env: { CTXBRIDGE_RESTORE_BUDGET: "" } }).problems).toEqual([])
})

test.each(["0", "1", "9500", " 700 "])("CTXBRIDGE_RESTORE_BUDGET=%p counts", (value) => {
  const { config, problems } = resolveOptions({ env: { CTXBRIDGE_RESTORE_BUDGET: value } })
  expect(config["restore.budget"]).toBe(Number(value))
  expect(problems).toEqual([])
})

test("a bad value falls through to the next source", () => {
  const { config } = resolveOptions({
    env: { CTXBRIDGE_RESTORE_BUDGET: "x" },
    user: { "restore.budget": 900 },
  })
  expect(config["restore.budget"]).toBe(900)
})
