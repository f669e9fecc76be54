/** Who may use the database. */
import { expect, test } from "bun:test"
import { rmSync } from "node:fs"
import { databasePath, openDatabase } from "../../../src/archive/database.ts"
import { alone } from "../../../src/archive/replace-database.ts"
import { tempFolder } from "../../support/temp.ts"

test("a database that was deleted keeps nobody from replacing the one made since", () => {
  using folder = tempFolder()
  const open = () => openDatabase(folder.path, { wait: 0 })
  const old = open()
  expect(() => alone(folder.path, 0, () => {})).toThrow("has the archive open")
  rmSync(databasePath(folder.path))
  const anew = open()
  expect(() => alone(folder.path, 0, () => {})).toThrow("has the archive open")
  anew.close()
  expect(alone(folder.path, 0, () => "replaced")).toBe("replaced")
  old.close()
})
