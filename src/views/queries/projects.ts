/** Rows of projects. */
import { statsOf } from "../../base/files.ts"
import type { Database } from "../database.ts"
import { folderOf, isInFolder, namesApart, shortNameOf } from "../project.ts"

/** @returns undefined if nothing of the project, or of the one that it is joined with, is archived */
export const projectId = (db: Database, path: string): number | undefined =>
  db
    .query<{ id: number }, [string]>("SELECT coalesce(joined, id) AS id FROM projects WHERE path = ?")
    .get(path)?.id

/** The project, and those that are joined with it: words go with the project of the session's own folder. */
export const idsOfProject = (db: Database, id: number): number[] =>
  db
    .query<{ id: number }, [number]>("SELECT id FROM projects WHERE id = ?1 OR joined = ?1 ORDER BY id")
    .all(id)
    .map((row) => row.id)

/** Without those that are joined with another. */
export const projectPaths = (db: Database): string[] =>
  db
    .query<{ path: string }, []>("SELECT path FROM projects WHERE joined IS NULL")
    .all()
    .map(({ path }) => path)

/** What names a project for people, who may call it so; one that is not archived here, by its folder. */
export function projectNamer(db: Database | undefined): (project: string) => string {
  const names = db && namesApart(projectPaths(db))
  return (project) => names?.get(project) ?? shortNameOf(project) ?? project
}

/** Those that are joined with another. */
export const joinedProjects = (db: Database): string[] =>
  db
    .query<{ path: string }, []>("SELECT path FROM projects WHERE joined IS NOT NULL")
    .all()
    .map(({ path }) => path)

export interface ProjectSessions {
  readonly path: string
  /** Sessions begun in its folder, without subagents. */
  readonly sessions: number
}

/** Every project of which something is archived, under its own name, those with the latest sessions first. */
export const ownProjects = (db: Database): ProjectSessions[] =>
  db
    .query<ProjectSessions, []>(
      `SELECT p.path, sum(s.parent IS NULL) AS sessions FROM sessions s
         JOIN projects p ON p.id = coalesce(s.own, s.project)
       GROUP BY p.id ORDER BY max(s.ended) DESC`,
    )
    .all()

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
  const known = db
    .query<{ path: string }, [string]>(
      `SELECT coalesce(n.path, p.path) AS path FROM projects p LEFT JOIN projects n ON n.id = p.joined
       WHERE p.path = ?`,
    )
    .get(project)
  if (known !== null) return known.path
  const row = db
    .query<{ path: string }, [string]>(
      `SELECT path FROM (
         SELECT coalesce(n.path, p.path) AS path, 0 AS place FROM projects p LEFT JOIN projects n ON n.id = p.joined
           WHERE p.path = ?1 || '/.git'
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

/**
 * The same; for a folder of which nothing is archived, the project in which it lies.
 *
 * @param home the home folder, in which everything lies, whatever was done there
 */
export function archivedAs(db: Database, project: string | undefined, home: string): string | undefined {
  const known = knownAs(db, project)
  if (known === undefined || projectId(db, known) !== undefined) return known
  return projectsAbove(db, folderOf(known)).find((path) => folderOf(path) !== home) ?? known
}

/** The archived projects in whose folders a folder lies, the nearest first. */
export const projectsAbove = (db: Database, folder: string): string[] =>
  projectPaths(db)
    .filter((path) => folder !== folderOf(path) && isInFolder(folder, path))
    .sort((a, b) => b.length - a.length)
