/** What a session is given after `/clear`. */
import { Database } from "bun:sqlite"
import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import { frameProblems } from "../../support/frame.ts"
import { Inside, run } from "../../support/inside.ts"
import { contextOf, type Machine } from "../../support/machine.ts"
import type { Transcript } from "../../support/transcript.ts"

const COMMAND =
  "<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>"

/** `/clear` in a session; the host writes the command into the next one. */
async function clear(machine: Machine, former: Transcript): Promise<{ next: Transcript; given: string }> {
  await machine.hook("session-end", former, { reason: "clear" })
  const next = machine.session()
  const given = contextOf(await machine.hook("session-start", next, { source: "clear" })) ?? ""
  next.user(COMMAND).flush()
  return { next, given }
}

/** After a second `/clear`, with nothing said since the first, nothing was given back: the session it ended was empty. */
describe("clears in a row", () => {
  test("each is given the same, until something is said", async () => {
    using machine = new Inside()
    const first = machine.session().turn("Never touch the grammar file.").flush()
    await machine.hook("stop", first)
    const once = await clear(machine, first)
    expect(once.given).toContain("Never touch the grammar file.")
    const twice = await clear(machine, once.next)
    expect(twice.given).toBe(once.given)
    const thrice = await clear(machine, twice.next)
    expect(thrice.given).toBe(once.given)
    thrice.next.turn("Always run the linter.").flush()
    const { given } = await clear(machine, thrice.next)
    expect(given).toContain("Always run the linter.")
    // What was ruled out before stays so; the conversation is over.
    expect(given.match(/grammar file/g)).toHaveLength(1)
    using views = machine.views()
    expect(views.query("SELECT count(*) FROM lineage WHERE kind = 'clear'").values()).toEqual([[4]])
  })
})

test.each(["clear", "startup"])(
  "no core for the hook: after /clear, reported as %s, it is given all the same",
  async (source) => {
    using machine = new Inside()
    const former = machine.session().turn("Never touch the grammar file.").flush()
    await machine.hook("stop", former)
    await machine.hook("session-end", former, { reason: "clear" })
    machine.isStarved = true
    const given = contextOf(await machine.hook("session-start", machine.session(), { source }))
    expect(given).toContain("Never touch the grammar file.")
  },
)

test("no core for the hook: a new session goes without its pointer", async () => {
  using machine = new Inside()
  const env = { CTXBRIDGE_RESTORE_STARTUP: "true" }
  await machine.hook("stop", machine.session().turn("Paint the door.").flush())
  machine.isStarved = true
  const silent = await machine.hook("session-start", machine.session(), { source: "startup" }, { env })
  expect(silent).toMatchObject({ code: 0, stdout: "", stderr: "" })
  machine.isStarved = false
  const given = await machine.hook("session-start", machine.session(), { source: "startup" }, { env })
  expect(contextOf(given)).toContain("Paint the door.")
})

test("a constraint survives a compaction in the cleared session, and a second clear", async () => {
  using machine = new Inside()
  const rule = "Never touch the generated files."
  const work = async (session: Transcript, prompt: string): Promise<void> => {
    await machine.hook("stop", session.turn(prompt).flush())
  }
  const compact = async (session: Transcript): Promise<string> =>
    contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
  const first = machine.session()
  await work(first, `Add a door. ${rule}`)
  const once = await clear(machine, first)
  expect(once.given).toContain(rule)
  await work(once.next, "Paint the door.")
  const compacted = await compact(once.next)
  expect(compacted).toContain("Paint the door.")
  expect(compacted).toContain(`## Standing user constraints\n- "${rule}"`)
  // Only the constraint: the cleared conversation itself is over.
  expect(compacted).not.toContain("Add a door.")

  await work(once.next, "Add a bell.")
  const twice = await clear(machine, once.next)
  expect(twice.given).toContain(rule)
  await work(twice.next, "Always oil the hinge.")
  expect(await compact(twice.next)).toMatch(
    /- "Always oil the hinge\."[^\n]*\n- "Never touch the generated files\."/,
  )
})

test("restore.clear says how much is given: a restore, where the session was left, or nothing", async () => {
  const clears = async (value: string | undefined, database: "written" | "read") => {
    using machine = new Inside()
    const env = value === undefined ? {} : { CTXBRIDGE_RESTORE_CLEAR: value }
    const session = machine.session().turn("Never touch the grammar file.", [], "I will not.").flush()
    await machine.hook("stop", session)
    const preview = await run(["preview", "--source", "clear"], {
      cwd: machine.cwd,
      env: { ...machine.env, ...env },
    })
    expect(preview).toMatchObject({ code: 0, stderr: "" })
    await machine.hook("session-end", session, { reason: "clear" })
    using other = new Database(join(machine.dataHome, "archive.db"))
    if (database === "read") other.run("BEGIN IMMEDIATE")
    const options = { env: { ...env, CTXBRIDGE_HOOK_DEADLINE: "500" } }
    const given = contextOf(
      await machine.hook("session-start", machine.session(), { source: "clear" }, options),
    )
    if (given !== undefined) expect(frameProblems(given)).toEqual([])
    expect(preview.stdout).toStartWith(given ?? "Nothing would be restored.")
    return given
  }
  for (const database of ["written", "read"] as const) {
    for (const full of [undefined, "full", "FULL", "nonsense"])
      expect(await clears(full, database)).toContain("## Standing user constraints\n")
    const pointer = await clears("pointer", database)
    expect(pointer).toStartWith('<ctxbridge-restore source="clear" session="')
    expect(pointer).toContain(" Its last turn:\n- ctx:")
    expect(pointer!.length).toBeLessThanOrEqual(1000)
    expect(await clears("off", database)).toBeUndefined()
  }
})

/** After `/clear` a changed file's whole path was told, after a compaction what follows the project's folder. */
test("paths are told as after a compaction: from the project's folder on", async () => {
  using machine = new Inside()
  const edit = (path: string) => ({
    tool: "Write",
    input: { file_path: path, content: "export {}" },
    output: "File created successfully",
  })
  const session = machine.session()
  session.turn("Write both", [edit(join(machine.cwd, "src", "kiln.ts")), edit("/etc/kiln.conf")]).flush()
  await machine.hook("stop", session)
  await machine.hook("session-end", session, { reason: "clear" })
  const given = [
    contextOf(await machine.hook("session-start", machine.session(), { source: "clear" })),
    contextOf(await machine.hook("session-start", session, { source: "compact" })),
  ]
  for (const text of given) {
    expect(text).toContain("- `src/kiln.ts`: written, 1 line (ctx:")
    expect(text).toContain("- `/etc/kiln.conf`: written, 1 line (ctx:")
    expect(text).not.toContain(machine.cwd)
  }
})

/** After a second `/clear`, while another program was writing the database, nothing was given back. */
describe("a clear while another program writes the database", () => {
  test("each clear is given the same, also from a database that can only be read", async () => {
    using machine = new Inside()
    const first = machine.session().turn("Never touch the grammar file.").flush()
    await machine.hook("stop", first)
    await machine.hook("session-end", first, { reason: "clear" })
    const second = machine.session()
    const once = contextOf(await machine.hook("session-start", second, { source: "clear" }))
    expect(once).toContain("Never touch the grammar file.")
    second.user("<command-name>/clear</command-name>\n<command-args></command-args>").flush()
    await machine.hook("session-end", second, { reason: "clear" })

    const third = machine.session()
    const db = new Database(join(machine.dataHome, "archive.db"))
    // The background job may be writing just now.
    db.run("PRAGMA busy_timeout = 30000")
    db.run("BEGIN IMMEDIATE")
    try {
      // Half of it is spent on waiting for the other program.
      const env = { ...machine.env, CTXBRIDGE_HOOK_DEADLINE: "4000" }
      const ran = await machine.hook("session-start", third, { source: "clear" }, { env })
      expect(ran).toMatchObject({ code: 0, stderr: "" })
      expect(contextOf(ran)).toBe(once)
    } finally {
      db.run("ROLLBACK")
      db.close()
    }
  })
})
