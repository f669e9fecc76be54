/** A database like opencode 2's, in which a conversation is written row by row. */
import { Database } from "bun:sqlite"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { opencodeTranscript } from "../../src/agents/opencode/opencode-places.ts"

const SCHEMA = (sessions: string) => `
  CREATE TABLE IF NOT EXISTS ${sessions} (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, fork_session_id text,
    slug text NOT NULL, directory text NOT NULL, title text, version text NOT NULL, revert text, agent text, model text,
    time_created integer NOT NULL, time_updated integer NOT NULL);
  CREATE TABLE IF NOT EXISTS session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL,
    seq integer NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL)`

export const SESSION_2 = "ses_0002synthetic"
export const TOKENS_2 = { input: 600, output: 50, reasoning: 100, cache: { read: 1400, write: 0 } }
export const MODEL_2 = { id: "m2", providerID: "mock" }

interface Options {
  readonly session?: string
  /** The table of sessions: a preview of opencode 2 had them in opencode 1's. */
  readonly sessions?: "session_v2" | "session"
  readonly cwd?: string
  readonly parent?: string
}

export class OpencodeStore2 implements Disposable {
  readonly db: Database
  readonly path: string
  readonly #session: string
  readonly #sessions: string
  onChange: () => void = () => {}
  #clock = Date.UTC(2026, 8, 9, 10)
  #seq = 0

  constructor(
    home: string,
    { session = SESSION_2, sessions = "session_v2", cwd = join(home, "p"), parent }: Options = {},
  ) {
    const folder = join(home, ".local/share/opencode")
    mkdirSync(folder, { recursive: true })
    this.db = new Database(join(folder, "opencode.db"))
    this.db.run(SCHEMA(sessions))
    this.#session = session
    this.#sessions = sessions
    this.path = opencodeTranscript(folder, session)
    this.db
      .query(
        `INSERT INTO ${sessions} (id, project_id, parent_id, slug, directory, title, version, time_created, time_updated)
         VALUES (?, 'global', ?, 'otter', ?, 'Kiln overheats', '2.0.3', ?, ?)`,
      )
      .run(session, parent ?? null, cwd, this.#clock, this.#clock)
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
    this.db
      .query(`UPDATE ${this.#sessions} SET time_updated = ? WHERE id = ?`)
      .run(this.#clock, this.#session)
    this.onChange()
  }

  assistant(content: readonly object[], more: object = {}): string {
    return this.row("assistant", {
      agent: "build",
      model: MODEL_2,
      content,
      tokens: TOKENS_2,
      cost: 0.01,
      ...more,
    })
  }
}

/** A call that has ended, as a message of the model's holds it. */
export const usedTool = (name: string, input: object, text: string, more: object = {}) => ({
  type: "tool",
  id: "call_1",
  name,
  state: { status: "completed", input, content: [{ type: "text", text }], structured: {}, ...more },
})

/** With each kind of row. */
export function conversation2(home: string, onChange?: (store: OpencodeStore2) => void): OpencodeStore2 {
  const store = new OpencodeStore2(home)
  store.onChange = () => onChange?.(store)
  store.row("model-switched", { model: MODEL_2 })
  store.row("agent-switched", { agent: "build" })
  store.row("system", { text: "Zeppelins are allowed." })
  const files = [{ data: "aGVsbG8=", mime: "image/png", name: "kiln.png", source: { type: "inline" } }]
  store.row("user", { text: "Why does the kiln overheat?", files, skills: [{ text: "Skilled zeppelins." }] })
  store.assistant([
    { type: "reasoning", text: "The valve, perhaps." },
    { type: "text", text: "I look." },
    { type: "text", text: "I look again." },
    usedTool("grep", { pattern: "valve" }, "src/valve.ts"),
  ])
  store.assistant([
    usedTool("shell", { command: "npm test" }, "", { status: "error", error: { message: "valve stuck" } }),
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
