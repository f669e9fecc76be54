import { describe, expect, test } from "bun:test"
import { decodeLine } from "../../../src/agents/agents.ts"
import type { Step } from "../../../src/claude/fake/transcript.ts"
import { Dice } from "../../../src/cli/bench/seeded-random.ts"
import { learningReport } from "../../../src/cli/commands/learn.ts"
import { numbersIn } from "../../../src/record/facts.ts"
import { lastTwo } from "../../../src/restore/complement.ts"
import { noteUses } from "../../../src/restore/learning/note-uses.ts"
import { holderOf, type Receipt, receiptsIn, shortNames } from "../../../src/restore/receipt.ts"
import { restoreOf } from "../../../src/restore/restore.ts"
import { learnedRows } from "../../../src/views/queries/fact-uses.ts"
import { projectOfSession } from "../../../src/views/queries/projects.ts"
import { Archive } from "../../support/archive.ts"
import { Inside, run } from "../../support/inside.ts"
import { compact } from "../../support/shown-again.ts"
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

/**
 * A simulated week: a user who always needs the same files, and one who opens any. Sessions are compacted and given real
 * restores; what is learnt is what the job learns.
 */
describe("week of sessions", () => {
  const DAY = 86_400_000
  const MONDAY = Date.UTC(2026, 4, 4, 8)
  const FILES = Array.from({ length: 90 }, (_, n) => `src/area${n % 9}/module${n}/handler${n}.ts`)
  const NEEDED = FILES.filter((_, n) => n % 15 === 7)
  const SESSIONS_A_DAY = 3

  const absolute = (path: string): string => `/srv/app/${path}`
  const read = (path: string) => ({ tool: "Read", input: { file_path: absolute(path) }, output: "…" })
  const find = (path: string) => ({ tool: "Glob", input: { pattern: "**/*.ts" }, output: absolute(path) })

  const shuffled = <T>(all: readonly T[], dice: Dice): T[] => dice.shuffled(all.length).map((n) => all[n]!)

  /** A session in which every file was read once, in any order. */
  function workedIn(archive: Archive, day: number, n: number, dice: Dice): Transcript {
    const { options, path } = archive.session(`day${day}-${n}`, { cwd: "/srv/app" })
    const session = new Transcript({ ...options, path, start: MONDAY + day * DAY + n * 3_600_000 })
    session.turn("read them all", shuffled(FILES, dice).map(read))
    archive.follow(session.flush())
    return session
  }

  /** What the user opens after a restore that shows these paths. */
  type User = (shown: ReadonlySet<string>, dice: Dice) => Step[]

  const needsTheSame: User = (shown) =>
    NEEDED.flatMap((path) => (shown.has(lastTwo(path)) ? [read(path)] : [find(path), read(path)]))

  const opensAny: User = (_shown, dice) => FILES.filter(() => dice.chance(0.15)).map(read)

  function lived(archive: Archive, user: User, seed: number): void {
    const dice = new Dice(seed)
    for (let day = 0; day < 7; day++) {
      for (let n = 0; n < SESSIONS_A_DAY; n++) {
        const session = workedIn(archive, day, n, dice)
        const { slots } = compact(archive, session, { holdOut: 0.1 })
        const shown = new Set(
          slots.flatMap(([kind, text, , , isShown]) => (kind === "path" && isShown ? [text] : [])),
        )
        session.turn("go on", user(shown, dice))
        archive.follow(session.flush())
        noteUses(archive.db, archive.dataHome)
      }
    }
  }

  /** Mean position of the needed files among all, with what was learnt and without. */
  function positions(archive: Archive): { learnt: number; unlearnt: number } {
    const session = workedIn(archive, 8, 0, new Dice(77)).session
    const mean = (learning: { holdOut: number } | undefined): number => {
      const { facts } = restoreOf(archive.db, session, {
        source: "compact",
        budget: 4000,
        summary: "",
        learning,
      })
      const order = facts!.paths.map(({ text, whole = text }) => whole)
      const places = NEEDED.map((path) => order.indexOf(path))
      expect(Math.min(...places)).toBeGreaterThanOrEqual(0)
      return places.reduce((sum, place) => sum + place, 0) / places.length
    }
    return { learnt: mean({ holdOut: 0 }), unlearnt: mean(undefined) }
  }

  test("a user who needs certain files finds them ranked higher after a week, and showing them is worth it", () => {
    using archive = new Archive()
    lived(archive, needsTheSame, 1)
    const { learnt, unlearnt } = positions(archive)
    expect(unlearnt).toBeGreaterThan(25)
    expect(learnt).toBeLessThan(unlearnt / 2)
    const { project } = projectOfSession(archive.db, "day0-0")!
    const rows = learnedRows(archive.db, project)
    const items = rows.filter(({ item }) => item !== "")
    expect(
      items
        .filter(({ weight }) => weight > 1.5)
        .map(({ item }) => item)
        .toSorted(),
    ).toEqual(NEEDED.map(lastTwo).toSorted())
    for (const { weight } of rows) expect(weight >= 0.5 && weight <= 2).toBe(true)
    const { lift, restores, waiting } = learningReport(archive.db, project)
    expect({ restores, waiting }).toEqual({ restores: 7 * SESSIONS_A_DAY, waiting: 0 })
    expect(lift!.isTelling).toBe(true)
    expect(lift!.interval[0]).toBeGreaterThan(0)
    expect(lift!.leftOut.found).toBeGreaterThan(0)
  }, 60_000)

  test("with a user who opens any file, the interval contains 0, and nothing is ranked much higher", () => {
    using archive = new Archive()
    lived(archive, opensAny, 2)
    const { project } = projectOfSession(archive.db, "day0-0")!
    const { lift } = learningReport(archive.db, project)
    expect(lift!.isTelling).toBe(true)
    expect(lift!.interval[0]).toBeLessThan(0)
    expect(lift!.interval[1]).toBeGreaterThan(0)
    const { learnt, unlearnt } = positions(archive)
    expect(Math.abs(learnt - unlearnt)).toBeLessThan(20)
  }, 60_000)
})
