/**
 * `export --force` emptied the file that was there before anything was written, and removed it when the export failed: by a
 * damaged vault, or a full disk, the last good export was lost. A full disk was blamed on the archive.
 */
import { expect, test } from "bun:test"
import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

async function archived() {
  const machine = new Machine()
  const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
  const session = machine.session()
  // More than one frame of the vault.
  for (let n = 0; n < 3; n++) session.turn(`${n} ${"word ".repeat(60_000)}`)
  session.flush()
  expect(await cli("import")).toMatchObject({ code: 0, stderr: "" })
  return { machine, cli, session }
}

test("what is there stays when the export fails, and goes when it is whole", async () => {
  const { machine, cli, session } = await archived()
  using _ = machine
  const file = join(machine.cwd, "kept.jsonl")
  writeFileSync(file, "the last good export", { mode: 0o644 })
  symlinkSync("kept.jsonl", join(machine.cwd, "link.jsonl"))
  const copy = machine.copy(session.path)
  const bytes = readFileSync(copy)
  // In the middle of the last frame: those before it are written first.
  bytes.fill(0, bytes.length - 150, bytes.length - 110)
  const sound = readFileSync(copy)
  writeFileSync(copy, bytes)
  const failed = await cli("export", session.session, "--raw", "--output", "link.jsonl", "--force")
  expect(failed).toMatchObject({ code: 1, stdout: "" })
  expect(failed.stderr).toContain("ctxbridge verify")
  expect(readFileSync(file, "utf8")).toBe("the last good export")
  expect(readdirSync(machine.cwd).sort()).toEqual(["kept.jsonl", "link.jsonl"])

  writeFileSync(copy, sound)
  const done = await cli("export", session.session, "--raw", "--output", "link.jsonl", "--force")
  expect(done).toMatchObject({ code: 0, stderr: "" })
  expect(readFileSync(file)).toEqual(readFileSync(session.path))
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(lstatSync(join(machine.cwd, "link.jsonl")).isSymbolicLink()).toBe(true)
  expect(readdirSync(machine.cwd).sort()).toEqual(["kept.jsonl", "link.jsonl"])
})

test.skipIf(!existsSync("/dev/full"))("a full disk is told as the file's, not the archive's", async () => {
  const { machine, cli, session } = await archived()
  using _ = machine
  const { code, stdout, stderr } = await cli("export", session.session, "-o", "/dev/full", "--force")
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
  expect(stderr).toMatch(/^ctxbridge: cannot write \/dev\/full: ENOSPC.*\nhint: .*\n$/)
})
