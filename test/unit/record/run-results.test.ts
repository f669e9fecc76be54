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

  test.each([
    "mvn verify -DskipTests",
    "cargo test --no-run",
    "cargo nextest list",
    "go test -c ./x",
    "go test -list . ./...",
    "go build -n ./...",
    "npx jest --listTests",
    "pytest --co -q",
    "ctest -N",
    "make -n test",
    "make -C app -Bq build",
    "tsc --showConfig",
    "eslint --print-config a.js",
    "npm run lint:tests",
    "npm run build:test",
    "npm run install:e2e",
    "npm run test:watch",
    "exit 0; npm test",
    "exit 1\nnpm test",
  ])("%s runs nothing of which it would be a result", (script) => expect(told(script, "")).toEqual([]))

  test.each([
    ["./gradlew build -x test", "build passed"],
    ["gradle assemble -x check", "build passed"],
    ["gradle :app:test -x lint", "tests passed"],
    ["npx jest -t 'shows --help'", "tests passed"],
    ["pytest -n 4", "tests passed"],
    ["npx jest --watch=false", "tests passed"],
    ["just test-n", "tests passed"],
    ["npm run check:lint", "lint passed"],
    ["npm run test:ci", "tests passed"],
    ["npm run check-types", "type check passed"],
    ["npm run test:e2e", "tests passed"],
    ["cd app || exit; npm test", "tests passed"],
    ["cd app || exit 1; npm test", "tests passed"],
    // What comes after may not have been run.
    ["[ -d app ] && exit 0\nnpm test", "tests ?"],
    ["if [ -d app ]; then\nexit\nfi\nnpm test", "tests ?"],
    ["(exit 0)\nnpm test", "tests ?"],
    ["npm test; exit 0", "tests ?"],
  ])("%s: %s", (script, result) => expect(told(script, "")).toEqual([result]))

  test.each([
    "Exit code 1\nbash: line 1: cd: missing: No such file or directory",
    "Exit code 1\n(eval):cd:1: no such file or directory: missing",
    "Exit code 2\nsh: 1: cd: can't cd to missing",
  ])("where its folder is missing, nothing was run: %s", (output) => {
    expect(told("cd missing && npm test", output, true)).toEqual(["tests ?"])
    expect(told("cd missing && npm run lint && npm test", output, true)).toEqual(["lint ?", "tests ?"])
  })

  test("of a long output, its end is read", () => {
    const long = "a line of a log\n".repeat(4000)
    expect(told("pytest | tee log", `${long}3 passed in 1.00s`)).toEqual([
      'tests passed {"passed":3,"failed":0}',
    ])
    expect(told("pytest | tee log", `3 passed in 1.00s\n${long}`)).toEqual(["tests ?"])
    // There may be more of them before.
    expect(told("cargo test", `${long}test result: ok. 3 passed; 0 failed; 0`)).toEqual(["tests passed"])
    // Half a line tells nothing.
    expect(told("pytest | tee log", `${"x ".repeat(20_000)}1 passed in 1.00s`)).toEqual(["tests ?"])
    expect(told("git push", `Everything up-to-date\n${long}`)).toEqual([])
  })

  test("of a long script, nothing is told", () => {
    const document = `cat > a <<'EOF'\n${"text\n".repeat(2000)}EOF\nnpm test`
    expect(told(document, "")).toEqual(["tests passed"])
    expect(told(`npm test ${"a ".repeat(2100)}`, "")).toEqual([])
    expect(told(`${"a;".repeat(300)}npm test`, "")).toEqual([])
    expect(mostResults(`npm test ${"a ".repeat(2100)}`)).toBe(0)
  })

  test.each([
    ["npm run build", `${"\n".repeat(60_000)}x`],
    ["npm run lint", `${"\n".repeat(60_000)}x`],
    ["npm test", "1 passed, ".repeat(12_000)],
    ["npm test", `Tests: 1 passed${"1".repeat(32_000)}`],
    ["dotnet test", "x! - a\n".repeat(8000)],
    [`git push ${'\\"'.repeat(20_000)}`, ""],
    ["a;".repeat(20_000), ""],
    ["git ".repeat(20_000), ""],
    ["(".repeat(4000), ""],
    [`go${" test".repeat(800)}`, ""],
  ])("what looks like much takes no longer", (script, output) => {
    const start = performance.now()
    resultsOf(script, { isError: false, output })
    mostResults(script)
    expect(performance.now() - start).toBeLessThan(300)
  })
})

const EXISTS =
  'Exit code 1\na pull request for branch "x" into branch "main" already exists:\nhttps://example.com/o/r/pull/7'

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
    ["gh pr create --fill", EXISTS, true, []],
    ["gh pr create --fill | tee log", EXISTS, false, []],
    ["git commit -m a && gh pr create --fill", EXISTS, true, []],
    [
      "glab mr create --fill | cat",
      "Another open merge request already exists\nhttps://example.com/o/r/-/merge_requests/7",
      false,
      [],
    ],
    // What it prints may be older than its failure.
    ["cd app && gh pr create --fill", "Exit code 1\nhttps://example.com/o/r/pull/7", true, []],
    [
      "gh pr create --fill && ./notify",
      "Exit code 1\nhttps://example.com/o/r/pull/7",
      true,
      ["PR #7 opened"],
    ],
    ["exit 0\ngit push", "", false, []],
    ...[
      "git commit --help",
      "git push -h",
      "git merge --help",
      "gh pr create --help",
      "npm publish --help",
    ].map((script): [string, string, boolean, string[]] => [script, "", false, []]),
    ["cargo publish --list", "", false, []],
    ["git commit -m 'tell --help and -h'", "", false, ["committed"]],
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
