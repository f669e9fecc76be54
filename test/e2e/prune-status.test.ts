/** `prune status`, `prune recommend` and what `doctor` says of pruning, on the compiled file. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { packagedClient, scriptClient } from "../support/clients-here.ts"
import { findings } from "../support/doctor.ts"
import { Machine } from "../support/machine.ts"
import { pausedSession } from "../support/paused-session.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

async function told(machine: Machine, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(["prune", ...args], { env: machine.env, cwd: machine.cwd })
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  return stdout
}

// biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of it
const json = async (machine: Machine, ...args: string[]): Promise<any> =>
  JSON.parse(await told(machine, ...args, "--json"))

const install = (machine: Machine) => run(["install", "--no-import"], { env: machine.env, cwd: machine.cwd })

test("programs with their kinds and versions, the one that is called by name first", async () => {
  using machine = new Machine()
  const own = scriptClient(machine, "2.1.330")
  const called = packagedClient(machine, "2.0.76")
  const { clients, isArchiving, ways } = await json(machine, "status")
  expect(isArchiving).toBe(false)
  expect(clients.map(({ path, kind, version }: Record<string, string>) => [path, kind, version])).toEqual([
    [called, "npm", "2.0.76"],
    [own, "script", "2.1.330"],
  ])
  const names = ["native", "plugin", "proxy", "patch"]
  expect(ways.map(({ name }: { name: string }) => name)).toEqual(names)
  for (const client of clients) expect(client.ways.map(({ way }: { way: string }) => way)).toEqual(names)
  const unsupported = clients.map((client: { ways: { way: string; unsupported?: string }[] }) =>
    client.ways.flatMap(({ way, unsupported: why }) => (why === undefined ? [] : [way])),
  )
  expect(unsupported[0]).toContain("native")
  expect(unsupported[0]).toContain("plugin")
  expect(unsupported[1]).not.toContain("native")
})

test("people read the same", async () => {
  using machine = new Machine()
  packagedClient(machine, "2.1.112")
  const text = await told(machine)
  expect(text).toContain("Claude Code 2.1.112 (npm)")
  expect(text).toMatch(/^ {2}native {2}off$/m)
  expect(text).toContain("Run `ctxbridge install` first")
  await install(machine)
  await told(machine, "native")
  expect(await told(machine, "status")).toMatch(/^ {2}native {2}on: set in the user settings$/m)
})

/** A session of twelve turns on the machine's disk, archived. */
async function archived(machine: Machine, pause: number): Promise<void> {
  pausedSession(machine.session(), { turns: 12, pause }).flush()
  const { code, stderr } = await run(["import", "--quiet"], { env: machine.env, cwd: machine.cwd })
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
}

test("what would have paid in one's own sessions is recommended, with the reason why no safer way is", async () => {
  using machine = new Machine()
  packagedClient(machine, "2.1.112")
  await install(machine)
  await archived(machine, 10)
  const { clients, verdicts } = await json(machine, "recommend")
  const proxy = verdicts.find(({ way }: { way: string }) => way === "proxy")
  expect(proxy).toMatchObject({ pays: true, cheaper: 1, dearer: 0 })
  expect(proxy.median).toBeLessThan(0.8)
  expect(clients).toEqual([
    expect.objectContaining({
      recommended: {
        way: "proxy",
        isActive: false,
        passed: [
          { way: "native", why: "it would not have paid" },
          { way: "plugin", why: expect.stringContaining("2.1.329") },
        ],
      },
      command: "ctxbridge proxy -- claude",
    }),
  ])
  const text = await told(machine, "recommend")
  expect(text).toContain("1 of 1 session would have been cheaper")
  expect(text).toMatch(/Start it with `ctxbridge /)
  expect(await told(machine, "status")).toContain("Would have paid: proxy.")
})

test("doing nothing is recommended where no way would have paid, or nobody can tell", async () => {
  using machine = new Machine()
  packagedClient(machine, "2.1.112")
  await install(machine)
  expect((await json(machine, "recommend")).clients[0]).toMatchObject({ recommended: null, command: null })
  expect(await told(machine, "recommend")).toContain(
    "Whether any way would pay cannot be told, so do nothing.",
  )
  await archived(machine, 1)
  const { clients, verdicts } = await json(machine, "recommend")
  expect(verdicts.map(({ pays }: { pays: boolean }) => pays)).toEqual([false, false, false, false])
  expect(clients[0]).toMatchObject({ recommended: null, command: null })
  const text = await told(machine, "recommend")
  expect(text).toContain(
    "Do nothing: no way that works here made the median session cheaper and none dearer.",
  )
  expect(text).toContain("What would change that: ")
  expect(await told(machine)).toContain("Doing nothing is best")
})

test("without a program there is nothing to recommend", async () => {
  using machine = new Machine()
  machine.env["PATH"] = "/usr/bin:/bin"
  const { code, stdout, stderr } = await run(["prune", "recommend"], { env: machine.env, cwd: machine.cwd })
  expect({ code, stdout }).toEqual({ code: 3, stdout: "" })
  expect(stderr).toContain("Claude Code was not found")
  expect(await told(machine, "status")).toContain("Claude Code was not found")
})

test("doctor knows what is on, and what cannot work", async () => {
  using machine = new Machine()
  packagedClient(machine, "2.1.112")
  const states = async () => (await findings(machine, "prune")).map(({ state, text }) => `${state}: ${text}`)
  expect(await states()).toEqual(["ok: nothing is pruned; ctxbridge prune status"])
  await install(machine)
  await told(machine, "native")
  expect(await states()).toEqual(["ok: native is on: set in the user settings"])

  mkdirSync(join(machine.cwd, ".claude"), { recursive: true })
  const local = join(machine.cwd, ".claude", "settings.local.json")
  writeFileSync(local, '{"env":{"CLAUDE_CODE_EXTRA_BODY":"{}"}}')
  expect(await states()).toEqual([
    "warn: native is not working: set in the user settings, but the local settings set CLAUDE_CODE_EXTRA_BODY to something else, and come first",
  ])
  writeFileSync(local, '{"env":{"CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS":"1"}}')
  expect(await states()).toEqual([
    expect.stringMatching(/^fail: native is on, but cannot work: CLAUDE_CODE_DISABLE/),
  ])
  writeFileSync(local, "{}")

  // Somebody takes the hooks out by hand.
  const { env } = JSON.parse(await Bun.file(join(machine.home, ".claude/settings.json")).text())
  writeFileSync(join(machine.home, ".claude/settings.json"), JSON.stringify({ env }))
  expect(await states()).toEqual([
    "ok: native is on: set in the user settings",
    "warn: old text is pruned, but nothing is archived: the hooks are not registered",
  ])
})

test("what is the same for several programs is told once", async () => {
  using machine = new Machine()
  const paths = [packagedClient(machine, "2.1.112"), scriptClient(machine, "2.1.330")]
  await install(machine)
  await told(machine, "native")
  const [found, ...others] = await findings(machine, "prune")
  expect(others).toEqual([])
  expect(found!.details).toEqual([`Claude Code 2.1.112, ${paths[0]}`, `Claude Code 2.1.330, ${paths[1]}`])
})

test("what an older program beside it would do with the setting is a failure", async () => {
  using machine = new Machine()
  packagedClient(machine, "2.1.112")
  scriptClient(machine, "2.0.76")
  await install(machine)
  await told(machine, "native")
  const found = await findings(machine, "prune")
  expect(found.map(({ state }) => state)).toEqual(["ok", "fail"])
  expect(found[1]!.text).toContain("2.0.76 does not ask for the API's beta")
})
