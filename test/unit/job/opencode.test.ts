/** opencode's sessions in the vault: taken bit by bit or at once, from its database or its older files. */
import { Database } from "bun:sqlite"
import { describe, expect, test } from "bun:test"
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { recordsIn } from "../../../src/agents/agents.ts"
import { pieceIn, sha256Hex } from "../../../src/agents/opencode/opencode-lines.ts"
import { opencodeTranscript } from "../../../src/agents/opencode/opencode-places.ts"
import { transcriptFilesBelow } from "../../../src/job/find-transcripts.ts"
import { historyOf } from "../../../src/job/history-import.ts"
import { withStored } from "../../../src/job/import/opencode-store.ts"
import { takeOpencode } from "../../../src/job/import/take-opencode.ts"
import { hasNews } from "../../../src/job/import/taken-made.ts"
import { wouldTake } from "../../../src/job/import-file.ts"
import { vaultFile } from "../../../src/vault/layout.ts"
import { settlePending } from "../../../src/vault/pending.ts"
import { emptyTombstone, writeTombstone } from "../../../src/vault/tombstones.ts"
import { index } from "../../../src/views/indexing.ts"
import { linesFrom } from "../../../src/views/records.ts"
import { Archive } from "../../support/archive.ts"
import { holding } from "../../support/held.ts"
import { called, fullConversation, OpencodeStore, said, TOKENS } from "../../support/opencode-store.ts"
import { SHARED } from "../../support/real.ts"
import { limit } from "../../support/slowness.ts"
import { namedViews } from "../../support/views.ts"

const LATER = Date.UTC(2030, 0, 1)

const placeOf = (archive: Archive) => ({ dataHome: archive.dataHome, home: archive.root })
const made = (archive: Archive, more: object = {}, onChange?: OpencodeStore["onChange"]): OpencodeStore =>
  fullConversation(
    { data: join(archive.root, ".local/share"), cwd: join(archive.root, "p"), ...more },
    onChange,
  )

function follow(archive: Archive, path: string, now = LATER, more: object = {}) {
  const taken = takeOpencode({ ...placeOf(archive), ...more }, path, { now })
  archive.db.transaction(() => index(archive.db, archive.dataHome, taken, () => false)).immediate()
  settlePending(archive.dataHome, taken.copy)
  return taken
}

const linesOf = (archive: Archive, copy: string): string[] =>
  [...linesFrom(vaultFile(archive.dataHome, copy))].map(({ line }) => line)
const rows = (archive: Archive, sql: string): unknown[][] => archive.db.query(sql).values()

describe("the views of a session", () => {
  test("turns, calls, files, todos, tokens, title and boundary, each once", () => {
    using archive = new Archive()
    using store = made(archive)
    follow(archive, store.path)
    expect(
      rows(
        archive,
        "SELECT seq, via, prompt, answer, tools, errors FROM turns WHERE via <> 'none' ORDER BY seq",
      ),
    ).toEqual([
      [1, "typed", "Why does the kiln overheat? Never touch the boiler.", "Going on.", 4, 1],
      [2, "typed", "Now release the kiln.", "Released.", 0, 0],
    ])
    expect(rows(archive, "SELECT name, target, is_error, exit_code FROM tool_calls ORDER BY id")).toEqual([
      ["grep", "valve", 0, null],
      ["bash", "npm test", 1, 1],
      ["edit", "/p/src/valve.ts", 0, null],
      ["todowrite", "2 todos", 0, null],
    ])
    expect(rows(archive, "SELECT path, op FROM files WHERE op <> 'command'")).toEqual([
      ["/p/src/valve.ts", "edit"],
    ])
    expect(
      rows(archive, "SELECT model, sum(input), sum(cache_read), sum(output), count(*) FROM usage"),
    ).toEqual([["m1", 4200, 9800, 1050, 7]])
    expect(archive.count("boundaries WHERE trigger = 'auto'")).toBe(1)
    expect(rows(archive, "SELECT program, version, title, parent, todos FROM sessions")).toEqual([
      [
        "opencode",
        "1.18.33",
        "Kiln overheats",
        null,
        '[{"content":"Mend the valve","status":"completed"},{"content":"Test it","status":"in_progress"}]',
      ],
    ])
    expect(rows(archive, "SELECT text FROM notes WHERE kind = 'constraint'")).toEqual([
      ["Never touch the boiler."],
    ])
  })

  test("taken after each change, they are as if all had been taken at once", () => {
    using whole = new Archive()
    using all = made(whole)
    follow(whole, all.path)
    const wanted = namedViews(whole.db)
    using archive = new Archive()
    let path = opencodeTranscript(join(archive.root, ".local/share/opencode"), "ses_0001synthetic")
    using store = made(archive, {}, (now) => follow(archive, path, now))
    path = store.path
    const { copy } = follow(archive, path)
    const asWhole = (value: unknown) => JSON.parse(JSON.stringify(value).replaceAll(archive.root, whole.root))
    expect(asWhole(namedViews(archive.db))).toEqual(wanted)
    const bodies = (one: Archive) => linesOf(one, copy).map((line) => pieceIn(line)!.body)
    expect(asWhole(bodies(archive))).toEqual(bodies(whole))
  })

  test("a part that is nested beyond the stack is kept byte for byte, and the others are read", () => {
    using archive = new Archive()
    using store = made(archive)
    const deep = `${"[".repeat(50_000)}"valve"${"]".repeat(50_000)}`
    const part = store.db.query<{ id: string; data: string }, []>(
      `SELECT id, data FROM part WHERE json_extract(data, '$.tool') = 'bash' ORDER BY id LIMIT 1`,
    )
    const { id, data } = part.get()!
    store.db
      .query("UPDATE part SET data = ? WHERE id = ?")
      .run(data.replace('"input":{', `"input":{"deep":${deep},`), id)
    const { copy } = follow(archive, store.path)
    const line = linesOf(archive, copy).find((one) => one.includes(`"row":"${id}"`))!
    expect(line).toContain(`"deep":${deep}`)
    expect(rows(archive, "SELECT name, target FROM tool_calls ORDER BY id")).toContainEqual([
      "bash",
      "npm test",
    ])
    expect(follow(archive, store.path, LATER).captured.taken).toBe(0)
  }, 60_000)

  test("a call that has no time leaves the rest to the next one: each line once, as if all had been taken at once", () => {
    using archive = new Archive()
    using store = made(archive)
    for (let n = 1; n <= 30; n++) store.prompt(`Step ${n}`).answer(`${n} ${"said at length. ".repeat(8000)}`)
    using whole = new Archive()
    const all = takeOpencode(placeOf(whole), store.path, { now: LATER })
    const bytes = all.captured.taken
    const hurried = () =>
      takeOpencode(placeOf(archive), store.path, { now: LATER, deadline: performance.now() - 1 })
    const first = hurried()
    expect(first.captured).toMatchObject({ state: "behind", archived: first.captured.taken })
    expect(first.captured.taken).toBeGreaterThan(0)
    expect(first.captured.taken).toBeLessThan(bytes / 2)
    // Not even what the copy holds is read in no time.
    expect(hurried().captured).toMatchObject({ state: "behind", taken: 0 })
    expect(hasNews(placeOf(archive), store.path, 0)).toBe(true)
    const rest = takeOpencode(placeOf(archive), store.path, { now: LATER })
    expect(rest.captured).toMatchObject({ state: "current", taken: bytes - first.captured.taken })
    expect(linesOf(archive, rest.copy)).toEqual(linesOf(whole, all.copy))
  })

  test("while another process holds the copy, a call with little time does not wait for it, and takes it later", async () => {
    using archive = new Archive()
    using store = made(archive)
    const { copy } = takeOpencode(placeOf(archive), store.path, { now: LATER })
    store.answer("And on.")
    const hurried = { now: LATER, deadline: performance.now() + 50 }
    const held = await holding(dirname(vaultFile(archive.dataHome, copy)), basename(copy), async () =>
      takeOpencode(placeOf(archive), store.path, hurried),
    )
    expect(held.captured).toMatchObject({ state: "behind", taken: 0 })
    expect(performance.now() - hurried.deadline).toBeLessThan(limit(2000))
    follow(archive, store.path)
    expect(linesOf(archive, copy).join()).toContain("And on.")
  })

  test("a name that comes later is a line more, and the session's name", () => {
    using archive = new Archive()
    using store = new OpencodeStore({ data: archive.root, cwd: archive.root })
    store.prompt("Go").answer("Gone")
    follow(archive, store.path)
    store.name("Kiln").answer("Still gone")
    const { copy } = follow(archive, store.path)
    expect(rows(archive, "SELECT title FROM sessions")).toEqual([["Kiln"]])
    const heads = linesOf(archive, copy).filter((line) => line.startsWith('{"opencode":"session"'))
    expect(heads.map((line) => JSON.parse(line).again)).toEqual([undefined, true])
  })

  test("in a session that another one has started, no human speaks", () => {
    using archive = new Archive()
    using store = made(archive, { session: "ses_0002child", parent: "ses_0001synthetic" })
    follow(archive, store.path)
    expect(rows(archive, "SELECT DISTINCT via, origin FROM turns")).toEqual([["brief", "assistant"]])
    expect(rows(archive, "SELECT parent, agent FROM sessions")).toEqual([["ses_0001synthetic", "general"]])
    expect(archive.count("messages WHERE role = 'human'")).toBe(0)
  })
})

test("what a fork has copied counts once, and is the other session's", () => {
  using archive = new Archive()
  using store = made(archive)
  follow(archive, store.path)
  const tables = ["turns", "messages", "tool_calls", "usage", "boundaries", "files", "notes"]
  const counts = () => tables.map((table) => [table, archive.count(table)])
  const before = counts()
  using forked = store.fork({
    data: join(archive.root, ".local/share"),
    cwd: "/p",
    session: "ses_0005forked",
  })
  follow(archive, forked.path)
  expect(counts()).toEqual(before)
  expect(rows(archive, "SELECT child, parent, kind FROM lineage")).toEqual([
    [forked.session, store.session, "fork"],
  ])
  forked.prompt("And the boiler?").answer("It is warm.")
  follow(archive, forked.path, LATER + 1000)
  expect(rows(archive, `SELECT prompt, answer FROM turns WHERE session = '${forked.session}'`)).toEqual([
    ["And the boiler?", "It is warm."],
  ])
  expect(archive.count(`usage WHERE session = '${forked.session}'`)).toBe(1)
})

describe("rows that change", () => {
  test("what was told first stays in the views, and every version in the vault", () => {
    using archive = new Archive()
    using store = new OpencodeStore({ data: archive.root, cwd: archive.root })
    store.prompt("Read the list")
    const message = store.begin()
    const part = store.part(message, called("bash", { command: "cat list" }, "zinnia\n", { exit: 0 }))
    store.finish(message)
    const { copy } = follow(archive, store.path)
    const before = linesOf(archive, copy)
    const data = store.data("part", part) as { state: { time: object } }
    const state = { ...data.state, output: "[Old tool result content cleared]" }
    store.change("part", part, { ...data, state })
    follow(archive, store.path, LATER + 1000)
    const after = linesOf(archive, copy)
    expect(after.slice(0, before.length)).toEqual(before)
    expect(after.slice(before.length).map((line) => JSON.parse(line))).toMatchObject([
      { opencode: "result", row: `${part} result`, again: true, data: { state: { output: state.output } } },
    ])
    expect(archive.count("tool_calls")).toBe(1)
    expect(archive.count("messages WHERE role = 'tool'")).toBe(1)
    // Nothing more comes of it.
    expect(follow(archive, store.path, LATER + 2000).captured.taken).toBe(0)
  })

  test("a message that is being written waits until it is whole, or nobody writes it any more", () => {
    using archive = new Archive()
    using store = new OpencodeStore({ data: archive.root, cwd: archive.root, start: LATER })
    store.prompt("Go")
    const message = store.begin()
    store.part(message, { type: "text", text: "Half", time: { start: 1 } })
    const take = (now: number) => takeOpencode(placeOf(archive), store.path, { now })
    const first = take(LATER + 20_000)
    const kinds = () => linesOf(archive, first.copy).map((line) => JSON.parse(line).opencode)
    expect(kinds()).toEqual(["session", "part", "message", "part"])
    expect(hasNews(placeOf(archive), store.path, LATER)).toBe(true)
    expect(take(LATER + 60_000).captured.taken).toBe(0)
    take(LATER + 60 * 60_000)
    expect(kinds()).toEqual(["session", "part", "message", "part", "part", "message"])
    expect(hasNews(placeOf(archive), store.path, LATER)).toBe(false)
  })

  test("the end of an answer that took long completes what was taken as a half", () => {
    using archive = new Archive()
    using store = new OpencodeStore({ data: archive.root, cwd: archive.root, start: LATER })
    store.prompt("Why does the kiln overheat?")
    const message = store.begin()
    const part = store.part(message, { type: "text", text: "The valve", time: { start: 1 } })
    follow(archive, store.path, LATER + 60 * 60_000)
    const half = rows(archive, "SELECT prompt, answer FROM turns")
    // opencode writes no row of the session when an answer ends.
    const told = rows(archive, "SELECT 1 FROM usage")
    const later = LATER + 61 * 60_000
    const change = (table: "message" | "part", id: string, data: object): void =>
      void store.db
        .query(`UPDATE ${table} SET data = ?, time_updated = ? WHERE id = ?`)
        .run(JSON.stringify(data), later, id)
    const before = store.data("message", message) as { time: object }
    const text = "The valve sticks below zero."
    change("part", part, { type: "text", text, time: { start: 1, end: 2 } })
    change("message", message, { ...before, tokens: TOKENS, time: { ...before.time, completed: later } })
    expect(transcriptFilesBelow(store.folder)).toMatchObject([{ changed: later }])
    const { copy } = follow(archive, store.path, later)
    expect([half, told]).toEqual([[["Why does the kiln overheat?", "The valve"]], []])
    expect(rows(archive, "SELECT prompt, answer FROM turns")).toEqual([["Why does the kiln overheat?", text]])
    expect(rows(archive, "SELECT input, output FROM usage")).toEqual([[600, 150]])
    const flags = linesOf(archive, copy).map((line) => /^(?:.*?)"(open|whole|again)":true/.exec(line)?.[1])
    expect(flags).toEqual([undefined, undefined, undefined, undefined, "open", "open", "whole", "whole"])
    // What opencode clears afterwards changes nothing any more.
    change("part", part, { type: "text", text: "", time: { start: 1, end: 2 } })
    follow(archive, store.path, later + 1)
    expect(rows(archive, "SELECT answer FROM turns")).toEqual([[text]])
  })

  test("an answer whose own rows change is not over, however old the time of its session is", () => {
    using archive = new Archive()
    using store = new OpencodeStore({ data: archive.root, cwd: archive.root, start: LATER })
    store.prompt("Go")
    const message = store.begin()
    const part = store.part(message, { type: "text", text: "Half", time: { start: 1 } })
    const now = LATER + 60 * 60_000
    store.db.query("UPDATE part SET time_updated = ? WHERE id = ?").run(now - 1000, part)
    const { copy } = takeOpencode(placeOf(archive), store.path, { now })
    expect(linesOf(archive, copy).join()).not.toContain("Half")
  })

  test("a prompt that waits while the model works does not end its work", () => {
    using archive = new Archive()
    using store = new OpencodeStore({ data: archive.root, cwd: archive.root, start: LATER })
    store.prompt("Go")
    const message = store.begin()
    store.prompt("And then rest")
    const now = LATER + 30_000
    const { copy } = takeOpencode(placeOf(archive), store.path, { now })
    store.part(message, said("Gone"))
    store.finish(message).answer("Rested")
    takeOpencode(placeOf(archive), store.path, { now: now + 30_000 })
    const texts = linesOf(archive, copy).flatMap((line) => JSON.parse(line).data.text ?? [])
    expect(texts).toEqual(["Go", "Gone", "And then rest", "Rested"])
  })

  test("only rows of messages that have changed are read again", () => {
    using archive = new Archive()
    using store = made(archive)
    follow(archive, store.path, LATER)
    // Whoever read it once more would append it.
    store.db.run(
      `UPDATE part SET data = '{"type":"text","text":"unseen"}' WHERE id = (SELECT min(id) FROM part)`,
    )
    store.pause().answer("More.")
    const { copy } = follow(archive, store.path, LATER + 1000)
    const text = linesOf(archive, copy).join("\n")
    expect(text).toContain("More.")
    expect(text).not.toContain("unseen")
  })
})

describe("what must not be kept", () => {
  const SECRET = "Zx81quokkaLamp77wren"

  test("secrets are filled before anything is written, also where they come up again later", () => {
    using archive = new Archive()
    using store = new OpencodeStore({ data: archive.root, cwd: archive.root })
    store.prompt(`export DB_PASSWORD=${SECRET}`).answer("Thanks.")
    const { copy } = follow(archive, store.path)
    // Only known by what was said before: no format tells it.
    store.prompt(`printed: ${SECRET}`).answer("Seen.")
    follow(archive, store.path, LATER + 1000)
    const text = linesOf(archive, copy).join("\n")
    expect(text).not.toContain(SECRET)
    expect(text).toContain("printed: ***")
    expect(follow(archive, store.path, LATER + 2000).captured.taken).toBe(0)
  })

  test("also where so much lies between that it is taken in several goes", () => {
    using archive = new Archive()
    using store = new OpencodeStore({ data: archive.root, cwd: archive.root })
    store.prompt(`export DB_PASSWORD=${SECRET}`).answer("Thanks. ".repeat(600_000))
    store.prompt("More").answer("Thanks. ".repeat(600_000))
    store.prompt(`printed: ${SECRET}`).answer("Seen.")
    const { copy } = follow(archive, store.path)
    const text = linesOf(archive, copy).join("\n")
    expect(text).not.toContain(SECRET)
    expect(text).toContain("printed: ***")
  })

  test("ids and hashes of lines are no secrets", () => {
    using archive = new Archive()
    using store = made(archive)
    const { copy } = follow(archive, store.path)
    const lines = linesOf(archive, copy)
    for (const line of lines) {
      const piece = pieceIn(line)
      expect(piece === undefined ? line : sha256Hex(piece.body)).toBe(piece?.sha256 ?? "")
    }
    expect(lines.length).toBeGreaterThan(40)
  })

  test("a forgotten session and one of an excluded folder are left out", () => {
    using archive = new Archive()
    using store = made(archive)
    const excluded = takeOpencode(
      { ...placeOf(archive), exclude: [join(archive.root, "p")], secrets: { enabled: true, patterns: [] } },
      store.path,
      { now: LATER },
    )
    expect(excluded).toMatchObject({ isExcluded: true, captured: { taken: 0 } })
    writeTombstone(archive.dataHome, { ...emptyTombstone(store.session, 1), whole: true })
    expect(takeOpencode(placeOf(archive), store.path, { now: LATER }).captured).toMatchObject({
      state: "forgotten",
      taken: 0,
    })
    expect(existsSync(vaultFile(archive.dataHome, "opencode"))).toBe(false)
    const place = { claudeDir: archive.root, named: () => undefined }
    const historyWith = (exclude: string[]) => historyOf({ ...placeOf(archive), ...place, exclude })
    expect(historyWith([])).toMatchObject({ transcripts: 0, left: 0 })
    rmSync(join(archive.dataHome, "forgotten"), { recursive: true, force: true })
    expect(historyWith([join(archive.root, "p")])).toMatchObject({ transcripts: 0, left: 0 })
  })
})

describe("places", () => {
  test("its database is read while it is written, and nothing beside it is changed or made", () => {
    using archive = new Archive()
    using store = made(archive)
    const listed = readdirSync(store.folder)
    store.db.run("BEGIN IMMEDIATE")
    expect(follow(archive, store.path).captured.taken).toBeGreaterThan(1000)
    store.db.run("COMMIT")
    expect(readdirSync(store.folder)).toEqual(listed)
    store.db.close()
    rmSync(`${store.file}-wal`, { force: true })
    rmSync(`${store.file}-shm`, { force: true })
    const atRest = readFileSync(store.file)
    using other = new Archive()
    follow(other, store.path)
    expect(readdirSync(store.folder)).toEqual(["opencode.db"])
    expect(readFileSync(store.file)).toEqual(atRest)
  })

  test("no database is made where there is none, and one that is not opencode's is told", () => {
    using archive = new Archive()
    const folder = join(archive.root, "opencode")
    const path = opencodeTranscript(folder, "ses_1")
    expect(transcriptFilesBelow(folder)).toEqual([])
    expect(takeOpencode(placeOf(archive), path, { now: LATER }).captured.state).toBe("missing")
    expect(existsSync(folder)).toBe(false)
    mkdirSync(folder)
    new Database(join(folder, "opencode.db")).run("CREATE TABLE session (id text)")
    expect(() => takeOpencode(placeOf(archive), path, { now: LATER })).toThrow("not as opencode has it")
  })

  test("a database that cannot be read hides no session of the others, and says why itself", () => {
    using archive = new Archive()
    using store = made(archive)
    const [garbage, newer] = ["opencode-dev.db", "opencode-next.db"].map((name) => join(store.folder, name))
    writeFileSync(garbage!, "no database at all ".repeat(100))
    using other = new Database(newer!)
    other.run("CREATE TABLE session_v2 (id text)")
    const unreadable: string[] = []
    const found = transcriptFilesBelow(store.folder, { onUnreadable: (path) => unreadable.push(path) })
    expect(found.map(({ path }) => path)).toEqual([store.path])
    expect(unreadable.sort()).toEqual([garbage!, newer!])
    expect(follow(archive, store.path).captured.taken).toBeGreaterThan(1000)
    const place = { ...placeOf(archive), stateHome: archive.root, secrets: { enabled: true, patterns: [] } }
    const errorOf = (path: string) => wouldTake({ ...place, exclude: [] }, path).error
    expect(errorOf(garbage!)).toContain("file is not a database")
    expect(errorOf(newer!)).toContain("not as opencode has it")
    // Where it is in no other, nobody knows whether it is gone.
    const unknown = opencodeTranscript(store.folder, "ses_9")
    expect(() => takeOpencode(placeOf(archive), unknown, { now: LATER })).toThrow()
  })

  test("of a session in two databases, the one that was changed last counts", () => {
    using archive = new Archive()
    const data = join(archive.root, "data")
    using older = new OpencodeStore({ data, cwd: archive.root })
    older.prompt("Begin")
    older.db.run("PRAGMA wal_checkpoint(TRUNCATE)")
    cpSync(older.file, join(older.folder, "opencode-dev.db"))
    using newer = new Database(join(older.folder, "opencode-dev.db"))
    newer.run("UPDATE part SET data = replace(data, 'Begin', 'Begin anew')")
    newer.run("UPDATE session SET time_updated = time_updated + 5")
    const [listed] = transcriptFilesBelow(older.folder)
    expect(listed!.changed).toBe(
      newer.query<{ t: number }, []>("SELECT time_updated AS t FROM session").get()!.t,
    )
    follow(archive, older.path)
    expect(rows(archive, "SELECT prompt FROM turns")).toEqual([["Begin anew"]])
  })

  test("a database that is open is in use, although its log is empty", () => {
    using archive = new Archive()
    using store = made(archive)
    store.db.run("PRAGMA wal_checkpoint(TRUNCATE)")
    // What comes now is in the log only, which a copy taken as at rest does not have.
    withStored(store.folder, store.session, (session) => {
      store.prompt("Said meanwhile")
      const texts = [...session!.messagesSince(0)].flatMap(({ parts }) =>
        parts.map(({ data }) => String(data)),
      )
      expect(texts.join()).toContain("Said meanwhile")
    })
  })

  test("files of older versions are the same session as its rows", () => {
    using archive = new Archive()
    const storage = join(archive.root, "opencode/storage")
    const write = (path: string, value: object): void => {
      mkdirSync(join(storage, path, ".."), { recursive: true })
      writeFileSync(join(storage, path), JSON.stringify(value))
    }
    const time = { created: 1_700_000_000_000, updated: 1_700_000_001_000 }
    write("session/p/ses_old.json", { id: "ses_old", directory: "/p", title: "Old", version: "0.9", time })
    write("message/ses_old/msg_1.json", { id: "msg_1", sessionID: "ses_old", role: "user", time })
    write("part/msg_1/prt_1.json", { id: "prt_1", messageID: "msg_1", type: "text", text: "Mend it" })
    const folder = join(archive.root, "opencode")
    expect(transcriptFilesBelow(folder)).toEqual([
      { path: opencodeTranscript(folder, "ses_old"), bytes: 0, changed: time.updated },
    ])
    follow(archive, opencodeTranscript(folder, "ses_old"))
    expect(rows(archive, "SELECT prompt, started FROM turns")).toEqual([
      ["Mend it", "2023-11-14T22:13:20.000Z"],
    ])
  })
})

const samples = join(SHARED, "samples/agents/opencode")

test.skipIf(!existsSync(samples))(
  "every row of real stores is decoded (needs samples beside the checkout)",
  () => {
    for (const name of readdirSync(samples)) {
      using archive = new Archive()
      const folder = join(archive.root, "opencode")
      mkdirSync(folder)
      if (name.endsWith(".sql"))
        new Database(join(folder, "opencode.db")).run(readFileSync(join(samples, name), "utf8"))
      else if (name.endsWith("-storage")) {
        for (const one of readdirSync(join(samples, name)))
          cpSync(join(samples, name, one), join(folder, "storage"), { recursive: true })
      } else continue
      const found = transcriptFilesBelow(folder)
      expect(found.length).toBeGreaterThan(0)
      for (const { path } of found) {
        const { copy } = follow(archive, path)
        const lines = linesOf(archive, copy)
        const texts = lines.flatMap((line) => {
          const [one] = recordsIn(Buffer.from(line))
          expect(one!.record).toMatchObject({ program: "opencode" })
          expect(one!.record.type).not.toMatch(/^(?:malformed|unknown|part\/unknown)/)
          return one!.record.parts.flatMap((part) => ("text" in part ? part.text : []))
        })
        expect(texts.length).toBeGreaterThan(1)
      }
      expect(archive.count("turns WHERE via = 'typed'")).toBeGreaterThan(0)
    }
  },
)
