/** `ctxbridge install`: what it says, and what it leaves. */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import { runAtTerminal } from "../support/terminal.ts"

setDefaultTimeout(limit(120_000))

/**
 * After `install --scope project` the way back was said to be `ctxbridge uninstall`, which looked into the user's settings
 * alone, found nothing and left the hooks where they were, without a word.
 */
test("install says how it is undone, and uninstall what it leaves", async () => {
  using machine = new Machine()
  const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
  const settings = join(machine.cwd, ".claude", "settings.json")
  const installed = await cli("install", "--scope", "project")
  expect(installed).toMatchObject({ code: 0, stderr: "" })
  expect(installed.stdout).toContain("Undo with `ctxbridge uninstall --scope project`.")

  const other = await cli("uninstall")
  expect(other).toMatchObject({ code: 0, stderr: "" })
  const way = `cd ${machine.cwd} && ctxbridge uninstall --scope project`
  expect(other.stdout).toContain(`Still registered in ${settings}: ${way}\n`)
  expect(other.stdout).toContain(`Still registered in ${join(machine.cwd, ".mcp.json")}: ${way}\n`)
  expect(existsSync(settings)).toBe(true)
  expect(JSON.parse((await cli("uninstall", "--json")).stdout).still).toContain(settings)

  const right = await cli("uninstall", "--scope", "project")
  expect(right).toMatchObject({ code: 0, stderr: "" })
  expect(right.stdout).not.toContain("Still")
  expect(existsSync(settings)).toBe(false)
  expect((await cli("install")).stdout).toContain("Undo with `ctxbridge uninstall`.")
  const half = await cli("uninstall", "--no-mcp")
  const state = join(machine.home, ".claude.json")
  expect(half.stdout).toContain(`Still registered in ${state}: ctxbridge uninstall\n`)
})

/** `status` told those who had just installed the hooks to install them, and called a hook without a timeout another binary's. */
describe("status after an install", () => {
  test("before the first session, status says what is missing", async () => {
    using machine = new Machine()
    const there = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
    const lastLine = async (): Promise<string | undefined> => {
      const { code, stdout, stderr } = await there("status")
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      return stdout.trimEnd().split("\n").at(-1)
    }
    expect(await lastLine()).toBe(
      "No archive yet: `ctxbridge install` registers the hooks, `ctxbridge import` archives what already exists.",
    )
    expect((await there("install")).code).toBe(0)
    expect(await lastLine()).toBe(
      "No archive yet: it starts with the next session, `ctxbridge import` archives what already exists.",
    )
  })

  test("a hook that was changed is not said to be another binary's", async () => {
    using machine = new Machine()
    const there = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
    expect((await there("install")).code).toBe(0)
    const file = join(machine.home, ".claude", "settings.json")
    const settings = JSON.parse(readFileSync(file, "utf8"))
    delete settings.hooks.Stop[0].hooks[0].timeout
    writeFileSync(file, JSON.stringify(settings))
    const { code, stdout, stderr } = await there("status")
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout).toContain(`5 of 6 in ${file}; from another binary, or changed: Stop\n`)
  })
})

/**
 * Where Claude Code's state file could not be written, `install` failed with the hooks written already, and said
 * nothing of them.
 */
describe("a state file that cannot be written", () => {
  /** To root nothing is write-protected. */
  const NOBODY = 65_534
  const isRoot = process.getuid?.() === 0
  const setpriv = Bun.which("setpriv")

  test.skipIf(isRoot && setpriv === null).each([[], ["--dry-run"]])(
    "a file that is write-protected: nothing is changed (%j)",
    async (...more) => {
      using machine = new Machine()
      const state = join(machine.home, ".claude.json")
      writeFileSync(state, "{}")
      chmodSync(state, 0o444)
      if (isRoot) for (const path of [machine.root, machine.home, state]) chownSync(path, NOBODY, NOBODY)
      const through = isRoot ? [setpriv!, `--reuid=${NOBODY}`, "--clear-groups"] : []
      const nobody = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd, through })
      if ((await nobody("--version")).code !== 0)
        return console.warn("skipped: nobody may run the binary here")
      const ran = await nobody("install", ...more)
      expect(ran).toMatchObject({ code: 1, stdout: "" })
      expect(ran.stderr).toStartWith(`ctxbridge: cannot change ${state}: EACCES`)
      expect(readFileSync(state, "utf8")).toBe("{}")
      for (const path of [join(machine.home, ".claude"), machine.dataHome])
        expect(existsSync(path)).toBe(false)
    },
  )
})

/**
 * Where hooks and status line went to both ends of a long file, the difference of its lines took as many bytes as the
 * square of their number. `install` failed, and so did `uninstall` once the file had grown.
 */
test("settings of many lines are installed into, and restored", async () => {
  using machine = new Machine()
  const file = join(machine.home, ".claude", "settings.json")
  mkdirSync(dirname(file))
  const allow = Array.from({ length: 40_000 }, (_, n) => `Read(${n})`)
  const theirs = [{ hooks: [{ type: "command", command: "true" }] }]
  const before = JSON.stringify({ hooks: { PreToolUse: theirs }, permissions: { allow } }, null, 2)
  writeFileSync(file, before)
  const options = { env: machine.env, cwd: machine.cwd }
  const tried = await run(["install", "--no-mcp", "--dry-run", "--json"], options)
  expect(tried).toMatchObject({ code: 0, stderr: "" })
  const { diff } = JSON.parse(tried.stdout)
  expect(diff.length).toBeLessThan(200)
  expect(diff).toContain("...")
  expect(await run(["install", "--no-mcp"], options)).toMatchObject({ code: 0, stderr: "" })
  expect(Object.keys(JSON.parse(readFileSync(file, "utf8")))).toEqual(["hooks", "permissions", "statusLine"])
  expect(await run(["uninstall"], options)).toMatchObject({ code: 0, stderr: "" })
  expect(readFileSync(file, "utf8")).toBe(before)
})

/**
 * When the question of `install` was closed with Ctrl-D, what followed stood on the same line; and `status` called for an
 * import that was under way.
 */
describe("the question whether to import", () => {
  const LATER = "`ctxbridge import` archives the transcript that Claude Code has kept"

  /** What the terminal shows once the question is answered, and what `status` tells right after it. */
  async function answered(answer: string): Promise<{ shown: string; status: string }> {
    using machine = new Machine()
    machine.session().turn("said before the install").flush()
    const { code, text } = await runAtTerminal(machine, ["install", "--no-model"], { cols: 200, answer })
    expect(code).toBe(0)
    const { stdout } = await run(["status"], { env: machine.env, cwd: machine.cwd })
    await machine.idle()
    return { shown: text.split("now? [Y/n] ")[1] ?? "", status: stdout }
  }

  test("Enter archives what there is, and status does not call for it", async () => {
    const { shown, status } = await answered("\n")
    expect(shown).toStartWith("\r\nImport     the transcript that Claude Code has kept")
    expect(status).not.toContain("No archive yet")
  })

  test.each([
    ["n\n", "n\r\n"],
    ["\x04", "\r\n"],
  ])("%j leaves it alone", async (answer, echoed) => {
    const { shown, status } = await answered(answer)
    expect(shown).toStartWith(`${echoed}Import     ${LATER}`)
    expect(status).toContain("No archive yet: it starts with the next session")
  })
})

describe("the model", () => {
  const lineOf = (text: string): string | undefined => /^Model {6}(.*?)\r?$/m.exec(text)?.[1]

  async function installed(machine: Machine, args: readonly string[], from?: string): Promise<string> {
    const env = { ...machine.env, ...(from !== undefined && { CTXBRIDGE_MODEL_FROM: from }) }
    const ran = await run(["install", ...args], { env, cwd: machine.cwd })
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    return ran.stdout
  }

  test("without a terminal it is not fetched, but named", async () => {
    using machine = new Machine()
    expect(lineOf(await installed(machine, []))).toBe(
      "`ctxbridge model install` adds search by meaning (24 MB from huggingface.co)",
    )
    expect(lineOf(await installed(machine, ["--no-model"]))).toBe("skipped")
    expect(existsSync(join(machine.dataHome, "models"))).toBe(false)
    const both = await run(["install", "--model", "--no-model"], machine)
    expect(both).toMatchObject({ code: 64, stdout: "" })
    expect(both.stderr).toContain("--model and --no-model cannot be used together")
  })

  test("at a terminal both questions are asked before anything is done; a model that cannot be had is no failure", async () => {
    using machine = new Machine()
    using server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => new Response("no", { status: 404 }),
    })
    machine.session().turn("said before the install").flush()
    const { code, text } = await runAtTerminal(machine, ["install"], {
      cols: 200,
      env: { CTXBRIDGE_MODEL_FROM: server.url.origin },
      answer: "n\n\n",
    })
    expect(code).toBe(0)
    const [, second = ""] = text.split("Archive the transcript that Claude Code has kept")
    expect(second).toContain("Download the model for search by meaning (24 MB from 127.0.0.1) now? [Y/n] ")
    expect(lineOf(text)).toMatch(
      /^not there; `ctxbridge model install` gets it later \(cannot fetch http:.*: the server says 404\)$/,
    )
    expect(text).toMatch(/^\W*Import {5}`ctxbridge import` archives/m)
    expect(text).toContain("\nTry        ")
  })

  test("--model asks nobody, and --json says what went wrong", async () => {
    using machine = new Machine()
    const { history, model } = JSON.parse(await installed(machine, ["--model", "--json"], "/nowhere"))
    expect(history).toMatchObject({ importing: false })
    expect(model).toEqual({ id: null, problem: "there is no folder /nowhere" })
  })
})
