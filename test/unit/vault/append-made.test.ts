/** Lines that were made rather than read: secrets in them. */
import { expect, test } from "bun:test"
import { join } from "node:path"
import { FILTERED } from "../../../src/secrets/filter.ts"
import { appendMade } from "../../../src/vault/append-made.ts"
import { contentOf } from "../../support/machine.ts"
import { tempFolder } from "../../support/temp.ts"

const VALUE = "zebra-Kafe71-quilt"
const line = (text: string): string => `${JSON.stringify({ type: "user", message: { content: text } })}\n`

test("a value that is recognised in one frame is filled in all, before and after", () => {
  using folder = tempFolder()
  const copy = join(folder.path, "x.jsonl.zst")
  const long = "some words ".repeat(30_000)
  const lines = [line(VALUE), line(long), line(`DB_PASSWORD=${VALUE}`), line(long), line(`it is ${VALUE}`)]
  const made = appendMade({
    copy,
    path: join(folder.path, "x.jsonl"),
    now: 1,
    dryRun: false,
    secrets: FILTERED,
    edit: (content) => content,
    choose: () => lines,
    onBegin: () => {},
  })
  expect(made.taken).toBe(lines.join("").length)
  expect(contentOf(copy).toString()).toBe(lines.join("").replaceAll(VALUE, "*".repeat(VALUE.length)))
})
