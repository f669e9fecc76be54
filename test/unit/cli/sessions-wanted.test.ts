/** `sessions`: those that are wanted, in the order in which they are. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { Inside, run } from "../../support/inside.ts"

const DAY = 86_400_000
const NOW = Date.now()

let machine: Inside

beforeAll(async () => {
  machine = new Inside()
  const session = (n: number, daysAgo: number) =>
    machine.session({ id: `${n}e551011-0000-4000-8000-00000000000${n}`, start: NOW - daysAgo * DAY })
  const failing = { tool: "Bash", input: { command: "x" }, output: "Exit code 1", isError: true }
  const one = session(1, 30).turn("Mend the walrus parser", [failing, failing], "Done.")
  const two = session(2, 20)
    .turn("Übersetze 100% of the docs", [], "x".repeat(5000))
    .turn("More", [], "y")
    .turn("z", [], "z")
  two.line({ type: "ai-title", aiTitle: "Docs in German", sessionId: two.session })
  const three = session(3, 10).turn("A parser for dates", [], "Done.")
  three.line({
    type: "user",
    gitBranch: "feature/x",
    message: { role: "user", content: "on the branch" },
    uuid: "u3",
  })
  for (const each of [one, two, three]) await machine.hook("stop", each.flush())
})

afterAll(() => machine[Symbol.dispose]())

/** First digits of their ids. */
async function listed(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(["sessions", "--json", ...words], machine)
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  return JSON.parse(stdout)
    .sessions.map(({ id }: { id: string }) => id[0])
    .join("")
}

test.each([
  [[], "321"],
  [["--grep", "PARSER"], "31"],
  [["--grep", "parser  mend"], "1"],
  [["--grep", "german docs"], "2"],
  [["--grep", "100%"], "2"],
  [["--since", "25d"], "32"],
  [["--since", "25d", "--until", "15d"], "2"],
  [["--branch", "feature/x"], "3"],
  [["--sort", "first"], "321"],
  [["--sort", "turns"], "231"],
  [["--sort", "errors"], "132"],
  [["--sort", "size"], "213"],
  [["--sort", "title"], "321"],
  [["--sort", "tokens"], "213"],
  [["--sort", "tokens", "--limit", "1"], "2"],
  [["--sort", "last", "--limit", "2", "--grep", "the"], "21"],
])("%p", async (words, ids) => expect(await listed(...words)).toBe(ids))

test("none: exit 3, and where else to look; an unknown order is named", async () => {
  expect(await run(["sessions", "--grep", "nowhere"], machine)).toMatchObject({
    code: 3,
    stdout: "",
    stderr: expect.stringContaining("hint: ctxbridge search finds sessions by all that was said in them"),
  })
  expect(await run(["sessions", "--sort", "sise"], machine)).toMatchObject({
    code: 64,
    stderr: expect.stringContaining("did you mean --sort size?"),
  })
})
