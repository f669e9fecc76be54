/** What a command is for, by its words. */
import { expect, test } from "bun:test"
import { fitOf, questionOf, runningWords } from "../../../src/find/commands-run.ts"

test.each([
  ["npm test -- --run 'one two three' \"two words\"", "npm test -- --run two words"],
  ["grep -rn deploy docs && ./ship.sh", "grep ./ship.sh"],
  ["cat > a.txt <<'EOF'\ndeploy\nEOF\nmake kiln", "cat make kiln"],
  ["git commit -m deploy", "git commit"],
  ["git push origin main", "git push origin main"],
  ["bash -lc 'cd shop && docker build .'", "bash -lc cd shop && docker build ."],
  ["A=1 go test ./... 2>&1 | grep FAIL", "A=1 go test ./..."],
])("%s", (script, words) => {
  expect(runningWords(script)).toBe(words)
})

const known = new Map([
  ["sign", 3],
  ["imag", 1],
  ["deploy", 3],
  ["wing", 2],
])
const fit = (question: string, script: string, description = "", prompt = ""): number =>
  fitOf(
    questionOf(question, ({ word }) => known.get(word)),
    { script, description, prompt },
  )

test("two words must both be met, of more than two the half", () => {
  expect(fit("deploy wing", "./ship.sh --deploy")).toBe(0)
  expect(fit("deploy wing", "./ship.sh --deploy wing")).toBe(1)
  expect(fit("deploy signed wing image", "./ship.sh --deploy wing")).toBeCloseTo(5 / 9)
  expect(fit("deploy signed wing image", "./ship.sh wing image")).toBe(0)
})

test("if nobody has said a word, the others must tell most of it", () => {
  expect(fit("sign image with cosign", "docker image sign")).toBe(0)
  expect(fit("sign deploy wing image cosign", "docker sign deploy wing image")).toBeCloseTo(9 / 12)
})

test("the prompt counts beside the command, and alone if it says all", () => {
  expect(fit("deploy wing", "./ship.sh --deploy", "", "bring the wing")).toBeCloseTo(3 / 5)
  expect(fit("deploy wing", "ls -la", "", "deploy the wing")).toBe(0)
  expect(fit("deploy wing", "python3 <<'EOF'\ndeploy()\nEOF", "", "deploy the wing")).toBeGreaterThan(0)
})

test("one name is looked for in all of a script but its searches", () => {
  expect(fit("wing", "python3 <<'EOF'\nwing()\nEOF")).toBeGreaterThan(0)
  expect(fit("wing", "rg wing src | head")).toBe(0)
})
