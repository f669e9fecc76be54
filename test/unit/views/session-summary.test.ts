/** What a session was about, without a model. */
import { expect, test } from "bun:test"
import { extractedSummary, sessionSummary, summaryParts } from "../../../src/views/session-summary.ts"
import { Archive } from "../../support/archive.ts"

const bash = (command: string, output: string, isError = false) => ({
  tool: "Bash",
  input: { command },
  output,
  isError,
})

test("first prompt, decisions, files, the last test run and how it ended, open tasks", () => {
  using archive = new Archive()
  const session = archive
    .session("one")
    .turn(
      "Add retries to the client",
      [
        { tool: "Edit", input: { file_path: "/p/src/client.ts" }, output: "ok" },
        bash("npm test", "1 failed", true),
        bash("npm test", "all pass"),
        bash("git status", "clean"),
        { tool: "TodoWrite", input: { todos: [{ content: "changelog", status: "pending" }] }, output: "" },
      ],
      "I decided to use exponential backoff because linear retries overload the server.",
    )
  archive.follow(session.flush())
  const summary = sessionSummary(archive.db, "one")
  expect(summary).toEqual(extractedSummary(archive.db, "one"))
  expect(summary).toMatchObject({
    kind: "extract",
    request: "Add retries to the client",
    decisions: [
      { text: expect.stringContaining("exponential backoff"), handle: expect.stringMatching(/^ctx:/) },
    ],
    files: ["/p/src/client.ts"],
    outcome: { command: "npm test", failed: false, exitCode: null },
    todos: ["changelog"],
  })
  expect(summaryParts(summary).map(({ label, text }) => `${label}: ${text}`)).toEqual([
    "asked: Add retries to the client",
    expect.stringContaining("decided: "),
    "changed: /p/src/client.ts",
    "outcome: npm test succeeded",
    "open: changelog",
  ])
})

test("without a test, the last command; of a session that is not there, nothing", () => {
  using archive = new Archive()
  const session = archive
    .session("one")
    .turn("Look around", [bash("ls", "a b"), bash("cat c", "Exit code 1\nno such file", true)])
  archive.follow(session.flush())
  expect(extractedSummary(archive.db, "one").outcome).toMatchObject({ command: "cat c", failed: true })
  expect(summaryParts(sessionSummary(archive.db, "none"))).toEqual([])
})
