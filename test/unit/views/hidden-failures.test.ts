/** A shell tells how the last command of a pipe ended; what ran before it tells of its failure only in its output. */
import { expect, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fixesFor } from "../../../src/find/fixes.ts"
import { bestMessages } from "../../../src/find/search-turns.ts"
import { WholeCalls } from "../../../src/find/whole-matches.ts"
import { CopyReaders } from "../../../src/vault/reader.ts"
import { chill, warm } from "../../../src/views/cold-turns.ts"
import { readTurn, turnsOfSession } from "../../../src/views/turn.ts"
import { Archive } from "../../support/archive.ts"
import { expectSameWordsAgain } from "../../support/cold.ts"

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

/** A shell that goes on, a program that is content with itself: the exit status says nothing, and no pipe hides it. */
const TOLD: readonly (readonly [command: string, output: string, error: string])[] = [
  [
    "git rebase main; git status --short",
    " M a.ts\nerror: cannot rebase: You have unstaged changes.\nerror: Please commit or stash them.",
    "error: cannot rebase: You have unstaged changes.",
  ],
  [
    "./deploy.sh staging",
    "Deploying\nError: the kiln is not reachable\nDone",
    "Error: the kiln is not reachable",
  ],
  [
    "python3 fire.py",
    'Traceback (most recent call last):\n  File "fire.py", line 3, in <module>\n    fire()\nKilnError: too hot to open',
    "KilnError: too hot to open",
  ],
  [
    "ls kilns; ls ovens",
    "oven1\nls: cannot access 'kilns': No such file or directory",
    "ls: cannot access 'kilns'",
  ],
]

test.each(TOLD)(
  "%s: what a restore tells as an error is found as a failure, and counts as none",
  (command, output, error) => {
    using archive = new Archive()
    const again = bash(command, "all is well")
    archive.follow(
      archive
        .session("s1")
        .turn("Do it", [bash(command, output), bash("true", ""), again])
        .flush(),
    )
    const { db, dataHome } = archive
    expect(turnsOfSession(db, "s1")[0]).toMatchObject({ tools: 3, errors: 0 })
    expect(archive.count("facts WHERE kind = 'error' AND text LIKE ?", `${error}%`)).toBe(1)
    const word = error.match(/\w{5,}/g)!.at(-1)!
    const found = bestMessages(db, word, { error: true }, 10)
    expect(found).toHaveLength(1)
    using readers = new CopyReaders()
    const [[fix, whole] = []] = fixesFor(db, found, new WholeCalls(db, dataHome, readers))
    // The same command, once it says nothing of an error, is what solved it.
    expect(fix).toMatchObject({
      target: command,
      solvedIn: fix!.handle,
      steps: [{ target: "true", failed: false }],
    })
    expect(fix!.error).toStartWith(error)
    expect(whole!().error).toContain(error)
  },
)

test("a command that shows what others wrote tells of no failure of its own", () => {
  using archive = new Archive()
  const steps = TOLD.map(([, output]) => bash("cat deploy.log", output))
  archive.follow(archive.session("s1").turn("Do it", steps).flush())
  expect(archive.count("tool_calls WHERE error IS NOT NULL")).toBe(0)
  expect(bestMessages(archive.db, "cannot", { error: true }, 10)).toEqual([])
})

test("it is found as a failure again when its turn comes back into the index", () => {
  using archive = new Archive()
  const [[command, output]] = TOLD as [(typeof TOLD)[0]]
  archive.follow(
    archive
      .session("s1")
      .turn("Do it", [bash(command, output)])
      .flush(),
  )
  const before = bestMessages(archive.db, "rebase", { error: true }, 10)
  const turns = archive.db
    .query<{ id: number }, []>("SELECT id FROM turns")
    .all()
    .map(({ id }) => id)
  chill(archive.db, turns)
  expect(bestMessages(archive.db, "rebase", { error: true }, 10)).toEqual([])
  using readers = new CopyReaders()
  expect(warm(archive.db, archive.dataHome, turns, readers)).toEqual([])
  expect(bestMessages(archive.db, "rebase", { error: true }, 10)).toEqual(before)
})

test("a whole output kept beside the transcript is found as a failure only if its call failed, also after it was cold", () => {
  for (const isError of [false, true]) {
    using archive = new Archive()
    const session = archive.session("s1")
    const path = join(session.path.replace(/\.jsonl$/, ""), "tool-results", "b1.txt")
    const told =
      'Traceback (most recent call last):\n  File "/app/run.py", line 3, in <module>\nValueError: no walrus'
    const output = `<persisted-output>\nOutput too large (61.2KB). Full output saved to: ${path}\n\nPreview (first 2KB):\n${told}\n...\n</persisted-output>`
    archive.follow(session.turn("Run it", [bash("python run.py; date", output, isError)]).flush())
    expect(archive.count(`tool_calls WHERE is_error = ${Number(isError)} AND error IS NOT NULL`)).toBe(1)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, `${told}\nthe falcon is fine\n`)
    archive.follow({ path } as typeof session)
    const failures = () => bestMessages(archive.db, "falcon", { error: true }, 10).length
    expect(failures()).toBe(Number(isError))
    expectSameWordsAgain(archive.db, archive.dataHome)
    expect(failures()).toBe(Number(isError))
  }
})
