/**
 * A repository may bring a link where a project's file is read from: hooks and commands waited for ever at a pipe, and read
 * a device until the memory was full.
 */
import { expect, test } from "bun:test"
import { mkdirSync, renameSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { run, start } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

/** Nobody ever writes to it. */
function pipeAt(path: string): void {
  mkdirSync(dirname(path), { recursive: true })
  expect(Bun.spawnSync(["mkfifo", path]).exitCode).toBe(0)
}

/** As `run`, for what may never end. */
async function within(machine: Machine, args: readonly string[], stdin = "") {
  const { child, ended } = start(args, { env: machine.env, cwd: machine.cwd })
  child.stdin.write(stdin)
  child.stdin.end()
  const timer = setTimeout(() => child.kill("SIGKILL"), 20_000)
  try {
    return await ended
  } finally {
    clearTimeout(timer)
  }
}

test("a pipe as .ctxbridge.toml holds neither hooks nor commands", async () => {
  using machine = new Machine()
  pipeAt(join(machine.cwd, ".ctxbridge.toml"))
  const session = machine.session().turn("What was asked.").flush()
  for (const event of ["user-prompt-submit", "stop"] as const) {
    const ran = await within(machine, ["hook", event], machine.payload(event, session, { prompt: "go on" }))
    expect(ran).toMatchObject({ code: 0, stdout: "", stderr: "" })
  }
  const listed = await within(machine, ["config", "list", "--json"])
  expect(listed).toMatchObject({ code: 0, stderr: "" })
  expect(JSON.parse(listed.stdout).brokenFiles).toEqual([
    `${join(machine.cwd, ".ctxbridge.toml")}: not a file of at most 65536 bytes`,
  ])
  const shown = await within(machine, ["sessions", "--json"])
  expect(shown).toMatchObject({ code: 0, stderr: "" })
  expect(JSON.parse(shown.stdout).sessions).toHaveLength(1)
})

test("a project's file that is too large for one is ignored, and told", async () => {
  using machine = new Machine()
  const file = join(machine.cwd, ".ctxbridge.toml")
  const valid = '"restore.budget" = 600\n'
  writeFileSync(file, valid + "#".repeat(65_536 - valid.length))
  const budget = () => run(["config", "get", "restore.budget"], { env: machine.env, cwd: machine.cwd })
  expect(await budget()).toMatchObject({ code: 0, stdout: "600\n", stderr: "" })
  writeFileSync(file, `${valid}${"#".repeat(65_536 - valid.length)}\n`)
  const stderr = `ignored: ${file}: not a file of at most 65536 bytes\n`
  expect(await budget()).toMatchObject({ code: 0, stdout: "4000\n", stderr })
})

test("pipes in the place of the project's settings and of git's files", async () => {
  using machine = new Machine()
  pipeAt(join(machine.cwd, ".claude", "settings.json"))
  const session = machine.session().turn("What was asked.").flush()
  await machine.hook("stop", session)
  const status = await within(machine, ["status", "--json"])
  expect(status).toMatchObject({ code: 0, stderr: "" })
  expect(status.stdout).toContain("settings.json is not a file")
  renameSync(join(machine.cwd, ".claude"), join(machine.root, "away"))
  for (const name of ["gitdir", "config"]) pipeAt(join(machine.cwd, "gitdir", name))
  writeFileSync(join(machine.cwd, ".git"), "gitdir: gitdir\n")
  const listed = await within(machine, ["sessions", "--json", "--all-projects"])
  expect(listed).toMatchObject({ code: 0, stderr: "" })
})
