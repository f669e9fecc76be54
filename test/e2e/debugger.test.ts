/** Variables by which Bun would open a port or wait for a debugger: our commands and children do not see them. */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { findings } from "../support/doctor.ts"
import { contentOf, Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import { tempFolder } from "../support/temp.ts"

setDefaultTimeout(limit(120_000))

const settingsOf = (machine: Machine): string => join(machine.home, ".claude", "settings.json")
const cli = (machine: Machine, ...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })

/** What Claude Code runs for an event. */
function commandFor(machine: Machine, event: string): string {
  const { hooks } = JSON.parse(readFileSync(settingsOf(machine), "utf8"))
  return hooks[event][0].hooks[0].command
}

/** The commands as versions before this one registered them. */
function age(machine: Machine): void {
  const text = readFileSync(settingsOf(machine), "utf8")
  expect(text).toContain("BUN_INSPECT= BUN_INSPECT_CONNECT_TO= ")
  writeFileSync(settingsOf(machine), text.replaceAll("BUN_INSPECT= BUN_INSPECT_CONNECT_TO= ", ""))
}

describe("what Bun would take for a debugger", () => {
  /** A debugger that never answers. */
  const listening = (options: { unix: string } | { hostname: string; port: number }) => {
    const calls: string[] = []
    const socket = { open: () => void calls.push("open"), data: () => {} }
    return { calls, server: Bun.listen({ ...options, socket } as Parameters<typeof Bun.listen>[0]) }
  }

  /**
   * A session's end as Claude Code announces it; the background job that it starts waits for Claude Code's last lines.
   */
  async function expectUndisturbed(variables: Record<string, string>): Promise<void> {
    using machine = new Machine()
    expect((await cli(machine, "install")).code).toBe(0)
    const transcript = machine.session().turn("question").flush()
    const child = Bun.spawn(["/bin/sh", "-c", commandFor(machine, "SessionEnd")], {
      cwd: machine.cwd,
      env: { PATH: process.env["PATH"] ?? "", ...machine.env, ...variables },
      stdin: Buffer.from(machine.payload("session-end", transcript, { reason: "other" })),
      stdout: "pipe",
      stderr: "pipe",
    })
    const said = [await new Response(child.stdout).text(), await new Response(child.stderr).text()]
    expect([await child.exited, ...said]).toEqual([0, "", ""])
    expect(contentOf(machine.copy(transcript.path)).equals(readFileSync(transcript.path))).toBe(true)
    // The job has the request done.
    await machine.idle()
    expect(readdirSync(join(machine.dataHome, "requests"))).toEqual([])
  }

  test("neither holds up a hook nor its background job, nor is it called", async () => {
    using folder = tempFolder()
    const tcp = listening({ hostname: "127.0.0.1", port: 0 })
    const unix = listening({ unix: join(folder.path, "debugger") })
    const { port } = tcp.server as unknown as { port: number }
    const socket = `unix://${join(folder.path, "debugger")}`
    // At once, because each has to wait until its job has ended.
    await Promise.all(
      [
        { BUN_INSPECT: "127.0.0.1:0/x?wait=1" },
        { BUN_INSPECT: "127.0.0.1:0/x?break=1" },
        { BUN_INSPECT: `127.0.0.1:${port}/x` },
        { BUN_INSPECT: "127.0.0.1:0/x", BUN_INSPECT_NOTIFY: socket },
        { BUN_INSPECT_CONNECT_TO: socket },
      ].map((variables) => expectUndisturbed(variables as Record<string, string>)),
    )
    expect([...tcp.calls, ...unix.calls]).toEqual([])
    tcp.server.stop(true)
    unix.server.stop(true)
  })
})

describe("hooks that an earlier version registered", () => {
  test("are named, and renewed by install and by doctor", async () => {
    using machine = new Machine()
    for (const renew of [["install"], ["doctor", "--fix"]]) {
      expect((await cli(machine, "install")).code).toBe(0)
      const now = readFileSync(settingsOf(machine), "utf8")
      age(machine)
      expect(await findings(machine, "hooks")).toMatchObject([
        {
          state: "warn",
          text: expect.stringContaining("does not clear BUN_OPTIONS, BUN_BE_BUN, BUN_INSPECT"),
        },
      ])
      await cli(machine, ...renew)
      expect(readFileSync(settingsOf(machine), "utf8")).toBe(now)
      expect(await findings(machine, "hooks")).toMatchObject([{ state: "ok" }])
    }
  })

  test("are removed by uninstall", async () => {
    using machine = new Machine()
    expect((await cli(machine, "install")).code).toBe(0)
    age(machine)
    expect((await cli(machine, "uninstall")).code).toBe(0)
    // The file had nothing else in it.
    expect(existsSync(settingsOf(machine))).toBe(false)
  })
})
