/**
 * The real opencode with our plugin: a conversation that is compacted by itself, continued, resumed by its id and forked,
 * with a subagent, without our plugin, and after our binary is gone.
 */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { opencodeTranscript } from "../../src/agents/opencode/opencode-places.ts"
import { tryTo } from "../../src/base/files.ts"
import { isAlive } from "../../src/base/own-program.ts"
import { vaultFile, vaultPath } from "../../src/vault/layout.ts"
import { linesFrom } from "../../src/views/records.ts"
import { occurrences, RESTORE_MARK } from "./checks.ts"
import { bash, OPENCODE_SUMMARY, reply } from "./opencode-model.ts"
import {
  createOpencodeWorld,
  installInOpencode,
  OPENCODE_FULL,
  type OpencodeWorld,
  opencodeFor,
  rowsIn,
  runOpencode,
} from "./opencode-world.ts"
import { ctxbridge, until } from "./world.ts"

setDefaultTimeout(240_000)

const open: OpencodeWorld[] = []
afterAll(() => {
  for (const world of open) world.dispose()
})

/** Ids of messages and parts that the vault lacks. */
function lacking(world: OpencodeWorld): string[] {
  const folder = join(world.home, ".local/share/opencode")
  const sessions = rowsIn<{ id: string }>(world, "SELECT id FROM session")
  const held = new Set(
    sessions.flatMap(({ id }) => {
      const copy = vaultFile(world.store, vaultPath(opencodeTranscript(folder, id), world.home))
      return existsSync(copy) ? [...linesFrom(copy)].map(({ line }) => JSON.parse(line).row as string) : []
    }),
  )
  const ids = rowsIn<{ id: string }>(world, "SELECT id FROM message UNION ALL SELECT id FROM part")
  return ids.map(({ id }) => id).filter((id) => !held.has(id))
}

async function expectInVault(world: OpencodeWorld): Promise<void> {
  await until("every row in the vault", () => lacking(world).length === 0, {
    state: () => lacking(world).join("\n"),
  })
  // Names and counts that opencode writes at the end come with the next look.
  expect(ctxbridge(world, ["import"])).toMatchObject({ exitCode: 0 })
  expect(ctxbridge(world, ["verify"])).toMatchObject({ exitCode: 0 })
}

for (const version of ["1.18.33"]) {
  const { client, missing } = await opencodeFor(version)

  describe.skipIf(missing !== undefined)(`opencode ${version}`, () => {
    const staged = (isInstalled = true): OpencodeWorld => {
      const world = createOpencodeWorld(client)
      open.push(world)
      if (isInstalled) installInOpencode(world)
      const { model } = world
      model.plan("Survey the kiln", [
        bash("echo embers"),
        bash("echo ashes; exit 3", OPENCODE_FULL),
        reply("Surveyed."),
      ])
      model.plan("Continue if you have next steps", [reply("Surveyed on.")])
      model.plan("Go on", [reply("Went on.")])
      model.plan("Send somebody", [
        {
          call: {
            name: "task",
            input: { description: "look", prompt: "Look for soot", subagent_type: "general" },
          },
        },
        reply("Sent."),
      ])
      model.plan("Look for soot", [reply("No soot.")])
      return world
    }

    test("compacted within a turn, continued, resumed, forked, and the next session of the project", async () => {
      const world = staged()
      const { requests } = world.model
      const first = await runOpencode(world, ["Survey the kiln. Never delete the kiln log."])
      expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining("Surveyed on.") })
      expect(requests.map(({ kind }) => kind).filter((kind) => kind !== "title")).toEqual([
        "talk",
        "talk",
        "summary",
        "talk",
      ])
      // In the very next request: once, behind the summary, with the tool's name as it is there.
      const next = world.model.talk().at(-1)!
      expect(next.text.indexOf(OPENCODE_SUMMARY)).toBeLessThan(next.text.indexOf(RESTORE_MARK))
      expect(occurrences(next.text, RESTORE_MARK)).toBe(1)
      // opencode itself goes on with the summary alone.
      expect(next.text).toContain("Survey the kiln. Never delete the kiln log.")
      expect(next.text).toContain("echo ashes")
      expect(next.text).toContain("`ctxbridge_get`")
      expect(next.tools).toContain("ctxbridge_get")
      expect(next.text).not.toContain("Claude")
      await expectInVault(world)

      const continued = await runOpencode(world, ["--continue", "Go on"])
      expect(continued).toMatchObject({ code: 0, stdout: expect.stringContaining("Went on.") })
      // It is a part of the summary now.
      expect(occurrences(world.model.talk().at(-1)!.text, RESTORE_MARK)).toBe(1)
      const [{ id }] = rowsIn<{ id: string }>(world, "SELECT id FROM session") as [{ id: string }]
      expect(await runOpencode(world, ["--session", id, "Go on"])).toMatchObject({ code: 0 })
      expect(occurrences(world.model.talk().at(-1)!.text, RESTORE_MARK)).toBe(1)
      expect(await runOpencode(world, ["--session", id, "--fork", "Go on"])).toMatchObject({ code: 0 })
      expect(occurrences(world.model.talk().at(-1)!.text, RESTORE_MARK)).toBe(1)

      const other = await runOpencode(world, ["Go on, anew"])
      expect(other.code).toBe(0)
      const begun = world.model.talk().at(-1)!
      expect(begun.text).toContain('source="startup"')
      expect(occurrences(begun.text, RESTORE_MARK)).toBe(1)
      // Whoever names the session is told nothing of it.
      for (const { kind, text } of requests) if (kind === "title") expect(text).not.toContain(RESTORE_MARK)
      await expectInVault(world)
      // Nothing of ours is found as the model's words.
      expect(ctxbridge(world, ["search", "Quoted from the archive"]).exitCode).toBe(3)
      expect(ctxbridge(world, ["search", "HANDOVER kiln log"]).exitCode).toBe(0)
    })

    test("a subagent's session is archived along, and an uninstall leaves no trace", async () => {
      const world = staged(false)
      const config = join(world.folder, "opencode.jsonc")
      const before = readFileSync(config, "utf8")
      installInOpencode(world)
      expect(readFileSync(config, "utf8")).toContain('"ctxbridge"')
      expect(await runOpencode(world, ["Send somebody"])).toMatchObject({
        code: 0,
        stdout: expect.stringContaining("Sent."),
      })
      await expectInVault(world)
      expect(ctxbridge(world, ["doctor"]).stdout).toContain("opencode: the plugin")
      expect(ctxbridge(world, ["uninstall", "--agent", "opencode"])).toMatchObject({ exitCode: 0 })
      expect(readFileSync(config, "utf8")).toBe(before)
      expect(existsSync(join(world.folder, "plugins"))).toBe(false)
      expect(await runOpencode(world, ["Go on"])).toMatchObject({ code: 0 })
      expect(lacking(world).length).toBeGreaterThan(0)
      expect(ctxbridge(world, ["import"])).toMatchObject({ exitCode: 0 })
      expect(lacking(world)).toEqual([])
    })

    test("without our binary, or with one that hangs, opencode goes on as without us", async () => {
      const world = staged()
      rmSync(world.binary)
      const gone = await runOpencode(world, ["Survey the kiln"])
      expect(gone).toMatchObject({ code: 0, stdout: expect.stringContaining("Surveyed on.") })
      for (const { text } of world.model.requests) expect(text).not.toContain(RESTORE_MARK)
      const pids = join(world.root, "pids")
      // The server ends at once: for that, opencode has a time limit of its own.
      const hanging = [
        "#!/bin/sh",
        '[ "$1" = hook ] || exit 1',
        `echo "$2 $$" >> ${pids}`,
        "exec sleep 600",
        "",
      ]
      writeFileSync(world.binary, hanging.join("\n"), { mode: 0o755 })
      const hung = await runOpencode(world, ["Go on"])
      expect(hung).toMatchObject({ code: 0, stdout: expect.stringContaining("Went on.") })
      const called = readFileSync(pids, "utf8").trim().split("\n")
      const pidsOf = (isStop: boolean): number[] =>
        called.filter((line) => line.startsWith("stop ") === isStop).map((line) => Number(line.split(" ")[1]))
      // opencode has ended before the last hook's time is up, so nobody is there who could kill that.
      for (const pid of pidsOf(true)) tryTo(() => process.kill(pid))
      expect(called.map((line) => line.split(" ")[0])).toContain("user-prompt-submit")
      expect(pidsOf(false).filter(isAlive)).toEqual([])
    })
  })
}
