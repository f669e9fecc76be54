/** The reference knew no projects: installed for all, it gave one project's turns to another. */
import { expect, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { projectOf } from "../../src/archive/project.ts"
import { Archive } from "../support/archive.ts"
import { run } from "../support/binary.ts"
import { contextOf, Machine } from "../support/machine.ts"

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

test("a session gets nothing of another project's", async () => {
  using machine = new Machine()
  const secret = machine
    .session({ cwd: join(machine.root, "client-a") })
    .turn("the secret of client A")
    .flush()
  await machine.hook("pre-compact", secret, { trigger: "auto" })
  await machine.hook("session-end", secret, { reason: "clear" })
  for (const source of ["startup", "clear", "compact", "resume"]) {
    const other = machine
      .session({ cwd: join(machine.root, "client-b") })
      .turn("work for client B")
      .flush()
    const context = contextOf(await machine.hook("session-start", other, { source })) ?? ""
    expect(context).not.toContain("client A")
  }
})

test("people read the repository's folder, not what git keeps in it", async () => {
  using machine = new Machine()
  const repo = join(machine.root, "repo")
  mkdirSync(join(repo, ".git"), { recursive: true })
  const session = machine.session({ cwd: repo }).turn("The lantern is amber.").flush()
  await machine.hook("stop", session)
  const found = await run(["search", "lantern", "--all-projects"], { env: machine.env, cwd: repo })
  expect(found).toMatchObject({ code: 0, stderr: "" })
  expect(found.stdout).toContain(` · ${repo}`)
  expect(found.stdout).not.toContain(".git")
  const none = await run(["search", "walrus"], { env: machine.env, cwd: repo })
  expect(none).toMatchObject({
    code: 3,
    stdout: "",
    stderr: `ctxbridge: nothing in ${repo} matches "walrus"\nhint: --all-projects looks everywhere\n`,
  })
})
