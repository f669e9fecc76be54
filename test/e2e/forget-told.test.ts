/** What ctxbridge has carried from a forgotten session into others goes as well, and these sessions are named. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { type Ran, run } from "../support/binary.ts"
import { holding } from "../support/held.ts"
import { contentOf, Machine } from "../support/machine.ts"
import { Peer } from "../support/mcp.ts"
import { limit } from "../support/slowness.ts"
import { filesWith } from "../support/traces.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

const SENTENCES = {
  prompt: "The heron nests behind the old observatory",
  rule: "Never paint the observatory dome in crimson",
  answer: "I decided to move the heron to the western tower",
  failure: "Error: the tower door is jammed by seven beetles",
  todo: "measure the beetles beside the tower door",
  path: "/srv/observatory/heron-census-of-the-west.csv",
} as const

const well = (ran: Ran): Ran => {
  expect(ran).toMatchObject({ code: 0, stderr: "" })
  return ran
}

const cli = (machine: Machine, ...args: string[]): Promise<Ran> =>
  run(args, { env: machine.env, cwd: machine.cwd })

const contextIn = ({ stdout }: Ran): string =>
  JSON.parse(stdout).hookSpecificOutput.additionalContext as string

/** What Claude Code writes when a hook has given something. */
const given = (transcript: Transcript, text: string): Transcript =>
  transcript.line({
    type: "attachment",
    attachment: { type: "hook_additional_context", hookEvent: "SessionStart", content: [text] },
  })

function secretSession(machine: Machine): Transcript {
  return machine
    .session()
    .turn(
      `${SENTENCES.prompt}. ${SENTENCES.rule}.`,
      [
        { tool: "Edit", input: { file_path: SENTENCES.path }, output: "ok" },
        { tool: "TodoWrite", input: { todos: [{ content: SENTENCES.todo, status: "pending" }] }, output: "" },
      ],
      SENTENCES.answer,
    )
    .turn(
      "Try the tower door beside the observatory of the heron",
      [
        {
          tool: "Bash",
          input: { command: "open the-tower-door" },
          output: `Exit code 1\n${SENTENCES.failure}`,
          isError: true,
        },
      ],
      SENTENCES.answer,
    )
    .flush()
}

const left = (machine: Machine): string[] =>
  Object.values(SENTENCES).flatMap((text) =>
    filesWith(machine.dataHome, text).map((file) => `${text}: ${file}`),
  )

test("restores, pointers, answers of tools and output of commands", async () => {
  using machine = new Machine()
  const secret = secretSession(machine)
  well(await machine.hook("stop", secret))
  well(await cli(machine, "import"))

  const searched = well(await cli(machine, "search", "heron observatory")).stdout
  const handle = /ctx:[0-9a-z]+/.exec(searched)![0]
  // Started, then asked the server and the command.
  const started = machine.session()
  const pointer = contextIn(well(await machine.hook("session-start", started, { source: "startup" })))
  expect(pointer).toContain("ctxbridge-restore")
  given(started, pointer)
  {
    await using peer = await Peer.connect(machine.cwd, machine.env)
    const asked = [
      ["search", { query: "heron observatory" }],
      ["timeline", { of: secret.session }],
      ["get", { handle }],
      ["status", {}],
      ["restore_preview", { session: secret.session }],
    ] as const
    for (const [tool, input] of asked) {
      const { text, isError } = await peer.call(tool, input)
      expect([tool, isError]).toEqual([tool, false])
      started.turn(`ask ${tool}`, [{ tool: `mcp__ctxbridge__${tool}`, input, output: text }])
    }
  }
  const shown = well(await cli(machine, "show", handle)).stdout
  started.turn("look", [
    { tool: "Bash", input: { command: "ctxbridge search heron" }, output: searched },
    { tool: "Bash", input: { command: `cd /x && ctxbridge show ${handle}` }, output: shown },
  ])
  const said = "So the bird lives by the telescope, I see"
  started.turn(said).flush()
  well(await machine.hook("stop", started))

  // Continued after /clear, and compacted then.
  well(await machine.hook("session-end", secret, { reason: "clear" }))
  const cleared = machine.session()
  const restore = contextIn(well(await machine.hook("session-start", cleared, { source: "clear" })))
  for (const text of [SENTENCES.rule, SENTENCES.todo]) expect(restore).toContain(text)
  given(cleared, restore).turn("go on with the work").flush()
  well(await machine.hook("stop", cleared))

  const untouched = machine
    .session({ cwd: join(machine.root, "elsewhere") })
    .turn("ctx: nothing of it")
    .flush()
  well(await cli(machine, "import"))
  await machine.idle()
  const held = left(machine)
  for (const one of [started, cleared]) expect(held.some((line) => line.includes(one.session))).toBe(true)

  const planned = JSON.parse(well(await cli(machine, "forget", secret.session, "--dry-run", "--json")).stdout)
  const names = [started.session, cleared.session]
  expect(planned.told.map((one: { session: string }) => one.session).sort()).toEqual(names)
  expect(planned.told).toMatchObject([{ onDisk: 1 }, { onDisk: 1 }])
  expect(left(machine)).toEqual(held)

  const { stdout } = well(await cli(machine, "forget", secret.session, "--yes"))
  expect(stdout).toContain("to 2 other sessions")
  for (const name of names) expect(stdout).toContain(name)
  expect(left(machine)).toEqual([])
  expect(existsSync(machine.copy(secret.path))).toBe(false)
  expect(contentOf(machine.copy(untouched.path)).equals(readFileSync(untouched.path))).toBe(true)

  // As many bytes, the same lines, and what was said.
  for (const { path } of [started, cleared]) {
    const content = contentOf(machine.copy(path))
    expect(content.length).toBe(readFileSync(path).length)
    for (const line of content.toString().trimEnd().split("\n")) JSON.parse(line)
  }
  expect(contentOf(machine.copy(started.path)).toString()).toContain(said)
  expect(contentOf(machine.copy(cleared.path)).toString()).toContain("<ctxbridge-restore source=")

  // Claude Code still has all of it.
  started.turn("later").flush()
  well(await machine.hook("stop", started))
  well(await cli(machine, "import", "--check"))
  well(await cli(machine, "rebuild"))
  expect(left(machine)).toEqual([])
  expect(JSON.parse(well(await cli(machine, "verify", "--json")).stdout)).toMatchObject({ ok: true })
})

test("killed before the views followed, it is finished by the next command", async () => {
  using machine = new Machine()
  const secret = secretSession(machine)
  well(await machine.hook("stop", secret))
  const started = machine.session()
  given(started, contextIn(well(await machine.hook("session-start", started, { source: "startup" }))))
  well(await machine.hook("stop", started.turn("and so on").flush()))
  well(await cli(machine, "import"))
  await machine.idle()
  expect(left(machine).some((line) => line.includes(started.session))).toBe(true)
  const stopped = await holding(machine.dataHome, "rebuild.lock", () =>
    cli(machine, "forget", secret.session, "--yes"),
  )
  expect(stopped).toMatchObject({ code: 1, stdout: "" })
  well(await run(["__job"], { env: machine.env }))
  expect(left(machine)).toEqual([])
  expect(JSON.parse(well(await cli(machine, "verify", "--json")).stdout)).toMatchObject({ ok: true })
})

test("what a fork has of it itself is neither carried nor replaced", async () => {
  using machine = new Machine()
  const secret = secretSession(machine)
  well(await cli(machine, "import"))
  const fork = machine.session().raw(readFileSync(secret.path, "utf8").trimEnd()).flush()
  well(await cli(machine, "import"))
  const restore = JSON.parse(well(await cli(machine, "preview", "--session", fork.session, "--json")).stdout)
  given(fork, restore.text).boundary().turn("and on").flush()
  well(await cli(machine, "import"))
  const before = contentOf(machine.copy(fork.path))
  const done = JSON.parse(well(await cli(machine, "forget", secret.session, "--yes", "--json")).stdout)
  expect(done).toMatchObject({ forkedFrom: [fork.session], told: [] })
  expect(contentOf(machine.copy(fork.path)).equals(before)).toBe(true)
})
