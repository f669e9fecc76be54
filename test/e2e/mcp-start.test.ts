/** `ctxbridge mcp` where nobody speaks the protocol: at a terminal, and with no input at all. */
import { expect, test } from "bun:test"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { runAtTerminal } from "../support/terminal.ts"

test("a person at a terminal is told who starts it", async () => {
  using machine = new Machine()
  const { code, text } = await runAtTerminal(machine, ["mcp"])
  expect(code).toBe(64)
  expect(text).toContain("mcp is started by Claude Code")
  expect(text).toContain("`ctxbridge install` registers it there")
})

test("with nothing to read, which is no terminal, it ends in silence", async () => {
  using machine = new Machine()
  const through = ["/bin/sh", "-c", '"$@" < /dev/null', "sh"]
  const { code, stdout, stderr } = await run(["mcp"], { env: machine.env, through })
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "", stderr: "" })
})

test("its help is the router's", async () => {
  using machine = new Machine()
  const help = await run(["mcp", "--help"], { env: machine.env })
  expect(help).toMatchObject({ code: 0, stdout: expect.stringContaining("ctxbridge mcp"), stderr: "" })
  const wrong = await run(["mcp", "--nosuch"], { env: machine.env })
  expect(wrong).toMatchObject({ code: 64, stdout: "", stderr: expect.stringContaining("--nosuch") })
})
