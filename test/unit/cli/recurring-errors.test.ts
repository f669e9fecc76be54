/** Which failed calls are the same error again. */
import { expect, test } from "bun:test"
import { recurringErrors } from "../../../src/cli/stats/stats.ts"

const failed = (error: string, handle: string, result: number, tool = "Bash") => ({
  ...{ tool, error, handle, result },
  time: `2026-03-0${result}T08:00:00Z`,
})

test("numbers, ids and folders do not make two errors of one; names do", () => {
  const found = recurringErrors([
    failed("Exit code 1\n/home/a/src/kiln.ts:12:5: error: no heat after 30 ms", "aa", 1),
    failed("Exit code 1\n/srv/b/src/kiln.ts:7:1: error: no heat after 9 ms", "aa", 2),
    failed("Exit code 1\n/srv/b/src/glaze.ts:7:1: error: no heat after 9 ms", "bb", 3),
    failed("fatal: bad object 3f2a9c01be", "bb", 4),
    failed("fatal: bad object 9d00c1aa77", "cc", 5),
    failed("fatal: bad object 12345678ff", "cc", 6),
  ])
  expect(found).toEqual([
    {
      ...{
        error: "fatal: bad object 12345678ff",
        tool: "Bash",
        times: 3,
        turns: 2,
        handle: "ctx:cc",
        message: 6,
      },
      ...{ first: "2026-03-04T08:00:00Z", last: "2026-03-06T08:00:00Z" },
    },
    {
      ...{ error: "/srv/b/src/kiln.ts:7:1: error: no heat after 9 ms", tool: "Bash", times: 2, turns: 1 },
      ...{ handle: "ctx:aa", message: 2, first: "2026-03-01T08:00:00Z", last: "2026-03-02T08:00:00Z" },
    },
  ])
})

test("what a human refused is no error", () => {
  const refused = "The user doesn't want to proceed with this tool use."
  expect(recurringErrors([failed(refused, "aa", 1), failed(refused, "bb", 2)])).toEqual([])
})
