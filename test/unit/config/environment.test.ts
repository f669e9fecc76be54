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

test.each([
  ["0", 0],
  ["1048576", 1_048_576],
  ["500MB", 500_000_000],
  ["2 gb", 2_000_000_000],
  ["1.5G", 1_500_000_000],
  ["10k", 10_000],
  ["7B", 7],
])("CTXBRIDGE_ARCHIVE_MAX_SIZE=%p is %p bytes", (value, bytes) => {
  const { config, problems } = resolveOptions({ env: { CTXBRIDGE_ARCHIVE_MAX_SIZE: value } })
  expect(config["archive.max_size"]).toBe(bytes)
  expect(problems).toEqual([])
})

test.each(["-1", "GB", "1e9", "5 apples", "9999999TB", "true", "1,5G"])(
  "CTXBRIDGE_ARCHIVE_MAX_SIZE=%p is named and ignored",
  (value) => {
    const { config, problems } = resolveOptions({ env: { CTXBRIDGE_ARCHIVE_MAX_SIZE: value } })
    expect(config["archive.max_size"]).toBe(5_000_000_000)
    expect(problems).toMatchObject([{ key: "archive.max_size", origin: "env" }])
  },
)

test("a size in a file may be a number", () => {
  const { config, problems } = resolveOptions({ user: { "archive.max_size": 1_000_000 } })
  expect(config["archive.max_size"]).toBe(1_000_000)
  expect(problems).toEqual([])
})
