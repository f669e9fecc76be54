/** The log of what went wrong. */
import { expect, test } from "bun:test"
import { renameSync, writeFileSync } from "node:fs"
import { lastError, logError, logPath } from "../../../src/base/log.ts"
import { Machine } from "../../support/machine.ts"

/** What is there and cannot be read is told: an unreadable vault was "0 B" to the model, such a settings file no file. */
test("behind half a line in the log: the entry before it, not one of the file before", () => {
  using machine = new Machine()
  logError(machine.root, { event: "older", error: new Error("older") })
  renameSync(logPath(machine.root), `${logPath(machine.root)}.1`)
  logError(machine.root, { event: "latest", error: new Error("latest") })
  writeFileSync(logPath(machine.root), '5\n{"time": "2026-0', { flag: "a" })
  expect(lastError(machine.root)).toMatchObject({ event: "latest", message: "latest" })
})
