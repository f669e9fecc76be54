/**
 * While another process has the database for itself (the last one that closes it moves the log over), views made anew forgot
 * to which project sessions belong whose folder is gone, and commands called it a defect of ctxbridge.
 */
import { expect, setDefaultTimeout, test } from "bun:test"
import { join } from "node:path"
import { type Database, databasePath, openDatabase, openFile } from "../../src/archive/database.ts"
import { carryProjects } from "../../src/archive/former-projects.ts"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { tempFolder } from "../support/temp.ts"

setDefaultTimeout(60_000)

function keepForItself(db: Database): void {
  db.run("PRAGMA locking_mode = EXCLUSIVE")
  db.run("BEGIN IMMEDIATE")
  db.run("INSERT INTO projects (path) VALUES ('/other')")
  db.run("COMMIT")
}

test("the project of a session whose folder is gone is waited for, not given up", () => {
  using folder = tempFolder()
  const old = openDatabase(folder.path, { wait: 0 })
  old.run("INSERT INTO projects (path) VALUES ('/gone/project')")
  old.run("INSERT INTO sessions (id, project, cwd) VALUES ('s', 1, '/gone/worktree')")
  const views = openFile(join(folder.path, "new.db"), { wait: 0 })
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

test("a command says who is in its way", async () => {
  using machine = new Machine()
  await machine.hook("stop", machine.session().turn("a prompt").flush())
  const db = openDatabase(machine.dataHome, { wait: 0 })
  keepForItself(db)
  const ran = await run(["rebuild", "--dry-run"], { env: machine.env, cwd: machine.cwd })
  db.close()
  expect(ran).toMatchObject({ code: 1, stdout: "" })
  expect(ran.stderr).toBe(
    "ctxbridge: database is locked\nhint: another process is writing to it; try again in a moment\n",
  )
})
