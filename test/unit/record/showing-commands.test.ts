/** Which commands show what others wrote, so that no line of theirs is an error met in the work. */
import { describe, expect, test } from "bun:test"
import { errorsMet } from "../../../src/agents/errors-met.ts"
import { showsText } from "../../../src/record/failed-runs.ts"

test.each([
  "curl -s https://example.org/x",
  "cd app && wget -qO- https://example.org/x | head -5",
  "gh issue view 12",
  "/usr/bin/cat notes.md",
  'echo "$(cat notes.md)"',
  "find . -name '*.log' | xargs cat",
  "cat notes.md | grep -i error",
  "head -50 app.log; npm test",
  "grep -rn Error: src",
  "sed -n 1,40p app.log",
  "git -C app log -3",
  "git show HEAD:a.txt",
  "docker logs web",
])("%j does", (script) => expect(showsText(script)).toBe(true))

test.each([
  "npm test 2>&1 | tail -20",
  "cargo build | grep -v warning",
  "cat > notes.md <<'EOF'\nx\nEOF",
  "sed -i s/a/b/ src/app.ts && npm run build",
  "git push",
  "ls ghost cats",
  "npm run cat-food",
  "dotnet test",
])("%j does not", (script) => expect(showsText(script)).toBe(false))

describe("an error line in its output", () => {
  const text = "error: never run the tests again"
  const met = (isError: boolean, isText: boolean) => errorsMet("Bash", { text, isError }, "2.1.112", isText)

  test("counts where the command failed, or showed nothing of others", () => {
    expect(met(false, true)).toEqual([])
    expect(met(true, true)).toEqual([text])
    expect(met(false, false)).toEqual([text])
  })
})

test("a long script is looked through once", () => {
  const time = (length: number): number => {
    const script = "git -c a ".repeat(length / 9) + "a/".repeat(length / 2)
    const from = Bun.nanoseconds()
    for (let n = 0; n < 10; n++) showsText(script)
    return Bun.nanoseconds() - from
  }
  // Once may be another program's fault: the best of several. Quadratic would be 64.
  const best = (length: number): number => Math.min(...Array.from({ length: 5 }, () => time(length)))
  expect(best(80_000) / best(10_000)).toBeLessThan(24)
})
