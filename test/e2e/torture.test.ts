/** Many at once, killed at any moment, on broken disks: nothing is lost, nothing is there twice. */
import { Database } from "bun:sqlite"
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import { writeTranscript } from "../../src/cli/bench/corpus.ts"
import { Dice } from "../../src/cli/bench/seeded-random.ts"
import { checkCopy } from "../../src/vault/check-copy.ts"
import { supersededPath } from "../../src/vault/layout.ts"
import { archivedIn } from "../../src/vault/reader.ts"
import { binary, type Ran, start as startProcess } from "../support/binary.ts"
import { contentOf, type HookName, Machine, pooled, promptsIn, until } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

const EDIT = { tool: "Edit", input: { file_path: "/src/app/client.ts" }, output: "ok ".repeat(200) }

const well = (ran: Ran): void => expect(ran).toMatchObject({ code: 0, stderr: "" })

function silent(ran: Ran): void {
  expect(ran).toMatchObject({ code: 0, stdout: "", stderr: "" })
}

/** The copy is the transcript, byte for byte, in frames that are what they say they are. */
function expectArchived(machine: Machine, path: string): void {
  const copy = machine.copy(path)
  const check = checkCopy(copy, undefined)
  expect(check).toMatchObject({ damage: [], halfFrame: 0, archived: statSync(path).size })
  expect(contentOf(copy).equals(readFileSync(path))).toBe(true)
}

function expectPrompts(machine: Machine, expected: ReadonlyMap<string, readonly string[]>): void {
  using views = machine.views()
  for (const [session, prompts] of expected) expect(promptsIn(views, session)).toEqual([...prompts])
  expect(views.query("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" })
}

/** Everything that is in the vault is in the views, and no hook had to come for that: whoever reads catches up. */
function expectFollowed(machine: Machine, transcripts: readonly Transcript[]): void {
  // A reader catches up for a while only, which a busy machine may need several times.
  for (let n = 0; n < 20 && behind(machine, transcripts).length > 0; n++);
  expect(behind(machine, transcripts)).toEqual([])
}

/** Sessions that the views, opened as a command opens them, do not hold whole. */
function behind(machine: Machine, transcripts: readonly Transcript[]): unknown[] {
  using views = machine.views()
  return transcripts.flatMap(({ path, session }) => {
    const rows = views
      .query<{ indexed: number }, [string]>("SELECT indexed FROM transcripts WHERE session = ?")
      .all(session)
    const archived = archivedIn(machine.copy(path))
    // A copy that has only been begun is known to the views or not.
    const isWhole = rows.length === 1 ? rows[0]!.indexed === archived : rows.length === 0 && archived === 0
    return isWhole ? [] : [{ session, archived, rows }]
  })
}

describe("at once", () => {
  test("50 hooks on one session whose transcript grows, half lines included", async () => {
    using machine = new Machine()
    const transcript = machine.session()
    const prompts: string[] = []
    const growing = { now: true }
    const grow = async (): Promise<void> => {
      for (let n = 0; growing.now; n++) {
        prompts.push(`prompt ${n} 語`)
        const bytes = Buffer.from(transcript.turn(`prompt ${n} 語`, [EDIT, EDIT]).text)
        transcript.discard()
        // In the middle of a line, and of a character.
        const middle = bytes.indexOf("語") + 1
        mkdirSync(dirname(transcript.path), { recursive: true })
        appendFileSync(transcript.path, bytes.subarray(0, middle))
        await Bun.sleep(1)
        appendFileSync(transcript.path, bytes.subarray(middle))
        await Bun.sleep(1)
      }
    }
    const events: readonly HookName[] = [
      "user-prompt-submit",
      "stop",
      "pre-compact",
      "subagent-stop",
      "session-start",
    ]
    const hooks = Array.from({ length: 50 }, (_, n) =>
      machine.hook(events[n % events.length]!, transcript, {
        source: "compact",
        trigger: "auto",
        prompt: "x",
      }),
    )
    const grown = grow()
    for (const ran of await Promise.all(hooks)) well(ran)
    growing.now = false
    await grown
    well(await machine.hook("stop", transcript))
    await machine.idle()
    expectArchived(machine, transcript.path)
    // The last hooks may have found nothing to start a job for.
    expectFollowed(machine, [transcript])
    expectPrompts(machine, new Map([[transcript.session, prompts]]))
  })

  test("50 sessions, in an archive that does not exist yet", async () => {
    using machine = new Machine()
    const sessions = Array.from({ length: 50 }, () => machine.session())
    for (const [n, session] of sessions.entries()) session.turn(`only ${n}`, [EDIT]).turn("continue").flush()
    const events: readonly HookName[] = ["stop", "pre-compact", "session-start", "user-prompt-submit"]
    const ran = await Promise.all(
      sessions.map((session, n) =>
        machine.hook(events[n % events.length]!, session, {
          source: "compact",
          trigger: "auto",
          prompt: "x",
        }),
      ),
    )
    ran.forEach(well)
    await machine.idle()
    for (const { path } of sessions) expectArchived(machine, path)
    expectPrompts(machine, new Map(sessions.map(({ session }, n) => [session, [`only ${n}`, "continue"]])))
  })

  test("200 hook calls leave no queue of background jobs", async () => {
    using machine = new Machine()
    const sessions = Array.from({ length: 10 }, () => machine.session().turn("go").flush())
    const events: readonly HookName[] = ["session-start", "session-end", "stop", "session-end"]
    await pooled(Array.from({ length: 200 }), 8, async (_, n) => {
      const fields = { source: "startup", reason: "other" }
      well(await machine.hook(events[n % events.length]!, sessions[n % sessions.length]!, fields))
    })
    await until(() => machine.processes().length <= 1, 30_000, "at most one background job")
    await machine.idle()
    for (const { path } of sessions) expectArchived(machine, path)
  })
})

describe("kill -9", () => {
  /** What a hook is doing when it is killed: reading, compressing, writing, indexing, answering. */
  const EVENTS: readonly (readonly [HookName, Record<string, unknown>])[] = [
    ["user-prompt-submit", { prompt: "next" }],
    ["stop", {}],
    ["pre-compact", { trigger: "auto" }],
    ["session-start", { source: "compact" }],
    ["session-end", { reason: "other" }],
  ]

  test("100 hooks and their jobs, at random moments, while the transcripts grow", async () => {
    using machine = new Machine()
    const dice = new Dice(51)
    const sessions = Array.from({ length: 4 }, () => machine.session())
    const expected = new Map<string, string[]>(sessions.map(({ session }) => [session, []]))
    let killed = 0
    // Kills come while a hook works, however fast the machine is: not all of them before it has begun.
    expected.get(sessions[0]!.session)!.push("the first prompt")
    const began = performance.now()
    silent(await machine.hook("stop", sessions[0]!.turn("the first prompt").flush()))
    const longest = Math.min(400, Math.max(40, 1.5 * (performance.now() - began)))
    for (let n = 0; n < 100; n++) {
      const transcript = sessions[n % sessions.length]!
      // Now and then so much that a job is started for it.
      const turns = n % 9 === 0 ? 400 : dice.between(1, 12)
      for (let turn = 0; turn < turns; turn++) {
        const prompt = `prompt ${n}.${turn}`
        expected.get(transcript.session)!.push(prompt)
        transcript.turn(prompt, [EDIT, EDIT, EDIT])
      }
      transcript.flush()
      const [event, fields] = EVENTS[dice.between(0, EVENTS.length - 1)]!
      const { child, ended } = startProcess(["hook", event], { env: machine.env, cwd: machine.cwd })
      child.stdin.write(machine.payload(event, transcript, fields))
      child.stdin.end()
      await Bun.sleep(dice.between(0, Math.round(longest)))
      child.kill("SIGKILL")
      killed += (await ended).code === 137 ? 1 : 0
      if (dice.chance(0.5)) {
        await Bun.sleep(dice.between(0, 120))
        for (const pid of machine.processes()) kill(pid)
      }
      // Whatever they left, the views hold what the vault holds, or can.
      if (n % 20 === 19) {
        for (const pid of machine.processes()) kill(pid)
        expectFollowed(machine, sessions)
      }
    }
    expect(killed).toBeGreaterThan(10)
    for (const pid of machine.processes()) kill(pid)
    for (const transcript of sessions) silent(await machine.hook("stop", transcript))
    // What the hooks had no time for.
    await machine.idle()
    for (const { path } of sessions) expectArchived(machine, path)
    expectPrompts(machine, expected)
  })

  function kill(pid: number): void {
    try {
      process.kill(pid, "SIGKILL")
    } catch {
      // it has ended by itself
    }
  }
})

describe("a vault file with a broken end", () => {
  const endings: readonly (readonly [string, (copy: string) => void])[] = [
    ["half a frame", (copy) => appendFileSync(copy, readFileSync(copy).subarray(200, 300))],
    ["zeros", (copy) => appendFileSync(copy, new Uint8Array(5000))],
    [
      "random bytes",
      (copy) => appendFileSync(copy, Buffer.from(Array.from({ length: 3000 }, (_, n) => (n * n) % 251))),
    ],
    ["more than a megabyte of them", (copy) => appendFileSync(copy, Buffer.alloc(1_500_000, "CTXB"))],
    ["a cut-off note", (copy) => truncateSync(copy, statSync(copy).size - 10)],
    ["a cut-off frame", (copy) => truncateSync(copy, statSync(copy).size - 150)],
    ["nothing but half a header", (copy) => truncateSync(copy, 6)],
    ["nothing at all", (copy) => truncateSync(copy, 0)],
  ]
  for (const [name, damage] of endings) {
    test(`${name} is cut, and archiving goes on`, async () => {
      using machine = new Machine()
      const transcript = machine.session().turn("first", [EDIT]).flush()
      silent(await machine.hook("stop", transcript))
      silent(await machine.hook("stop", transcript.turn("second", [EDIT]).flush()))
      damage(machine.copy(transcript.path))
      silent(await machine.hook("stop", transcript.turn("third").flush()))
      expectArchived(machine, transcript.path)
      expectPrompts(machine, new Map([[transcript.session, ["first", "second", "third"]]]))
    })
  }

  test("what is no copy of ours is put aside, not overwritten", async () => {
    using machine = new Machine()
    const transcript = machine.session().turn("first").flush()
    const copy = machine.copy(transcript.path)
    mkdirSync(dirname(copy), { recursive: true })
    writeFileSync(copy, "somebody else's file, longer than a header of ours would be")
    silent(await machine.hook("stop", transcript))
    expectArchived(machine, transcript.path)
    expect(readFileSync(supersededPath(copy, 1), "utf8")).toStartWith("somebody else's file")
  })
})

describe("a transcript that the host changes", () => {
  interface Change {
    readonly name: string
    change(path: string, transcript: Transcript): void
    readonly prompts: readonly string[]
  }
  const rewritten = (path: string, edit: (text: string) => string): void =>
    writeFileSync(path, edit(readFileSync(path, "utf8")))
  const changes: readonly Change[] = [
    {
      name: "truncated at a line",
      change: (path) =>
        rewritten(path, (text) => text.slice(0, text.indexOf('"second"')).replace(/[^\n]*$/, "")),
      prompts: ["first", "second", "third", "fourth"],
    },
    {
      name: "truncated in the middle of a line",
      change: (path, transcript) => {
        truncateSync(path, statSync(path).size - 20)
        transcript.raw("")
      },
      prompts: ["first", "second", "third", "fourth"],
    },
    {
      name: "rewritten at the same length",
      change: (path) => rewritten(path, (text) => text.replace("Answer to: third", "ANSWER TO: THIRD")),
      prompts: ["first", "second", "third", "fourth"],
    },
    {
      name: "replaced by another file",
      change: (path, transcript) => {
        rmSync(path)
        writeFileSync(`${path}.new`, transcript.turn("replacement").text)
        transcript.discard()
        renameSync(`${path}.new`, path)
      },
      prompts: ["first", "second", "third", "replacement", "fourth"],
    },
    {
      name: "deleted, and begun again",
      change: (path, transcript) => {
        rmSync(path)
        transcript.turn("begun again").flush()
      },
      prompts: ["first", "second", "third", "begun again", "fourth"],
    },
  ]
  // Whether the views had followed before decides nothing.
  for (const indexed of [true, false]) {
    for (const { name, change, prompts } of changes) {
      test(`${name}: the old copy is kept (${indexed ? "" : "not "}in the views before)`, async () => {
        using machine = new Machine()
        const transcript = machine.session().turn("first", [EDIT]).flush()
        silent(await machine.hook("stop", transcript))
        silent(await machine.hook("stop", transcript.turn("second", [EDIT]).turn("third").flush()))
        const before = readFileSync(transcript.path)
        if (indexed) expectFollowed(machine, [transcript])
        change(transcript.path, transcript)
        silent(await machine.hook("stop", transcript))
        transcript.turn("fourth").flush()
        silent(await machine.hook("stop", transcript))
        const copy = machine.copy(transcript.path)
        expect(contentOf(supersededPath(copy, 1)).equals(before)).toBe(true)
        expect(existsSync(supersededPath(copy, 2))).toBe(false)
        expectArchived(machine, transcript.path)
        using views = machine.views()
        expect(promptsIn(views, transcript.session).sort()).toEqual([...prompts].sort())
      })
    }
  }

  test("every version is kept when it is rewritten three times", async () => {
    using machine = new Machine()
    const transcript = machine.session()
    const versions: Buffer[] = []
    for (const word of ["one", "two", "three", "four"]) {
      rmSync(transcript.path, { force: true })
      transcript.turn(word, [EDIT]).flush()
      versions.push(readFileSync(transcript.path))
      silent(await machine.hook("stop", transcript))
    }
    const copy = machine.copy(transcript.path)
    const kept = [1, 2, 3].map((n) => contentOf(supersededPath(copy, n)))
    expect([...kept, contentOf(copy)].map(String)).toEqual(versions.map(String))
    using views = machine.views()
    expect(promptsIn(views, transcript.session).sort()).toEqual(["four", "one", "three", "two"])
  })

  test("the same content under a new inode goes on in the same copy", async () => {
    using machine = new Machine()
    const transcript = machine.session().turn("first", [EDIT]).turn("second").flush()
    silent(await machine.hook("stop", transcript))
    writeFileSync(`${transcript.path}.new`, readFileSync(transcript.path))
    renameSync(`${transcript.path}.new`, transcript.path)
    silent(await machine.hook("stop", transcript.turn("third").flush()))
    expectArchived(machine, transcript.path)
    expect(existsSync(supersededPath(machine.copy(transcript.path), 1))).toBe(false)
  })

  test("the copy stays when it is deleted", async () => {
    using machine = new Machine()
    const transcript = machine.session().turn("first").flush()
    silent(await machine.hook("stop", transcript))
    const before = readFileSync(transcript.path)
    rmSync(transcript.path)
    for (const event of ["stop", "user-prompt-submit", "session-end"] as const) {
      silent(await machine.hook(event, transcript, { prompt: "x" }))
    }
    well(await machine.hook("pre-compact", transcript, { trigger: "auto" }))
    await machine.idle()
    expect(contentOf(machine.copy(transcript.path)).equals(before)).toBe(true)
    expectPrompts(machine, new Map([[transcript.session, ["first"]]]))
  })

  test("a folder, a pipe or a dangling link in its place", async () => {
    using machine = new Machine()
    for (const make of [
      (path: string) => mkdirSync(path),
      (path: string) => void Bun.spawnSync(["mkfifo", path]),
      (path: string) => void Bun.spawnSync(["ln", "-s", "/nowhere/x.jsonl", path]),
    ]) {
      const transcript = machine.session()
      mkdirSync(dirname(transcript.path), { recursive: true })
      make(transcript.path)
      silent(await machine.hook("stop", transcript))
      silent(await machine.hook("pre-compact", transcript, { trigger: "auto" }))
    }
  })
})

// Their jobs look again for four seconds: waiting for one is waiting for all.
describe.concurrent("a database that cannot be used", () => {
  const ALL: readonly (readonly [HookName, Record<string, unknown>])[] = [
    ["session-start", { source: "compact" }],
    ["session-start", { source: "startup" }],
    ["user-prompt-submit", { prompt: "next" }],
    ["pre-compact", { trigger: "auto" }],
    ["stop", {}],
    ["session-end", { reason: "clear" }],
    ["session-start", { source: "clear" }],
  ]

  /**
   * Hooks go on archiving, whatever `damage` did; then all is indexed. Without `mend` the background job makes the
   * views anew by itself. Hooks answer from what can be read.
   */
  async function survives(machine: Machine, damage: () => void, mend?: () => void): Promise<void> {
    const transcript = machine.session().turn("before").flush()
    damage()
    const prompts = ["before"]
    for (const [n, [event, fields]] of ALL.entries()) {
      prompts.push(`turn ${n}`)
      transcript.turn(`turn ${n}`).flush()
      well(await machine.hook(event, transcript, fields))
      expectArchived(machine, transcript.path)
    }
    await machine.idle()
    mend?.()
    expectPrompts(machine, new Map([[transcript.session, prompts]]))
    silent(await machine.hook("stop", transcript.turn("after").flush()))
    expectPrompts(machine, new Map([[transcript.session, [...prompts, "after"]]]))
  }

  const database = (machine: Machine): string => join(machine.dataHome, "archive.db")

  /** A good one with something in it. */
  async function begun(machine: Machine): Promise<void> {
    const other = machine.session().turn("of another session").flush()
    well(await machine.hook("pre-compact", other, { trigger: "auto" }))
    await machine.idle()
    expect(existsSync(database(machine))).toBe(true)
  }

  test("locked by another writer all the time", async () => {
    using machine = new Machine()
    await begun(machine)
    const db = new Database(database(machine))
    await survives(
      machine,
      () => db.run("BEGIN IMMEDIATE"),
      () => db.run("ROLLBACK"),
    )
    db.close()
  })

  test("garbage from the start", async () => {
    using machine = new Machine()
    mkdirSync(machine.dataHome)
    const path = database(machine)
    await survives(machine, () =>
      writeFileSync(path, "this is no database at all, but long enough to be taken for one ".repeat(50)),
    )
  })

  test("a destroyed header", async () => {
    using machine = new Machine()
    await begun(machine)
    const path = database(machine)
    const good = join(machine.root, "good.db")
    const copy = new Database(path)
    copy.run("VACUUM INTO ?", [good])
    copy.close()
    await survives(machine, () => {
      for (const suffix of ["-wal", "-shm"]) rmSync(path + suffix, { force: true })
      writeFileSync(path, Buffer.concat([Buffer.alloc(100, 0xff), readFileSync(good).subarray(100)]))
    })
  })

  test("destroyed pages", async () => {
    using machine = new Machine()
    await begun(machine)
    const path = database(machine)
    const good = join(machine.root, "good.db")
    const copy = new Database(path)
    copy.run("VACUUM INTO ?", [good])
    copy.close()
    await survives(machine, () => {
      for (const suffix of ["-wal", "-shm"]) rmSync(path + suffix, { force: true })
      const bytes = readFileSync(good)
      writeFileSync(path, bytes.fill(0xa5, 4096))
    })
  })

  test("written by a later version", async () => {
    using machine = new Machine()
    await begun(machine)
    const db = new Database(database(machine))
    const { user_version } = db.query<{ user_version: number }, []>("PRAGMA user_version").get()!
    await survives(
      machine,
      () => db.run(`PRAGMA user_version = ${user_version + 1}`),
      () => db.run(`PRAGMA user_version = ${user_version}`),
    )
    db.close()
  })

  test("a folder in its place", async () => {
    using machine = new Machine()
    mkdirSync(database(machine), { recursive: true })
    await survives(
      machine,
      () => {},
      () => rmSync(database(machine), { recursive: true }),
    )
  })
})

describe("folders that cannot be used", () => {
  /** The superuser may write everywhere, so a file in a folder's place stands for a folder that is read-only. */
  for (const name of ["", "vault", "pending", "sessions", "state", "requests"]) {
    test(`a file in the place of the archive's ${name === "" ? "folder" : `\`${name}\``}`, async () => {
      using machine = new Machine()
      const transcript = machine.session().turn("before").flush()
      const blocked = join(machine.dataHome, name)
      mkdirSync(dirname(blocked), { recursive: true })
      writeFileSync(blocked, "in the way")
      for (const event of ["user-prompt-submit", "stop", "session-end"] as const) {
        silent(await machine.hook(event, transcript, { prompt: "next", reason: "clear" }))
      }
      well(await machine.hook("pre-compact", transcript, { trigger: "auto" }))
      well(await machine.hook("session-start", transcript, { source: "compact" }))
      if (name !== "" && name !== "vault") expectArchived(machine, transcript.path)
      rmSync(blocked)
      transcript.turn("after").flush()
      silent(await machine.hook("stop", transcript))
      expectArchived(machine, transcript.path)
      expectPrompts(machine, new Map([[transcript.session, ["before", "after"]]]))
    })
  }

  test("what could not be written is never said to be archived", async () => {
    using machine = new Machine()
    const transcript = machine.session().turn("before").flush()
    writeFileSync(machine.dataHome, "in the way")
    silent(await machine.hook("pre-compact", transcript, { trigger: "auto" }))
  })

  test("no HOME", async () => {
    using machine = new Machine()
    const transcript = machine.session().turn("before").flush()
    const { HOME: _none, ...env } = machine.env
    const { child, ended } = startProcess(["hook", "stop"], { env })
    child.stdin.write(machine.payload("stop", transcript))
    child.stdin.end()
    silent(await ended)
    using views = machine.views()
    expect(promptsIn(views, transcript.session)).toEqual(["before"])
  })

  test("a working folder that is gone is the host's affair, not a block", async () => {
    using machine = new Machine()
    const gone = join(machine.root, "gone")
    mkdirSync(gone)
    const hook = "cd gone && rmdir ../gone && exec $0 hook stop </dev/null"
    const { exitCode } = Bun.spawnSync(["sh", "-c", hook, binary()], {
      cwd: machine.root,
      env: machine.env,
    })
    // Exit code 2 is the only one that Claude Code reads as "block".
    expect(exitCode).not.toBe(2)
  })
})

describe("a first read", () => {
  test("of far more than a hook has time for: the hook returns, and the background job does the rest", async () => {
    using machine = new Machine()
    machine.env["CTXBRIDGE_HOOK_DEADLINE"] = "500"
    const transcript = machine.session({ version: "2.1.229" })
    mkdirSync(dirname(transcript.path), { recursive: true })
    const { session: sessionId } = transcript
    const options = { seed: 7, bytes: 24 << 20, sessionId, cwd: machine.cwd, version: "2.1.229" }
    const written = writeTranscript(transcript.path, options)
    const ran = await machine.hook("user-prompt-submit", transcript, { prompt: "go on" })
    silent(ran)
    expect(ran.ms).toBeLessThan(10_000)
    const copy = machine.copy(transcript.path)
    // How much the hook took depends on the machine. However long the job takes: it is the least important program of the machine.
    while (archivedIn(copy) < written.bytes && machine.processes().length > 0) await Bun.sleep(50)
    const source = openSync(transcript.path, "r")
    try {
      expect(checkCopy(copy, source)).toMatchObject({
        damage: [],
        differsAt: undefined,
        archived: written.bytes,
      })
    } finally {
      closeSync(source)
    }
  }, 120_000)
})
