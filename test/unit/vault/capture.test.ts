/** Taking a transcript while the host writes it, and other processes take it. */
import { describe, expect, test } from "bun:test"
import { appendFileSync, closeSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { type CaptureRequest, capture } from "../../../src/vault/capture.ts"
import { openLocked } from "../../../src/vault/copy-file.ts"
import { contentOf } from "../../support/machine.ts"
import { tempFolder } from "../../support/temp.ts"

/**
 * A hook that had looked at the transcript's length waited for the copy, while another one archived what the host had added
 * since: a copy that was longer than the transcript seemed to be that of a rewritten one, and was begun anew.
 */
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

/**
 * A hook that waited for the copy went on reading the file that it had opened, though the host had put another in its place
 * and that was archived by then: the copy seemed to be that of a rewritten transcript, and went aside for what was gone. And
 * what was read of a transcript that was written anew at that moment stood behind what it had been before.
 */
describe("a transcript that is replaced while a hook waits", () => {
  const requestIn = (folder: string) =>
    ({
      transcript: join(folder, "session.jsonl"),
      copy: join(folder, "vault", "session.jsonl.zst"),
      now: 1,
      deadline: Number.MAX_SAFE_INTEGER,
      lastLine: "whole",
    }) satisfies CaptureRequest

  /** As many lines as make several frames. */
  const lines = (word: string): string =>
    Array.from({ length: 20_000 }, (_, n) => `{"n":${n},"said":"${word}"}\n`).join("")

  function replace(path: string, text: string): void {
    writeFileSync(`${path}.new`, text)
    renameSync(`${path}.new`, path)
  }

  test("another file has taken the transcript's place since it was opened", () => {
    using folder = tempFolder()
    const request = requestIn(folder.path)
    writeFileSync(request.transcript, '{"n":1}\n')
    let asked = 0
    // Asked between the look at the transcript and the lock of the copy.
    const forgotten = (): undefined => {
      if (asked++ > 0) return
      replace(request.transcript, '{"other":1}\n')
      expect(capture(request)).toMatchObject({ state: "current", archived: 12 })
    }
    const captured = capture({ ...request, forgotten })
    expect(captured).toMatchObject({ state: "current", archived: 12, size: 12, superseded: undefined })
    expect(readdirSync(dirname(request.copy))).toEqual([basename(request.copy)])
    expect(contentOf(request.copy).toString()).toBe('{"other":1}\n')
  })

  test("another file takes its place while the new copy has nothing but a header", () => {
    using folder = tempFolder()
    const request = requestIn(folder.path)
    writeFileSync(request.transcript, '{"n":1}\n')
    // What another hook has begun, and not written yet.
    closeSync(openLocked(request.copy, { path: request.transcript, created: 1 }, Number.MAX_SAFE_INTEGER)!.fd)
    let asked = 0
    const forgotten = (): undefined => {
      if (asked++ === 0) replace(request.transcript, '{"other":1}\n')
    }
    expect(capture({ ...request, forgotten })).toMatchObject({ archived: 12, superseded: undefined })
    expect(readdirSync(dirname(request.copy))).toEqual([basename(request.copy)])
    expect(contentOf(request.copy).toString()).toBe('{"other":1}\n')
  })

  test("written anew, in place, between two frames", () => {
    using folder = tempFolder()
    const request = requestIn(folder.path)
    writeFileSync(request.transcript, lines("one"))
    const after = lines("two")
    let chunks = 0
    const first = capture({
      ...request,
      onChunk: () => {
        if (chunks++ === 0) writeFileSync(request.transcript, after)
      },
    })
    expect(first.state).toBe("behind")
    expect(lines("one").startsWith(contentOf(request.copy).toString())).toBe(true)
    const second = capture(request)
    expect(second).toMatchObject({ state: "current", archived: after.length })
    expect(contentOf(second.superseded!).length).toBe(first.archived)
    expect(contentOf(request.copy).equals(readFileSync(request.transcript))).toBe(true)
  })

  test("a piece for the spool, of a transcript that does not continue the copy any more, begins with it", () => {
    using folder = tempFolder()
    const request = requestIn(folder.path)
    writeFileSync(request.transcript, '{"n":1}\n')
    let asked = 0
    const forgotten = (): undefined => {
      // Each time that a piece is begun: it went on for ever.
      if (asked++ > 10) throw new Error("begun too often")
    }
    const from = { id: "copy", base: { to: 4, tailHash: "0", hidden: 0 } }
    expect(capture({ ...request, from, forgotten })).toMatchObject({ state: "current", archived: 8 })
    expect(contentOf(request.copy).toString()).toBe('{"n":1}\n')
    expect(readdirSync(dirname(request.copy))).toEqual([basename(request.copy)])
  })
})
