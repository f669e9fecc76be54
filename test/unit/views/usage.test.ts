/** Which tokens are counted, and for whom. */
import { expect, test } from "bun:test"
import { usageOf } from "../../../src/views/queries/token-use.ts"
import { turnsOf } from "../../../src/views/queries/turns.ts"
import { Archive } from "../../support/archive.ts"

const usage = (tokens: number) => ({
  input_tokens: 5,
  output_tokens: 1,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: tokens,
})

/** A subagent's 905 tokens are not the size of the context. */
test("usage of a subagent's lines is told apart from the main chain's, and is no answer", () => {
  using archive = new Archive()
  const transcript = archive.session("s1")
  const assistant = (id: string, tokens: number, text: string, isSidechain: boolean) =>
    transcript.line({
      type: "assistant",
      isSidechain,
      message: {
        id,
        role: "assistant",
        model: "claude-sonnet-4-6",
        content: [{ type: "text", text }],
        usage: usage(tokens),
      },
    })
  transcript.user("ask an agent")
  assistant("msg_main", 86_000, "The main answer.", false)
  transcript.user("look at it", { isSidechain: true })
  assistant("msg_agent", 900, "The agent's answer.", true)
  archive.follow(transcript.flush())
  const rows = archive.db
    .query("SELECT message, cache_read AS tokens, sidechain FROM usage ORDER BY message")
    .all()
  expect(rows).toEqual([
    { message: "msg_agent", tokens: 900, sidechain: 1 },
    { message: "msg_main", tokens: 86_000, sidechain: 0 },
  ])
  const [turn] = turnsOf(archive.db, "s1")
  expect(turn).toMatchObject({ prompt: "ask an agent", answer: "The main answer." })
  const counted = { input: 5, output: 1, cacheCreation: 0, cacheRead: 86_000 }
  expect(usageOf(archive.db, turn!.id)).toEqual([{ model: "claude-sonnet-4-6", ...counted }])
})

test("a subagent's own transcript has its own usage", () => {
  using archive = new Archive()
  const transcript = archive.session("agent-c0ffee", { agent: "c0ffee" })
  const id = archive.follow(transcript.turn("look at it").flush()).session
  const [turn] = turnsOf(archive.db, id)
  expect(usageOf(archive.db, turn!.id)).toMatchObject([{ model: "claude-sonnet-4-6", output: 40 }])
})

test("usage that is repeated on each line of a message counts once", () => {
  using archive = new Archive()
  const transcript = archive.session("s1").user("go").message()
  transcript.think("hm").say("I will").say("Done")
  archive.follow(transcript.flush())
  expect(archive.count("usage")).toBe(1)
})
