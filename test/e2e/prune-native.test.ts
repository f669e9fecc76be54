/** `prune native` on the compiled file: what it writes, refuses and takes back, alone and beside an install. */
import { beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { type Ran, run } from "../support/binary.ts"
import { packagedClient, scriptClient } from "../support/clients-here.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

const TOKEN = "sk-ant-theirs"
const THEIRS = `{
\t"env": { "ANTHROPIC_AUTH_TOKEN": "${TOKEN}", "CLAUDE_CODE_EXTRA_BODY": "{ \\"metadata\\": {\\"a\\":1} }" },
\t"model":"opus"
}`

class Desk extends Machine {
  readonly file = join(this.home, ".claude", "settings.json")

  write(text: string): void {
    mkdirSync(dirname(this.file), { recursive: true })
    writeFileSync(this.file, text)
  }

  read(): string {
    return readFileSync(this.file, "utf8")
  }

  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of it
  body(): any {
    return JSON.parse(JSON.parse(this.read()).env.CLAUDE_CODE_EXTRA_BODY)
  }

  cli(...args: string[]): Promise<Ran> {
    return run(args, { env: this.env, cwd: this.cwd })
  }

  async well(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.cli(...args)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return stdout
  }

  async refused(code: number, ...args: string[]): Promise<string> {
    const ran = await this.cli(...args)
    expect({ code: ran.code, stdout: ran.stdout }).toEqual({ code, stdout: "" })
    expect(ran.stderr.trimEnd().split("\n").length).toBeLessThanOrEqual(2)
    return ran.stderr
  }
}

describe("with hooks installed", () => {
  let desk: Desk
  beforeEach(async () => {
    desk = new Desk()
    packagedClient(desk, "2.1.112")
    desk.write(THEIRS)
    await desk.well("install", "--no-import")
    return () => desk[Symbol.dispose]()
  })

  test("it is set beside what the user has, and taken back byte for byte", async () => {
    using _ = desk
    const installed = desk.read()
    const told = await desk.well("prune", "native")
    expect(told).toContain("CLAUDE_CODE_EXTRA_BODY")
    expect(told).not.toContain(TOKEN)
    expect(desk.body()).toEqual({
      metadata: { a: 1 },
      context_management: {
        edits: [
          {
            type: "clear_tool_uses_20250919",
            trigger: { type: "input_tokens", value: 50_000 },
            keep: { type: "tool_uses", value: 10 },
            clear_at_least: { type: "input_tokens", value: 20_000 },
          },
        ],
      },
    })
    const once = desk.read()
    expect(await desk.well("prune", "native")).toStartWith("Nothing to do")
    expect(desk.read()).toBe(once)
    expect(await desk.well("prune", "native", "--revert")).toStartWith("Restored, byte for byte")
    expect(desk.read()).toBe(installed)
    expect(existsSync(join(desk.dataHome, "prune"))).toBe(false)
    expect(await desk.well("prune", "native", "--revert")).toStartWith("Nothing to remove from")
    expect(desk.read()).toBe(installed)
  })

  test("a dry run writes nothing, here and there", async () => {
    using _ = desk
    const before = desk.read()
    const change = JSON.parse(await desk.well("prune", "native", "--dry-run", "--json"))
    expect(change).toMatchObject({
      changed: true,
      dryRun: true,
      replaced: ["CLAUDE_CODE_EXTRA_BODY"],
      diff: [],
    })
    expect(desk.read()).toBe(before)
    await desk.well("prune", "native")
    const after = desk.read()
    expect(await desk.well("prune", "native", "--revert", "--dry-run")).toStartWith("Would remove")
    expect(desk.read()).toBe(after)
  })

  test("numbers as asked for", async () => {
    using _ = desk
    await desk.well(
      "prune",
      "native",
      "--trigger",
      "80000",
      "--keep",
      "3",
      "--window",
      "150000",
      "--percent",
      "70",
    )
    const { env } = JSON.parse(desk.read())
    expect(env).toMatchObject({
      CLAUDE_CODE_AUTO_COMPACT_WINDOW: "150000",
      CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: "70",
    })
    expect(desk.body().context_management.edits[0]).toMatchObject({
      trigger: { value: 80_000 },
      keep: { value: 3 },
    })
    for (const [name, value] of [
      ["--window", "99999"],
      ["--percent", "101"],
      ["--trigger", "many"],
    ])
      expect(await desk.refused(64, "prune", "native", name!, value!)).toContain(name!)
  })

  test("an uninstall takes it back, too", async () => {
    using _ = desk
    await desk.well("prune", "native")
    const told = await desk.well("uninstall")
    expect(told).toContain("Removed the settings of `prune native` from")
    expect(told).toContain("Restored, byte for byte")
    expect(desk.read()).toBe(THEIRS)
  })

  test("so does one that removes all, without a trace", async () => {
    using _ = desk
    await desk.well("prune", "native")
    await desk.well("uninstall", "--purge", "--yes")
    expect(desk.read()).toBe(THEIRS)
    expect(existsSync(desk.dataHome)).toBe(false)
  })

  test("and from every folder of Claude Code in which it was set", async () => {
    using _ = desk
    await desk.well("prune", "native")
    const other = join(desk.root, "other")
    desk.env["CLAUDE_CONFIG_DIR"] = other
    await desk.well("install", "--no-import")
    await desk.well("prune", "native")
    delete desk.env["CLAUDE_CONFIG_DIR"]
    const { prune } = JSON.parse(await desk.well("uninstall", "--purge", "--yes", "--json"))
    expect(prune.map(({ file }: { file: string }) => file)).toEqual([desk.file, join(other, "settings.json")])
    expect(desk.read()).toBe(THEIRS)
    expect(existsSync(join(other, "settings.json"))).toBe(false)
  })

  test("settings that only look strange do not keep hooks in", async () => {
    using _ = desk
    desk.write(JSON.stringify({ ...JSON.parse(desk.read()), env: [] }))
    await desk.well("uninstall")
    expect(JSON.parse(desk.read())).toEqual({ env: [], model: "opus" })
  })

  test("in any order: pruning first, hooks anew, hooks out, pruning out", async () => {
    using _ = desk
    await desk.well("prune", "native")
    await desk.well("uninstall")
    desk.write(THEIRS)
    await desk.well("install", "--no-import")
    await desk.well("prune", "native")
    // As an update does.
    const other = desk.read().replaceAll("/ctxbridge ", "/elsewhere/ctxbridge ")
    desk.write(other)
    await desk.well("install", "--no-import")
    await desk.well("prune", "native", "--revert")
    expect(JSON.parse(desk.read()).env).toEqual(JSON.parse(THEIRS).env)
    await desk.well("uninstall")
    expect(desk.read()).toBe(THEIRS)
  })

  test("what the user changed meanwhile stays", async () => {
    using _ = desk
    await desk.well("prune", "native", "--percent", "70")
    const now = JSON.parse(desk.read())
    now.env.MINE = "1"
    now.env.CLAUDE_CODE_EXTRA_BODY = JSON.stringify({ ...desk.body(), metadata: { a: 2 } })
    desk.write(JSON.stringify(now))
    expect(await desk.well("prune", "native", "--revert")).toStartWith("Removed from")
    const { env } = JSON.parse(desk.read())
    expect(env).toEqual({
      ANTHROPIC_AUTH_TOKEN: TOKEN,
      CLAUDE_CODE_EXTRA_BODY: '{"metadata":{"a":2}}',
      MINE: "1",
    })
  })

  test("what cannot be read is refused and stays", async () => {
    using _ = desk
    const broken = desk.read().replace('{ \\"metadata\\"', '{ metadata\\"')
    desk.write(broken)
    expect(await desk.refused(1, "prune", "native")).toContain("CLAUDE_CODE_EXTRA_BODY is no JSON object")
    desk.write("{ // mine\n}")
    expect(await desk.refused(1, "prune", "native")).toContain("comments are not allowed")
    expect(desk.read()).toBe("{ // mine\n}")
  })

  test("not where Claude Code would not ask for the beta that it needs", async () => {
    using _ = desk
    desk.env["CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS"] = "1"
    const before = desk.read()
    expect(await desk.refused(1, "prune", "native")).toContain(
      "CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS is set",
    )
    expect(desk.read()).toBe(before)
  })

  test("the mode of the file stays, and what we keep is private", async () => {
    using _ = desk
    const mode = statSync(desk.file).mode
    await desk.well("prune", "native")
    expect(statSync(desk.file).mode).toBe(mode)
    expect(statSync(join(desk.dataHome, "prune", "install", "manifest.json")).mode & 0o777).toBe(0o600)
  })
})

test("nothing is pruned that nobody archives", async () => {
  using desk = new Desk()
  packagedClient(desk, "2.1.112")
  expect(await desk.refused(1, "prune", "native")).toContain("ctxbridge install")
  expect(existsSync(desk.file)).toBe(false)
})

test("an older program that reads the same settings is told of", async () => {
  using desk = new Desk()
  packagedClient(desk, "2.1.112")
  const older = scriptClient(desk, "2.0.76")
  await desk.well("install", "--no-import")
  expect(await desk.well("prune", "native")).toContain(`Requests from ${older} may be refused: 2.0.76`)
})

test("a version whose small requests would be refused gets the percentage, and no clearing", async () => {
  using desk = new Desk()
  packagedClient(desk, "2.0.76")
  scriptClient(desk, "2.1.330")
  await desk.well("install", "--no-import")
  expect(await desk.refused(1, "prune", "native")).toContain("2.0.76 does not ask for the API's beta")
  expect(await desk.well("prune", "native", "--percent", "60")).toContain("is not cleared")
  expect(JSON.parse(desk.read()).env).toEqual({ CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: "60" })
})
