import { Database } from "bun:sqlite"
import { afterAll, describe, expect, setDefaultTimeout, spyOn, test } from "bun:test"
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { tryLock } from "../../../src/base/libc.ts"
import { lock, openLock, withLockFile } from "../../../src/base/lock.ts"
import { generateTranscript } from "../../../src/cli/bench/corpus.ts"
import { changeState, readState, writeState } from "../../../src/hook/state.ts"
import { importTranscripts } from "../../../src/job/import-transcripts.ts"
import { takeRequests } from "../../../src/job/requests.ts"
import { FILTERED } from "../../../src/secrets/filter.ts"
import { vaultFile, vaultPath } from "../../../src/vault/layout.ts"
import { listPending, markPending, pendingInOrder } from "../../../src/vault/pending.ts"
import { prepareSpool, spoolFolders } from "../../../src/vault/spool-folders.ts"
import { databasePath, SCHEMA_VERSION, schemaVersion } from "../../../src/views/database.ts"
import { drainSpool } from "../../../src/views/drain-spool.ts"
import { followVault, keepNote } from "../../../src/views/kept-notes.ts"
import { gatePath, lockPath, open, openReady } from "../../../src/views/open.ts"
import { openCurrent } from "../../../src/views/open-current.ts"
import { alone } from "../../../src/views/replace-database.ts"
import { MIGRATIONS } from "../../../src/views/schema.ts"
import { changingSessions, sessionFolder } from "../../../src/views/session-files.ts"
import { Archive } from "../../support/archive.ts"
import { contentOf } from "../../support/machine.ts"
import { tempFolder } from "../../support/temp.ts"

/** The archive's database as it is: what is opened for whom, what is made, and what is waited for. */
describe("open", () => {
  const READERS = ["read-only-hook", "check", "look"] as const
  const WRITERS = ["hook", "write"] as const

  describe("where there is nothing", () => {
    test.each(WRITERS)("%s makes the database", (purpose) => {
      using folder = tempFolder()
      using db = open(folder.path, purpose)
      expect(schemaVersion(db)).toBe(SCHEMA_VERSION)
    })

    test("erase makes a file without tables", () => {
      using folder = tempFolder()
      using db = open(folder.path, "erase")
      expect(schemaVersion(db)).toBe(0)
      expect(db.query("SELECT count(*) AS n FROM sqlite_schema").get()).toEqual({ n: 0 })
    })

    test.each(READERS)("%s makes nothing", (purpose) => {
      using folder = tempFolder()
      expect(() => open(folder.path, purpose)).toThrow("unable to open database file")
      expect(readdirSync(folder.path)).toEqual([])
    })

    test("a search makes nothing, not even the folder", () => {
      using folder = tempFolder()
      const none = join(folder.path, "none")
      expect(openReady(none)).toBeUndefined()
      expect(existsSync(none)).toBe(false)
    })
  })

  describe("a database of an earlier version", () => {
    function ofVersion(version: number, dataHome: string): void {
      open(dataHome, "write").close()
      const raw = new Database(databasePath(dataHome))
      raw.run(`PRAGMA user_version = ${version}; DROP TABLE parser`)
      raw.close()
    }

    test.each([...READERS, "erase"] as const)("%s leaves it as it is", (purpose) => {
      using folder = tempFolder()
      ofVersion(SCHEMA_VERSION - 1, folder.path)
      using db = open(folder.path, purpose)
      expect(schemaVersion(db)).toBe(SCHEMA_VERSION - 1)
    })

    test("what was kept to learn from restores goes, the restores stay", () => {
      using folder = tempFolder()
      const raw = new Database(databasePath(folder.path), { create: true })
      const before = MIGRATIONS.findIndex((migration) => migration.includes("DROP TABLE slots"))
      for (const migration of MIGRATIONS.slice(0, before)) raw.run(migration)
      raw.run(`PRAGMA user_version = ${before}`)
      raw.run(
        "INSERT INTO restores (session, source, mark, time, text) VALUES ('s', 'compact', 'at 1', 1, 'x')",
      )
      raw.run("INSERT INTO slots (session, source, mark, items) VALUES ('s', 'compact', 'at 1', '[]')")
      raw.close()
      using db = open(folder.path, "write")
      expect(schemaVersion(db)).toBe(SCHEMA_VERSION)
      const gone = db.query(
        "SELECT name FROM sqlite_schema WHERE name IN ('slots', 'outcomes', 'uses', 'followed', 'learned')",
      )
      expect(gone.all()).toEqual([])
      expect(db.query("UPDATE restores SET text = 'y' RETURNING mark").all()).toEqual([{ mark: "at 1" }])
    })

    test.each(READERS)("%s writes nothing", (purpose) => {
      using folder = tempFolder()
      open(folder.path, "write").close()
      using db = open(folder.path, purpose)
      expect(() => db.run("DELETE FROM turns")).toThrow("attempt to write a readonly database")
    })

    test.each([...WRITERS, "erase"] as const)("%s refuses that of a later one", (purpose) => {
      using folder = tempFolder()
      ofVersion(SCHEMA_VERSION + 1, folder.path)
      expect(() => open(folder.path, purpose)).toThrow(`has schema ${SCHEMA_VERSION + 1}`)
    })
  })

  describe("while somebody waits to replace it", () => {
    const shut = (dataHome: string, work: () => void): void =>
      withLockFile(gatePath(dataHome), 0, work, () => expect.unreachable())

    test.each([...READERS, ...WRITERS, "erase"] as const)("%s is told so, after its time", (purpose) => {
      using folder = tempFolder()
      open(folder.path, "write").close()
      shut(folder.path, () => {
        const start = performance.now()
        expect(() => open(folder.path, purpose, 40)).toThrow("the views are being replaced")
        expect(performance.now() - start).toBeGreaterThanOrEqual(39)
      })
    })

    test("a search does not wait", () => {
      using archive = filled()
      openCurrent(archive.dataHome, "command").close()
      shut(archive.dataHome, () => {
        const start = performance.now()
        expect(opens(archive.dataHome)).toBe(false)
        expect(performance.now() - start).toBeLessThan(1000)
      })
      expect(opens(archive.dataHome)).toBe(true)
    })
  })

  test("a database that was deleted keeps nobody from replacing the one made since", () => {
    using folder = tempFolder()
    const old = open(folder.path, "write", 0)
    expect(() => alone(folder.path, 0, () => {})).toThrow("has the archive open")
    rmSync(databasePath(folder.path))
    const anew = open(folder.path, "write", 0)
    expect(() => alone(folder.path, 0, () => {})).toThrow("has the archive open")
    anew.close()
    expect(alone(folder.path, 0, () => "replaced")).toBe("replaced")
    old.close()
  })

  /** Whether a search opens it. */
  function opens(dataHome: string): boolean {
    const db = openReady(dataHome)
    db?.close()
    return db !== undefined
  }

  function filled(): Archive {
    const archive = new Archive()
    const transcript = archive.session("11111111-0000-4000-8000-000000000010")
    transcript.turn("Where is the walrus?", [], "In the cellar.").flush()
    archive.follow(transcript)
    return archive
  }

  describe("a search", () => {
    test("opens views that have seen the whole vault", () => {
      using archive = filled()
      // Nobody has looked yet whether they have.
      expect(opens(archive.dataHome)).toBe(false)
      openCurrent(archive.dataHome, "command").close()
      using db = openReady(archive.dataHome)!
      expect(db.query("SELECT prompt FROM turns").get()).toEqual({ prompt: "Where is the walrus?" })
    })

    test("not where something waits for them", () => {
      using archive = filled()
      openCurrent(archive.dataHome, "command").close()
      markPending(archive.dataHome, { path: "/t.jsonl", copy: "home/t.jsonl.zst", session: "t" })
      expect(opens(archive.dataHome)).toBe(false)
      openCurrent(archive.dataHome, "command").close()
      expect(opens(archive.dataHome)).toBe(true)
    })

    test.each([
      "PRAGMA user_version = 99",
      "PRAGMA application_id = 7",
      "UPDATE parser SET version = version - 1",
    ])("not after %s", (change) => {
      using archive = filled()
      openCurrent(archive.dataHome, "command").close()
      expect(opens(archive.dataHome)).toBe(true)
      archive.db.run(change)
      expect(opens(archive.dataHome)).toBe(false)
    })

    test("not a file that is no database, and nothing keeps others from replacing it", () => {
      using archive = filled()
      archive.db.close()
      const path = databasePath(archive.dataHome)
      for (const suffix of ["-wal", "-shm"]) rmSync(path + suffix, { force: true })
      writeFileSync(path, "x".repeat(8192))
      expect(opens(archive.dataHome)).toBe(false)
      expect(alone(archive.dataHome, 0, () => "replaced")).toBe("replaced")
    })
  })

  describe("what is looked for elsewhere, too", () => {
    test("needs no archive here", () => {
      using folder = tempFolder()
      expect(openCurrent(folder.path, "elsewhere")).toBeUndefined()
      expect(() => openCurrent(folder.path, "command")).toThrow("nothing is archived in")
      expect(readdirSync(folder.path)).toEqual([])
    })

    test("reads that which is here", () => {
      using archive = filled()
      using db = openCurrent(archive.dataHome, "elsewhere")
      expect(db!.query("SELECT count(*) AS n FROM turns").get()).toEqual({ n: 1 })
    })
  })
})

/** Whoever replaces the views gets them alone, although readers keep coming, and those readers are all answered. */
describe("alone", () => {
  setDefaultTimeout(60_000)

  const DOOR = join(import.meta.dir, "../../../src/views/open.ts")
  const READERS = 4

  /** Reads again and again, 40 ms each time, until its stdin ends; then tells how often. */
  const reader = (dataHome: string) => `
  import { open } from ${JSON.stringify(DOOR)}
  let ended = false
  process.stdin.on("data", () => {}).on("end", () => { ended = true })
  for (let n = 1; ; n++) {
    const db = open(${JSON.stringify(dataHome)}, "look", 2000)
    db.query("SELECT count(*) FROM turns").get()
    if (n === 1) console.log("begun")
    for (const end = performance.now() + 40; performance.now() < end; );
    db.close()
    await new Promise((done) => setImmediate(done))
    if (ended) { console.log("read", n); break }
  }`

  async function reading(dataHome: string) {
    const child = Bun.spawn([process.execPath, "-e", reader(dataHome)], {
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
    })
    const output = child.stdout.getReader()
    await output.read()
    return {
      async end() {
        child.stdin.end()
        return [await child.exited, await child.stderr.text()]
      },
    }
  }

  test("readers that come one after the other do not keep the views from being replaced", async () => {
    using folder = tempFolder()
    open(folder.path, "write", 0).close()
    const readers = await Promise.all(Array.from({ length: READERS }, () => reading(folder.path)))
    for (let n = 0; n < 3; n++) expect(alone(folder.path, 10_000, () => n)).toBe(n)
    for (const one of readers) expect(await one.end()).toEqual([0, ""])
  })

  test("somebody who has them for long keeps out who wants to be alone, and nobody else", () => {
    using folder = tempFolder()
    open(folder.path, "write", 0).close()
    const long = open(folder.path, "look", 0)
    expect(() => alone(folder.path, 1, () => 0)).toThrow("another process has the archive open")
    const other = open(folder.path, "look", 0)
    other.close()
    long.close()
    expect(alone(folder.path, 0, () => 1)).toBe(1)
  })

  test("a process that died while it waited keeps nobody out", () => {
    using folder = tempFolder()
    open(folder.path, "write", 0).close()
    const script = `
    import { openSync } from "node:fs"
    import { gatePath } from ${JSON.stringify(DOOR)}
    import { tryLock } from ${JSON.stringify(join(import.meta.dir, "../../../src/base/libc.ts"))}
    process.stdout.write(String(tryLock(openSync(gatePath(${JSON.stringify(folder.path)}), "a", 0o600))))
    process.kill(process.pid, "SIGKILL")`
    expect(Bun.spawnSync([process.execPath, "-e", script]).stdout.toString()).toBe("true")
    open(folder.path, "look", 0).close()
    const fd = openSync(lockPath(folder.path), "a")
    expect(lock(fd, 0)).toBe(true)
    closeSync(fd)
  })
})

/** Files that several processes write at once: what one adds while another replaces or removes is not lost. */
describe("at once", () => {
  setDefaultTimeout(60_000)

  const SOURCE = join(import.meta.dir, "../../../src")
  const dir = mkdtempSync(join(tmpdir(), "ctxbridge-at-once-"))
  afterAll(() => rmSync(dir, { recursive: true, force: true }))

  /** Another process; it has begun when this returns. */
  async function started(script: string) {
    const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "pipe" })
    await child.stdout.getReader().read()
    return child
  }

  const ended = async (child: Awaited<ReturnType<typeof started>>): Promise<void> => {
    expect([await child.exited, await child.stderr.text()]).toEqual([0, ""])
  }

  test("who changes files of sessions is alone, and waits for nobody for long", () => {
    const dataHome = join(dir, "alone")
    mkdirSync(sessionFolder(dataHome), { recursive: true })
    const other = openLock(join(dataHome, "sessions.lock"))
    expect(changingSessions(dataHome, () => tryLock(other))).toBe(false)
    expect(tryLock(other)).toBe(true)
    // One that was stopped while it was at it.
    writeState(dataHome, "s", { seenAt: 1 })
    changeState(dataHome, "s", { seenAt: 1 }, { seenAt: 2 })
    expect(readState(dataHome, "s")).toEqual({ seenAt: 2 })
    closeSync(other)
  })

  test("markers that come while the spool is emptied arrive", async () => {
    const paths = {
      home: dir,
      dataHome: join(dir, "data"),
      stateHome: join(dir, "state"),
      claudeDir: dir,
      named: () => undefined,
      claudeConfig: dir,
      configFile: join(dir, "none"),
      temporary: dir,
      secrets: FILTERED,
      exclude: [],
    }
    mkdirSync(paths.dataHome)
    const folder = spoolFolders(paths)[0]!
    expect(prepareSpool(folder)).toBe(true)
    const count = 300
    const child = await started(`
    import { spoolMarker } from ${JSON.stringify(join(SOURCE, "views/spool.ts"))}
    process.stdout.write("ready")
    for (let n = 0; n < ${count}; n++)
      spoolMarker(${JSON.stringify(paths)}, { path: "/p/" + n + ".jsonl", copy: "home/p/" + n + ".jsonl.zst", session: "s" + n })
  `)
    while (child.exitCode === null) {
      drainSpool(paths, Number.POSITIVE_INFINITY)
      await Bun.sleep(0)
    }
    await ended(child)
    // What killed processes have left keeps nothing there.
    prepareSpool(folder)
    for (const name of ["pending", "sessions"]) {
      mkdirSync(join(folder, name), { recursive: true })
      writeFileSync(join(folder, name, "half.json.4242"), "{")
    }
    drainSpool(paths, Number.POSITIVE_INFINITY)
    expect(listPending(paths.dataHome)).toHaveLength(count)
    expect(existsSync(folder)).toBe(false)
  })

  test("notes that come while others are taken out are kept", async () => {
    const dataHome = join(dir, "notes-home")
    mkdirSync(dataHome)
    const place = { dataHome, home: dir, secrets: FILTERED }
    const keep = (text: string): void =>
      keepNote(place, { text, project: "/p", folder: "/p", keptIn: undefined, now: 1_700_000_000_000 })
    const secret = `ghp_${"9fK2mQ7xW4".repeat(4)}`
    keep(`note ${secret}`)
    keep("note 0")
    const [name] = [...new Bun.Glob("*.jsonl").scanSync(join(dataHome, "notes"))]
    const path = join(dataHome, "notes", name!)
    // It puts back what the vault does not hold, so that it is taken out each time.
    const child = await started(`
    import { closeSync, openSync, writeSync } from "node:fs"
    import { followVault } from ${JSON.stringify(join(SOURCE, "views/kept-notes.ts"))}
    process.stdout.write("ready")
    setInterval(() => {
      const fd = openSync(${JSON.stringify(path)}, "r+")
      writeSync(fd, ${JSON.stringify(secret)}, ${readFileSync(path, "utf8").indexOf(secret)})
      closeSync(fd)
      followVault(${JSON.stringify(dataHome)})
    }, 1)
  `)
    for (let n = 1; n <= 60; n++) {
      keep(`note ${n}`)
      await Bun.sleep(0)
    }
    child.kill()
    await child.exited
    followVault(dataHome)
    const kept = contentOf(vaultFile(dataHome, vaultPath(path, "")))
    expect(kept.equals(readFileSync(path))).toBe(true)
    expect(kept.toString()).not.toContain(secret)
    for (let n = 0; n <= 60; n++) expect(kept.toString()).toContain(`"note ${n}"`)
  })
})

/** Indexing uses more statements than Bun keeps by default. None may be compiled twice. */
describe("statements", () => {
  /** What Bun keeps unless told otherwise. */
  const USUAL = 20
  const SESSIONS = 3

  test("an import compiles each statement once", () => {
    using folder = tempFolder()
    const paths = Array.from({ length: SESSIONS }, (_, n) => {
      const sessionId = `5e551011-0000-4000-8000-${String(n).padStart(12, "0")}`
      const session = { seed: n + 1, bytes: 200_000, sessionId, cwd: "/src/app", version: "2.1.229" }
      const path = join(folder.path, "projects", "app", `${sessionId}.jsonl`)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, [...generateTranscript(session)].join(""))
      return path
    })
    const places = { dataHome: join(folder.path, "archive"), home: folder.path, stateHome: folder.path }
    const place = { ...places, secrets: FILTERED, exclude: [] }
    /** By connection and text: Bun gives the same object again as long as it keeps the statement. */
    const compiled = new Map<Database, Map<string, Set<unknown>>>()
    const query = spyOn(Database.prototype, "query")
    try {
      const report = importTranscripts(place, paths, { dryRun: false, check: false })
      expect(report.ok).toBe(true)
      for (const [n, [sql]] of query.mock.calls.entries()) {
        const connection = query.mock.contexts[n] as Database
        const own = compiled.get(connection) ?? new Map<string, Set<unknown>>()
        compiled.set(connection, own.set(sql, (own.get(sql) ?? new Set()).add(query.mock.results[n]!.value)))
      }
    } finally {
      query.mockRestore()
    }
    const statements = [...compiled.values()]
    expect(Math.max(...statements.map(({ size }) => size))).toBeGreaterThan(USUAL)
    const again = statements.flatMap((own) => [...own].filter(([, made]) => made.size > 1))
    expect(again.map(([sql]) => sql)).toEqual([])
  })
})

/** Requests to the background job, while others change them. */
describe("requests", () => {
  setDefaultTimeout(60_000)

  const REQUESTS = join(import.meta.dir, "../../../src/job/requests.ts")

  test("a request that is taken away while the job takes it does not end the job", async () => {
    const dataHome = mkdtempSync(join(tmpdir(), "ctxbridge-requests-"))
    const script = `
    import { dropFromRequests, leaveRequest } from ${JSON.stringify(REQUESTS)}
    const dataHome = ${JSON.stringify(dataHome)}
    process.stdout.write("ready")
    for (let n = 0; ; n++) {
      leaveRequest(dataHome, { transcripts: ["/gone.jsonl", "/stays.jsonl"], sweep: [], settle: false })
      dropFromRequests(dataHome, (path) => path === "/gone.jsonl")
    }
  `
    const other = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "ignore" })
    try {
      await other.stdout.getReader().read()
      let taken = 0
      for (let n = 0; n < 20_000; n++) {
        for (const { request } of takeRequests(dataHome)) {
          taken++
          expect(request.transcripts).toContain("/stays.jsonl")
        }
      }
      expect(taken).toBeGreaterThan(0)
    } finally {
      other.kill()
      await other.exited
      rmSync(dataHome, { recursive: true })
    }
  })
})

describe("pending", () => {
  setDefaultTimeout(60_000)

  /**
   * Claims a marker and gives it back, over and over, as processes do that index the same copy by turns: none is done with
   * it before somebody who looks could look twice.
   */
  const CLAIMS = `
  const { renameSync } = require("node:fs")
  const [folder, name] = process.argv.slice(-2)
  const names = ["json", "1.json", "2.json"].map((end) => folder + "/" + name + "." + end)
  process.stdout.write("ready")
  for (let n = 0; ; n++) {
    renameSync(names[n % 3], names[(n + 1) % 3])
    for (const end = performance.now() + 0.05 * (1 + (n % 5)); performance.now() < end; ) {}
  }
`

  test("a copy that waits is listed, also while another process claims its marker", async () => {
    const dataHome = mkdtempSync(join(tmpdir(), "ctxbridge-pending-"))
    const waiting = { path: "/p/a.jsonl", copy: "home/p/a.jsonl.zst", session: "a" }
    try {
      mkdirSync(join(dataHome, "pending"))
      markPending(dataHome, waiting)
      const [marker = ""] = readdirSync(join(dataHome, "pending"))
      const other = Bun.spawn(
        [process.execPath, "-e", CLAIMS, join(dataHome, "pending"), marker.replace(/\.json$/, "")],
        { stdout: "pipe", stderr: "inherit" },
      )
      try {
        await other.stdout.getReader().read()
        for (let n = 0; n < 2000; n++) expect(listPending(dataHome)).toMatchObject([waiting])
      } finally {
        other.kill()
        await other.exited
      }
    } finally {
      rmSync(dataHome, { recursive: true })
    }
  })

  test("the list of all prompts comes after files beside transcripts, and what was rewritten before all", () => {
    const dataHome = mkdtempSync(join(tmpdir(), "ctxbridge-pending-"))
    const copies = [
      "home/p/s.~1.jsonl.zst",
      "home/p/s.jsonl.zst",
      "home/p/s/tool-results/b.txt.zst",
      "history/home.~1.jsonl.zst",
      "history/home.jsonl.zst",
    ]
    try {
      for (const copy of copies.toReversed()) markPending(dataHome, { path: "/p", copy, session: "s" })
      expect(pendingInOrder(dataHome).map(({ copy }) => copy)).toEqual(copies)
    } finally {
      rmSync(dataHome, { recursive: true })
    }
  })

  test("what is no marker is passed over", () => {
    const dataHome = mkdtempSync(join(tmpdir(), "ctxbridge-pending-"))
    try {
      mkdirSync(join(dataHome, "pending"))
      writeFileSync(join(dataHome, "pending", "half.json"), '{"path": "/p')
      writeFileSync(join(dataHome, "pending", "other.json"), '{"path": "/p", "copy": "c", "session": "s"}')
      expect(listPending(dataHome)).toEqual([])
    } finally {
      rmSync(dataHome, { recursive: true })
    }
  })
})
