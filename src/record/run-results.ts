/**
 * What came out of a script: how its tests, checks and builds ended, and which commits, pushes, pull requests and releases
 * it made. Only what the exit status or the output tells; in doubt, nothing. Pure.
 */
import { oneLine } from "../base/text.ts"
import { withoutColours } from "./error-lines.ts"
import { showsText, TASK_NAME } from "./failed-runs.ts"
import { MAY_RUN, programOf, runOf } from "./runners.ts"
import { type Pipeline, pipelinesIn } from "./shell-script.ts"

/** What a script's program is run for, by how it is called. The first that fits counts. */
const PURPOSES = [
  [
    "tests",
    /^(?:go(?: -C \S+)? test|gotestsum|ginkgo|(?:cargo|cross)(?: \+\S+)? (?:test|t|nextest)|jest|(?:react-scripts|craco|bun|deno|swift|flutter|dart|dotnet|bazel(?:isk)?|mix|meson|terraform|tofu|(?:php )?artisan|manage\.py|django-admin|xcodebuild\b.*) test|vitest|pest|node\b.* --test|_?mocha|nyc|c8|cypress run|playwright test|ava|wdio|karma|py\.?test|tox|nox|unittest|ctest|rspec|rails (?:test|spec)|rake (?:test|spec)|minitest|phpunit|paratest|(?:gradlew?|mvnw?|sbt|mill)\b.* (?:\S*:)?(?:test|check|verify))(?![\w-])/,
  ],
  [
    "type check",
    /^(?:tsc|vue-tsc|tsgo|nuxi typecheck|svelte-check|astro check|d?mypy|(?:based)?pyright|ty check|pyrefly check|(?:cargo|cross)(?: \+\S+)? (?:check|c))(?![\w-])/,
  ],
  [
    "format check",
    /^(?:prettier\b.* (?:--check|-c)|cargo fmt\b.*--check|rustfmt\b.*--check|black\b.*--check|ruff format\b.*--check)(?![\w-])/,
  ],
  [
    "lint",
    /^(?:golangci-lint run|go(?: -C \S+)? vet|cargo(?: \+\S+)? clippy|eslint|(?:next|ng) lint|stylelint|xo|standard|oxlint|biome (?:check|ci|lint)|ruff check|flake8|rubocop|standardrb|phpstan|psalm|(?:dart|flutter) analyze)(?![\w-])/,
  ],
  ["checks", /^(?:pre-commit run|lint-staged)(?![\w-])/],
  [
    "build",
    /^(?:(?:go(?: -C \S+)?|(?:cargo|cross)(?: \+\S+)?|dotnet|swift|vite|next|nuxi?|astro|ng|wrangler|react-scripts|parcel|bazel(?:isk)?|flutter|docker(?: compose| buildx)?|docker-compose|podman) build|(?:cargo|cross) b|webpack|rollup|esbuild|tsup|cmake --build|ninja|meson compile|mix compile|(?:gradlew?|mvnw?|sbt|mill)\b.* (?:\S*:)?(?:build|assemble|package|compile|install))(?![\w-])/,
  ],
] as const

type RunKind = (typeof PURPOSES)[number][0]

/** They run a task of the project by its name. */
const TASK =
  /^(?:(?:npm|pnpm|yarn|bun)(?: -[\w-]+(?:[= ](?!-)[\w@./*-]+)?)*(?: run(?:-script)?)?|(?:mise|moon|poe|turbo|nx|lerna|hatch|composer|npm-run-all|run-[sp])(?: (?:run|r|exec))?|g?make(?: -C \S+| -j ?\d*)*|just|task|invoke|earthly|deno task|rake)(?: -\S+)* ([\w@/.:-]+)/
/** By its name, which may have parts: `test:unit`, `check-types`. */
const TASKS: readonly (readonly [RunKind, RegExp])[] = [
  ["tests", /(?:^|[:/._-])(?:t|tests?|e2e|specs?)(?![a-z])/],
  ["type check", /(?:^|[:/._-])(?:type-?checks?|types|check-?types|tsc|mypy)(?![a-z])/],
  ["lint", /(?:^|[:/._-])(?:lint(?:er|ing)?|eslint|clippy|vet)(?![a-z])/],
  ["build", /(?:^|[:/._-])(?:build|compile)(?![a-z])/],
  ["checks", /(?:^|[:/._-])(?:checks?|ci|verify|validate)(?![a-z])/],
]
/** It does something for runs, or keeps running. */
const OTHER_TASK =
  /(?:^|[:/._-])(?:install|setup|prepare|init|clean|watch|start|serve|stop|open|debug|report|list|show|update|gen(?:erate)?|deploy|seed|deps)(?![a-z])/
/** What it prints then is no result. */
const NO_RUN =
  /^(?:npm|pnpm|yarn) ci\b|\s(?:--help|-h|--version|-version|--list|--list-?[tT]ests|--collect-only|--co|--dry-run|--no-run|--watch|--init|--show-?[cC]onfig|--print-config)(?![\w-]|=false)|^g?make\b.* (?:-[Biksw]*[nqt]|--just-print|--recon|--question|--touch)(?![\w-])|^(?:just|task) (?:.* )?-n(?![\w-])|^go(?: -C \S+)? (?:(?:test|vet|build) (?:.* )?--?n|test (?:.* )?--?(?:c|list))(?![\w-])|^(?:ctest (?:.* )?(?:-N|--show-only)|gradlew? (?:.* )?-m|tsc -v)(?![\w-])|^(?:cargo nextest|vitest) list\b/
/** Tasks that it leaves out, and that it runs no tests. */
const LEFT_OUT = /(?<=^gradlew? .*) (?:-x|--exclude-task)[ =]\S+/g
const NO_TESTS = /\s-D(?:skipTests|maven\.test\.skip)(?![\w.-])/

/** @param command one of a script; undefined if it is no such run */
function purposeOf(command: string): RunKind | undefined {
  if (!MAY_RUN.test(command)) return undefined
  const program = programOf(command).replace(LEFT_OUT, "")
  const task = TASK.exec(program)?.[1]
  const kind =
    PURPOSES.find(([, run]) => run.test(program))?.[0] ?? (task === undefined ? undefined : kindOf(task))
  if (kind === undefined || (kind === "tests" && NO_TESTS.test(program))) return undefined
  return NO_RUN.test(unquoted(program)) || runOf(command) === undefined ? undefined : kind
}

/** `lint:tests` may be either, while in `check:lint` or `test:ci` the one word only tells how. */
function kindOf(task: string): RunKind | undefined {
  if (OTHER_TASK.test(task)) return undefined
  const kinds = TASKS.filter(([, name]) => name.test(task)).map(([kind]) => kind)
  const plain = kinds.length > 1 ? kinds.filter((kind) => kind !== "checks") : kinds
  return plain.length === 1 ? plain[0] : undefined
}

/** How many of a run's tests passed and failed, or how many problems a check found. */
interface RunCounts {
  readonly passed?: number
  readonly failed?: number
  /** Of Go, which names no more where all is well. */
  readonly packages?: number
  /** With their word: errors, issues. */
  readonly problems?: string
}

/** `stopped`: by time or by a signal; `done`: of a deed. Undefined: nothing tells how it ended. */
type Ending = "passed" | "failed" | "stopped" | "done" | undefined

interface ScriptResult {
  /** What it is a result of: several kinds of runs if one failed, and nothing tells which. */
  readonly names: readonly string[]
  /** The command that was run, or what was done. */
  readonly text: string
  readonly ending: Ending
  readonly counts: RunCounts
}

/** What is done with work that is ready: how it is called, what tells that it was done, and what that it was not. */
const DEEDS: readonly {
  readonly deed: string
  readonly run: RegExp
  readonly not: RegExp
  readonly said?: RegExp
  readonly unsaid?: RegExp
}[] = [
  {
    deed: "committed",
    run: /^git(?: -[cC] \S+)* commit\b/,
    not: /--dry-run/,
    said: /^\[[^\]\n]+ [0-9a-f]{7,40}\] /m,
  },
  {
    deed: "pushed",
    run: /^git(?: -[cC] \S+)* push\b/,
    not: / (?:--dry-run|-n|--delete|-d)(?![\w-])| :\S/,
    said: /^ ?[ +*] (?:[0-9a-f]{7,40}\.{2,3}[0-9a-f]{7,40}|\[new (?:branch|tag)\]) +\S+ -> \S/m,
    unsaid: /^Everything up-to-date/m,
  },
  {
    deed: "merged",
    run: /^git(?: -[cC] \S+)* merge /,
    not: / --(?:abort|quit|no-commit|squash)(?![\w-])/,
    said: /^(?:Merge made by |Fast-forward$)/m,
    unsaid: /^Already up.to.date/m,
  },
  {
    deed: "PR opened",
    run: /^(?:gh pr|glab mr) create\b/,
    not: / (?:--dry-run|--web|-w)(?![\w-])/,
    said: /^https:\/\/\S+\/(?:pull|merge_requests)\/\d+$/m,
    unsaid: /\balready exists\b/,
  },
  {
    deed: "PR merged",
    run: /^(?:gh pr|glab mr) merge\b/,
    not: / (?:--auto|--disable-auto)(?![\w-])/,
    said: /^\S+ (?:Squashed and merged|Rebased and merged|Merged) pull request /m,
    unsaid: /was already merged|will be automatically merged|added to the merge queue/,
  },
  {
    deed: "released",
    run: /^(?:gh|glab) release create\b/,
    not: / (?:--draft|-d)(?![\w-])/,
    said: /^https:\/\/\S+\/releases\/\S+$/m,
  },
  {
    deed: "published",
    run: /^(?:(?:npm|pnpm|yarn|bun|cargo|deno|poetry|uv|mvnw?)(?: npm)? publish|twine upload|gem push|dotnet nuget push)\b/,
    not: /--dry-run/,
    said: /^\+ \S+@\d/m,
  },
]

/** A program as a word, not the end of a file's name. */
const RUNS = new RegExp(String.raw`(?<![\w.*-])${MAY_RUN.source}(?![\w./-])`, "g")
const DOES =
  /(?:(?<![\w./-])(?:git (?:.* )?(?:commit|push|merge)|(?:gh|glab) (?:.* )?(?:create|merge)|twine upload|gem push)|(?<!\S)\S+ (?:\S+ )?publish)(?![\w-])/

/** UTF-16 units and commands of a script without its here-documents; of a longer one, nothing is told. */
const LONGEST_SCRIPT = 4096
const MOST_COMMANDS = 200
/** UTF-16 units of an output's end that are read, where a run tells how it ended, and of a script with its documents. */
const LONGEST_TEXT = 32 << 10

/** How many results a script may have, as far as it is shown on one line. Cheap and generous. */
export const mostResults = (line: string): number =>
  line.length > LONGEST_SCRIPT ? 0 : [...line.matchAll(RUNS)].length + (DOES.test(line) ? 1 : 0)

/** How a call ended. */
interface ScriptEnd {
  readonly isError: boolean
  /** All that it printed; undefined: that is not known. */
  readonly output: string | undefined
}

/** It goes on after its result, so that tells nothing. */
const IN_BACKGROUND =
  /^\s*(?:Command (?:is )?(?:running|was manually backgrounded|did not complete)|Running in the background)\b|running in (?:the )?background with ID|^Process running with session ID /
const STOPPED =
  /^\s*(?:<error>)?(?:Error: )?(?:Exit code (?:124|130|137|143)\b|(?:Exit code \d+\s+)?Command (?:timed out|was aborted))/
/** Something in the middle or at the end was left out. */
const NOT_WHOLE = /\.\.\. \[\d+ (?:lines|characters) truncated\] \.\.\.|<persisted-output>|^Output too large/m

interface Part {
  readonly pipeline: Pipeline
  readonly kind: RunKind | undefined
  /** Lines with which its program says that it failed. */
  readonly failures: readonly RegExp[]
  /** Whether the script's exit status tells nothing of it. */
  readonly isHidden: boolean
}

/** All in the script's order. @param script as written */
export function resultsOf(script: string, { isError, output }: ScriptEnd): ScriptResult[] {
  const pipelines = (script.length > LONGEST_TEXT ? undefined : pipelinesIn(script)) ?? []
  if (pipelines.length > MOST_COMMANDS) return []
  if (pipelines.reduce((sum, { line }) => sum + line.length + 1, 0) > LONGEST_SCRIPT) return []
  const text = output === undefined ? undefined : withoutColours(output).replaceAll("\r", "")
  const isGoingOn = text !== undefined && IN_BACKGROUND.test(text)
  const isPipeTold = /\bpipefail\b/.test(script)
  const { left, perhapsLeft } = exitsOf(pipelines)
  const parts = pipelines.slice(0, left).map((pipeline, n): Part => {
    const isPiped = pipeline.filters.length > 0 && !isPipeTold
    const isTold = !isPiped && !isTurned(pipeline) && n <= perhapsLeft && isDecisive(pipelines, n)
    const kind = purposeOf(pipeline.command)
    const failures = kind === undefined ? [] : runOf(pipeline.command)!.failures
    return { pipeline, kind, failures, isHidden: !isTold }
  })
  const isOthers = parts.some(
    (part) => part.kind === undefined && deedOf(part) === undefined && showsText(part.pipeline.line),
  )
  const said = text === undefined || isOthers || isGoingOn ? undefined : endOf(text).replace(TASK_NAME, "")
  const isAll = text !== undefined && text.length <= LONGEST_TEXT && !NOT_WHOLE.test(text)
  const end = { isError, isGoingOn, said, isAll, text }
  const deeds = parts.map((part) => deedIn(part, parts, end))
  const runs = runsIn(parts, end)
  return parts.flatMap((part, n) => runs.get(part) ?? deeds[n] ?? [])
}

/** Whole lines. */
function endOf(text: string): string {
  if (text.length <= LONGEST_TEXT) return text
  const at = text.indexOf("\n", text.length - LONGEST_TEXT)
  return at < 0 ? "" : text.slice(at + 1)
}

const BLOCK = /^\s*(?:[{(]|[\w-]+ ?\(\)|(?:if|for|while|until|case|select|function)(?![\w-]))/
const EXIT = /^[\s({]*(?:(?:then|else|do)\s+)*exit(?![\w-])/

/** How many pipelines come up to the first `exit`, and the place of the first that may end the script as a success. */
function exitsOf(pipelines: readonly Pipeline[]): { readonly left: number; readonly perhapsLeft: number } {
  const isSure = (at: number): boolean =>
    !/[&|]{2}/.test(pipelines[at - 1]?.end ?? "") &&
    !pipelines.slice(0, at + 1).some(({ command }) => BLOCK.test(command))
  const exits = pipelines.flatMap(({ command }, n) => (EXIT.test(command) ? [n] : []))
  const left = exits.find(isSure)
  const perhaps = exits.find(
    (n) =>
      !(pipelines[n - 1]?.end === "||" ? /\bexit(?:\s+[1-9]|\W*$)/ : /\bexit\s+[1-9]/).test(
        pipelines[n]!.command,
      ),
  )
  return { left: left === undefined ? pipelines.length : left + 1, perhapsLeft: perhaps ?? pipelines.length }
}

/** Whether the script runs this pipeline if it succeeds, and ends as soon as it fails. */
function isDecisive(pipelines: readonly Pipeline[], at: number): boolean {
  const before = pipelines.slice(0, at).findLastIndex(({ end }) => end !== "&&")
  if (before >= 0 && pipelines[before]!.end === "||") return false
  const next = pipelines.findIndex(({ end }, n) => n >= at && end !== "&&")
  if (next >= 0 && pipelines[next]!.end === "||") return false
  return !pipelines.slice(next + 1).some(({ command }) => /[^\s)}]/.test(command))
}

/** Whether its exit status is used up, turned round, or not waited for. */
const isTurned = ({ command, line }: Pipeline): boolean =>
  /^\s*(?:!|if\b|elif\b|while\b|until\b)/.test(command) || /(?<![&>|])&(?![&>\d])/.test(unquoted(line))

const unquoted = (text: string): string =>
  text.replace(/\\[\s\S]|'[^']*'|"(?:[^"\\]|\\[\s\S])*"/g, (one) => (one.startsWith("\\") ? one : '""'))

interface End {
  readonly isError: boolean
  readonly isGoingOn: boolean
  /** The end of the output, if only these commands can have printed it. */
  readonly said: string | undefined
  /** Whether that is all of it. */
  readonly isAll: boolean
  readonly text: string | undefined
}

function runsIn(parts: readonly Part[], end: End): Map<Part, ScriptResult> {
  const runs = parts.filter(({ kind }) => kind !== undefined)
  const isOnly = runs.length === 1
  const results = runs.map((part): [Part, ScriptResult] => {
    const counts = end.said === undefined ? {} : countsOf(part, runs, end.said, end.isAll)
    const ending = endingOf(part, parts, end, counts, isOnly)
    return [part, { names: [part.kind!], text: shown(part.pipeline.command), ending, counts }]
  })
  const isUnclear =
    end.isError &&
    !isOnly &&
    results.every(([, { ending }]) => ending === undefined) &&
    isTheirs(runs, parts, end)
  if (!isUnclear || end.isGoingOn) return new Map(results)
  const names = [...new Set(runs.map(({ kind }) => kind!))]
  const text = runs.map(({ pipeline }) => shown(pipeline.command)).join(" && ")
  return new Map([[runs[0]!, { names, text, ending: isStopped(end) ? "stopped" : "failed", counts: {} }]])
}

/** Whether it is one of these runs that failed, rather than what else the script does. */
const isTheirs = (runs: readonly Part[], parts: readonly Part[], { said, text }: End): boolean =>
  (onlyTrivial(parts) && !NO_FOLDER.test(text?.slice(0, START) ?? "")) ||
  (said !== undefined &&
    parts.every(({ kind, pipeline }) => kind !== undefined || runOf(pipeline.command) === undefined) &&
    runs.some(({ failures }) => failures.some((one) => one.test(said))))

/** Without the parentheses of a subshell. */
function shown(command: string): string {
  const text = oneLine(command).replace(/^[\s(]+/, "")
  return text.includes("(") ? text : text.replace(/[\s)]+$/, "")
}

const isStopped = ({ text }: End): boolean => text !== undefined && STOPPED.test(text)

/** Commands that hardly fail, beside runs. */
const TRIVIAL =
  /^[\s(]*(?:cd|echo|printf|export|set|source|\.(?= )|true|mkdir -p|sleep|date|pwd|[A-Za-z_]\w*=\S*$|$)(?![\w-])/
const isTrivial = ({ pipeline: { command } }: Part): boolean =>
  TRIVIAL.test(command) || /^[\s)}]*$/.test(command)
const onlyTrivial = (parts: readonly Part[]): boolean =>
  parts.every((part) => part.kind !== undefined || isTrivial(part))

/** If they do, nothing was run, and that is all there is. */
const NO_FOLDER =
  /(?:^|[\s:])(?:cd|source|\.):(?:\d+:)? .*(?:no such file|not a directory|can't cd|does not exist|permission denied)/im
const START = 1000

function endingOf(part: Part, parts: readonly Part[], end: End, counts: RunCounts, isOnly: boolean): Ending {
  if (end.isGoingOn) return undefined
  if (isStopped(end)) return isOnly && onlyTrivial(parts) ? "stopped" : undefined
  if ((counts.failed ?? 0) > 0 || (end.isError && counts.problems !== undefined)) return "failed"
  const isWell = (counts.passed ?? 0) > 0 || (end.said !== undefined && saysWell(part, end.said, end.isAll))
  if (end.isError)
    return isOnly ? (isTheirs([part], parts, end) ? "failed" : undefined) : isWell ? "passed" : undefined
  return !part.isHidden || isWell ? "passed" : undefined
}

/* What the output says of a run. */

interface Report {
  readonly pattern: RegExp
  /** Groups of a match → how many passed and failed. */
  readonly read: (groups: readonly (string | undefined)[]) => readonly [passed: number, failed: number]
  /** Whether there is one for each package or file, so that of several the sum counts. */
  readonly isPart?: boolean
}

/** The numbers of a line by the words behind them: `3 failed, 42 passed`. */
function worded(line: string): readonly [number, number] {
  let passed = 0
  let failed = 0
  for (const [, n, word] of line.matchAll(/\b(\d+) (passed|failed|errors?)\b/g))
    if (word === "passed") passed += Number(n)
    else failed += Number(n)
  return [passed, failed]
}
const number = (text: string | undefined): number => Number(text ?? 0)
const lessFailed = ([all, ...failed]: readonly (string | undefined)[]): readonly [number, number] => {
  const sum = failed.reduce((of, one) => of + number(one), 0)
  return [number(all) - sum, sum]
}

/** Of tests. */
const REPORTS: readonly Report[] = [
  // pytest; Jest and Vitest; Deno
  {
    pattern:
      /^(?:=+ )?((?:\d+ [a-z]+, ){0,9}\d+ (?:passed|failed|errors?)(?:, \d+ [a-z]+){0,9}) in [\d.]+s/gm,
    read: ([line]) => worded(line!),
  },
  {
    pattern: /^[ \t]*Tests:? +((?:\d+ [a-z]+(?:, | \| ))*\d+ (?:passed|failed)\b.*)$/gm,
    read: ([line]) => worded(line!),
  },
  { pattern: /^(?:ok|FAILED) \| (\d+ passed.*)$/gm, read: ([line]) => worded(line!) },
  // Bun, Node.js, Mocha, Playwright
  {
    pattern: /^ (\d+) pass\n(?: \d+ (?:skip|todo)\n)* (\d+) fail$/gm,
    read: ([passed, failed]) => [number(passed), number(failed)],
  },
  {
    pattern: /^(?:ℹ|#) pass (\d+)\n(?:ℹ|#) fail (\d+)$/gm,
    read: ([passed, failed]) => [number(passed), number(failed)],
  },
  {
    pattern: /^ +(\d+) passing \([\d.]+\w+\)(?:\n +\d+ pending)?(?:\n +(\d+) failing)?$/gm,
    read: ([passed, failed]) => [number(passed), number(failed)],
  },
  // Rust
  {
    pattern: /^test result: \w+\. (\d+) passed; (\d+) failed;/gm,
    read: ([passed, failed]) => [number(passed), number(failed)],
    isPart: true,
  },
  {
    pattern: /^ *Summary \[.*\] \d+ tests? run: (\d+) passed(?:.*?, (\d+) failed)?/gm,
    read: ([passed, failed]) => [number(passed), number(failed)],
  },
  // Go
  {
    pattern: /^DONE (\d+) tests(?:, \d+ skipped)?(?:, (\d+) failures?)?(?:, (\d+) errors?)? in /gm,
    read: lessFailed,
  },
  // .NET, in whatever language
  {
    pattern: /^\S+! +- [^:,\n]+: +(\d+), [^:,\n]+: +(\d+), [^:,\n]+: +\d+, /gm,
    read: ([failed, passed]) => [number(passed), number(failed)],
    isPart: true,
  },
  // Ruby, Elixir, PHP, unittest
  { pattern: /^(\d+) examples?, (\d+) failures?/gm, read: lessFailed },
  { pattern: /^(\d+) (?:runs|tests), \d+ assertions, (\d+) failures, (\d+) errors/gm, read: lessFailed },
  { pattern: /^(?:\d+ \w+, )?(\d+) tests?, (\d+) failures?\b/gm, read: lessFailed },
  { pattern: /^OK \((\d+) tests?, /gm, read: ([passed]) => [number(passed), 0] },
  {
    pattern: /^Ran (\d+) tests? in [\d.]+s\n\n(?:OK|FAILED \((?:failures=(\d+))?(?:, )?(?:errors=(\d+))?)/gm,
    read: lessFailed,
  },
  // CTest, Swift
  {
    pattern: /^\d+% tests passed, (\d+) tests? failed out of (\d+)/gm,
    read: ([failed, all]) => lessFailed([all, failed]),
  },
]

/** Go names its tests only when asked to, and those that fail. */
const GO_TESTS = /^--- (PASS|FAIL): \S/gm

/** Numbers of problems, as linters and compilers count them. */
const PROBLEMS =
  /^(?:.*✖ \d+ problems? \((\d+ errors?)|(?:.*svelte-check found |[ \t]*Found |.*\[ERROR\] Found |error: could not compile .* due to )(?:(\d+) previous (errors?)|(\d+ (?:errors?|issues?|diagnostics?))(?! \(\d+ fixed))|[ \t]*(\d+ issues?)[:.]$|.*inspected, (\d+ offenses?) detected|(\d+ errors?), \d+ warnings?)/gm

/** Lines with which checks and builds say that all is well. */
const WELL: Partial<Record<RunKind, RegExp>> = {
  tests:
    /^(?:All tests passed[!.]|OK$|Test Suite 'All tests' passed|\[INFO\] BUILD SUCCESS|BUILD SUCCESSFUL in )/m,
  lint: /^(?:0 issues\.|All checks passed!|No issues found!|.*no offenses detected| \[OK\] No errors|✔ No ESLint warnings or errors)/m,
  "type check":
    /^(?:Success: no issues found in |0 errors, \d+ warnings|All checks passed!|svelte-check found 0 errors)/m,
  "format check": /^(?:All matched files use Prettier code style!|All done! |\d+ files? already formatted)/m,
  build:
    /^(?:Build succeeded\.|BUILD SUCCESSFUL in |\[INFO\] BUILD SUCCESS|[ \t]*Finished (?:`?\w+`? (?:profile )?)\[|✓ built in |.*\b[Cc]ompiled successfully|\*\* BUILD SUCCEEDED \*\*|Successfully built \S+$)/m,
}

function saysWell({ kind, pipeline }: Part, said: string, isAll: boolean): boolean {
  const isEnd = (isAll && isWhole(pipeline, said)) || pipeline.filters.every((one) => /^\s*tail\b/.test(one))
  if (!isEnd && isTask(pipeline.command)) return false
  if (WELL[kind!]?.test(said)) return true
  // The last line of Go's is that it failed, if it did, so the end of its output tells.
  if (kind !== "tests" || !isEnd) return false
  const lines = said.split("\n")
  return (
    lines.some((line) => /^ok {2}\t\S/.test(line)) &&
    !lines.some((line) => /^(?:FAIL|panic:)(?:\s|$)|^\s*--- FAIL/.test(line))
  )
}

/** Whether nothing of a run's output is missing: `| head -50` leaves fewer lines as they are. */
function isWhole({ filters, isWritten }: Pipeline, said: string): boolean {
  if (isWritten) return false
  const lines = said.trimEnd().split("\n").length
  return filters.every((one) => {
    const most = /^\s*(?:head|tail)(?: -n ?| -)(\d+)\s*$/.exec(one)?.[1]
    return most !== undefined && lines < Number(most)
  })
}

/** @param runs all of the script: what several of a kind print cannot be told apart */
function countsOf(part: Part, runs: readonly Part[], said: string, isAllSaid: boolean): RunCounts {
  const { kind, pipeline } = part
  const isTest = kind === "tests"
  if (runs.some((other) => other !== part && (other.kind === "tests") === isTest)) return {}
  if (!isTest) return problemsIn(said)
  // Where only some of the output is shown, there may be more of them.
  const isAll = isAllSaid && isWhole(pipeline, said)
  for (const { pattern, read, isPart } of REPORTS) {
    const found = [...said.matchAll(pattern)].map(([, ...groups]) => read(groups))
    if (found.length === 0) continue
    if (!isAll && (found.length > 1 || isPart || isTask(pipeline.command))) return {}
    const [passed, failed] = [0, 1].map((of) => found.reduce((sum, one) => sum + one[of]!, 0))
    return passed! + failed! === 0 ? {} : { passed: passed!, failed: failed! }
  }
  if (!isAll) return {}
  const tests = [...said.matchAll(GO_TESTS)].map(([, how]) => how)
  const failed = tests.filter((how) => how === "FAIL").length
  if (failed < tests.length) return { passed: tests.length - failed, failed }
  if (failed > 0) return { failed }
  const packages = [...said.matchAll(/^ok {2}\t\S/gm)].length
  return packages > 1 ? { packages } : {}
}

function problemsIn(said: string): RunCounts {
  const found = [...said.matchAll(PROBLEMS)]
  if (found.length !== 1) return {}
  const problems = found[0]!
    .slice(1)
    .filter((one) => one !== undefined)
    .join(" ")
  return problems.startsWith("0 ") ? {} : { problems: problems.replace(/^1 (\w+)s$/, "1 $1") }
}

/** Tasks may run several programs, and each has its report. */
const isTask = (command: string): boolean =>
  /^(?:mise|moon|turbo|nx|lerna|g?make|just|task|invoke|npm-run-all|run-[sp]|tox|nox)\b/.test(
    programOf(command),
  )

function deedOf({ pipeline }: Pick<Part, "pipeline">) {
  const program = programOf(unquoted(pipeline.command))
  return NO_RUN.test(program)
    ? undefined
    : DEEDS.find(({ run, not }) => run.test(program) && !not.test(program))
}

function deedIn(part: Part, parts: readonly Part[], end: End): ScriptResult | undefined {
  const row = deedOf(part)
  if (row === undefined || (end.text !== undefined && row.unsaid?.test(end.text))) return undefined
  // Of a deed that failed itself, the output may name what was there before.
  const isOthersError =
    part.pipeline.filters.length > 0 || parts.some((one) => one !== part && !isTrivial(one))
  const isSaid = end.said !== undefined && row.said?.test(end.said) === true
  const isDone =
    !end.isGoingOn && ((isSaid && (!end.isError || isOthersError)) || (!end.isError && !part.isHidden))
  if (!isDone) return undefined
  const text = named(row.deed, programOf(part.pipeline.command), end)
  return { names: [row.deed], text, ending: "done", counts: {} }
}

/** With the number of the pull request, if only one is named, and whether it is a draft. */
function named(deed: string, program: string, { text }: End): string {
  const merged = / merge (?:\S*\/)?(\d+)(?!\S)/.exec(program)?.[1]
  if (deed === "PR merged" && merged !== undefined) return `PR #${merged} merged`
  if (deed !== "PR opened") return deed
  const numbers = new Set(
    [...(text ?? "").matchAll(/\/(?:pull|merge_requests)\/(\d+)(?!\d)/g)].map(([, n]) => n),
  )
  const [number] = numbers
  const name = numbers.size === 1 ? `PR #${number}` : "PR"
  return `${/ (?:--draft|-d)(?![\w-])/.test(program) ? "draft " : ""}${name} opened`
}
