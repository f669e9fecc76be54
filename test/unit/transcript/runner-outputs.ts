/** What programs that test, check and build print, made up but in their own forms. */

export interface RunnerOutput {
  readonly command: string
  readonly fails: readonly string[]
  readonly passes: readonly string[]
  /** First lines of the first failing output that tell; by default those of the end tell, and those with the words. */
  readonly head?: number
  /** Whether the end of a failing output says nothing. */
  readonly isEndSilent?: true
}

export const RUNNER_OUTPUTS: readonly RunnerOutput[] = [
  {
    command: "go test ./...",
    fails: [
      `--- FAIL: TestBasketTotal (0.00s)
    --- FAIL: TestBasketTotal/rounds_up (0.00s)
        basket_test.go:31: got 10.9, want 11
FAIL
FAIL\texample.com/shop/basket\t0.214s
ok  \texample.com/shop/stock\t0.103s
FAIL`,
      `# example.com/shop/basket [example.com/shop/basket.test]
./basket_test.go:12:9: undefined: NewBasket
FAIL\texample.com/shop/basket [build failed]
ok  \texample.com/shop/stock\t(cached)
FAIL`,
      `=== RUN   TestPanics
--- FAIL: TestPanics (0.00s)
panic: runtime error: index out of range [3] with length 3 [recovered]

goroutine 7 [running]:
testing.tRunner.func1.2({0x1, 0x2})
FAIL\texample.com/shop/basket\t0.010s
FAIL`,
    ],
    passes: [
      `=== RUN   TestHandlesError
    basket_test.go:12: failed as it should: error: no such basket
--- PASS: TestHandlesError (0.00s)
=== RUN   TestFAILIsShown
--- PASS: TestFAILIsShown (0.00s)
PASS
ok  \texample.com/shop/basket\t0.214s
?   \texample.com/shop/failures\t[no test files]`,
      "ok  \texample.com/shop/errors\t(cached) [no tests to run]",
    ],
    head: 1,
  },
  {
    command: "go build ./...",
    fails: [
      `# example.com/shop/basket
basket/basket.go:14:2: undefined: total
basket/basket.go:20:11: too many errors`,
    ],
    passes: ["", "go: downloading example.com/errors v1.2.0"],
    head: 2,
    isEndSilent: true,
  },
  {
    command: "go vet ./...",
    fails: ["# example.com/shop/basket\nvet: basket/basket.go:14:2: undefined: total"],
    passes: [""],
  },
  {
    command: "golangci-lint run",
    fails: [
      `basket/basket.go:14:9: Error return value of \`f.Close\` is not checked (errcheck)
\tf.Close()
\t       ^
1 issues:
* errcheck: 1`,
    ],
    passes: ["0 issues."],
    head: 1,
  },
  {
    command: "cargo test",
    fails: [
      `running 2 tests
test basket::tests::adds ... ok
test basket::tests::rounds ... FAILED

failures:

---- basket::tests::rounds stdout ----
thread 'basket::tests::rounds' panicked at src/basket.rs:31:9:
assertion \`left == right\` failed

failures:
    basket::tests::rounds

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

error: test failed, to rerun pass \`--lib\``,
    ],
    passes: [
      `warning: unused variable: \`error\`
running 2 tests
test basket::tests::failed_payment_is_an_error ... ok
test basket::tests::panics - should panic ... ok

test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s`,
    ],
    head: 3,
  },
  {
    command: "cargo build --release",
    fails: [
      `   Compiling shop v0.1.0 (/work/shop)
error[E0308]: mismatched types
  --> src/basket.rs:14:5
error: could not compile \`shop\` (lib) due to 1 previous error`,
      "error: unused variable: `total`\n --> src/basket.rs:3:9",
    ],
    passes: [
      "   Compiling error-chain v0.12.4\n    Finished `release` profile [optimized] target(s) in 2.31s",
    ],
    head: 2,
  },
  {
    command: "npm test",
    fails: [
      `> shop@1.0.0 test
> jest

FAIL src/basket.test.ts
  ● basket › rounds up

    expect(received).toBe(expected)

Test Suites: 1 failed, 3 passed, 4 total
Tests:       1 failed, 11 passed, 12 total
Snapshots:   0 total
Time:        1.52 s`,
      `> shop@1.0.0 test
> tap

npm error Test failed.  See above for more details.`,
      `> shop@1.0.0 test
npm ERR! code ELIFECYCLE
npm ERR! errno 1`,
      `> shop@1.0.0 lint
npm error Lifecycle script \`lint\` failed with error:
npm error code 2`,
    ],
    passes: [
      `> shop@1.0.0 test
> jest

PASS src/failed-payment.test.ts
  ✓ handles error: 1 failed, 2 passed (3 ms)
npm warn deprecated request@2.88.2: request has been deprecated
Tests:       12 passed, 12 total
Test Suites: 4 passed, 4 total`,
      "found 0 vulnerabilities",
    ],
    head: 4,
  },
  {
    command: "npx jest src",
    fails: [
      `FAIL unit src/basket.test.ts (5.2 s)
  ● rounds up
Jest: "global" coverage threshold for lines (80%) not met: 61.2%
Tests:       2 failed, 1 skipped, 3 passed, 6 total`,
    ],
    passes: [
      `PASS src/basket.test.ts
  basket
    ✓ shows FAIL when the payment failed (2 ms)
Tests:       1 skipped, 3 passed, 4 total`,
    ],
    head: 1,
  },
  {
    command: "pnpm vitest run",
    fails: [
      ` ❯ src/basket.test.ts (3 tests | 1 failed) 12ms
   × basket > rounds up 6ms

⎯⎯⎯⎯⎯⎯⎯ Failed Tests 1 ⎯⎯⎯⎯⎯⎯⎯

 FAIL  src/basket.test.ts > basket > rounds up
AssertionError: expected 10.9 to be 11

 Test Files  1 failed | 2 passed (3)
      Tests  1 failed | 9 passed (10)
   Duration  512ms`,
      " ❯ src/basket.test.ts (3 tests | 1 failed) 12ms",
    ],
    passes: [
      ` ✓ src/errors.test.ts (3 tests) 12ms
   ✓ errors > tells that 1 failed 1ms

 Test Files  3 passed (3)
      Tests  10 passed | 1 skipped (11)
   Duration  512ms`,
    ],
  },
  {
    command: "npx mocha",
    fails: [
      `  basket
    ✔ adds
    1) rounds up

  1 passing (12ms)
  1 failing

  1) basket rounds up:
     AssertionError: expected 10.9 to equal 11`,
    ],
    passes: ["  basket\n    ✔ reports 3 failing payments\n\n  2 passing (12ms)\n  1 pending"],
  },
  {
    command: "node --test",
    fails: ["✖ rounds up (1.2ms)\nℹ tests 3\nℹ suites 0\nℹ pass 2\nℹ fail 1\nℹ cancelled 0"],
    passes: [
      "✔ fails (1.2ms)\nℹ tests 3\nℹ suites 0\nℹ pass 3\nℹ fail 0\nok 1 - not ok\nnot ok 2 - later # TODO",
    ],
  },
  {
    command: "bun test",
    fails: [
      "basket.test.ts:\n(pass) adds [0.1ms]\n(fail) rounds up [0.2ms]\n\n 1 pass\n 1 fail\n 2 expect() calls",
    ],
    passes: ["basket.test.ts:\n(pass) can fail [0.1ms]\n\n 2 pass\n 0 fail\n 2 expect() calls"],
  },
  {
    command: "pnpm run build",
    fails: [
      '> shop@1.0.0 build\n> vite build\nerror during build:\nCould not resolve "./basket" from "src/main.ts"\n ELIFECYCLE  Command failed with exit code 1.',
      " ERR_PNPM_NO_SCRIPT  Missing script: build",
    ],
    passes: ["> shop@1.0.0 build\n> vite build\ndist/assets/error-page-Bx12.js  4.1 kB\n✓ built in 812ms"],
    head: 3,
  },
  {
    command: "yarn lint",
    fails: [
      "/work/shop/src/basket.ts\n  3:7  error  'total' is never reassigned  prefer-const\n\n✖ 1 problem (1 error, 0 warnings)\n\nerror Command failed with exit code 1.",
    ],
    passes: [
      "/work/shop/src/basket.ts\n  3:7  warning  Unexpected error name  id-match\n\n✖ 1 problem (0 errors, 1 warning)\n\nDone in 0.52s.",
    ],
    head: 2,
  },
  {
    command: "python -m pytest -q",
    fails: [
      `..F                                                                      [100%]
=================================== FAILURES ===================================
____________________________ test_rounds_up ____________________________________
E       assert 10.9 == 11
=========================== short test summary info ============================
FAILED tests/test_basket.py::test_rounds_up - assert 10.9 == 11
1 failed, 2 passed in 0.12s`,
      "ERROR tests/test_basket.py - ImportError: no module named shop\n!!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!\n=============================== 1 error in 0.10s ===============================",
      "tests/test_basket.py::test_rounds_up FAILED                              [ 50%]",
    ],
    passes: [
      `tests/test_basket.py::test_error_when_failed PASSED                        [ 50%]
tests/test_basket.py::test_known XFAIL                                     [100%]
ERROR    root:basket.py:12 payment failed
======================== 1 passed, 1 xfailed, 1 warning in 0.12s ========================`,
      "3 passed in 0.02s",
    ],
  },
  {
    command: "uv run mypy src",
    fails: [
      'src/basket.py:14: error: Argument 1 has incompatible type "str"  [arg-type]\nFound 1 error in 1 file (checked 12 source files)',
    ],
    passes: [
      "src/basket.py:14: note: By default errors are hidden\nSuccess: no issues found in 12 source files",
    ],
    head: 1,
  },
  {
    command: "uv run --group dev ruff check .",
    fails: [
      "F401 [*] `os` imported but unused\n --> src/basket.py:1:8\n\nFound 1 error.\n[*] 1 fixable with the `--fix` option.",
      "src/basket.py:1:8: F401 [*] `os` imported but unused",
    ],
    passes: ["All checks passed!", "Found 3 errors (3 fixed, 0 remaining)."],
  },
  {
    command: "npx tsc --noEmit",
    fails: [
      "src/basket.ts(14,5): error TS2322: Type 'string' is not assignable to type 'number'.\nsrc/main.ts(2,1): error TS2304: Cannot find name 'total'.",
      "src/basket.ts:14:5 - error TS2322: Type 'string' is not assignable.\n\n14     total = ''\n       ~~~~~\n\nFound 1 error in src/basket.ts:14",
    ],
    passes: ["", "Found 0 errors. Watching for file changes."],
    head: 1,
  },
  {
    command: "npx eslint src",
    fails: [
      "/work/shop/src/basket.ts\n  3:7  error  'total' is never reassigned  prefer-const\n\n✖ 4 problems (1 error, 3 warnings)",
    ],
    passes: [
      "/work/shop/src/basket.ts\n  3:7  warning  'error' is never used  no-unused-vars\n\n✖ 1 problem (0 errors, 1 warning)",
    ],
  },
  {
    command: "npx @biomejs/biome check .",
    fails: [
      "src/basket.ts:3:7 lint/style/useConst ━━━━━━━━━━\n\n  × This let is never reassigned.\n\nChecked 12 files in 8ms. No fixes applied.\nFound 1 error.\ncheck ━━━━━━━━━━\n\n  × Some errors were emitted while running checks.",
    ],
    passes: ["Checked 12 files in 8ms. No fixes applied.\nFound 2 warnings."],
  },
  {
    command: "prettier --check .",
    fails: [
      "Checking formatting...\n[warn] src/basket.ts\n[warn] Code style issues found in the above file. Run Prettier with --write to fix.",
    ],
    passes: ["Checking formatting...\nAll matched files use Prettier code style!"],
  },
  {
    command: "make test",
    fails: [
      "cc -c basket.c\nbasket.c:3:5: error: unknown type name 'totl'\nmake[1]: *** [Makefile:4: basket.o] Error 1\nmake: *** [Makefile:2: test] Error 2",
    ],
    passes: ["cc -c errors.c\nmake: [Makefile:9: clean] Error 1 (ignored)\n0 failed, 12 passed"],
  },
  {
    command: "./gradlew test",
    fails: [
      "> Task :app:test FAILED\n\nBasketTest > roundsUp FAILED\n    org.opentest4j.AssertionFailedError at BasketTest.java:31\n\n12 tests completed, 1 failed\n\nFAILURE: Build failed with an exception.\n\nBUILD FAILED in 4s\n3 actionable tasks: 3 executed",
      "e: file:///work/shop/Basket.kt:3:5 Unresolved reference: totl",
    ],
    passes: ["> Task :app:test\nBasketTest > failedPaymentIsAnError PASSED\n\nBUILD SUCCESSFUL in 4s"],
    head: 1,
  },
  {
    command: "mvn -q test",
    fails: [
      "[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0\n[INFO] BUILD FAILURE\n[INFO] Total time:  2.1 s\n[ERROR] Failed to execute goal org.apache.maven.plugins:maven-surefire-plugin:3.2.5:test (default-test) on project shop",
      "[ERROR] /work/shop/Basket.java:[14,5] cannot find symbol\n[ERROR] Tests run: 3, Failures: 0, Errors: 2, Skipped: 0",
    ],
    passes: [
      "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0\n[ERROR] logged by a test that passes\n[INFO] BUILD SUCCESS",
    ],
  },
  {
    command: "dotnet test",
    fails: [
      "[xUnit.net 00:00:01.50]     Shop.Tests.BasketTests.Rounds_up [FAIL]\n  Failed Shop.Tests.BasketTests.Rounds_up [3 ms]\nFailed!  - Failed:     1, Passed:    11, Skipped:     0, Total:    12, Duration: 62 ms - Shop.Tests.dll (net9.0)",
      "Fehlgeschlagen!  - Fehler:     1, Erfolgreich:    11, Übersprungen:     0, Gesamt:    12, Dauer: 62 ms",
      "/work/shop/Basket.cs(14,5): error CS0103: The name 'totl' does not exist in the current context [/work/shop/Shop.csproj]\nBuild FAILED.\n    0 Warning(s)\n    1 Error(s)",
    ],
    passes: [
      "Passed!  - Failed:     0, Passed:    12, Skipped:     0, Total:    12, Duration: 62 ms - Shop.Tests.dll (net9.0)",
      "Bestanden!  - Fehler:     0, erfolgreich:    12, übersprungen:     0, gesamt:    12, Dauer: 62 ms",
      "Build succeeded.\n    0 Warning(s)\n    0 Error(s)",
    ],
    head: 1,
  },
  {
    command: "bundle exec rspec",
    fails: [
      "Failures:\n\n  1) Basket rounds up\n     Failure/Error: expect(total).to eq 11\n\nFinished in 0.02 seconds\n12 examples, 1 failure\n\nFailed examples:\n\nrspec ./spec/basket_spec.rb:31 # Basket rounds up",
    ],
    passes: ["Basket\n  tells of 1 failure\n\nFinished in 0.02 seconds\n12 examples, 0 failures, 1 pending"],
  },
  {
    command: "bin/rails test",
    fails: [
      "Failure:\nBasketTest#test_rounds_up [test/basket_test.rb:31]:\n\n12 runs, 14 assertions, 1 failures, 0 errors, 0 skips",
    ],
    passes: ["12 runs, 14 assertions, 0 failures, 0 errors, 1 skips"],
  },
  {
    command: "vendor/bin/phpunit",
    fails: [
      "1) BasketTest::testRoundsUp\nFailed asserting that 10.9 matches expected 11.\n\nFAILURES!\nTests: 12, Assertions: 14, Failures: 1.",
      "There was 1 failure:\n\n1) BasketTest::testRoundsUp",
    ],
    passes: [
      "............                                                      12 / 12 (100%)\n\nOK (12 tests, 14 assertions)",
    ],
  },
  {
    command: "docker build -t shop .",
    fails: [
      '#9 [4/5] RUN make\n#9 ERROR: process "/bin/sh -c make" did not complete successfully: exit code: 2\n------\nERROR: failed to solve: process "/bin/sh -c make" did not complete successfully: exit code: 2',
    ],
    passes: [
      "#9 [4/5] RUN ./failed-jobs.sh\n#9 0.312 error: ignored\n#9 DONE 0.4s\n#11 naming to docker.io/library/shop done",
    ],
  },
  {
    command: "terraform -chdir=infra plan",
    fails: ['╷\n│ Error: Unsupported argument\n│ \n│   on main.tf line 4, in resource "x" "y":'],
    passes: [
      '  # error_page will be created\n  + Error: "404"\n\nPlan: 1 to add, 0 to change, 0 to destroy.',
    ],
    head: 2,
    isEndSilent: true,
  },
  {
    command: "swift test",
    fails: ["/work/shop/Basket.swift:14:5: error: cannot find 'totl' in scope\nerror: fatalError"],
    passes: [
      "Test Suite 'ErrorTests' passed at 2026-01-01 10:00:00.000.\nExecuted 12 tests, with 0 failures (0 unexpected) in 0.1 (0.1) seconds",
    ],
    head: 1,
  },
  {
    command: "mix test",
    fails: [
      "  1) test rounds up (BasketTest)\n     Assertion with == failed\n\nFinished in 0.03 seconds\n12 tests, 1 failure",
    ],
    passes: ["Finished in 0.03 seconds\n1 doctest, 12 tests, 0 failures"],
  },
  {
    command: "mise run test:ci",
    fails: [
      "[test:ci] $ go test ./...\n[test:ci] FAIL\texample.com/shop/basket\t0.2s\n[test:ci] ERROR task failed",
      "[lint] \u001b[31mERROR\u001b[0m task failed",
    ],
    passes: ["[test:ci] $ go test ./...\n[test:ci] ok  \texample.com/shop/failures\t0.2s\nFinished in 4.03s"],
  },
  {
    command: "pre-commit run --all-files",
    fails: [
      "ruff.....................................................................Failed\n- hook id: ruff\n- exit code: 1",
    ],
    passes: ["fail on errors...........................................................Passed"],
  },
]
