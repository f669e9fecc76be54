/** What a transcript's lines tell about their session → its row. */
import type { Origin } from "../agents/origin.ts"
import type { TranscriptRecord } from "../transcript/types.ts"
import type { Database } from "./database.ts"
import { isInFolder, projectOf } from "./project.ts"
import { joinedProjects } from "./queries/projects.ts"

export class SessionRows {
  readonly #db: Database
  readonly #session: string
  #isKnown = false
  #projectId: number | undefined
  #version: string | undefined
  #branch: string | undefined
  #lastTime: string | undefined
  #title: { readonly text: string; readonly origin: Origin } | undefined

  constructor(db: Database, session: string) {
    this.#db = db
    this.#session = session
  }

  note(record: TranscriptRecord): void {
    if (record.timestamp !== undefined) this.#lastTime = record.timestamp
    if (record.version !== undefined) this.#version = record.version
    if (record.gitBranch !== undefined) this.#branch = record.gitBranch
    if (this.#isKnown || (record.cwd === undefined && record.parts.length === 0)) return
    this.#isKnown = record.cwd !== undefined
    // Once a session has a project, it stays there, wherever it continues.
    const place =
      this.project() !== undefined || record.cwd === undefined ? undefined : placeOf(this.#db, record.cwd)
    const [parent, agent] = splitSession(this.#session)
    this.#db
      .query(
        `INSERT INTO sessions (id, project, own, parent, agent, cwd, branch, version, started)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET project = coalesce(project, excluded.project),
           own = iif(project IS NULL, excluded.own, own), cwd = coalesce(cwd, excluded.cwd),
           started = coalesce(started, excluded.started)`,
      )
      .run(
        this.#session,
        place?.project ?? null,
        place?.own ?? null,
        parent ?? null,
        agent ?? null,
        record.cwd ?? null,
        record.gitBranch ?? null,
        record.version ?? null,
        record.timestamp ?? null,
      )
  }

  /** A name that the user gave stands until the user gives another, whatever is generated meanwhile. */
  name(text: string, origin: Origin): void {
    if (origin === "human" || this.#title?.origin !== "human") this.#title = { text, origin }
  }

  /** Row id of the project of its folder, once known, whatever that is joined with. */
  project(): number | undefined {
    this.#projectId ??=
      this.#db
        .query<{ project: number | null }, [string]>(
          "SELECT coalesce(own, project) AS project FROM sessions WHERE id = ?",
        )
        .get(this.#session)?.project ?? undefined
    return this.#projectId
  }

  /** Written only after the last line, whose values count. */
  flush(): void {
    const seen = [this.#lastTime, this.#title?.text, this.#title?.origin, this.#version, this.#branch]
    if (seen.every((value) => value === undefined)) return
    const isKept = "title_origin = 'human' AND ?3 IS NOT 'human'"
    this.#db
      .query(
        `UPDATE sessions SET ended = coalesce(?1, ended), title = iif(${isKept}, title, coalesce(?2, title)),
           title_origin = iif(${isKept}, title_origin, coalesce(?3, title_origin)), version = coalesce(?4, version),
           branch = coalesce(?5, branch) WHERE id = ?6`,
      )
      .run(...seen.map((value) => value ?? null), this.#session)
  }
}

function splitSession(session: string): [parent: string | undefined, agent: string | undefined] {
  const slash = session.indexOf("/")
  return slash < 0 ? [undefined, undefined] : [session.slice(0, slash), session.slice(slash + 1)]
}

/** The project of a folder, and its own if that is joined with another. */
function placeOf(db: Database, cwd: string): { readonly project: number; readonly own: number | null } {
  const { id, joined } = projectRow(db, nameOf(db, cwd))
  return joined === null ? { project: id, own: null } : { project: joined, own: id }
}

/** Of a folder that is gone, only a joined project tells that it was in a repository. */
function nameOf(db: Database, cwd: string): string {
  const path = projectOf(cwd)
  if (path !== cwd) return path
  return joinedProjects(db).find((one) => isInFolder(cwd, one)) ?? path
}

const projectRow = (db: Database, path: string): { id: number; joined: number | null } =>
  db
    .query<{ id: number; joined: number | null }, [string]>(
      "INSERT INTO projects (path) VALUES (?) ON CONFLICT DO UPDATE SET path = path RETURNING id, joined",
    )
    .get(path)!

/** Takes out what was known of a session only from the list of all prompts (ingest.ts). Call when its transcript has come. */
export function dropPromptsOnly(db: Database, session: string): void {
  if (db.query("SELECT 1 FROM sessions WHERE id = ? AND prompts_only = 1").get(session) === null) return
  const turns = "SELECT id FROM turns WHERE session = ?1 AND via = 'history'"
  for (const rows of [`notes WHERE turn IN (${turns})`, `messages WHERE turn IN (${turns})`])
    db.query(`DELETE FROM ${rows}`).run(session)
  db.query("DELETE FROM turns WHERE session = ? AND via = 'history'").run(session)
  // What others have written in a session of that name stays.
  db.query("UPDATE sessions SET prompts_only = 0 WHERE id = ?").run(session)
  db.query("DELETE FROM sessions WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM turns WHERE session = ?1)").run(
    session,
  )
}
