/**
 * A folder in which `Work` and `work` are one name, and so are the two ways to write an accent, as on a Mac. There the
 * real one is used; elsewhere one of our own (`folding-server.ts`).
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { type Ran, run } from "../support/binary.ts"
import { FOLDING_REFUSED, foldingFolder } from "../support/folding-folder.ts"
import { contentOf, Machine } from "../support/machine.ts"
import { Peer } from "../support/mcp.ts"
import { limit } from "../support/slowness.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

const folding = await foldingFolder()
afterAll(() => folding?.[Symbol.dispose]())

describe.skipIf(folding === undefined)(`names in other letters (skipped where ${FOLDING_REFUSED})`, () => {
  const NAME = "Arbeit é".normalize("NFC")
  let machine: Machine
  let project: string
  let session: Transcript
  /** The project's folder, and the transcript's path, as somebody else types them. */
  let typed: { project: string; transcript: string }

  const cli = (args: readonly string[], cwd = project): Promise<Ran> => run(args, { env: machine.env, cwd })
  const inOtherLetters = (path: string): string =>
    join(dirname(path), basename(path).normalize("NFD").toUpperCase())

  beforeAll(async () => {
    machine = new Machine(folding!.path)
    project = join(machine.root, NAME)
    mkdirSync(join(project, ".git"), { recursive: true })
    session = machine.session({ cwd: project }).turn("Mend the marmalade clock.").flush()
    typed = {
      project: inOtherLetters(project),
      transcript: join(inOtherLetters(dirname(session.path)), basename(session.path)),
    }
    await machine.hook("stop", session)
    // The next hook is of a client that was started in the same folder, typed otherwise.
    session.turn("And wind it.").flush()
    const payload = JSON.parse(machine.payload("stop", session))
    const stdin = JSON.stringify({ ...payload, cwd: typed.project, transcript_path: typed.transcript })
    expect(await run(["hook", "stop"], { env: machine.env, cwd: typed.project, stdin })).toMatchObject({
      code: 0,
      stdout: "",
      stderr: "",
    })
    await machine.idle()
  })

  afterAll(() => machine[Symbol.dispose]())

  test("the folder is what it should be", () => {
    expect(typed.project).not.toBe(project)
    for (const path of [typed.project, typed.transcript]) expect(existsSync(path)).toBe(true)
    expect(readdirSync(machine.root)).toContain(NAME)
  })

  test("a transcript under two names is archived and indexed once", async () => {
    const kept = readdirSync(join(machine.dataHome, "vault"), { recursive: true })
    expect(kept.filter((name) => `${name}`.endsWith(".zst"))).toHaveLength(1)
    expect(contentOf(machine.copy(session.path)).equals(readFileSync(session.path))).toBe(true)
    const imported = await cli(["import"])
    expect(imported).toMatchObject({ code: 0, stderr: "" })
    expect(imported.stdout).toContain("Nothing new")
    const verified = await cli(["verify", "--json"])
    expect({ code: verified.code, stderr: verified.stderr }).toEqual({ code: 0, stderr: "" })
    const { stdout } = await cli(["sessions", "--json", "--all-projects"])
    expect(JSON.parse(stdout).sessions).toMatchObject([{ id: session.session, turns: 2 }])
  })

  test.each(["sessions", "search marmalade"])("`%s` knows the project by its other name", async (line) => {
    const args = line.split(" ")
    const own = await cli([...args, "--json"])
    expect(own).toMatchObject({ code: 0, stderr: "" })
    for (const ran of [
      await cli([...args, "--json", "--project", typed.project]),
      await cli([...args, "--json", "--project", inOtherLetters(NAME)], machine.root),
      await cli([...args, "--json"], typed.project),
    ])
      expect(ran).toMatchObject({ code: 0, stdout: own.stdout, stderr: "" })
  })

  test("and so does the server", async () => {
    await using peer = await Peer.connect(typed.project, machine.env)
    const { text } = await peer.call("search", { query: "marmalade" })
    expect(text).toContain("Mend the marmalade clock.")
  })

  test("a transcript that is gone is written back, whole, under either name", async () => {
    const whole = readFileSync(session.path)
    rmSync(session.path)
    const ran = await cli(["resurrect", session.session, "--json"], typed.project)
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    const { files, resume } = JSON.parse(ran.stdout).sessions[0]
    expect(resume).toMatchObject([{ folder: project, gone: false }])
    const [{ path }] = files
    expect(basename(dirname(path))).toBe(project.replace(/[^A-Za-z0-9]/g, "-"))
    expect(readFileSync(path).equals(whole)).toBe(true)
    expect(readFileSync(inOtherLetters(path)).equals(whole)).toBe(true)
  })

  test("the demo passes", async () => {
    const ran = await run(["demo"], { env: { ...machine.env, TMPDIR: folding!.path }, cwd: project })
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    expect(readdirSync(folding!.path)).toEqual([basename(machine.root)])
  })
})
