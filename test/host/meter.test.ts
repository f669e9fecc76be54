/** What the user sees of the window in a terminal: the status line, the line in each zone, and `/compact`. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { clearStages, once, openStage, type Stage } from "./checks.ts"
import { type Client, clientFor } from "./clients.ts"
import { Terminal } from "./drive.ts"
import { say } from "./mock-api.ts"
import { countCalls, until } from "./world.ts"

setDefaultTimeout(240_000)

const CONSTRAINT = "never touch the lexer"
/** Tokens at which the window of 200,000 is in the first zone; in 2.0.76, too, which compacts at 155,000. */
const WARNED = 120_000
const NOTICE = "/clear is safe at any time"
/** How the line begins that is printed for the summary. */
const INSTRUCTIONS = "ctxbridge: 2 turns of this session"

/** The status line is under the prompt. */
const lineOf = (screen: string): string =>
  screen
    .split("\n")
    .findLast((line) => /🛡|📂/.test(line))
    ?.trim() ?? ""

async function play(client: Client) {
  const stage: Stage = openStage(client)
  const { world, mock } = stage
  mock.plan("Write the parser", [say("Written.", WARNED)])
  mock.plan("Go on", [say("Gone on.", WARNED + 2000)])
  mock.plan("Small again", [say("Yes.", 21_000)])
  const terminal = await Terminal.start(world)
  const entered = async (text: string, event: string, detail?: string): Promise<string> => {
    const before = countCalls(world, event, detail)
    await terminal.enter(text, () => countCalls(world, event, detail) > before)
    return terminal.screen()
  }
  const lineWith = async (what: string, figures: RegExp): Promise<string> => {
    await until(what, () => figures.test(lineOf(terminal.screen())), { state: () => terminal.screen() })
    return lineOf(terminal.screen())
  }
  try {
    await entered(`Write the parser, ${CONSTRAINT}`, "Stop")
    const filled = await lineWith("the fill in the status line", /120K/)
    await entered("Go on with it", "Stop")
    await terminal.waitFor("what the user is told", () => terminal.shows(NOTICE))
    const told = terminal.screen()
    await lineWith("the second fill", /122K/)
    await entered("/compact", "SessionStart", "compact")
    await terminal.waitFor("the end of the compaction", (screen) => /compacted/i.test(screen))
    await terminal.waitFor("what was printed for it", () => terminal.shows(INSTRUCTIONS))
    const compacted = terminal.screen()
    // Older versions do not call the status line before the next answer.
    const isCalled = Bun.semver.order(client.version, "2.1.329") >= 0
    const emptied = isCalled ? await lineWith("what the compaction left", /~.*⟳1/) : undefined
    await entered("Small again?", "Stop")
    const answered = await lineWith("the next answer's figures", /21\.0K ⟳1/)
    await terminal.leave()
    return { ...stage, filled, told, compacted, emptied, answered }
  } finally {
    terminal.kill()
  }
}

for (const wanted of ["2.0.76", "2.1.112", "latest"]) {
  const { client, missing } = await clientFor(wanted)
  const noTerminal = missing ?? (Bun.which("tmux") === null ? "tmux is not installed" : undefined)
  describe.skipIf(noTerminal !== undefined)(`the meter in Claude Code ${client.version}`, () => {
    const played = once(() => play(client))
    afterAll(clearStages)

    test("the status line shows the fill, and what is left after a compaction", async () => {
      const { filled, emptied, answered } = await played()
      expect(filled).toContain("120K ⊘")
      if (emptied !== undefined) expect(emptied).not.toContain("122K")
      expect(answered).toContain("21.0K ⟳1")
    })

    test("the user is told once, and the model never", async () => {
      const { told, mock } = await played()
      expect(told.replaceAll(/\s+/g, " ")).toContain("UserPromptSubmit says: ctxbridge: context at 7")
      expect(told.match(/UserPromptSubmit says/g)).toHaveLength(1)
      expect(mock.requests.filter(({ text }) => text.includes(NOTICE))).toEqual([])
    })

    test("/compact is told what is recorded, and the restore does not say it again", async () => {
      const { compacted, mock } = await played()
      const shown = compacted.slice(compacted.indexOf("/compact"))
      expect(shown.split("ctxbridge: ")).toHaveLength(2)
      expect(shown.replaceAll(/\s+/g, " ")).toContain("user constraint")
      const asked = mock.requests.find(({ kind }) => kind === "compact")!.text
      const instructions = asked.slice(asked.lastIndexOf("Additional Instructions:"))
      expect(instructions).toContain(INSTRUCTIONS)
      expect(instructions).toContain(CONSTRAINT)
      const after = mock.requests.findLast(({ text }) => text.includes("Small again?"))!.text
      expect(after).toContain("user constraint")
      expect(after).toContain("<ctxbridge-restore")
      expect(after).not.toContain("Standing user constraints")
    })
  })
}
