/** Copies that messages of several sessions are in: what the views know of them stays whole, whichever of them is lost. */
import { describe, expect, test } from "bun:test"
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import { tailOf } from "../../../src/vault/reader.ts"
import { changeJoined, type JoinedProjects, withJoin } from "../../../src/views/joined-projects.ts"
import { open } from "../../../src/views/open.ts"
import { archivedByPath } from "../../../src/views/queries/transcripts.ts"
import { followRemoval } from "../../../src/views/removal.ts"
import { goneMark } from "../../../src/views/transcript-rows.ts"
import { Inside, run } from "../../support/inside.ts"
import { Transcript } from "../../support/transcript.ts"
import { namedViews } from "../../support/views.ts"

const AGENT = "a1b2c3"

class World extends Inside {
  /** Large, so that what concerns the others is no reason to read everything again. */
  readonly large = this.session()
    .turn(Array.from({ length: 9000 }, (_, n) => Bun.hash(`${n}`).toString(36)).join(" "))
    .flush()
  readonly main = this.session().turn("Map the marshes.")
  readonly agent = new Transcript({
    session: this.main.session,
    cwd: this.cwd,
    version: "2.1.112",
    agent: AGENT,
    path: this.path(join(this.main.session, "subagents", `agent-${AGENT}.jsonl`)),
  })
  readonly output = this.path(join(this.main.session, "tool-results", "b7x0a1cd.txt"))
  readonly list = join(this.home, ".claude", "history.jsonl")
  readonly prompted = [1, 2].map((n) => `60000000-0000-4000-8000-00000000000${n}`)

  constructor() {
    super()
    const saved = `<persisted-output>\nOutput too large (61.2KB). Full output saved to: ${this.output}\n\nPreview (first 2KB):\nreed\n...\n</persisted-output>`
    this.agent
      .turn("Measure the sluice.", [{ tool: "Bash", input: { command: "gauge" }, output: saved }], "Done.")
      .turn("Then the causeway.", [], "Done.")
      .flush()
    this.main.flush()
    mkdirSync(dirname(this.output), { recursive: true })
    writeFileSync(this.output, `${"reed\n".repeat(600)}bulrush at the end\n`)
    for (const [n, word] of ["ferryman", "lockkeeper"].entries()) this.typed(word, this.prompted[n]!)
  }

  /** A prompt as Claude Code notes it. */
  typed(word: string, sessionId: string): void {
    const line = {
      display: `Ask the ${word}`,
      pastedContents: {},
      timestamp: 1.7e12,
      project: this.cwd,
      sessionId,
    }
    appendFileSync(this.list, `${JSON.stringify(line)}\n`)
  }

  async done(code: number, ...args: string[]): Promise<string> {
    const ran = await run(args, { env: this.env, cwd: this.cwd })
    expect({ args, ...ran }).toMatchObject({ args, code, stderr: "" })
    return ran.stdout
  }

  async found(word: string): Promise<string[]> {
    const { code, stdout } = await run(["search", word, "--json", "-a"], { env: this.env, cwd: this.cwd })
    return code === 0 ? JSON.parse(stdout).hits.map((hit: { session: string }) => hit.session) : []
  }

  get historyCopy(): string {
    return join(this.dataHome, "vault", "history", "home.jsonl.zst")
  }

  get subagent(): string {
    return `${this.main.session}/${AGENT}`
  }

  /** All that the views know, with copies that are gone under their former names. */
  known(): Record<string, string[]> {
    using db = this.views()
    const { transcripts: _, ...known } = namedViews(db)
    const named = JSON.stringify(known).replaceAll(new RegExp(`${goneMark("")}[0-9a-f-]+\\\\"`, "g"), '\\"')
    return JSON.parse(named)
  }
}

async function archived(): Promise<World> {
  const world = new World()
  await world.done(0, "import")
  expect(await world.found("bulrush")).toEqual([world.subagent])
  expect(await world.found("ferryman")).toEqual([world.prompted[0]!])
  return world
}

/** What is lost, and what is told of it. */
const LOSSES: readonly (readonly [what: string, lose: (world: World) => string[], told: RegExp])[] = [
  ["a subagent's long output", (world) => [world.output], /: 1 turn of session \S+ is kept/],
  ["its transcript", (world) => [world.agent.path], /: 2 turns of session \S+ are kept/],
  ["its session's transcript", (world) => [world.main.path], /: 1 turn of session \S+ is kept/],
  ["the transcript and the output", (world) => [world.main.path, world.output], /: 1 turn of session/],
  ["all three", (world) => [world.main.path, world.agent.path, world.output], /: 2 turns of session/],
  ["the list of prompts", (world) => [world.list], /: 2 turns of session history are kept/],
]

const copyOf = (world: World, path: string): string =>
  path === world.list ? world.historyCopy : path === world.output ? outputCopy(world) : world.copy(path)

const outputCopy = (world: World): string =>
  join(world.copy(world.main.path).replace(/\.jsonl\.zst$/, ""), "tool-results", "b7x0a1cd.txt.zst")

describe.each(LOSSES)("%s lost", (_what, lose, told) => {
  test("rebuilt, twice: nothing that was known is missing", async () => {
    using world = await archived()
    const before = world.known()
    for (const path of lose(world)) {
      rmSync(copyOf(world, path))
      rmSync(path)
    }
    for (let times = 0; times < 2; times++) {
      expect(await world.done(1, "rebuild")).toMatch(told)
      expect(world.known()).toEqual(before)
      expect(await world.found("bulrush")).toEqual([world.subagent])
      expect(await world.found("lockkeeper")).toEqual([world.prompted[1]!])
    }
  })

  test("the others read again: nothing that was known is missing", async () => {
    using world = await archived()
    const before = world.known()
    for (const path of lose(world)) {
      rmSync(copyOf(world, path))
      rmSync(path)
    }
    const removed = (session: string) => (session === world.large.session ? undefined : "nothing")
    const { copies, unreadable, gaps } = followRemoval(world.dataHome, removed, { now: Date.now(), wait: 0 })
    expect({ copies: copies + lose(world).length, unreadable, gaps }).toEqual({
      copies: 5,
      unreadable: [],
      gaps: [],
    })
    expect(world.known()).toEqual(before)
  })
})

test("what came into the list of prompts after the former views is there with what it lost", async () => {
  using world = await archived()
  const early = readFileSync(world.historyCopy)
  world.typed("miller", world.prompted[0]!)
  world.typed("bargee", "60000000-0000-4000-8000-000000000003")
  await world.done(0, "import")
  const before = world.known()
  writeFileSync(world.historyCopy, early)
  truncateSync(world.list, 0)
  expect(await world.done(1, "rebuild")).toContain("4 turns of session history are kept")
  expect(world.known()).toEqual(before)
})

test("a session whose transcript came since is not put back as its prompts alone", async () => {
  using world = await archived()
  rmSync(world.historyCopy)
  rmSync(world.list)
  const [id] = world.prompted
  const late = world.session({ id: id! }).turn("Ask the ferryman", [], "He has left.").flush()
  // Into the vault, and not into the views.
  const views = readFileSync(join(world.dataHome, "archive.db"))
  await world.done(0, "import")
  writeFileSync(join(world.dataHome, "archive.db"), views)
  for (const suffix of ["-wal", "-shm"]) rmSync(join(world.dataHome, `archive.db${suffix}`), { force: true })
  await world.done(1, "rebuild")
  expect(JSON.parse(await world.done(0, "show", late.session, "--json")).turns).toHaveLength(1)
  expect(await world.found("left")).toEqual([late.session])
  expect(await world.found("lockkeeper")).toEqual([world.prompted[1]!])
  expect(JSON.stringify(world.known())).not.toContain('"no ')
})

test.each<[what: string, session: (world: World) => string]>([
  ["a subagent", ({ subagent }) => subagent],
  ["its session", ({ main }) => main.session],
  ["a session of prompts", ({ prompted }) => prompted[0]!],
  ["the list of prompts", () => "history"],
])("%s read again: the views are as they were", async (_what, session) => {
  using world = await archived()
  const before = world.known()
  const removed = (one: string) => (one === session(world) ? "nothing" : undefined)
  expect(followRemoval(world.dataHome, removed, { now: Date.now(), wait: 0 })).toMatchObject({
    copies: 5,
    unreadable: [],
    gaps: [],
  })
  expect(world.known()).toEqual(before)
})

test.each<[what: string, args: (world: World) => string[], stays: boolean]>([
  ["a text that only the subagent has", () => ["--match", "the causeway"], true],
  ["a text that only the session has", () => ["--match", "the marshes"], true],
  ["a text of the output", () => ["--match", "bulrush at"], false],
  ["a session of prompts", ({ prompted }) => [prompted[0]!], true],
  ["the session", ({ main }) => [main.session], false],
  ["the subagent", ({ subagent }) => [subagent], false],
])("%s forgotten: the views are as after a rebuild", async (_what, args, stays) => {
  using world = await archived()
  await world.done(0, "forget", "--yes", ...args(world))
  expect(await world.found("bulrush")).toEqual(stays ? [world.subagent] : [])
  const followed = world.known()
  expect(JSON.stringify(followed)).not.toContain('"no ')
  await world.done(0, "rebuild")
  expect(world.known()).toEqual(followed)
})

test("a subagent forgotten: its outputs go with it and stay away, those of its session stay", async () => {
  using world = await archived()
  const own = world.output.replace("b7x0a1cd", "toolu_own")
  writeFileSync(own, "sedge\n".repeat(300))
  await world.done(0, "import")
  const isKnown = async () => ({
    copy: existsSync(outputCopy(world)),
    found: await world.found("bulrush"),
    own: await world.found("sedge"),
    map: (await world.found("marshes")).length > 0,
  })
  const before = { copy: true, found: [world.subagent], own: [world.main.session], map: true }
  expect(await isKnown()).toEqual(before)
  const dry = JSON.parse(await world.done(0, "forget", "--dry-run", "--json", world.subagent))
  expect(dry.sessions[0]).toMatchObject({
    session: world.subagent,
    transcripts: [world.agent.path, world.output],
  })
  expect(await isKnown()).toEqual(before)
  await world.done(0, "forget", "--yes", world.subagent)
  const after = { ...before, copy: false, found: [] }
  expect(await isKnown()).toEqual(after)
  await world.done(0, "import", "--check")
  expect(await world.hook("stop", world.main)).toMatchObject({ code: 0, stdout: "", stderr: "" })
  expect(await isKnown()).toEqual(after)
  expect((await world.done(0, "verify")).split("\n").at(-2)).toStartWith("All good: ")
  // Taken back, it is archived as before.
  await world.done(0, "forget", "--undo", world.main.session)
  await world.done(0, "import")
  expect(await isKnown()).toEqual(before)
})

test("the project of a lost session stays joined with where its folder was moved", async () => {
  using world = await archived()
  const folder = (name: string): string => join(world.root, name)
  for (const name of ["old", "new"]) mkdirSync(folder(name))
  // More projects, and an order in which a rebuild gives them other numbers.
  const session = world
    .session({ cwd: folder("old") })
    .turn("Dredge the canal.")
    .flush()
  world
    .session({ cwd: folder("new") })
    .turn("Fill the lock.")
    .flush()
  await world.done(0, "import")
  await world.done(0, "forget", "--yes", world.large.session)
  const change = (made: (file: JoinedProjects) => JoinedProjects): void => {
    using db = open(world.dataHome, "write", 0)
    changeJoined(db, world.dataHome, made)
  }
  change((file) => withJoin(file, { from: folder("old"), to: folder("new"), by: "hand" }))
  const placeOf = (): unknown => {
    using db = world.views()
    return db
      .query(
        `SELECT p.path AS project, o.path AS own FROM sessions s JOIN projects p ON p.id = s.project
         LEFT JOIN projects o ON o.id = s.own WHERE s.id = ?`,
      )
      .get(session.session)
  }
  const joined = { project: folder("new"), own: folder("old") }
  expect(placeOf()).toEqual(joined)
  rmSync(world.copy(session.path))
  rmSync(session.path)
  await world.done(1, "rebuild")
  expect(placeOf()).toEqual(joined)
  // Taken apart again.
  change((file) => ({ ...file, joins: [] }))
  await world.done(1, "rebuild")
  expect(placeOf()).toEqual({ project: folder("old"), own: null })
})

describe("a copy that is gone", () => {
  test("counts neither as archived nor as the session's longest transcript", async () => {
    using world = await archived()
    const { path, session } = world.main
    const longest = tailOf(world.copy(path))!.last!.to
    rmSync(world.copy(path))
    rmSync(path)
    await world.done(1, "rebuild")
    {
      using db = world.views()
      expect(archivedByPath(db).get(path)).toBeUndefined()
      expect(archivedByPath(db).get(world.agent.path)).toBeGreaterThan(0)
    }
    // The session goes on elsewhere.
    const shorter = new Transcript({
      session,
      cwd: world.cwd,
      version: "2.1.112",
      path: world.path(join("..", "-elsewhere", `${session}.jsonl`)),
    })
    shorter.turn("On.").flush()
    await world.done(0, "import")
    const written = readFileSync(shorter.path, "utf8")
    expect(written.length).toBeLessThan(longest)
    expect(await world.done(0, "export", session, "--raw")).toBe(written)
  })
})
