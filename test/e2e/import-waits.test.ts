/** `import` beside others: it waits until they are done, or says what is in its way. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { closeSync, openSync, readFileSync } from "node:fs"
import { tryLock } from "../../src/base/libc.ts"
import { open } from "../../src/views/open.ts"
import { type Ran, run } from "../support/binary.ts"
import { contentOf, Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

interface Event {
  readonly event: string
  readonly ok?: boolean
  readonly indexError?: string
  readonly files?: readonly { readonly error?: string }[]
}

/** A running import, and each of its events as it comes. */
function importing(machine: Machine, ...options: string[]) {
  const child = Bun.spawn(
    [process.env["CTXBRIDGE_TEST_BIN"] ?? "dist/ctxbridge", "import", "--json", ...options],
    {
      cwd: `${import.meta.dir}/../..`,
      env: { ...machine.env },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    },
  )
  const events: Event[] = []
  const waiting = Promise.withResolvers<void>()
  const read = (async () => {
    let text = ""
    for await (const bytes of child.stdout) {
      text += Buffer.from(bytes).toString()
      const lines = text.split("\n")
      text = lines.pop()!
      for (const line of lines) {
        events.push(JSON.parse(line) as Event)
        if (events.at(-1)!.event === "waiting") waiting.resolve()
      }
    }
    waiting.resolve()
  })()
  return {
    /** Resolves when it says that it waits, or has ended. */
    waiting: waiting.promise,
    async ended() {
      await read
      return { code: await child.exited, stderr: await new Response(child.stderr).text(), events }
    },
  }
}

/** Keeps something, until it is closed. */
type Hold = (machine: Machine, copy: string) => Disposable

const HOLDS: Readonly<Record<string, Hold>> = {
  "writes to the database"(machine) {
    const db = open(machine.dataHome, "write")
    db.run("BEGIN IMMEDIATE")
    return { [Symbol.dispose]: () => db.close() }
  },
  "holds a copy": (_, copy) => locked(copy),
  "replaces the database": (machine) => locked(`${machine.dataHome}/archive.lock`),
}

function locked(file: string): Disposable {
  const fd = openSync(file, "r+")
  if (!tryLock(fd)) throw new Error(`${file} is locked already`)
  return { [Symbol.dispose]: () => closeSync(fd) }
}

async function behind(): Promise<{ machine: Machine; path: string }> {
  const machine = new Machine()
  const session = machine.session().turn("Archived before.").flush()
  const options = { env: machine.env, cwd: machine.cwd }
  expect(await run(["import"], options)).toMatchObject({ code: 0 })
  session.turn("Written since.").flush()
  return { machine, path: session.path }
}

for (const [what, hold] of Object.entries(HOLDS)) {
  test(`while somebody ${what}, it waits, says so, and then does its work`, async () => {
    const { machine, path } = await behind()
    using _ = machine
    const held = hold(machine, machine.copy(path))
    const running = importing(machine)
    await running.waiting
    held[Symbol.dispose]()
    const { code, stderr, events } = await running.ended()
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(events.map(({ event }) => event)).toContain("waiting")
    expect(events.at(-1)).toMatchObject({ event: "done", ok: true })
    expect(contentOf(machine.copy(path)).equals(readFileSync(path))).toBe(true)
    const found: Ran = await run(["search", "since"], { env: machine.env, cwd: machine.cwd })
    expect(found.stdout).toContain("Written since.")
  })

  test(`while somebody ${what}, --no-wait says what is in the way`, async () => {
    const { machine, path } = await behind()
    using _ = machine
    using _held = hold(machine, machine.copy(path))
    const { code, stderr, events } = await importing(machine, "--no-wait").ended()
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" })
    expect(events.map(({ event }) => event)).not.toContain("waiting")
    const { ok, indexError, files } = events.at(-1)!
    expect(ok).toBe(false)
    expect(indexError ?? files![0]!.error).toMatch(/locked|another process holds the copy|being replaced/)
  })
}
