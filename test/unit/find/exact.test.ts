/** Phrases, and what is said where nobody has said exactly that. */
import { expect, test } from "bun:test"
import { exchange, Inside, run } from "../../support/inside.ts"
import type { Machine } from "../../support/machine.ts"
import { callOf, hitsIn, replyTo, textOf } from "../../support/mcp.ts"

const NOTE = "no exact match; these have some of the words"

async function search(machine: Machine, query: string) {
  const ran = await run(["search", "--json", query], machine)
  expect(ran).toMatchObject({ code: 0, stderr: "" })
  return JSON.parse(ran.stdout) as { note?: string; hits: readonly { session: string; seq: number }[] }
}

/**
 * A phrase of common words was given up after 12 MB of transcripts, though it stood in one of the messages that have its
 * words; and turns that have the words alone were shown as if they had the phrase.
 */
test("a phrase that stands in an old message, behind megabytes of newer ones with its words", async () => {
  using machine = new Inside()
  const old = machine.session().turn("what was it that the reader of the file had in mind").flush()
  const noise = "of the reader, what the file had; in it was that mind "
  const files = [old.path]
  // Other words between, so that no two frames are alike; each line is a frame of its own.
  for (let n = 0; n < 60; n++) {
    const filler = Array.from({ length: 24_000 }, (_, k) => `w${n}x${k}`).join(" ")
    files.push(
      machine
        .session()
        .turn(`number ${n}`, [], noise + filler + noise)
        .flush().path,
    )
  }
  expect(await run(["import", ...files], machine)).toMatchObject({ code: 0, stderr: "" })
  const { hits, note } = await search(machine, '"that the reader of the file had in mind"')
  expect(hits.map(({ session, seq }) => [session, seq])).toEqual([[old.session, 1]])
  expect(note).toBeUndefined()
})

test("that nobody has said exactly that is told", async () => {
  using machine = new Inside()
  await machine.hook("stop", machine.session().turn("the retry waits for the server").flush())
  expect((await search(machine, '"retry waits"')).note).toBeUndefined()
  expect((await search(machine, "waits retry")).note).toBeUndefined()
  const { note, hits } = await search(machine, '"waits retry"')
  expect({ note, hits: hits.length }).toEqual({ note: NOTE, hits: 1 })
  const shown = await run(["search", '"waits retry"'], machine)
  expect(shown.stdout).toStartWith(`${NOTE}\nctx:`)
  const { replies } = await exchange(
    ['"waits retry"', '"retry waits"'].map((query, n) => callOf(n, "search", { query })),
    machine,
  )
  const [loose, exact] = [0, 1].map((id) => textOf(replyTo(replies, id)))
  expect(loose).toContain("\nNo exact match; these have some of the words.\n")
  expect(hitsIn(loose!)).toHaveLength(1)
  expect(exact).not.toContain("No exact match")
})
