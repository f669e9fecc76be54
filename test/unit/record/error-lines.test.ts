import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { errorLinesIn, exitStatusIn } from "../../../src/record/error-lines.ts"

/** Lines that name an error, as programs in many languages print them. */
const ERRORS = [
  // Compilers and linters
  "error[E0308]: mismatched types",
  'error: could not compile `ledger` (bin "ledger") due to 2 previous errors',
  "src/ledger.rs:14:9: error: unused variable: `sum`",
  "src/app.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.",
  "src/app.ts:3:5 - error TS2304: Cannot find name 'ledger'.",
  "Ledger.java:12: error: ';' expected",
  "Ledger.cs(8,17): error CS0103: The name 'sum' does not exist in the current context",
  "ledger.c:7:12: fatal error: ledger.h: No such file or directory",
  "ledger.go:9:2: undefined: Sum",
  "ledger.py:7: error: Incompatible return value type",
  "ld: undefined reference to `sum'",
  "[ERROR] /srv/Ledger.java:[3,5] cannot find symbol",
  "ERROR in ./src/app.ts 3:5",
  // Exceptions
  "TypeError: ledger.sum is not a function",
  "Uncaught ReferenceError: ledger is not defined",
  "billing.errors.LedgerError: balance is negative",
  "java.lang.IllegalStateException: ledger closed",
  "Caused by: java.net.ConnectException: Connection refused",
  'Exception in thread "main" java.lang.NullPointerException: Cannot invoke "Ledger.sum()"',
  "E   AssertionError: assert 3 == 4",
  "TypeError [ERR_INVALID_ARG_TYPE]: The path argument is wrong",
  "thread 'main' panicked at src/main.rs:4:5:",
  "panic: runtime error: index out of range [3] with length 3",
  "ledger.rb:4:in 'sum': undefined method 'each' for nil (NoMethodError)",
  "** (RuntimeError) ledger closed",
  "PHP Fatal error:  Uncaught Error: Call to undefined function sum()",
  "terminate called after throwing an instance of 'std::out_of_range'",
  // Tests
  "FAILED tests/test_ledger.py::test_sum - assert 3 == 4",
  "FAIL src/ledger.test.ts",
  "--- FAIL: TestSum (0.00s)",
  "(fail) ledger > adds up [0.4ms]",
  "not ok 3 - adds up",
  "test ledger::adds_up ... FAILED",
  "[runner 00:00:01.20]     Ledger.Tests.AddsUp [FAIL]",
  "● ledger › adds up",
  "✗ adds up",
  "✖ adds up (3 ms)",
  "❌ No release for this branch.",
  // Tools and the system
  "fatal: not a git repository (or any of the parent directories): .git",
  "error: pathspec 'mian' did not match any file(s) known to git",
  "CONFLICT (content): Merge conflict in src/ledger.ts",
  " ! [rejected]        main -> main (non-fast-forward)",
  "make: *** [Makefile:3: all] Error 2",
  "npm ERR! code ERESOLVE",
  "npm error 404 Not Found - GET the-package",
  "Error response from daemon: No such container: ledger",
  'Error from server (NotFound): pods "ledger" not found',
  "An error occurred (AccessDenied) when calling the PutObject operation: Access Denied",
  "curl: (6) Could not resolve host: ledger.invalid",
  "HTTP 404: Not Found (https://api.invalid/ledger)",
  "bash: line 3: ledgerctl: command not found",
  "sh: 1: ledgerctl: not found",
  "ls: cannot access 'ledger': No such file or directory",
  "grep: (standard input): Is a directory",
  "rm: cannot remove 'ledger': Permission denied",
  "tar: ledger.tar: Cannot open: No such file or directory",
  'ERROR:  relation "ledger" does not exist',
  "Failed to fetch ledger: timed out",
  "Could not find a version that satisfies the requirement ledger",
  "2026-01-02T03:04:05.678Z ERROR billing: ledger closed",
  "build\tTest\t2026-01-02T03:04:05.6789012Z error: ledger closed",
  "mise ERROR no version is set for ledger",
  // In other languages
  "bash: ledgerctl: Kommando nicht gefunden.",
  "ls: Zugriff auf 'ledger' nicht möglich: Datei oder Verzeichnis nicht gefunden",
  "Schwerwiegend: kein Git-Repository",
  "Fehler: Das Konto ist gesperrt",
  "bash: ledgerctl: orden no encontrada",
  "cat: cuenta: No existe el archivo o el directorio",
  "erreur : le compte est fermé",
  "cat: compte: Aucun fichier ou dossier de ce type",
  "错误：找不到模块 ledger",
  "cat: 账本: 没有那个文件或目录",
  "エラー: 台帳が見つかりません",
  "ошибка: счёт закрыт",
  "error CS0117: 'Ledger' bir 'Sum' tanımı içermiyor",
]

/** Lines that speak of errors and name none: of code, files, logs, listings, branches, tests that passed. */
const OTHERS = [
  "throw new Error(message);",
  'raise LedgerError(f"balance of {name} is negative")',
  "except ValueError as error:",
  "} catch (error) {",
  "error: str | None = None",
  "error: string",
  "  error: null,",
  "errors: list[LedgerError] = []",
  "errors.append(LedgerError(field=name))",
  "console.log(`could not read`, error)",
  '"Could not read the ledger. " +',
  "class LedgerError(Exception):",
  "@@ -20,6 +20,9 @@ class LedgerError:",
  "14:  return error",
  "src/ledger.ts:14:    if (error) return undefined",
  "ledger/errors/ledger-error.mdx",
  "fail-fast: false",
  "continue-on-error: true",
  "on_failure: always",
  "23 cannot be told silently, and has no default.",
  "must say what was built and not fail on the platform that was left out",
  "is a hard error, and not a matter of taste.",
  "one that is refused before it is written. Failing early is cheap, and so",
  "The reviewer has to be sure that an error cannot reach anybody who uses the service.",
  "# errors are told to the caller",
  "completed failure feat: tell errors (#12) CI main push 12345 3m10s 2026-01-02T03:04:05Z",
  "failure Update the ledger",
  "a1b2c3d fix: fail loudly when the ledger is closed",
  "branch: fix/build-failure-of-ledger",
  "modified:   src/ledger-errors.ts",
  "test_error_is_told PASSED [ 12%]",
  "Passed Ledger.Tests.An_error_is_told [< 1 ms]",
  "12 passed, 0 failed",
  "deleted=35 skipped=2 failed=0",
  "done, 0 errors",
  "ok: true, error: null",
  "=== what happens when it fails ===",
  "Traceback (most recent call last):",
  "The above exception was the direct cause of the following exception:",
  "warning: in the working copy of 'error.ts', LF will be replaced by CRLF",
  "LEDGER_HOME=/opt/ledger",
  "RESULT=failure",
  "NOT FOUND -> confirmed",
  "every job, so that they cannot drift. Reads the list from the env that",
  "| claim | found | ✓/✗ |",
  "error",
]

describe("lines that name an error", () => {
  test.each(ERRORS)("%s", (line) => {
    expect(errorLinesIn(`start\n${line}\nend`)).toHaveLength(1)
  })

  test.each(OTHERS)("not: %s", (line) => {
    expect(errorLinesIn(`start\n${line}\nend`)).toEqual([])
  })

  test("as printed, without white space, colours and times", () => {
    expect(errorLinesIn("\u001b[31m  TypeError:  x is \u001b[0m not a function ")).toEqual([
      "TypeError: x is not a function",
    ])
    expect(errorLinesIn("build\tTest\t2026-01-02T03:04:05.678Z error: closed for good")).toEqual([
      "error: closed for good",
    ])
  })

  test("a test that failed is named once", () => {
    const output = "t/test_a.py::test_sum FAILED   [ 83%]\n…\nFAILED t/test_a.py::test_sum"
    expect(errorLinesIn(output)).toEqual(["FAILED t/test_a.py::test_sum"])
  })

  test("what a traceback leads to, whatever it is called", () => {
    const trace = 'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    run()\n'
    expect(errorLinesIn(`${trace}ledger.Closed: since May\nmore`)).toEqual(["ledger.Closed: since May"])
    expect(errorLinesIn(`${trace}KeyboardInterrupt`)).toEqual(["KeyboardInterrupt"])
  })
})

describe("of a call that failed", () => {
  test.each([
    // What says why, where no line names an error.
    ["Exit code 2\nnothing to do\nmore", ["nothing to do"]],
    ["Exit code 1\nmirror not reachable from here", ["mirror not reachable from here"]],
    [
      "Exit code 1\nsrc/ledger.py:3:5: F401 'os' imported but unused",
      ["src/ledger.py:3:5: F401 'os' imported but unused"],
    ],
    ["Exit code 1\nE501 Line too long (106 > 100)\n --> a.py:66:101", ["E501 Line too long (106 > 100)"]],
    ["<tool_use_error>The file was not read yet.</tool_use_error>", ["The file was not read yet."]],
    ["Use another tool for this", ["Use another tool for this"]],
    ["String to replace not found in file.\nString: a\nb\nc\nd\ne", ["String to replace not found in file."]],
    // Where one does, its first line says nothing.
    ["Exit code 1\nworking on it\nTypeError: x is not a function", ["TypeError: x is not a function"]],
    // What it did before, what it shows, how it ended.
    ["Exit code 1", []],
    ["Exit code 127\nLEDGER=/opt/ledger", []],
    ["Exit code 1\nOn branch main\nYour branch is up to date\n\nnothing added", ["nothing added"]],
    ["Exit code 1\n============ test session starts ============\nplatform x\nrootdir: y\na\nb", []],
    ["Exit code 8\nlint pending 0 https://ci.invalid/1\ntest pass 3s https://ci.invalid/2", []],
    ["Exit code 1\na1b2c3d4 docs: say why\nsrc/ledger.ts", []],
    ["Exit code 1\n3:[tasks.docs]\n9:[tasks.lint]", []],
    ["The user doesn't want to proceed with this tool use.\nNo, use the other one.", []],
  ])("%j", (output, lines) => expect(errorLinesIn(output, true)).toEqual(lines as string[]))

  test("its status belongs to its command", () => {
    expect(exitStatusIn("Exit code 127\nsh: x: not found")).toBe("Exit code 127")
    expect(exitStatusIn("Error: Exit code 1")).toBe("Exit code 1")
    expect(exitStatusIn("TypeError: Exit code 1")).toBeUndefined()
  })
})

test("of a whole log only its beginning, and not without end", () => {
  const many = Array.from({ length: 300 }, (_, n) => `error: step ${n} broke`).join("\n")
  expect(errorLinesIn(many).length).toBeLessThanOrEqual(24)
  expect(errorLinesIn(`${"x\n".repeat(20_000)}error: too late to be seen`)).toEqual([])
  expect(errorLinesIn(`error: ${"x".repeat(300)}`)).toEqual([])
})

test("wherever they stand among lines that name none, and those alone", () => {
  const ending = fc.constantFrom("\n", "\r\n", "\n\n", " \n  ")
  const lines = fc.array(fc.tuple(fc.constantFrom(...ERRORS, ...OTHERS), ending), { maxLength: 20 })
  const named = (all: readonly string[]): Set<string> =>
    new Set(all.filter((line) => ERRORS.includes(line)).flatMap((line) => errorLinesIn(line)))
  fc.assert(
    fc.property(lines, fc.string({ unit: "grapheme", maxLength: 200 }), (some, any) => {
      const traced = some.findIndex(([line]) => line.startsWith("Traceback"))
      const told = (traced < 0 ? some : some.slice(0, traced)).slice(0, 20)
      expect(new Set(errorLinesIn(told.map((pair) => pair.join("")).join("")))).toEqual(
        named(told.map(([line]) => line)),
      )
      for (const line of errorLinesIn(any, true)) {
        expect(line).not.toMatch(/[\r\n]/)
        expect(line.length).toBeLessThanOrEqual(200)
      }
    }),
  )
})
