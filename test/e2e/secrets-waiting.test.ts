/** What takes too long to filter waits for the background job. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { holding } from "../support/held.ts"
import { contentOf, Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

/** Looked through three times, and decoded in between: 2 MB take more than a second. */
const SLOW = "%41key:".repeat((2 << 20) / 7)
const SECRET = `ghp_${"9fK2mQ7xW4".repeat(4)}`
/** Milliseconds; the share of it for the vault is far too little for all of the line. */
const HURRIED = { env: { CTXBRIDGE_HOOK_DEADLINE: "300" } }

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

/**
 * Nothing stopped the filter for secrets within a line: one line of some megabytes, made for it, held a hook past its
 * own deadline and past Claude Code's, at every prompt. Now it is left to the background job, and nothing of it is
 * written before.
 */
test("a line that cannot be filtered in time waits for the job, and nothing of it is written before", async () => {
  using machine = new Machine()
  const session = machine.session().turn("short").flush()
  expect(await machine.hook("stop", session)).toMatchObject({ code: 0, stdout: "", stderr: "" })
  const before = contentOf(machine.copy(session.path))
  await machine.idle()
  session.turn(`${SLOW} ${SECRET}`).flush()
  mkdirSync(join(machine.dataHome, "state"), { recursive: true })
  await holding(machine.dataHome, "state/job.lock", async () => {
    const ran = await machine.hook("stop", session, {}, HURRIED)
    expect(ran).toMatchObject({ code: 0, stdout: "", stderr: "" })
    expect(contentOf(machine.copy(session.path)).equals(before)).toBe(true)
    await machine.idle()
  })
  const kept = filesBelow(machine.dataHome).filter((file) => !file.endsWith(".zst"))
  for (const file of kept) expect(readFileSync(file, "latin1")).not.toContain(SECRET)

  // Whoever comes next starts the job again: it finds the request.
  session.turn("later").flush()
  expect(await machine.hook("session-end", session, {}, HURRIED)).toMatchObject({ code: 0, stderr: "" })
  await machine.idle()
  const after = contentOf(machine.copy(session.path)).toString()
  expect(after).toHaveLength(readFileSync(session.path, "latin1").length)
  expect(after).toContain("later")
  expect(after).not.toContain(SECRET)
  expect(await run(["verify"], { env: machine.env })).toMatchObject({ code: 0, stderr: "" })
})

test("a prompt of megabytes is remembered by its beginning, without secrets", async () => {
  using machine = new Machine()
  const session = machine.session().turn("short").flush()
  const prompt = `first ${SECRET} \`<private>\` hidden ${SLOW}</private>`
  const file = join(machine.dataHome, "sessions", `${session.session}.json`)
  const beginning = `first ${"*".repeat(SECRET.length)} \`<private>****`
  let state: { prompt: string }
  // Where the time that it has is over before the filter, all of it is filled.
  for (let n = 0; ; n++) {
    const ran = await machine.hook("user-prompt-submit", session, { prompt })
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    state = JSON.parse(readFileSync(file, "utf8"))
    expect(state.prompt).not.toContain(SECRET)
    if (n === 5 || state.prompt.startsWith(beginning)) break
  }
  expect(state.prompt).toHaveLength(20_000)
  expect(state.prompt).toStartWith(beginning)
  expect(state.prompt).not.toContain("hidden")
})
