import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import fc from "fast-check"
import { usesOf } from "../../../src/restore/worth/reopened.ts"
import { type Aged, coldOf, confidence, importance } from "../../../src/restore/worth/tiers.ts"
import { Archive } from "../../support/archive.ts"
import { CodexRollout } from "../../support/codex-rollout.ts"
import { CopilotEvents } from "../../support/copilot-events.ts"
import { GeminiChat } from "../../support/gemini-chat.ts"
import { QwenChat } from "../../support/qwen-chat.ts"

describe("confidence", () => {
  const HOUR = 3_600_000
  const DAY = 24 * HOUR
  const born = Date.parse("2026-01-05T09:00:00Z")

  describe("confidence", () => {
    test.each([
      [0, 0.8],
      [1, 0.795],
      [20, 0.7],
      [130, 0.15],
      [140, 0.1],
      [141, 0.1],
      [10_000, 0.1],
    ])("after %p hours without use it is %p", (hours, expected) => {
      expect(confidence(born, [], born + hours * HOUR)).toBeCloseTo(expected, 12)
    })

    test("a turn that holds Claude Code's own summary starts at 1, and falls as fast", () => {
      expect(confidence(born, [], born, true)).toBe(1)
      expect(confidence(born, [], born + 130 * HOUR, true)).toBeCloseTo(0.35, 12)
      expect(confidence(born, [], born + 10_000 * HOUR, true)).toBeCloseTo(0.1, 12)
    })

    test("a use adds 0.03 at its own time", () => {
      expect(confidence(born, [born + 20 * HOUR], born + 20 * HOUR)).toBeCloseTo(0.73, 12)
      expect(confidence(born, [born + 20 * HOUR], born + 40 * HOUR)).toBeCloseTo(0.63, 12)
      // Credit that comes when nothing is left counts from the floor, not from what decayed below it.
      expect(confidence(born, [born + 1000 * HOUR], born + 1000 * HOUR)).toBeCloseTo(0.13, 12)
    })

    test("is at most 1 and loses from there", () => {
      const often = Array.from({ length: 50 }, () => born)
      expect(confidence(born, often, born)).toBe(1)
      expect(confidence(born, often, born + 10 * HOUR)).toBeCloseTo(0.95, 12)
    })

    test("what lies before its birth or after now counts for nothing", () => {
      expect(confidence(born, [born - DAY, born + DAY], born + HOUR)).toBeCloseTo(0.795, 12)
    })

    test("a clock that was set back makes nothing younger than new", () => {
      expect(confidence(born, [], born - 5 * DAY)).toBe(0.8)
    })

    test("how often it is asked for changes nothing: 130 times in one minute", () => {
      const expected = confidence(born, [], born + HOUR)
      for (let n = 0; n < 130; n++) confidence(born, [], born + n * 460)
      expect(confidence(born, [], born + HOUR)).toBe(expected)
    })

    test("follows the definition, step by step, whatever the order of the uses", () => {
      fc.assert(
        fc.property(
          fc.array(fc.integer({ min: 0, max: 90 * 24 }), { maxLength: 30 }),
          fc.integer({ min: 0, max: 90 * 24 }),
          (hours, until) => {
            // As the design documents have it: hour by hour.
            let stepped = 0.8
            for (let hour = 0; hour <= until; hour++) {
              if (hour > 0) stepped = Math.max(0.1, stepped - 0.005)
              for (const one of hours) if (one === hour) stepped = Math.min(1, stepped + 0.03)
            }
            const uses = hours.map((hour) => born + hour * HOUR)
            const value = confidence(born, uses, born + until * HOUR)
            expect(Math.abs(value - stepped)).toBeLessThan(0.01 * stepped)
            expect(value).toBeGreaterThanOrEqual(0.1)
            expect(value).toBeLessThanOrEqual(1)
          },
        ),
      )
    })
  })

  describe("importance", () => {
    const plain = { born, uses: 0, hasTools: false, hasFiles: false }

    test.each([
      [plain, 0, 1],
      [plain, 7, 0.5],
      [plain, 14, 0.25],
      [{ ...plain, hasTools: true }, 0, 1.5],
      [{ ...plain, hasFiles: true }, 0, 1.3],
      [{ ...plain, hasTools: true, hasFiles: true }, 7, 0.9],
      [{ ...plain, uses: 1 }, 0, 2],
      [{ ...plain, uses: 7 }, 0, 4],
    ])("of %j after %p days is %p", (turn, days, expected) => {
      expect(importance(turn, born + days * DAY)).toBeCloseTo(expected, 12)
    })
  })
})

describe("tiers", () => {
  const HOUR = 3_600_000
  const DAY = 24 * HOUR
  const now = Date.parse("2026-04-05T09:00:00Z")

  const aged = (turn: number, days: number, more: Partial<Aged> = {}): Aged => ({
    turn,
    handle: `turn${turn}`,
    born: now - days * DAY,
    isNote: false,
    hasSummary: false,
    bytes: 100,
    hasTools: false,
    hasFiles: false,
    uses: [],
    ...more,
  })

  const cold = (turns: readonly Aged[], retention: number, maxSize: number) => {
    const { byAge, bySize } = coldOf(turns, { retention, maxSize }, now)
    return { byAge: [...byAge].sort((a, b) => a - b), bySize: [...bySize].sort((a, b) => a - b) }
  }

  describe("cold turns", () => {
    test("without limits there are none, however old", () => {
      expect(cold([aged(1, 4000), aged(2, 1)], 0, 0)).toEqual({ byAge: [], bySize: [] })
    })

    test("by age: older than the retention and never used", () => {
      const turns = [aged(1, 31), aged(2, 30), aged(3, 400, { uses: [now - 390 * DAY] }), aged(4, 0)]
      expect(cold(turns, 30, 0)).toEqual({ byAge: [1], bySize: [] })
    })

    test("by size: only as many as needed, the least important first", () => {
      const turns = [aged(1, 20), aged(2, 10), aged(3, 20, { hasTools: true }), aged(4, 1)]
      expect(cold(turns, 0, 400)).toEqual({ byAge: [], bySize: [] })
      expect(cold(turns, 0, 399)).toEqual({ byAge: [], bySize: [1] })
      expect(cold(turns, 0, 200)).toEqual({ byAge: [], bySize: [1, 3] })
    })

    test("by size: only with a confidence of at most 0.15, and never used", () => {
      const turns = [
        aged(1, 0, { born: now - 129 * HOUR }),
        aged(2, 0, { born: now - 130 * HOUR }),
        aged(3, 90, { uses: [now - 89 * DAY] }),
      ]
      expect(cold(turns, 0, 1)).toEqual({ byAge: [], bySize: [2] })
    })

    test("what is cold by age takes no room of the others", () => {
      expect(cold([aged(1, 40), aged(2, 20), aged(3, 10)], 30, 200)).toEqual({ byAge: [1], bySize: [] })
    })

    test("a turn of unknown age stays", () => {
      expect(cold([aged(1, 0, { born: undefined })], 1, 1)).toEqual({ byAge: [], bySize: [] })
    })

    test("what the model asked to keep stays", () => {
      expect(cold([aged(1, 400, { isNote: true })], 1, 1)).toEqual({ byAge: [], bySize: [] })
    })

    test("equally important turns: the older one goes, then the one whose handle comes first", () => {
      // So long ago that importance has no digits left.
      expect(cold([aged(1, 9000), aged(2, 9001), aged(3, 9000)], 0, 250).bySize).toEqual([2])
      expect(cold([aged(1, 9000), aged(2, 9001), aged(3, 9000)], 0, 150).bySize).toEqual([1, 2])
    })

    const turns = fc.array(
      fc.record({
        days: fc.integer({ min: 0, max: 400 }),
        bytes: fc.integer({ min: 1, max: 1000 }),
        hasTools: fc.boolean(),
        hasFiles: fc.boolean(),
        used: fc.option(fc.integer({ min: 0, max: 400 }), { nil: undefined }),
      }),
      { maxLength: 40 },
    )

    test("the order of the rows and their numbers do not matter: a rebuild has the same turns cold", () => {
      fc.assert(
        fc.property(
          turns,
          fc.integer({ min: 0, max: 60 }),
          fc.integer({ min: 0, max: 20_000 }),
          (all, days, size) => {
            const made = all.map((one, n): Aged => {
              const born = now - one.days * DAY
              const uses = one.used === undefined ? [] : [born + one.used * DAY]
              const { bytes, hasTools, hasFiles } = one
              return {
                turn: n,
                handle: `t${n}`,
                born,
                isNote: false,
                hasSummary: false,
                bytes,
                hasTools,
                hasFiles,
                uses,
              }
            })
            const renumbered = made.map((one) => ({ ...one, turn: 1000 - one.turn })).reverse()
            const { byAge, bySize } = cold(made, days, size)
            const again = cold(renumbered, days, size)
            const back = (some: number[]) => some.map((one) => 1000 - one).sort((a, b) => a - b)
            expect({ byAge: back(again.byAge), bySize: back(again.bySize) }).toEqual({ byAge, bySize })
            const chosen = new Set([...byAge, ...bySize])
            expect(made.filter((one) => chosen.has(one.turn) && one.uses.length > 0)).toEqual([])
          },
        ),
      )
    })
  })
})

/** What counts as evidence that a turn was used. */
describe("uses", () => {
  const handleOf = (archive: Archive, prompt: string): string =>
    archive.db.query<{ handle: string }, [string]>("SELECT handle FROM turns WHERE prompt = ?").get(prompt)!
      .handle

  const get = (handle: string, failed = false) => ({
    tool: "mcp__ctxbridge__get",
    input: { handle: `ctx:${handle}@3` },
    output: failed ? "no such turn" : "a turn",
    isError: failed,
  })
  const bash = (command: string) => ({ tool: "Bash", input: { command }, output: "a turn" })

  test("a turn opened by its handle, with our server or in a shell, is used there", () => {
    using archive = new Archive()
    const first = archive.session("s1")
    first.turn("glaze the kiln", [], "done")
    first.turn("fire the kiln", [], "done")
    first.turn("never opened", [], "done")
    archive.follow(first.flush())
    const glazed = handleOf(archive, "glaze the kiln")
    const fired = handleOf(archive, "fire the kiln")
    const second = archive.session("s2")
    second.turn("go on", [get(glazed), bash(`/opt/bin/ctxbridge show ctx:${fired} | head`)])
    second.turn("again", [get(glazed)])
    archive.follow(second.flush())
    const uses = [...usesOf(archive.db).values()].flat()
    expect(uses.every((time) => time > Date.parse("2020-01-01"))).toBe(true)
    const rows = archive.db
      .query<{ id: number; prompt: string }, []>("SELECT id, prompt FROM turns ORDER BY id")
      .all()
    expect([...usesOf(archive.db).keys()].map((turn) => rows.find(({ id }) => id === turn)!.prompt)).toEqual([
      "glaze the kiln",
      "fire the kiln",
    ])
    expect([...usesOf(archive.db).values()].map((times) => times.length)).toEqual([2, 1])
  })

  interface Flushed {
    readonly path: string
    flush(): unknown
  }
  const ID = "0a1b2c3d-0000-7000-8000-000000000001"
  /** A session in which the model opens a turn with our server, as each agent names its tool, or in its shell. */
  const opening: Record<string, (root: string, input: { handle: string }, command: string) => Flushed> = {
    Codex: (root, input, command) =>
      new CodexRollout({ mode: "paginated", folder: join(root, ".codex"), id: ID, cwd: root })
        .turn("go on")
        .call("ctxbridge__get", input, "a turn")
        .run(command, "a turn"),
    "Codex with namespaces": (root, input, command) =>
      new CodexRollout({ mode: "paginated", folder: join(root, ".codex"), id: ID, cwd: root })
        .turn("go on")
        .item({
          type: "function_call",
          name: "get",
          namespace: "mcp__ctxbridge__",
          call_id: "g",
          arguments: JSON.stringify(input),
        })
        .item({ type: "function_call_output", call_id: "g", output: "a turn" })
        .run(command, "a turn"),
    Copilot: (root, input, command) =>
      new CopilotEvents({ folder: join(root, ".copilot"), id: ID, cwd: root })
        .prompt("go on")
        .call(
          "ctxbridge-get",
          input,
          { result: { content: "a turn" } },
          { mcpServerName: "ctxbridge", mcpToolName: "get" },
        )
        .run(command, "a turn"),
    Gemini: (root, input, command) =>
      new GeminiChat({ home: root, session: ID, cwd: root })
        .user(["go on"])
        .call("mcp_ctxbridge_get", input, { output: "a turn" })
        .shell(command, "a turn", 0),
    Qwen: (root, input, command) =>
      new QwenChat({ folder: join(root, ".qwen"), session: ID, cwd: root })
        .user(["go on"])
        .call("mcp__ctxbridge__get", input, { output: "a turn" })
        .shell(command, "a turn", 0),
  }

  test.each(Object.keys(opening))("whichever agent's model opens it: %s", (agent) => {
    using archive = new Archive()
    const first = archive.session("s1")
    first.turn("glaze the kiln", [], "done")
    archive.follow(first.flush())
    const handle = handleOf(archive, "glaze the kiln")
    const talk = opening[agent]!(archive.root, { handle: `ctx:${handle}` }, `ctxbridge show ctx:${handle}`)
    talk.flush()
    archive.follow(talk)
    expect([...usesOf(archive.db).values()].map((times) => times.length)).toEqual([2])
  })

  test("naming a turn, failing to open it, or printing its handle is no use of it", () => {
    using archive = new Archive()
    const first = archive.session("s1")
    first.turn("glaze the kiln", [], "done")
    archive.follow(first.flush())
    const handle = handleOf(archive, "glaze the kiln")
    const second = archive.session("s2")
    second.turn(
      `what was ctx:${handle}?`,
      [get(handle, true), bash(`echo ctxbridge ctx:${handle}`)],
      `ctx:${handle}`,
    )
    archive.follow(second.flush())
    expect(usesOf(archive.db).size).toBe(0)
  })
})
