import { describe, expect, test } from "bun:test"
import { decodeLine } from "../../../src/agents/agents.ts"
import { numbersIn } from "../../../src/record/facts.ts"
import { holderOf, type Receipt, receiptsIn, shortNames } from "../../../src/restore/receipt.ts"
import { Inside, run } from "../../support/inside.ts"
import { Transcript } from "../../support/transcript.ts"

/** Receipts of made-up transcripts in which every count is known. */
describe("receipt", () => {
  const session = (version = "2.1.112"): Transcript =>
    new Transcript({ session: "s", cwd: "/src/app", version, path: "/nowhere/s.jsonl" })

  function receipts(transcript: Transcript, given = ""): Receipt[] {
    let offset = 0
    const placed = transcript.text
      .trimEnd()
      .split("\n")
      .map((line) => {
        const one = { record: decodeLine(line), offset }
        offset += Buffer.byteLength(line) + 1
        return one
      })
    return [...receiptsIn("s", placed, () => given)]
  }

  const bash = (command: string, output: string, isError = false) => ({
    tool: "Bash",
    input: { command },
    output,
    isError,
  })

  const past = (transcript: Transcript): Transcript =>
    transcript.turn(
      "Never touch the generated files. It took 1,250 ms.",
      [
        { tool: "Edit", input: { file_path: "/src/app/lib/client.ts" }, output: "ok" },
        bash("npm test -- retry", "TypeError: retryLoop is not a function", true),
        bash("git status --short", "M client.ts"),
      ],
      "I decided to use backoffPolicy because it spreads load. See lib/http.ts.",
    )

  const RESTORE = `<ctxbridge-restore source="compact" session="s">
## Commands run
- \`npm test -- retry\` (exit 1)
## Errors seen
- "TypeError: retryLoop is not a function"
</ctxbridge-restore>`

  const arrive = (transcript: Transcript, hookEvent = "SessionStart"): Transcript =>
    transcript.line({
      type: "attachment",
      attachment: { type: "hook_additional_context", hookEvent, content: [RESTORE] },
    })

  describe("counts", () => {
    test("a choice with what was chosen, which the choice alone does not keep", () => {
      const options = "Which one?\n\n1. **Keep the lock file in the vault**\n2. **Use a socket**"
      const transcript = session().turn("Add a lock", [], options).turn("/effort", [], "").turn("option 2")
      transcript.boundary().summary("They took option 2.")
      const decision = { before: 1, kept: 0, given: 0, lost: 1 }
      expect(receipts(arrive(transcript))[0]?.kinds).toMatchObject({ decision })
    })

    test("by kind: before, kept by the summary, given back, lost", () => {
      const transcript = past(session()).boundary("auto", 167_400)
      transcript.summary("Edited lib/client.ts. It took 1,250 ms, not 250 ms.")
      const [receipt] = receipts(arrive(transcript).turn("go on"))
      expect(receipt).toMatchObject({
        session: "s",
        trigger: "auto",
        preTokens: 167_400,
        characters: RESTORE.length,
        delivery: "arrived",
      })
      expect(receipt!.kinds).toEqual({
        constraint: { before: 1, kept: 0, given: 0, lost: 1 },
        decision: { before: 1, kept: 0, given: 0, lost: 1 },
        path: { before: 2, kept: 1, given: 0, lost: 1 },
        command: { before: 2, kept: 0, given: 1, lost: 1 },
        name: { before: 1, kept: 0, given: 0, lost: 1 },
        error: { before: 1, kept: 0, given: 1, lost: 0 },
        number: { before: 1, kept: 1, given: 0, lost: 0 },
      })
    })

    test("messages that the host keeps count as kept, as do those that a plugin writes again", () => {
      const kept = "aaaaaaaa-0000-4000-8000-000000000001"
      const listing = session().user("Rename fooBar").user("Rename barBaz", { uuid: kept })
      const compactMetadata = { trigger: "auto", preTokens: 1, preservedMessages: { allUuids: [kept] } }
      listing.line({ type: "system", subtype: "compact_boundary", compactMetadata }).summary("Nothing.")
      expect(receipts(listing)[0]!.kinds.name).toEqual({ before: 2, kept: 1, given: 0, lost: 1 })

      const again = session().user("Rename fooBar").user("Rename barBaz").boundary("manual")
      again.user("Rename barBaz", { timestamp: "2026-03-02T08:00:01.000Z" }).turn("go on with fooBar")
      expect(receipts(again)[0]!.kinds.name).toEqual({ before: 2, kept: 1, given: 0, lost: 1 })
    })

    test("each compaction covers what came since the previous one, including its summary", () => {
      const transcript = past(session()).boundary().summary("Look at lib/client.ts and pullRequests.")
      transcript.turn("Now rename fooBar").boundary().summary("Renamed fooBar.")
      const [first, second] = receipts(transcript)
      expect(first!.kinds.path.before).toBe(2)
      expect(second!.kinds.path).toEqual({ before: 1, kept: 0, given: 0, lost: 1 })
      expect(second!.kinds.name).toEqual({ before: 2, kept: 1, given: 0, lost: 1 })
      expect(second!.kinds.command.before).toBe(0)
    })

    test("neither subagents nor boundaries that a fork copied without their past are counted", () => {
      const transcript = session().boundary().summary("Of another session.").turn("fooBar")
      expect(receipts(transcript)).toEqual([])
      const agent = past(session()).raw(
        JSON.stringify({ type: "user", isSidechain: true, message: { content: "rename fooBar" } }),
      )
      expect(receipts(agent.boundary())[0]!.kinds.name.before).toBe(1)
    })
  })

  describe("delivery", () => {
    const compacted = (version?: string): Transcript => past(session(version)).boundary().summary("Retries.")
    const proof = (transcript: Transcript, given = RESTORE) => receipts(transcript, given)[0]!.delivery

    test("what the host recorded, or else what can be inferred", () => {
      expect(proof(arrive(compacted()))).toBe("arrived")
      expect(proof(arrive(compacted().turn("go on"), "UserPromptSubmit"))).toBe("arrived-later")
      expect(proof(compacted().turn("go on"))).toBe("lost")
      expect(proof(compacted().user("go on"))).toBe("open")
      expect(proof(compacted("2.0.76").turn("go on"))).toBe("untold")
      expect(proof(compacted().turn("go on"), "")).toBe("nothing-given")
      // Of the next compaction.
      const next = compacted().turn("go on").boundary().summary("More.")
      expect(receipts(arrive(next), RESTORE).map(({ delivery }) => delivery)).toEqual(["lost", "arrived"])
    })

    test("a restore quoted in a prompt or output does not count as delivered", () => {
      expect(proof(compacted().turn(RESTORE, [bash("ctxbridge preview", RESTORE)]))).toBe("lost")
    })
  })

  describe("holderOf", () => {
    test("whole numbers only", () => {
      const holds = holderOf("It is 1,250 ms at 98.6 %, port 8080, v2.1.112.")
      for (const number of ["1,250 ms", "98.6 %", "8080"])
        expect([number, holds("number", number)]).toEqual([number, true])
      for (const number of ["250 ms", "6 %", "808", "080", "8.6 %", "112"])
        expect([number, holds("number", number)]).toEqual([number, false])
    })

    describe("short names", () => {
      const paths = [
        "/srv/app/lib/client.ts",
        "lib/client.ts",
        "client.ts",
        "/srv/app/a/index.ts",
        "b/index.ts",
        "lib/Makefile",
      ]
      const commands = [
        "git status --short",
        "git log --oneline",
        "git log -1",
        "npm test -- retry",
        "ls -la",
        "npm run lint --fix",
      ]
      const holds = (text: string) => holderOf(text, shortNames(paths, commands))

      test.each([
        ["lib/client.ts", "Edited client.ts.", true],
        ["/srv/app/lib/client.ts", "(`client.ts`: retries)", true],
        ["/srv/app/lib/client.ts", "CLIENT.TS:42 fails", true],
        ["/srv/app/lib/client.ts", "test/client.ts", false],
        ["/srv/app/lib/client.ts", "http-client.ts, client.tsx, client.ts.bak, my_client.ts", false],
        ["b/index.ts", "Edited index.ts.", false],
        ["b/index.ts", "Edited b/index.ts.", true],
        ["lib/Makefile", "the Makefile", false],
        ["lib/other.ts", "other.ts", false],
      ])("%s in %j: %p", (path, text, expected) => {
        expect(holds(text)("path", path)).toBe(expected)
      })

      test.each([
        ["git status --short", "Ran `git status`.", true],
        ["git status --short", "Looked at the git status of it.", false],
        ["git status --short", "Ran `git status src`.", false],
        ["git log -1", "Ran `git log`.", false],
        ["npm test -- retry", "Ran `npm test`.", false],
        ["npm run lint --fix", "`npm run lint` is clean.", true],
        ["ls -la", "Ran `ls`.", false],
        ["git diff --stat", "Ran `git diff`.", false],
      ])("%s in %j: %p", (command, text, expected) => {
        expect(holds(text)("command", command)).toBe(expected)
      })

      test("only count when they are given, and full paths and commands always do", () => {
        for (const path of paths)
          expect(holderOf("client.ts index.ts")("path", path)).toBe(path === "client.ts")
        for (const path of paths) expect(holds(`in ${path}`)("path", path)).toBe(true)
        for (const command of commands) expect(holds(`Ran ${command}.`)("command", command)).toBe(true)
      })
    })

    test("sentences are recognised by their beginning, since a restore cuts them", () => {
      const long = `Never touch ${"the generated files, ".repeat(12)}or else.`
      expect(holderOf(`- "${long.slice(0, 200)}…"`)("constraint", long)).toBe(true)
      expect(holderOf(`- "${long.slice(0, 100)}"`)("constraint", long)).toBe(false)
    })
  })

  test("numbers in prose need a unit, a fraction or three digits; versions, dates, line numbers and names do not count", () => {
    expect(numbersIn("From 1,250 ms to 0.8 s: 43 % of 155,000 tokens, 12 of 300.")).toEqual([
      "1,250 ms",
      "0.8 s",
      "43 %",
      "155,000",
      "300",
    ])
    const none =
      "v2.1.112 on 2026-03-02 at 10:15, src/a.ts:120:5, issue #1234, id ab1234, 1. first, port_8080"
    expect(numbersIn(none)).toEqual([])
  })

  /**
   * What a message that Claude Code kept says in a list of changes was told as lost: only a call's outermost fields
   * were read.
   */
  test("receipts: kept is what stands anywhere in a call that the host kept", async () => {
    using machine = new Inside()
    const kept = "aaaaaaaa-0000-4000-8000-000000000001"
    const edits = [{ old_string: "const a = 1", new_string: "const a = retryLimit" }]
    const session = machine.session().user("Limit the retries").message()
    session.block(
      { type: "tool_use", id: "toolu_1", name: "MultiEdit", input: { file_path: "/src/client.ts", edits } },
      { uuid: kept },
    )
    session.say("Done.").line({
      type: "system",
      subtype: "compact_boundary",
      compactMetadata: { trigger: "auto", preTokens: 1000, preservedMessages: { allUuids: [kept] } },
    })
    session.summary("Something was limited.").turn("go on").flush()
    expect(await run(["import", session.path], machine)).toMatchObject({ code: 0, stderr: "" })
    const { code, stdout, stderr } = await run(["receipts", "--json"], machine)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(JSON.parse(stdout).receipts).toMatchObject([
      {
        kinds: {
          path: { before: 1, kept: 1, given: 0, lost: 0 },
          name: { before: 1, kept: 1, given: 0, lost: 0 },
        },
      },
    ])
  })
})
