import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { type Database, databasePath, openFile } from "../../../src/views/database.ts"
import {
  changeJoined,
  endOfJoins,
  isGone,
  type Join,
  type JoinedProjects,
  mountOf,
  movesAmong,
  type Repository,
  readJoined,
  withJoin,
  withoutJoin,
} from "../../../src/views/joined-projects.ts"
import { open } from "../../../src/views/open.ts"
import { namesApart, projectOf } from "../../../src/views/project.ts"
import { knownAs, ownProjects, projectPaths } from "../../../src/views/queries/projects.ts"
import { carryProjects } from "../../../src/views/rebuild-views.ts"
import { Archive } from "../../support/archive.ts"
import { tempFolder } from "../../support/temp.ts"

describe("projects", () => {
  test.each([
    [
      ["/w/app/.git", "/w/shop"],
      ["app", "shop"],
    ],
    [
      ["/w/client/app", "/w/server/app/.git", "/w/shop"],
      ["client/app", "server/app", "shop"],
    ],
    [
      ["/a/x/app", "/b/x/app", "/b/y/app"],
      ["a/x/app", "b/x/app", "y/app"],
    ],
    [
      ["/app", "/home/app"],
      ["/app", "home/app"],
    ],
    [
      ["C:\\w\\app", "D:\\w\\app"],
      ["C:/w/app", "D:/w/app"],
    ],
    [
      ["/w/app", "/w/app/.git", "/w/app"],
      ["/w/app", "/w/app", "/w/app"],
    ],
    [
      ["/w/app/.worktrees/3", "/w/shop/.worktrees/3", "/w/shop/41", "/w/3x"],
      ["app/.worktrees/3", "shop/.worktrees/3", "shop/41", "3x"],
    ],
    [
      ["/", ""],
      ["/", ""],
    ],
  ])("%p are called %p", (projects, names) => {
    const found = namesApart(projects)
    expect(projects.map((project) => found.get(project)!)).toEqual(names)
  })

  test("a session that goes to other folders makes no projects there, whenever it is indexed", () => {
    using archive = new Archive()
    const session = archive.session("11111111-0000-4000-8000-000000000000")
    const said = (cwd: string, n: number): string =>
      JSON.stringify({
        type: "user",
        uuid: `aaaaaaaa-0000-4000-8000-00000000000${n}`,
        sessionId: session.session,
        cwd,
        timestamp: `2026-03-02T08:00:0${n}.000Z`,
        message: { role: "user", content: `prompt ${n}` },
      })
    for (const [n, cwd] of ["/here", "/there", "/elsewhere"].entries()) {
      session.raw(said(cwd, n))
      archive.follow(session.flush())
    }
    expect(archive.db.query("SELECT path FROM projects").all()).toEqual([{ path: "/here" }])
    expect(
      archive.db.query("SELECT p.path, s.cwd FROM sessions s JOIN projects p ON p.id = s.project").all(),
    ).toEqual([{ path: "/here", cwd: "/here" }])
  })

  /** What is installed for all projects must not give one project's turns to another. */
  test("a project is the git common dir: subfolders and worktrees share it, neighbours do not", () => {
    using archive = new Archive()
    const repo = join(archive.root, "repo")
    const tree = join(archive.root, "tree")
    const admin = join(repo, ".git", "worktrees", "tree")
    for (const dir of [join(repo, "packages", "a"), admin, join(tree, "src")])
      mkdirSync(dir, { recursive: true })
    writeFileSync(join(tree, ".git"), `gitdir: ${admin}\n`)
    writeFileSync(join(repo, ".git", "HEAD"), "ref: refs/heads/main\n")
    writeFileSync(join(admin, "commondir"), "../..\n")
    writeFileSync(join(admin, "gitdir"), `${join(tree, ".git")}\n`)
    const key = join(repo, ".git")
    for (const cwd of [repo, join(repo, "packages", "a"), tree, join(tree, "src")])
      expect(projectOf(cwd)).toBe(key)
    const other = join(archive.root, "other")
    mkdirSync(other)
    expect(projectOf(other)).toBe(other)
  })

  test("a folder that cannot be looked into is a project of its own", () => {
    for (const cwd of [`/${"x".repeat(5000)}`, "/dev/null/below/a/file", "/a\0b", "relative"]) {
      expect(projectOf(cwd)).toBe(cwd)
    }
  })
})

/** A folder that somebody brought along says which repository it belongs to. Only the repository can confirm it. */
describe("project of strangers", () => {
  let root = ""
  const at = (...names: string[]): string => join(root, ...names)

  function write(path: string, text: string): void {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }

  function git(cwd: string, ...args: string[]): void {
    const config = { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null", HOME: root }
    const who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]
    const ran = Bun.spawnSync(["git", ...who, ...args], { cwd, env: { ...process.env, ...config } })
    expect({ args, code: ran.exitCode, error: ran.exitCode === 0 ? "" : ran.stderr.toString() }).toEqual({
      args,
      code: 0,
      error: "",
    })
  }

  beforeAll(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), "ctxbridge-project-")))
    for (const name of ["own", "library"]) {
      mkdirSync(at(name))
      git(at(name), "init", "-q")
      git(at(name), "commit", "-q", "--allow-empty", "-m", "first")
    }
    git(at("own"), "worktree", "add", "-q", at("tree"))
    git(at("own"), "submodule", "--quiet", "add", at("library"), "lib/library")
  })
  afterAll(() => rmSync(root, { recursive: true, force: true }))

  describe("of git's own making", () => {
    test("a worktree shares the project, also by a relative path and through a link", () => {
      expect(projectOf(at("tree"))).toBe(at("own", ".git"))
      symlinkSync(at("tree"), at("link"))
      expect(projectOf(at("link"))).toBe(at("own", ".git"))
      const back = at("own", ".git", "worktrees", "tree", "gitdir")
      const absolute = readFileSync(back, "utf8")
      expect(absolute).toBe(`${at("tree", ".git")}\n`)
      writeFileSync(back, "../../../../tree/.git\n")
      expect(projectOf(at("tree"))).toBe(at("own", ".git"))
      writeFileSync(back, absolute)
    })

    test("a submodule is a project, with its folders", () => {
      const project = at("own", ".git", "modules", "lib", "library")
      expect(projectOf(at("own", "lib", "library"))).toBe(project)
      mkdirSync(at("own", "lib", "library", "src"))
      expect(projectOf(at("own", "lib", "library", "src"))).toBe(project)
    })
  })

  describe("a folder that somebody brought along is a project of its own", () => {
    const named: Readonly<Record<string, string>> = {
      "the repository": "../own/.git",
      "one of its worktrees": "../own/.git/worktrees/tree",
      "one of its submodules": "../own/.git/modules/lib/library",
      "what is not there": "../gone/.git",
      "a git dir that it brings itself": "git",
      "itself as a git dir": ".",
      nothing: "",
    }
    for (const [n, [what, path]] of Object.entries(named).entries()) {
      test(`that names ${what}`, () => {
        const folder = at(`brought-${n}`)
        write(join(folder, ".git"), `gitdir: ${path}\n`)
        // The one that it brings confirms everything.
        for (const dir of [join(folder, "git"), folder]) {
          write(join(dir, "gitdir"), `${join(folder, ".git")}\n`)
          write(join(dir, "commondir"), `${at("own", ".git")}\n`)
        }
        mkdirSync(join(folder, "src"))
        expect(projectOf(folder)).toBe(folder)
        expect(projectOf(join(folder, "src"))).toBe(folder)
      })
    }

    test("in a folder named `worktrees`, of whatever the folder above is the project", () => {
      const folder = at("worktrees", "brought")
      write(join(folder, ".git"), "gitdir: .\n")
      write(join(folder, "gitdir"), `${join(folder, ".git")}\n`)
      expect(projectOf(folder)).toBe(folder)
    })

    test("whose `.git` is a link to a worktree's", () => {
      mkdirSync(at("linked"))
      symlinkSync(at("tree", ".git"), at("linked", ".git"))
      expect(projectOf(at("linked"))).toBe(at("linked"))
    })
  })
})

/** Views made anew keep what the former ones knew of projects. */
describe("former projects", () => {
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
  test("the project of a session whose folder is gone is waited for, not given up", () => {
    using folder = tempFolder()
    const old = open(folder.path, "write", 0)
    old.run("INSERT INTO projects (path) VALUES ('/gone/project')")
    old.run("INSERT INTO sessions (id, project, cwd) VALUES ('s', 1, '/gone/worktree')")
    const views = openFile(join(folder.path, "new.db"), "create")
    const projects = (): unknown[] => views.query("SELECT path FROM projects").all()
    keepForItself(old)
    expect(() => carryProjects(databasePath(folder.path), views, new Set(["s"]), 0)).toThrow(
      expect.objectContaining({ code: "busy" }),
    )
    old.close()
    carryProjects(databasePath(folder.path), views, new Set(["s"]), 0)
    expect(projects()).toEqual([{ path: "/gone/project" }])
    views.close()
  })
})

/** What is joined by itself, and what the views make of it. */
describe("joined projects", () => {
  const EMPTY: JoinedProjects = { known: {}, joins: [], apart: [] }

  /** `A!` is gone, `A?` is away, `A>B` is a link to B; `:x` is its root commit, `r` otherwise, and `:` none. */
  function repositories(text: string): Repository[] {
    return text.split(" ").map((word) => {
      const [, path, sign, at, root = "r"] = /^(\w)([!?>]?)(\w?)(?::(\w*))?$/.exec(word)!
      const state = sign === "" ? "there" : sign === "?" ? "away" : "gone"
      return { path: path!, root: root || undefined, mount: "/", asked: 0, state, ...(at && { at }) }
    })
  }

  const joins = (text: string, by: Join["by"] = "commit"): Join[] =>
    text === "" ? [] : text.split(" ").map((pair) => ({ from: pair[0]!, to: pair[1]!, by }))

  test.each<[what: string, before: string, there: string, joined: string, after: string]>([
    ["renamed", "", "A! B", "AB", "AB"],
    ["both are there", "", "A B", "", ""],
    ["both are gone", "", "A! B!", "", ""],
    ["on a drive that is not mounted", "", "A? B", "", ""],
    ["another root", "", "A!:x B", "", ""],
    ["no root is known", "", "A!: B:", "", ""],
    ["a third is there", "", "A! B C", "", ""],
    ["a third is gone as well", "", "A! B C!", "", ""],
    ["a third is out of reach", "", "A! B C?", "", ""],
    ["others have another root", "", "A! B C:x D!:y", "AB", "AB"],
    ["two of different roots", "", "A! B C!:x D:x", "AB CD", "AB CD"],
    ["a link was left", "", "A>B B", "AB", "AB"],
    ["a link to somewhere else", "", "A>C B", "", ""],
    ["moved again", "AB", "A! B! C", "BC", "AB BC"],
    ["nothing new", "AB", "A! B", "", "AB"],
    ["moved back", "AB", "A B!", "BA", "BA"],
    ["moved twice and back to the first", "AB BC", "A B! C!", "CA", "BC CA"],
    ["the old folder is there again", "AB", "A B", "", ""],
    ["of three, one is there again", "AC BC", "A B! C", "", "BC"],
  ])("%s", (_what, before, there, joined, after) => {
    const moves = movesAmong({ ...EMPTY, joins: joins(before) }, repositories(there))
    expect(moves.joined).toEqual(joins(joined))
    expect(moves.file.joins).toEqual(joins(after))
  })

  test("what was joined by hand stays until the new folder is gone and the old one is there", () => {
    const file = { ...EMPTY, joins: joins("AB", "hand") }
    expect(movesAmong(file, repositories("A B"))).toMatchObject({ file, joined: [], parted: [] })
    expect(movesAmong(file, repositories("A B!"))).toMatchObject({ joined: joins("BA") })
  })

  test("what the user has taken apart is not joined by itself, and may be joined by hand", () => {
    const [ab] = joins("AB")
    const apart = withoutJoin(withJoin(EMPTY, ab!), ab!, true)
    expect(apart).toEqual({ ...EMPTY, apart: [{ from: "A", to: "B" }] })
    expect(movesAmong(apart, repositories("A! B")).joined).toEqual([])
    expect(withJoin(apart, joins("AB", "hand")[0]!)).toEqual({ ...EMPTY, joins: joins("AB", "hand") })
  })

  test("no chain of joins is endless, whatever the file says", () => {
    expect(endOfJoins(joins("AB BC"), "A")).toBe("C")
    expect(["A", "B"]).toContain(endOfJoins(joins("AB BA"), "A"))
  })

  test.each([
    ["no JSON", "{"],
    ["a list", "[]"],
    ["wrong types", '{"known":[1],"joins":{"a":1},"apart":"x"}'],
    [
      "wrong entries",
      '{"known":{"/a":3},"joins":[1,{"from":1,"to":"/b"},{"from":"/a","to":"/a"}],"apart":[null]}',
    ],
  ])("a file with %s counts as none", (_what, text) => {
    using folder = tempFolder()
    writeFileSync(join(folder.path, "projects.json"), text)
    expect(readJoined(folder.path)).toEqual(EMPTY)
  })

  test("a folder is gone only where its file system still is", () => {
    using folder = tempFolder()
    const [old, mount] = [join(folder.path, "old"), join(folder.path, "drive")]
    mkdirSync(old)
    expect(mountOf(old)).toBe(mountOf(folder.path))
    expect(isGone(join(old, ".git"), mountOf(old))).toBe(false)
    renameSync(old, join(folder.path, "new"))
    expect(isGone(join(old, ".git"), "/")).toBe(true)
    // Where the drive was: nothing, or the empty folder on which it is mounted.
    expect(isGone(join(mount, "old", ".git"), mount)).toBe(false)
    mkdirSync(mount)
    expect(isGone(join(mount, "old", ".git"), mount)).toBe(false)
  })

  test("the views follow the file, to and fro, and new sessions come into the joined project", () => {
    using archive = new Archive()
    const { db, root } = archive
    const said = (id: string, cwd: string): void => {
      const session = archive.session(`${id}0000000-0000-4000-8000-000000000000`, { cwd })
      archive.follow(session.turn("Look", [], "Done.").flush())
    }
    const projects = (): unknown =>
      db
        .query("SELECT s.id, p.path FROM sessions s JOIN projects p ON p.id = s.project ORDER BY s.id")
        .values()
    const ids = (path: string, ...names: string[]) =>
      names.map((id) => [`${id}0000000-0000-4000-8000-000000000000`, path])
    said("1", "/old")
    const [join] = joins("AB").map((one): Join => ({ ...one, from: "/old", to: "/new" }))
    changeJoined(db, root, (file) => withJoin(file, join!))
    said("2", "/old/packages")
    said("3", "/new")
    expect(projects()).toEqual(ids("/new", "1", "2", "3"))
    expect(projectPaths(db)).toEqual(["/new"])
    expect(knownAs(db, "/old")).toBe("/new")
    expect(
      ownProjects(db)
        .map(({ path, sessions }) => [path, sessions])
        .sort(),
    ).toEqual([
      ["/new", 1],
      ["/old", 2],
    ])
    changeJoined(db, root, (file) => withJoin(file, { from: "/new", to: "/third", by: "hand" }))
    expect(projects()).toEqual(ids("/third", "1", "2", "3"))
    changeJoined(db, root, (file) => withoutJoin(file, join!, false))
    expect(projects()).toEqual([...ids("/old", "1", "2"), ...ids("/third", "3")])
  })
})
