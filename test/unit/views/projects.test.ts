import { expect, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { projectOf } from "../../../src/views/project.ts"
import { Archive } from "../../support/archive.ts"

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
