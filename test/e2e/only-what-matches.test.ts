/** What commands say where nothing matches, or only a part of it: text, exit code, and both outputs. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

const machine = new Machine()
const empty = join(machine.root, "empty")

beforeAll(async () => {
  mkdirSync(empty)
  const session = machine.session()
  session.turn("Retry the queue of the worker", [
    { tool: "Bash", input: { command: "grep -rn 'deploy to production' docs" }, output: "docs/a.md" },
    {
      tool: "Bash",
      input: { command: "curl -f x" },
      output: "curl: HTTP status 404: no such queue",
      isError: true,
    },
  ])
  await machine.hook("stop", session.flush())
  await machine.idle()
})
afterAll(() => machine[Symbol.dispose]())

const ctx = (cwd: string, ...args: string[]) => run(args, { env: machine.env, cwd })

test.each([
  [
    "fix",
    "http 413",
    "no fix found in",
    "the line that names the error, alone, finds most; ctxbridge search finds its words",
  ],
  [
    "how",
    "deploy to production",
    "no command found in",
    "try fewer words, or the program's name; ctxbridge search finds where they were said",
  ],
])("%s %s: nothing, with exit code 3 and what would find more", async (command, question, nothing, wider) => {
  expect(await ctx(machine.cwd, command, question)).toMatchObject({
    code: 3,
    stdout: "",
    stderr:
      `ctxbridge: ${nothing} ${machine.cwd}: nothing matches "${question}"\n` +
      `hint: ${wider}; --all-projects looks everywhere\n`,
  })
  expect(await ctx(machine.cwd, command, question, "--json", "-a")).toMatchObject({
    code: 3,
    stdout: `${JSON.stringify({
      error: {
        code: "not-found",
        message: `${nothing} the archive: nothing matches "${question}"`,
        hint: wider,
      },
    })}\n`,
    stderr: "",
  })
})

test("search: a doubt above the hits, and none where the words were said", async () => {
  const doubted = await ctx(machine.cwd, "search", "celery worker queue")
  expect(doubted).toMatchObject({ code: 0, stderr: "" })
  expect(doubted.stdout).toStartWith("No message has “celery”: these may not be about it.\nctx:")
  const sure = await ctx(machine.cwd, "search", "worker queue")
  expect(sure).toMatchObject({ code: 0, stderr: "", stdout: expect.stringMatching(/^ctx:/) })
})

test("in a folder without sessions, every project, as the first line says", async () => {
  const note = `No session of ${empty} is archived: this is from every project.\n`
  for (const args of [
    ["search", "worker"],
    ["fix", "no such queue"],
  ]) {
    const { code, stdout, stderr } = await ctx(empty, ...args)
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: "" })
    expect(stdout).toStartWith(`${note}ctx:`)
  }
  expect(await ctx(empty, "search", "walrus")).toMatchObject({
    code: 3,
    stdout: "",
    stderr:
      'ctxbridge: nothing in the archive matches "walrus"\nhint: try fewer or other words, or fewer filters\n',
  })
})
