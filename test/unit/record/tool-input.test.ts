import { describe, expect, test } from "bun:test"
import {
  createdTaskId,
  exitCode,
  taskChange,
  todosOf,
  toolFiles,
  toolTarget,
} from "../../../src/agents/tool-kinds.ts"
import { commandPaths } from "../../../src/record/path-words.ts"

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
    expect(toolFiles("MultiEdit", { file_path: "/a", edits: [{}, {}] })).toEqual([{ path: "/a", op: "edit" }])
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
  test("taskChange", () => {
    expect(taskChange("TaskCreate", { subject: "a", description: "b" })).toEqual({
      subject: "a",
      status: "pending",
    })
    expect(taskChange("TaskUpdate", { taskId: "1", status: "completed" })).toEqual({
      id: "1",
      status: "completed",
    })
    expect(taskChange("TaskUpdate", { taskId: 2, subject: "c" })).toEqual({ id: "2", subject: "c" })
    expect(taskChange("TaskUpdate", null)).toEqual({})
    expect(taskChange("TaskList", {})).toBeUndefined()
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
