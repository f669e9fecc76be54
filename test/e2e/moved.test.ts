/** Repositories that are moved, renamed, cloned and moved back: where their sessions are found. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { cpSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { run } from "../support/binary.ts"
import { contextOf, Machine } from "../support/machine.ts"
import { Peer } from "../support/mcp.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

const SETTINGS = { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" }
const WHO = ["-c", "user.name=Ada", "-c", "user.email=ada@localhost", "-c", "commit.gpgSign=false"]

class Place extends Machine {
  at = (...names: string[]): string => join(this.root, ...names)

  git(folder: string, ...args: string[]): void {
    mkdirSync(folder, { recursive: true })
    const env = { PATH: process.env["PATH"] ?? "", HOME: this.home, ...SETTINGS }
    const { exitCode, stderr } = Bun.spawnSync(["git", ...WHO, ...args], { cwd: folder, env })
    if (exitCode !== 0) throw new Error(`git ${args.join(" ")}: ${stderr}`)
  }

  /** A repository with a root commit of its own, and a second commit. */
  repository(folder: string): void {
    this.git(folder, "init", "-q", "-b", "main")
    for (const words of [`the beginning of ${folder}`, "more"])
      this.git(folder, "commit", "-q", "--allow-empty", "-m", words)
  }

  /** A session in which this word is said, archived by its hooks. */
  async said(word: string, cwd: string): Promise<string> {
    const session = this.session({ cwd }).turn(`Look at the ${word}`, [], `The ${word} is fine.`).flush()
    await this.hook("stop", session)
    await this.idle()
    return session.session
  }

  async import(cwd = this.root): Promise<string> {
    const { code, stdout, stderr } = await run(["import", "--quiet"], { env: this.env, cwd })
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return stdout
  }

  ctx(cwd: string, ...args: string[]) {
    return run(args, { env: this.env, cwd })
  }

  /** What is found in a folder: by a search, in the list of sessions, and by a session that starts there. */
  async found(cwd: string, word: string): Promise<string[]> {
    const search = await this.ctx(cwd, "search", word, "--json", "--project", cwd)
    const sessions = await this.ctx(cwd, "sessions", "--json", "--project", cwd)
    const started = await this.hook("session-start", this.session({ cwd }), { source: "startup" })
    // Which may find itself what was moved.
    await this.idle()
    const seen = [
      search.code === 0 && search.stdout.includes(word) ? ["search"] : [],
      sessions.code === 0 && sessions.stdout.includes(word) ? ["sessions"] : [],
      contextOf(started)?.includes(word) ? ["start"] : [],
    ]
    return seen.flat()
  }
}

const ALL = ["search", "sessions", "start"]
const NONE: string[] = []

interface Case {
  /** What is done between two imports; the word is said in `old` before. */
  readonly move: (place: Place, old: string, now: string) => void | Promise<void>
  /** How `old` is made. */
  readonly make?: (place: Place, old: string) => void
  /** Folders, below the root, and where the session is found then. */
  readonly found: Readonly<Record<string, readonly string[]>>
  /** How often it is said that something was joined. */
  readonly told?: number
  /** Whether the views must have told whose worktree the folder was. */
  readonly needsViews?: boolean
}

const rename = (_: Place, old: string, now: string): void => {
  mkdirSync(dirname(now), { recursive: true })
  renameSync(old, now)
}

const CASES: Record<string, Case> = {
  "is renamed": { move: rename, found: { "work/new": ALL } },
  "is moved to another folder": {
    move: (place, old) => rename(place, old, place.at("far", "away", "old")),
    found: { "far/away/old": ALL },
  },
  "is below a folder that is renamed": {
    move: (place) => renameSync(place.at("work"), place.at("projects")),
    found: { "projects/old": ALL },
  },
  "is copied, and then deleted": {
    move: (_, old, now) => {
      cpSync(old, now, { recursive: true })
      rmSync(old, { recursive: true })
    },
    found: { "work/new": ALL },
  },
  "is moved, and a link left in its place": {
    move: (place, old, now) => {
      rename(place, old, now)
      symlinkSync(now, old)
    },
    found: { "work/new": ALL },
  },
  "has got commits, and a branch with another root, since": {
    move: (place, old, now) => {
      place.git(old, "commit", "-q", "--allow-empty", "-m", "later")
      place.git(old, "branch", "kept")
      place.git(old, "checkout", "-q", "--orphan", "pages")
      place.git(old, "commit", "-q", "--allow-empty", "-m", "pages")
      place.git(old, "checkout", "-q", "kept")
      rename(place, old, now)
    },
    found: { "work/new": ALL },
  },
  "has two roots, as another history was merged": {
    make: (place, old) => {
      place.repository(old)
      place.git(old, "checkout", "-q", "--orphan", "other")
      place.git(old, "commit", "-q", "--allow-empty", "-m", "other")
      place.git(old, "checkout", "-q", "main")
      place.git(old, "merge", "-q", "--allow-unrelated-histories", "-m", "merge", "other")
    },
    move: rename,
    found: { "work/new": ALL },
  },
  "is bare, with worktrees": {
    make: (place, old) => {
      place.repository(place.at("made"))
      place.git(place.root, "clone", "-q", "--bare", place.at("made"), place.at("work", "bare"))
      rmSync(place.at("made"), { recursive: true })
      place.git(place.at("work", "bare"), "worktree", "add", "-q", old, "main")
    },
    move: (place, _, now) => {
      renameSync(place.at("work", "bare"), place.at("moved"))
      place.git(place.at("moved"), "worktree", "repair", place.at("work", "old"))
      rename(place, place.at("work", "old"), now)
      place.git(place.at("moved"), "worktree", "repair", now)
    },
    found: { "work/new": ALL },
    needsViews: true,
  },
  "is cloned: both folders are there": {
    move: (place, old, now) => place.git(place.root, "clone", "-q", old, now),
    found: { "work/new": NONE, "work/old": ALL },
    told: 0,
  },
  "is one of two that share their beginning, and both are gone": {
    make: (place, old) => {
      place.repository(old)
      place.git(place.root, "clone", "-q", old, place.at("work", "twin"))
    },
    move: async (place, old, now) => {
      await place.said("sextant", place.at("work", "twin"))
      await place.import()
      cpSync(old, now, { recursive: true })
      for (const gone of [old, place.at("work", "twin")]) rmSync(gone, { recursive: true })
    },
    found: { "work/new": NONE },
    told: 0,
  },
  "is deleted, and another one made in another place": {
    move: (place, old, now) => {
      rmSync(old, { recursive: true })
      place.repository(now)
    },
    found: { "work/new": NONE },
    told: 0,
  },
  "has no commits": {
    make: (place, old) => place.git(old, "init", "-q"),
    move: rename,
    found: { "work/new": NONE },
    told: 0,
  },
  "is a shallow clone": {
    make: (place, old) => {
      place.repository(place.at("made"))
      place.git(place.root, "clone", "-q", "--depth", "1", `file://${place.at("made")}`, old)
    },
    move: rename,
    found: { "work/new": NONE },
    told: 0,
  },
  "is no repository": {
    make: (_, old) => mkdirSync(old, { recursive: true }),
    move: rename,
    found: { "work/new": NONE },
    told: 0,
  },
}

test.each(Object.entries(CASES))(
  "a repository that %s",
  async (_name, { make, move, found, told = 1, needsViews }) => {
    using place = new Place()
    const [old, now] = [place.at("work", "old"), place.at("work", "new")]
    if (make === undefined) place.repository(old)
    else make(place, old)
    await place.said("theodolite", old)
    await place.import()
    await move(place, old, now)
    const [there] = Object.keys(found)
    const said = [await place.import(place.at(there!)), await place.import(place.at(there!))].join("")
    expect(said.match(/are now found in/g) ?? []).toHaveLength(told)
    for (const [folder, where] of Object.entries(found))
      expect([folder, await place.found(place.at(folder), "theodolite")]).toEqual([folder, [...where]])
    // From the vault alone, and the file beside it.
    if (needsViews !== true) rmSync(join(place.dataHome, "archive.db"))
    expect(await place.ctx(place.root, "rebuild")).toMatchObject({ code: 0, stderr: "" })
    for (const [folder, where] of Object.entries(found))
      expect([folder, await place.found(place.at(folder), "theodolite")]).toEqual([folder, [...where]])
  },
)

test("moved twice and back: the sessions follow, each place's own included", async () => {
  using place = new Place()
  const [first, second, third] = ["first", "second", "third"].map((name) => place.at(name))
  place.repository(first!)
  await place.said("alidade", first!)
  await place.import()
  renameSync(first!, second!)
  await place.said("backstaff", second!)
  await place.import()
  renameSync(second!, third!)
  await place.said("compass", third!)
  await place.import()
  for (const word of ["alidade", "backstaff", "compass"])
    expect((await place.found(third!, word)).slice(0, 2)).toEqual(["search", "sessions"])
  renameSync(third!, first!)
  expect(await place.import(first!)).toContain(`The sessions of ${third} are now found in ${first}`)
  for (const word of ["alidade", "backstaff", "compass"])
    expect((await place.found(first!, word)).slice(0, 2)).toEqual(["search", "sessions"])
  expect(await place.ctx(place.root, "rebuild")).toMatchObject({ code: 0, stderr: "" })
  for (const word of ["alidade", "backstaff", "compass"])
    expect((await place.found(first!, word)).slice(0, 2)).toEqual(["search", "sessions"])
})

test("a clone made in the old place has nothing of the moved one, which says so", async () => {
  using place = new Place()
  const [old, now] = [place.at("old"), place.at("new")]
  place.repository(old)
  await place.said("theodolite", old)
  await place.import()
  renameSync(old, now)
  await place.import(now)
  place.git(place.root, "clone", "-q", now, old)
  expect(await place.import(now)).toBe(
    `The sessions of ${old} are no longer found in ${now}: both folders are there\n`,
  )
  expect(await place.found(now, "theodolite")).toEqual(NONE)
  expect(await place.found(old, "theodolite")).toEqual(ALL)
})

test("a session of the old place is resumed in the new one, in the same folder below it", async () => {
  using place = new Place()
  const [old, now] = [place.at("old"), place.at("new")]
  place.repository(old)
  mkdirSync(join(old, "src"))
  const slug = (folder: string) => folder.replace(/[^A-Za-z0-9]/g, "-")
  const path = (folder: string) =>
    join(place.home, ".claude", "projects", slug(folder), "77777777-0000-4000-8000-000000000001.jsonl")
  const session = place.session({ cwd: join(old, "src"), id: "77777777-0000-4000-8000-000000000001" })
  session.turn("Look at the theodolite", [], "It is fine.")
  mkdirSync(dirname(path(join(old, "src"))), { recursive: true })
  const lines = session.take()
  writeFileSync(path(join(old, "src")), lines)
  await place.import()
  renameSync(old, now)
  await place.import(now)
  const command = `cd ${join(now, "src")} && claude --resume ${session.session}\n`
  const resumed = await place.ctx(now, "resume", "theodolite", "--dry-run")
  expect(resumed).toMatchObject({
    code: 0,
    stdout: command,
    stderr: expect.stringMatching(new RegExp(`^Look at the theodolite · [^·]+ · ${now}\n$`)),
  })
  expect(existsSync(path(join(now, "src")))).toBe(false)
  expect(await place.ctx(now, "resurrect", session.session)).toMatchObject({ code: 0, stderr: "" })
  expect(await Bun.file(path(join(now, "src"))).text()).toBe(lines)
})

test("the job joins as well, and the next session tells it once", async () => {
  using place = new Place()
  const [old, now] = [place.at("old"), place.at("new")]
  place.repository(old)
  const first = place.session({ cwd: old }).turn("Look at the theodolite", [], "It is fine.").flush()
  await place.hook("session-end", first, { reason: "other" })
  await place.idle()
  renameSync(old, now)
  const second = place.session({ cwd: now }).turn("Look at the sextant", [], "It is fine.").flush()
  await place.hook("session-end", second, { reason: "other" })
  await place.idle()
  const told = async () => {
    const { stdout } = await place.hook("session-start", place.session({ cwd: now }), { source: "startup" })
    return JSON.parse(stdout || "{}").systemMessage ?? ""
  }
  expect(await told()).toContain(`The sessions of ${old} are now found in ${now}`)
  expect(await told()).toBe("")
  for (const word of ["theodolite", "sextant"])
    expect((await place.found(now, word)).slice(0, 2)).toEqual(["search", "sessions"])
})

test("the first session in the new place finds them while it goes on", async () => {
  using place = new Place()
  const [old, now] = [place.at("old"), place.at("new")]
  place.repository(old)
  await place.said("theodolite", old)
  await place.import()
  renameSync(old, now)
  const path = join(place.home, ".claude", "projects", "-new", "77777777-0000-4000-8000-000000000001.jsonl")
  const fields = { source: "startup", transcript_path: path }
  await place.hook("session-start", place.session({ cwd: now }), fields)
  await place.idle()
  expect(await place.found(now, "theodolite")).toEqual(ALL)
})

test("after /clear, by the server, in figures and on pages: all see the joined sessions", async () => {
  using place = new Place()
  const [old, now] = [place.at("old"), place.at("new")]
  place.repository(old)
  await place.said("theodolite", old)
  const kept = { text: "the theodolite stands in the attic" }
  {
    await using peer = await Peer.connect(old, place.env)
    expect(await peer.call("remember", kept)).toMatchObject({ isError: false })
  }
  await place.import()
  renameSync(old, now)
  await place.import(now)
  const cleared = await place.hook("session-start", place.session({ cwd: now }), { source: "clear" })
  expect(contextOf(cleared)).toContain("theodolite")
  await place.idle()
  {
    await using peer = await Peer.connect(now, place.env)
    expect((await peer.call("search", { query: "theodolite" })).text).toMatch(/^\d+ hits? in this project/)
    expect(await peer.call("remember", { text: "the sextant, too" })).toMatchObject({ isError: false })
  }
  await place.said("astrolabe", now)
  const started = await place.hook("session-start", place.session({ cwd: now }), { source: "startup" })
  await place.idle()
  // What was kept in both places.
  for (const words of ["stands in the attic", "the sextant, too"]) expect(contextOf(started)).toContain(words)
  expect((await place.ctx(now, "stats", "--project", now)).stdout).toContain("sessions  2 with 2 turns")
  const viewed = await place.ctx(now, "open", "--json")
  expect(JSON.parse(viewed.stdout).pages.length).toBeGreaterThanOrEqual(3)
})

test("by hand: joined, undone, and not joined by itself again; each dry run writes nothing", async () => {
  using place = new Place()
  const [old, now] = [place.at("old"), place.at("new")]
  place.repository(old)
  await place.said("theodolite", old)
  await place.import()
  renameSync(old, now)
  const move = (...args: string[]) => place.ctx(place.root, "project", "move", ...args)
  expect(await move("old", "new", "--dry-run")).toMatchObject({
    code: 0,
    stdout: `Would join 1 session of ${old} with ${now}\n`,
    stderr: "",
  })
  expect(await place.found(now, "theodolite")).toEqual(NONE)
  expect(await move("old", "new")).toMatchObject({
    code: 0,
    stdout: `Joined 1 session of ${old} with ${now}\nTo undo it: ctxbridge project move --undo ${old}\n`,
    stderr: "",
  })
  expect(await place.found(now, "theodolite")).toEqual(ALL)
  expect(JSON.parse((await move("old", "new", "--json")).stdout)).toEqual({
    from: old,
    to: now,
    sessions: 1,
    joined: true,
    dryRun: false,
  })
  expect(await move("--undo", "old", "--dry-run")).toMatchObject({
    code: 0,
    stdout: `1 session would be found in ${old} again, and no longer in ${now}\n`,
    stderr: "",
  })
  expect(await place.found(now, "theodolite")).toEqual(ALL)
  expect(await move("--undo", "old")).toMatchObject({
    code: 0,
    stdout: `1 session is found in ${old} again, and no longer in ${now}\n`,
    stderr: "",
  })
  expect(await place.found(now, "theodolite")).toEqual(NONE)
  expect(await place.import(now)).toBe("")
  expect(await place.found(now, "theodolite")).toEqual(NONE)
})

test("where nothing is archived, a folder of the same name that is gone is named", async () => {
  using place = new Place()
  const [old, now] = [place.at("work", "lighthouse"), place.at("far", "lighthouse")]
  mkdirSync(old, { recursive: true })
  await place.said("theodolite", old)
  rename(place, old, now)
  const move = `ctxbridge project move ${old} ${now}`
  expect(await place.ctx(now, "search", "theodolite")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      new RegExp(
        `^No session of ${now} is archived: this is from every project\\. If ${old} was moved here: ${move}\\.\nctx:`,
      ),
    ),
    stderr: "",
  })
  expect(await place.ctx(now, "search", "theodolite", "--project", ".")).toMatchObject({
    code: 3,
    stdout: "",
    stderr: `ctxbridge: no session of ${now} is archived\nhint: if ${old} was moved here: ${move}\n`,
  })
})

test("what cannot be moved is said, with what may be meant", async () => {
  using place = new Place()
  const [old, now] = [place.at("lighthouse"), place.at("new")]
  place.repository(old)
  mkdirSync(now)
  await place.said("theodolite", old)
  await place.import()
  const move = (...args: string[]) => place.ctx(place.root, "project", ...args)
  const refused = (code: number, message: string, hint: string) => ({
    code,
    stdout: "",
    stderr: `ctxbridge: ${message}\nhint: ${hint}\n`,
  })
  const USAGE = "ctxbridge project move OLD NEW"
  expect(await move("move", "lighthuose", "new")).toMatchObject(
    refused(3, `no session of ${place.at("lighthuose")} is archived`, `archived are those of ${old}`),
  )
  expect(await move("move", "lighthouse", "missing")).toMatchObject(
    refused(64, "missing is not a folder", "name the folder in which the project is now"),
  )
  expect(await move("move", "lighthouse", "lighthouse")).toMatchObject(
    refused(64, `${old} is the same project`, USAGE),
  )
  expect(await move("move", "lighthouse")).toMatchObject(refused(64, "NEW is missing", USAGE))
  expect(await move("move", "lighthouse", "new")).toMatchObject({ code: 64, stdout: "" })
  expect(await move("move", "--undo", "lighthouse")).toMatchObject(
    refused(3, `${old} is not joined with another project`, "no project is joined with another"),
  )
  expect(await place.found(old, "theodolite")).toEqual(ALL)
  // Both are there, and the user wants it.
  expect(await move("move", "lighthouse", "new", "--yes")).toMatchObject({ code: 0, stderr: "" })
  for (const folder of [old, now]) expect(await place.found(folder, "theodolite")).toEqual(ALL)
  await place.import(old)
  expect(await place.found(now, "theodolite")).toEqual(ALL)
})

test("forgetting all sessions of a moved project forgets where it was", async () => {
  using place = new Place()
  const [old, now] = [place.at("old-lighthouse"), place.at("new")]
  place.repository(old)
  const session = await place.said("theodolite", old)
  await place.import()
  renameSync(old, now)
  await place.import(now)
  await place.said("sextant", now)
  await place.import(now)
  const file = join(place.dataHome, "projects.json")
  expect(await Bun.file(file).text()).toContain("old-lighthouse")
  expect(await place.ctx(now, "forget", session, "--yes")).toMatchObject({ code: 0, stderr: "" })
  expect(await Bun.file(file).text()).not.toContain("old-lighthouse")
  expect((await place.found(now, "sextant")).slice(0, 2)).toEqual(["search", "sessions"])
})

test("nothing of a repository's own settings is run", async () => {
  using place = new Place()
  const old = place.at("old")
  place.repository(old)
  const ran = place.at("ran")
  const program = place.at("program")
  writeFileSync(program, `#!/bin/sh\ntouch ${ran}\n`, { mode: 0o755 })
  for (const hook of ["post-checkout", "reference-transaction", "pre-auto-gc", "fsmonitor-watchman"])
    cpSync(program, join(old, ".git", "hooks", hook))
  const settings: Record<string, string> = {
    "core.fsmonitor": program,
    "core.sshCommand": program,
    "core.pager": program,
    "core.editor": program,
    "core.gitProxy": program,
    "credential.helper": `!${program}`,
    "gpg.program": program,
    "log.showSignature": "true",
    "alias.rev-list": `!${program}`,
    "filter.x.clean": program,
    "extensions.partialClone": "evil",
    "remote.evil.url": `ext::${program}`,
    "remote.evil.promisor": "true",
    "remote.evil.uploadpack": program,
    "protocol.ext.allow": "always",
    "uploadpack.packObjectsHook": program,
  }
  // With format 1, what is missing is fetched: from an address that is a program, and by a program.
  place.git(old, "config", "core.repositoryformatversion", "1")
  for (const [name, value] of Object.entries(settings)) place.git(old, "config", name, value)
  const [broken, other] = [place.at("broken"), place.at("other")]
  for (const folder of [broken, other]) {
    cpSync(old, folder, { recursive: true })
    await place.said("theodolite", folder)
    rmSync(join(folder, ".git", "objects"), { recursive: true })
    mkdirSync(join(folder, ".git", "objects"))
  }
  place.git(place.at("bare"), "init", "-q", "--bare")
  place.git(other, "config", "remote.evil.url", place.at("bare"))
  for (const folder of [broken, other]) {
    expect(() => place.git(folder, "rev-list", "--first-parent", "HEAD", "--")).toThrow()
    expect(existsSync(ran)).toBe(true)
    rmSync(ran)
  }
  await place.said("theodolite", old)
  await place.import(old)
  await place.hook("session-end", place.session({ cwd: old }).turn("a", [], "b").flush(), { reason: "other" })
  await place.idle()
  expect(existsSync(ran)).toBe(false)
  expect(await Bun.file(join(place.dataHome, "projects.json")).json()).toMatchObject({
    known: {
      [join(old, ".git")]: { root: expect.stringMatching(/^[0-9a-f]{40}$/) },
      [join(broken, ".git")]: { asked: expect.any(Number) },
      [join(other, ".git")]: { asked: expect.any(Number) },
    },
  })
})
