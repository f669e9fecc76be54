import { Database } from "bun:sqlite"
import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test"
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import type { HookName } from "../../../src/claude/fake/transcript.ts"
import { CLEAR_LASTS, claimClear, clearedSession, isCleared, rememberClear } from "../../../src/hook/state.ts"
import { captureTranscript } from "../../../src/vault/capture.ts"
import { catchUp } from "../../../src/views/indexing.ts"
import { Archive } from "../../support/archive.ts"
import { frameProblems } from "../../support/frame.ts"
import { holding } from "../../support/held.ts"
import { Inside, Peer, run } from "../../support/inside.ts"
import { contextOf, type Machine } from "../../support/machine.ts"
import { hitsIn } from "../../support/mcp.ts"
import { tempFolder } from "../../support/temp.ts"
import type { Transcript } from "../../support/transcript.ts"

/** What a session is given after `/clear`. */
describe("clears", () => {
  const COMMAND =
    "<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>"

  /** `/clear` in a session; Claude Code writes the command into the next one. */
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

  // It was told of an earlier turn as the last one: other sessions' lines were read for 200 ms, on a busy machine few.
  test("a new session is told where the one before was left, however slow the machine", async () => {
    using machine = new Inside()
    const old = machine.session()
    for (let n = 0; n < 40; n++) old.turn(`Heat kiln ${n}.`)
    await machine.hook("stop", old.flush())
    const now = performance.now.bind(performance)
    let looks = 0
    // 5 ms are over between two looks at the clock, and the hook looks once a line.
    const clock = spyOn(performance, "now").mockImplementation(() => now() + 5 * looks++)
    try {
      const told = contextOf(await machine.hook("session-start", machine.session(), { source: "startup" }))
      expect(told).toContain("Heat kiln 39.")
    } finally {
      clock.mockRestore()
    }
  })
})

/** Which session continues the one that `/clear` has ended. */
describe("continued sessions", () => {
  const NOW = 10 * CLEAR_LASTS

  test("each ended session is continued once, the latest first, in its own project", () => {
    using folder = tempFolder()
    const { path } = folder
    mkdirSync(join(path, "sessions"))
    rememberClear(path, "/a", "one", NOW)
    rememberClear(path, "/a", "two", NOW + 1)
    expect(clearedSession(path, "/a", 0)).toBe("two")
    expect(claimClear(path, "/b", 0)).toBeUndefined()
    expect([claimClear(path, "/a", 0), claimClear(path, "/a", 0), claimClear(path, "/a", 0)]).toEqual([
      "two",
      "one",
      undefined,
    ])
    expect(readdirSync(join(path, "sessions"))).toEqual([])
  })

  test("what is too old does not count, and is forgotten when another session ends", () => {
    using folder = tempFolder()
    const { path } = folder
    rememberClear(path, "/a", "old", NOW)
    const later = NOW + CLEAR_LASTS + 1
    expect([isCleared(path, "/a", NOW), isCleared(path, "/a", NOW + 1)]).toEqual([true, false])
    rememberClear(path, "/a", "new", later)
    expect(claimClear(path, "/a", 0)).toBe("new")
    expect(claimClear(path, "/a", 0)).toBeUndefined()
  })

  test("a session that ends twice is continued once", () => {
    using folder = tempFolder()
    const { path } = folder
    for (const time of [NOW, NOW + 5]) rememberClear(path, "/a", "one", time)
    expect(claimClear(path, "/a", 0)).toBe("one")
    expect(claimClear(path, "/a", 0)).toBeUndefined()
  })

  test("nothing is made by looking", () => {
    using folder = tempFolder()
    expect(claimClear(folder.path, "/a", 0)).toBeUndefined()
    expect(existsSync(join(folder.path, "sessions"))).toBe(false)
  })
})

/** A fork has what is its own, and what was open where it began. */
describe("forks", () => {
  /**
   * A fork whose origin still waited for the views was taken for the origin: its messages and compactions were the fork's,
   * which was then given back what only the origin had lost.
   */
  describe("a fork whose origin still waits for the views", () => {
    const EDIT = { tool: "Edit", input: { file_path: "/src/kiln.ts" }, output: "ok" }

    test.each<[HookName, Record<string, unknown>]>([
      ["user-prompt-submit", { prompt: "Fire it once more" }],
      ["pre-compact", { trigger: "manual" }],
      ["session-start", { source: "compact" }],
    ])("%s", async (event, fields) => {
      using machine = new Inside()
      mkdirSync(join(machine.dataHome, "state"), { recursive: true })
      // The background job would index the origin, sooner or later.
      await holding(machine.dataHome, "state/job.lock", async () => {
        const origin = machine.session().turn("Fire the kiln. Never open the door.", [EDIT]).flush()
        await machine.hook("pre-compact", origin, { trigger: "auto" })
        await machine.hook("session-start", origin, { source: "compact" })
        origin.boundary().summary("The kiln was fired.").turn("Let it cool", [EDIT]).flush()
        await machine.hook("stop", origin)
        const fork = machine.session()
        mkdirSync(dirname(fork.path), { recursive: true })
        copyFileSync(origin.path, fork.path)
        await machine.hook("session-start", fork, { source: "fork" })
        const ran = await machine.hook(event, fork, fields)
        expect(ran).toMatchObject({ code: 0, stderr: "" })
        if (event === "user-prompt-submit") expect(contextOf(ran)).toBeUndefined()
        using db = machine.views()
        const own = (table: string) => db.query(`SELECT DISTINCT session FROM ${table}`).values().flat()
        expect([own("messages"), own("boundaries")]).toEqual([[origin.session], [origin.session]])
        expect(db.query("SELECT child, parent FROM lineage").values()).toEqual([
          [fork.session, origin.session],
        ])
      })
    })
  })

  /**
   * Where a hook had met a fork's transcript with only half a line in it, the next one took the fork for a session that the
   * views hold. So it did not index the origin first, and the fork was taken for the origin.
   */
  describe("a fork whose transcript is written in pieces", () => {
    test("the origin comes first", async () => {
      using machine = new Inside()
      mkdirSync(join(machine.dataHome, "state"), { recursive: true })
      // The background job would index the origin, sooner or later.
      await holding(machine.dataHome, "state/job.lock", async () => {
        const fork = machine.session()
        mkdirSync(dirname(fork.path), { recursive: true })
        const origin = machine.session().turn("Fire the kiln.").flush()
        const text = readFileSync(origin.path, "utf8")
        await machine.hook("stop", origin)
        writeFileSync(fork.path, text.slice(0, 100))
        await machine.hook("pre-compact", fork)
        writeFileSync(fork.path, text)
        await machine.hook("pre-compact", fork)
        using db = machine.views()
        expect(db.query("SELECT DISTINCT session FROM messages").values()).toEqual([[origin.session]])
        expect(db.query("SELECT child, parent FROM lineage").values()).toEqual([
          [fork.session, origin.session],
        ])
      })
    })
  })

  /**
   * A fork copies its origin's lines. Those that hold no words, as newer models' thinking, became turns of the fork; and of a
   * long session that waited for the views together with its fork, all that was not read in the first slice.
   */
  describe("a fork has its own turns only", () => {
    test("a fork of a session whose thinking is not told has its own turns only", async () => {
      using machine = new Inside()
      const { cwd, env } = machine
      const origin = machine.session({ version: "2.1.329" })
      const step = { tool: "Bash", input: { command: "cat kiln.txt" }, output: "1180 °C" }
      for (const prompt of ["How hot is the kiln?", "And the oven?"])
        origin.user(prompt).message().think("").step(step).think("").say("As hot as that.")
      origin.flush()
      await machine.hook("stop", origin)

      const fork = machine.session({ version: "2.1.329" })
      const copied = readFileSync(origin.path, "utf8").replaceAll(origin.session, fork.session)
      fork.raw(copied.trimEnd()).user("And the stove?").message().think("").say("Not hot at all.").flush()
      await machine.hook("stop", fork)

      const shown = await run(["show", fork.session, "--json"], { env, cwd })
      expect(shown).toMatchObject({ code: 0, stderr: "" })
      const { turns } = JSON.parse(shown.stdout)
      expect(turns.map(({ prompt }: { prompt: string }) => prompt)).toEqual(["And the stove?"])
      using db = machine.views()
      const counted = db
        .query("SELECT session, count(*) AS messages FROM usage GROUP BY session ORDER BY 1")
        .all()
      expect(counted).toEqual([
        { session: origin.session, messages: 4 },
        { session: fork.session, messages: 1 },
      ])
    })

    test("a long session is indexed to its end before its fork is begun", () => {
      using archive = new Archive()
      const { dataHome, root, db } = archive
      const waits = (session: Transcript) => {
        const options = { now: 0, deadline: Number.POSITIVE_INFINITY, lastLine: "whole" } as const
        captureTranscript({ dataHome, home: root }, session.flush().path, options)
      }
      const origin = archive.session("11111111-0000-4000-8000-000000000000")
      for (let n = 0; n < 3000; n++)
        origin.turn(`Heat kiln ${n} to ${n * 7} degrees. ${"Then open it. ".repeat(40)}`)
      waits(origin)
      const fork = archive.session("22222222-0000-4000-8000-000000000000")
      waits(fork.raw(readFileSync(origin.path, "utf8").trimEnd()).turn("Only here"))
      // A slice takes as long as it takes: several for the origin, on any machine of today.
      expect(catchUp(db, dataHome, Number.POSITIVE_INFINITY)).toBe(0)
      const turns = db.query("SELECT session, count(*) AS turns FROM turns GROUP BY session ORDER BY 1").all()
      expect(turns).toEqual([
        { session: origin.session, turns: 3000 },
        { session: fork.session, turns: 1 },
      ])
    })
  })
})

/** Turns that the user took back: whoever shows one says so, and a compaction does not give it back. */
describe("taken back", () => {
  /** None that the index holds. */
  const LONG_WORD = "vermilion".repeat(8)

  let machine: Machine
  let session: Transcript
  /** Handle of the turn that was taken back, and of the one that stands. */
  let taken: string
  let stands: string

  beforeAll(async () => {
    machine = new Inside()
    session = machine.session().turn("Which ship is it?", [], "The Marigold.")
    const first = session.tip
    session.turn("Paint the zeppelin red.", [], `The zeppelin is red: ${LONG_WORD}`).backTo(first)
    await machine.hook("stop", session.turn("Paint the zeppelin blue.", [], "It is blue.").flush())
    const { turns } = await document("show", session.session)
    ;[, taken, stands] = turns.map(({ handle }: { handle: string }) => handle)
  })
  afterAll(() => machine[Symbol.dispose]())

  async function text(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await run(args, { env: machine.env, cwd: machine.cwd })
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return stdout
  }

  // biome-ignore lint/suspicious/noExplicitAny: the documents differ
  const document = async (...args: string[]): Promise<any> => JSON.parse(await text(...args, "--json"))

  interface Marked {
    readonly handle: string
    readonly takenBack?: true
  }

  const marks = (turns: readonly Marked[]): [string, boolean | undefined][] =>
    turns.map(({ handle, takenBack }) => [handle, takenBack])

  test("show", async () => {
    expect(marks([await document("show", taken), await document("show", stands)])).toEqual([
      [taken, true],
      [stands, undefined],
    ])
    const { turns } = await document("show", session.session)
    expect(marks(turns).slice(1)).toEqual([
      [taken, true],
      [stands, undefined],
    ])
    expect(await text("show", taken)).toContain("· typed · 0 tool calls · rewound\n")
    expect(await text("show", stands)).not.toContain("rewound")
    expect(await text("show", session.session)).toContain("(rewound) Paint the zeppelin red.")
  })

  test("show --around", async () => {
    const { turns } = await document("show", stands, "--around", "3")
    expect(marks(turns).slice(1)).toEqual([
      [taken, true],
      [stands, undefined],
    ])
    expect((await text("show", stands, "--around", "3")).match(/ · rewound$/gm)).toHaveLength(1)
  })

  test("search, which finds it as before, and in the vault itself", async () => {
    const found = marks((await document("search", "zeppelin")).hits).sort()
    const both = [
      [stands, undefined],
      [taken, true],
    ] as [string, true | undefined][]
    expect(found).toEqual(both.sort())
    const [cold] = (await document("search", "--cold", LONG_WORD)).hits
    expect(cold).toMatchObject({ cold: true, handle: taken, takenBack: true })
    expect((await text("search", "zeppelin")).match(/ · rewound · /g)).toHaveLength(1)
  })

  test("export", async () => {
    const md = await text("export", session.session)
    expect(md.match(/^`ctx:\w+`(?=, .*, rewound$)/gm)).toEqual([`\`${taken}\``])
    const lines = (await text("export", "--jsonl", session.session)).trimEnd().split("\n")
    const turns = lines.map((line) => JSON.parse(line)).filter(({ type }) => type === "turn")
    expect(marks(turns).slice(1)).toEqual([
      [taken, true],
      [stands, undefined],
    ])
  })

  test("the server", async () => {
    await using peer = await Peer.connect(machine.cwd, machine.env)
    const searched = hitsIn((await peer.call("search", { query: "zeppelin" })).text)
    expect(searched.map(({ handle }) => handle).sort()).toEqual([taken, stands].sort())
    expect(searched.filter(({ about }) => about.includes("rewound"))).toMatchObject([{ handle: taken }])
    const around = await peer.call("timeline", { of: stands })
    expect(around.text.match(/\(rewound, 0 tool calls\)$/gm)).toHaveLength(1)
    expect((await peer.call("get", { handle: taken })).text).toContain(". The user rewound it. ")
    expect((await peer.call("get", { handle: stands })).text).not.toContain("rewound it")
  })

  test("what a hook gives back", async () => {
    const ran = await machine.hook("session-start", session, { source: "compact" })
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    const given = contextOf(ran)!
    expect(given).toContain("zeppelin blue")
    expect(given).not.toContain("zeppelin red")
    expect(given).not.toContain(taken)
  })
})
