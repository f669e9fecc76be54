import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { OPTIONS, optionNamed, resolveOptions } from "../../../src/config/options.ts"
import { unusedVariables } from "../../../src/config/unused-variables.ts"
import { Inside } from "../../support/inside.ts"
import { contextOf } from "../../support/machine.ts"

/** An option under the name that it had. */
describe("a former name", () => {
  const meaning = (layers: Parameters<typeof resolveOptions>[0]) => {
    const { config, origin, problems } = resolveOptions(layers)
    return [config["search.meaning"], origin["search.meaning"], problems] as const
  }

  test("counts in a file and in the environment, with what it took", () => {
    expect(meaning({})).toEqual(["auto", "default", []])
    expect(meaning({ user: { "embed.enabled": false } })).toEqual(["off", "user", []])
    expect(meaning({ user: { "embed.enabled": true } })).toEqual(["auto", "user", []])
    expect(meaning({ env: { CTXBRIDGE_EMBED: "0" } })).toEqual(["off", "env", []])
    expect(meaning({ env: { CTXBRIDGE_EMBED: "on" } })).toEqual(["auto", "env", []])
  })

  test("the new one goes before it", () => {
    expect(meaning({ user: { "embed.enabled": false, "search.meaning": "auto" } })).toEqual([
      "auto",
      "user",
      [],
    ])
    const env = { CTXBRIDGE_EMBED: "1", CTXBRIDGE_MEANING: "off" }
    expect(meaning({ env, user: { "embed.enabled": true } })).toEqual(["off", "env", []])
  })

  test("what is not allowed is told under the new one", () => {
    expect(meaning({ user: { "embed.enabled": "perhaps" } })).toMatchObject([
      "auto",
      "default",
      [{ key: "search.meaning", origin: "user", isValue: true }],
    ])
    expect(meaning({ project: { "embed.enabled": false } })).toMatchObject([
      "auto",
      "default",
      [{ key: "search.meaning", message: "not allowed in a project's file" }],
    ])
    expect(optionNamed("embed.enabled")).toBe("search.meaning")
    expect(optionNamed("embed.enable")).toBeUndefined()
  })
})

/** Values of the environment. */
describe("environment", () => {
  const BAD = [
    "abc",
    "4k0",
    "4000.5",
    "-1",
    "1e3",
    "NaN",
    "Infinity",
    "0x10",
    "9501",
    "999999999999",
    "4_000",
    "true",
  ]

  for (const name of ["CTXBRIDGE_RESTORE_BUDGET", "CLAUDE_FLOW_COMPACT_RESTORE_BUDGET"]) {
    test.each(BAD)(`${name}=%s is named and ignored`, (value) => {
      const { config, origin, problems } = resolveOptions({ env: { [name]: value } })
      expect(config["restore.budget"]).toBe(4000)
      expect(origin["restore.budget"]).toBe("default")
      expect(problems).toMatchObject([{ key: "restore.budget", origin: "env" }])
    })
  }

  /** `4k0` must not be a budget of 4, nor `abc` one without end. */
  test("an empty value is none", () => {
    expect(resolveOptions({ env: { CTXBRIDGE_RESTORE_BUDGET: "" } }).problems).toEqual([])
  })

  test.each(["0", "1", "9500", " 700 "])("CTXBRIDGE_RESTORE_BUDGET=%p counts", (value) => {
    const { config, problems } = resolveOptions({ env: { CTXBRIDGE_RESTORE_BUDGET: value } })
    expect(config["restore.budget"]).toBe(Number(value))
    expect(problems).toEqual([])
  })

  test("a bad value falls through to the next source", () => {
    const { config } = resolveOptions({
      env: { CTXBRIDGE_RESTORE_BUDGET: "x" },
      user: { "restore.budget": 900 },
    })
    expect(config["restore.budget"]).toBe(900)
  })

  test.each([
    ["0", 0],
    ["1048576", 1_048_576],
    ["500MB", 500_000_000],
    ["2 gb", 2_000_000_000],
    ["1.5G", 1_500_000_000],
    ["10k", 10_000],
    ["7B", 7],
  ])("CTXBRIDGE_ARCHIVE_MAX_SIZE=%p is %p bytes", (value, bytes) => {
    const { config, problems } = resolveOptions({ env: { CTXBRIDGE_ARCHIVE_MAX_SIZE: value } })
    expect(config["archive.max_size"]).toBe(bytes)
    expect(problems).toEqual([])
  })

  test.each(["-1", "GB", "1e9", "5 apples", "9999999TB", "true", "1,5G"])(
    "CTXBRIDGE_ARCHIVE_MAX_SIZE=%p is named and ignored",
    (value) => {
      const { config, problems } = resolveOptions({ env: { CTXBRIDGE_ARCHIVE_MAX_SIZE: value } })
      expect(config["archive.max_size"]).toBe(5_000_000_000)
      expect(problems).toMatchObject([{ key: "archive.max_size", origin: "env" }])
    },
  )

  test("a size in a file may be a number", () => {
    const { config, problems } = resolveOptions({ user: { "archive.max_size": 1_000_000 } })
    expect(config["archive.max_size"]).toBe(1_000_000)
    expect(problems).toEqual([])
  })
})

/** A project's file reaches the hooks, and can set only what it may. */
describe("project config", () => {
  setDefaultTimeout(60_000)

  const compacted = async (file: string): Promise<string> => {
    using machine = new Inside()
    writeFileSync(join(machine.cwd, ".ctxbridge.toml"), file)
    const session = machine
      .session()
      .turn("Never touch the generated files. 🛡️", [], "An answer. ".repeat(9))
      .turn("and more".repeat(30))
      .turn("and again ".repeat(20))
      .flush()
    await machine.hook("pre-compact", session, { trigger: "manual" })
    return contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
  }

  test("restore.budget in the project's file counts", async () => {
    const whole = await compacted("")
    const cut = await compacted("[restore]\nbudget = 600\n")
    expect(whole.length).toBeGreaterThan(600)
    expect(cut.length).toBeGreaterThan(0)
    expect(cut.length).toBeLessThanOrEqual(600)
  })

  test("restore.enabled = false in the project's file counts", async () => {
    expect(await compacted("[restore]\nenabled = false\n")).toBe("")
  })

  test("what only the user may set, and a broken file, change nothing", async () => {
    const whole = await compacted("")
    const same = (text: string): string => text.replaceAll(/session="[^"]*"|ctx:[0-9a-z]+/g, "")
    expect(same(await compacted("[capture]\nenabled = false\n"))).toBe(same(whole))
    expect(same(await compacted("[restore\nbudget = "))).toBe(same(whole))
  })
})

/** Names of the design documents: each has an effect, or is told with what to use instead. */
describe("unused variables", () => {
  /** All that the design documents name. */
  const NAMED =
    "CLAUDE_FLOW_COMPACT_RESTORE_BUDGET CLAUDE_FLOW_COMPACT_INSTRUCTION_BUDGET CLAUDE_FLOW_AUTO_OPTIMIZE " +
    "CLAUDE_FLOW_RETENTION_DAYS CLAUDE_FLOW_CONTEXT_AUTOPILOT CLAUDE_FLOW_CONTEXT_WINDOW CLAUDE_FLOW_AUTOPILOT_WARN " +
    "CLAUDE_FLOW_AUTOPILOT_PRUNE CLAUDE_FLOW_BLOCK_COMPACTION CLAUDE_TEXT_PRUNE_KEEP CLAUDE_TEXT_PRUNE_THRESHOLD " +
    "CLAUDE_TEXT_PRUNE_MAX_CHARS CLAUDE_AUTOCOMPACT_PCT_OVERRIDE CLAUDE_MEMORY_DB DISABLE_COMPACT RUFLO_DEBUG " +
    "RUVECTOR_HOST RUVECTOR_PORT RUVECTOR_DATABASE RUVECTOR_USER RUVECTOR_PASSWORD RUVECTOR_SSL"

  /** Read by config/load.ts. */
  const READ = /^(CLAUDE_AUTOCOMPACT_PCT_OVERRIDE|DISABLE_COMPACT|RUVECTOR_\w+)$/

  test("each of them is an option, is read, or is told as unused", () => {
    const options = new Set<string>(Object.values(OPTIONS).flatMap(({ env }) => env as readonly string[]))
    const names = NAMED.split(" ")
    const unused = new Set(unusedVariables(names).map(({ name }) => name))
    const kinds = (name: string): number =>
      [options.has(name), READ.test(name), unused.has(name)].filter(Boolean).length
    expect(names.filter((name) => kinds(name) !== 1)).toEqual([])
  })

  test("says what to use instead", () => {
    for (const { asks, instead } of unusedVariables(NAMED.split(" "))) {
      expect(asks).not.toBe("")
      expect(instead).not.toBe("")
    }
    const [former] = unusedVariables(["CTXBRIDGE_LEARN_HOLDOUT"])
    expect(former?.instead).toContain("no longer exists")
    expect(unusedVariables(["PATH", "DEBUG", "PGHOST", "constructor"])).toEqual([])
  })

  test("what says where a server is has an effect only with one", () => {
    const told = (...names: string[]) => unusedVariables(names).map(({ name }) => name)
    expect(told("RUVECTOR_PORT", "RUVECTOR_PASSWORD")).toEqual(["RUVECTOR_PORT", "RUVECTOR_PASSWORD"])
    for (const name of ["RUVECTOR_HOST", "CTXBRIDGE_SYNC_TO", "CTXBRIDGE_BACKEND"])
      expect(told("RUVECTOR_PORT", name)).toEqual([])
  })
})
