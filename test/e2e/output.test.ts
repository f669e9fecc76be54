/**
 * Output through a pipe that holds no more than a page, blocks nobody, and is read slowly: every byte arrives, once.
 */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { closeSync, constants, readSync } from "node:fs"
import { seldomCalled } from "../../src/base/libc.ts"
import { binary, run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

const isLinux = process.platform === "linux"
const F_SETFL = 4
const F_SETPIPE_SZ = 1031
const PAGE = 4096
const SESSION = "5e551011-0000-4000-8000-00000000cafe"
const O_CLOEXEC = 0o2000000
const pipe2 = seldomCalled("pipe2", { args: ["ptr", "i32"], returns: "i32" })
const fcntl = seldomCalled("fcntl", { args: ["i32", "i32", "i32"], returns: "i32" })

/** A pipe that holds one page. */
function smallPipe(): { ours: number; theirs: number } {
  const ends = new Int32Array(2)
  expect(pipe2()(ends, O_CLOEXEC)).toBe(0)
  const [ours, theirs] = [ends[0]!, ends[1]!]
  expect(fcntl()(theirs, F_SETPIPE_SZ, PAGE)).toBe(PAGE)
  return { ours, theirs }
}

const started = (machine: Machine, args: readonly string[], stdin: string, stdout: number) =>
  Bun.spawn([binary(), ...args], {
    cwd: machine.cwd,
    env: { PATH: process.env["PATH"] ?? "", ...machine.env },
    stdin: Buffer.from(stdin),
    stdout,
    stderr: "pipe",
  })

/** The output of a program whose stdout is a non-blocking pipe of one page, and how it ends. */
async function throughSmallPipe(machine: Machine, args: readonly string[], stdin: string) {
  const { ours, theirs } = smallPipe()
  const child = started(machine, args, stdin, theirs)
  // Afterwards, since Bun makes it an ordinary pipe for its child.
  for (const end of [ours, theirs]) expect(fcntl()(end, F_SETFL, constants.O_NONBLOCK)).toBe(0)
  closeSync(theirs)
  const pieces: Buffer[] = []
  for (let n = -1; n !== 0; ) {
    const piece = Buffer.alloc(1000)
    try {
      n = readSync(ours, piece)
      pieces.push(piece.subarray(0, n))
    } catch {
      // Empty at the moment.
      await Bun.sleep(1)
    }
  }
  closeSync(ours)
  const stderr = await new Response(child.stderr).text()
  return { code: await child.exited, stdout: Buffer.concat(pieces).toString(), stderr }
}

function past(transcript: Transcript): Transcript {
  for (let n = 0; n < 80; n++) {
    transcript.turn(`Never touch generated file number ${n}, it is made by generator-${n}.`, [
      { tool: "Edit", input: { file_path: `/src/app/module-${n}/some-file-${n}.ts` }, output: "ok" },
    ])
  }
  return transcript.flush()
}

describe.skipIf(!isLinux)("through a small pipe that does not block", () => {
  test("a hook's reply", async () => {
    using machine = new Machine()
    machine.env["CTXBRIDGE_RESTORE_BUDGET"] = "9500"
    const transcript = past(machine.session())
    await machine.hook("stop", transcript)
    const call = machine.payload("session-start", transcript, { source: "compact" })
    const { code, stdout, stderr } = await throughSmallPipe(machine, ["hook", "session-start"], call)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout.length).toBeGreaterThan(2 * PAGE)
    expect(JSON.parse(stdout).hookSpecificOutput.additionalContext).toEndWith("</ctxbridge-restore>")
  })

  test("a status line that shows another one", async () => {
    using machine = new Machine()
    const other = "seq 1000 9999 | xargs -n 300"
    const args = ["statusline", "--chain", other]
    const expected = await run(args, { env: machine.env, cwd: machine.cwd, stdin: "{}" })
    expect(expected.stdout.length).toBeGreaterThan(PAGE)
    const { stdout } = await throughSmallPipe(machine, args, "{}")
    expect(stdout).toBe(expected.stdout)
  })

  test.each([
    [["export", SESSION, "--jsonl"]],
    [["help", "search"]],
    [["completions", "zsh"]],
    [["config", "list", "--json"]],
  ])("%p", async (args) => {
    using machine = new Machine()
    await machine.hook("stop", past(machine.session({ id: SESSION })))
    const expected = await run(args, { env: machine.env, cwd: machine.cwd })
    expect(expected).toMatchObject({ code: 0, stderr: "" })
    expect(await throughSmallPipe(machine, args, "")).toMatchObject({ code: 0, stdout: expected.stdout })
  })

  test("the server's list of tools", async () => {
    using machine = new Machine()
    await machine.hook("stop", past(machine.session()))
    const asked = `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" })}\n`
    const expected = await run(["mcp"], { env: machine.env, cwd: machine.cwd, stdin: asked })
    expect(expected.stdout.length).toBeGreaterThan(PAGE)
    expect((await throughSmallPipe(machine, ["mcp"], asked)).stdout).toBe(expected.stdout)
  })
})

test.skipIf(!isLinux)(
  "a hook ends although nobody reads its reply, and nothing is said when nobody can",
  async () => {
    using machine = new Machine()
    machine.env["CTXBRIDGE_RESTORE_BUDGET"] = "9500"
    const transcript = past(machine.session())
    await machine.hook("stop", transcript)
    const call = machine.payload("session-start", transcript, { source: "compact" })
    for (const isRead of [true, false]) {
      // An ordinary pipe, which blocks.
      const { ours, theirs } = smallPipe()
      if (!isRead) closeSync(ours)
      const child = started(machine, ["hook", "session-start"], call, theirs)
      closeSync(theirs)
      expect([await child.exited, await new Response(child.stderr).text()]).toEqual([0, ""])
      if (isRead) closeSync(ours)
    }
  },
)
