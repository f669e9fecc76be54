/** `ctxbridge repair`: what is found wrong with a session, and what its copy has. Clients: test/host/rescue.test.ts. */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test"
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(60_000))

const machine = new Machine()
afterAll(() => machine[Symbol.dispose]())

const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })

async function archived(transcript: Transcript): Promise<Transcript> {
  transcript.flush()
  await machine.hook("stop", transcript)
  await machine.idle()
  return transcript
}

async function repaired({ session, path }: Transcript) {
  const before = readFileSync(path)
  const { code, stdout, stderr } = await cli("repair", session, "--json")
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  expect(readFileSync(path)).toEqual(before)
  const { faults, copy } = JSON.parse(stdout)
  return {
    told: faults.map(({ line, kind, what }: Record<string, unknown>) => `${line} ${kind}: ${what}`),
    copy: copy === null ? null : readFileSync(copy.path, "utf8").replaceAll(copy.session, session),
  }
}

const lines = (text: string | null): Record<string, unknown>[] =>
  (text ?? "")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))

const call = (id: string) => ({ type: "tool_use", id, name: "Bash", input: { command: "true" } })
const result = (id: string, content: unknown = "done") => [{ type: "tool_result", tool_use_id: id, content }]
const image = (type: string, file: Buffer) => ({
  type: "image",
  source: { type: "base64", media_type: type, data: file.toString("base64") },
})

/** As far as it is looked at: the kind, the size, the end. */
function png(width: number): Buffer {
  const head = Buffer.from("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\0\0\0\0\x01IEND", "latin1")
  head.writeUInt32BE(width, 16)
  return head
}

test("nothing is wrong, with calls made together, one at work and a turn taken back: nothing is written", async () => {
  const one = machine.session()
  one.user("Do two things").think("Both.").block(call("toolu_a"))
  const first = one.tip
  one.block(call("toolu_b"))
  const second = one.tip
  one.backTo(first).user(result("toolu_a")).backTo(second).user(result("toolu_b")).message().say("Done both.")
  const kept = one.tip
  one.user("Never mind").user([{ type: "text", text: "" }])
  one.backTo(kept).user("One more").message().block(call("toolu_c"))
  await archived(one)
  const there = readdirSync(dirname(one.path))
  expect(await cli("repair", one.session)).toMatchObject({
    code: 0,
    stdout: `Nothing is wrong with the transcript of session ${one.session}; nothing was written\n`,
    stderr: "",
  })
  expect(await repaired(one)).toEqual({ told: [], copy: null })
  expect(readdirSync(dirname(one.path))).toEqual(there)
})

test("results without calls, out of place and twice, and a call without one", async () => {
  const one = machine.session()
  one.user("Start").message().block(call("toolu_a")).user(result("toolu_a")).user(result("toolu_a", "again"))
  one.message().think("Now b.").block(call("toolu_b")).user("Wait").message().say("I wait.")
  one.user([...result("toolu_b"), { type: "text", text: "Go on" }]).user(result("toolu_gone"))
  one.message().say("Going on.")
  await archived(one)
  const { told, copy } = await repaired(one)
  expect(told).toEqual([
    "4 orphan-result: a result of a call that has one (toolu_a)",
    "5 lone-thinking: a thought, with nothing left of its message",
    "6 unanswered-call: a call of Bash without a result (toolu_b)",
    "9 orphan-result: a result that comes after the model's next message (toolu_b)",
    "10 orphan-result: a result of a call that is not there (toolu_gone)",
  ])
  const before = lines(readFileSync(one.path, "utf8"))
  const after = lines(copy)
  // What is left follows what is left, and has what it had.
  const kept = [0, 1, 2, 6, 7, 8, 10].map((n) => before[n]!)
  expect(after.map(({ uuid }) => uuid)).toEqual(kept.map(({ uuid }) => uuid))
  expect(after.map(({ parentUuid }) => parentUuid)).toEqual([
    null,
    ...kept.slice(0, -1).map(({ uuid }) => uuid),
  ])
  expect(after[5]!["message"]).toEqual({ role: "user", content: [{ type: "text", text: "Go on" }] })
  const same = (all: typeof after) => all.filter((_, n) => n !== 5).map(({ parentUuid: _, ...rest }) => rest)
  expect(same(after)).toEqual(same(kept))
})

test("texts and images", async () => {
  const one = machine.session()
  const jpeg = Buffer.from("\xff\xd8\xff\xe0\0\x04\0\0\xff\xd9", "latin1")
  one.user([{ type: "text", text: " \n" }, { type: "text", text: "Look" }, image("image/png", png(640))])
  one.message().block(call("toolu_a"))
  one.user(result("toolu_a", [{ type: "text", text: "Here:" }, image("image/png", jpeg)]))
  one.user([image("image/png", png(9000))]).user([image("image/png", png(640).subarray(0, 20))])
  one.message().say("\n\n").say("I see.")
  await archived(one)
  const { told, copy } = await repaired(one)
  expect(told).toEqual([
    "1 empty-text: an empty text",
    "3 bad-image: an image: it is image/jpeg, not image/png",
    "4 bad-image: an image: too large (9000 × 1 pixels)",
    "5 bad-image: an image: it cannot be read",
  ])
  expect(lines(copy).map(({ message }) => (message as { content: unknown }).content)).toEqual([
    [{ type: "text", text: "Look" }, image("image/png", png(640))],
    [call("toolu_a")],
    result("toolu_a", [{ type: "text", text: "Here:" }]),
    [{ type: "text", text: "\n\n" }],
    [{ type: "text", text: "I see." }],
  ])
})

test("a thought that is not what was archived, and one without a signature", async () => {
  const one = machine.session().user("Think").message().think("It is the flux.").say("The flux.")
  one
    .user("Again")
    .message()
    .block({ type: "thinking", thinking: "Still.", signature: "" })
    .say("Still the flux.")
  await archived(one)
  writeFileSync(one.path, readFileSync(one.path, "utf8").replace("It is the flux.", "It is the grid."))
  const { told, copy } = await repaired(one)
  expect(told).toEqual([
    "2 altered-thinking: a thought: it is not what was archived",
    "5 altered-thinking: a thought: it has no signature",
  ])
  expect(copy).not.toContain('"thinking"')
  expect(lines(copy)).toHaveLength(4)
})

test("a torn last line; a dry run writes nothing, and what is printed says how to go on", async () => {
  const one = await archived(machine.session().turn("Tie the knot", [], "Tied."))
  const whole = readFileSync(one.path, "utf8")
  appendFileSync(one.path, '{"parentUuid":"5e55","type":"us')
  const there = readdirSync(dirname(one.path)).length
  const report =
    `1 fault in session ${one.session}, which stays as it is\n` +
    "line  what is wrong\n   3  a torn line (31 B)\n\n"
  expect(await cli("repair", one.session, "--dry-run")).toMatchObject({
    code: 0,
    stdout: `${report}Without --dry-run, a copy is written that leaves out exactly these\n`,
    stderr: "",
  })
  expect(readdirSync(dirname(one.path))).toHaveLength(there)
  const { code, stdout, stderr } = await cli("repair", one.session)
  const [, id = ""] = /--resume (\S+)\n$/.exec(stdout) ?? []
  const path = machine.path(`${id}.jsonl`)
  expect({ code, stdout, stderr }).toEqual({
    code: 0,
    stdout:
      `${report}A copy that leaves out exactly these: ${path}\n` +
      `cd ${machine.cwd} && claude --resume ${id}\n`,
    stderr: "",
  })
  expect(existsSync(path)).toBe(true)
  expect(readFileSync(path, "utf8")).toBe(whole.replaceAll(one.session, id))
})

test("no such session: one line and a hint", async () => {
  const { code, stdout, stderr } = await cli("repair", "00000000-dead")
  expect({ code, stdout }).toEqual({ code: 3, stdout: "" })
  expect(stderr).toStartWith("ctxbridge: no session 00000000-dead in the vault\nhint: ")
})
