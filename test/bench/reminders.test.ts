/** `bun bench/reminders.ts`: how often a reminder would have been right, over sessions in which that is known. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { dirname } from "node:path"
import { runScript } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

const fire = (isError: boolean) => ({
  tool: "Bash",
  input: { command: "kiln-fire" },
  output: isError ? "Exit code 1\nError: the door of shelf 4 is open" : "fired",
  isError,
})

test("two failures, and what the sessions after them say", async () => {
  using machine = new Machine()
  const hour = (n: number): number => Date.UTC(2026, 2, 2, n)
  machine
    .session({ start: hour(1) })
    .turn("Fire it", [fire(true), fire(true)])
    .flush()
  machine
    .session({ start: hour(2) })
    .turn("Once more", [fire(true)])
    .flush()
  const last = machine
    .session({ start: hour(3) })
    .turn("And again", [fire(false)])
    .flush()
  const bench = (...args: string[]) =>
    runScript("bench/reminders.ts", [dirname(last.path), ...args], { env: machine.env, cwd: machine.cwd })

  const { code, stdout, stderr } = await bench("--json")
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  const { tuned, heldOut } = JSON.parse(stdout).asItIs
  // Which half the project is in depends on its folder.
  const half = tuned.projects === 1 ? tuned : heldOut
  expect(half).toMatchObject({ sessions: 3, actions: 4, failures: 3, repeats: 2, outOfSight: 1 })
  expect(half).toMatchObject({ spoken: 2, right: 1, wrong: 1, otherwise: 0 })
  expect((await bench("--fewest", "4")).stdout).toMatch(/\nreminders +0 +0 *\n/)
})

test("without transcripts, it says so", async () => {
  using machine = new Machine()
  const ran = await runScript("bench/reminders.ts", [], { env: machine.env, cwd: machine.cwd })
  expect(ran).toMatchObject({ code: 3, stdout: "" })
  expect(ran.stderr).toMatch(/^ctxbridge: no transcripts to replay\nhint: .+\n$/)
})
