/** `ctxbridge bench survive` on a session whose needs are known, and on the real ones at hand. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { transcriptFiles } from "../support/real.ts"
import { limit } from "../support/slowness.ts"
import { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

let root: string
const survive = async (...args: string[]) => {
  const ran = await run(["bench", "survive", ...args], { env: { HOME: root }, cwd: root })
  return { ...ran, json: args.includes("--json") ? JSON.parse(ran.stdout) : undefined }
}
const bash = (command: string, output = "ok") => ({ tool: "Bash", input: { command }, output })
const edit = (path: string) => ({ tool: "Edit", input: { file_path: path, new_string: "x" }, output: "ok" })

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "ctxbridge-survive-"))
  const path = join(root, "transcripts", "11111111-1111-4111-8111-111111111111.jsonl")
  const session = "11111111-1111-4111-8111-111111111111"
  new Transcript({ session, cwd: "/src/app", version: "2.1.112", path })
    .turn("Fix it.", [
      edit("/src/app/lib/kept.ts"),
      edit("/src/app/lib/lost.ts"),
      bash("npm run check -- lib", "Error: no table named users here"),
    ])
    .boundary("manual")
    .summary("<summary>Edited lib/kept.ts.</summary>")
    .turn("Why is no table named users there?", [
      bash("npm run check -- lib", "Error: no table named users here"),
      edit("/src/app/lib/kept.ts"),
      edit("/src/app/lib/lost.ts"),
    ])
    .flush()
})

afterAll(() => rmSync(root, { recursive: true, force: true }))

describe("a session whose needs are known", () => {
  test("is reported in JSON", async () => {
    const { code, stderr, json } = await survive("--data", "transcripts", "--json")
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    const [one] = json.compactions
    expect(json.compactions).toHaveLength(1)
    expect(one.needed).toEqual({ path: 2, command: 1, name: 0, error: 1 })
    expect(one.summary).toEqual({ path: 0.5, command: 0, error: 0 })
    expect(one.methods.restore.together).toEqual({ path: 1, command: 1, error: 1 })
    expect(one.methods.restore.given).toEqual({ path: 1, command: 1, error: 1 })
    expect(one.methods.search.given).toEqual({ path: 0, command: 0, error: 1 })
    expect(one.methods.search.characters).toBeGreaterThan(0)
    expect(one.plugin).toEqual({ held: { path: 1, command: 1, error: 1 }, characters: expect.any(Number) })
    expect(one.untilEdit).toBe(1)
    expect(one.overBudget).toBe(false)
    expect(json.summary.mean).toBeCloseTo(1 / 6)
  })

  test("a message that the host kept counts like its summary", async () => {
    const session = "22222222-2222-4222-8222-222222222222"
    const path = join(root, "kept", `${session}.jsonl`)
    const transcript = new Transcript({ session, cwd: "/src/app", version: "2.1.329", path })
    transcript.turn("Fix it.", [edit("/src/app/lib/lost.ts"), edit("/src/app/lib/kept.ts")], "")
    const uuids = transcript.text
      .trim()
      .split("\n")
      .slice(-2)
      .map((line) => JSON.parse(line).uuid)
    const compactMetadata = { trigger: "auto", preTokens: 150_000, preservedMessages: { uuids } }
    transcript
      .line({ type: "system", subtype: "compact_boundary", content: "Compacted", compactMetadata })
      .summary("<summary>Fixed.</summary>")
      .turn("And now?", [edit("/src/app/lib/kept.ts"), edit("/src/app/lib/lost.ts")])
      .flush()
    const { json } = await survive("--data", "kept", "--json")
    expect(json.compactions[0].summary.path).toBe(0.5)
    expect(json.compactions[0].methods.restore).toMatchObject({ together: { path: 1 }, given: { path: 1 } })
  })

  test("is reported to people", async () => {
    const { code, stdout, stderr } = await survive("--data", "transcripts", "--budget", "2000")
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout).toContain("1 compaction; 2000 characters; needed within 30 steps")
    expect(stdout).toMatch(/\| restore +\| 100 +\| 100 +\| – +\| 100 +\| 100 +\| 100 /)
  })

  test("is measured from the vault, by session", async () => {
    const imported = await run(["import", "transcripts"], { env: { HOME: root }, cwd: root })
    expect(imported.code).toBe(0)
    expect((await survive("--session", "1111", "--json")).json.compactions).toHaveLength(1)
    const none = await survive("--session", "2222")
    expect(none).toMatchObject({ code: 3, stdout: "" })
    expect(none.stderr).toStartWith("ctxbridge: no compaction after which the model went on\nhint: ")
  })

  test("a missing folder and an unknown suite are errors", async () => {
    expect(await survive("--data", "nowhere")).toMatchObject({ code: 64, stdout: "" })
    expect(await run(["bench", "nothing"], { env: { HOME: root } })).toMatchObject({ code: 64, stdout: "" })
  })
})

const files = transcriptFiles()
if (files.length === 0) console.warn("no real transcripts beside the checkout: skipped")

test.skipIf(files.length === 0)(
  "on real compactions the restore gives as much as bare lists, and far more than the others",
  async () => {
    const folder = resolve(import.meta.dir, "..", "..", "..", "shared", "transcripts")
    const { code, json } = await survive("--data", folder, "--budget", "4000", "--json")
    expect(code).toBe(0)
    const { restore, lists, search, recency, importance, tail } = json.methods
    expect(json.overBudget).toBe(0)
    expect(json.fewestTurnLines).toBeGreaterThanOrEqual(5)
    expect(restore.together.mean).toBeGreaterThanOrEqual(0.75)
    expect(restore.given.mean).toBeGreaterThanOrEqual(0.55)
    // Bare lists have all the characters: no rule, no decision and no turn can be read in them.
    expect(restore.together.mean).toBeGreaterThan(lists.together.mean - 0.05)
    expect(restore.given.mean).toBeGreaterThan(lists.given.mean - 0.05)
    for (const other of [search, recency, importance, tail]) {
      expect(restore.together.mean).toBeGreaterThan(other.together.mean + 0.2)
      expect(restore.given.mean).toBeGreaterThan(other.given.mean + 0.2)
    }
  },
)

/**
 * `bench survive` counted a compaction again in each transcript that repeats it: in a fork, and in the former version
 * of a transcript that Claude Code has rewritten.
 */
test("each compaction counts once", async () => {
  using machine = new Machine()
  const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
  const edit = [{ tool: "Edit", input: { file_path: "/src/app/lib/a.ts", new_string: "x" }, output: "ok" }]
  const session = machine
    .session()
    .turn("Fix it.", edit)
    .boundary("manual")
    .summary("<summary>Fixed.</summary>")
  session.turn("And again.", edit).flush()
  const fork = machine.session()
  expect((await cli("import")).code).toBe(0)
  const text = readFileSync(session.path, "utf8")
  writeFileSync(session.path, text.replace("Fix it.", "Fix it all."))
  writeFileSync(fork.path, text.replaceAll(session.session, fork.session))
  expect((await cli("import")).code).toBe(0)
  const { code, stdout, stderr } = await cli("bench", "survive", "--json")
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  const offset = Buffer.byteLength(
    readFileSync(session.path, "utf8").split(/(?<=\n)(?=.*compact_boundary)/)[0]!,
  )
  expect(JSON.parse(stdout).compactions).toMatchObject([{ session: session.session, offset }])
})
