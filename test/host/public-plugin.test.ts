/** The plugin in `plugin/`, put in by Claude Code's own commands: alone, beside an install, and without a program. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { cpSync, rmSync } from "node:fs"
import { join, resolve } from "node:path"
import { openCurrent } from "../../src/views/open-current.ts"
import { clearStages, once, openBareStage, type Stage } from "./checks.ts"
import { type Client, clientFor } from "./clients.ts"
import { type PrintRun, runPrint } from "./drive.ts"
import { bash, type Recorded, say } from "./mock-api.ts"
import { ctxbridge, type World } from "./world.ts"

const ROOT = resolve(import.meta.dir, "../..")
const TOOL = "mcp__plugin_ctxbridge_ctxbridge__search"
const PROMPT = "Write the parser, never touch the lexer"
const BESIDE = "Write the parser, beside an install"

// A command of Claude Code's takes two seconds of the processor and more, and each stage calls several.
setDefaultTimeout(300_000)
afterAll(clearStages)

/**
 * A world whose Claude Code has looked at a copy of the repository, with a space in its path, and at the plugin in it,
 * and has installed the plugin from there.
 */
function plugged(client: Client): Stage {
  const stage = openBareStage(client)
  const { world, mock } = stage
  world.env["PATH"] = `${join(world.root, "bin")}:${world.env["PATH"]}`
  const market = join(world.root, "market place")
  for (const folder of [".claude-plugin", "plugin"])
    cpSync(join(ROOT, folder), join(market, folder), { recursive: true })
  const validations = [market, join(market, "plugin")].map((path) => ["validate", path])
  for (const args of [...validations, ["marketplace", "add", market], ["install", "ctxbridge@ctxbridge"]]) {
    const { code, text } = claudePlugin(world, args)
    expect({ args, code, text }).toEqual({ args, code: 0, text: expect.any(String) })
  }
  mock.plan("Write the parser", [bash("echo parsed"), say("The parser is written.")])
  return stage
}

function claudePlugin({ client, cwd, env }: World, args: readonly string[]) {
  const ran = Bun.spawnSync([...client.command, "plugin", ...args], { cwd, env, stdin: "ignore" })
  return { code: ran.exitCode, text: `${ran.stdout}${ran.stderr}` }
}

interface Init {
  readonly slash_commands: readonly string[]
  readonly tools: readonly string[]
}

const initOf = ({ outputs }: PrintRun): Init =>
  outputs.find(({ subtype }) => subtype === "init") as unknown as Init

const requests = ({ mock }: Stage): Recorded[] => mock.requests.filter(({ kind }) => kind === "main")

const prompts = ({ world }: Stage): string[] => {
  using db = openCurrent(world.store, "command")
  return db
    .query<{ prompt: string }, []>("SELECT prompt FROM turns ORDER BY id")
    .all()
    .map(({ prompt }) => prompt)
}

const findings = ({ world }: Stage): string[] =>
  (
    JSON.parse(ctxbridge(world, ["doctor", "--json"]).stdout) as { findings: Record<string, string>[] }
  ).findings
    .filter(({ check }) => check === "hooks" || check === "double" || check === "server")
    .map(({ check, state, text }) => `${check} ${state}: ${text}`)

for (const version of ["2.0.76", "2.1.112", "latest"]) {
  const { client, missing } = await clientFor(version, `the plugin in Claude Code ${version}`)

  describe.skipIf(missing !== undefined)(`Claude Code ${client.version}`, () => {
    const alone = once(async () => {
      const stage = plugged(client)
      const run = await runPrint(stage.world, [
        PROMPT,
        "/ctxbridge:recall the lexer",
        "/ctxbridge:resume the parser",
        "/ctxbridge:receipts",
        "/ctxbridge:setup",
      ])
      return { stage, run }
    })

    test("alone: it archives, and has the tools, the skill and the commands once each", async () => {
      const { stage, run } = await alone()
      expect({ code: run.code, stderr: run.stderr }).toEqual({ code: 0, stderr: "" })
      const { slash_commands: commands, tools } = initOf(run)
      const ours = commands.filter((name) => name.startsWith("ctxbridge:")).sort()
      expect(ours).toEqual(["recall", "receipts", "resume", "setup"].map((name) => `ctxbridge:${name}`))
      expect(tools.filter((name) => name.endsWith("__search"))).toEqual([TOOL])
      expect(prompts(stage).filter((prompt) => prompt === PROMPT)).toHaveLength(1)
      expect(findings(stage)).toEqual([
        "hooks ok: registered by the plugin ctxbridge@ctxbridge",
        "double ok: nothing is registered twice",
        "server ok: provided by the plugin ctxbridge@ctxbridge",
      ])
    })

    test("the commands say what to do, with the plugin's own path", async () => {
      const { stage } = await alone()
      const [, ...texts] = requests(stage).map(({ text }) => text)
      const last = texts.at(-1)!
      expect(last).toContain("ARGUMENTS: the lexer")
      expect(last).toContain("go on with: the parser")
      for (const script of ['run.sh" show receipts', 'setup.sh"']) {
        const line = last.split("\n").find((one) => one.includes(script)) ?? ""
        expect(line).toStartWith('    sh "/')
        const command = line.trim()
        const { exitCode, stdout } = Bun.spawnSync(["sh", "-c", command], {
          cwd: stage.world.cwd,
          env: stage.world.env,
        })
        expect({ command, exitCode }).toEqual({ command, exitCode: 0 })
        expect(stdout.toString()).toMatch(/no compaction|is installed already/)
      }
    })

    // The following use its world further.
    test("beside an install nothing happens twice, and after an uninstall it takes over again", async () => {
      const { stage } = await alone()
      const { world } = stage
      expect(ctxbridge(world, ["install", "--no-import"]).exitCode).toBe(0)
      const run = await runPrint(world, [BESIDE, "/compact", "What next?"])
      expect(run.code).toBe(0)
      expect(initOf(run).tools.filter((name) => name.endsWith("__search"))).toEqual([
        "mcp__ctxbridge__search",
      ])
      const next = requests(stage).findLast(({ text }) => text.includes("What next?"))!
      expect(next.text.split("<ctxbridge-restore").length - 1).toBe(1)
      expect(prompts(stage).filter((prompt) => prompt === BESIDE)).toHaveLength(1)
      expect(findings(stage)).toEqual([
        "hooks ok: user settings: all 6",
        "double ok: the plugin ctxbridge@ctxbridge leaves the hooks to the settings",
        "server ok: user: the MCP server is registered",
      ])
      expect(ctxbridge(world, ["uninstall"]).exitCode).toBe(0)
      const after = await runPrint(world, ["Only the plugin is left"])
      expect(initOf(after).tools).toContain(TOOL)
      expect(prompts(stage)).toContain("Only the plugin is left")
    })

    test("without a program the prompt goes through, and the user is told how to get one", async () => {
      const { stage } = await alone()
      const { world } = stage
      const earlier = requests(stage).length
      rmSync(world.binary)
      const run = await runPrint(world, [PROMPT])
      expect({ code: run.code, stderr: run.stderr }).toEqual({ code: 0, stderr: "" })
      const later = requests(stage).slice(earlier)
      expect(later.at(-1)!.text).toContain(PROMPT)
      expect(JSON.stringify(later.map(({ text }) => text))).not.toContain("/ctxbridge:setup")
    })
  })
}
