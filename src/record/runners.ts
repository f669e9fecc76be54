/**
 * Programs that test, check and build: how they are started, and lines that they print only when they fail. A line that
 * one of them may also print when all is well has no place here. Pure.
 */

interface Runner {
  /** Its command line, without what runs it and without its folder. */
  readonly run: RegExp
  /** Lines that nothing else prints, so they count also in the output of what runs it: `npm test`, `make`. */
  readonly failed?: RegExp
  /** Lines that other programs may print when all is well, in their logs. */
  readonly alone?: RegExp
}

/** `x: 3 failed`, not `0 failed`. */
const SOME = "[1-9]\\d*"
const lines = (...shapes: readonly string[]): RegExp => new RegExp(`^(?:${shapes.join("|")})`, "mu")

const RUNNERS: readonly Runner[] = [
  {
    run: /^(?:go(?: -C \S+)? (?:test|vet|build|install|generate)|gotestsum|ginkgo)\b/,
    failed: lines(
      " *--- FAIL: \\S+ \\(\\d",
      "FAIL(?:\\t\\S|! -- )",
      "# \\S+(?: \\[\\S+\\])?\\n(?:vet: )?\\S+\\.go:\\d+:\\d+: ",
      "panic: .*\\n(?:.*\\n){0,6}goroutine \\d+ \\[",
      "go: (?:go\\.mod file not found|cannot find|updates to go\\.mod needed|inconsistent vendoring|errors parsing)",
      "DONE \\d+ tests.*, [1-9]\\d* (?:failures?|errors?) in ",
    ),
    alone: lines("FAIL$"),
  },
  { run: /^go(?: -C \S+)? (?:vet|build|install)\b/, alone: lines("(?:vet: )?\\S+\\.go:\\d+:\\d+: \\S") },
  {
    run: /^golangci-lint run\b/,
    alone: lines(`${SOME} issues?[:.]$`),
    failed: lines(`${SOME} issues:\\n\\* `, "\\S+\\.go:\\d+:\\d+: .+ \\([a-z]+\\)$"),
  },
  {
    run: /^(?:cargo|cross)(?: \+\S+)? (?:test|t|build|b|check|c|clippy|nextest|doc|bench|publish|install)\b/,
    failed: lines(
      "test result: FAILED\\.",
      "test \\S+(?: - .+)? \\.\\.\\. FAILED$",
      "error(?:\\[E\\d{4}\\]|: (?:could not compile|test failed|aborting due to|no such (?:command|subcommand)|failed to (?:compile|run|parse|select)|\\d+ targets? failed|.+\\n +--> ))",
      ` *Summary \\[.*, ${SOME} failed`,
    ),
  },
  { run: /^(?:cargo|cross)(?: \+\S+)? (?:build|b|check|c|clippy|doc)\b/, alone: lines("error: \\S") },
  { run: /^(?:cargo fmt|rustfmt)\b.*--check/, alone: lines("Diff in \\S+") },
  {
    run: /^(?:jest|react-scripts test|craco test|vitest|bun test|deno test|pest|(?:php )?artisan test|node --test|node .*--test)\b/,
    failed: lines(
      // Jest, Pest and Vitest
      `[ \\t]*(?:Tests|Test Suites|Test Files):? +(?:.*[,|] )?${SOME} failed\\b`,
      " ?FAIL {1,2}(?:\\S+ )?\\S+\\.[cm]?[jt]sx?(?:$| [>(])",
      ` ❯ \\S+ \\(\\d+ tests? \\| ${SOME} failed`,
      "⎯+ (?:Failed (?:Tests|Suites)|Unhandled Errors?) ",
      '(?:Jest: |ERROR: )(?:"[^"]+" c|C)overage (?:threshold )?for .+ (?:not met|does not meet)',
      // Bun, Node.js and other TAP, Deno
      ` ${SOME} fail$`,
      "\\(fail\\) \\S",
      `(?:ℹ|#) fail ${SOME}$`,
      "not ok \\d+(?!.* # (?:TODO|SKIP))",
      `FAILED \\| \\d+ passed.* \\| ${SOME} failed`,
    ),
  },
  {
    run: /^(?:_?mocha|nyc|c8|cypress run|playwright test|ava|wdio|karma)\b/,
    failed: lines(
      `[ \\t]+${SOME} failing\\b`,
      `  ${SOME} failed$`,
      `[ \\t]*${SOME} tests? failed$`,
      ".* \\d+ of \\d+ failed \\(",
    ),
  },
  {
    run: /^(?:tsc|vue-tsc|tsgo|ng build|nuxi typecheck)\b/,
    failed: lines(
      "\\S.*(?:\\(\\d+,\\d+\\)|:\\d+:\\d+)(?::| -) error TS\\d+: ",
      "error TS\\d+: ",
      `Found ${SOME} errors?(?: in (?:${SOME} files|\\S+:\\d+)|\\.$)`,
    ),
  },
  {
    run: /^(?:eslint|next lint|ng lint|stylelint|xo|standard|oxlint|svelte-check|astro check)\b/,
    failed: lines(
      `[ \\t]*✖ \\d+ problems? \\(${SOME} errors?`,
      " +\\d+:\\d+ +error {2,}\\S",
      "ESLint found too many warnings",
      `Found \\d+ warnings? and ${SOME} errors?`,
      `svelte-check found ${SOME} errors?`,
    ),
  },
  {
    run: /^biome (?:check|ci|lint|format)\b/,
    failed: lines(`Found ${SOME} errors?\\.$`, "[ \\t]*[×✖] Some errors were emitted while "),
  },
  {
    run: /^prettier\b.* (?:--check|-c)\b/,
    failed: lines("\\[warn\\] Code style issues (?:were )?found in ", "\\[error\\] \\S+: SyntaxError"),
  },
  {
    run: /^(?:py\.?test|tox|nox)\b/,
    failed: lines(
      `(?:=+ )?(?:\\d+ [a-z]+, )*${SOME} (?:failed|errors?)(?:, \\d+ [a-z]+)* in [\\d.]+s`,
      "(?:FAILED|ERROR) \\S+\\.py(?:::\\S.*| - .+)?$",
      "\\S+\\.py::\\S+ (?:FAILED|ERROR)(?: +\\[ *\\d+%\\])?$",
      "!+ (?:Interrupted|stopping after) .*!$",
      "ERROR: (?:not found|file or directory not found|usage): ",
      "  \\S+: FAIL (?:✖|code )",
    ),
    alone: lines("E {3,7}\\S"),
  },
  {
    run: /^(?:unittest|manage\.py test|django-admin test)\b/,
    failed: lines(`FAILED \\((?:\\w+=\\d+, )*(?:failures|errors)=${SOME}`),
  },
  {
    run: /^(?:ruff (?:check|format)|flake8)\b(?!.*--exit-zero)/,
    failed: lines(
      "\\S+\\.pyi?:\\d+:\\d+: [A-Z]{1,4}\\d{2,4} ",
      `Found ${SOME} errors?(?:\\.| \\(\\d+ fixed, ${SOME} remaining\\)\\.)$`,
      `(?:Would reformat: |${SOME} files? would be reformatted)`,
    ),
  },
  { run: /^black\b.*--(?:check|diff)/, failed: lines("Oh no! ", `${SOME} files? would be reformatted`) },
  {
    run: /^(?:mypy|dmypy|basedpyright|pyright|ty check|pyrefly check)\b/,
    failed: lines(
      `Found ${SOME} errors? in ${SOME} files?`,
      "\\S+\\.pyi?:\\d+(?::\\d+)?: error: ",
      " +\\S+\\.pyi?:\\d+:\\d+ - error: ",
      `${SOME} errors?, \\d+ warnings?`,
      `Found ${SOME} diagnostics?$`,
    ),
  },
  {
    run: /^(?:g?make|cmake|ninja|meson compile|ctest|gcc|g\+\+|clang(?:\+\+)?|cc|c\+\+)\b/,
    failed: lines(
      "g?make(?:\\[\\d+\\])?: \\*\\*\\* ",
      "ninja: (?:build stopped|error): ",
      "CMake Error(?: at |:)",
      "The following tests FAILED:",
      `\\d+% tests passed, ${SOME} tests? failed out of `,
      "\\S+\\.(?:c|cc|cpp|cxx|m|mm|h|hpp):\\d+:(?:\\d+:)? (?:fatal )?error: ",
      "collect2: error: |clang(?:\\+\\+)?: error: ",
    ),
  },
  {
    run: /^(?:gradlew?|mvnw?|sbt|mill)\b/,
    failed: lines(
      "BUILD FAILED in ",
      "FAILURE: Build (?:failed|completed with \\d+ failures)",
      "> Task :\\S+ FAILED$",
      "e: (?:file://)?\\S+\\.kts?:\\d+:\\d+ ",
      `\\[ERROR\\] +Tests run: \\d+, (?:Failures: ${SOME}|Failures: 0, Errors: ${SOME})`,
      "\\[ERROR\\] \\S+\\.(?:java|kt|scala):\\[\\d+,\\d+\\]",
      "(?:\\[INFO\\] )?BUILD FAILURE$",
      "\\[ERROR\\] (?:Failed to execute goal|COMPILATION ERROR)",
      "\\[error\\] \\(.*\\) (?:\\S*TestsFailedException|Compilation failed)",
    ),
  },
  {
    run: /^(?:dotnet (?:build|test|publish|run|pack|restore|msbuild)|msbuild)\b/,
    failed: lines(
      "[ \\t]*Build FAILED\\.$",
      // In whatever language.
      `\\S+! +- [^:,]+: +${SOME}, [^:,]+: +\\d+, `,
      "\\[xUnit\\.net [\\d:.]+\\] .* \\[FAIL\\]$",
      "Test Run Failed\\.$",
      "[ \\t]*(?:\\S.*(?:\\(\\d+,\\d+\\)|proj|\\.slnx?) ?: |(?:MSBUILD|CSC) : )?error (?:[A-Z]{2,6}\\d{4})?: ",
      `[ \\t]+${SOME} Error\\(s\\)$`,
    ),
  },
  {
    run: /^(?:rspec|rails test|rails spec|rake|minitest|mix test|mix compile|ex_unit|rubocop|standardrb)\b/,
    failed: lines(
      `\\d+ examples?, (?:${SOME} failures?|0 failures,.* ${SOME} errors? occurred)`,
      `\\d+ (?:runs|tests), \\d+ assertions, (?:${SOME} failures|0 failures, ${SOME} errors)`,
      `(?:\\d+ \\w+, )?\\d+ tests?, ${SOME} failures?\\b`,
      "rspec \\./\\S+:\\d+ # ",
      `\\d+ files? inspected, ${SOME} offenses? detected(?!.* corrected)`,
      "rake aborted!$",
      "== Compilation error in file ",
    ),
  },
  {
    run: /^(?:phpunit|paratest|phpstan|psalm)\b/,
    failed: lines(
      "(?:FAILURES|ERRORS)!$",
      `There (?:was|were) ${SOME} (?:failure|error)s?:$`,
      `Tests: \\d+, Assertions: \\d+,.*(?:Errors|Failures): ${SOME}`,
      ` *\\[ERROR\\] Found ${SOME} errors?`,
    ),
    alone: lines(`${SOME} errors found$`),
  },
  {
    run: /^(?:docker (?:compose )?(?:-\S+ )*(?:build|buildx build)|docker buildx build|docker-compose build|podman build)\b/,
    failed: lines(
      "(?:ERROR: )?failed to solve: ",
      '(?:#\\d+ )?ERROR: process ".*" did not complete successfully: exit code: [1-9]',
      "The command '.*' returned a non-zero code: \\d",
    ),
    alone: lines("(?:ERROR: )?failed to "),
  },
  {
    run: /^(?:terraform|tofu|terragrunt)(?: -chdir=\S+)? (?:plan|apply|validate|init|destroy|test|import|refresh)\b/,
    failed: lines("│ Error: \\S", `(?:Failure|Success)! \\d+ passed, ${SOME} failed`),
    alone: lines("(?:[|] ?)?Error: \\S"),
  },
  {
    run: /^(?:swift (?:build|test)|xcodebuild)\b/,
    failed: lines(
      "\\*\\* (?:BUILD|TEST|ARCHIVE|CLEAN) FAILED \\*\\*",
      "\\S+\\.swift:\\d+:\\d+: error: ",
      "Test Suite '.*' failed at ",
    ),
  },
  {
    run: /^(?:flutter|dart) (?:test|analyze|build|compile)\b/,
    failed: lines(
      `\\d\\d:\\d\\d (?:\\+\\d+ )?(?:~\\d+ )?-${SOME}: Some tests failed`,
      "Some tests failed\\.$",
      " +error (?:•|-) ",
    ),
  },
  {
    run: /^(?:vite|webpack|rollup|next|nuxt|nuxi|astro|esbuild|tsup|react-scripts|parcel|turbo|nx|lerna|wrangler)\b(?!.* (?:dev|start|preview)\b)/,
    failed: lines(
      "(?:✗|x) Build failed in ",
      "error during build:",
      "Failed to compile\\.?$",
      `webpack [\\d.]+ compiled with ${SOME} errors?`,
      "> Build failed because of webpack errors",
      "✘ \\[ERROR\\] ",
      " ?ERROR +run failed: command ",
    ),
  },
  {
    run: /^pre-commit run\b/,
    failed: lines("- hook id: .*\\n(?:- duration: .*\\n)?- (?:exit code: |files were modified)"),
    alone: lines("- exit code: [1-9]", "- files were modified by this hook$", ".*\\.{3}Failed$"),
  },
  {
    run: /^bazel(?:isk)? (?:build|test|run)\b/,
    failed: lines("FAILED: Build did NOT complete", "//\\S+ +FAILED in "),
  },
]

/** They run whatever a project's files say, and tell in their own words that it failed. */
const DELEGATE: Runner = {
  run: /^(?:(?:npm|pnpm|yarn)(?: -[\w-]+(?:[= ](?!-)[\w@./*-]+)?)* (?:run(?:-script)?|test|t|ci|install|i|add|exec|build|lint|check|typecheck|type-check|format|[\w-]+:[\w:-]+)|yarn|bun (?:run|install|add)|(?:g?make|just|task|mise|moon|turbo|nx|rake|tox|nox|poe|invoke|composer|hatch|lerna|dagger|earthly)|mise (?:run|r)|deno task|npm-run-all|run-[sp]|concurrently|pre-commit|lint-staged)\b/,
  failed: lines(
    "npm (?:ERR!|error) (?:code|errno|command|Test failed|Lifecycle|Missing script|Could not|Exit status|\\d{3} )",
    "\\s?ELIFECYCLE\\s",
    "\\s?ERR_PNPM_\\w+",
    "error Command failed",
    'error: (?:script "[^"]+" (?:exited with|was terminated)|Recipe `[^`]+` failed)',
    "(?:mise )?ERROR task failed",
    "mise ERROR ",
    "task: Failed to run task ",
    "Script .+ (?:returned with error code \\d|handling the .+ event returned)",
  ),
}
/** Of these, nothing but a server is expected. */
const SERVES =
  /^\S+(?: run)? (?:dev|start|serve|preview|watch|logs?|view|info|ls|list|why|outdated|audit|search|config|help|tasks)\b/

/** All that the patterns above begin with. */
const NAMES = [
  "go|gotestsum|ginkgo|golangci-lint|cargo|cross|rustfmt|jest|vitest|mocha|nyc|c8|bunx?|deno|node|pest",
  "artisan|cypress|playwright|ava|wdio|karma|tsc|vue-tsc|tsgo|ng|nuxi?|eslint|stylelint|xo|standard",
  String.raw`oxlint|svelte-check|astro|biome|prettier|py\.?test|tox|nox|unittest|manage\.py|ruff|flake8|black|d?mypy`,
  String.raw`(?:based)?pyright|ty|pyrefly|g?make|cmake|ninja|meson|ctest|gcc|g\+\+|clang|cc|gradlew?|mvnw?|sbt`,
  "mill|dotnet|msbuild|rspec|rails|rake|mix|rubocop|standardrb|phpunit|paratest|phpstan|psalm|docker",
  "docker-compose|podman|terraform|tofu|terragrunt|swift|xcodebuild|flutter|dart|vite|webpack|rollup",
  "next|esbuild|tsup|react-scripts|craco|parcel|turbo|nx|lerna|wrangler|pre-commit|bazel|bazelisk",
  "np[mx]|pnpm|pnpx|yarn|just|task|mise|moon|poe|invoke|composer|hatch|dagger|earthly|run-[sp]",
  "npm-run-all|concurrently|lint-staged",
].join("|")
export const MAY_RUN = new RegExp(String.raw`\b(?:${NAMES})\b`)

/** What runs a program: words of shell grammar, values of variables, programs that take a command. */
const BEFORE = new RegExp(
  [
    String.raw`^(?:\(|[!{] |(?:if|then|else|elif|do|while|until|time) )\s*`,
    String.raw`^[A-Za-z_]\w*=(?:"[^"]*"|'[^']*'|[^\s"'$;&|<>()]|\$\w+(?!\w)|\$\{\w+\})* `,
    String.raw`^(?:sudo|env|command|exec|nice|nohup|caffeinate|xvfb-run|cross-env|rtk|unbuffer|stdbuf)(?: -\S+)* (?=\S)`,
    String.raw`^timeout(?: -\S+(?: \d+)?)* \d\S* `,
    String.raw`^(?:npx|bunx|pnpx|(?:pnpm|npm|yarn)(?: -[\w-]+(?:[= ](?!-)[\w@./*-]+)?)* (?:exec|dlx)|bun x|bun --bun)(?: --?[a-z]\S*)* (?:-- )?(?=[\w@.])`,
    String.raw`^(?:uv|poetry|pipenv|pdm|rye|hatch) run(?: -[\w-]*(?:[= ][^\s-]\S*)?)*? (?=(?:\S*\/)?(?:python[\d.]*|${NAMES})(?:\s|$))`,
    String.raw`^(?:bundle exec|mise (?:exec|x)(?: \S+)* --|direnv exec \S+|devbox run(?: --)?|nix develop(?: \S+)* (?:-c|--command)|php) `,
    String.raw`^(?:\S*\/)?python[\d.]*(?: -[A-Za-z]+)*? -m `,
    String.raw`^node (?=\S*\/(?:jest|vitest|mocha|tsc|eslint)(?:\.m?js)?(?: |$))`,
    // A package manager that is given the name of a program.
    String.raw`^(?:yarn|pnpm|bun run)(?: run)? (?=(?:jest|vitest|mocha|tsc|vue-tsc|eslint|biome|prettier|playwright|next|vite|turbo|nx)\b)`,
    // Folders and endings.
    String.raw`^["']?(?:[\w@.~$\{}:-]*[\\/])+(?=[\w.-]+["']?(?:\s|$))`,
  ].join("|"),
  "u",
)
const ENDING = /^([\w-]+)(?:\.(?:cmd|exe|bat|m?js|phar))?["']?(?=\s|$)/
/** Most that may stand before a program. */
const MOST_BEFORE = 8

/** A command from its program on, which is named as a shell would look for it. */
export function programOf(command: string): string {
  let program = command.replace(/\s+/g, " ").trim()
  for (let n = 0; n < MOST_BEFORE; n++) {
    const next = program.replace(BEFORE, "")
    if (next === program) break
    program = next
  }
  return program.replace(ENDING, "$1")
}

/** What is known of a failure of one command. */
export interface KnownRun {
  /** What it runs, as the shell would look for it. */
  readonly command: string
  readonly failures: readonly RegExp[]
}

const RUN_BY_OTHERS = [...RUNNERS, DELEGATE].flatMap(({ failed }) => failed ?? [])

/** What a command runs, whichever program starts it; undefined if it runs no such program. */
export function runOf(command: string): KnownRun | undefined {
  const program = programOf(command)
  if (program === "" || SERVES.test(program)) return undefined
  const own = RUNNERS.filter(({ run }) => run.test(program))
  const alone = own.flatMap(({ alone }) => alone ?? [])
  const isDelegate = DELEGATE.run.test(program)
  const failed = isDelegate ? RUN_BY_OTHERS : own.flatMap(({ failed }) => failed ?? [])
  const failures = [...failed, ...alone]
  return failures.length === 0 ? undefined : { command, failures }
}
