/** Rows of projects. */
import { statsOf } from "../../util/files.ts"
import type { Database } from "../database.ts"

/** @returns undefined if nothing of the project is archived */
export const projectId = (db: Database, path: string): number | undefined =>
  db.query<{ id: number }, [string]>("SELECT id FROM projects WHERE path = ?").get(path)?.id

export const projectPaths = (db: Database): string[] =>
  db
    .query<{ path: string }, []>("SELECT path FROM projects")
    .all()
    .map(({ path }) => path)

export const projectOfSession = (
  db: Database,
  session: string,
): { readonly project: number; readonly path: string } | null =>
  db
    .query<{ project: number; path: string }, [string]>(
      "SELECT p.id AS project, p.path FROM sessions s JOIN projects p ON p.id = s.project WHERE s.id = ?",
    )
    .get(session)

/**
 * The project under the name that the archive uses. If a repository or worktree is gone, only its sessions tell whether
 * the folder had a git dir, or whose worktree it was. Where letters in capitals are the same to the file system, it may be
 * archived as it was typed then.
 */
export function knownAs(db: Database, project: string | undefined): string | undefined {
  if (project === undefined) return undefined
  // The name is nearly always known. Looking through the sessions takes as long as a search.
  if (db.query("SELECT 1 FROM projects WHERE path = ?").get(project) !== null) return project
  const row = db
    .query<{ path: string }, [string]>(
      `SELECT path FROM (
         SELECT path, 0 AS place FROM projects WHERE path = ?1 || '/.git'
         UNION ALL SELECT p.path, 1 FROM sessions s JOIN projects p ON p.id = s.project WHERE s.cwd = ?1)
       ORDER BY place LIMIT 1`,
    )
    .get(project)
  return row?.path ?? sameFolder(db, project) ?? project
}

function sameFolder(db: Database, project: string): string | undefined {
  const own = statsOf(project)
  if (own === undefined) return undefined
  return projectPaths(db).find((path) => {
    const stats = statsOf(path)
    return stats?.ino === own.ino && stats.dev === own.dev
  })
}

/** Paths of the projects with the latest sessions. */
export const latestProjects = (db: Database, most: number): string[] =>
  db
    .query<{ path: string }, []>(
      `SELECT p.path FROM sessions s JOIN projects p ON p.id = s.project
       WHERE s.parent IS NULL GROUP BY p.id ORDER BY max(s.ended) DESC LIMIT ${most}`,
    )
    .all()
    .map(({ path }) => path)
