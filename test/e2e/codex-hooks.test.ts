/** Codex' hooks as Codex calls them, with rollouts like its own: what is archived, given back, and told. */
import { afterEach, expect, setDefaultTimeout, test } from "bun:test"
import { appendFileSync, mkdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { binary, run } from "../support/binary.ts"
import { CodexRollout, fullRollout } from "../support/codex-rollout.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(60_000))

const ID = "0a1b2c3d-0000-7000-8000-000000000001"
const CHILD = "0a1b2c3d-0000-7000-8000-000000000002"
const OTHER = "0a1b2c3d-0000-7000-8000-000000000003"

let machine: Machine
const folder = () => join(machine.home, ".codex")
afterEach(() => machine[Symbol.dispose]())

interface Answer {
  readonly context: string
  readonly note: string
}

/** One call as Codex makes it: it must end well, and say nothing that Codex would refuse. */
async function call(
  event: string,
  { path }: Pick<CodexRollout, "path">,
  fields: Record<string, unknown> = {},
  id = ID,
): Promise<Answer> {
  const told = { session_id: id, transcript_path: path, cwd: machine.cwd, model: "gpt-5.4", ...fields }
  const { code, stdout, stderr } = await run(["hook", event, "codex"], {
    cwd: machine.cwd,
    stdin: JSON.stringify(told),
    env: machine.env,
  })
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  if (stdout === "") return { context: "", note: "" }
  const { systemMessage = "", hookSpecificOutput = {}, ...unknown } = JSON.parse(stdout)
  expect(unknown).toEqual({})
  const { hookEventName, additionalContext = "", ...more } = hookSpecificOutput
  expect(more).toEqual({})
  if (additionalContext !== "") expect(["SessionStart", "UserPromptSubmit"]).toContain(hookEventName)
  return { context: additionalContext, note: systemMessage }
}

const rollout = (mode: "legacy" | "paginated" = "paginated"): CodexRollout =>
  fullRollout({ mode, folder: folder(), id: ID, cwd: machine.cwd })

const compactedAt = ({ lines }: CodexRollout): number =>
  lines.findIndex((line) => line.includes('"compaction_output":true') || line.includes('"type":"compacted"'))

for (const mode of ["legacy", "paginated"] as const)
  test(`a compaction is answered at once, with what its summary and the user's words do not have: ${mode}`, async () => {
    machine = new Machine()
    const talk = rollout(mode)
    const at = compactedAt(talk)
    // Codex has not written anything yet.
    expect(await call("session-start", talk, { source: "startup" })).toEqual({ context: "", note: "" })
    talk.flush(0, at)
    expect((await call("user-prompt-submit", talk, { prompt: "Why does the kiln overheat?" })).context).toBe(
      "",
    )
    expect((await call("pre-compact", talk, { trigger: "auto" })).context).toBe("")
    const asked = "Why does the kiln overheat? Never touch the boiler."
    const kept = [{ type: "message", role: "user", content: [{ type: "input_text", text: asked }] }]
    const line = {
      type: "compacted",
      payload: { message: "The valve was mended.", replacement_history: kept },
    }
    appendFileSync(talk.path, `${JSON.stringify({ timestamp: "2026-05-04T10:01:00.000Z", ...line })}\n`)
    const { context, note } = await call("session-start", talk, { source: "compact" })
    expect(context).toStartWith(`<ctxbridge-restore source="compact" session="${ID}">`)
    expect(context).toContain("`npm test`")
    expect(context).toContain("src/valve.ts")
    // Codex keeps it, and the prompt that waits.
    expect(context).not.toContain("onstraints")
    expect(context).not.toContain("Claude")
    expect(context.length).toBeLessThanOrEqual(4000)
    expect(note).toContain("ctxbridge restored")
    // Once.
    expect((await call("session-start", talk, { source: "compact" })).context).toBe("")
    expect((await call("user-prompt-submit", talk, { prompt: "Go on" })).context).toBe("")
    expect((await call("session-start", talk, { source: "resume" })).context).toBe("")
    const copy = readFileSync(machine.copy(talk.path))
    expect(Buffer.from(Bun.zstdDecompressSync(copy)).equals(readFileSync(talk.path))).toBe(true)
  })

test("a compaction that no hook was called for is answered at the next prompt", async () => {
  machine = new Machine()
  const talk = rollout()
  const at = compactedAt(talk)
  talk.flush(0, at)
  await call("user-prompt-submit", talk, { prompt: "Why does the kiln overheat?" })
  await call("stop", talk)
  talk.flush(at)
  const { context } = await call("user-prompt-submit", talk, { prompt: "And the latch?" })
  expect(context).toStartWith(`<ctxbridge-restore source="compact" session="${ID}">`)
  expect(context).toContain("src/valve.ts")
  // What came after it is in the context.
  expect(context).not.toContain("git push")
  expect((await call("user-prompt-submit", talk, { prompt: "And then?" })).context).toBe("")
})

test("a subagent's compaction is none of the session's, and its rollout is archived", async () => {
  machine = new Machine()
  const talk = rollout().flush(0, 12)
  const child = new CodexRollout({
    mode: "paginated",
    folder: folder(),
    id: CHILD,
    cwd: machine.cwd,
    meta: { source: { subagent: "review" }, parent_thread_id: ID },
  })
  child.turn("Look at the yard").run("ls yard", "gravel").compacted("The yard has gravel.").flush()
  await call("user-prompt-submit", talk, { prompt: "Why does the kiln overheat?" })
  await call("user-prompt-submit", child, {
    prompt: "Look at the yard",
    agent_id: CHILD,
    agent_type: "default",
  })
  await call("pre-compact", child, { trigger: "auto", agent_id: CHILD, agent_type: "default" })
  await call("subagent-stop", talk, {
    agent_id: CHILD,
    agent_type: "default",
    agent_transcript_path: child.path,
  })
  expect((await call("user-prompt-submit", talk, { prompt: "Go on" })).context).toBe("")
  const copy = readFileSync(machine.copy(child.path))
  expect(Buffer.from(Bun.zstdDecompressSync(copy)).toString()).toBe(child.text)
})

test("a new session is told where the project was left, whichever agent it was", async () => {
  machine = new Machine()
  const own = machine.session().turn("Paint the kiln ultramarine").flush()
  await machine.hook("stop", own)
  const talk = new CodexRollout({ mode: "paginated", folder: folder(), id: ID, cwd: machine.cwd })
  const { context } = await call("session-start", talk, { source: "startup" })
  expect(context).toContain("Last session of this project, in Claude Code: 1 turn")
  expect(context).toContain("ultramarine")
  talk.turn("Fire it").answer("Fired.").flush()
  await call("stop", talk)
  const next = { path: talk.path.replace(ID, CHILD) }
  const later = await call("session-start", next, { source: "startup" }, CHILD)
  expect(later.context).toContain("Last session of this project: 1 turn")
  expect(later.context).toContain("(Claude Code, 1 turn)")
  // Which session `/clear` has ended, only its end tells; an old one is no guess, and nothing is remembered of one.
  const off = { ...machine.env, CTXBRIDGE_RESTORE_CLEAR: "off" }
  const told = { session_id: OTHER, transcript_path: next.path, cwd: machine.cwd, source: "clear" }
  const silent = { cwd: machine.cwd, stdin: JSON.stringify(told), env: off }
  expect(await run(["hook", "session-start", "codex"], silent)).toMatchObject({ code: 0, stdout: "" })
  const unknown = await call("session-start", next, { source: "clear" }, OTHER)
  expect(unknown.context).toContain("Last session of this project: 1 turn")
  expect(unknown.context).not.toContain('source="clear"')
  await call("session-end", talk, { reason: "other" })
  const cleared = await call("session-start", next, { source: "clear" }, OTHER)
  expect(cleared.context).toContain(`source="clear" session="${ID}"`)
})

test("after /clear, a session goes on from the only one that may be meant, and from none of two", async () => {
  for (const ids of [[ID], [ID, OTHER]]) {
    using one = new Machine()
    machine = one
    for (const id of ids) {
      const talk = new CodexRollout({ mode: "paginated", folder: folder(), id, cwd: machine.cwd })
      talk.turn("Fire it").answer("Fired.")
      const now = new Date().toISOString()
      for (const [n, line] of talk.lines.entries())
        talk.lines[n] = line.replaceAll(/2026-05-04T10:\d\d:\d\d\.\d{3}Z/g, now)
      talk.flush()
      await call("stop", talk, {}, id)
    }
    const next = { path: join(folder(), "sessions", `rollout-${CHILD}.jsonl`) }
    const { context } = await call("session-start", next, { source: "clear" }, CHILD)
    if (ids.length === 1) expect(context).toStartWith(`<ctxbridge-restore source="clear" session="${ID}"`)
    else expect(context).toStartWith('<ctxbridge-restore source="startup"')
  }
})

test("after /clear, no session goes on from one that another Codex has ended", async () => {
  machine = new Machine()
  const talk = new CodexRollout({ mode: "paginated", folder: folder(), id: ID, cwd: machine.cwd })
  talk.turn("Fire it").answer("Fired.")
  const now = new Date().toISOString()
  for (const [n, line] of talk.lines.entries())
    talk.lines[n] = line.replaceAll(/2026-05-04T10:\d\d:\d\d\.\d{3}Z/g, now)
  talk.flush()
  await call("stop", talk)
  const told = { session_id: ID, transcript_path: talk.path, cwd: machine.cwd, reason: "other" }
  // Stays the hook's parent, as there is more to do for it, and is not taken for a shell that only starts the hook.
  const another = Bun.spawn(["sh", "-c", '"$0" hook "$EVENT" codex; exit $?', binary()], {
    cwd: machine.cwd,
    env: { ...machine.env, EVENT: "session-end" },
    stdin: new Blob([JSON.stringify(told)]),
    stdout: "pipe",
    stderr: "pipe",
  })
  const [stdout, stderr, code] = await Promise.all([
    new Response(another.stdout).text(),
    new Response(another.stderr).text(),
    another.exited,
  ])
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "", stderr: "" })
  const next = { path: join(folder(), "sessions", `rollout-${CHILD}.jsonl`) }
  const { context } = await call("session-start", next, { source: "clear" }, CHILD)
  expect(context).toStartWith('<ctxbridge-restore source="startup"')
})

test("where Codex starts our server, its tools are named", async () => {
  machine = new Machine()
  mkdirSync(folder(), { recursive: true })
  appendFileSync(
    join(folder(), "config.toml"),
    '[mcp_servers.ctxbridge]\ncommand = "/usr/bin/ctxbridge"\nargs = ["mcp"]\n',
  )
  const talk = rollout()
  const at = compactedAt(talk)
  talk.flush(0, at)
  await call("pre-compact", talk, { trigger: "manual" })
  talk.flush(at, at + 2)
  expect((await call("session-start", talk, { source: "compact" })).context).toContain(
    "`mcp__ctxbridge__get`",
  )
})

test("what nobody understands is passed over", async () => {
  machine = new Machine()
  for (const [event, agent, stdin] of [
    ["session-start", "codex", "no JSON"],
    ["session-start", "nobody", "{}"],
    ["post-compact", "codex", "{}"],
    ["user-prompt-submit", "codex", ""],
  ] as const)
    expect(await run(["hook", event, agent], { cwd: machine.cwd, env: machine.env, stdin })).toMatchObject({
      code: 0,
      stdout: "",
      stderr: "",
    })
})

test("without a rollout, as with --ephemeral, nothing is archived and nothing fails", async () => {
  machine = new Machine()
  mkdirSync(dirname(rollout().path), { recursive: true })
  const none = { path: null as unknown as string }
  for (const [event, fields] of [
    ["session-start", { source: "startup" }],
    ["user-prompt-submit", { prompt: "Hello" }],
    ["pre-compact", { trigger: "auto" }],
    ["session-start", { source: "compact" }],
    ["stop", {}],
    ["session-end", { reason: "other" }],
  ] as const)
    expect((await call(event, none, fields)).context).toBe("")
})
