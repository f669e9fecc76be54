/** How a terminal shows what was found. */
import { expect, test } from "bun:test"
import { shownSnippet } from "../../../src/cli/render-hits.ts"

const hit = (
  snippet: string,
  found: string,
  tool: string | null = "Edit",
  project: string | null = "/p/app",
) => {
  const at = snippet.lastIndexOf(found)
  return { snippet, marks: [[at, at + found.length] as const], tool, project }
}

/** With what was found in brackets. */
function shown(given: ReturnType<typeof hit>): string {
  const { text, marks } = shownSnippet(given)
  return marks.reduceRight(
    (done, [from, to]) => `${done.slice(0, from)}[${done.slice(from, to)}]${done.slice(to)}`,
    text,
  )
}

test.each([
  [
    "a call's file, from its project on",
    hit("Edit: /p/app/src/dates.ts | a", "dates"),
    "Edit: src/[dates].ts | a",
  ],
  ["of another project, whole", hit("Edit: /p/apple/dates.ts", "dates"), "Edit: /p/apple/[dates].ts"],
  [
    "what was found in the project's name, too",
    hit("Edit: /p/app/dates.ts", "app"),
    "Edit: /p/[app]/dates.ts",
  ],
  ["a command, as it was run", hit("Bash: /p/app/run dates", "dates", "Bash"), "Bash: /p/app/run [dates]"],
  ["words", hit("/p/app/dates.ts is wrong", "wrong", null), "/p/app/dates.ts is [wrong]"],
  ["without a project", hit("Read: /p/app/dates.ts", "dates", "Read", null), "Read: /p/app/[dates].ts"],
])("%s", (_, given, expected) => {
  expect(shown(given)).toBe(expected)
})
