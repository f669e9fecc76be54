/** What the new context holds already is not given back, and nothing at all when nothing is missing. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { execFileSync } from "node:child_process"
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import type { Ran } from "../../support/binary.ts"
import { Inside } from "../../support/inside.ts"
import { contextOf, type Machine } from "../../support/machine.ts"
import type { Transcript } from "../../support/transcript.ts"

setDefaultTimeout(60_000)

const RULE = "Never touch the generated files."
const NAMED = "retryAfter"

function given(ran: Ran): string {
  expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code: 0, stderr: "" })
  return contextOf(ran) ?? ""
}

/** What a compaction is followed by; hosts from 2.1 on say its summary. */
async function compacted(machine: Machine, session: Transcript, summary?: string): Promise<string> {
  await machine.hook("pre-compact", session, { trigger: "manual", custom_instructions: "" })
  if (summary !== undefined) {
    const fields = { agent_type: "", agent_id: "a", agent_transcript_path: "", stop_hook_active: false }
    await machine.hook("subagent-stop", session, { ...fields, last_assistant_message: summary })
  }
  return given(await machine.hook("session-start", session, { source: "compact" }))
}

const cleared = async (machine: Machine, session: Transcript): Promise<string> => {
  await machine.hook("session-end", session, { reason: "clear" })
  return given(await machine.hook("session-start", machine.session(), { source: "clear" }))
}

/** A fixed folder: a random one has names in it. */
const FOLDER = "/srv/app"
const FILE = `${FOLDER}/src/deep/client.ts`

function worked(machine: Machine, version = "2.1.112", folder = FOLDER): Transcript {
  const session = machine.session({ version, cwd: folder })
  const input = { file_path: FILE.replace(FOLDER, folder), old_string: "a", new_string: "b" }
  session.turn(`Add retries. ${RULE}`, [{ tool: "Edit", input, output: "ok" }], `Done, see ${NAMED}.`)
  return session.flush()
}

test("what the folder's and the user's memory files say is left out", async () => {
  using machine = new Inside()
  const claude = join(machine.home, ".claude")
  const sub = join(machine.cwd, "packages", "a")
  mkdirSync(sub, { recursive: true })
  mkdirSync(claude, { recursive: true })
  const slug = sub.replaceAll(/[^A-Za-z0-9]/g, "-")
  const memory = join(claude, "projects", slug, "memory")
  mkdirSync(memory, { recursive: true })
  const places = [
    join(sub, "CLAUDE.md"),
    join(machine.cwd, "CLAUDE.md"),
    join(machine.cwd, "CLAUDE.local.md"),
    join(machine.cwd, ".claude", "CLAUDE.md"),
    join(claude, "CLAUDE.md"),
    join(memory, "MEMORY.md"),
  ]
  mkdirSync(join(machine.cwd, ".claude"))
  for (const [n, place] of places.entries()) {
    const session = machine.session({ cwd: sub })
    session.turn(`Add retries ${n}. ${RULE}`, [], `Done, see ${NAMED}.`).flush()
    expect(await compacted(machine, session)).toContain(`- "${RULE}"`)
    session.boundary("manual").summary("1. Work").turn("Go on.", [], "Yes.").flush()
    writeFileSync(place, `# Rules\n- ${RULE.toLowerCase().replaceAll(" ", "\n")}\n`)
    const told = await compacted(machine, session)
    expect({ place: told.includes(`- "${RULE}"`), name: told.includes(NAMED) }).toEqual({
      place: false,
      name: true,
    })
    rmSync(place)
  }
})

test("the same is left out after /clear", async () => {
  using machine = new Inside()
  writeFileSync(join(machine.cwd, "CLAUDE.md"), RULE)
  const session = machine.session()
  session.turn(`Add retries. ${RULE}`, [], `Done, see ${NAMED}.`).flush()
  const told = await cleared(machine, session)
  expect(told).not.toContain(`- "${RULE}"`)
  expect(told).toContain(NAMED)
})

test("a memory file that is not a regular file does not block", async () => {
  using machine = new Inside()
  execFileSync("mkfifo", [join(machine.cwd, "CLAUDE.md")])
  mkdirSync(join(machine.home, ".claude", "CLAUDE.md"), { recursive: true })
  const session = machine.session()
  session.turn(`Add retries. ${RULE}`, [], "Done.").flush()
  expect(await compacted(machine, session)).toContain(`- "${RULE}"`)
})

test("nothing is given back when the summary contains everything", async () => {
  using machine = new Inside()
  const session = worked(machine)
  const summary = `<summary>Add retries. ${RULE} Edited src/deep/client.ts; ${NAMED}.</summary>`
  expect(await compacted(machine, session, summary)).toBe("")
})

test("nothing is given back when nothing was said", async () => {
  using machine = new Inside()
  const session = machine.session()
  expect(await compacted(machine, session)).toBe("")
  expect(await cleared(machine, session)).toBe("")
})

test("what newer hosts keep of the last answer is left out; what was done to a file that they show is told", async () => {
  for (const [version, isKept] of [
    ["2.0.75", false],
    ["2.0.76", false],
    ["2.1.329", true],
  ] as const) {
    using machine = new Inside()
    const file = FILE.replace(FOLDER, machine.cwd)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, "b")
    const told = await compacted(machine, worked(machine, version, machine.cwd))
    expect(told).toContain(`- "${RULE}"`)
    expect(told.includes(NAMED)).toBe(!isKept)
    expect(told).toContain("- `src/deep/client.ts`: edited")
  }
})

test("in the middle of the work, newer hosts keep what is said in the last message; its calls are given all the same", async () => {
  const check = { tool: "Bash", input: { command: "npm run check" }, output: "ok" }
  const lint = { tool: "Bash", input: { command: "npm run lint" }, output: "ok" }
  for (const version of ["2.1.112", "2.1.329"]) {
    const isKept = version === "2.1.329"
    using machine = new Inside()
    const session = machine.session({ version })
    session.user(`Add retries. ${RULE}`).message().say(`First ${NAMED}.`).step(check).flush()
    const after = await compacted(machine, session)
    expect(after.includes(NAMED)).toBe(!isKept)
    expect(after).toContain("npm run check")

    // A message of its own, in which nothing is said.
    const next = await compacted(machine, session.step(lint).flush())
    expect(next).toContain(NAMED)
    expect(next).toContain("npm run check")
    expect(next).toContain("npm run lint")
  }
})
