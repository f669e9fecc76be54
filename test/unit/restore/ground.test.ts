/** What became of a file since a call wrote to it, by what is in the file now. */
import { expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { readingUntil, sinceCall } from "../../../src/restore/ground.ts"
import { tempFolder } from "../../support/temp.ts"

const always = () => true

const FILE = "const limit = readLimit(10)\nif (limit) {\n  stop()\n}\n"

test.each([
  ["a part of a line", "Edit", { new_string: "readLimit(10)" }, undefined],
  ["from the middle of a line to that of another", "Edit", { new_string: "(limit) {\n    stop(" }, undefined],
  ["lines around one with a secret", "Edit", { new_string: "if (limit) {\nkey = ****\n}" }, undefined],
  ["a line that is gone", "Edit", { new_string: "const limit = readLimit(20)" }, "changed"],
  ["lines in another order", "Edit", { new_string: "stop()\nif (limit) {" }, "changed"],
] as const)("%s", (_, name, more, since) => {
  using folder = tempFolder()
  const path = join(folder.path, "limit.ts")
  writeFileSync(path, FILE)
  expect(sinceCall(path, { name, input: { file_path: path, old_string: "x", ...more } }, always)).toBe(since)
})

test("of several edits, a later one may rewrite what an earlier one wrote", () => {
  using folder = tempFolder()
  const path = join(folder.path, "limit.ts")
  writeFileSync(path, FILE)
  const edits = [
    { old_string: "x", new_string: "const limit = readLimit(5)" },
    { old_string: "readLimit(5)", new_string: "readLimit(10)" },
  ]
  expect(sinceCall(path, { name: "MultiEdit", input: { file_path: path, edits } }, always)).toBeUndefined()
})

test("a file that is gone, one whose folder is gone, and a notebook", () => {
  using folder = tempFolder()
  const input = (path: string) => ({ file_path: path, content: "a line\n" })
  const of = (path: string) => sinceCall(path, { name: "Write", input: input(path) }, always)
  expect(of(join(folder.path, "gone.ts"))).toBe("gone")
  expect(of(join(folder.path, "no/where.ts"))).toBeUndefined()
  writeFileSync(join(folder.path, "a.ipynb"), "{}")
  expect(of(join(folder.path, "a.ipynb"))).toBeUndefined()
})

test("no file is read when the time is over, or beyond 2 MB of them", () => {
  using folder = tempFolder()
  const path = join(folder.path, "large.ts")
  writeFileSync(path, "x".repeat(250_000))
  const made = { name: "Write", input: { file_path: path, content: "a line\n" } }
  const late = readingUntil(performance.now())
  expect(sinceCall(path, made, late)).toBeUndefined()
  expect(sinceCall(join(folder.path, "gone.ts"), made, late)).toBeUndefined()
  const mayRead = readingUntil(Number.POSITIVE_INFINITY)
  const told = Array.from({ length: 10 }, () => sinceCall(path, made, mayRead))
  expect(told.filter((since) => since === "changed")).toHaveLength(8)
  expect(told.slice(8)).toEqual([undefined, undefined])
  // What costs nothing is told nevertheless.
  expect(sinceCall(join(folder.path, "gone.ts"), made, mayRead)).toBe("gone")
})
