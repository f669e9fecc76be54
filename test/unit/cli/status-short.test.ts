/** `status` in eight lines: whatever is wrong is among them, with what to run. */
import { expect, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Inside, run } from "../../support/inside.ts"

async function lines(machine: Inside): Promise<string[]> {
  const { code, stdout, stderr } = await run(["status"], machine)
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  return stdout.trimEnd().split("\n")
}

const LABELS = ["archive", "captured", "on disk", "search", "hooks", "MCP server", "window", "problems"]
const labelOf = (line: string): string => line.slice(0, 12).trim()

async function worked(): Promise<Inside> {
  const machine = new Inside()
  await machine.hook("stop", machine.session().turn("Begin", [], "Done.").flush())
  return machine
}

test("eight lines, the last of which says what is wrong and what to run", async () => {
  using machine = await worked()
  const shown = await lines(machine)
  expect(shown.map(labelOf)).toEqual(LABELS)
  expect(shown[0]).toEndWith("1 turn of 1 session in 1 project")
  expect(shown.at(-1)).toBe("problems    hooks not installed: ctxbridge install")
})

test("installed, and with nothing wrong: none", async () => {
  using machine = await worked()
  expect((await run(["install", "--no-mcp"], machine)).code).toBe(0)
  expect((await lines(machine)).at(-1)).toBe("problems    none")
})

test("several problems are all there, the error that was logged too, on one line each read as text", async () => {
  using machine = await worked()
  const entry = {
    time: new Date().toISOString(),
    event: "stop",
    code: "EIO",
    message: "broken\u001b[2J disk",
  }
  mkdirSync(join(machine.dataHome, "state"), { recursive: true })
  writeFileSync(join(machine.dataHome, "state", "ctxbridge.log"), `${JSON.stringify(entry)}\n`)
  const shown = await lines(machine)
  expect(shown).toHaveLength(LABELS.length)
  expect(shown.at(-1)).toBe(
    "problems    hooks not installed: ctxbridge install; error just now, stop: broken disk (EIO): ctxbridge doctor",
  )
})

test("--verbose has the rest, with the latest sessions", async () => {
  using machine = await worked()
  const { stdout } = await run(["status", "--verbose"], machine)
  expect(stdout).toContain("word index")
  expect(stdout).toContain("last error")
  expect(stdout).toMatch(/^session +last active/m)
})
