import { describe, expect, test } from "bun:test"
import { hiddenRuns, saysFailed } from "../../../src/record/failed-runs.ts"
import { RUNNER_OUTPUTS } from "../../fixtures/runner-outputs.ts"

const failed = (script: string, output: string): boolean => saysFailed(hiddenRuns(script), output)
const isHidden = (script: string): boolean => hiddenRuns(script) !== undefined

const tail = (text: string, lines: number): string => text.split("\n").slice(-lines).join("\n")
const head = (text: string, lines: number): string => text.split("\n").slice(0, lines).join("\n")
const grep = (text: string, pattern: RegExp): string =>
  text
    .split("\n")
    .filter((line) => pattern.test(line))
    .join("\n")

const WORDS = /fail|error|ERR|✖|✘|\*\*\*|issues/i

describe.each(RUNNER_OUTPUTS.map((one) => [one.command, one] as const))("%s", (command, runner) => {
  test("failures are told by the whole output, its end and its telling lines", () => {
    for (const output of runner.fails) {
      expect([output, failed(`${command} 2>&1 | cat`, output)]).toEqual([output, true])
      const telling = grep(output, WORDS)
      if (telling !== "")
        expect([telling, failed(`${command} 2>&1 | grep -iE 'fail|error'`, telling)]).toEqual([telling, true])
      if (!runner.isEndSilent) {
        const end = tail(output, 8)
        expect([end, failed(`cd shop && ${command} 2>&1 | tail -8`, end)]).toEqual([end, true])
      }
    }
    if (runner.head !== undefined) {
      const beginning = head(runner.fails[0]!, runner.head)
      expect([beginning, failed(`${command} 2>&1 | head -${runner.head}`, beginning)]).toEqual([
        beginning,
        true,
      ])
    }
  })

  test("success is never taken for a failure, however it is cut and whichever runner printed it", () => {
    for (const { passes } of RUNNER_OUTPUTS)
      for (const output of passes)
        for (const cut of [
          output,
          ...output.split("\n"),
          tail(output, 3),
          head(output, 3),
          grep(output, WORDS),
        ])
          expect([cut, failed(`${command} 2>&1 | tail`, cut)]).toEqual([cut, false])
  })
})

/** What tests print while they pass, if what they test has logs. */
const LOGS = [
  "Error: no such basket",
  "error: no such basket",
  "ERROR: failed to connect",
  "ERROR Failed to connect",
  "failed to build: no such basket",
  "Connecting.......Failed",
  "3 issues:",
  "Diff in basket.txt:",
  "FAIL",
  "FAILED",
  "2 errors found",
  "- exit code: 1",
  "basket.go:12:3: no such basket",
  "1 failed",
  "Tests: 12 passed, 0 failed, 12 total",
  "panic: recovered",
  "pip: command not found",
]

test.each(["npm test", "pnpm test", "yarn test", "make test", "mise run test", "just test"])(
  "%s runs programs that print what they like",
  (command) => {
    for (const line of LOGS)
      expect([line, failed(`pip -V; ${command} 2>&1 | tail`, `${line}\n12 passed`)]).toEqual([line, false])
  },
)

const FAILED = "FAIL\texample.com/shop\t0.1s"

describe("where the exit status tells nothing", () => {
  test.each([
    "go test ./... | tail -5",
    "go test ./... 2>&1 | grep -v ok | head",
    "go test ./... |& tail",
    "cd shop && go test ./... 2>&1 | tail",
    "(cd shop && go test ./... 2>&1) | tail",
    "go test ./... || true",
    "go test ./...; echo done",
    "go test ./...\necho done",
    "CGO_ENABLED=0 GOFLAGS='-mod=mod -v' timeout 60s /usr/local/go/bin/go test ./... 2>&1 | tee out.log | tail",
    "for n in 1 2 3; do go test -count=1 ./... 2>&1 | tail -3; done",
    "cat > basket_test.go <<'EOF'\nit's a test\nEOF\ngo test ./... 2>&1 | tail",
    'go test -run "A|B" ./... 2>/dev/null | tail -3',
    "time go test ./... 2>&1 | tail -3",
    "make test 2>&1 | tail",
  ])("%p", (script) => {
    expect(failed(script, FAILED)).toBe(true)
  })
})

describe("what is left to the host", () => {
  test.each([
    ["the status is that of the runner", "cd shop && go test ./..."],
    ["the status is that of the runner", "set -o pipefail; go test ./... | tail"],
    ["its output went to a file", "go test ./... > out.log 2>&1; echo done"],
    ["another log is shown", "go test ./... | tail -5; cat ci.log"],
    ["another log is shown", "grep FAIL ci.log"],
    ["another log is shown", "tail -100 ci.log; go test ./... | tail -3"],
    ["no runner", "echo 'go test ./... | tail'"],
    ["no runner", "git commit -m 'go test ./... | tail' | tail"],
    ["no runner", "which go | head -1"],
    ["the program is not a filter", "go test -json ./... | ./report"],
    ["a server", "npm run dev | head -20"],
    ["a quotation without an end", "go test ./... | grep 'x"],
  ])("%s: %p", (_, script) => {
    expect(isHidden(script)).toBe(false)
    expect(failed(script, FAILED)).toBe(false)
  })
})

test("what a script prints itself tells nothing of its runner", () => {
  const script = "go test ./... | grep -q nothing && echo PASS || echo FAIL"
  expect(isHidden(script)).toBe(true)
  expect(failed(script, "FAIL")).toBe(false)
  expect(failed(script, FAILED)).toBe(true)
})

test("a runner that the shell does not find has failed", () => {
  expect(failed("pytest -q 2>&1 | tail -3", "/bin/bash: line 1: pytest: command not found")).toBe(true)
  expect(failed("pytest -q 2>&1 | tail -3", "(eval):1: command not found: pytest")).toBe(true)
  expect(failed("pytest -q 2>&1 | tail -3", "helper: command not found\n3 passed in 0.1s")).toBe(false)
})

test("long outputs and scripts take no long time to tell", () => {
  const blank = "\n".repeat(200_000)
  const wide = "a".repeat(200_000)
  expect(failed("npm test | tail", blank + wide)).toBe(false)
  expect(failed("npm test | tail", `${blank}${wide}\n${FAILED}`)).toBe(true)
  expect(isHidden(`npm test | tail ${"x ".repeat(100_000)}`)).toBe(false)
  const starters = ["npm", "yarn", "uv run", "npx", "env", "timeout", "X=", "mise x", "node", "docker"]
  for (const many of ["--a ", "--a b ", "-a 1 ", "--a=b ", "X=1 ", "$aaaaaaaa", "a/", "a=b ", "'a' "])
    expect([many, starters.filter((first) => isHidden(`${first} ${many.repeat(600)}go | tail`))]).toEqual([
      many,
      ["yarn", "mise x"],
    ])
})
