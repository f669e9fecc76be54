/** `install` and `uninstall` of the MCP server, in the file that Claude Code itself keeps writing. */
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, mkdirSync, readFileSync, rmdirSync, utimesSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { binary, run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

/** As Claude Code writes it, with what is nobody else's business. */
const STATE = `${JSON.stringify({ numStartups: 9, projects: { "/p": { mcpServers: {} } }, oauth: "s3cret" }, null, 2)}`

let machine: Machine
let state: string

beforeEach(() => {
  machine = new Machine()
  state = join(machine.home, ".claude.json")
})

afterEach(() => machine[Symbol.dispose]())

const call = async (...args: string[]) => run(args, { cwd: machine.cwd, env: machine.env })
const read = (path: string) => readFileSync(path, "utf8")
const server = (path: string) => JSON.parse(read(path))["mcpServers"]?.["ctxbridge"]

describe("the MCP server", () => {
  test("is registered beside what the host has written, and goes without a trace", async () => {
    writeFileSync(state, STATE)
    const { code, stdout, stderr } = await call("install")
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout).toContain(`MCP server registered in ${state}`)
    expect(server(state)).toMatchObject({ type: "stdio", command: binary(), args: ["mcp"] })
    const { mcpServers: _ours, ...rest } = JSON.parse(read(state))
    expect(rest).toEqual(JSON.parse(STATE))
    expect(existsSync(`${state}.lock`)).toBe(false)

    expect((await call("install")).stdout).toContain(`MCP server already registered: ${state}`)
    expect((await call("uninstall")).stdout).toContain(state)
    expect(read(state)).toBe(STATE)
  })

  test("the plugin's own has the tools until it is there, and none beside it", async () => {
    const tools = async (): Promise<number> => {
      const stdin = `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" })}\n`
      const { code, stdout, stderr } = await run(["mcp", "--plugin"], {
        cwd: machine.cwd,
        env: machine.env,
        stdin,
      })
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      return JSON.parse(stdout).result.tools.length
    }
    expect(await tools()).toBeGreaterThan(0)
    await call("install")
    expect(await tools()).toBe(0)
    await call("uninstall")
    expect(await tools()).toBeGreaterThan(0)
  })

  test("goes alone when the host has written since", async () => {
    writeFileSync(state, STATE)
    await call("install")
    const written = { ...JSON.parse(read(state)), numStartups: 10 }
    writeFileSync(state, JSON.stringify(written, null, 2))
    expect((await call("uninstall")).code).toBe(0)
    expect(read(state)).toBe(STATE.replace("9", "10"))
  })

  test("a file that was not there is not there afterwards", async () => {
    await call("install")
    expect(server(state)).toBeDefined()
    await call("uninstall")
    expect(existsSync(state)).toBe(false)
  })

  test("--dry-run writes nothing and tells nothing of what is the host's", async () => {
    writeFileSync(state, STATE)
    for (const args of [
      ["install", "--dry-run"],
      ["install", "--dry-run", "--json"],
    ]) {
      const { code, stdout } = await call(...args)
      expect(code).toBe(0)
      expect(stdout).toContain(state)
      expect(stdout).not.toContain("s3cret")
    }
    expect(read(state)).toBe(STATE)
    expect(existsSync(join(machine.home, ".claude", "settings.json"))).toBe(false)
  })

  test("--no-mcp leaves it out", async () => {
    writeFileSync(state, STATE)
    expect((await call("install", "--no-mcp")).code).toBe(0)
    expect(read(state)).toBe(STATE)
    await call("install")
    expect((await call("uninstall", "--no-mcp")).code).toBe(0)
    expect(server(state)).toBeDefined()
  })

  test("each scope and configuration folder has its file", async () => {
    await call("install", "--scope", "project")
    expect(server(join(machine.cwd, ".mcp.json"))).toBeDefined()
    await call("uninstall", "--scope", "project")
    expect(existsSync(join(machine.cwd, ".mcp.json"))).toBe(false)
    const { stdout } = await call("install", "--scope", "local", "--json")
    expect(JSON.parse(stdout)).toMatchObject({ changed: true, mcp: null })

    const configDir = join(machine.root, "config")
    mkdirSync(configDir)
    await run(["install"], { cwd: machine.cwd, env: { ...machine.env, CLAUDE_CONFIG_DIR: configDir } })
    expect(server(join(configDir, ".claude.json"))).toBeDefined()
    expect(existsSync(state)).toBe(false)
  })

  test("somebody else's server of our name stays, and nothing is installed half", async () => {
    const taken = '{"mcpServers":{"ctxbridge":{"command":"/bin/other"}}}'
    writeFileSync(state, taken)
    const { code, stderr } = await call("install")
    expect(code).toBe(1)
    expect(stderr).toContain("mcpServers.ctxbridge is another server\nhint: ")
    expect(read(state)).toBe(taken)
    expect(existsSync(join(machine.home, ".claude", "settings.json"))).toBe(false)
  })

  test("waits for the host's lock, and not for one that was left behind", async () => {
    writeFileSync(state, STATE)
    const lock = `${state}.lock`
    mkdirSync(lock)
    const installing = call("install")
    // Whoever holds the lock writes; what it wrote must be there afterwards.
    writeFileSync(state, STATE.replace("9", "10"))
    rmdirSync(lock)
    expect((await installing).code).toBe(0)
    expect(JSON.parse(read(state))["numStartups"]).toBe(10)
    expect(server(state)).toBeDefined()

    mkdirSync(lock)
    utimesSync(lock, new Date(0), new Date(0))
    expect((await call("uninstall")).code).toBe(0)
    expect(server(state)).toBeUndefined()
    expect(existsSync(lock)).toBe(false)
  })

  test("neither loses what the other writes while both are at it", async () => {
    writeFileSync(state, STATE)
    let written = 0
    /** As Claude Code does: the lock, the file read again, the lock given back. */
    const write = (): void => {
      try {
        mkdirSync(`${state}.lock`)
      } catch {
        return
      }
      const now = JSON.parse(read(state))
      writeFileSync(state, JSON.stringify({ ...now, numStartups: now.numStartups + 1 }, null, 2))
      rmdirSync(`${state}.lock`)
      written++
    }
    for (const command of ["install", "uninstall", "install"]) {
      let running = true
      const called = call(command).finally(() => {
        running = false
      })
      while (running) {
        write()
        await new Promise((resolve) => setImmediate(resolve))
      }
      const { code, stderr } = await called
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    }
    const { mcpServers, ...rest } = JSON.parse(read(state))
    expect(rest).toEqual({ ...JSON.parse(STATE), numStartups: 9 + written })
    expect(Object.keys(mcpServers)).toEqual(["ctxbridge"])
  })
})
