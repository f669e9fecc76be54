/** Of a command that was run 400 times, `how` counted the 300 runs that it had looked at. */
import { expect, test } from "bun:test"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

test("all runs in the project count, and none of another's", async () => {
  using machine = new Machine()
  const bash = (command: string, isError: boolean) => ({
    tool: "Bash",
    input: { command },
    output: isError ? "Exit code 1\nfailed" : "passed",
    isError,
  })
  const session = machine.session()
  for (let n = 0; n < 100; n++)
    session.turn(
      `test ${n}`,
      [0, 1, 2, 3].map((k) => bash("npm test", n < 50 && k < 3)),
    )
  const other = machine.session({ cwd: join(machine.root, "other") }).turn("test", [bash("npm test", true)])
  const paths = [session, other].map((one) => one.flush().path)
  expect(await run(["import", ...paths], machine)).toMatchObject({ code: 0, stderr: "" })
  const how = async (...args: readonly string[]): Promise<unknown> => {
    const { code, stdout, stderr } = await run(["how", "npm", "test", "--json", ...args], machine)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return JSON.parse(stdout).found
  }
  expect(await how()).toMatchObject([{ command: "npm test", runs: 400, failures: 150, failed: false }])
  expect(await how("--all-projects")).toMatchObject([{ command: "npm test", runs: 401, failures: 151 }])
})
