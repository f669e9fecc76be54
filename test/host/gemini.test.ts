/**
 * The real Gemini CLI with our hooks: a conversation with tools that is compacted by itself, continued without another
 * compaction, compacted again without a tool after it, and after our binary is gone.
 */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, readFileSync, renameSync } from "node:fs"
import { vaultFile, vaultPath } from "../../src/vault/layout.ts"
import { occurrences } from "./checks.ts"
import {
  createGeminiWorld,
  GEMINI_FULL,
  GEMINI_SUMMARY,
  type GeminiReply,
  type GeminiRequest,
  geminiFor,
  isAside,
  saidTo,
} from "./gemini-world.ts"
import { ctxbridge, installIn, until } from "./world.ts"

setDefaultTimeout(240_000)

/** Gemini CLI writes what hooks say without tags. */
const RESTORE_MARK = "&lt;ctxbridge-restore"

/** By the words of the last prompt. */
function planned(): (request: GeminiRequest) => GeminiReply {
  const steps: Readonly<Record<string, GeminiReply[]>> = {
    "Light the kiln": [{ command: "echo kindling" }, { text: "Lit." }],
    "Survey the kiln": [
      { command: "echo embers" },
      { command: "exit 3" },
      { command: "echo ashes", tokens: GEMINI_FULL },
      { command: "echo soot" },
      { command: "echo smoke" },
      { text: "Surveyed." },
    ],
    "Ask the archive": [
      { call: { name: "mcp_ctxbridge_search", args: { query: "embers" } } },
      { text: "Asked." },
    ],
    "Sweep the chimney": [{ command: "echo brush", tokens: GEMINI_FULL }, { text: "Swept." }],
  }
  return (request) => {
    const said = saidTo(request)
    const [words] = [...Object.keys(steps), "Go on."].sort(
      (a, b) => said.lastIndexOf(b) - said.lastIndexOf(a),
    )
    return steps[words!]?.shift() ?? { text: "Went on." }
  }
}

for (const version of ["0.61.0"]) {
  const { client, missing } = await geminiFor(version)

  describe.skipIf(missing !== undefined)(`Gemini CLI ${version}`, () => {
    const world = missing === undefined ? createGeminiWorld(client, planned()) : undefined!
    afterAll(() => world?.dispose())
    const main = (from = 0) =>
      world.requests
        .slice(from)
        .filter((request) => !isAside(request))
        .map(saidTo)
    const before = missing === undefined ? readFileSync(world.settings, "utf8") : ""

    test("compacted within a turn: given at the next tool, once; every byte is in the vault", async () => {
      installIn(world, "gemini")
      expect(await world.run("-p", "Light the kiln")).toMatchObject({ code: 0 })
      const first = await world.run("--resume", "latest", "-p", "Survey the kiln")
      expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining("Surveyed.") })
      const requests = main()
      const after = requests.findIndex((text) => text.includes(GEMINI_SUMMARY))
      const given = requests.findIndex((text) => text.includes(RESTORE_MARK))
      expect(after).toBeGreaterThan(0)
      // The one after the compaction calls the tool behind which it is said.
      expect(given).toBe(after + 1)
      expect(occurrences(requests.at(-1)!, RESTORE_MARK)).toBe(1)
      // What the summary lost.
      expect(requests.at(-1)!.includes("exit 3")).toBe(true)
      for (const path of world.transcripts())
        await until(`every byte of ${path} in the vault`, () => {
          const copy = vaultFile(world.store, vaultPath(path, world.home))
          if (!existsSync(copy)) return false
          return Buffer.from(Bun.zstdDecompressSync(readFileSync(copy))).equals(readFileSync(path))
        })
      expect(ctxbridge(world, ["verify"])).toMatchObject({ exitCode: 0 })
    })

    test("continued: nothing is given again", async () => {
      const from = world.requests.length
      const [id] = (
        JSON.parse(ctxbridge(world, ["sessions", "--json"]).stdout).sessions as { id: string }[]
      ).map((session) => session.id)
      await world.run("--resume", id!, "-p", "Go on.")
      const request = world.requests.slice(from).find((one) => !isAside(one))!
      expect(saidTo(request)).toContain(GEMINI_SUMMARY)
      // Gemini CLI itself repeats what calls gave back, in messages before this one.
      const { contents } = request
      expect(saidTo({ contents: contents.slice(-1) })).toContain("Go on.")
      expect(occurrences(saidTo({ contents: contents.slice(-1) }), RESTORE_MARK)).toBe(0)
    })

    test("compacted without a tool after it: given at the next prompt", async () => {
      const from = world.requests.length
      await world.run("--resume", "latest", "-p", "Sweep the chimney")
      await world.run("--resume", "latest", "-p", "Go on.")
      const last = main(from).at(-1)!
      expect([GEMINI_SUMMARY, "echo brush"].map((one) => last.includes(one))).toEqual([true, true])
      expect(occurrences(last, RESTORE_MARK)).toBeGreaterThan(0)
    })

    test("its model searches with our server, by the names that a restore tells", async () => {
      const from = world.requests.length
      await world.run("--resume", "latest", "-p", "Ask the archive")
      const asked = world.requests.slice(from).filter((one) => !isAside(one))
      const names = asked[0]!.tools?.flatMap(({ functionDeclarations = [] }) => functionDeclarations)
      expect(names?.map(({ name }) => name)).toContain("mcp_ctxbridge_get")
      const answer = saidTo({ contents: asked.at(-1)!.contents.slice(-1) })
      expect(answer).toContain("echo embers")
      expect(answer).toContain("ctx:")
    })

    test("what was given is not archived as anybody's words; prompts are as they were typed", () => {
      const { stdout } = ctxbridge(world, ["search", "ctxbridge-restore", "--json"])
      expect(JSON.parse(stdout || '{"hits":[]}').hits ?? []).toEqual([])
      const found = JSON.parse(ctxbridge(world, ["search", "chimney", "--agent", "gemini", "--json"]).stdout)
      expect(JSON.stringify(found.hits)).toContain("Sweep the chimney")
      expect(JSON.stringify(found.hits)).not.toContain("hook_context")
    })

    test("doctor finds the registration; uninstall leaves no trace; without us, all goes on", async () => {
      expect(ctxbridge(world, ["doctor"]).stdout).toContain("Gemini CLI: hooks are registered")
      const kept = `${world.binary}.kept`
      renameSync(world.binary, kept)
      expect(await world.run("-p", "Go on.")).toMatchObject({ code: 0 })
      renameSync(kept, world.binary)
      expect(ctxbridge(world, ["uninstall", "--agent", "gemini"])).toMatchObject({ exitCode: 0 })
      expect(readFileSync(world.settings, "utf8")).toBe(before)
    })
  })
}
