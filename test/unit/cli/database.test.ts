/** What doctor says of the database, and that its repair helps. */
import { expect, test } from "bun:test"
import { rmSync, truncateSync, writeFileSync } from "node:fs"
import { databasePath, SCHEMA_VERSION } from "../../../src/views/database.ts"
import { open } from "../../../src/views/open.ts"
import { findings, states } from "../../support/examined.ts"
import { Inside, run } from "../../support/inside.ts"

async function archived(): Promise<Inside> {
  const machine = new Inside()
  machine.session().turn("Kept.").flush()
  expect(await run(["import"], machine)).toMatchObject({ code: 0, stderr: "" })
  return machine
}

test.each<[string, (path: string) => void]>([
  ["is none", (file) => writeFileSync(file, "no database, but long enough to be taken for one. ".repeat(20))],
  ["is half there", (file) => truncateSync(file, 10_000)],
  ["is empty", (file) => truncateSync(file, 0)],
  ["is gone", (file) => rmSync(file)],
])("a database that %s is reported and made anew", async (_name, spoil) => {
  using machine = await archived()
  const path = databasePath(machine.dataHome)
  for (const end of ["-wal", "-shm"]) rmSync(path + end, { force: true })
  spoil(path)
  expect(await findings(machine, "database")).toMatchObject([
    { state: "fail", repair: { what: "rebuild the database from the vault" } },
  ])
  expect(await states(machine, "database", "--fix")).toEqual(["ok"])
})

test("a database of a later version is reported, and left alone", async () => {
  using machine = await archived()
  const db = open(machine.dataHome, "write", 2000)
  db.run(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`)
  db.close()
  expect(await findings(machine, "database", "--fix")).toMatchObject([
    { state: "fail", text: expect.stringContaining("newer") },
  ])
})
