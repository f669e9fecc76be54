/** `install`, `uninstall` and `doctor` with agents besides Claude Code. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import { runAtTerminal } from "../support/terminal.ts"

setDefaultTimeout(limit(120_000))

const CONFIG = 'model = "m"\n\n[tui]\nnotifications = true'
const HOOKS = '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}}'

function withCodex() {
  const machine = new Machine()
  const folder = join(machine.home, ".codex")
  mkdirSync(folder)
  writeFileSync(join(folder, "config.toml"), CONFIG)
  writeFileSync(join(folder, "hooks.json"), HOOKS)
  const read = (name: string) => readFileSync(join(folder, name), "utf8")
  const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
  return { machine, folder, read, cli }
}

test("one that is picked is registered, and all is as it was after an uninstall", async () => {
  const { machine, folder, read, cli } = withCodex()
  using _ = machine
  const tried = await cli("install", "--agent", "codex", "--dry-run")
  expect(tried).toMatchObject({ code: 0, stderr: "" })
  expect(tried.stdout).toContain(`would change ${folder}/hooks.json, ${folder}/config.toml`)
  expect([read("config.toml"), read("hooks.json")]).toEqual([CONFIG, HOOKS])

  const done = await cli("install", "--agent", "codex", "--no-model")
  expect(done).toMatchObject({ code: 0, stderr: "" })
  expect(done.stdout).toContain(`Codex: registered in ${folder}/hooks.json, ${folder}/config.toml\n`)
  expect(done.stdout).toContain('choose "Trust all and continue"')
  expect(existsSync(join(machine.home, ".claude", "settings.json"))).toBe(false)
  const { hooks } = JSON.parse(read("hooks.json"))
  expect(Object.keys(hooks).sort()).toEqual([
    "PreCompact",
    "SessionEnd",
    "SessionStart",
    "Stop",
    "SubagentStop",
    "UserPromptSubmit",
  ])
  // Theirs stays the first, since Codex tells trust by the place.
  expect(hooks.Stop[0].hooks[0].command).toBe("say done")
  expect(hooks.SessionStart).toEqual([
    {
      hooks: [
        {
          type: "command",
          command: expect.stringMatching(/ hook session-start codex$/),
          timeout: 5,
          statusMessage: "ctxbridge",
          additionalContextLimit: 0,
        },
      ],
    },
  ])
  const [config, file] = [read("config.toml"), read("hooks.json")]
  expect((await cli("install", "--agent", "codex", "--no-model")).stdout).toContain(
    "Codex: already registered\n",
  )
  expect([read("config.toml"), read("hooks.json")]).toEqual([config, file])

  const undone = await cli("uninstall", "--json")
  expect(undone).toMatchObject({ code: 0, stderr: "" })
  expect(JSON.parse(undone.stdout).agents[0]).toMatchObject({
    agent: "codex",
    files: [{ action: "restored" }, { action: "restored" }],
  })
  expect([read("config.toml"), read("hooks.json")]).toEqual([CONFIG, HOOKS])
  expect(readdirSync(folder).sort()).toEqual(["config.toml", "hooks.json"])
})

test("where somebody has written since, only ours goes; files that were made for us are private, and go", async () => {
  const { machine, folder, read, cli } = withCodex()
  using _ = machine
  const other = join(machine.root, "elsewhere")
  const there = (...args: string[]) =>
    run(args, { env: { ...machine.env, CODEX_HOME: other }, cwd: machine.cwd })
  expect((await there("install", "--agent", "codex", "--no-model")).code).toBe(0)
  expect(statSync(join(other, "hooks.json")).mode & 0o777).toBe(0o600)
  expect((await cli("install", "--agent", "codex", "--no-model")).code).toBe(0)
  const trust = '\n[hooks.state."x:stop:0:0"]\ntrusted_hash = "sha256:00"\n'
  writeFileSync(join(folder, "config.toml"), read("config.toml") + trust)
  expect((await cli("uninstall", "--agent", "codex")).code).toBe(0)
  expect(read("config.toml")).toBe(`${CONFIG}\n${trust}`)
  expect(read("hooks.json")).toBe(HOOKS)
  // Where CODEX_HOME was another when we were registered.
  expect(existsSync(other)).toBe(false)
})

test("one that is here is only offered, and a file of it that is broken keeps nobody from anything", async () => {
  const { machine, folder, read, cli } = withCodex()
  using _ = machine
  const offered = await cli("install", "--no-model")
  expect(offered).toMatchObject({ code: 0, stderr: "" })
  expect(offered.stdout).toContain(
    `Codex: \`ctxbridge install --agent codex\` would change ${folder}/hooks.json`,
  )
  expect(read("hooks.json")).toBe(HOOKS)
  expect(existsSync(join(machine.home, ".claude", "settings.json"))).toBe(true)
  writeFileSync(join(folder, "config.toml"), "model = = 1\n")
  const broken = await cli("install", "--no-model")
  expect(broken).toMatchObject({ code: 0, stderr: "" })
  expect(broken.stdout).toContain(`Codex: not registered: ${folder}/config.toml: cannot be read here`)
  expect(await cli("install", "--agent", "codex")).toMatchObject({ code: 1, stdout: "" })
  expect(read("hooks.json")).toBe(HOOKS)
  // It is no file of Claude Code's.
  writeFileSync(join(folder, "hooks.json"), "{ // mine\n}")
  const remark = await cli("install", "--agent", "codex")
  expect(remark).toMatchObject({ code: 1, stdout: "" })
  expect(remark.stderr).toContain("strict JSON")
  expect(remark.stderr).not.toContain("Claude")
  writeFileSync(join(folder, "hooks.json"), HOOKS)
  const gone = await cli("uninstall")
  expect(gone).toMatchObject({ code: 0, stderr: "" })
  expect(gone.stdout).not.toContain("Codex")
  expect(existsSync(join(machine.home, ".claude", "settings.json"))).toBe(false)
})

test("who has hooks behind ours is told that Codex may ask for them again, and nobody else", async () => {
  const { machine, folder, read, cli } = withCodex()
  using _ = machine
  const asks = "Codex: start codex: it may ask again for your other hooks"
  expect((await cli("install", "--no-model", "--agent", "codex")).code).toBe(0)
  expect((await cli("uninstall")).stdout).not.toContain(asks)
  expect((await cli("install", "--no-model", "--agent", "codex")).code).toBe(0)
  const content = JSON.parse(read("hooks.json"))
  content.hooks.SessionStart.push({ hooks: [{ type: "command", command: "say hello" }] })
  writeFileSync(join(folder, "hooks.json"), JSON.stringify(content))
  const undone = await cli("uninstall")
  expect(undone).toMatchObject({ code: 0, stderr: "" })
  expect(undone.stdout).toContain(asks)
  expect(JSON.parse(read("hooks.json")).hooks.SessionStart).toHaveLength(1)
})

test("what cannot be removed is said, keeps none of the others, and the program that is still called", async () => {
  const { machine, folder, read, cli } = withCodex()
  using _ = machine
  expect((await cli("install", "--no-model", "--agent", "claude,codex")).code).toBe(0)
  const config = read("config.toml")
  writeFileSync(join(folder, "config.toml"), `${config}\nmodel = = 1\n`)
  const purged = await cli("uninstall", "--purge", "--yes")
  expect(purged).toMatchObject({ code: 1, stderr: "" })
  expect(purged.stdout).toContain(`Codex: not removed: ${folder}/config.toml: cannot be read here`)
  expect(purged.stdout).toContain("`codex mcp remove ctxbridge`")
  expect(purged.stdout).toContain("Nothing else was removed")
  expect(read("hooks.json")).toBe(HOOKS)
  expect(existsSync(join(machine.home, ".claude", "settings.json"))).toBe(true)
  expect((await cli("uninstall")).code).toBe(1)
  writeFileSync(join(folder, "config.toml"), config)
  expect(await cli("uninstall")).toMatchObject({ code: 0, stderr: "" })
  expect(read("config.toml")).toBe(CONFIG)
  const { agents } = JSON.parse((await cli("uninstall", "--purge", "--yes", "--json")).stdout)
  expect(agents[0]).toMatchObject({ agent: "codex", problem: null })
})

test("at a terminal it is asked once", async () => {
  const { machine, read } = withCodex()
  using _ = machine
  const { code, text } = await runAtTerminal(machine, ["install", "--no-model"], { cols: 200, answer: "y\r" })
  expect(code).toBe(0)
  expect(text).toContain("Codex too: register the hooks and the server there? [Y/n]")
  expect(read("hooks.json")).toContain("hook session-start codex")
})

test("options that do not go together", async () => {
  const { machine, cli } = withCodex()
  using _ = machine
  for (const [args, problem] of [
    [["install", "--agent", "gpt"], "--agent must be among claude, codex"],
    [["install", "--agent", "claude,codex", "--scope", "local"], "--scope is about Claude Code's settings"],
    [["uninstall", "--purge", "--yes", "--agent", "codex"], "--purge is for all agents"],
  ] as const)
    expect(await cli(...args)).toMatchObject({
      code: 64,
      stdout: "",
      stderr: expect.stringContaining(problem),
    })
})

test("doctor tells of one that is here, and mends a hook that was changed", async () => {
  const { machine, folder, read, cli } = withCodex()
  using _ = machine
  const told = async (...args: string[]): Promise<[string, string][]> =>
    JSON.parse((await cli("doctor", "--json", ...args)).stdout)
      .findings.filter(({ check }: { check: string }) => check === "codex")
      .map(({ state, text }: { state: string; text: string }) => [state, text])
  expect((await told())[0]).toEqual(["skipped", "Codex: no hooks of ours are registered"])
  expect((await cli("install", "--agent", "codex", "--no-model")).code).toBe(0)
  expect((await told()).slice(0, 3)).toEqual([
    ["ok", `Codex: hooks are registered in ${folder}/hooks.json`],
    ["ok", `Codex: the server is registered in ${folder}/config.toml`],
    ["warn", "Codex: hooks are not trusted yet, so Codex does not call them"],
  ])
  // Who has no Claude Code is not told to register there.
  const alone = { ...machine.env, PATH: "/usr/bin:/bin" }
  const { findings } = JSON.parse((await run(["doctor", "--json"], { env: alone, cwd: machine.cwd })).stdout)
  expect(findings.find(({ check }: { check: string }) => check === "hooks")).toMatchObject({
    state: "skipped",
  })
  const config = read("config.toml")
  writeFileSync(join(folder, "config.toml"), `${config}enabled = false\n`)
  expect((await told())[1]).toEqual(["warn", `Codex: the server is switched off in ${folder}/config.toml`])
  // Codex reads what is not read here.
  writeFileSync(join(folder, "config.toml"), `limit = 9007199254740993\n${config}`)
  const [state, text] = (await told())[1]!
  expect(state).toBe("warn")
  expect(text).toContain("cannot be read here")
  writeFileSync(join(folder, "config.toml"), config)
  // A matcher without `compact` loses what matters most.
  const sound = read("hooks.json")
  const hooks = JSON.parse(sound)
  hooks.hooks.SessionStart[0].matcher = "startup|resume"
  writeFileSync(join(folder, "hooks.json"), JSON.stringify(hooks))
  expect((await told())[0]).toEqual([
    "fail",
    `Codex: hooks in ${folder}/hooks.json are not as they should be: SessionStart`,
  ])
  expect((await told("--fix"))[0]![0]).toBe("ok")
  expect(JSON.parse(read("hooks.json"))).toEqual(JSON.parse(sound))
})

test("doctor says of a version whether it was tried, and that a newer major one was not", async () => {
  using machine = new Machine()
  const bin = join(machine.home, "programs")
  mkdirSync(bin)
  const env = { ...machine.env, PATH: `${bin}:${machine.env["PATH"]}` }
  const cli = (...args: string[]) => run(args, { env, cwd: machine.cwd })
  await cli("install", "--agent", "opencode", "--no-model")
  for (const [version, state, words] of [
    ["1.18.33", "ok", "tried with"],
    ["2.0.3", "warn", "version 2.0.3; not tried"],
    ["0.15.0", "warn", "older than"],
  ] as const) {
    writeFileSync(join(bin, "opencode"), `#!/bin/sh\necho ${version}\n`, { mode: 0o755 })
    const { findings } = JSON.parse((await cli("doctor", "--json")).stdout)
    expect(findings).toContainEqual(
      expect.objectContaining({ check: "opencode", state, text: expect.stringContaining(words) }),
    )
  }
})
