/** `ctxbridge search` ends at once and loads little: what it prints is whole all the same, and so are its errors. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { binary, run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import type { Transcript } from "../support/transcript.ts"

let machine: Machine
let main: Transcript

beforeAll(async () => {
  machine = new Machine()
  main = machine.session()
  for (let n = 0; n < 320; n++) main.turn(`walrus number ${n} ${"and its tusks ".repeat(20)}`, [], "Noted.")
  main.flush()
  await machine.hook("stop", main)
})

afterAll(() => machine[Symbol.dispose]())

const search = (...args: string[]) => run(["search", ...args], { env: machine.env, cwd: machine.cwd })

test("all hits arrive completely through a slow pipe", async () => {
  const whole = await search("walrus", "--json", "--limit", "1000")
  expect(whole).toMatchObject({ code: 0, stderr: "" })
  expect(JSON.parse(whole.stdout).hits).toHaveLength(320)
  expect(whole.stdout.length).toBeGreaterThan(2 * 65_536)
  const { exitCode, stdout, stderr } = Bun.spawnSync(
    [
      "bash",
      "-o",
      "pipefail",
      "-c",
      '"$CTX" search walrus --json --limit 1000 | { dd bs=1 count=3000 2>/dev/null; cat; }',
    ],
    { env: { ...machine.env, PATH: process.env["PATH"] ?? "", CTX: binary() }, cwd: machine.cwd },
  )
  expect({ exitCode, stderr: stderr.toString() }).toEqual({ exitCode: 0, stderr: "" })
  expect(stdout.toString()).toBe(whole.stdout)
})

test("a reader that stops reading is not an error", () => {
  const { exitCode, stderr } = Bun.spawnSync(
    ["bash", "-o", "pipefail", "-c", '"$CTX" search walrus --limit 1000 | head -1'],
    { env: { ...machine.env, PATH: process.env["PATH"] ?? "", CTX: binary() }, cwd: machine.cwd },
  )
  expect({ exitCode, stderr: stderr.toString() }).toEqual({ exitCode: 0, stderr: "" })
})

test("errors keep their codes, including those from modules loaded later", async () => {
  const text = await search("walrus", "--session", "99999999")
  expect(text).toMatchObject({ code: 3, stdout: "" })
  expect(text.stderr).toStartWith("ctxbridge: ")
  expect(text.stderr).toContain("hint: ")
  const json = await search("walrus", "--session", "99999999", "--json")
  expect(json).toMatchObject({ code: 3, stderr: "" })
  expect(JSON.parse(json.stdout).error.code).not.toBe("internal")
  expect(await search("walrus", "--session", "9")).toMatchObject({ code: 64, stdout: "" })
  expect(await search("--nonsense")).toMatchObject({ code: 64, stdout: "" })
  expect(await search("zeppelin", "--json")).toMatchObject({ code: 3, stderr: "" })
  const help = await search("--help")
  expect(help).toMatchObject({ code: 0, stderr: "" })
  expect(help.stdout).toContain("--all-projects")
})

test("what a hook archived in the meantime is found by the next search", async () => {
  expect(await search("ptarmigan")).toMatchObject({ code: 3 })
  main.turn("The ptarmigan is white in winter.", [], "It is.").flush()
  await machine.hook("stop", main)
  for (const attempt of [1, 2]) {
    const { code, stdout } = await search("ptarmigan", "--json")
    expect({ attempt, code }).toEqual({ attempt, code: 0 })
    expect(JSON.parse(stdout).hits[0].prompt ?? JSON.parse(stdout).hits[0].snippet).toContain("ptarmigan")
  }
})

test("nothing that it runs is compiled, unless it runs for long", async () => {
  const compiled = async (...args: string[]): Promise<boolean> => {
    // The engine tells of each piece of machine code that it makes, its own included.
    const env = { ...machine.env, BUN_JSC_logJIT: "1" }
    const { code, stderr } = await run(["search", "walrus", "--json", ...args], { env, cwd: machine.cwd })
    expect({ args, code, tells: stderr.includes("Generated JIT code for") }).toEqual({
      args,
      code: 0,
      tells: true,
    })
    return stderr.includes("Baseline JIT code for")
  }
  expect(await compiled()).toBe(false)
  expect(await compiled("--cold")).toBe(true)
})
