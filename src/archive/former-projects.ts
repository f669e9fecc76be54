/**
 * Projects of sessions whose folder is gone: a worktree that was removed, a repository that was moved. Its files told once
 * which project it belonged to; nothing but the former views knows that now.
 */
import { codeOf } from "../util/errors.ts"
import { existsSync } from "../util/fs.ts"
import { type Database, openFile } from "./database.ts"
import { projectOf } from "./project.ts"
import { busy } from "./replace.ts"

interface Row {
  readonly id: string
  readonly parent: string | null
  readonly agent: string | null
  readonly cwd: string
  readonly project: string
}

/** ms to wait for others: a process that ends moves the whole log over, and nobody can read meanwhile. */
const PATIENCE = 2000

/**
 * Begins these sessions in new views, so that they stay in the project where they were.
 *
 * @param path of the former database
 * @param sessions that the vault has: no trace of any other may get into the new file
 * @param wait ms
 * @throws CtxError `busy`: without the former views nobody would ever know it again
 */
export function carryProjects(
  path: string,
  to: Database,
  sessions: ReadonlySet<string>,
  wait = PATIENCE,
): void {
  const lost = formerly(path, wait).filter(({ id, cwd }) => sessions.has(id) && !existsSync(projectOf(cwd)))
  to.transaction(() => {
    for (const { id, parent, agent, cwd, project } of lost) {
      to.query("INSERT INTO projects (path) VALUES (?) ON CONFLICT DO NOTHING").run(project)
      to.query(
        `INSERT INTO sessions (id, project, parent, agent, cwd)
         VALUES (?, (SELECT id FROM projects WHERE path = ?), ?, ?, ?)`,
      ).run(id, project, parent, agent, cwd)
    }
  }).immediate()
}

/** To be called when all copies were read: those of which nothing could be are no sessions. */
export function dropUnread(db: Database): void {
  db.run(
    "DELETE FROM sessions WHERE id NOT IN (SELECT session FROM transcripts) AND id NOT IN (SELECT session FROM turns)",
  )
  db.run("DELETE FROM projects WHERE id NOT IN (SELECT project FROM sessions WHERE project IS NOT NULL)")
}

function formerly(path: string, wait: number): readonly Row[] {
  if (!existsSync(path)) return []
  let old: Database | undefined
  try {
    old = openFile(path, { wait, readonly: true })
    return old
      .query<Row, []>(
        `SELECT s.id, s.parent, s.agent, s.cwd, p.path AS project FROM sessions s JOIN projects p ON p.id = s.project
         WHERE s.cwd IS NOT NULL ORDER BY s.id`,
      )
      .all()
  } catch (error) {
    if (codeOf(error).startsWith("SQLITE_BUSY")) throw busy()
    // Damaged: then folders that are gone are projects of their own.
    if (!codeOf(error).startsWith("SQLITE_")) throw error
    return []
  } finally {
    old?.close()
  }
}
