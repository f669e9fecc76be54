/** What a patched client is answered. */
import { expect, test } from "bun:test"
import { answerPatch } from "../../../src/prune/patch/answer-patch.ts"

const LONG = "and so on, ".repeat(40)
const OPTIONS = { keep: 1, threshold: 400, step: 0, maxChars: 12, results: false } as const

const text = (role: string, ...words: string[]) => ({
  role,
  content: words.map((one) => ({ type: "text", text: one })),
})
const TALK = [text("user", LONG), text("assistant", LONG)]

/** @param isHeld whether the vault has a text */
const answer = (messages: readonly unknown[], from = -1, isHeld = (_: unknown) => true) =>
  answerPatch(
    { session: "s", from, messages },
    { refresh() {}, handleOf: (block) => (isHeld(block["text"]) ? "ctx:ab12" : undefined) },
    OPTIONS,
  )

test("the cut, and what is left out with it, by the messages as they were sent", () => {
  const told = answer([
    text("user", "Hello"),
    text("user", LONG),
    { role: "assistant", content: [] },
    ...TALK.slice(1),
    text("user", "Now?"),
  ])
  expect(told).toMatchObject({ cut: { prompt: 4, whole: 4 }, wait: 400 })
  expect(
    told.edits!.map(({ message, changes }) => [message, changes.map(({ block, type }) => [block, type])]),
  ).toEqual([
    [1, [[0, "text"]]],
    [3, [[0, "text"]]],
  ])
})

test("a string is one block", () => {
  const told = answer([{ role: "user", content: LONG }, ...TALK.slice(1), { role: "user", content: "Now?" }])
  expect(told.edits?.map(({ message }) => message)).toEqual([0, 1])
})

test("only at a prompt that follows an answer", () => {
  const use = { role: "assistant", content: [{ type: "tool_use" }] }
  const result = { role: "user", content: [{ type: "tool_result" }] }
  for (const messages of [
    [],
    TALK,
    [...TALK, use, result],
    [...TALK, use, result, text("user", "By the way?")],
  ])
    expect(answer(messages)).toEqual({ wait: 0 })
})

test("only if it gets on, and with what the vault has", () => {
  const messages = [...TALK, text("user", "Now?")]
  expect(answer(messages).cut).toEqual({ prompt: 2, whole: 2 })
  expect(answer(messages, 2)).toEqual({ wait: 400 })
  expect(answer(messages, -1, () => false)).toEqual({ wait: 0 })
  const thought = { role: "assistant", content: [{ type: "thinking", thinking: "hm", signature: "s" }] }
  expect(answer([...TALK, thought, text("user", "Now?")], -1, (held) => held !== undefined)).toEqual({
    wait: 0,
  })
})

test("how much more must be said", () => {
  const { wait, cut } = answer([
    text("user", LONG.slice(0, 200)),
    text("assistant", "Yes."),
    text("user", "Now?"),
  ])
  expect(cut).toBeUndefined()
  expect(wait).toBeGreaterThan(200)
  expect(wait).toBeLessThan(400)
})
