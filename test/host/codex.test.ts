/**
 * The real Codex with our hooks: a conversation that is compacted by itself and on demand, resumed and forked, with a
 * subagent, without the user's trust, and after our binary is gone.
 */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { vaultFile, vaultPath } from "../../src/vault/layout.ts"
import { occurrences, RESTORE_MARK } from "./checks.ts"
import { answer, CODEX_SUMMARY, type CodexRequest, exec } from "./codex-model.ts"
import {
  AppServer,
  CODEX_FULL,
  type CodexWorld,
  codexFor,
  createCodexWorld,
  installInCodex,
  listedHooks,
  recordCodexHooks,
  rolloutsOf,
  runExec,
  trustHooks,
} from "./codex-world.ts"
import { ctxbridge, hookCalls, until } from "./world.ts"

setDefaultTimeout(240_000)

const open: CodexWorld[] = []
afterAll(() => {
  for (const world of open) world.dispose()
})

const textOf = ({ texts }: CodexRequest): string => texts.join("\n")
const names = (world: CodexWorld): string[] =>
  hookCalls(world).map(({ event, detail }) => (detail === "" ? event : `${event} ${detail}`))

/** Every record is in the vault, byte for byte. */
async function expectInVault(world: CodexWorld): Promise<void> {
  const missing = (): string[] =>
    rolloutsOf(world).filter((path) => {
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

/** Each hook ended well, and said nothing that Codex would refuse. */
function expectSound(world: CodexWorld): void {
  const calls = hookCalls(world)
  const wrong = calls.filter(({ code, stderr }) => code !== 0 || stderr !== "")
  expect(wrong.map(({ event, code, stderr }) => ({ event, code, stderr }))).toEqual([])
  const mute = calls.filter(({ event }) => event !== "SessionStart" && event !== "UserPromptSubmit")
  expect(mute.filter(({ stdout }) => stdout !== "")).toEqual([])
}

for (const version of ["0.169.0", "0.171.0"]) {
  const { client, missing } = await codexFor(version)

  describe.skipIf(missing !== undefined)(`Codex ${version}`, () => {
    const staged = async (isTrusted = true): Promise<CodexWorld> => {
      const world = createCodexWorld(client)
      open.push(world)
      installInCodex(world)
      if (isTrusted) {
        recordCodexHooks(world)
        await trustHooks(world)
      }
      const { model } = world
      model.plan("Survey the kiln", [
        exec("echo embers"),
        exec("echo ashes", CODEX_FULL),
        answer("Surveyed."),
      ])
      model.plan("Sweep the chimney", [exec("echo soot"), answer("Swept.")])
      model.plan("Go on", [answer("Went on.")])
      return world
    }

    test("exec: compacted within a turn, resumed, and the next session of the project", async () => {
      const world = await staged()
      const { requests } = world.model
      expect(await listedHooks(world)).toHaveLength(6)
      const first = await runExec(world, ["Survey the kiln"])
      expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining("Surveyed.") })
      expect(names(world)).toEqual([
        "SessionStart startup",
        "UserPromptSubmit",
        "PreCompact auto",
        "SessionStart compact",
        "Stop",
        "SessionEnd other",
      ])
      expect(requests.map(({ isCompaction }) => isCompaction)).toEqual([false, false, true, false])
      // In the very next request: once, behind the summary, with the tool's name.
      const next = textOf(requests[3]!)
      expect(next.indexOf(CODEX_SUMMARY)).toBeLessThan(next.indexOf(RESTORE_MARK))
      expect(occurrences(next, RESTORE_MARK)).toBe(1)
      expect(next).toContain("echo ashes")
      expect(next).toContain("mcp__ctxbridge__get")
      expect(requests[3]!.tools).toContain("mcp__ctxbridge")
      expect(next).not.toContain("Claude")

      const resumed = await runExec(world, ["resume", "--last", "Go on"])
      expect(resumed).toMatchObject({ code: 0, stdout: expect.stringContaining("Went on.") })
      // Codex keeps what hooks have given.
      expect(occurrences(textOf(requests[4]!), RESTORE_MARK)).toBe(1)
      expect(names(world).slice(6)).toEqual([
        "SessionStart resume",
        "UserPromptSubmit",
        "Stop",
        "SessionEnd other",
      ])

      const other = await runExec(world, ["Go on, anew"])
      expect(other.code).toBe(0)
      const pointer = textOf(requests[5]!)
      expect(occurrences(pointer, `${RESTORE_MARK} source="startup"`)).toBe(1)
      expect(pointer).toContain("Last session of this project: 2 turns")
      expectSound(world)
      await expectInVault(world)
      // What was restored is found as nobody's words.
      const found = ctxbridge(world, ["search", "embers", "--json"])
      expect(JSON.parse(found.stdout).hits[0]).toMatchObject({ program: "codex" })

      rmSync(world.binary)
      expect(await runExec(world, ["Go on alone"])).toMatchObject({
        code: 0,
        stdout: expect.stringContaining("Went on."),
      })
    })

    test("app-server: compacted on demand, forked, with a subagent that is compacted", async () => {
      const world = await staged()
      const { model, cwd } = world
      model.plan("Delegate it", [
        {
          call: { namespace: "multi_agent_v1", name: "spawn_agent", input: { message: "Look at the yard" } },
        },
        answer("Delegated."),
      ])
      model.plan("Look at the yard", [exec("echo gravel", CODEX_FULL), answer("Seen.")])
      const server = await new AppServer(world).started()
      try {
        const start = async (method: string, params: Record<string, unknown>): Promise<string> =>
          ((await server.call(method, params))["thread"] as { id: string }).id
        const thread = await start("thread/start", { cwd })
        await server.turn(thread, "Sweep the chimney")
        await server.call("thread/compact/start", { threadId: thread })
        await server.next("turn/completed")
        await server.turn(thread, "Go on after it")
        const [, , asked, next] = model.requests
        expect(asked!.isCompaction).toBe(true)
        expect(occurrences(textOf(next!), RESTORE_MARK)).toBe(1)
        expect(names(world)).toEqual([
          "SessionStart startup",
          "UserPromptSubmit",
          "Stop",
          "PreCompact manual",
          "SessionStart compact",
          "UserPromptSubmit",
          "Stop",
        ])

        const fork = await start("thread/fork", { threadId: thread })
        await server.turn(fork, "Go on from there")
        expect(occurrences(textOf(model.requests.at(-1)!), RESTORE_MARK)).toBe(1)
        expect(names(world)).toContain("SessionStart fork")

        const boss = await start("thread/start", { cwd })
        await server.turn(boss, "Delegate it")
        await until("the end of the subagent", () => names(world).includes("SubagentStop"))
        // The session that it works for has lost nothing.
        await server.turn(boss, "Go on without")
        const own = textOf(model.requests.at(-1)!)
        expect(occurrences(own, `${RESTORE_MARK} source="compact"`)).toBe(0)
      } finally {
        await server.stop()
      }
      expectSound(world)
      await expectInVault(world)
    })

    test("without the user's trust nothing is called; doctor says so, and what was missed is made up for", async () => {
      const world = await staged(false)
      expect((await runExec(world, ["Survey the kiln"])).code).toBe(0)
      expect(existsSync(join(world.store, "vault"))).toBe(false)
      const doctor = ctxbridge(world, ["doctor", "--json"])
      const told = (
        JSON.parse(doctor.stdout).findings as { check: string; text: string; state: string }[]
      ).filter(({ check }) => check === "codex")
      expect(told.filter(({ state }) => state === "warn").map(({ text }) => text)).toEqual([
        "Codex: 6 hooks are not trusted yet, so Codex does not call them",
      ])

      const file = join(world.folder, "hooks.json")
      const sound = readFileSync(file, "utf8")
      writeFileSync(file, sound.replace(/,\s*"additionalContextLimit": 0/, ""))
      expect(ctxbridge(world, ["doctor"]).stdout).toContain("long restores are cut")
      writeFileSync(file, sound)

      await trustHooks(world)
      expect((await runExec(world, ["resume", "--last", "Go on"])).code).toBe(0)
      const late = textOf(world.model.requests.at(-1)!)
      expect(occurrences(late, RESTORE_MARK)).toBe(1)
      expect(late).toContain("echo ashes")
      const trusted = ctxbridge(world, ["doctor", "--json"])
      expect(trusted.stdout).toContain("Codex: 6 hooks are trusted")
      await expectInVault(world)
    })
  })
}
