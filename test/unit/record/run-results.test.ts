import { describe, expect, test } from "bun:test"
import { lastWordsIn } from "../../../src/record/noted-sentences.ts"
import { mostResults, resultsOf } from "../../../src/record/run-results.ts"

/** What is told of a script: `tests passed {"passed":3}`. */
const told = (script: string, output: string | undefined, isError = false): string[] =>
  resultsOf(script, { isError, output }).map(({ names, text, ending, counts }) =>
    ending === "done"
      ? text
      : [names.join("|"), ending ?? "?", JSON.stringify(counts)].filter((word) => word !== "{}").join(" "),
  )

describe("what came out of a run", () => {
  test.each<[script: string, output: string, result: string]>([
    [
      "npm test",
      "Tests:       1 failed, 2 skipped, 41 passed, 44 total",
      'tests failed {"passed":41,"failed":1}',
    ],
    ["npx vitest run", "      Tests  42 passed (42)", 'tests passed {"passed":42,"failed":0}'],
    [
      "pytest -q | tail -3",
      "3 failed, 42 passed, 1 xfailed in 1.20s",
      'tests failed {"passed":42,"failed":3}',
    ],
    ["bun test", " 42 pass\n 1 skip\n 0 fail\nRan 43 tests", 'tests passed {"passed":42,"failed":0}'],
    ["node --test", "ℹ pass 7\nℹ fail 2", 'tests failed {"passed":7,"failed":2}'],
    ["npx mocha", "  12 passing (30ms)\n  1 failing\n", 'tests failed {"passed":12,"failed":1}'],
    [
      "cargo test",
      "test result: ok. 3 passed; 0 failed; 0\ntest result: ok. 4 passed; 0 failed; 0",
      'tests passed {"passed":7,"failed":0}',
    ],
    [
      "go test ./...",
      "ok  \tp/a\t0.1s\nok  \tp/b\t(cached)\n?   \tp/c\t[no test files]",
      'tests passed {"packages":2}',
    ],
    [
      "mise run test",
      "[test] $ go test ./...\n[test] ok  \tp/a\t1s\n[test] ok  \tp/b\t1s",
      'tests passed {"packages":2}',
    ],
    [
      "go test -v ./a",
      "--- PASS: TestA (0.00s)\n--- PASS: TestB (0.00s)\nok  \tp/a\t0.1s",
      'tests passed {"passed":2,"failed":0}',
    ],
    [
      "dotnet test",
      "Passed!  - Failed:     0, Passed:   321, Skipped:     0, Total:   321, Duration: 1 s",
      'tests passed {"passed":321,"failed":0}',
    ],
    ["bundle exec rspec", "42 examples, 2 failures", 'tests failed {"passed":40,"failed":2}'],
    [
      "python -m unittest",
      "Ran 5 tests in 0.01s\n\nFAILED (failures=1, errors=1)",
      'tests failed {"passed":3,"failed":2}',
    ],
    ["ctest", "90% tests passed, 1 tests failed out of 10", 'tests failed {"passed":9,"failed":1}'],
    ["cd app && npx tsc --noEmit", "", "type check passed"],
    ["yarn build", "", "build passed"],
    ["make lint", "", "lint passed"],
    ["npx prettier --check . | tail -1", "All matched files use Prettier code style!", "format check passed"],
    ["mise run lint | tail -5", "[lint] 0 issues.", "lint passed"],
    ["mise run lint | head -50", "[lint] 0 issues.", "lint passed"],
  ])("%s", (script, output, result) => expect(told(script, output)).toEqual([result]))

  test.each<[script: string, output: string, result: string]>([
    [
      "npx tsc --noEmit",
      "Exit code 2\nFound 3 errors in 2 files.",
      'type check failed {"problems":"3 errors"}',
    ],
    ["npx eslint .", "Exit code 1\n✖ 5 problems (1 error, 4 warnings)", 'lint failed {"problems":"1 error"}'],
    ["golangci-lint run", "Exit code 1\n2 issues:\n* errcheck: 2", 'lint failed {"problems":"2 issues"}'],
    [
      "cargo build",
      "Exit code 101\nerror: could not compile `a` (bin) due to 2 previous errors",
      'build failed {"problems":"2 errors"}',
    ],
    ["go test ./...", "Exit code 1\n--- FAIL: TestA (0.00s)\nFAIL\tp/a\t0.1s", 'tests failed {"failed":1}'],
    ["timeout 60 npm test", "Exit code 124", "tests stopped"],
    ["npm test", "Command timed out after 2m 0s", "tests stopped"],
    ["npm run lint && npm test", "Exit code 1\nno words", "lint|tests failed"],
    // The tests alone can have printed that.
    ["npm run lint && npm test", "Exit code 1\nTests:       1 failed, 2 passed, 3 total", "lint ?"],
  ])("%s, failed", (script, output, result) => expect(told(script, output, true)[0]).toEqual(result))

  test("an ending that nothing tells is not called a success", () => {
    const unknown = (script: string, output: string | undefined, isError = false) =>
      expect([script, told(script, output, isError).join()]).toEqual([script, "tests ?"])
    unknown("npm test | tail -5", "some lines")
    unknown("npm test | tail -5", undefined)
    unknown("npm test; echo done", "done")
    unknown("npm test || true", "")
    unknown("! npm test", "")
    unknown("[ -d app ] || npm test", "")
    unknown("if [ -d app ]; then npm test; fi", "")
    unknown("npm test & sleep 1", "")
    unknown("npm test", "Command running in background with ID: b1")
    unknown("cat old.log; npm test | tail -3", "Tests:       3 passed, 3 total")
    unknown("go test ./... | grep ok", "ok  \tp/a\t0.1s")
    // Something else may have failed.
    unknown("npm ci && npm test", "Exit code 1\nnpm error code E404", true)
    unknown("./deploy && npm test", "Exit code 1", true)
  })

  test("of a part of the output, nothing is counted that may be in the rest as well", () => {
    expect(told("cargo test | tail -2", "test result: ok. 0 passed; 0 failed; 0")).toEqual(["tests ?"])
    expect(told("go test ./... | tail -1", "ok  \tp/b\t0.1s\nok  \tp/c\t0.1s")).toEqual(["tests passed"])
    expect(told("pytest && pytest slow", "2 passed in 1.00s\n3 passed in 1.00s")).toEqual([
      "tests passed",
      "tests passed",
    ])
  })

  test("what only names a runner is no run", () => {
    for (const script of ["npm install", "npx jest --help", "echo npm test", "cat tests/a.ts", "npm run dev"])
      expect([script, told(script, "")]).toEqual([script, []])
  })
})

describe("what was done", () => {
  test.each<[script: string, output: string, isError: boolean, done: string[]]>([
    ["git add -A && git commit -m 'a; b' && git push", "", false, ["committed", "pushed"]],
    ["git commit -m a && git push", "Exit code 1\n[main 1234567] a\n ! [rejected]", true, ["committed"]],
    ["git push 2>&1 | tail -3", "To x\n   1234567..89abcde  main -> main", false, ["pushed"]],
    ["git push | tail -3", "error: failed to push some refs", false, []],
    ["git push", "Everything up-to-date", false, []],
    ["git push --dry-run", "", false, []],
    ["git commit -m a", "Exit code 1\nnothing to commit", true, []],
    ["git commit -m 'with --dry-run'", "[main 1234567] a", false, ["committed"]],
    ["git merge --abort", "", false, []],
    ["git merge topic", "Fast-forward", false, ["merged"]],
    ["gh pr create --draft --title a", "https://example.com/o/r/pull/12", false, ["draft PR #12 opened"]],
    ["gh pr create --title a", "", false, ["PR opened"]],
    ["gh pr merge 12 --squash", "", false, ["PR #12 merged"]],
    ["gh pr merge 12 --auto", "", false, []],
    ["npm publish", "+ kiln@1.0.0", false, ["published"]],
    ["gh release create v1", "https://example.com/o/r/releases/tag/v1", false, ["released"]],
    ["git log | grep commit", "[main 1234567] a", false, []],
  ])("%s", (script, output, isError, done) => expect(told(script, output, isError)).toEqual(done))

  test("in the script's order", () => {
    const script = "npm test && git commit -F - <<'EOF' && npm run build\nnpm publish\nEOF"
    expect(told(script, "")).toEqual(["tests passed", "committed", "build passed"])
  })

  test("a line may have results if it names a program, not a file of its name", () => {
    expect(
      ["cd a git commit -m b", "GH_REPO=a gh pr create", "(cd a; pytest)", "./gradlew test"].filter(
        mostResults,
      ),
    ).toHaveLength(4)
    expect(
      ["grep -r x src --include=*.go", "cat main.go", "git log -3", "ls"].filter(
        (line) => mostResults(line) > 0,
      ),
    ).toEqual([])
  })
})

describe("how an answer ends", () => {
  test.each([
    ["Done! The cache is written at exit.\n\n- a list", "The cache is written at exit."],
    [
      "## Summary\n\nPerfect!\n\nHere's what changed:\n\n- **Cache**: written at exit",
      "Cache: written at exit",
    ],
    ["Added the option to both calls:\n- one\n- two", "Added the option to both calls"],
    ["```\ncode that says nothing.\n```\nPushed. The branch is in sync.", "Pushed. The branch is in sync."],
    ["All tests pass. Let me know if you want more.", "All tests pass."],
  ])("%s", (answer, conclusion) =>
    expect(lastWordsIn(answer, true)).toEqual({ text: conclusion, isQuestion: false }),
  )

  test("a plan is no conclusion, and a question waits only at the end", () => {
    expect(lastWordsIn("I have all I need. Let me write the plan now.", true)).toBeUndefined()
    expect(lastWordsIn("Perfect! 🎉", true)).toBeUndefined()
    const answer = "It works now.\n\n**Shall I push it?**"
    expect(lastWordsIn(answer, true)).toEqual({ text: "Shall I push it?", isQuestion: true })
    expect(lastWordsIn(answer, false)).toEqual({ text: "It works now.", isQuestion: false })
    expect(lastWordsIn("Shall I push it?", false)).toBeUndefined()
  })
})
