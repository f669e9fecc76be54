/** A line or a server that freezes, and tells nobody: each call ends in its time, and the process with it. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { connect, createServer, type Socket } from "node:net"
import { join } from "node:path"
import { serverAddress } from "../../src/sync/targets/postgres-address.ts"
import { openPostgresTarget } from "../../src/sync/targets/postgres-target.ts"
import { run } from "../support/binary.ts"
import { closing } from "../support/closing.ts"
import { Machine } from "../support/machine.ts"
import { Peer } from "../support/mcp.ts"
import { NO_VARIABLES, postgresVersions, startPostgres, type TestServer } from "../support/postgres.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

/** ms for a call. */
const DEADLINE = limit(1000)
const ROOT = join(import.meta.dir, "../..")

/** Passes on what is said, until a client says this; from then on it neither reads nor writes nor ends, on any line. */
class Freezer implements AsyncDisposable {
  readonly #ends: Socket[] = []
  readonly #server
  isFrozen = false

  private constructor(port: number, word: string | undefined) {
    this.isFrozen = word === undefined
    this.#server = createServer((client) => {
      this.#ends.push(client)
      client.on("error", () => {})
      if (this.isFrozen) return void client.pause()
      const server = connect(port, "127.0.0.1")
      this.#ends.push(server)
      server.on("error", () => {})
      client.on("data", (bytes) => {
        if (word !== undefined && bytes.includes(word)) this.isFrozen = true
        if (this.isFrozen) for (const end of this.#ends) end.pause()
        else server.write(bytes)
      })
      server.on("data", (bytes) => {
        if (!this.isFrozen) client.write(bytes)
      })
      // What it closes is half open for the other side.
      client.on("close", () => this.isFrozen || server.destroy())
      server.on("close", () => this.isFrozen || client.destroy())
    })
  }

  /** @param word undefined: it is frozen from the beginning */
  static async before(port: number, word: string | undefined): Promise<Freezer> {
    const made = new Freezer(port, word)
    await new Promise<void>((resolve) => void made.#server.listen(0, "127.0.0.1", resolve))
    return made
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const end of this.#ends) end.destroy()
    this.#server.close()
  }
}

/** What a program of its own says of its calls, and ms from there to its end. */
async function lives(address: string, calls: string): Promise<{ told: string; after: number; code: number }> {
  const script = `
    import { serverAddress } from "./src/sync/targets/postgres-address.ts"
    import { openPostgresTarget } from "./src/sync/targets/postgres-target.ts"
    import { NO_VARIABLES } from "./test/support/postgres.ts"
    import { draft, piece } from "./test/unit/sync/contract.ts"
    let told = "done"
    try {
      const target = await openPostgresTarget(serverAddress("${address}", NO_VARIABLES), ${DEADLINE}, false, "one")
      try {
        ${calls}
      } catch (error) {
        told = error.code
      }
      await target.close()
    } catch (error) {
      told = error.code
    }
    const start = performance.now()
    process.on("exit", () => console.log(told, performance.now() - start))`
  await using child = Bun.spawn([process.execPath, "-e", script], {
    cwd: ROOT,
    stdout: "pipe",
    stderr: "inherit",
  })
  const [told, after] = (await new Response(child.stdout).text()).split(" ")
  return { told: told!, after: Number(after), code: await child.exited }
}

const newest = postgresVersions().at(-1)

describe.skipIf(newest === undefined)("a server behind a line that freezes", () => {
  let server: TestServer
  let port: number
  const addressOf = (freezer: Freezer): string => server.address.replace(`:${port}`, `:${freezer.port}`)
  beforeAll(async () => {
    server = await startPostgres(newest![1])
    port = Number(new URL(server.address).port)
    expect(await lives(server.address, "await target.put([draft({})])")).toMatchObject({
      told: "done",
      code: 0,
    })
  })
  afterAll(async () => server?.[Symbol.asyncDispose]())

  test.concurrent.each([
    ["at connect", undefined, ""],
    ["while it logs in", "application_name", ""],
    ["in a query", "find_by_words", `await target.find({ words: "x", limit: 1 })`],
    ["in a transaction", "INSERT INTO ctxbridge.entries", "await target.put([draft({})])"],
    [
      "while much is sent",
      "INSERT INTO ctxbridge.entries",
      `await target.put([draft({ content: "x y ".repeat(4e6) })])`,
    ],
    ["while frames are sent", "INSERT INTO ctxbridge.frames", `await target.frames.put([piece("one\\n")])`],
    ["in what may take as long as it takes", "mend_entries", "await target.mend()"],
    ["when it says good-bye", "X\0\0\0\x04", ""],
  ] as const)("%s", async (_, word, calls) => {
    await using freezer = await Freezer.before(port, word)
    const { told, after, code } = await lives(addressOf(freezer), calls)
    const wanted = word?.startsWith("X") ? "done" : "target-silent"
    expect({ told, code, isFrozen: freezer.isFrozen }).toEqual({ told: wanted, code: 0, isFrozen: true })
    // Nothing is left that would keep it.
    expect(after).toBeLessThan(limit(1000))
  })

  test("a long piece of work goes on as long as the server has it", async () => {
    await server.run(
      `CREATE FUNCTION ctxbridge.long() RETURNS integer LANGUAGE sql AS 'SELECT pg_sleep(13); SELECT 0'`,
    )
    await using target = await closing(
      openPostgresTarget(serverAddress(server.address, NO_VARIABLES), DEADLINE),
    )
    await server.run(
      `CREATE OR REPLACE FUNCTION ctxbridge.mend_entries() RETURNS integer LANGUAGE sql AS 'SELECT ctxbridge.long()'`,
    )
    expect(await target.mend()).toBe(0)
  })

  test.concurrent("sync, a search everywhere, and the server for agents", async () => {
    using machine = new Machine()
    await machine.hook("stop", machine.session().turn("The pool leaks").flush())
    const ran = async (word: string | undefined, args: readonly string[]) => {
      await using freezer = await Freezer.before(port, word)
      const env = { ...machine.env, CTXBRIDGE_SYNC_TO: addressOf(freezer) }
      return await run(args, { env, cwd: machine.cwd })
    }
    const sync = await ran(undefined, ["sync"])
    expect(sync).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("not answer") })
    const search = await ran("find_by_words", ["search", "--everywhere", "pool"])
    expect(search).toMatchObject({ code: 0, stdout: expect.stringContaining("The pool leaks") })
    expect(search.stderr).toMatch(/^warning: .*no answer within .*\n$/)
    expect(search.ms).toBeLessThan(limit(6000))
    await using freezer = await Freezer.before(port, "find_by_words")
    const peer = await Peer.connect(machine.cwd, { ...machine.env, CTXBRIDGE_SYNC_TO: addressOf(freezer) })
    const pid = peer.transport.pid!
    const { text } = await peer.call("search", { query: "pool", everywhere: true })
    expect(text).toContain("no answer within")
    const start = performance.now()
    await peer[Symbol.asyncDispose]()
    expect(performance.now() - start).toBeLessThan(limit(1500))
    expect(() => process.kill(pid, 0)).toThrow("ESRCH")
  })
})
