/** A status line of the user's that is chained to ours. */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine, until } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

/**
 * Of a chained status line that hung, only the shell was ended: what it had started stayed, and one more came with each
 * message of Claude Code.
 */
describe("a chained status line that does not come back", () => {
  const isAlive = (pid: number): boolean => {
    try {
      return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
    } catch {
      return false
    }
  }

  test.skipIf(!existsSync("/proc/self/stat"))("all of it ends", async () => {
    using machine = new Machine()
    const pids = join(machine.root, "pids")
    const other = `trap '' TERM; sleep 300 & echo $! > '${pids}'; sleep 301 & echo $! >> '${pids}'; wait`
    const ran = await run(["statusline", "--chain", other], {
      env: machine.env,
      cwd: machine.cwd,
      stdin: "{}",
    })
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    const started = readFileSync(pids, "utf8").trim().split("\n").map(Number)
    expect(started).toHaveLength(2)
    try {
      await until(() => !started.some(isAlive), 5000, "what the status line has started to end")
    } finally {
      for (const pid of started.filter(isAlive)) process.kill(pid, "SIGKILL")
    }
  })

  test("what a status line leaves in the background goes on", async () => {
    using machine = new Machine()
    const done = join(machine.root, "done")
    const go = join(machine.root, "go")
    // A line that renews what it shows next time.
    const other = `(until [ -e '${go}' ]; do sleep 0.05; done; : > '${done}') >/dev/null 2>&1 & echo theirs`
    const ran = await run(["statusline", "--chain", other], {
      env: machine.env,
      cwd: machine.cwd,
      stdin: "{}",
    })
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    expect(ran.stdout).toContain("theirs")
    await Bun.write(go, "")
    await until(() => existsSync(done), 10_000, "the rest of the status line")
  })
})
