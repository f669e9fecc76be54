/** Projects: which sessions are of one, where it is gone, and how it is told. */
import { describe, expect, test } from "bun:test"
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Inside, run } from "../../support/inside.ts"
import { contextOf, type Machine } from "../../support/machine.ts"

/** What is installed for all projects must not give one project's turns to another. */
test("a session gets nothing of another project's", async () => {
  using machine = new Inside()
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
  using machine = new Inside()
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

/**
 * Of a repository that was moved or deleted nothing was found by its folder; a rebuild, which every new version may bring,
 * took the sessions of a worktree that was removed since out of their project.
 */
describe("a project whose folder is gone", () => {
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
    using machine = new Inside()
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
    using machine = new Inside()
    const { repo } = await repository(machine)
    renameSync(repo, join(machine.root, "moved"))
    expect(await count(machine, "search", "walrus", "--project", repo)).toBe(2)
    expect(await count(machine, "sessions", "--project", repo)).toBe(2)
    expect(await run(["rebuild"], machine)).toMatchObject({ code: 0, stderr: "" })
    expect(await count(machine, "sessions", "--project", repo)).toBe(2)
  })

  test("of a session that the vault has no more, a rebuild carries nothing over", async () => {
    using machine = new Inside()
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
})

/** `sessions --all-projects` did not say of which project each session was. */
test("sessions are told with their project's name; those of one project without", async () => {
  using machine = new Inside()
  const other = join(machine.root, "elsewhere")
  mkdirSync(other)
  await machine.hook("stop", machine.session({ id: "0a1b2c3d-1" }).turn("Here").flush())
  await machine.hook("stop", machine.session({ id: "4e5f6a7b-2", cwd: other }).turn("There").flush())
  const list = async (...args: string[]): Promise<string[]> =>
    (await run(["sessions", ...args], { env: machine.env, cwd: machine.cwd })).stdout.trimEnd().split("\n")
  const [head, ...rows] = await list("--all-projects")
  expect(head).toContain("  project  ")
  for (const [folder, prompt] of [
    ["project", "Here"],
    ["elsewhere", "There"],
  ])
    expect(rows.find((row) => row.endsWith(`  ${prompt}`))).toContain(`  ${folder}  `)
  for (const line of [head!, ...rows]) expect(line.length).toBeLessThanOrEqual(80)
  expect((await list())[0]).not.toContain("project")
})
