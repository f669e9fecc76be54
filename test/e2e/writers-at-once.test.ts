/** Several processes at once: nothing is lost, and nobody fails. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { installModel } from "../../src/find/embed/install-model.ts"
import { parseManifest } from "../../src/find/embed/model-manifest.ts"
import type { Database } from "../../src/views/database.ts"
import { open } from "../../src/views/open.ts"
import { run } from "../support/binary.ts"
import { doneIn } from "../support/events.ts"
import { holding } from "../support/held.ts"
import { contentOf, Machine, pooled } from "../support/machine.ts"
import { TINY, writeModel } from "../support/onnx-model.ts"
import { limit } from "../support/slowness.ts"
import { tempFolder } from "../support/temp.ts"

setDefaultTimeout(limit(120_000))

/**
 * A hook that had looked at the transcript's length waited for the copy, while another one archived what Claude Code
 * had added since: a copy that was longer than the transcript seemed to be that of a rewritten one, and was begun anew.
 */
test("many hooks at once while the host writes leave one copy, with every byte", async () => {
  using machine = new Machine()
  const session = machine.session()
  await machine.hook("stop", session.turn("turn 0").flush())
  const turns = Array.from({ length: 48 }, (_, n) => `turn ${n + 1}`)
  await pooled(turns, 12, async (prompt, n) => {
    session.turn(prompt).flush()
    const ran = await machine.hook(n % 2 === 0 ? "subagent-stop" : "stop", session, { agent_type: "worker" })
    expect(ran).toMatchObject({ code: 0, stdout: "", stderr: "" })
  })
  await machine.hook("stop", session)
  const copy = machine.copy(session.path)
  expect(readdirSync(dirname(copy))).toEqual([basename(copy)])
  expect(contentOf(copy).equals(Buffer.from(await Bun.file(session.path).arrayBuffer()))).toBe(true)
})

/**
 * While another process held the database, `import` gave up each transcript after its first piece ("database is locked"):
 * the rest was not archived at all, although the vault needs no database.
 */
describe("an import beside a writer", () => {
  test("the vault takes all of it, and the views follow", async () => {
    using machine = new Machine()
    const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
    const first = machine.session().turn("the first of them").flush()
    expect(await cli("import")).toMatchObject({ code: 0, stderr: "" })
    // More than is taken between two looks at the database.
    for (let n = 0; n < 12; n++) first.turn(`turn ${n}`, [{ tool: "Bash", input: {}, output: words(n) }])
    first.flush()
    machine.session().turn("the second of them").flush()

    const writer = open(machine.dataHome, "write")
    writer.run("BEGIN IMMEDIATE")
    try {
      const { code, stdout, stderr } = await cli("import", "--no-wait", "--json")
      expect({ code, stderr }).toEqual({ code: 1, stderr: "" })
      const done = doneIn(stdout)
      expect(done["files"]).toMatchObject([{}, {}])
      expect(done).toMatchObject({ ok: false, indexError: expect.stringContaining("locked") })
      for (const file of done["files"] as { error?: string; size: number; archived: number }[]) {
        expect(file.error).toBeUndefined()
        expect(file.archived).toBe(file.size)
      }
    } finally {
      writer.run("ROLLBACK")
      writer.close()
    }
    expect(await cli("verify")).toMatchObject({ code: 0, stderr: "" })
    expect((await cli("search", "second of them")).stdout).toContain("the second of them")
  })

  /** A megabyte that is not the same twice, so that it takes the time of one. */
  function words(seed: number): string {
    let text = ""
    for (let n = seed * 1_000_003; text.length < 1 << 20; n += 7919) text += `${(n * 2654435761) >>> 0} `
    return text
  }
})

function keepForItself(db: Database): void {
  db.run("PRAGMA locking_mode = EXCLUSIVE")
  db.run("BEGIN IMMEDIATE")
  db.run("INSERT INTO projects (path) VALUES ('/other')")
  db.run("COMMIT")
}

/**
 * While another process has the database for itself (the last one that closes it moves the log over), views made anew forgot
 * to which project sessions belong whose folder is gone, and commands called it a defect of ctxbridge.
 */
test("a command says who is in its way", async () => {
  using machine = new Machine()
  await machine.hook("stop", machine.session().turn("a prompt").flush())
  const db = open(machine.dataHome, "write", 0)
  keepForItself(db)
  const ran = await run(["rebuild", "--dry-run"], { env: machine.env, cwd: machine.cwd })
  db.close()
  expect(ran).toMatchObject({ code: 1, stdout: "" })
  expect(ran.stderr).toBe(
    "ctxbridge: database is locked\nhint: another process is writing to it; try again in a moment\n",
  )
})

/** Several `model install` at once took away each other's files: they failed, and in the end no model was there. */
describe("several models are installed at once", () => {
  const sources = [tempFolder(), tempFolder()]
  beforeAll(() => {
    for (const [n, { path }] of sources.entries()) writeModel(path, TINY, "tiny", n + 1)
  })
  afterAll(() => {
    for (const source of sources) source[Symbol.dispose]()
  })

  const manifestIn = (folder: string): string => join(folder, "manifest.json")

  test("each of them succeeds, and one model is there, whole", async () => {
    for (let round = 0; round < 2; round++) {
      using machine = new Machine()
      const model = (...args: readonly string[]) =>
        run(["model", ...args], { env: machine.env, cwd: machine.cwd })
      const all = [...sources, ...sources, ...sources].map(({ path }) =>
        model("install", "--from", path, "--manifest", manifestIn(path)),
      )
      for (const ran of await Promise.all(all)) expect(ran).toMatchObject({ code: 0, stderr: "" })
      expect(await model("verify")).toMatchObject({ code: 0, stderr: "" })
      expect(readdirSync(join(machine.dataHome, "models"))).toHaveLength(2)
    }
  })

  test("who has waited long enough says so, and what a killed one has left is taken away", async () => {
    using machine = new Machine()
    const { dataHome } = machine
    mkdirSync(dataHome)
    const { path } = sources[0]!
    const manifest = parseManifest(readFileSync(manifestIn(path), "utf8"))
    const install = () => installModel({ dataHome, manifest, from: path, dryRun: false, wait: 0 })
    const stopped = await holding(dataHome, "models.lock", () => install().catch((error: unknown) => error))
    expect(stopped).toMatchObject({
      code: "busy",
      message: "another process is installing or removing a model",
    })
    const { folder } = await install()
    mkdirSync(`${folder}.4711`)
    writeFileSync(join(`${folder}.4711`, "half"), "")
    expect(await install()).toMatchObject({ changed: false })
    expect(readdirSync(join(dataHome, "models")).filter((name) => name.includes(".4711"))).toEqual([])
  })
})

const AT_ONCE = 6
const ROUNDS = 3
const BEFORE = '{ "model": "opus" }\n'

/** Of several `install` or `uninstall` at once, some failed, and an empty `.claude.json` could be left behind. */
test("several installs register everything once, and several uninstalls leave nothing", async () => {
  using machine = new Machine()
  const settings = join(machine.home, ".claude", "settings.json")
  const state = join(machine.home, ".claude.json")
  mkdirSync(join(machine.home, ".claude"))
  writeFileSync(settings, BEFORE)
  const together = (commands: readonly string[]) =>
    Promise.all(commands.map((name) => run([name], { env: machine.env, cwd: machine.cwd })))
  const all = (name: string): string[] => Array(AT_ONCE).fill(name)
  for (let round = 0; round < ROUNDS; round++) {
    for (const ran of await together(all("install"))) expect(ran).toMatchObject({ code: 0, stderr: "" })
    expect(readFileSync(settings, "utf8").split(" hook session-start").length - 1).toBe(1)
    expect(Object.keys(JSON.parse(readFileSync(state, "utf8")).mcpServers)).toEqual(["ctxbridge"])
    const mixed = await together(["uninstall", "install", "uninstall", "install"])
    for (const ran of mixed) expect(ran).toMatchObject({ code: 0, stderr: "" })
    for (const ran of await together(all("uninstall"))) expect(ran).toMatchObject({ code: 0, stderr: "" })
    expect(readFileSync(settings, "utf8")).toBe(BEFORE)
    expect(existsSync(state)).toBe(false)
  }
  await together(["install"])
  const purged = await Promise.all(
    [1, 2, 3].map(() => run(["uninstall", "--purge", "--yes"], { env: machine.env, cwd: machine.cwd })),
  )
  for (const ran of purged) expect(ran).toMatchObject({ code: 0, stderr: "" })
  expect(readFileSync(settings, "utf8")).toBe(BEFORE)
  for (const path of [state, machine.dataHome]) expect(existsSync(path)).toBe(false)
})
