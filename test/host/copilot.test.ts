/**
 * The real Copilot CLI with our hooks: a conversation with tools and a subagent that is compacted by itself, resumed,
 * compacted without a tool after it, in another folder, and after our binary is gone.
 */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { vaultFile, vaultPath } from "../../src/vault/layout.ts"
import { occurrences, RESTORE_MARK } from "./checks.ts"
import { asksForSummary, type ChatReply, type ChatRequest, SUMMARY, textOf } from "./copilot-model.ts"
import {
  COPILOT_FULL,
  type CopilotWorld,
  copilotFor,
  createCopilotWorld,
  eventsOf,
  installInCopilot,
  readEvents,
  runCopilot,
} from "./copilot-world.ts"
import { ctxbridge, until } from "./world.ts"

setDefaultTimeout(240_000)

const open: CopilotWorld[] = []
afterAll(() => {
  for (const world of open) world.dispose()
})

const run = (command: string, more: Partial<ChatReply> = {}): ChatReply => ({
  calls: [{ name: "bash", input: { command, description: "work", mode: "sync" } }],
  ...more,
})
/** As long as a model takes at least: the transcript then says what was before it. */
const SOME_TIME = { takes: 2500 }

/** By the words of the last prompt; what is done so far, by the calls that were made at all. */
function planned(): (request: ChatRequest) => ChatReply {
  const steps: Readonly<Record<string, ChatReply[]>> = {
    "Survey the kiln": [
      run("echo embers", { text: "Looking.", think: "It may be hot." }),
      run("exit 3"),
      {
        calls: [
          {
            name: "task",
            input: {
              agent_type: "explore",
              name: "yard",
              description: "look",
              prompt: "Look at the yard",
              mode: "sync",
            },
          },
        ],
      },
      run("echo ashes", { tokens: COPILOT_FULL }),
      run("echo soot"),
      run("echo smoke", SOME_TIME),
      { text: "Surveyed." },
    ],
    "Look at the yard": [run("echo gravel"), { text: "There is gravel." }],
    "Sweep the chimney": [run("echo brush", { tokens: COPILOT_FULL }), run("echo soot"), { text: "Swept." }],
  }
  return ({ messages }) => {
    const said = messages.filter(({ role }) => role === "user").map(textOf)
    const words = Object.keys(steps)
      .map((key) => ({ key, at: said.findLastIndex((text) => text.includes(key)) }))
      .sort((a, b) => b.at - a.at)[0]!
    if (words.at < 0 || said.at(-1)!.includes("Go on")) return { text: "Went on." }
    return steps[words.key]!.shift() ?? { text: "Nothing more." }
  }
}

const wholeOf = ({ messages }: ChatRequest): string =>
  messages
    .filter(({ role }) => role !== "system")
    .map(textOf)
    .join("\n")

/** Every record is in the vault, byte for byte. */
async function expectInVault(world: CopilotWorld): Promise<void> {
  const missing = (): string[] =>
    eventsOf(world).filter((path) => {
      const copy = vaultFile(world.store, vaultPath(path, world.home))
      try {
        return !Buffer.from(Bun.zstdDecompressSync(readFileSync(copy))).equals(readFileSync(path))
      } catch {
        return true
      }
    })
  await until("every byte in the vault", () => missing().length === 0, { state: () => missing().join("\n") })
  expect(ctxbridge(world, ["verify"])).toMatchObject({ exitCode: 0 })
}

/** Each hook ended well, as Copilot sees it, and was called where we are told to be. */
function expectSound(world: CopilotWorld, path: string): void {
  const ended = readEvents(path).filter(({ type }) => type === "hook.end")
  expect(ended.filter(({ data }) => data["success"] !== true)).toEqual([])
  expect(new Set(ended.map(({ data }) => data["hookType"]))).not.toContain("preToolUse")
  expect(existsSync(join(world.home, ".local/state/ctxbridge/ctxbridge.log"))).toBe(false)
}

const compactions = (path: string): number =>
  readEvents(path).filter(
    ({ type, data }) => type === "session.compaction_complete" && data["outcome"] === "applied",
  ).length

for (const version of ["1.0.102"]) {
  const { client, missing } = await copilotFor(version)

  describe.skipIf(missing !== undefined)(`Copilot CLI ${version}`, () => {
    const staged = (folder?: string): CopilotWorld => {
      const world = createCopilotWorld(client, planned(), folder)
      open.push(world)
      installInCopilot(world)
      return world
    }

    test("compacted within a turn, resumed, the next session of the project, and without us", async () => {
      const world = staged()
      const { requests } = world.model
      const first = await runCopilot(world, ["-p", "Survey the kiln"])
      expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining("Surveyed.") })
      const [path] = eventsOf(world) as [string]
      expect(compactions(path)).toBe(1)
      // At the next tool: once, behind the summary, with the tools' names.
      const main = requests.filter((request) => !asksForSummary(request)).map(wholeOf)
      const after = main.filter((text) => text.includes(SUMMARY))
      const given = main.findIndex((text) => text.includes(RESTORE_MARK))
      expect(given).toBeGreaterThan(0)
      expect(main.slice(given).map((text) => occurrences(text, RESTORE_MARK))).toEqual(
        main.slice(given).map(() => 1),
      )
      expect(main.indexOf(after[0]!)).toBeLessThanOrEqual(given)
      const restored = main[given]!
      expect(restored.indexOf(SUMMARY)).toBeLessThan(restored.indexOf(RESTORE_MARK))
      expect(restored).toContain("last failing: `exit 3`")
      expect(restored).toContain("`ctxbridge-get`")
      expect(restored).not.toContain("Claude")
      const offered = (requests.at(-1)!.tools ?? []).map((tool) => tool.function.name)
      expect(offered).toContain("ctxbridge-get")

      const resumed = await runCopilot(world, ["--continue", "-p", "Go on"])
      expect(resumed).toMatchObject({ code: 0, stdout: expect.stringContaining("Went on.") })
      expect(occurrences(wholeOf(requests.at(-1)!), RESTORE_MARK)).toBe(1)
      expectSound(world, path)

      const other = await runCopilot(world, ["-p", "Go on, anew"])
      expect(other.code).toBe(0)
      const pointer = wholeOf(requests.at(-1)!)
      expect(occurrences(pointer, `${RESTORE_MARK} source="startup"`)).toBe(1)
      expect(pointer).toContain("Last session of this project")
      await expectInVault(world)
      // What was restored is found as nobody's words.
      const found = JSON.parse(ctxbridge(world, ["search", "embers", "--json"]).stdout)
      expect(found.hits[0]).toMatchObject({ program: "copilot" })
      const receipts = ctxbridge(world, ["receipts", "--json"])
      expect(receipts.exitCode).toBe(0)

      rmSync(world.binary)
      expect(await runCopilot(world, ["-p", "Go on alone"])).toMatchObject({
        code: 0,
        stdout: expect.stringContaining("Went on."),
      })
    })

    test("compacted where no tool follows: at the next prompt, once; in another folder", async () => {
      const world = staged("elsewhere/copilot")
      const { requests } = world.model
      expect((await runCopilot(world, ["-p", "Sweep the chimney"])).code).toBe(0)
      const [path] = eventsOf(world) as [string]
      expect(compactions(path)).toBe(1)
      expect(requests.map(wholeOf).join("\n")).not.toContain(RESTORE_MARK)
      const resumed = await runCopilot(world, ["--resume", path.split("/").at(-2)!, "-p", "Go on"])
      expect(resumed).toMatchObject({ code: 0, stdout: expect.stringContaining("Went on.") })
      expect(occurrences(wholeOf(requests.at(-1)!), `${RESTORE_MARK} source="compact"`)).toBe(1)
      expect(wholeOf(requests.at(-1)!)).toContain("last good: `echo soot`")
      expect((await runCopilot(world, ["--continue", "-p", "Go on twice"])).code).toBe(0)
      expect(occurrences(wholeOf(requests.at(-1)!), `${RESTORE_MARK} source="compact"`)).toBe(1)
      expectSound(world, path)
      await expectInVault(world)
      const doctor = JSON.parse(ctxbridge(world, ["doctor", "--json"]).stdout)
      const told = (doctor.findings as { check: string; text: string; state: string }[]).filter(
        ({ check }) => check === "copilot",
      )
      expect(told.map(({ state }) => state)).toEqual(["ok", "ok", "ok"])
      expect(ctxbridge(world, ["uninstall", "--agent", "copilot"])).toMatchObject({ exitCode: 0 })
      expect(existsSync(join(world.folder, "hooks"))).toBe(false)
      expect(existsSync(join(world.folder, "mcp-config.json"))).toBe(false)
    })
  })
}
