/**
 * Keeps the project of sessions whose folder is gone, such as a removed worktree or a moved repository. The files that
 * told the project have gone with the folder, so only the former views know it.
 */
import { codeOf } from "../util/errors.ts"
import { statsOf } from "../util/files.ts"
import { existsSync } from "../util/fs.ts"
import { join } from "../util/path.ts"
import { type Database, openFile } from "./database.ts"
import { projectOf } from "./project.ts"
import { promptsOnlySessions } from "./queries/sessions.ts"
import { busy } from "./replace-database.ts"

interface Row {
  readonly id: string
  readonly parent: string | null
  readonly agent: string | null
  readonly cwd: string
  readonly project: string
}

/** ms to wait for others. A process that exits moves the whole log over, and nobody can read meanwhile. */
const PATIENCE = 2000

/**
 * Creates these sessions in new views, so that they stay in their project.
 *
 * @param path of the former database
 * @param sessions that the vault holds: no trace of any other may get into the new file
 * @param wait ms
 * @throws CtxError `busy`, since without the former views the projects would be lost for good
 */
export function carryProjects(
  path: string,
  to: Database,
  sessions: ReadonlySet<string>,
  wait = PATIENCE,
): void {
  const lost = formerly(path, wait, (old) => lostProjects(old, sessions))
  to.transaction(() => createSessions(to, lost)).immediate()
}

/** The sessions among these whose folder is gone. */
export const lostProjects = (db: Database, sessions: ReadonlySet<string>): readonly Row[] =>
  db
    .query<Row, []>(
      `SELECT s.id, s.parent, s.agent, s.cwd, p.path AS project FROM sessions s JOIN projects p ON p.id = ${ownIn(db)}
       WHERE s.cwd IS NOT NULL ORDER BY s.id`,
    )
    .all()
    .filter((row) => sessions.has(row.id) && isLost(row))

/** The project of the session's own folder. An earlier version's views join none. */
const ownIn = (db: Database): string => (hasColumn(db, "own") ? "coalesce(s.own, s.project)" : "s.project")

const hasColumn = (db: Database, column: string): boolean =>
  db.query("SELECT 1 FROM pragma_table_info('sessions') WHERE name = ?").get(column) !== null

/** Call inside a transaction, before their lines are read. */
export function createSessions(to: Database, lost: readonly Row[]): void {
  for (const { id, parent, agent, cwd, project } of lost) {
    to.query("INSERT INTO projects (path) VALUES (?) ON CONFLICT DO NOTHING").run(project)
    to.query(
      `INSERT INTO sessions (id, project, own, parent, agent, cwd)
       SELECT ?1, coalesce(joined, id), iif(joined IS NULL, NULL, id), ?3, ?4, ?5 FROM projects WHERE path = ?2`,
    ).run(id, project, parent, agent, cwd)
  }
}

/** Whether the project can no longer be told: the folder is gone, or it is a worktree of a repository that is. */
function isLost({ cwd, project }: Row): boolean {
  const now = projectOf(cwd)
  return !existsSync(now) || (!existsSync(project) && statsOf(join(now, ".git"))?.isFile() === true)
}

/** Removes sessions of which nothing could be read. Call after all copies have been read. */
export function dropUnread(db: Database): void {
  db.run(
    "DELETE FROM sessions WHERE id NOT IN (SELECT session FROM transcripts) AND id NOT IN (SELECT session FROM turns)",
  )
  db.run(
    `DELETE FROM projects WHERE id NOT IN (SELECT project FROM sessions WHERE project IS NOT NULL
      UNION ALL SELECT own FROM sessions WHERE own IS NOT NULL)`,
  )
}

/**
 * Sessions of which the former views know the prompts only: the vault has no copy of theirs.
 *
 * @throws CtxError `busy`
 */
export const formerPromptsOnly = (path: string, wait = PATIENCE): string[] =>
  formerly(path, wait, (old) => (hasColumn(old, "prompts_only") ? promptsOnlySessions(old) : []))

/** @param path of the former database */
function formerly<T>(path: string, wait: number, look: (old: Database) => readonly T[]): T[] {
  if (!existsSync(path)) return []
  let old: Database | undefined
  try {
    old = openFile(path, "read", wait)
    return [...look(old)]
  } catch (error) {
    if (codeOf(error).startsWith("SQLITE_BUSY")) throw busy()
    // It is damaged; folders that are gone then become projects of their own.
    if (!codeOf(error).startsWith("SQLITE_")) throw error
    return []
  } finally {
    old?.close()
  }
}
