/**
 * The real Qwen Code with our hooks: a conversation with tools and a subagent that is compacted by itself, compacted again
 * without a tool after it, the next session of the project, and after our binary is gone.
 */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, readFileSync, renameSync } from "node:fs"
import { join } from "node:path"
import { vaultFile, vaultPath } from "../../src/vault/layout.ts"
import { occurrences } from "./checks.ts"
import {
  asksForSummary,
  type ChatReply,
  type ChatRequest,
  createQwenWorld,
  installInQwen,
  linesOf,
  QWEN_FULL,
  QWEN_SUMMARY,
  qwenFor,
  saidIn,
} from "./qwen-world.ts"
import { ctxbridge, until } from "./world.ts"

setDefaultTimeout(240_000)

/** Qwen Code writes what hooks say without tags. */
const RESTORE_MARK = "&lt;ctxbridge-restore"

const run = (command: string, tokens?: number): ChatReply => ({
  call: { name: "run_shell_command", input: { command, description: "work", is_background: false } },
  ...(tokens !== undefined && { tokens }),
})

/** By the words of the last prompt. */
function planned(): (request: ChatRequest) => ChatReply {
  const steps: Readonly<Record<string, ChatReply[]>> = {
    "Survey the kiln": [
      run("echo embers"),
      run("exit 3"),
      run("echo ashes", QWEN_FULL),
      run("echo soot"),
      run("echo smoke"),
      { text: "Surveyed." },
    ],
    "Sweep the chimney": [run("echo brush", QWEN_FULL), { text: "Swept." }],
  }
  return (request) => {
    const said = saidIn(request)
    const [words] = Object.keys(steps).sort((a, b) => said.lastIndexOf(b) - said.lastIndexOf(a))
    return (said.includes("Go on.") ? undefined : steps[words!]!.shift()) ?? { text: "Went on." }
  }
}

for (const version of ["0.24.4"]) {
  const { client, missing } = await qwenFor(version)

  describe.skipIf(missing !== undefined)(`Qwen Code ${version}`, () => {
    const world = missing === undefined ? createQwenWorld(client, planned()) : undefined!
    afterAll(() => world?.dispose())
    const main = () => world.requests.filter((request) => !asksForSummary(request)).map(saidIn)

    test("compacted within a turn: given at the next tool, once; every byte is in the vault", async () => {
      installInQwen(world)
      const first = await world.run("-p", "Survey the kiln")
      expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining("Surveyed.") })
      const [path] = world.transcripts() as [string]
      expect(linesOf(path).filter(({ subtype }) => subtype === "chat_compression")).toHaveLength(1)
      const requests = main()
      const after = requests.findIndex((text) => text.includes(QWEN_SUMMARY))
      const given = requests.findIndex((text) => text.includes(RESTORE_MARK))
      expect(after).toBeGreaterThan(0)
      // The one after the compaction calls the tool behind which it is said.
      expect(given).toBe(after + 1)
      expect(occurrences(requests.at(-1)!, RESTORE_MARK)).toBe(1)
      // What the summary lost.
      expect(requests.at(-1)!.includes("exit 3")).toBe(true)
      const copy = vaultFile(world.store, vaultPath(path, world.home))
      const archived = (): Buffer =>
        existsSync(copy) ? Buffer.from(Bun.zstdDecompressSync(readFileSync(copy))) : Buffer.alloc(0)
      await until("every byte in the vault", () => archived().equals(readFileSync(path)), {
        state: () => `lacking: ${readFileSync(path).subarray(archived().length)}`,
      })
      expect(ctxbridge(world, ["verify"])).toMatchObject({ exitCode: 0 })
    })

    test("compacted without a tool after it: given at the next prompt", async () => {
      const before = world.requests.length
      await world.run("-c", "-p", "Sweep the chimney")
      await world.run("-c", "-p", "Go on.")
      const later = world.requests
        .slice(before)
        .filter((request) => !asksForSummary(request))
        .map(saidIn)
      const last = later.at(-1)!
      expect([QWEN_SUMMARY, "echo brush"].map((one) => last.includes(one))).toEqual([true, true])
      expect(occurrences(last, RESTORE_MARK)).toBeGreaterThan(0)
    })

    test("what was given is not archived as anybody's words", () => {
      const { stdout } = ctxbridge(world, ["search", "ctxbridge-restore", "--json"])
      expect(JSON.parse(stdout || '{"hits":[]}').hits ?? []).toEqual([])
      expect(ctxbridge(world, ["search", "embers", "--agent", "qwen"]).exitCode).toBe(0)
    })

    test("doctor finds the registration; uninstall leaves no trace; without us, all goes on", async () => {
      expect(ctxbridge(world, ["doctor"]).stdout).toContain("Qwen Code: hooks are registered")
      const settings = join(world.home, ".qwen/settings.json")
      const kept = `${world.binary}.kept`
      renameSync(world.binary, kept)
      expect(await world.run("-p", "Go on.")).toMatchObject({ code: 0 })
      renameSync(kept, world.binary)
      expect(ctxbridge(world, ["uninstall", "--agent", "qwen"])).toMatchObject({ exitCode: 0 })
      const left = existsSync(settings) ? readFileSync(settings, "utf8") : ""
      expect(left).not.toContain("ctxbridge")
    })
  })
}
