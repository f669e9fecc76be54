/**
 * A `redact` that was interrupted behind the vault left secrets in the views. Said again, it found none in the vault and
 * said "Nothing to overwrite".
 */
import { expect, setDefaultTimeout, test } from "bun:test"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { holding } from "../support/held.ts"
import { Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

// Made of pieces, so that nobody takes this file for a leak.
const SECRET = ["ghp", "0123456789abcdefghijABCDEFGHIJ012345"].join("_")

async function halfRedacted() {
  const machine = new Machine()
  const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
  machine.session().turn(`Push with ${SECRET} please`).flush()
  const env = { ...machine.env, CTXBRIDGE_SECRETS: "false" }
  expect(await run(["import"], { env, cwd: machine.cwd })).toMatchObject({ code: 0, stderr: "" })
  expect(holders(machine)).not.toEqual([])
  const stopped = await holding(machine.dataHome, "rebuild.lock", () => cli("redact"))
  expect(stopped).toMatchObject({ code: 1, stdout: "" })
  expect(stopped.stderr).toContain("already being rebuilt")
  expect(holders(machine)).not.toEqual([])
  return { machine, cli }
}

/** Files of the archive beside the vault in which the secret stands. */
const holders = (machine: Machine): string[] =>
  readdirSync(machine.dataHome).filter(
    (name) => name.startsWith("archive.db") && readFileSync(join(machine.dataHome, name)).includes(SECRET),
  )

test("redact said again makes the views anew, too", async () => {
  const { machine, cli } = await halfRedacted()
  using _ = machine
  const again = await cli("redact")
  expect(again).toMatchObject({ code: 0, stderr: "" })
  expect(again.stdout).toContain("Rebuilt the views")
  expect(again.stdout).not.toContain("Nothing to overwrite")
  expect(holders(machine)).toEqual([])
  expect((await cli("redact")).stdout).toContain("Nothing to overwrite")
})

test("so does the next background job", async () => {
  const { machine, cli } = await halfRedacted()
  using _ = machine
  expect(await cli("__job")).toMatchObject({ code: 0, stderr: "" })
  expect(holders(machine)).toEqual([])
  expect((await cli("redact")).stdout).toContain("Nothing to overwrite")
})
