/** A shell tells how the last command of a pipe ended; what ran before it tells of its failure only in its output. */
import { expect, test } from "bun:test"
import { readTurn, turnsOfSession } from "../../../src/read/turn.ts"
import { bestMessages } from "../../../src/search/search-turns.ts"
import { CopyReaders } from "../../../src/vault/reader.ts"
import { Archive } from "../../support/archive.ts"

const PASSED = "ok  \texample.com/shop/basket\t0.2s"
const FAILED = `${"=== RUN   TestPasses\n--- PASS: TestPasses (0.00s)\n".repeat(40)}--- FAIL: TestWalrus (0.00s)\nFAIL\texample.com/shop/basket\t0.2s\nFAIL`

const bash = (command: string, output: string, isError = false) => ({
  tool: "Bash",
  input: { command },
  output,
  isError,
})

function callsOf({ db, dataHome }: Archive) {
  using readers = new CopyReaders()
  return turnsOfSession(db, "s1").flatMap((row) => readTurn(db, dataHome, row, readers).tools)
}

test("the call failed, without an exit status; the turn and the search count it", () => {
  using archive = new Archive()
  const transcript = archive
    .session("s1")
    .turn("Run the tests", [
      bash("go test ./... 2>&1 | tail -100", FAILED),
      bash("go test ./... 2>&1 | tail -3", PASSED),
      bash("cat ci.log", FAILED),
      bash("go test ./...", `Exit code 1\n${FAILED}`, true),
    ])
  archive.follow(transcript.flush())
  expect(callsOf(archive).map(({ isError, exitCode }) => [isError, exitCode])).toEqual([
    [true, null],
    [false, null],
    [false, null],
    [true, 1],
  ])
  expect(turnsOfSession(archive.db, "s1")[0]).toMatchObject({ tools: 4, errors: 2 })
  expect(bestMessages(archive.db, "TestWalrus", { error: true }, 10)).toHaveLength(2)
  // What is kept of the output begins where it tells of the failure.
  expect(archive.count("tool_calls WHERE error LIKE '--- FAIL: TestWalrus%'")).toBe(1)
})

test("the same when the result comes long after the call, and when all is read once more", () => {
  using archive = new Archive()
  const transcript = archive.session("s1").user("Run the tests").message()
  const id = "toolu_walrus"
  const input = { command: "cd shop && go test ./... 2>&1 | tail -100" }
  archive.follow(transcript.block({ type: "tool_use", id, name: "Bash", input }).flush())
  // Nothing of a session is remembered once another was read.
  archive.follow(archive.session("s2").turn("Something else").flush())
  transcript.user([{ type: "tool_result", tool_use_id: id, content: FAILED, is_error: false }])
  archive.follow(transcript.flush())
  expect(callsOf(archive)).toMatchObject([{ isError: true, exitCode: null }])

  using whole = new Archive()
  const again = whole.session("s1").user("Run the tests").message()
  again.block({ type: "tool_use", id, name: "Bash", input })
  again.user([{ type: "tool_result", tool_use_id: id, content: FAILED, is_error: false }])
  whole.follow(again.flush())
  expect(callsOf(whole)).toEqual(callsOf(archive))
})
