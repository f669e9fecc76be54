/** `compaction.block`: a `/compact` is refused once, while the vault lacks a part of the session, and never else. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { renameSync, writeFileSync } from "node:fs"
import { basename, dirname } from "node:path"
import type { Ran } from "../support/binary.ts"
import { holding } from "../support/held.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

const ON = { CTXBRIDGE_COMPACTION_BLOCK: "once-if-behind" }
/** Far less than the long transcript takes. */
const HURRIED = { CTXBRIDGE_HOOK_DEADLINE: "100" }

const compact = (machine: Machine, transcript: Transcript, env: Record<string, string>, trigger = "manual") =>
  machine.hook("pre-compact", transcript, { trigger, custom_instructions: "" }, { env })

const short = (transcript: Transcript): Transcript =>
  transcript
    .turn("Never touch the generated files.", [
      { tool: "Bash", input: { command: "npm test" }, output: "ok" },
    ])
    .flush()

/** 40 MB. */
function long(transcript: Transcript): Transcript {
  const output = "the quick brown fox jumps over the lazy dog\n".repeat(2300)
  for (let n = 0; n < 400; n++)
    transcript.turn(`Step ${n}`, [{ tool: "Bash", input: { command: `step ${n}` }, output }])
  return transcript.flush()
}

/** What Claude Code shows; undefined if the hook lets it compact, in which case it gives instructions or nothing. */
function refusalIn(ran: Ran): string | undefined {
  expect(ran).toMatchObject({ code: 0, stderr: "" })
  if (!ran.stdout.startsWith("{")) {
    expect(ran.stdout).toMatch(/^(ctxbridge: .*)?$/s)
    return undefined
  }
  const { decision, reason, ...rest } = JSON.parse(ran.stdout)
  expect({ decision, rest }).toEqual({ decision: "block", rest: {} })
  return reason
}

test("once a session, while the archive is behind", async () => {
  using machine = new Machine()
  const transcript = long(machine.session())
  const env = { ...ON, ...HURRIED }
  expect(refusalIn(await compact(machine, transcript, env))).toMatch(
    /^ctxbridge is still archiving this session: [\d.]+ MB left\. Nothing was compacted\. Run \/compact again/,
  )
  // Whether or not all is archived by now.
  expect(refusalIn(await compact(machine, transcript, env))).toBeUndefined()
  await machine.idle()
})

test("it is not remembered as a compaction", async () => {
  using machine = new Machine()
  const transcript = long(machine.session())
  expect(refusalIn(await compact(machine, transcript, { ...ON, ...HURRIED }))).toBeDefined()
  await machine.idle()
  const said = await machine.hook("user-prompt-submit", transcript, { prompt: "Go on, then" })
  expect(said).toMatchObject({ code: 0, stdout: "", stderr: "" })
})

test("not by default, not for automatic compactions, not for a subagent", async () => {
  using machine = new Machine()
  const transcript = long(machine.session())
  expect(refusalIn(await compact(machine, transcript, HURRIED))).toBeUndefined()
  const other = long(machine.session())
  expect(refusalIn(await compact(machine, other, { ...ON, ...HURRIED }, "auto"))).toBeUndefined()
  const third = long(machine.session())
  const fields = { trigger: "manual", agent_id: "a1b2c3" }
  const ran = await machine.hook("pre-compact", third, fields, { env: { ...ON, ...HURRIED } })
  expect(ran).toMatchObject({ code: 0, stdout: "", stderr: "" })
})

test("not while the archive has everything", async () => {
  using machine = new Machine()
  const transcript = short(machine.session())
  expect(refusalIn(await compact(machine, transcript, ON))).toBeUndefined()
})

test("not by versions that would paste it into their instructions, and not in doubt", async () => {
  using machine = new Machine()
  const env = { ...ON, ...HURRIED }
  expect(refusalIn(await compact(machine, long(machine.session({ version: "2.0.76" })), env))).toBeUndefined()
  expect(refusalIn(await compact(machine, machine.session(), env))).toBeUndefined()
  const odd = long(machine.session())
  writeFileSync(odd.path, `${"x".repeat(1 << 17)}\n`, { flag: "a" })
  expect(refusalIn(await compact(machine, odd, env))).toBeUndefined()
})

test("an archive that cannot be written is told, once", async () => {
  using machine = new Machine()
  const transcript = short(machine.session())
  writeFileSync(machine.dataHome, "in the way")
  const reason = refusalIn(await compact(machine, transcript, ON))
  expect(reason).toStartWith("ctxbridge could not write this session to its archive")
  expect(refusalIn(await compact(machine, transcript, ON))).toBeUndefined()
  renameSync(machine.dataHome, `${machine.dataHome}.aside`)
})

test("another process that archives it at the moment counts as behind", async () => {
  using machine = new Machine()
  const transcript = short(machine.session())
  await machine.hook("stop", transcript)
  transcript.turn("And the parser?").flush()
  const { path } = transcript
  const reason = await holding(dirname(machine.copy(path)), basename(machine.copy(path)), async () =>
    refusalIn(await compact(machine, transcript, ON)),
  )
  expect(reason).toStartWith("ctxbridge is still archiving this session. Nothing was compacted.")
  expect(refusalIn(await compact(machine, transcript, ON))).toBeUndefined()
})

test("what the design documents call it", async () => {
  using machine = new Machine()
  for (const [value, isOn] of Object.entries({
    true: true,
    "1": true,
    "once-if-behind": true,
    false: false,
  })) {
    const env = { ...HURRIED, CLAUDE_FLOW_BLOCK_COMPACTION: value }
    expect(refusalIn(await compact(machine, long(machine.session()), env)) !== undefined).toBe(isOn)
  }
})
