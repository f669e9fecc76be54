/** Who may use the database, and whether it is still the one that everybody sees. */
import { expect, test } from "bun:test"
import { rmSync } from "node:fs"
import { databasePath, openDatabase, refuseDeleted } from "../../../src/archive/database.ts"
import { alone } from "../../../src/archive/replace.ts"
import { tempFolder } from "../../support/temp.ts"

test("a database that was deleted keeps nobody from replacing the one made since, and is not written any more", () => {
  using folder = tempFolder()
  const open = () => openDatabase(folder.path, { wait: 0 })
  const old = open()
  refuseDeleted(old)
  expect(() => alone(folder.path, 0, () => {})).toThrow("has the archive open")
  rmSync(databasePath(folder.path))
  expect(() => refuseDeleted(old)).toThrow("deleted")
  const anew = open()
  expect(() => refuseDeleted(old)).toThrow("deleted")
  refuseDeleted(anew)
  expect(() => alone(folder.path, 0, () => {})).toThrow("has the archive open")
  anew.close()
  expect(alone(folder.path, 0, () => "replaced")).toBe("replaced")
  old.close()
})
