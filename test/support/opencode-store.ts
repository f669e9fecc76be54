/** A database like opencode's, in which a conversation is written step by step. */
import { Database } from "bun:sqlite"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { opencodeTranscript } from "../../src/agents/opencode/opencode-places.ts"

const SCHEMA = `
  CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text NOT NULL,
    directory text NOT NULL, title text NOT NULL, version text NOT NULL, cost real DEFAULT 0 NOT NULL,
    tokens_input integer DEFAULT 0 NOT NULL, agent text, model text, time_created integer NOT NULL,
    time_updated integer NOT NULL, time_compacting integer, time_archived integer);
  CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
    time_updated integer NOT NULL, data text NOT NULL);
  CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
    time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
  CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
  CREATE INDEX part_message_id_id_idx ON part (message_id, id);
  CREATE INDEX part_session_idx ON part (session_id);
`

/** Tokens of a step, as opencode tells them. */
export const TOKENS = { total: 2150, input: 600, output: 50, reasoning: 100, cache: { read: 1400, write: 0 } }

interface StoreOptions {
  /** Where XDG_DATA_HOME is, or would be. */
  readonly data: string
  readonly cwd: string
  readonly session?: string
  readonly parent?: string
  /** ms since the epoch. */
  readonly start?: number
}

export class OpencodeStore {
  readonly folder: string
  readonly file: string
  readonly session: string
  /** Where its transcript would be if it were a file. */
  readonly path: string
  readonly db: Database
  /** Called after each change, with the time. */
  onChange: (now: number) => void = () => {}
  #clock: number
  #ids = 0
  #prompt = ""

  constructor({
    data,
    cwd,
    session = "ses_0001synthetic",
    parent,
    start = Date.UTC(2026, 4, 4, 10),
  }: StoreOptions) {
    this.folder = join(data, "opencode")
    mkdirSync(this.folder, { recursive: true })
    this.file = join(this.folder, "opencode.db")
    this.session = session
    this.path = opencodeTranscript(this.folder, session)
    this.#clock = start
    this.db = new Database(this.file)
    this.db.run("PRAGMA journal_mode = WAL")
    if (this.db.query("SELECT 1 FROM sqlite_schema WHERE name = 'session'").get() === null)
      this.db.run(SCHEMA)
    const now = this.#tick()
    this.db
      .query(
        `INSERT INTO session (id, project_id, parent_id, slug, directory, title, version, agent, time_created, time_updated)
         VALUES (?, 'global', ?, 'quiet-otter', ?, ?, '1.18.33', ?, ?, ?)`,
      )
      .run(
        session,
        parent ?? null,
        cwd,
        parent === undefined ? "New session - 2026-05-04T10:00:00.000Z" : "Look around (@general subagent)",
        parent === undefined ? "build" : "general",
        now,
        now,
      )
  }

  [Symbol.dispose](): void {
    this.db.close()
  }

  #tick(): number {
    this.#clock += 1000
    return this.#clock
  }

  /** Ids grow with time, as opencode's do. */
  #id(kind: string): string {
    return `${kind}_${this.session.slice(4, 8)}${String(++this.#ids).padStart(8, "0")}`
  }

  touch(): this {
    this.db.query("UPDATE session SET time_updated = ? WHERE id = ?").run(this.#tick(), this.session)
    this.onChange(this.#clock)
    return this
  }

  /** An hour in which nothing happens. */
  pause(): this {
    this.#clock += 60 * 60_000
    return this
  }

  name(title: string): this {
    this.db.query("UPDATE session SET title = ? WHERE id = ?").run(title, this.session)
    return this.touch()
  }

  message(data: object): string {
    const id = this.#id("msg")
    const now = this.#tick()
    this.db
      .query("INSERT INTO message VALUES (?, ?, ?, ?, ?)")
      .run(id, this.session, now, now, JSON.stringify({ time: { created: now }, ...data }))
    this.touch()
    return id
  }

  part(message: string, data: object): string {
    const id = this.#id("prt")
    const now = this.#tick()
    this.db
      .query("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)")
      .run(id, message, this.session, now, now, JSON.stringify(data))
    this.touch()
    return id
  }

  /** Changes a row in place. */
  change(table: "message" | "part", id: string, data: object): void {
    this.db
      .query(`UPDATE ${table} SET data = ?, time_updated = ? WHERE id = ?`)
      .run(JSON.stringify(data), this.#tick(), id)
    this.touch()
  }

  data(table: "message" | "part", id: string): Record<string, unknown> {
    const row = this.db.query<{ data: string }, [string]>(`SELECT data FROM ${table} WHERE id = ?`).get(id)
    return JSON.parse(row!.data)
  }

  user(...parts: object[]): string {
    const id = this.message({ role: "user", agent: "build", model: { providerID: "mock", modelID: "m1" } })
    for (const part of parts) this.part(id, part)
    this.#prompt = id
    return id
  }

  prompt(text: string): this {
    this.user({ type: "text", text })
    return this
  }

  /** A session that begins with copies of all messages, under other ids, as `opencode --fork` makes it. */
  fork(options: StoreOptions): OpencodeStore {
    const forked = new OpencodeStore({ start: this.#clock, ...options })
    const all = (table: string) =>
      this.db
        .query<{ id: string; message_id?: string; data: string }, [string]>(
          `SELECT * FROM ${table} WHERE session_id = ? ORDER BY time_created, id`,
        )
        .all(this.session)
    const ids = new Map(all("message").map(({ id, data }) => [id, forked.message(JSON.parse(data))]))
    for (const { message_id, data } of all("part")) forked.part(ids.get(message_id!)!, JSON.parse(data))
    return forked
  }

  /** A message of the model's that it has not finished. */
  begin(more: object = {}): string {
    const id = this.message({
      role: "assistant",
      parentID: this.#prompt,
      mode: "build",
      agent: "build",
      path: { cwd: "/p", root: "/p" },
      cost: 0,
      tokens: { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } },
      modelID: "m1",
      providerID: "mock",
      ...more,
    })
    this.part(id, { type: "step-start" })
    return id
  }

  finish(message: string, more: object = {}): this {
    this.part(message, { type: "step-finish", reason: "stop", cost: 0.01, tokens: TOKENS })
    const data = this.data("message", message) as { time: object }
    const time = { ...data.time, completed: this.#tick() }
    this.change("message", message, { ...data, cost: 0.01, tokens: TOKENS, finish: "stop", ...more, time })
    return this
  }

  /** A whole message of the model's. */
  assistant(parts: readonly object[], more: object = {}): this {
    const id = this.begin(more)
    for (const part of parts) this.part(id, part)
    return this.finish(id)
  }

  answer(text: string): this {
    return this.assistant([said(text)])
  }

  summary(text: string, auto = true): this {
    this.user({ type: "compaction", auto, overflow: false })
    this.assistant([said(text)], { mode: "compaction", agent: "compaction", summary: true })
    this.user({
      type: "text",
      synthetic: true,
      metadata: { compaction_continue: true },
      text: "Continue if you have next steps",
    })
    return this
  }
}

export const said = (text: string) => ({
  type: "text",
  text,
  time: { start: 1_777_888_000_000, end: 1_777_888_000_001 },
})

/** A tool's call that has ended. */
export const called = (tool: string, input: object, output: string, metadata: object = {}) => ({
  type: "tool",
  tool,
  callID: "call_1",
  state: {
    status: "completed",
    input,
    output,
    metadata,
    title: tool,
    time: { start: 1_777_888_000_000, end: 1_777_888_000_001 },
  },
})

/** A conversation with everything that occurs in most. */
export function fullConversation(
  options: StoreOptions,
  onChange: OpencodeStore["onChange"] = () => {},
): OpencodeStore {
  const store = new OpencodeStore(options)
  store.name("Kiln overheats")
  store.onChange = onChange
  store.prompt("Why does the kiln overheat? Never touch the boiler.")
  store.assistant([
    { type: "reasoning", text: "The valve, perhaps.", time: { start: 1, end: 2 } },
    said("I look at the valve."),
    called("grep", { pattern: "valve" }, "src/valve.ts"),
  ])
  store.assistant([called("bash", { command: "npm test" }, "valve stuck\n", { exit: 1 })])
  store.assistant([
    called(
      "edit",
      { filePath: "/p/src/valve.ts", oldString: "open()", newString: "openSlowly()" },
      "Edited.",
    ),
    called(
      "todowrite",
      {
        todos: [
          { content: "Mend the valve", status: "completed", priority: "high" },
          { content: "Test it", status: "in_progress", priority: "low" },
        ],
      },
      "2 todos",
    ),
  ])
  store.answer("The valve stuck; it opens slowly now.")
  store.summary("Handover: the valve was mended.")
  store.answer("Going on.")
  store.prompt("Now release the kiln.")
  return store.answer("Released.")
}
