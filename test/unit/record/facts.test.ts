import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { factNames, pathsIn } from "../../../src/record/facts.ts"
import { commandPaths } from "../../../src/record/path-words.ts"
import { commandUses, openingOf, simpleCommands } from "../../../src/record/shell-script.ts"

describe("names", () => {
  test.each([
    ["call retryAfter() in HttpClient", ["retryAfter", "HttpClient"]],
    ["MAX_DELAY and read_header, twice: MAX_DELAY", ["MAX_DELAY", "read_header"]],
    ["plain Words, in a Sentence. One two.", []],
    ["toolu_01AbCdEf23456789 and msg_9f8e7d6c5b4a", []],
    ["größeÄndern ist kein Name hier", []],
    [
      "run `retry-after-tests` on `client.config`, see `mise.toml`",
      ["retry-after-tests", "client.config", "mise.toml"],
    ],
    ["/tmp/ledger-uMsnMz/a.txt and org_ledger-image_2026 but ledgerOf", ["ledgerOf"]],
    ["a read-only client.config, `plain` and `-x` and `3.14` and `a b-c`", []],
    ["`retryAfter()` twice: retryAfter", ["retryAfter"]],
    // Escapes of a string within what a tool is given; names of files on Windows begin behind a backslash, too.
    ['"## Ledger\\nWhen it is asked\\tUnder nothing", C:\\src\\newLedger\\nodeOf', ["newLedger", "nodeOf"]],
    ["$nodeOf, node$Of, nodeOf$, $ nodeIn and {nodeAt}", ["nodeIn", "nodeAt"]],
    ["pre-nodeOf, nodeOf-post, -nodeIn, nodeAt- and größenOf", ["nodeIn", "nodeAt"]],
    [
      "__init__, _private_of, 1st_node, a_, _b, __, HTTP, IDs, useHTTP, H2Server",
      ["_private_of", "useHTTP", "H2Server"],
    ],
    ["WebFetch of `docs.ledger.com`, which is in_progress on GitHub: see ledgerOf", ["ledgerOf"]],
  ])("%s", (text, names) => expect(factNames(text)).toEqual(names as string[]))

  test("of a whole file only its head, and not without end", () => {
    const many = Array.from(
      { length: 3000 },
      (_, n) => `name${String.fromCharCode(65 + (n % 26))}${"x".repeat(n % 40)}`,
    )
    expect(factNames(many.join(" ")).length).toBeLessThanOrEqual(120)
    expect(factNames(`${" ".repeat(30_000)}lateName`)).toEqual([])
  })
})

describe("paths", () => {
  test.each([
    ["see `src/client.ts:12` and (test/client.test.ts).", ["src/client.ts", "test/client.test.ts"]],
    ["either/or, 1/2, http://example.com/a.html, client.ts", []],
    ["~/notes/today.md, ./a/b.json!", ["~/notes/today.md", "./a/b.json"]],
    [
      '"$ROOT"/hooks/ask.sh, {{root}}/docs/a.md, <folder>/src/b.ts',
      ["hooks/ask.sh", "docs/a.md", "src/b.ts"],
    ],
    ['"/etc/a.conf" >/tmp/b.log (/srv/c.md)', ["/etc/a.conf", "/tmp/b.log", "/srv/c.md"]],
  ])("%s", (text, paths) => expect(pathsIn(text)).toEqual(paths as string[]))

  test("are the same beside what looks like a drive, which has words without a slash looked at", () => {
    const piece = fc.constantFrom(
      ..." \n\u00a0\"'`<>()[]{}|,;/\\:.~é",
      ..."src/a.ts door.md https://kiln.test/b.js $ROOT } C:".split(" "),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 16 }), (pieces) => {
        const text = pieces.join("")
        expect(pathsIn(text)).toEqual(pathsIn(`${text} :\\`))
      }),
      { numRuns: 3000 },
    )
  })
})

describe("commands", () => {
  test("the first of each pipeline, and the line it stood in", () => {
    expect(commandUses("cd app && npm test 2>&1 | tail -20; git status --short")).toEqual([
      { command: "npm test", line: "npm test 2>&1 | tail -20" },
      { command: "git status --short", line: "git status --short" },
    ])
  })

  test.each([
    ['git commit -m "a; b && c | d" > /dev/null', ['git commit -m "a; b && c | d"']],
    ["npm run build \\\n  --fast", ["npm run build --fast"]],
    ['python3 -c "\nimport os\nprint(os.name)\n"', []],
    ["cat > f.txt <<'EOF'\nnpm run nothing\nEOF", []],
    ["for f in a b; do\n  echo $f\ndone", []],
    ["DEBUG=1 npm test", []],
    ["(cd app && npm test -- retry)", ["npm test -- retry"]],
    ["(source env && ((cd app && npm test 2>&1 | tail -3)))", ["npm test"]],
    ['git log --since="$(date -d (now))" && echo $(ls app)', ['git log --since="$(date -d (now))"']],
    ["grep -rn 'a)' src", ["grep -rn 'a)' src"]],
    ["ls", []],
    ["echo 'half a quote && npm test", []],
    ['cat "$f"; mkdir -p $D; "$TOOL" -p a.ts; cp -r "$a" "$b"', []],
    ['gh pr view "$n" --json state', ['gh pr view "$n" --json state']],
  ])("%j", (script, commands) => expect(simpleCommands(script)).toEqual(commands as string[]))

  test("a here-document is told by the line that begins it", () => {
    expect(commandUses("python3 - <<'EOF'\nprint(1)\nEOF")).toEqual([
      { command: "python3 -", line: "python3 - <<'EOF'" },
    ])
  })

  test.each([
    ["cd /srv/app\nnpm test", "cd /srv/app"],
    ["cd app  &&  npm test", "cd app && npm test"],
    ["DEBUG=1 npm test", "DEBUG=1 npm test"],
    ["\nR=org/repo\ngh pr view", "R=org/repo"],
    ["# why\nnpm test", undefined],
    ["for f in a b; do\n  wc $f\ndone", undefined],
    ["echo done; npm test", undefined],
    ["npm run build \\\n  --fast", undefined],
    ["make", undefined],
    ["run() {\n  make all\n}\nrun", undefined],
    ['say-it () { echo "$1"; }', undefined],
    ['cat "$f"\nnpm test', undefined],
    [`npm run ${"x".repeat(200)}`, `npm run ${"x".repeat(152)}`],
  ])("opening of %j", (script, opening) => expect(openingOf(script)).toBe(opening))
})

/**
 * In the comment of a script, an apostrophe was taken for the beginning of a quotation: of the commands and files behind
 * it, none was found.
 */
describe("comments in scripts", () => {
  const SCRIPTS: [script: string, commands: string[], paths: string[]][] = [
    [
      "# Let's see\nnpm test --silent\ncat src/loom.ts",
      ["npm test --silent", "cat src/loom.ts"],
      ["src/loom.ts"],
    ],
    [
      "npm run build # don't wait\nwc -l src/shuttle.ts",
      ["npm run build", "wc -l src/shuttle.ts"],
      ["src/shuttle.ts"],
    ],
    [
      "npm test --silent;# see docs/loom.md, <<OLD\ngit status -s",
      ["npm test --silent", "git status -s"],
      [],
    ],
    ["(# it's one\ncd app && sort a.txt)", ["sort a.txt"], ["a.txt"]],
  ]

  test.each(SCRIPTS)("%j", (script, commands, paths) => {
    expect(simpleCommands(script)).toEqual(commands)
    expect(commandPaths(script)).toEqual(paths)
  })

  test("what is no comment stays", () => {
    const script = `git commit -m "it's #3" && run a#b $# 'c # d' && cat src/loom.ts#L3 \\# src/felt.ts`
    expect(simpleCommands(script)).toEqual([
      `git commit -m "it's #3"`,
      "run a#b $# 'c # d'",
      "cat src/loom.ts#L3 \\# src/felt.ts",
    ])
    expect(commandPaths(script)).toEqual(["src/felt.ts"])
  })
})
