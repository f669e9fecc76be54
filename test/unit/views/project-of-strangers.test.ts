/** A folder that somebody brought along says which repository it belongs to. Only the repository can confirm it. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { projectOf } from "../../../src/views/project.ts"

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
