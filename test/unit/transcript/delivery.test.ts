/** Whether a restore has arrived, from the lines that hosts write behind it, in the orders in which they write them. */
import { expect, test } from "bun:test"
import { contextsIn, outcomeIn } from "../../../src/transcript/delivery.ts"
import { atLeast } from "../../../src/util/version.ts"

const GIVEN = Date.parse("2026-05-01T10:00:00.000Z")
const RESTORE = '<ctxbridge-restore source="compact" session="s">\nQuoted.\n</ctxbridge-restore>'
const COMMAND = "BUN_OPTIONS= BUN_BE_BUN= /home/dev/bin/ctxbridge hook session-start"

type Fields = Record<string, unknown>

/** A line of the host's, `seconds` after the restore was given. */
const at = (seconds: number, fields: Fields): Fields => ({
  version: "2.1.112",
  timestamp: new Date(GIVEN + seconds * 1000).toISOString(),
  isSidechain: false,
  ...fields,
})
const attachment = (seconds: number, fields: Fields, more: Fields = {}): Fields =>
  at(seconds, { type: "attachment", attachment: { hookEvent: "SessionStart", ...fields }, ...more })
const arrived = (text: unknown = [RESTORE]): Fields =>
  attachment(1, { type: "hook_additional_context", content: text })
const boundary = at(1, { type: "system", subtype: "compact_boundary" })
const summary = at(1, { type: "user", isCompactSummary: true, message: { content: "Summed up." } })
const prompt = at(4, { type: "user", message: { content: "go on" } })
const answer = at(5, { type: "assistant", message: { content: [{ type: "text", text: "done" }] } })
const end = at(6, { type: "system", subtype: "stop_hook_summary" })
const cancelled = attachment(1, { type: "hook_cancelled", command: COMMAND, durationMs: 2000 })

const outcome = (...lines: Fields[]): string =>
  outcomeIn(Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join("")), GIVEN)

test("arrived: the host has put it into the conversation, wherever the line stands", () => {
  expect(outcome(boundary, summary, arrived())).toBe("arrived")
  expect(outcome(boundary, summary, arrived(RESTORE), prompt, answer, end)).toBe("arrived")
  // An automatic compaction in a terminal: the answer is written first.
  expect(outcome(boundary, answer, summary, arrived(), end)).toBe("arrived")
  expect(outcome(boundary, summary, cancelled, arrived())).toBe("arrived")
})

test("lost: the host has stopped our hook, or refused its answer", () => {
  expect(outcome(boundary, summary, cancelled)).toBe("lost")
  const refused = attachment(1, { type: "hook_non_blocking_error", command: COMMAND, exitCode: 1 })
  expect(outcome(boundary, summary, refused, prompt)).toBe("lost")
})

test("lost: a whole turn stands behind it", () => {
  expect(outcome(boundary, summary, prompt, answer, end)).toBe("lost")
  expect(outcome(boundary, answer, summary, end, prompt)).toBe("lost")
})

test("open: the lines that would tell may still come", () => {
  expect(outcome()).toBe("open")
  expect(outcome(boundary, summary)).toBe("open")
  expect(outcome(boundary, summary, prompt)).toBe("open")
  // The terminal again: what the hook gave stands behind the answer.
  expect(outcome(boundary, answer)).toBe("open")
  expect(outcome(boundary, answer, summary)).toBe("open")
  // Half a line is none.
  const half = JSON.stringify(end).slice(0, -5)
  const text = `${[boundary, summary, prompt, answer].map((line) => JSON.stringify(line)).join("\n")}\n${half}`
  expect(outcomeIn(Buffer.from(text), GIVEN)).toBe("open")
})

test("open: another hook's failure, kept messages, subagents and former turns say nothing", () => {
  const others = attachment(1, { type: "hook_cancelled", command: "npx other-plugin" })
  const early = at(-60, { type: "assistant", message: { content: [] } })
  const earlyEnd = at(-59, { type: "system", subtype: "stop_hook_summary" })
  const agent = { isSidechain: true }
  expect(outcome(boundary, summary, others)).toBe("open")
  expect(outcome(boundary, early, earlyEnd, summary)).toBe("open")
  expect(outcome(boundary, { ...answer, ...agent }, { ...end, ...agent })).toBe("open")
  expect(outcome({ ...cancelled, timestamp: at(-60, {})["timestamp"] })).toBe("open")
  // The end of the turn before, and an answer of this one.
  expect(outcome(boundary, earlyEnd, summary, prompt, answer)).toBe("open")
})

test("unknown: hosts that were not seen to tell what their hooks gave", () => {
  const old = { version: "2.0.76" }
  expect(outcome(boundary, summary, prompt, { ...answer, ...old }, end)).toBe("unknown")
  expect(outcome({ ...cancelled, version: "2.1.80" })).toBe("unknown")
  expect(outcome(prompt, { ...answer, version: undefined }, end)).toBe("unknown")
})

test("only the host's own line counts, not the same words in a prompt or an output", () => {
  const quoted = at(4, { type: "user", message: { content: RESTORE } })
  const output = { type: "tool_result", content: JSON.stringify(arrived()) }
  const told = at(4, { type: "user", message: { content: [output] } })
  const ran = attachment(1, { type: "hook_success", stdout: JSON.stringify({ a: RESTORE }) })
  expect(outcome(boundary, summary, quoted, told, ran)).toBe("open")
  expect(outcome(boundary, summary, quoted, told, ran, answer, end)).toBe("lost")
  expect([quoted, told, ran].flatMap(contextsIn)).toEqual([])
  expect(contextsIn(arrived(["of another hook", RESTORE]))).toEqual([RESTORE])
})

test("versions", () => {
  const least = [2, 1, 112] as const
  const known = ["2.1.112", "2.1.113", "2.2.0", "3.0.0", "2.1.330"]
  for (const version of known) expect([version, atLeast(version, least)]).toEqual([version, true])
  for (const version of ["2.1.111", "2.0.999", "1.9.200", "2.1", "next", undefined])
    expect([version, atLeast(version, least)]).toEqual([version, false])
})
