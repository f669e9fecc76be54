/** `fix` and `how` told of a traceback how it begins, `Exit code 1` and ten calls, and not the error that it ends with. */
import { expect, test } from "bun:test"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

const CALLS = Array.from({ length: 12 }, (_, n) => `  File "kiln.py", line ${n}, in fire`).join("\n")
const TRACE = `Exit code 1\nTraceback (most recent call last):\n${CALLS}\nkiln.errors.KilnError: the door is open`

async function archived(output: string): Promise<Machine> {
  const machine = new Machine()
  const session = machine.session()
  session.turn("Fire it", [
    { tool: "Bash", input: { command: "python3 kiln.py --fire" }, output, isError: true },
    { tool: "Bash", input: { command: "python3 kiln.py --bolt" }, output: "" },
  ])
  await machine.hook("stop", session.flush())
  return machine
}

async function found(machine: Machine, ...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(words, { cwd: machine.cwd, env: machine.env })
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  return stdout
}

test("a long traceback", async () => {
  using machine = await archived(`${TRACE}\nbye`)
  const [, first, second, third] = (await found(machine, "fix", "KilnError")).split("\n")
  expect([first, second, third]).toEqual([
    "  kiln.errors.KilnError: the door is open",
    "  bye",
    "  then Bash: python3 kiln.py --bolt",
  ])
  expect(JSON.parse(await found(machine, "fix", "KilnError", "--json")).found[0].error).toBe(`${TRACE}\nbye`)
  const [how] = JSON.parse(await found(machine, "how", "kiln", "fire", "--json")).found
  expect(how).toMatchObject({ exitCode: 1, error: "kiln.errors.KilnError: the door is open" })
})

test("an output that names no error begins where it begins", async () => {
  using machine = await archived(`Exit code 8\n${CALLS}`)
  expect((await found(machine, "fix", "kiln.py")).split("\n")[1]).toBe("  Exit code 8")
  const [how] = JSON.parse(await found(machine, "how", "kiln", "fire", "--json")).found
  expect(how.error).toBe(`Exit code 8\n${CALLS}`)
})
