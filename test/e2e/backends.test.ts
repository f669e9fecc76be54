/** The binary with each backend: sync, search and show; and which one counts where none is named. */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { agentdbFolder } from "../support/agentdb.ts"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { freePort } from "../support/postgres.ts"
import { limit } from "../support/slowness.ts"
import { tempFolder } from "../support/temp.ts"

setDefaultTimeout(limit(120_000))

type Env = Record<string, string>

const cli = (machine: Machine, args: string[], env: Env = {}) =>
  run(args, { env: { ...machine.env, ...env }, cwd: machine.cwd })

async function told(machine: Machine, args: string[], env: Env = {}) {
  const { code, stdout, stderr } = await cli(machine, [...args, "--json"], env)
  expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: "" })
  return JSON.parse(stdout)
}

async function worked(): Promise<Machine> {
  const machine = new Machine()
  const command = { tool: "Bash", input: { command: "npm test" }, output: "12 tests passed" }
  await machine.hook("stop", machine.session().turn("Why is the pool exhausted?", [command]).flush())
  return machine
}

const agentdb = await agentdbFolder()

describe.each<[kind: string, named: (root: string) => string, file: string, env: Env, isThere: boolean]>([
  ["sqlite", (root) => `sqlite:${join(root, "x.db")}`, "x.db", {}, true],
  [
    "agentdb",
    (root) => `agentdb:${join(root, "x.db")}`,
    "x.db",
    { CTXBRIDGE_AGENTDB: agentdb ?? "" },
    agentdb !== undefined,
  ],
])("%s", (kind, named, file, env, isThere) => {
  test.skipIf(!isThere)("sends, finds, opens, forgets", async () => {
    using folder = tempFolder()
    using machine = await worked()
    using other = new Machine()
    const target = named(folder.path)
    expect(await told(machine, ["sync", "--to", target], env)).toMatchObject({ kind, target, stored: 1 })
    expect(await told(machine, ["sync", "--to", target], env)).toMatchObject({ turns: 0, stored: 0 })
    const { hits } = await told(other, ["search", "--backend", target, "pool"], env)
    expect(hits).toHaveLength(1)
    const shown = await cli(other, ["show", hits[0].handle, "--backend", target], env)
    expect(shown).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining("12 tests passed") })
    expect(await cli(machine, ["forget", hits[0].session, "--yes"])).toMatchObject({ code: 0 })
    expect(await told(machine, ["sync", "--to", target], env)).toMatchObject({
      forgotten: 1,
      there: { entries: 0 },
    })
    expect(readFileSync(join(folder.path, file), "latin1")).not.toContain("exhausted")
    expect(existsSync(other.dataHome)).toBe(false)
  })
})

test("agentdb without its package, or with a relative folder, says what to set", async () => {
  using machine = await worked()
  for (const env of [{}, { CTXBRIDGE_AGENTDB: "node_modules/@claude-flow/memory" }] as Env[]) {
    const { code, stdout, stderr } = await cli(machine, ["sync", "--to", "agentdb:"], env)
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    expect(stderr).toContain("set CTXBRIDGE_AGENTDB to its absolute folder")
  }
  expect(existsSync(`${machine.dataHome}-agentdb.db`)).toBe(false)
})

test("what is no target, or the archive's own folder, is refused", async () => {
  using machine = await worked()
  for (const target of [
    "https://me:sesame@x/y",
    `sqlite:${machine.dataHome}/archive.db`,
    "sqlite:",
    `agentdb:${machine.dataHome}/x`,
  ]) {
    const { code, stdout, stderr } = await cli(machine, ["sync", "--to", target])
    expect({ target, code, stdout }).toEqual({ target, code: 64, stdout: "" })
    expect(stderr).not.toContain("sesame")
  }
})

describe("without a name", () => {
  test("auto falls down the list, says so, and status tells which and why", async () => {
    using folder = tempFolder()
    using machine = await worked()
    const server = { RUVECTOR_HOST: "127.0.0.1", RUVECTOR_PORT: String(freePort()), RUVECTOR_USER: "me" }
    const before = await told(machine, ["status"], server)
    expect(before.backend).toEqual({
      wanted: "auto",
      targets: [
        {
          kind: "postgres",
          target: `postgres://me@127.0.0.1:${server.RUVECTOR_PORT}/me`,
          why: "RUVECTOR_HOST names it",
        },
      ],
      problem: null,
    })
    expect(await cli(machine, ["sync"], server)).toMatchObject({ code: 1, stdout: "" })

    const env: Env = { ...server, CTXBRIDGE_SYNC_TO: `sqlite:${join(folder.path, "x.db")}` }
    expect(await told(machine, ["sync"], env)).toMatchObject({ kind: "sqlite", stored: 1 })
    const { stdout, code, stderr } = await cli(machine, ["status", "--verbose"], env)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout).toMatch(
      /^backend +sqlite:.*x\.db \(CTXBRIDGE_SYNC_TO names it\); at the last sync it answered$/m,
    )
  })

  test.skipIf(agentdb === undefined)(
    "a server that does not answer is passed over for the package",
    async () => {
      using machine = await worked()
      const env: Env = {
        RUVECTOR_HOST: "127.0.0.1",
        RUVECTOR_PORT: String(freePort()),
        RUVECTOR_USER: "me",
        CTXBRIDGE_AGENTDB: agentdb!,
      }
      const { code, stdout, stderr } = await cli(machine, ["sync"], env)
      expect({ code, stdout: stdout.split("\n")[0] }).toEqual({
        code: 0,
        stdout: `Sent 1 turn to agentdb:${machine.dataHome}-agentdb.db`,
      })
      expect(stderr).toMatch(/^warning: postgres:\/\/.*; trying agentdb:.*\n$/)
      const status = await cli(machine, ["status", "--verbose"], env)
      expect(status.stdout).toMatch(
        /^backend +postgres:.*\(RUVECTOR_HOST names it\); at the last sync it did not answer \(target-refused\)$/m,
      )
      expect(status.stdout).toMatch(
        /^backend +else agentdb:.*\(CTXBRIDGE_AGENTDB names it\); at the last sync it answered$/m,
      )
      const search = await cli(machine, ["search", "--everywhere", "pool"], env)
      expect(search.code).toBe(0)
      expect(search.stderr).toMatch(/^warning: postgres:.*\n$/)
    },
  )

  test("CTXBRIDGE_BACKEND asks for one kind, and a bad one is an error", async () => {
    using folder = tempFolder()
    using machine = await worked()
    const there = { CTXBRIDGE_SYNC_TO: folder.path }
    expect(await told(machine, ["sync"], { ...there, CTXBRIDGE_BACKEND: "json" })).toMatchObject({
      kind: "folder",
    })
    for (const CTXBRIDGE_BACKEND of ["sqlite", "oracle"]) {
      const { code, stdout, stderr } = await cli(machine, ["sync"], { ...there, CTXBRIDGE_BACKEND })
      expect({ code, stdout }).toEqual({ code: 64, stdout: "" })
      expect(stderr).toContain("CTXBRIDGE_BACKEND")
    }
    const { backend } = await told(machine, ["status"], { ...there, CTXBRIDGE_BACKEND: "sqlite" })
    expect(backend).toMatchObject({
      wanted: "sqlite",
      targets: [],
      problem: expect.stringContaining("nothing says where"),
    })
  })
})
