/** What two texts share that tell of the same error. */
import { expect, test } from "bun:test"
import { errorPlace, soughtError } from "../../../src/find/fixes.ts"
import { Inside, run } from "../../support/inside.ts"

const wordsOf = (text: string): string[] => soughtError(text).terms.map(({ word }) => word)

test.each([
  ["paths", "open /srv/a/b.ts failed", "open C:\\work\\c.ts failed"],
  ["addresses", "blocked: https://a.example/x.js?y=1", "blocked: wss://b.example:80/z"],
  ["places", "corrupt patch at line 27", "corrupt patch at line 3"],
  ["places in files", "kiln.ts:12:3 is not closed", "kiln.ts:4:31 is not closed"],
  ["times", "2026-03-01T10:00:00.12Z too late, 09:59:01", "2025-01-31 23:10:09 too late, 11:00:00"],
  ["amounts and addresses in memory", "used 12.5MB of 0xdeadbeef after 30s", "used 3kB of 0x1f after 250ms"],
])("%s are not part of an error", (_what, one, other) => {
  expect(wordsOf(one).length).toBeGreaterThan(0)
  expect(wordsOf(one)).toEqual(wordsOf(other))
})

test.each([
  ["error CS0518: IsExternalInit", ["CS0518"]],
  ["HTTP 413", ["413"]],
  ["Response status code does not indicate success: 403 (Forbidden)", ["403"]],
  ["exit code 2 after 40 lines", ["2"]],
  ["error: corrupt patch at line 27", []],
])("%s: numbers that name an error", (error, codes) => {
  expect(soughtError(error).codes).toEqual(codes)
})

test("only a path, or only a number: that is what is meant", () => {
  expect(wordsOf("/srv/kiln.ts")).toContain("kiln")
  expect(wordsOf("413")).toEqual(["413"])
})

test("words of the language of queries are words", () => {
  expect(wordsOf('NOT NULL constraint "failed" (x)')).toEqual(wordsOf("not null constraint failed x"))
})

const placeOf = (text: string, kind: string, error: string) =>
  errorPlace(text, kind, soughtError(error), () => 1)

test("most of the words near each other, and every code", () => {
  const log = `Exit code 1\n${"ok\n".repeat(9)}HTTP 404: the door of the kiln is open\n${"ok\n".repeat(9)}413 bytes`
  expect(placeOf(log, "failure", "HTTP 404: the door of a kiln is open")).toMatchObject({
    isSame: true,
    isWhole: true,
  })
  expect(placeOf(log, "failure", "HTTP 413: the door of the kiln is open")?.isSame).toBe(false)
  expect(placeOf(log, "failure", "the door of the kiln is bricked up")?.isSame).toBe(false)
  expect(placeOf(log, "failure", "walrus")).toBeUndefined()
})

test("the word that tells most may not be missing, however many others are there", () => {
  const sought = soughtError("no module named walrus was found in this folder by the loader")
  const weightOf = ({ word }: { word: string }): number => (word === "walrus" ? 2 : 1)
  const other = "no module named narwhal was found in this folder by the loader"
  expect(errorPlace(other, "failure", sought, weightOf)?.isSame).toBe(false)
  expect(errorPlace(other, "failure", sought, () => 1)?.isSame).toBe(true)
})

test("an output that is no failure must name the error", () => {
  const error = "the kiln is not reachable"
  expect(placeOf("Deploying\nError: the kiln is not reachable", "result", error)?.isNamed).toBe(true)
  expect(placeOf("Say that the kiln is not reachable", "result", error)?.isNamed).toBe(false)
  expect(placeOf("Say that the kiln is not reachable", "failure", error)?.isNamed).toBe(true)
})

test.each([
  ["kiln.go:19:10: undefined: errors", true],
  ["kiln.go:3:1: undefined: door\nerrors: 1", false],
  ["kiln.go:3:1: undefined: door\nERROR task failed\nkiln.go:9:9: undefined: errors", true],
  ["errors undefined: door", false],
])("%j: the error as it stands", (text, isAsTyped) => {
  expect(placeOf(text, "failure", "undefined: errors")).toMatchObject({ isWhole: true, isAsTyped })
})

test("what changes may be another: the words around it stand as they did", () => {
  const error = "HTTP 413 from https://a.example/x after 3s: the kiln is full"
  const told = "HTTP 413 from https://b.example after 12s: the kiln is full"
  expect(placeOf(told, "failure", error)?.isAsTyped).toBe(true)
  expect(placeOf("the kiln is full, HTTP 413 from a stove after 3s", "failure", error)?.isAsTyped).toBe(false)
})

/** The nearest error was third, and an error of common words was outnumbered by files that had them. */
test("the error as it stands comes first, and failed calls are found among many files", async () => {
  using machine = new Inside()
  const session = machine.session()
  const failed = (command: string, output: string) => [
    { tool: "Bash", input: { command }, output: `Exit code 1\n${output}`, isError: true },
    { tool: "Bash", input: { command }, output: "ok" },
  ]
  session.turn("Build", failed("make kiln", "kiln.go:9:1: undefined: errors"))
  session.turn("List", failed("ls oven", "ls: oven: No such file or directory"))
  session.turn("Lint", failed("make lint", "kiln.go:5:1: undefined: door\nmake: ERROR task failed"))
  const notes = "A file may be in a directory."
  session.turn(
    "Read",
    Array.from({ length: 60 }, (_, n) => ({
      tool: "Read",
      input: { file_path: `/srv/${n}.md` },
      output: `${notes} ${n}`,
    })),
  )
  await machine.hook("stop", session.flush())
  const targets = async (error: string) =>
    JSON.parse((await run(["fix", error, "--json"], machine)).stdout).found.map(
      ({ target }: { target: string }) => target,
    )
  expect(await targets("undefined: errors")).toEqual(["make kiln", "make lint"])
  expect(await targets("no such file or directory")).toEqual(["ls oven"])
})
