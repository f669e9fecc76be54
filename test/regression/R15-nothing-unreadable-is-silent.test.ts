/** What is there and cannot be read is told: an unreadable vault was "0 B" to the model, such a settings file no file. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { lastError, logError, logPath } from "../../src/util/log.ts"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { Peer } from "../support/mcp.ts"

setDefaultTimeout(60_000)

test("the model is told of a vault that cannot be looked at", async () => {
  using machine = new Machine()
  await machine.hook("stop", machine.session().turn("Begin").flush())
  const vault = join(machine.dataHome, "vault")
  renameSync(vault, `${vault}.away`)
  symlinkSync(vault, vault)
  await using peer = await Peer.connect(machine.cwd, machine.env)
  const { text, structured } = await peer.call("status")
  expect(text).toContain("Problem: ")
  expect(structured!["problem"]).toContain("ELOOP")
})

test("doctor tells of a settings file that is not readable", async () => {
  using machine = new Machine()
  mkdirSync(join(machine.home, ".config", "ctxbridge", "config.toml"), { recursive: true })
  const { stdout } = await run(["doctor", "--json"], { env: machine.env, cwd: machine.cwd })
  expect(stdout).toContain(join("ctxbridge", "config.toml"))
})

test("behind half a line in the log: the entry before it, not one of the file before", () => {
  using machine = new Machine()
  logError(machine.root, { event: "older", error: new Error("older") })
  renameSync(logPath(machine.root), `${logPath(machine.root)}.1`)
  logError(machine.root, { event: "latest", error: new Error("latest") })
  writeFileSync(logPath(machine.root), '5\n{"time": "2026-0', { flag: "a" })
  expect(lastError(machine.root)).toMatchObject({ event: "latest", message: "latest" })
})
