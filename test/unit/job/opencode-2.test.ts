/** Sessions of opencode 2, which has other tables than opencode 1, in the same database or in one of its own. */
import { Database } from "bun:sqlite"
import { expect, test } from "bun:test"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { opencodeTranscript } from "../../../src/agents/opencode/opencode-places.ts"
import { transcriptFilesBelow } from "../../../src/job/find-transcripts.ts"
import { takeOpencode } from "../../../src/job/import/take-opencode.ts"
import { settlePending } from "../../../src/vault/pending.ts"
import { index } from "../../../src/views/indexing.ts"
import { Archive } from "../../support/archive.ts"
import { called, OpencodeStore, said } from "../../support/opencode-store.ts"
import { namedViews } from "../../support/views.ts"

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS session_v2 (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, fork_session_id text,
    slug text NOT NULL, directory text NOT NULL, title text, version text NOT NULL, revert text, agent text, model text,
    time_created integer NOT NULL, time_updated integer NOT NULL);
  CREATE TABLE IF NOT EXISTS session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL,
    seq integer NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL)`

const SESSION = "ses_0002synthetic"
const LATER = Date.UTC(2030, 0, 1)
const TOKENS = { input: 600, output: 50, reasoning: 100, cache: { read: 1400, write: 0 } }
const MODEL = { id: "m2", providerID: "mock" }

class Store2 implements Disposable {
  readonly db: Database
  readonly path: string
  readonly #session: string
  onChange: () => void = () => {}
  #clock = Date.UTC(2026, 8, 9, 10)
  #seq = 0

  constructor(root: string, session = SESSION, file = "opencode.db") {
    const folder = join(root, ".local/share/opencode")
    mkdirSync(folder, { recursive: true })
    this.db = new Database(join(folder, file))
    this.db.run(SCHEMA)
    this.#session = session
    this.path = opencodeTranscript(folder, session)
    this.db
      .query(
        `INSERT INTO session_v2 (id, project_id, slug, directory, title, version, time_created, time_updated)
         VALUES (?, 'global', 'otter', ?, 'Kiln overheats', '2.0.3', ?, ?)`,
      )
      .run(session, join(root, "p"), this.#clock, this.#clock)
  }

  [Symbol.dispose](): void {
    this.db.close()
  }

  get time(): number {
    return this.#clock
  }

  row(type: string, data: object, id = `msg_${this.#session.slice(4, 8)}${this.#seq}`): string {
    this.#clock += 1000
    const now = this.#clock
    const all = { time: { created: now, completed: now + 500 }, ...data }
    this.db
      .query("INSERT INTO session_message VALUES (?, ?, ?, ?, ?, ?, ?)")
      .run(id, this.#session, type, ++this.#seq, now, now, JSON.stringify(all))
    this.#touch()
    return id
  }

  change(id: string, data: object): void {
    this.#clock += 1000
    this.db
      .query("UPDATE session_message SET data = ?, time_updated = ? WHERE id = ?")
      .run(JSON.stringify(data), this.#clock, id)
    this.#touch()
  }

  #touch(): void {
    this.db.query("UPDATE session_v2 SET time_updated = ? WHERE id = ?").run(this.#clock, this.#session)
    this.onChange()
  }

  assistant(content: readonly object[], more: object = {}): string {
    return this.row("assistant", {
      agent: "build",
      model: MODEL,
      content,
      tokens: TOKENS,
      cost: 0.01,
      ...more,
    })
  }
}

const tool = (name: string, input: object, text: string, more: object = {}) => ({
  type: "tool",
  id: "call_1",
  name,
  state: { status: "completed", input, content: [{ type: "text", text }], structured: {}, ...more },
})

/** With each kind of row. */
function conversation(root: string, onChange?: (store: Store2) => void): Store2 {
  const store = new Store2(root)
  store.onChange = () => onChange?.(store)
  store.row("model-switched", { model: MODEL })
  store.row("agent-switched", { agent: "build" })
  store.row("system", { text: "Zeppelins are allowed." })
  const files = [{ data: "aGVsbG8=", mime: "image/png", name: "kiln.png", source: { type: "inline" } }]
  store.row("user", { text: "Why does the kiln overheat?", files, skills: [{ text: "Skilled zeppelins." }] })
  store.assistant([
    { type: "reasoning", text: "The valve, perhaps." },
    { type: "text", text: "I look." },
    { type: "text", text: "I look again." },
    tool("grep", { pattern: "valve" }, "src/valve.ts"),
  ])
  store.assistant([
    tool("shell", { command: "npm test" }, "", { status: "error", error: { message: "valve stuck" } }),
  ])
  store.row("synthetic", { text: "Synthetic zeppelins." })
  store.row("skill", { skill: "s", text: "More zeppelins." })
  store.row("compaction", { reason: "auto", status: "completed", summary: "The valve sticks.", recent: "…" })
  store.row("compaction", { reason: "auto", status: "failed" })
  store.row("shell", { callID: "c2", command: "ls", output: { output: "kiln.ts", exit: 0 } })
  store.row("location-switched", { location: { directory: "/q" } })
  store.row("idle", {})
  store.row("novelty", { text: "Unheard of." })
  store.assistant([{ type: "text", text: "It opens slowly now." }])
  return store
}

function follow(archive: Archive, path: string, now = LATER) {
  const taken = takeOpencode({ dataHome: archive.dataHome, home: archive.root }, path, { now })
  archive.db.transaction(() => index(archive.db, archive.dataHome, taken, () => false)).immediate()
  settlePending(archive.dataHome, taken.copy)
  return taken
}

const rows = (archive: Archive, sql: string): unknown[][] => archive.db.query(sql).values()

test("turns, calls, tokens, title and boundary of each kind of row", () => {
  using archive = new Archive()
  using store = conversation(archive.root)
  follow(archive, store.path)
  expect(
    rows(archive, "SELECT prompt, answer, tools, errors FROM turns WHERE via <> 'none' ORDER BY seq"),
  ).toEqual([
    ["Why does the kiln overheat?", "I look again.", 2, 1],
    ["!ls", "It opens slowly now.", 1, 0],
  ])
  expect(rows(archive, "SELECT name, target, is_error FROM tool_calls ORDER BY id")).toEqual([
    ["grep", "valve", 0],
    ["shell", "npm test", 1],
    ["bash", "ls", 0],
  ])
  expect(rows(archive, "SELECT model, sum(input), sum(cache_read), sum(output) FROM usage")).toEqual([
    ["m2", 1800, 4200, 450],
  ])
  expect(archive.count("boundaries WHERE trigger = 'auto'")).toBe(1)
  expect(rows(archive, "SELECT program, version, title FROM sessions")).toEqual([
    ["opencode", "2.0.3", "Kiln overheats"],
  ])
})

test("taken after each change, they are as if all had been taken at once", () => {
  using whole = new Archive()
  using bitwise = new Archive()
  using all = conversation(whole.root)
  follow(whole, all.path)
  using _store = conversation(bitwise.root, (store) => follow(bitwise, store.path, store.time))
  follow(bitwise, _store.path)
  const views = (archive: Archive) => JSON.stringify(namedViews(archive.db)).replaceAll(archive.root, "ROOT")
  expect(views(bitwise)).toBe(views(whole))
  expect(follow(bitwise, _store.path).captured.taken).toBe(0)
})

test("an answer that grows in its row is told once it is whole", () => {
  using archive = new Archive()
  using store = new Store2(archive.root)
  store.row("user", { text: "Why?" })
  const time = { created: store.time + 1000 }
  const running = {
    type: "tool",
    id: "c",
    name: "shell",
    state: { status: "running", input: { command: "make" } },
  }
  const about = { agent: "build", model: MODEL }
  const id = store.assistant([{ type: "text", text: "I ma" }], { ...about, time })
  follow(archive, store.path, store.time)
  store.change(id, { ...about, time, content: [{ type: "text", text: "I make it." }, running] })
  follow(archive, store.path, store.time)
  const done = {
    ...running,
    state: { ...running.state, status: "completed", content: [{ type: "text", text: "made" }] },
  }
  const content = [{ type: "text", text: "I make it." }, done, { type: "text", text: "It is made." }]
  store.change(id, { ...about, content, time: { ...time, completed: store.time } })
  follow(archive, store.path, store.time)
  expect(rows(archive, "SELECT prompt, answer, tools FROM turns WHERE via <> 'none'")).toEqual([
    ["Why?", "It is made.", 1],
  ])
  expect(archive.count("tool_calls")).toBe(1)
})

test("beside opencode 1: each session is listed once, and what both have of one counts once", () => {
  using archive = new Archive()
  const cwd = join(archive.root, "p")
  using old = new OpencodeStore({ data: join(archive.root, ".local/share"), cwd, session: SESSION })
  old
    .prompt("Why does the kiln overheat?")
    .assistant([said("The valve."), called("grep", { pattern: "v" }, "x")])
  follow(archive, old.path)
  using store = new Store2(archive.root)
  const ids = old.db.query<{ id: string; data: string }, []>("SELECT id, data FROM message ORDER BY id").all()
  store.row("user", { ...JSON.parse(ids[0]!.data), text: "Why does the kiln overheat?" }, ids[0]!.id)
  store.assistant([{ type: "text", text: "The valve." }], JSON.parse(ids[1]!.data))
  store.db.query("UPDATE session_message SET id = ? WHERE seq = 2").run(ids[1]!.id)
  store.row("user", { text: "Mend it." })
  store.assistant([{ type: "text", text: "Mended." }])
  using other = new Store2(archive.root, "ses_0003synthetic")
  other.row("user", { text: "Paint it." })
  const listed = transcriptFilesBelow(join(archive.root, ".local/share/opencode")).map(({ path }) => path)
  expect(listed.sort()).toEqual([store.path, other.path])
  follow(archive, store.path)
  expect(rows(archive, "SELECT prompt, answer FROM turns WHERE via <> 'none' ORDER BY seq")).toEqual([
    ["Why does the kiln overheat?", "The valve."],
    ["Mend it.", "Mended."],
  ])
  expect(archive.count("tool_calls")).toBe(1)
})
