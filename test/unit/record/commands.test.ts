import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { errorsMet } from "../../../src/agents/errors-met.ts"
import {
  createdTaskId,
  exitCode,
  taskChanges,
  todosOf,
  toolFiles,
  toolTarget,
} from "../../../src/agents/tool-kinds.ts"
import { runsCommand } from "../../../src/find/commands-run.ts"
import { errorLinesIn, exitStatusIn } from "../../../src/record/error-lines.ts"
import { hiddenRuns, saysFailed, showsText } from "../../../src/record/failed-runs.ts"
import { commandPaths } from "../../../src/record/path-words.ts"
import { RUNNER_OUTPUTS } from "../../fixtures/runner-outputs.ts"

describe("failed runs", () => {
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
          expect([telling, failed(`${command} 2>&1 | grep -iE 'fail|error'`, telling)]).toEqual([
            telling,
            true,
          ])
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
})

/** Which scripts run a command, and which only have its words in them. */
describe("runs command", () => {
  const runs = (script: string, command: string) => runsCommand(script, command.split(" "))

  describe("as it stands", () => {
    test.each([
      ["docker build -t shop .", "docker build"],
      ["cd shop && docker build . | tail -3", "docker build"],
      ["cd shop\nDOCKER_BUILDKIT=1 docker build .", "docker build"],
      ["sudo docker build .", "docker build"],
      ["time timeout 60 go test ./... 2>&1 | grep FAIL", "go test"],
      ["/usr/local/go/bin/go test ./...", "go test"],
      ["for d in a b; do go test ./$d; done", "go test"],
      ["npx vitest run", "vitest run"],
      ["(cd app && npm test)", "npm test"],
      ["echo done || go test ./...", "go test"],
      ["ls | xargs go test", "xargs go"],
    ])("%s: %s", (script, command) => expect(runs(script, command)).toBe(2))
  })

  describe("with something between, or through another program", () => {
    test.each([
      ["docker --context far build .", "docker build"],
      ["docker buildx build .", "docker build"],
      ["go -C shop test ./...", "go test"],
      ["npm run test", "npm test"],
      ["bash -lc 'cd shop && docker build .'", "docker build"],
      ['ssh far "cd /srv; go test ./..."', "go test"],
      ["docker compose exec api go test ./...", "go test"],
      ["find . -name go.mod -execdir go test {} +", "go test"],
      ["ls | xargs -n 1 go test", "go test"],
    ])("%s: %s", (script, command) => expect(runs(script, command)).toBe(1))
  })

  describe("not at all", () => {
    test.each([
      ["ls docker build", "docker build"],
      ["cat docker/build.log", "docker build"],
      ['echo "docker build ."', "docker build"],
      ["echo docker build", "docker build"],
      ["grep -rn 'go test' .", "go test"],
      ["rg go test docs", "go test"],
      ['git commit -m "go test passes"', "go test"],
      ["git add go test", "go test"],
      ["cat > run.sh <<'EOF'\ngo test ./...\nEOF", "go test"],
      ["mkdir -p go test", "go test"],
      ["# go test ./...\nls", "go test"],
      ["go testing", "go test"],
      ["cargo test", "go test"],
      ["docker ps", "docker build"],
      ["go vet ./... # then go test", "go test"],
      ["echo 'unfinished", "go test"],
      ["", "go test"],
    ])("%s: %s", (script, command) => expect(runs(script, command)).toBe(0))
  })
})

/** Which commands show what others wrote, so that no line of theirs is an error met in the work. */
describe("showing commands", () => {
  test.each([
    "curl -s https://example.org/x",
    "cd app && wget -qO- https://example.org/x | head -5",
    "gh issue view 12",
    "/usr/bin/cat notes.md",
    'echo "$(cat notes.md)"',
    "find . -name '*.log' | xargs cat",
    "cat notes.md | grep -i error",
    "head -50 app.log; npm test",
    "grep -rn Error: src",
    "sed -n 1,40p app.log",
    "git -C app log -3",
    "git show HEAD:a.txt",
    "docker logs web",
  ])("%j does", (script) => expect(showsText(script)).toBe(true))

  test.each([
    "npm test 2>&1 | tail -20",
    "cargo build | grep -v warning",
    "cat > notes.md <<'EOF'\nx\nEOF",
    "sed -i s/a/b/ src/app.ts && npm run build",
    "git push",
    "ls ghost cats",
    "npm run cat-food",
    "dotnet test",
  ])("%j does not", (script) => expect(showsText(script)).toBe(false))

  describe("an error line in its output", () => {
    const text = "error: never run the tests again"
    const met = (isError: boolean, isText: boolean) => errorsMet("Bash", { text, isError }, "2.1.112", isText)

    test("counts where the command failed, or showed nothing of others", () => {
      expect(met(false, true)).toEqual([])
      expect(met(true, true)).toEqual([text])
      expect(met(false, false)).toEqual([text])
    })
  })

  test("a long script is looked through once", () => {
    const time = (length: number): number => {
      const script = "git -c a ".repeat(length / 9) + "a/".repeat(length / 2)
      const from = Bun.nanoseconds()
      for (let n = 0; n < 10; n++) showsText(script)
      return Bun.nanoseconds() - from
    }
    // Other programs may slow down any of them, but not all of many. Quadratic would be 64 each time.
    const isInOneGo = (): boolean => time(80_000) / time(10_000) < 24
    expect(Array.from({ length: 30 }).some(isInOneGo)).toBe(true)
  })
})

describe("tool input", () => {
  describe("toolTarget", () => {
    const table: readonly (readonly [string, unknown, string])[] = [
      ["Bash", { command: "git status", description: "Look" }, "git status"],
      ["Bash", { command: "git add a\n  git commit" }, "git add a git commit"],
      ["PowerShell", { command: "Get-Item a" }, "Get-Item a"],
      ["Read", { file_path: "/a/b.ts", limit: 5 }, "/a/b.ts"],
      ["Write", { file_path: "/a/b.ts", content: "x" }, "/a/b.ts"],
      ["Edit", { file_path: "C:\\a\\b.ts" }, "C:/a/b.ts"],
      ["MultiEdit", { file_path: "/a/b.ts", edits: [] }, "/a/b.ts"],
      ["NotebookEdit", { notebook_path: "/a/b.ipynb" }, "/a/b.ipynb"],
      ["LS", { path: "/a" }, "/a"],
      ["Grep", { pattern: "foo.*" }, "foo.*"],
      ["Grep", { pattern: "foo.*", path: "src" }, "foo.* in src"],
      ["Glob", { pattern: "**/*.ts", path: "/a" }, "**/*.ts in /a"],
      ["WebFetch", { url: "https://example.com", prompt: "x" }, "https://example.com"],
      ["WebSearch", { query: "bun sqlite" }, "bun sqlite"],
      ["Task", { description: "Find it", prompt: "long" }, "Find it"],
      ["Agent", { prompt: "Look around" }, "Look around"],
      ["TodoWrite", { todos: [{}, {}, "x"] }, "3 todos"],
      ["TaskCreate", { subject: "Write tests", description: "all" }, "Write tests"],
      ["TaskUpdate", { taskId: "4", status: "completed" }, "#4 completed"],
      ["Skill", { skill: "commit", args: "-m x" }, "commit -m x"],
      ["AskUserQuestion", { questions: [{ question: "Which?" }] }, "Which?"],
      [
        "mcp__x__search",
        { q: "a", n: 1, deep: { list: [true, null] } },
        '{"q":"a","n":1,"deep":{"list":[true,null]}}',
      ],
      ["Bash", { cmd: "typo" }, '{"cmd":"typo"}'],
      ["Bash", "not an object", '"not an object"'],
      ["Bash", null, "null"],
      ["Bash", undefined, ""],
      ["constructor", {}, "{}"],
    ]
    for (const [name, input, expected] of table) {
      test(`${name} ${JSON.stringify(input)}`, () => expect(toolTarget(name, input)).toBe(expected))
    }
    test("is cut at code points", () => {
      const target = toolTarget("Bash", { command: "😀".repeat(400) })
      expect(target).toBe("😀".repeat(300))
    })
    test("costs little for a large input", () => {
      const input = { rows: Array.from({ length: 200_000 }, () => ({ text: "x".repeat(20) })) }
      expect(toolTarget("mcp__x__put", input).length).toBe(300)
    })
    test("survives depth", () => {
      let input: unknown = "x"
      for (let i = 0; i < 100_000; i++) input = [input]
      expect(toolTarget("mcp__x__put", input)).toContain("…")
    })
  })

  describe("toolFiles", () => {
    test("names the operation", () => {
      expect(toolFiles("Read", { file_path: "/a" })).toEqual([{ path: "/a", op: "read" }])
      expect(toolFiles("Write", { file_path: "/a" })).toEqual([{ path: "/a", op: "write" }])
      expect(toolFiles("Edit", { file_path: "/a" })).toEqual([{ path: "/a", op: "edit" }])
      expect(toolFiles("MultiEdit", { file_path: "/a", edits: [{}, {}] })).toEqual([
        { path: "/a", op: "edit" },
      ])
      expect(toolFiles("NotebookEdit", { notebook_path: "/n" })).toEqual([{ path: "/n", op: "edit" }])
      expect(toolFiles("Edit", { path: "/a" })).toEqual([{ path: "/a", op: "edit" }])
    })
    test("has none for other tools or without a path", () => {
      expect(toolFiles("Bash", { command: "cat /a" })).toEqual([])
      expect(toolFiles("Grep", { path: "/a" })).toEqual([])
      expect(toolFiles("Read", { file_path: 4 })).toEqual([])
      expect(toolFiles("Read", null)).toEqual([])
      expect(toolFiles("toString", { file_path: "/a" })).toEqual([])
    })
  })

  describe("commandPaths", () => {
    const table: readonly (readonly [string, readonly string[]])[] = [
      ["cat src/a.ts ./b ../c/d.go ~/e /tmp/f", ["src/a.ts", "./b", "../c/d.go", "~/e", "/tmp/f"]],
      ["cat package.json README.md", ["package.json", "README.md"]],
      ["bun test test/unit/a.test.ts > out.log 2>&1", ["test/unit/a.test.ts", "out.log"]],
      ["cd /a && (ls /b; cat /c.txt|head)", ["/a", "/b", "/c.txt"]],
      ["cat '/a b/c.txt' \"./d e\" /x\\ y/zz", ["/a b/c.txt", "./d e", "/x y/zz"]],
      ["tsc --outfile=dist/a.js -p tsconfig.json", ["dist/a.js", "tsconfig.json"]],
      ["vim src/a.ts:12:3 src/a.ts", ["src/a.ts"]],
      ["type C:\\Users\\dev\\a.ts", ["C:/Users/dev/a.ts"]],
      ["cat > notes.md <<'EOF'\nsee /not/this.ts\nEOF\ncat /this.ts", ["notes.md", "/this.ts"]],
      ["grep x <<< y\ncat /a.ts", ["/a.ts"]],
      ["echo $((1<<3)); cat /a.ts", ["/a.ts"]],
      ["git checkout origin/main && git config user.email", []],
      ["curl https://example.com/a.json example.com github.com/x/y.git", []],
      ["sed -i 's/a/b/g' x.ts", ["x.ts"]],
      ["sed '/pattern/d' x.ts && ls /tmp/", ["x.ts", "/tmp/"]],
      ["npm i @scope/pkg.js left-pad@1.2.3", []],
      ["echo 'read src/a.ts please' > /dev/null", []],
      ['git commit -m "fix a/b.ts and c.ts"', []],
      ["ls $HOME/x.ts src/*.ts", []],
      ["cat ./日本.md.", ["./日本.md"]],
      ["ls . .. / -la", []],
      ["", []],
    ]
    for (const [command, expected] of table) {
      test(JSON.stringify(command), () => expect(commandPaths(command)).toEqual([...expected]))
    }
  })

  describe("todos and tasks", () => {
    test("todosOf", () => {
      const todos = [
        "bare",
        { content: "a", status: "completed" },
        { content: "b" },
        { status: "pending" },
        null,
      ]
      expect(todosOf("TodoWrite", { todos })).toEqual([
        { content: "bare", status: "pending" },
        { content: "a", status: "completed" },
        { content: "b", status: "pending" },
      ])
      expect(todosOf("TodoWrite", { todos: [] })).toEqual([])
      expect(todosOf("TodoWrite", {})).toBeUndefined()
      expect(todosOf("Bash", { todos: [] })).toBeUndefined()
    })
    test("taskChanges", () => {
      expect(taskChanges("TaskCreate", { subject: "a", description: "b" })).toEqual([
        { subject: "a", status: "pending" },
      ])
      expect(taskChanges("TaskUpdate", { taskId: "1", status: "completed" })).toEqual([
        { id: "1", status: "completed" },
      ])
      expect(taskChanges("TaskUpdate", { taskId: 2, subject: "c" })).toEqual([{ id: "2", subject: "c" }])
      expect(taskChanges("TaskUpdate", null)).toEqual([{}])
      expect(taskChanges("TaskList", {})).toEqual([])
    })
    test("createdTaskId", () => {
      expect(createdTaskId("Task #12 created successfully: Write tests")).toBe("12")
      expect(createdTaskId("Updated task #12 status")).toBeUndefined()
    })
  })

  test("exitCode", () => {
    expect(exitCode(true, "Exit code 2\nboom")).toBe(2)
    expect(exitCode(true, "Error: Exit code 143")).toBe(143)
    expect(exitCode(true, "Exit code 3221225786")).toBe(3221225786)
    expect(exitCode(true, "boom\nExit code 2")).toBeUndefined()
    expect(exitCode(false, "Exit code 2")).toBeUndefined()
  })
})

describe("error lines", () => {
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
      [
        "String to replace not found in file.\nString: a\nb\nc\nd\ne",
        ["String to replace not found in file."],
      ],
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
})
