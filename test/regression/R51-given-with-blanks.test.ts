/** A file with blanks in its name, in a folder that a restore tells once, was given back, and its receipt said that it was lost. */
import { expect, test } from "bun:test"
import { pack } from "../../src/restore/pack.ts"
import { holderOf } from "../../src/restore/summary-holds.ts"

test("paths are found as a restore tells them, with blanks or without", () => {
  const names = ["lexer.ts", "my notes.md", "parser.ts", "ein Plan.md"]
  const paths = names.map((name) => `/srv/app/a-long-folder/${name}`)
  const lines = [...pack(paths, 1000)]
  expect(lines).toContain("- in `/srv/app/a-long-folder/`: `my notes.md`")
  const holds = holderOf(lines.join("\n"))
  for (const path of paths) expect([path, holds("path", path)]).toEqual([path, true])
  for (const name of ["other.ts", "notes", "my notes", "my notes.md lexer.ts"])
    expect([name, holds("path", `/srv/app/a-long-folder/${name}`)]).toEqual([name, false])
})
