/**
 * Where stdout could not take the output, commands blamed the archive ("cannot use …: make room there"), help spoke of a
 * defect, and --json ended with the stack of an exception.
 */
import { expect, test } from "bun:test"
import { closeSync, existsSync, openSync } from "node:fs"
import { binary } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

const FULL = "/dev/full"

test
  .skipIf(!existsSync(FULL))
  .each([["status"], ["status --json"], ["show nosuch --json"], ["--help"], ["completions bash"]])(
  "%s: exit code 1 and two lines that name the output",
  async (words) => {
    using machine = new Machine()
    const full = openSync(FULL, "w")
    try {
      const child = Bun.spawn([binary(), ...words.split(" ")], {
        env: { PATH: process.env["PATH"] ?? "", ...machine.env },
        cwd: machine.cwd,
        stdin: "ignore",
        stdout: full,
        stderr: "pipe",
      })
      const stderr = await new Response(child.stderr).text()
      // What cannot be said on stdout is said on stderr.
      const message = words.startsWith("show")
        ? /^ctxbridge: nothing is archived in .*\nhint: .*\n$/
        : /^ctxbridge: the output cannot be written: ENOSPC.*\nhint: make room where it goes;.*\n$/
      expect(stderr).toMatch(message)
      expect(await child.exited).toBe(words.startsWith("show") ? 3 : 1)
    } finally {
      closeSync(full)
    }
  },
)
