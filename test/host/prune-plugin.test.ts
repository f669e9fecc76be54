/** `prune plugin` in the real client: it answers compactions in place of a model, and everything goes on. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { openCurrent } from "../../src/views/open-current.ts"
import { clearStages, FULL, openStage, type Stage } from "./checks.ts"
import { type Client, clientFor } from "./clients.ts"
import { runPrint, Terminal } from "./drive.ts"
import { bash, type Recorded, say } from "./mock-api.ts"
import { ctxbridge, hookCalls, until } from "./world.ts"

setDefaultTimeout(240_000)
afterAll(clearStages)

const LEAD = "This conversation was compacted"
const CONSTRAINT = "never touch the lexer"

const settingsOf = ({ world }: Stage): string =>
  readFileSync(join(world.home, ".claude", "settings.json"), "utf8")

function plugged(client: Client): Stage {
  const stage = openStage(client, {}, [["prune", "plugin"]])
  const { mock } = stage
  mock.plan("Write the parser", [bash("echo parsed"), say("The parser is written.")])
  mock.plan("Fill the window", [say("The window is full.", FULL)])
  return stage
}

const kinds = ({ mock }: Stage, kind: Recorded["kind"]): Recorded[] =>
  mock.requests.filter((one) => one.kind === kind)

const restores = ({ world }: Stage) =>
  hookCalls(world).filter(
    ({ event, detail, stdout }) => event === "SessionStart" && detail === "compact" && stdout !== "",
  )

const texts = ({ body }: Recorded): (string | undefined)[] =>
  (body.messages ?? []).flatMap(({ content }) =>
    typeof content === "string" ? [content] : content.map(({ text }) => text),
  )

const occurrences = ({ text }: Recorded, words: string): number => text.split(words).length - 1

/** The request with these words has the new context once, the constraint, and handles that open. */
function expectContext(stage: Stage, words: string): void {
  const request = kinds(stage, "main").find(({ text }) => text.includes(words))!
  expect(occurrences(request, LEAD)).toBe(1)
  // A line of the restore may name it, too, if it was already archived.
  expect(texts(request).filter((text) => text === words)).toHaveLength(1)
  expect(request.text).toContain(CONSTRAINT)
  const [handle] = /ctx:[0-9a-z]{6,}/.exec(request.text) ?? []
  const { exitCode, stdout } = ctxbridge(stage.world, ["show", handle!])
  expect(exitCode).toBe(0)
  expect(stdout).toContain("Write the parser")
}

/** What Claude Code wrote again after a compaction is in the archive once. */
function expectOnce({ world }: Stage): void {
  const db = openCurrent(world.store, "command")
  const prompts = db
    .query<{ prompt: string; n: number }, []>(
      "SELECT prompt, count(*) AS n FROM turns WHERE via = 'typed' GROUP BY prompt ORDER BY min(id)",
    )
    .all()
  expect(prompts.map(({ prompt }) => prompt)).toEqual([
    `Write the parser, ${CONSTRAINT}`,
    "What next?",
    "Fill the window",
    "After it was full",
  ])
  expect(prompts.filter(({ n }) => n > 1)).toEqual([])
  const twice = db
    .query<{ role: string; time: string }, []>(
      "SELECT role, time FROM messages WHERE time IS NOT NULL GROUP BY role, time, alias HAVING count(*) > 1",
    )
    .all()
  expect(twice).toEqual([])
}

const stops = ({ world }: Stage): number => hookCalls(world).filter(({ event }) => event === "Stop").length

/** Of sessions that begin anew after a compaction. */
const starts = ({ world }: Stage): number =>
  hookCalls(world).filter(({ event, detail }) => event === "SessionStart" && detail === "compact").length

const { client, missing } = await clientFor("latest", "a plugin of ours that answers compactions")

describe.skipIf(missing !== undefined)(`Claude Code ${client.version}`, () => {
  test("compacts without a model, on demand and by itself, and the next request has what counts once", async () => {
    const stage = plugged(client)
    const prompts = [
      `Write the parser, ${CONSTRAINT}`,
      "/compact",
      "What next?",
      "Fill the window",
      "After it was full",
    ]
    const run = await runPrint(stage.world, prompts)
    expect({ code: run.code, stderr: run.stderr }).toEqual({ code: 0, stderr: "" })
    expect(kinds(stage, "compact")).toEqual([])
    // What the plugin said counts as the restore.
    expect(restores(stage)).toEqual([])

    for (const words of ["What next?", "After it was full"]) expectContext(stage, words)
    expectOnce(stage)
    const again = await runPrint(stage.world, ["Go on after resuming"], ["--resume", run.sessionId])
    expect(again.code).toBe(0)
    const resumed = kinds(stage, "main").findLast(({ text }) => text.includes("Go on after resuming"))!
    expect(occurrences(resumed, LEAD)).toBe(1)
    expect(texts(resumed).filter((text) => text === "After it was full")).toHaveLength(1)
  })

  /** tmux types, as a user would. */
  test.skipIf(Bun.which("tmux") === null)("the same in a terminal (needs tmux)", async () => {
    const stage = plugged(client)
    const { world } = stage
    const terminal = await Terminal.start(world)
    try {
      const say = async (words: string): Promise<void> => {
        await terminal.enter(words, () => kinds(stage, "main").some(({ text }) => text.includes(words)))
        await until(`the end of "${words}"`, () => stops(stage) > said, { state: () => terminal.screen() })
        said++
      }
      let said = 0
      await say(`Write the parser, ${CONSTRAINT}`)
      await terminal.enter("/compact", () => starts(stage) > 0)
      await say("What next?")
      await say("Fill the window")
      await say("After it was full")
      expect(starts(stage)).toBe(2)
      await terminal.leave()
    } finally {
      terminal.kill()
    }
    expect(kinds(stage, "compact")).toEqual([])
    expect(restores(stage)).toEqual([])
    for (const words of ["What next?", "After it was full"]) expectContext(stage, words)
    const [{ session_id: session }] = hookCalls(world).map(({ stdin }) => stdin) as [Record<string, string>]
    expectOnce(stage)
    const again = await Terminal.start(world, ["--resume", session!])
    try {
      const words = "Go on after resuming"
      await again.enter(words, () => kinds(stage, "main").some(({ text }) => text.includes(words)))
      const resumed = kinds(stage, "main").findLast(({ text }) => text.includes(words))!
      expect(occurrences(resumed, LEAD)).toBe(1)
    } finally {
      again.kill()
    }
  })

  test("installed from its marketplace by Claude Code's own commands", async () => {
    const stage = openStage(client)
    const { world, mock } = stage
    mock.plan("Write the parser", [bash("echo parsed"), say("The parser is written.")])
    expect(ctxbridge(world, ["prune", "plugin"]).exitCode).toBe(0)
    const folder = join(world.root, "marketplace")
    cpSync(join(world.store, "plugin"), folder, { recursive: true })
    expect(ctxbridge(world, ["prune", "plugin", "--revert"]).exitCode).toBe(0)
    const claude = (...args: string[]) => {
      const ran = Bun.spawnSync([...client.command, "plugin", ...args], { cwd: world.cwd, env: world.env })
      return { code: ran.exitCode, text: `${ran.stdout}${ran.stderr}` }
    }
    for (const args of [
      ["validate", folder],
      ["marketplace", "add", folder],
      ["install", "ctxbridge@ctxbridge"],
    ]) {
      const { code, text } = claude(...args)
      expect({ args, code, text }).toEqual({ args, code: 0, text: expect.any(String) })
    }
    const run = await runPrint(world, [`Write the parser, ${CONSTRAINT}`, "/compact", "What next?"])
    expect({ code: run.code, stderr: run.stderr }).toEqual({ code: 0, stderr: "" })
    expect(kinds(stage, "compact")).toEqual([])
    expectContext(stage, "What next?")
  })

  test("compacts as usual when the binary is gone, or hangs, and its settings are as before when the plugin is", async () => {
    const stage = plugged(client)
    const { world } = stage
    expect(settingsOf(stage)).toContain("CLAUDE_CODE_PLUGIN_DIRS")
    const module = join(world.store, "plugin", "hooks", "compact.mjs")
    const text = readFileSync(module, "utf8")
    writeFileSync(module, text.replace(world.binary, `${world.binary}-gone`))
    const run = await runPrint(world, [`Write the parser, ${CONSTRAINT}`, "/compact", "What next?"])
    expect(run.code).toBe(0)
    expect(kinds(stage, "compact")).toHaveLength(1)
    expect(restores(stage)).toHaveLength(1)

    const hanging = join(world.root, "hangs")
    writeFileSync(hanging, "#!/bin/sh\nexec sleep 60\n", { mode: 0o755 })
    writeFileSync(module, text.replace(world.binary, hanging).replace("DEADLINE = 5000", "DEADLINE = 500"))
    await runPrint(world, [`Write the parser, ${CONSTRAINT}`, "/compact", "What next?"])
    expect(kinds(stage, "compact")).toHaveLength(2)

    expect(ctxbridge(world, ["prune", "plugin", "--revert"])).toMatchObject({ exitCode: 0, stderr: "" })
    expect(settingsOf(stage)).not.toContain("CLAUDE_CODE_PLUGIN_DIRS")
    expect(existsSync(module)).toBe(false)
  })
})

for (const version of ["2.0.76", "2.1.112"]) {
  const old = await clientFor(version)
  test.skipIf(old.missing !== undefined)(`${version} takes no notice of the plugin`, async () => {
    const stage = openStage(old.client)
    const { world, mock } = stage
    mock.plan("Write the parser", [bash("echo parsed"), say("The parser is written.")])
    // Nobody is called `claude` here, so the plugin is set up as if for a newer one.
    expect(ctxbridge(world, ["prune", "plugin"]).exitCode).toBe(0)
    const run = await runPrint(world, [`Write the parser, ${CONSTRAINT}`, "/compact", "What next?"])
    expect(run.code).toBe(0)
    expect(kinds(stage, "compact")).toHaveLength(1)
    expect(restores(stage)).toHaveLength(1)
  })
}
