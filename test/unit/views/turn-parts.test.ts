/** What a turn holds when it is read back from the vault. */
import { expect, test } from "bun:test"
import { CopyReaders } from "../../../src/vault/reader.ts"
import { readTurn, turnsOfSession } from "../../../src/views/turn.ts"
import { Archive } from "../../support/archive.ts"

/** Each line of the assistant adds to the one before, and replaces nothing. */
test("10 turns, 30 tool calls: commands, paths, results, texts in between and thinking are all kept", () => {
  using archive = new Archive()
  const transcript = archive.session("s1")
  for (let n = 0; n < 10; n++) {
    transcript.user(`prompt ${n}`).message()
    transcript.think(`thought ${n}`).say(`text in between ${n}`)
    transcript.step({ tool: "Bash", input: { command: `make target${n}` }, output: `made ${n}` })
    transcript.step({ tool: "Read", input: { file_path: `/src/read${n}.ts` }, output: `content ${n}` })
    transcript.step({
      tool: "Edit",
      input: { file_path: `/src/edit${n}.ts` },
      output: "Error: no match",
      isError: true,
    })
    transcript.say(`answer ${n}`)
  }
  archive.follow(transcript.flush())
  const readers = new CopyReaders()
  const turns = turnsOfSession(archive.db, "s1")
  expect(turns).toHaveLength(10)
  for (const [n, row] of turns.entries()) {
    const turn = readTurn(archive.db, archive.dataHome, row, readers)
    expect(turn.tools.map(({ name, target, isError }) => ({ name, target, isError }))).toEqual([
      { name: "Bash", target: `make target${n}`, isError: false },
      { name: "Read", target: `/src/read${n}.ts`, isError: false },
      { name: "Edit", target: `/src/edit${n}.ts`, isError: true },
    ])
    // An edit that failed has changed no file.
    expect(turn.files).toEqual([{ path: `/src/read${n}.ts`, op: "read", count: 1 }])
    const said = turn.messages.flatMap(({ parts }) => parts.map((part) => ("text" in part ? part.text : "")))
    expect(said.filter((text) => text !== "")).toEqual([
      `prompt ${n}`,
      `thought ${n}`,
      `text in between ${n}`,
      `made ${n}`,
      `content ${n}`,
      "Error: no match",
      `answer ${n}`,
    ])
  }
  readers.close()
})
