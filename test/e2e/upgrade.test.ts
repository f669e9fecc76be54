/** Views that an earlier version made: used as they are, and made anew when there is time. */
import { Database } from "bun:sqlite"
import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test"
import { randomBytes } from "node:crypto"
import { renameSync, rmSync, statSync } from "node:fs"
import { join } from "node:path"
import { MIGRATIONS, PARSER } from "../../src/views/schema.ts"
import { run } from "../support/binary.ts"
import { contextOf, Machine } from "../support/machine.ts"
import { callOf, exchange, initialize, replyTo, textOf } from "../support/mcp.ts"
import { limit } from "../support/slowness.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

const FAILING = {
  tool: "Bash",
  input: { command: "npm test" },
  output: "Exit code 1\nretry is not a function",
  isError: true,
}

/** The background job may be at work. */
function openViews(machine: Machine): Database {
  const db = new Database(join(machine.dataHome, "archive.db"))
  db.run("PRAGMA busy_timeout = 10000")
  return db
}

/** A machine whose views have the shape that the first schema gave them. */
async function upgraded(): Promise<{ machine: Machine; session: Transcript }> {
  const machine = new Machine()
  const session = machine.session()
  session.turn(
    "Add retries. Never touch the generated files.",
    [FAILING],
    "I chose fetch because it is there.",
  )
  session.flush()
  await machine.hook("stop", session, { stop_hook_active: false })
  expect(await run(["sessions"], { env: machine.env, cwd: machine.cwd })).toMatchObject({
    code: 0,
    stderr: "",
  })
  await machine.idle()
  downgrade(join(machine.dataHome, "archive.db"))
  return { machine, session }
}

/** The same rows in a file that the first schema made. */
function downgrade(file: string): void {
  const old = `${file}.old`
  const db = new Database(old, { create: true })
  db.run(MIGRATIONS[0]!)
  db.query("ATTACH ? AS newer").run(file)
  const names = (sql: string, ...values: string[]): string[] =>
    db
      .query<{ name: string }, string[]>(sql)
      .all(...values)
      .map(({ name }) => name)
  for (const table of names("SELECT name FROM main.sqlite_schema WHERE type = 'table'")) {
    const columns = names("SELECT name FROM pragma_table_info(?, 'main')", table).join(", ")
    db.run(`INSERT INTO main.${table} (${columns}) SELECT ${columns} FROM newer.${table}`)
  }
  const mark = db.query<{ application_id: number }, []>("PRAGMA newer.application_id").get()!
  db.run(`PRAGMA main.application_id = ${mark.application_id}`)
  db.run("PRAGMA main.user_version = 1")
  db.close()
  for (const suffix of ["-wal", "-shm"]) rmSync(file + suffix, { force: true })
  renameSync(old, file)
}

const origins = (machine: Machine): string[] => {
  const db = openViews(machine)
  try {
    const rows = db
      .query<{ origin: string }, []>("SELECT DISTINCT origin FROM messages ORDER BY origin")
      .all()
    return rows.map(({ origin }) => origin)
  } finally {
    db.close()
  }
}

const parser = (machine: Machine): number | undefined => {
  const db = openViews(machine)
  try {
    return db.query<{ version: number }, []>("SELECT version FROM parser").get()?.version
  } finally {
    db.close()
  }
}

test("a hook works with them, and says what it said before", async () => {
  const { machine, session } = await upgraded()
  using _machine = machine
  const ran = await machine.hook("session-start", session, { source: "compact" })
  expect(ran).toMatchObject({ code: 0, stderr: "" })
  const context = contextOf(ran)
  expect(context).toContain('- "Never touch the generated files." (ctx:')
  expect(context).toContain('- "I chose fetch because it is there." (ctx:')
  expect(context).toContain('- last failing: `npm test` → "Exit code 1 retry is not a function"')
  expect(origins(machine)).toEqual([""])
  expect(parser(machine)).toBeUndefined()
})

test("a command makes them anew, once, and does not call it a repair", async () => {
  const { machine } = await upgraded()
  using _machine = machine
  for (let n = 0; n < 2; n++) {
    const ran = await run(["sessions", "--json"], { env: machine.env, cwd: machine.cwd })
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    expect(origins(machine)).toEqual(["assistant", "human", "tool"])
    expect(parser(machine)).toBe(PARSER)
  }
  const status = await run(["status", "--verbose"], { env: machine.env, cwd: machine.cwd })
  expect(status.stdout).not.toContain("last repair")
})

test("the background job does, too", async () => {
  const { machine, session } = await upgraded()
  using _machine = machine
  await machine.hook("session-end", session, { reason: "other" })
  await machine.idle()
  expect(parser(machine)).toBe(PARSER)
  expect(origins(machine)).toEqual(["assistant", "human", "tool"])
})

test("while another has them open, a command reads what there is", async () => {
  const { machine } = await upgraded()
  using _machine = machine
  // A stranger to our lock, in the middle of reading.
  const other = openViews(machine)
  other.run("PRAGMA journal_mode = WAL")
  const reading = other.prepare("SELECT id FROM sessions").iterate()
  reading.next()
  const ran = await run(["sessions", "--json"], { env: machine.env, cwd: machine.cwd })
  expect(ran).toMatchObject({ code: 0, stderr: "" })
  expect(ran.stdout).toContain("Add retries")
  const status = await run(["status", "--verbose"], { env: machine.env, cwd: machine.cwd })
  expect(status).toMatchObject({ code: 0, stderr: "" })
  expect(status.stdout).toMatch(
    /word index +\d+ of \d+ messages, indexed by an earlier version; they are being reindexed /,
  )
  reading.return?.()
  other.close()
})

describe("more than a command may wait for, where no hook is ever called", () => {
  let machine: Machine

  beforeAll(async () => {
    machine = new Machine()
    const session = machine.session()
    const noise = (): string => randomBytes(60_000).toString("base64")
    for (let n = 0; n < 16; n++)
      session.turn(`Where is the walrus, ${n}?`, [
        ...Array.from({ length: 10 }, () => ({
          tool: "Bash",
          input: { command: "cat noise" },
          output: noise(),
        })),
      ])
    const imported = await run(["import", session.flush().path], { env: machine.env, cwd: machine.cwd })
    expect(imported).toMatchObject({ code: 0, stderr: "" })
    await machine.idle()
    expect(statSync(machine.copy(session.path)).size).toBeGreaterThan(8 << 20)
  })

  afterAll(() => machine[Symbol.dispose]())

  beforeEach(() => {
    const db = openViews(machine)
    db.run("UPDATE parser SET version = version - 1")
    db.close()
    expect(parser(machine)).toBe(PARSER - 1)
  })

  const renewed = async (): Promise<void> => {
    await machine.idle()
    expect(parser(machine)).toBe(PARSER)
  }

  test.each(["sessions", "search walrus", "status"])(
    "%s reads what there is, and starts the background job",
    async (words) => {
      const ran = await run(words.split(" "), { env: machine.env, cwd: machine.cwd })
      expect(ran).toMatchObject({ code: 0, stderr: "" })
      expect(ran.stdout).not.toBe("")
      await renewed()
    },
  )

  test("so does the server", async () => {
    const lines = [initialize(), callOf(1, "search", { query: "walrus" })]
    const { code, stderr, replies } = await exchange(lines, { env: machine.env, cwd: machine.cwd })
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(textOf(replyTo(replies, 1))).toContain("Where is the walrus")
    await renewed()
  })
})
