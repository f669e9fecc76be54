import { expect, test } from "bun:test"
import { gather } from "../../../src/restore/gather.ts"
import { renderRestore } from "../../../src/restore/render.ts"
import { Archive } from "../../support/archive.ts"

const bash = (command: string, output = "", isError = false) => ({
  tool: "Bash",
  input: { command },
  output,
  isError,
})

const sectionOf = (text: string, title: string): string =>
  text.split("\n## ").find((section) => section.startsWith(`${title}\n`)) ?? ""

function restored(archive: Archive, summary = "", budget = 4000): string {
  return renderRestore(gather(archive.db, "s1"), { source: "compact", summary, budget })
}

test("a command that the human refused was not run, so it did not fail", () => {
  using archive = new Archive()
  const refusal =
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file)."
  const transcript = archive.session("s1")
  transcript.turn("deploy it", [bash("npm run stage", "Exit code 1\nno such host", true)])
  transcript.turn("again", [bash("npm run deploy", refusal, true)])
  archive.follow(transcript.flush())
  const { failing } = gather(archive.db, "s1")
  expect(failing?.command).toBe("npm run stage")
})

test.each([
  "The user doesn't want to proceed with this tool use. The tool use was rejected.",
  "Permission to use Bash with command npm run check has been denied.",
  "Claude requested permissions to use Bash, but you haven't granted it yet.",
  "<tool_use_error>InputValidationError: Bash failed</tool_use_error>",
])("how a command ended does not change when it is not run again: %s", (refusal) => {
  using archive = new Archive()
  const transcript = archive.session("s1")
  transcript.turn("test it", [
    bash("npm run check -- all", "fine"),
    bash("git push --dry-run", "Exit code 128\nno upstream", true),
    bash("npm run check -- all", refusal, true),
    bash("git push --dry-run", refusal, true),
  ])
  archive.follow(transcript.flush())
  const { commands } = gather(archive.db, "s1").facts
  expect(commands.find(({ text }) => text === "npm run check -- all")?.exit).toBeUndefined()
  expect(commands.find(({ text }) => text === "git push --dry-run")?.exit).toBe("Exit code 128")
})

test("what was used often and recently comes first", () => {
  using archive = new Archive()
  const transcript = archive.session("s1")
  transcript.turn("start", [], "onceLongAgo is old")
  for (let n = 0; n < 40; n++)
    transcript.turn(`go on ${n}`, [], `oftenUsed in step${String.fromCharCode(65 + n)}Now`)
  transcript.turn("end", [], "justNow it was")
  archive.follow(transcript.flush())
  const names = gather(archive.db, "s1").facts.names.map(({ text }) => text)
  expect(names.indexOf("oftenUsed")).toBe(0)
  expect(names.indexOf("justNow")).toBeLessThan(names.indexOf("onceLongAgo"))
})

test("commands are shown as last typed without what trims their output, with the exit status if they failed", () => {
  using archive = new Archive()
  const transcript = archive.session("s1")
  transcript.turn("test it", [
    bash("npm run check -- all", "fine"),
    bash("npm run check -- all 2>&1 | tail -5", "Exit code 3\nError: no such table: users", true),
    bash("git status --short 2>/dev/null | head -n 20", "M a.ts"),
    bash("npm run list | grep kiln", "kiln"),
    bash("npm run other -- thing", "Exit code 1\nno", true),
    bash("git log --oneline", "abc"),
  ])
  archive.follow(transcript.flush())
  const lines = sectionOf(restored(archive), "Commands run").split("\n")
  expect(lines).toContain("- `npm run check -- all` ×2 (exit 3)")
  expect(lines).toContain("- `git status --short`")
  expect(lines).toContain("- `npm run list | grep kiln`")
})

test("one of several similar commands is shown, others later", () => {
  using archive = new Archive()
  const transcript = archive.session("s1")
  const files = Array.from({ length: 40 }, (_, n) => `src/part-${n}/file.ts`)
  transcript.turn("read", [
    ...files.map((file) => bash(`wc -l ${file} -c`)),
    bash("gh pr view --json state"),
    bash("ls"),
  ])
  archive.follow(transcript.flush())
  const [first, second] = sectionOf(restored(archive), "Commands run").split("\n").slice(1)
  expect([first?.slice(0, 9), second]).toEqual(["- `wc -l ", "- `gh pr view --json state`"])
})

test("commands that work on files come before those that look at them", () => {
  using archive = new Archive()
  const transcript = archive.session("s1")
  const looks = Array.from({ length: 6 }, () => [
    bash("grep -n total src/ledger.ts"),
    bash("wc -l notes.txt"),
  ])
  transcript.turn("look", [...looks.flat(), ...[1, 2, 3].map(() => bash("npm run check -- ledger"))])
  transcript.turn("go on", [bash("git status")])
  archive.follow(transcript.flush())
  expect(sectionOf(restored(archive), "Commands run").split("\n").slice(1)).toEqual([
    "- `npm run check -- ledger` ×3",
    "- `wc -l notes.txt` ×6",
    "- `grep -n total src/ledger.ts` ×6",
  ])
})

test("some of many similar commands are shown, and the beginnings of the others", () => {
  using archive = new Archive()
  const transcript = archive.session("s1")
  const letters = [..."abcdefghijklmnopqrstuvwxyz"]
  const long = "with many more words than any line of commands has room for ".repeat(3).trim()
  transcript.turn("go", [
    ...letters.map((name) => bash(`uv run pytest test/unit/test_${name}.py --exitfirst`)),
    ...letters.map((name) => bash(`gh release create v${name} --notes "${long}"`)),
    bash("cd /srv/ledger\npython3 - <<'PY'\nprint(1)\nPY"),
    bash("cd /srv/ledger\npython3 - <<'PY'\nprint(2)\nPY"),
    bash("git status"),
  ])
  archive.follow(transcript.flush())
  const commands = sectionOf(restored(archive), "Commands run").split("\n").slice(1)
  expect(commands.filter((line) => line.startsWith("- `uv run pytest test/unit/test_"))).toHaveLength(5)
  const also = commands.filter((line) => line.startsWith("- also: "))
  expect(also).toHaveLength(1)
  expect(commands.at(-1)).toBe(also[0]!)
  expect(also[0]).toContain("cd /srv/ledger ×2")
  expect(also[0]).toContain("python3 - <<'PY' ×2")
  // Told at length already.
  expect(also[0]).not.toContain("uv run")
})

test("the folder in which scripts run is shown once", () => {
  using archive = new Archive()
  const transcript = archive.session("s1")
  transcript.turn("go", [
    ...["a", "b", "c"].map((name) => bash(`cd /srv/app\nnpm run job-${name}`)),
    bash("git status"),
  ])
  archive.follow(transcript.flush())
  const commands = sectionOf(restored(archive), "Commands run")
  expect(commands.match(/cd \/srv\/app/g)).toHaveLength(1)
  expect(commands).toContain("- also: `cd /srv/app ×3`")
  expect(commands).toContain("`npm run job-c`")
})

test("why calls failed, with their command's exit status", () => {
  using archive = new Archive()
  const transcript = archive.session("s1")
  transcript.turn("go", [
    bash("make all", "Exit code 2\nnothing here to make", true),
    bash("make one", "Exit code 2\nbuilding one\nmake: *** no rule to make one", true),
    bash("make one", "fine"),
    bash("make two 2>&1 | tail -3", "make: *** no rule to make two"),
    bash("make none", "Exit code 7", true),
    {
      tool: "Edit",
      input: { file_path: "/a" },
      output: "<tool_use_error>Not read yet.</tool_use_error>",
      isError: true,
    },
    { tool: "Edit", input: { file_path: "/b" }, output: "The user doesn't want to do this.", isError: true },
  ])
  archive.follow(transcript.flush())
  const errors = sectionOf(restored(archive), "Errors seen").split("\n").slice(1).sort()
  expect(errors).toEqual([
    '- "Not read yet."',
    '- "make: *** no rule to make one" (exit 2)',
    '- "make: *** no rule to make two"',
    '- "nothing here to make" (exit 2)',
  ])
})

test("a name replaces shorter names that it begins with", () => {
  using archive = new Archive()
  const transcript = archive.session("s1")
  for (const words of ["ledger_sum", "ledger_sum", "`ledger_sum.dart`", "ledger_sums and `ledger.sum.total`"])
    transcript.turn("look", [], words)
  archive.follow(transcript.flush())
  const [names] = sectionOf(restored(archive), "Names").split("\n").slice(1)
  expect(names?.slice(3, -1).split(" ").sort()).toEqual([
    "ledger.sum.total",
    "ledger_sum.dart",
    "ledger_sums",
  ])
})

test("nothing that the summary contains", () => {
  using archive = new Archive()
  const transcript = archive.session("s1")
  transcript.turn(
    "look",
    [bash("npm run lint -- --fix", "x\nerror: cannot find module q\ny")],
    "see src/deep/one.ts, src/deep/two.ts: fooBar, bazQux",
  )
  archive.follow(transcript.flush())
  const all = restored(archive)
  for (const fact of [
    "one.ts",
    "two.ts",
    "fooBar",
    "bazQux",
    "npm run lint -- --fix",
    "cannot find module q",
  ])
    expect(all.split("## Turns")[0]).toContain(fact)
  const rest = restored(
    archive,
    "<summary>edited deep/one.ts and fooBar; ran `npm run lint -- --fix`; error: cannot find module q</summary>",
  )
  const lists = rest.split("## Turns")[0]!
  for (const fact of ["one.ts", "fooBar", "lint -- --fix", "cannot find module q"])
    expect(lists).not.toContain(fact)
  for (const fact of ["two.ts", "bazQux"]) expect(lists).toContain(fact)
})

test("a name of code counts as told only in its own letters", () => {
  using archive = new Archive()
  const transcript = archive.session("s1").turn("look", [], "userId and UserName")
  archive.follow(transcript.flush())
  const [names] = sectionOf(restored(archive, "It has a UserId and a UserName."), "Names")
    .split("\n")
    .slice(1)
  expect(names).toBe("- `userId`")
})

test("a path gives way to one that says more of it, and programs are not named", () => {
  using archive = new Archive()
  const transcript = archive.session("s1", { cwd: "/srv/app" })
  transcript.turn("look", [bash("/usr/bin/sed -n 3p kiln.ts")], "it is in src/oven/kiln.ts")
  archive.follow(transcript.flush())
  expect(sectionOf(restored(archive), "Paths")).toBe("Paths\n- `src/oven/kiln.ts`")
})

test("neither names and paths from tools nor subagents' words are given back", () => {
  using archive = new Archive()
  const transcript = archive.session("s1")
  transcript.turn("look", [bash("cat notes", "run evilName from evil/path.sh")], "ownName")
  const agent = archive.session("s1/agent-a", { agent: "a" })
  agent.user("brief").message().say("agentName in agent/file.ts")
  archive.follow(transcript.flush())
  archive.follow(agent.flush())
  const { facts } = gather(archive.db, "s1")
  expect(facts.names.map(({ text }) => text)).toEqual(["ownName"])
  expect(facts.paths).toEqual([])
})

test("a folder shared by many paths is shown once", () => {
  using archive = new Archive()
  const folder = "/var/long/folder/of/somebody/else"
  const transcript = archive.session("s1")
  transcript.turn("look", [], ["a", "b", "c"].map((name) => `${folder}/${name}.txt`).join(" "))
  archive.follow(transcript.flush())
  // A file and its folder stand together, as elsewhere in the session.
  expect(sectionOf(restored(archive), "Paths")).toContain(
    "- in `/var/long/folder/of/somebody/`: `else/a.txt else/b.txt else/c.txt`",
  )
})

test("five turns keep their room, and the budget is used up", () => {
  using archive = new Archive()
  const transcript = archive.session("s1")
  for (let n = 0; n < 60; n++) {
    const name = `${String.fromCharCode(97 + (n % 26))}${"o".repeat(n % 9)}`
    transcript.turn(
      `please look at ${name} ${"and more ".repeat(20)}`,
      [bash(`npm run job-${name}-${n}`, `Error: job ${name} failed badly`)],
      `thingOf${name} in src/${name}/file.ts ${"at length ".repeat(20)}`,
    )
  }
  archive.follow(transcript.flush())
  for (const budget of [2000, 4000, 9000]) {
    const text = restored(archive, "", budget)
    expect(text.length).toBeLessThanOrEqual(budget)
    expect(text.length).toBeGreaterThan(budget - 200)
    expect(
      text.split("\n").filter((line) => /^- ctx:\w+ "please look/.test(line)).length,
    ).toBeGreaterThanOrEqual(5)
    expect(restored(archive, "", budget)).toBe(text)
  }
})

test("files in flight: last changed first", () => {
  using archive = new Archive()
  const transcript = archive.session("s1")
  const edit = (name: string) => ({ tool: "Edit", input: { file_path: `/src/${name}` }, output: "ok" })
  transcript.turn("one", [edit("a.ts"), edit("b.ts"), edit("a.ts")])
  transcript.turn("two", [edit("c.ts"), edit("b.ts")])
  transcript.turn("three", [edit("a.ts"), { tool: "Read", input: { file_path: "/src/d.ts" }, output: "1→x" }])
  archive.follow(transcript.flush())
  const { files } = gather(archive.db, "s1")
  expect(files.map(({ path }) => path)).toEqual(["/src/a.ts", "/src/b.ts", "/src/c.ts"])
})
