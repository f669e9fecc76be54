/** Views made anew keep what the former ones knew of projects. */
import { expect, test } from "bun:test"
import { join } from "node:path"
import { type Database, databasePath, openFile } from "../../../src/views/database.ts"
import { open } from "../../../src/views/open.ts"
import { carryProjects } from "../../../src/views/rebuild-views.ts"
import { tempFolder } from "../../support/temp.ts"

function keepForItself(db: Database): void {
  db.run("PRAGMA locking_mode = EXCLUSIVE")
  db.run("BEGIN IMMEDIATE")
  db.run("INSERT INTO projects (path) VALUES ('/other')")
  db.run("COMMIT")
}

/**
 * While another process has the database for itself (the last one that closes it moves the log over), views made anew forgot
 * to which project sessions belong whose folder is gone, and commands called it a defect of ctxbridge.
 */
test("the project of a session whose folder is gone is waited for, not given up", () => {
  using folder = tempFolder()
  const old = open(folder.path, "write", 0)
  old.run("INSERT INTO projects (path) VALUES ('/gone/project')")
  old.run("INSERT INTO sessions (id, project, cwd) VALUES ('s', 1, '/gone/worktree')")
  const views = openFile(join(folder.path, "new.db"), "create")
  const projects = (): unknown[] => views.query("SELECT path FROM projects").all()
  keepForItself(old)
  expect(() => carryProjects(databasePath(folder.path), views, new Set(["s"]), 0)).toThrow(
    expect.objectContaining({ code: "busy" }),
  )
  old.close()
  carryProjects(databasePath(folder.path), views, new Set(["s"]), 0)
  expect(projects()).toEqual([{ path: "/gone/project" }])
  views.close()
})
