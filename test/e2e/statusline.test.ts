/** The status line of the compiled binary: golden lines for every version's payload, and whatever else may come. */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import fc from "fast-check"
import { shortTokens } from "../../src/restore/window/zone.ts"
import { type Ran, run, start } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

const GOLDEN = join(import.meta.dir, "..", "golden", "statusline")
const VERSIONS = readdirSync(GOLDEN).map((name) => name.replace(/\.json$/, ""))
const payloadOf = (version: string) => JSON.parse(readFileSync(join(GOLDEN, `${version}.json`), "utf8"))

const line = (
  machine: Machine,
  stdin: unknown,
  args: string[] = [],
  env: Record<string, string> = {},
): Promise<Ran> =>
  run(["statusline", ...args], {
    cwd: machine.cwd,
    env: { ...machine.env, NO_COLOR: "1", ...env },
    stdin: typeof stdin === "string" ? stdin : JSON.stringify(stdin),
  })

const said = async (ran: Promise<Ran>): Promise<string> => {
  const { code, stdout, stderr } = await ran
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  return stdout
}

/** A payload of that version with other figures. */
function filled(version: string, tokens: number, window = 200_000) {
  const payload = payloadOf(version)
  const usage = {
    input_tokens: 6,
    output_tokens: 30,
    cache_creation_input_tokens: 1000,
    cache_read_input_tokens: tokens - 1036,
  }
  payload.context_window = { ...payload.context_window, context_window_size: window, current_usage: usage }
  return payload
}

test("where Claude Code's files switch off its own compactions, colours follow the point at which it ends", async () => {
  using machine = new Machine()
  const payload = filled("2.1.329", 120_000)
  const colour = async () =>
    /\x1b\[(\d+)m/.exec(await said(line(machine, payload, [], { NO_COLOR: "" })))?.[1]
  expect(await colour()).toBe("33")
  writeFileSync(join(machine.home, ".claude.json"), JSON.stringify({ autoCompactEnabled: false }))
  expect(await colour()).toBe("36")
})

describe.each(VERSIONS)("%s", (version) => {
  test("answers its recorded payload with and without colour", async () => {
    using machine = new Machine()
    // No hook has heard of the session: these are Claude Code's figures alone.
    expect(await said(line(machine, payloadOf(version)))).toBe("📂 10% 20.0K ⊘\n")
    expect(await said(line(machine, payloadOf(version), [], { NO_COLOR: "" }))).toBe(
      "📂 \x1b[32m10% 20.0K ⊘\x1b[0m\n",
    )
    // It is nobody's archive until a hook has come.
    expect(existsSync(machine.dataHome)).toBe(false)
  })

  test("shows the design documents' figures, in the colours of the point at which the host compacts", async () => {
    using machine = new Machine()
    const session = machine.session({ id: payloadOf(version).session_id })
    session.turn("begin").flush()
    await machine.hook("user-prompt-submit", session, { prompt: "next" })
    const point = version === "2.0.76" ? 155_000 : 167_000
    const colours: [number, number][] = [
      [0.49, 32],
      [0.5, 36],
      [0.69, 36],
      [0.7, 33],
      [0.84, 33],
      [0.85, 31],
      [1, 31],
    ]
    for (const [pressure, code] of colours) {
      const tokens = Math.ceil(point * pressure)
      const told = await said(line(machine, filled(version, tokens), [], { NO_COLOR: "" }))
      const text = `${Math.round(tokens / 2000)}% ${shortTokens(tokens)} ⊘`
      expect([pressure, told]).toEqual([pressure, `🛡️ \x1b[${code}m${text}\x1b[0m\n`])
    }
    expect(await said(line(machine, filled(version, 86_736)))).toBe("🛡️ 43% 86.7K ⊘\n")
    const off = { CLAUDE_FLOW_CONTEXT_AUTOPILOT: "false" }
    expect(await said(line(machine, filled(version, 86_736), [], off))).toBe("📂 43% 86.7K ⊘\n")
    session.boundary().summary("s").turn("on").boundary().summary("t").turn("and on").flush()
    await machine.hook("user-prompt-submit", session, { prompt: "next" })
    expect(await said(line(machine, filled(version, 176_000)))).toBe("🛡️ 88% 176K ⟳2\n")
    expect(await said(line(machine, filled(version, 470_600, 1_000_000)))).toBe("🛡️ 47% 471K ⟳2\n")
  })

  test("a compaction point that the user has moved or switched off moves the colours", async () => {
    using machine = new Machine()
    const red = async (env: Record<string, string>, tokens: number): Promise<boolean> =>
      (await said(line(machine, filled(version, tokens), [], { NO_COLOR: "", ...env }))).includes("[31m")
    expect(await red({}, 150_000)).toBe(true)
    expect(await red({ DISABLE_COMPACT: "true" }, 141_000)).toBe(false)
    expect(await red({ CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: "50" }, 80_000)).toBe(true)
    expect(await red({ CLAUDE_FLOW_CONTEXT_WINDOW: "200000" }, 80_000)).toBe(false)
  })

  test("the user's own window counts, and not the one that the design documents give", async () => {
    using machine = new Machine()
    const window = { CTXBRIDGE_CONTEXT_WINDOW: "100000" }
    expect(await said(line(machine, filled(version, 43_000), [], window))).toBe("📂 43% 43.0K ⊘\n")
    const copied = { CLAUDE_FLOW_CONTEXT_WINDOW: "200000" }
    expect(await said(line(machine, filled(version, 43_000, 1_000_000), [], copied))).toBe("📂 4% 43.0K ⊘\n")
  })

  test("shows what the hooks know when the host does not say", async () => {
    using machine = new Machine()
    const payload = payloadOf(version)
    const session = machine.session({ id: payload.session_id }).turn("begin").flush()
    await machine.hook("user-prompt-submit", session, { prompt: "next" })
    const { context_window: _, ...silent } = payload
    expect(await said(line(machine, silent))).toBe("🛡️ 10% 20.4K ⊘\n")
    // Claude Code has counted nothing yet, but knows the window.
    const window = { context_window_size: 1_000_000, current_usage: null }
    expect(await said(line(machine, { ...payload, context_window: window }))).toBe("🛡️ 2% 20.4K ⊘\n")
    expect(await said(line(machine, { ...silent, session_id: "another" }))).toBe("📂 –\n")
    expect(await said(line(machine, { ...silent, session_id: "../../etc/passwd" }))).toBe("📂 –\n")
  })

  test("shows what is left right after a compaction, before any hook has seen it", async () => {
    using machine = new Machine()
    const payload = payloadOf(version)
    const session = machine.session({ id: payload.session_id }).turn("begin").flush()
    await machine.hook("user-prompt-submit", session, { prompt: "next" })
    const counted = { input_tokens: 0, output_tokens: 0, cache_read_input_tokens: 0 }
    const emptied = { context_window_size: 200_000, current_usage: counted, used_percentage: 0 }
    const after = { ...payload, transcript_path: session.path, context_window: emptied }
    // Claude Code has not written of it yet: what it puts before each conversation is left.
    expect(await said(line(machine, after))).toBe("🛡️ 10% ~20.3K ⊘\n")
    session.boundary("manual", 150_000).summary("s".repeat(35_000)).flush()
    expect(await said(line(machine, after))).toBe("🛡️ 15% ~30.3K ⟳1\n")
    // Nothing is recorded by a status line.
    await machine.hook("user-prompt-submit", session, { prompt: "next" })
    expect(await said(line(machine, after))).toBe("🛡️ 15% ~30.3K ⟳1\n")
  })
})

test("the window that the host reports is used by the hooks as well", async () => {
  using machine = new Machine()
  const session = machine.session().turn("begin").flush()
  await machine.hook("user-prompt-submit", session, { prompt: "next" })
  const context = async () =>
    JSON.parse(await said(run(["status", "--json"], { cwd: machine.cwd, env: machine.env }))).context
  expect((await context()).window).toBe(200_000)
  await line(machine, { ...filled("2.1.329", 30_000, 1_000_000), session_id: session.session })
  expect(await context()).toMatchObject({ window: 1_000_000, compactsAt: 967_000 })
})

test("--json and --help are heeded, and an unknown option is an error", async () => {
  using machine = new Machine()
  expect(JSON.parse(await said(line(machine, payloadOf("2.1.329"), ["--json"])))).toEqual({
    tracked: false,
    source: "host",
    tokens: 20_010,
    estimated: false,
    percentage: 10,
    pressure: 12,
    zone: "ok",
    compactions: 0,
    line: "📂 10% 20.0K ⊘",
  })
  expect(await said(line(machine, "", ["--help"]))).toContain("--chain")
  expect((await line(machine, "", ["--nonsense"])).code).toBe(64)
})

test("garbage, no input and a pipe that is never closed are answered, too", async () => {
  using machine = new Machine()
  for (const stdin of [
    "",
    "garbage",
    "{",
    "null",
    "[]",
    '{"context_window":7}',
    '{"session_id":{}}',
    "\0\xff",
  ]) {
    expect([stdin, await said(line(machine, stdin))]).toEqual([stdin, "📂 –\n"])
  }
  const open = start(["statusline"], { cwd: machine.cwd, env: { ...machine.env, NO_COLOR: "1" } })
  open.child.stdin.write(JSON.stringify(payloadOf("2.1.112")))
  open.child.stdin.flush()
  expect(await said(open.ended)).toBe("📂 10% 20.0K ⊘\n")
  open.child.stdin.end()
})

test("any payload gives one line of bounded width", async () => {
  using machine = new Machine()
  const figure = fc.oneof(fc.nat(), fc.double(), fc.string(), fc.constant(null), fc.maxSafeNat())
  const payload = fc.record({
    session_id: fc.oneof(fc.uuid(), fc.jsonValue()),
    context_window: fc.oneof(
      fc.jsonValue(),
      fc.record({
        context_window_size: figure,
        used_percentage: figure,
        current_usage: fc.record({
          input_tokens: figure,
          cache_read_input_tokens: figure,
          output_tokens: figure,
        }),
      }),
    ),
  })
  await fc.assert(
    fc.asyncProperty(payload, async (document) => {
      const text = await said(line(machine, document))
      expect(text.endsWith("\n")).toBe(true)
      expect(text.trimEnd()).not.toContain("\n")
      expect(Bun.stringWidth(text)).toBeLessThanOrEqual(24)
    }),
    { numRuns: 40 },
  )
})

describe("budgets", () => {
  const payload = payloadOf("2.1.329")
  const plain = "📂 10% 20.0K ⊘"

  /** A session of right now, known to the archive. */
  async function spending() {
    const machine = new Machine()
    machine.env["TZ"] = "UTC"
    machine
      .session({ start: Date.now() - 1000 })
      .turn("Begin")
      .flush()
    expect(await run(["import"], machine)).toMatchObject({ code: 0, stderr: "" })
    const stats = async (env: Record<string, string>) => {
      const { code, stdout, stderr } = await run(["stats", "--json"], {
        cwd: machine.cwd,
        env: { ...machine.env, ...env },
      })
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      return JSON.parse(stdout)
    }
    const [{ used }] = (await stats({ CTXBRIDGE_BUDGET_DAY: "1B" })).budgets
    return { machine, stats, used: Number(used) }
  }

  test("what is nearly used up is seen from 80% on, and what is used up from 100% on, in their colours", async () => {
    const { machine, stats, used } = await spending()
    using _ = machine
    expect(used).toBeGreaterThan(100)
    const day = (share: number) => ({ CTXBRIDGE_BUDGET_DAY: `${Math.round(used / share)} tokens` })
    expect(await said(line(machine, payload, [], day(0.5)))).toBe(`${plain}\n`)
    expect(await said(line(machine, payload, [], day(0.79)))).toBe(`${plain}\n`)
    expect(await said(line(machine, payload, [], day(0.82)))).toMatch(/^📂 10% 20\.0K ⊘ ⚠ day 8[12]%\n$/)
    expect(await said(line(machine, payload, [], day(1.5)))).toMatch(/^📂 10% 20\.0K ⊘ ✖ day 1(?:49|50)%\n$/)
    const colours = await said(line(machine, payload, [], { NO_COLOR: "", ...day(2) }))
    expect(colours).toMatch(/ \x1b\[31m✖ day (?:199|200)%\x1b\[0m\n$/)
    // The one of which most is used, in dollars or tokens, and the block as well as the calendar.
    const all = { CTXBRIDGE_BUDGET_BLOCK: "1 tokens", CTXBRIDGE_BUDGET_MONTH: "$1000", ...day(0.9) }
    expect(await said(line(machine, payload, [], all))).toMatch(/ ✖ block \d+%\n$/)
    const { budgets } = await stats(all)
    expect(budgets.map(({ period, unit }: Record<string, string>) => [period, unit])).toEqual([
      ["block", "tokens"],
      ["day", "tokens"],
      ["month", "dollars"],
    ])
    expect((await stats({})).budgets).toEqual([])
    // What is not a budget is no budget.
    expect(await said(line(machine, payload, [], { CTXBRIDGE_BUDGET_DAY: "much" }))).toBe(`${plain}\n`)
  })

  test("a block's stands in stats also when no block is live", async () => {
    using machine = new Machine()
    machine
      .session({ start: Date.UTC(2026, 2, 2) })
      .turn("Begin")
      .flush()
    expect(await run(["import"], machine)).toMatchObject({ code: 0, stderr: "" })
    const env = { ...machine.env, CTXBRIDGE_BUDGET_BLOCK: "$5" }
    const stats = (...args: string[]) => run(["stats", ...args], { cwd: machine.cwd, env })
    expect((await stats()).stdout).toMatch(/^block .* 0% {2}\$0\.00 of \$5\.00; no block is live$/m)
    expect(JSON.parse((await stats("--json")).stdout).budgets).toEqual([
      { period: "block", from: null, until: null, unit: "dollars", limit: 5, used: 0, share: 0 },
    ])
    // Twenty of what? Nobody means twenty tokens.
    const set = await run(["config", "set", "budget.day", "20"], machine)
    expect(set).toMatchObject({ code: 64, stdout: "" })
    expect(set.stderr).toContain("allowed: dollars like $20, tokens like 20M")
  })

  test("a period that has ended, sums that are damaged or missing: no sign, and nothing is made", async () => {
    const { machine } = await spending()
    using _ = machine
    const env = { CTXBRIDGE_BUDGET_DAY: "1 tokens" }
    const kept = join(machine.dataHome, "spent.json")
    expect(await said(line(machine, payload, [], env))).toContain("✖ day 999%")
    const uses = JSON.parse(readFileSync(kept, "utf8")) as { period: string; until: string }[]
    for (const until of ["2026-01-01T00:00:00.000Z", "", null]) {
      writeFileSync(kept, JSON.stringify(uses.map((use) => ({ ...use, until }))))
      expect(await said(line(machine, payload, [], env))).toBe(`${plain}\n`)
    }
    for (const text of ["{", "{}", "[1]", "[null]"]) {
      writeFileSync(kept, text)
      expect(await said(line(machine, payload, [], env))).toMatch(/^(?:📂 10% 20\.0K ⊘|📂 –)\n$/)
    }
    rmSync(kept)
    expect(await said(line(machine, payload, [], env))).toBe(`${plain}\n`)
    expect(existsSync(kept)).toBe(false)
  })

  test("the background job sums up after each turn, where a budget is set", async () => {
    using machine = new Machine()
    machine.env["CTXBRIDGE_BUDGET_DAY"] = "1 tokens"
    const session = machine
      .session({ start: Date.now() - 1000 })
      .turn("Begin")
      .flush()
    await machine.hook("stop", session, {})
    await machine.idle()
    expect(await said(line(machine, payload))).toContain("✖ day 999%")
  })
})

describe("next to another status line", () => {
  test("the other gets the same document and comes after ours", async () => {
    using machine = new Machine()
    const payload = JSON.stringify(payloadOf("2.1.329"))
    const other = `cat > '${join(machine.root, "seen")}'; printf 'it'\\''s theirs\\nsecond\\n'`
    expect(await said(line(machine, payload, ["--chain", other]))).toBe(
      "📂 10% 20.0K ⊘ │ it's theirs\nsecond\n",
    )
    expect(readFileSync(join(machine.root, "seen"), "utf8")).toBe(payload)
  })

  test("one that fails, complains or hangs costs us only its time", async () => {
    using machine = new Machine()
    for (const other of [
      "exit 7",
      "echo no >&2; exit 1",
      "/there/is/nothing",
      "printf begun; exec sleep 1000",
    ]) {
      const text = await said(line(machine, payloadOf("2.1.329"), ["--chain", other]))
      expect([other, text.replace(" │ begun", "")]).toEqual([other, "📂 10% 20.0K ⊘\n"])
    }
    // Who is killed is gone when the system gets round to it.
    await machine.idle()
  })

  test("the other stays alone when ours is off", async () => {
    using machine = new Machine()
    const off = { CTXBRIDGE_STATUSLINE: "off" }
    expect(await said(line(machine, payloadOf("2.1.329"), ["--chain", "echo theirs"], off))).toBe("theirs\n")
    expect(await said(line(machine, payloadOf("2.1.329"), [], off))).toBe("")
  })
})

describe("install and uninstall", () => {
  const settingsOf = (machine: Machine) => join(machine.home, ".claude", "settings.json")
  const cli = (machine: Machine, ...args: string[]) => run(args, { cwd: machine.cwd, env: machine.env })

  test("adds it when there is none, and what it adds runs", async () => {
    using machine = new Machine()
    expect(await said(cli(machine, "install"))).toContain("status line added")
    const { statusLine } = JSON.parse(readFileSync(settingsOf(machine), "utf8"))
    expect(statusLine).toEqual({
      type: "command",
      command: expect.stringMatching(
        /^BUN_OPTIONS= BUN_BE_BUN= BUN_INSPECT= BUN_INSPECT_CONNECT_TO= .*statusline$/,
      ),
    })
    const child = Bun.spawnSync(["/bin/sh", "-c", statusLine.command], {
      env: { ...machine.env, NO_COLOR: "1" },
      stdin: Buffer.from(JSON.stringify(payloadOf("2.1.112"))),
    })
    expect(child.stdout.toString()).toBe("📂 10% 20.0K ⊘\n")
    expect(await said(cli(machine, "install"))).toStartWith("Already installed")
    await said(cli(machine, "uninstall"))
    expect(existsSync(settingsOf(machine))).toBe(false)
  })

  test("leaves the user's own alone, chains it on request, and restores it byte for byte", async () => {
    using machine = new Machine()
    const before = `{\n\t"statusLine": {"type": "command", "padding": 0,\n\t\t"command": "echo \\u0027mine\\u0027"},\n\t"model": "opus"\n}\n`
    mkdirSync(dirname(settingsOf(machine)), { recursive: true })
    writeFileSync(settingsOf(machine), before)
    expect(await said(cli(machine, "install"))).toContain("`install --statusline` puts ours before it")
    const settings = () => JSON.parse(readFileSync(settingsOf(machine), "utf8"))
    expect(settings().statusLine.command).toBe("echo 'mine'")
    const preview = await said(cli(machine, "install", "--statusline", "--dry-run"))
    expect(preview).toContain("--chain")
    expect(settings().statusLine.command).toBe("echo 'mine'")
    const change = JSON.parse(await said(cli(machine, "install", "--statusline", "--json")))
    expect(change).toMatchObject({ changed: true, statusLine: "chained", added: [] })
    const { command, padding } = settings().statusLine
    expect(padding).toBe(0)
    const child = Bun.spawnSync(["/bin/sh", "-c", command], {
      env: { ...machine.env, NO_COLOR: "1" },
      stdin: Buffer.from(JSON.stringify(payloadOf("2.1.112"))),
    })
    expect(child.stdout.toString()).toBe("📂 10% 20.0K ⊘ │ mine\n")
    await said(cli(machine, "uninstall"))
    expect(readFileSync(settingsOf(machine), "utf8")).toBe(before)
  })

  test("after someone else wrote to the file, only ours is removed, and the chained one comes back", async () => {
    using machine = new Machine()
    const before = { statusLine: { type: "command", command: "echo mine" } }
    mkdirSync(dirname(settingsOf(machine)), { recursive: true })
    writeFileSync(settingsOf(machine), JSON.stringify(before, null, 2))
    await said(cli(machine, "install", "--statusline"))
    const now = { ...JSON.parse(readFileSync(settingsOf(machine), "utf8")), model: "opus" }
    writeFileSync(settingsOf(machine), JSON.stringify(now, null, 2))
    expect(await said(cli(machine, "uninstall"))).toContain("statusLine")
    expect(JSON.parse(readFileSync(settingsOf(machine), "utf8"))).toEqual({ ...before, model: "opus" })
  })

  test("neither in a project's settings nor when the user does not want it", async () => {
    using machine = new Machine()
    await said(cli(machine, "install", "--scope", "local"))
    const local = JSON.parse(readFileSync(join(machine.cwd, ".claude", "settings.local.json"), "utf8"))
    expect(Object.keys(local)).toEqual(["hooks"])
    const env = { ...machine.env, CTXBRIDGE_STATUSLINE: "0" }
    await said(run(["install"], { cwd: machine.cwd, env }))
    expect(Object.keys(JSON.parse(readFileSync(settingsOf(machine), "utf8")))).toEqual(["hooks"])
  })
})
