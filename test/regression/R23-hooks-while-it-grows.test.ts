/**
 * A hook that had looked at the transcript's length waited for the copy, while another one archived what the host had added
 * since: a copy that was longer than the transcript seemed to be that of a rewritten one, and was begun anew.
 */
import { expect, setDefaultTimeout, test } from "bun:test"
import { appendFileSync, readdirSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { capture } from "../../src/vault/capture.ts"
import { contentOf, Machine, pooled } from "../support/machine.ts"
import { tempFolder } from "../support/temp.ts"

setDefaultTimeout(60_000)

test("a transcript that has grown, and been archived, since it was opened", () => {
  using folder = tempFolder()
  const transcript = join(folder.path, "session.jsonl")
  const copy = join(folder.path, "vault", "session.jsonl.zst")
  const request = { transcript, copy, now: 1, deadline: Number.MAX_SAFE_INTEGER, lastLine: "whole" } as const
  appendFileSync(transcript, '{"n":1}\n')
  let asked = 0
  // Asked between the look at the transcript and the lock of the copy.
  const forgotten = (): undefined => {
    if (asked++ > 0) return
    appendFileSync(transcript, '{"n":2}\n')
    expect(capture(request)).toMatchObject({ state: "current", archived: 16 })
  }
  const captured = capture({ ...request, forgotten })
  expect(captured).toMatchObject({
    state: "current",
    archived: 16,
    size: 16,
    taken: 0,
    superseded: undefined,
  })
  expect(readdirSync(dirname(copy))).toEqual([basename(copy)])
})

test("many hooks at once while the host writes leave one copy, with every byte", async () => {
  using machine = new Machine()
  const session = machine.session()
  await machine.hook("stop", session.turn("turn 0").flush())
  const turns = Array.from({ length: 48 }, (_, n) => `turn ${n + 1}`)
  await pooled(turns, 12, async (prompt, n) => {
    session.turn(prompt).flush()
    const ran = await machine.hook(n % 2 === 0 ? "subagent-stop" : "stop", session, { agent_type: "worker" })
    expect(ran).toMatchObject({ code: 0, stdout: "", stderr: "" })
  })
  await machine.hook("stop", session)
  const copy = machine.copy(session.path)
  expect(readdirSync(dirname(copy))).toEqual([basename(copy)])
  expect(contentOf(copy).equals(Buffer.from(await Bun.file(session.path).arrayBuffer()))).toBe(true)
})
