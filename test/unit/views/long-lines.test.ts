/** Lines too long to be read are archived and passed over; what comes behind them is indexed as usual. */
import { expect, test } from "bun:test"
import { appendFileSync, readFileSync } from "node:fs"
import { LONGEST_UNCUT } from "../../../src/vault/capture.ts"
import { CopyReader } from "../../../src/vault/reader.ts"
import { catchUp } from "../../../src/views/indexing.ts"
import { listPending } from "../../../src/views/pending.ts"
import { rebuild } from "../../../src/views/rebuild-views.ts"
import { Archive } from "../../support/archive.ts"

/** A record of the host with a text of this many bytes, in pieces that fit into memory. */
function appendLong(path: string, bytes: number): void {
  appendFileSync(path, '{"type":"user","uuid":"long","message":{"role":"user","content":"')
  const piece = Buffer.alloc(1 << 20, "never to be read ")
  for (let done = 0; done < bytes; done += piece.length) appendFileSync(path, piece)
  appendFileSync(path, '"}}\n')
}

const prompts = ({ db }: Archive): string[] =>
  db
    .query<{ prompt: string }, []>("SELECT prompt FROM turns ORDER BY seq")
    .all()
    .map(({ prompt }) => prompt)

const lineCount = (transcript: Buffer): number => transcript.toString("latin1").split("\n").length - 1

test("a line of three frames: the job passes over it, however short its slices, and a rebuild does", () => {
  using archive = new Archive()
  const session = archive.session("one").turn("before").flush()
  appendLong(session.path, 2.2 * LONGEST_UNCUT)
  session.turn("after").flush()
  const taken = archive.take(session)
  const whole = readFileSync(session.path)
  const reader = new CopyReader(archive.file(taken))
  const hash = new Bun.CryptoHasher("sha256")
  for (const piece of reader.pieces()) hash.update(piece)
  reader.close()
  expect(hash.digest("hex")).toBe(new Bun.CryptoHasher("sha256").update(whole).digest("hex"))

  let slices = 0
  expect(catchUp(archive.db, archive.dataHome, Number.POSITIVE_INFINITY, () => slices++)).toBe(0)
  // Each passes over the whole line or does another: none reads the same again.
  expect(slices).toBeLessThanOrEqual(lineCount(whole))
  expect(listPending(archive.dataHome)).toEqual([])
  expect(prompts(archive)).toEqual(["before", "after"])
  expect(archive.count("transcripts WHERE indexed = archived")).toBe(1)
  const offsets = archive.db.query<{ o: number; n: number }, []>(
    "SELECT offset AS o, length AS n FROM messages",
  )
  for (const { o, n } of offsets.all())
    expect(whole.subarray(o, o + n).toString()).toStartWith('{"parentUuid"')

  archive.db.close()
  expect(rebuild(archive.dataHome, { now: 0, wait: 0 })).toMatchObject({ turns: 2, unreadable: [] })
})
