/**
 * A `purge` that was interrupted had taken its sessions from the vault, but not from the views. Said again, it found no
 * session in the vault and said "Nothing to forget", and the views went on telling.
 */
import { expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync } from "node:fs"
import { run } from "../support/binary.ts"
import { holding } from "../support/held.ts"
import { Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

test("purge said again goes on with what was interrupted", async () => {
  using machine = new Machine()
  const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
  machine.session().turn("What is the Zanzibar account for?").flush()
  expect(await cli("import")).toMatchObject({ code: 0, stderr: "" })
  mkdirSync(machine.dataHome, { recursive: true })

  // As a kill would do at this point: the vault is done with, the views cannot be made anew.
  const stopped = await holding(machine.dataHome, "rebuild.lock", () =>
    cli("purge", "--older-than", "1h", "--yes"),
  )
  expect(stopped).toMatchObject({ code: 1, stdout: "" })
  expect(stopped.stderr).toContain("already being rebuilt")
  expect((await cli("search", "Zanzibar", "--all-projects")).stdout).toContain("Zanzibar")
  expect((await cli("forget", "--list")).stdout).toContain("Not everything of 1 session is gone yet")
  expect(await cli("purge", "--older-than", "1h", "--dry-run")).toMatchObject({ code: 0 })
  expect((await cli("forget", "--list")).stdout).toContain("Not everything of 1 session is gone yet")

  const again = await cli("purge", "--older-than", "1h", "--yes")
  expect(again).toMatchObject({ code: 0, stderr: "" })
  expect(again.stdout).toContain("Finished what was interrupted before: 1 session\n")
  expect(await cli("search", "Zanzibar", "--all-projects")).toMatchObject({ code: 3, stdout: "" })
  expect((await cli("forget", "--list")).stdout).not.toContain("not everything")
})
