/**
 * Of a repository that was moved or deleted nothing was found by its folder; a rebuild, which every new version may bring,
 * took the sessions of a worktree that was removed since out of their project.
 */
import { expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

/** A repository with a worktree, as git makes them, and a session in each. */
async function repository(machine: Machine) {
  const repo = join(machine.root, "repo")
  const tree = join(machine.root, "tree")
  const admin = join(repo, ".git", "worktrees", "tree")
  for (const dir of [admin, tree]) mkdirSync(dir, { recursive: true })
  writeFileSync(join(tree, ".git"), `gitdir: ${admin}\n`)
  writeFileSync(join(repo, ".git", "HEAD"), "ref: refs/heads/main\n")
  writeFileSync(join(admin, "commondir"), "../..\n")
  writeFileSync(join(admin, "gitdir"), `${join(tree, ".git")}\n`)
  for (const cwd of [repo, tree]) {
    const session = machine.session({ cwd }).turn(`The walrus of ${cwd}.`).flush()
    expect(await machine.hook("stop", session)).toMatchObject({ code: 0, stderr: "" })
  }
  // Indexed while it is there.
  expect(await count(machine, "sessions", "--project", repo)).toBe(2)
  return { repo, tree }
}

async function count(machine: Machine, command: string, ...args: readonly string[]): Promise<number> {
  const { code, stdout, stderr } = await run([command, ...args, "--json"], machine)
  expect(stderr).toBe("")
  const { hits, sessions, found } = JSON.parse(stdout) as Record<string, readonly unknown[]>
  return code === 3 ? 0 : (hits ?? sessions ?? found)!.length
}

test("a rebuild leaves the sessions of a removed worktree in their project", async () => {
  using machine = new Machine()
  const { repo, tree } = await repository(machine)
  expect(await count(machine, "search", "walrus", "--project", repo)).toBe(2)
  rmSync(tree, { recursive: true })
  for (let n = 0; n < 2; n++) {
    expect(await run(["rebuild"], machine)).toMatchObject({ code: 0, stderr: "" })
    expect(await count(machine, "search", "walrus", "--project", repo)).toBe(2)
    expect(await count(machine, "sessions", "--project", repo)).toBe(2)
  }
  // By the folder that is gone, too.
  expect(await count(machine, "search", "walrus", "--project", tree)).toBe(2)
})

test("a repository that was moved is found by where it was", async () => {
  using machine = new Machine()
  const { repo } = await repository(machine)
  renameSync(repo, join(machine.root, "moved"))
  expect(await count(machine, "search", "walrus", "--project", repo)).toBe(2)
  expect(await count(machine, "sessions", "--project", repo)).toBe(2)
  expect(await run(["rebuild"], machine)).toMatchObject({ code: 0, stderr: "" })
  expect(await count(machine, "sessions", "--project", repo)).toBe(2)
})

test("of a session that the vault has no more, a rebuild carries nothing over", async () => {
  using machine = new Machine()
  const { tree } = await repository(machine)
  rmSync(tree, { recursive: true })
  const { stdout } = await run(["sessions", "--all-projects", "--json"], machine)
  const sessions = (JSON.parse(stdout) as { sessions: readonly { id: string; cwd: string }[] }).sessions
  const { id } = sessions.find(({ cwd }) => cwd === tree)!
  expect(await run(["forget", id, "--yes"], machine)).toMatchObject({ code: 0, stderr: "" })
  await machine.idle()
  const views = Buffer.from(await Bun.file(join(machine.dataHome, "archive.db")).arrayBuffer())
  expect(views.includes(id)).toBe(false)
  expect(views.includes(tree)).toBe(false)
})
