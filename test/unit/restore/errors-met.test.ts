/** Which errors are told in a restore. */
import { describe, expect, test } from "bun:test"
import { errorsMet, isDemand } from "../../../src/agents/errors-met.ts"
import { Inside } from "../../support/inside.ts"
import { contextOf } from "../../support/machine.ts"

/** "Errors seen" was full of how the host wants its own tools to be used, and of what it or humans had refused. */
describe("errors that a call has met", () => {
  const failed = (text: string) => ({ text, isError: true })

  test.each([
    ["Edit", "2.1.112", "<tool_use_error>String to replace not found in file.\nString: a</tool_use_error>"],
    ["Edit", "2.1.112", "<tool_use_error>File has not been read yet. Read it first.</tool_use_error>"],
    ["Edit", "2.1.226", "File has been modified since read, either by the user or by a linter."],
    ["Edit", "1.0.51", "Found 2 matches of the string to replace, but replace_all is false."],
    ["Read", "2.1.226", "File does not exist. Note: your current working directory is /srv/kiln."],
    ["Grep", "2.0.76", "Path does not exist: /srv/kilns"],
  ])("a demand, %s of %s: %s", (tool, version, text) => {
    const lines = errorsMet(tool, failed(text), version)
    expect(lines.map(isDemand)).toEqual([true])
  })

  test.each([
    ["Bash", "2.1.112", "<tool_use_error>Blocked: sleep 45 followed by: kiln status</tool_use_error>"],
    ["Bash", "2.1.229", "Permission for this action was denied by the classifier. Reason: none."],
    // So a human refused in that version.
    ["Bash", "2.0.5", "please add the door first"],
    ["mcp__kiln__fire", "2.1.226", "Error: the door is open"],
  ])("nothing, %s of %s: %s", (tool, version, text) =>
    expect(errorsMet(tool, failed(text), version)).toEqual([]),
  )

  test.each([
    ["Bash", "2.1.112", "Exit code 1\nPath does not exist: /srv/kilns", "Path does not exist: /srv/kilns"],
    ["Bash", "2.1.112", "Command timed out after 2m 0.0s", "Command timed out after 2m 0.0s"],
    // Hosts of that time tell no status.
    [
      "Bash",
      "1.0.51",
      "grep: kiln.py: No such file or directory",
      "grep: kiln.py: No such file or directory",
    ],
    ["NotebookEdit", "2.1.112", "The kernel was not found", "The kernel was not found"],
    // A hook's words: it will refuse again.
    ["Bash", "2.1.226", "Use the Read tool to read file contents", "Use the Read tool to read file contents"],
  ])("but an error, %s of %s: %s", (tool, version, text, line) =>
    expect(errorsMet(tool, failed(text), version)).toEqual([line]),
  )

  test("demands of the host come last in a restore, and two of them", async () => {
    using machine = new Inside()
    const session = machine.session()
    const demand = (text: string) => ({
      tool: "Edit",
      input: { file_path: "/srv/kiln.py" },
      isError: true,
      output: `<tool_use_error>${text}</tool_use_error>`,
    })
    const unread = demand("File has not been read yet. Read it first before writing to it.")
    session.turn("Close the door", [
      unread,
      unread,
      demand("String to replace not found in file."),
      demand("File has been modified since read, either by the user or by a linter."),
      {
        tool: "Bash",
        input: { command: "kiln open" },
        output: "Exit code 3\nkiln: no such door",
        isError: true,
      },
      { tool: "Bash", input: { command: "kiln open" }, output: "it is" },
    ])
    await machine.hook("stop", session.flush())
    const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
    const [, lines = ""] = /## Errors seen\n((?:- .*\n)*)/.exec(given) ?? []
    expect(lines.split("\n")[0]).toBe('- "kiln: no such door" (exit 3)')
    expect(lines.match(/^- "(?:File|String)/gm)).toHaveLength(2)
  })
})
