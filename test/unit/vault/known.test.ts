/** Where a session's values are, when that is believed, and when the job has to search for them again. */
import { expect, test } from "bun:test"
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { FILTERED } from "../../../src/secrets/filter.ts"
import { dueKnown, isDue, knownOf, refreshDue, settleKnown } from "../../../src/vault/known-values.ts"
import { knownFile, vaultFile, vaultPath } from "../../../src/vault/layout.ts"
import { captureTranscript } from "../../../src/views/capture-transcript.ts"
import { contentOf } from "../../support/machine.ts"
import { tempFolder } from "../../support/temp.ts"

const SESSION = "5e551011-0000-4000-8000-000000000001"
const VALUE = "zebra-Kafe71-quilt"
const line = (text: string): string => `${JSON.stringify({ type: "user", message: { content: text } })}\n`

function archiveIn(root: string) {
  const place = { dataHome: join(root, "data"), home: join(root, "home"), secrets: FILTERED }
  const path = join(place.home, ".claude", "projects", "p", `${SESSION}.jsonl`)
  mkdirSync(dirname(path), { recursive: true })
  const hook = (known: typeof knownOf | "ask" = knownOf) =>
    captureTranscript(place, path, { now: 1, deadline: Number.MAX_SAFE_INTEGER, lastLine: "whole", known })
      .captured
  const values = (): string[] => [...knownOf(place, SESSION, path).known.keys()]
  return { place, path, hook, values, file: knownFile(place.dataHome, SESSION) }
}

test("only places are kept, and the values are read there", () => {
  using folder = tempFolder()
  const { path, hook, values, file } = archiveIn(folder.path)
  writeFileSync(path, line(`DB_PASSWORD=${VALUE}`))
  expect(hook()).toMatchObject({ state: "current" })
  expect(values()).toEqual([VALUE])
  const [{ spans }] = [JSON.parse(readFileSync(file, "utf8")) as { spans: [number, number][] }]
  expect(spans.map(([from, to]) => readFileSync(path, "latin1").slice(from, to))).toEqual([VALUE])
  expect(readFileSync(file, "utf8")).not.toContain(VALUE)
})

test("places in a transcript that was rewritten are not believed", () => {
  using folder = tempFolder()
  const { path, hook, values } = archiveIn(folder.path)
  writeFileSync(path, line(`DB_PASSWORD=${VALUE}`))
  hook()
  writeFileSync(path, line("something long enough, but altogether different from it"))
  expect(values()).toEqual([])
  hook()
  expect(values()).toEqual([])
})

test("whoever asks stops before the lines with a value, and has taken those before", () => {
  using folder = tempFolder()
  const { place, path, hook } = archiveIn(folder.path)
  writeFileSync(path, line("first"))
  expect(hook("ask")).toMatchObject({ state: "current" })
  appendFileSync(path, line(`${VALUE} DB_PASSWORD=${VALUE}`))
  expect(hook("ask")).toMatchObject({ state: "recognised", taken: 0, archived: line("first").length })
  hook()
  const content = contentOf(vaultFile(place.dataHome, vaultPath(path, place.home))).toString()
  expect(content).toBe(readFileSync(path, "utf8").replaceAll(VALUE, "*".repeat(VALUE.length)))
})

test("the job searches once for what is new, and again for what came without it", () => {
  using folder = tempFolder()
  const { place, path, hook, file } = archiveIn(folder.path)
  expect(dueKnown(place.dataHome)).toEqual([])
  writeFileSync(path, line(`DB_PASSWORD=${VALUE}`))
  hook()
  const [due] = dueKnown(place.dataHome)
  expect(due).toMatchObject({ file, paths: [path] })
  settleKnown(due!)
  expect(isDue(file)).toBe(false)
  appendFileSync(path, line(`again DB_PASSWORD=${VALUE}`))
  hook()
  refreshDue(file, due!.size)
  expect(isDue(file)).toBe(false)
  refreshDue(file, 0)
  expect(isDue(file)).toBe(true)
  expect(dueKnown(place.dataHome)[0]?.paths).toEqual([path])
})
