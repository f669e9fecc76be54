import { expect, test } from "bun:test"
import { isBare, vocabulary } from "../../../src/restore/complement.ts"
import type { Fact } from "../../../src/restore/material.ts"

const told = (commands: readonly Fact[]): string[] =>
  vocabulary(commands, ({ text, form = text }) => form).map(({ words, times }) => `${words} ×${times}`)

test("two words, and a third if most commands share recurring ones", () => {
  const commands = [
    { text: "git diff --stat", times: 4 },
    { text: "git diff HEAD", times: 5 },
    { text: "npm run build", times: 2 },
    { text: "npm run test -- ledger", times: 3 },
    { text: "npm run test", times: 1 },
    { text: "terraform apply ledger" },
    { text: "terraform apply billing" },
    { text: "kubectl -n ledger get pods" },
  ]
  expect(told(commands).sort()).toEqual([
    "git diff ×9",
    "kubectl -n ×1",
    "npm run build ×2",
    "npm run test ×4",
    "terraform apply ×2",
  ])
})

test("what was used often and recently comes first", () => {
  const commands = [
    { text: "make old thing", times: 3, age: 400 },
    { text: "make it all", times: 3, age: 0 },
    { text: "git add a", times: 40, age: 10 },
  ]
  expect(told(commands)).toEqual(["git add a ×40", "make it all ×3", "make old thing ×3"])
})

test("no programs that look at files, no quoted words or variables", () => {
  const commands = ["grep -rn x src", "sed -n 1,3p a", "awk 'NR==1' a", './run.sh "$x"', "node $script"]
  expect(told(commands.map((text) => ({ text })))).toEqual([])
})

test("a line that says no more than its beginning is shown as it is", () => {
  const bare = [
    "cd /srv/ledger",
    'cd "/srv/the ledger"',
    "python3 - <<'PY'",
    'uv run python -c "',
    "node <<EOF",
  ]
  for (const line of bare) expect(isBare(line)).toBe(true)
  for (const line of [
    "cd a && npm test",
    "git commit -m 'all done'",
    'gh api x --jq ".[0]"',
    "cat <<EOF > a",
  ])
    expect(isBare(line)).toBe(false)
  expect(told([{ text: "python3 -", form: "python3 - <<'PY'", times: 2 }])).toEqual(["python3 - <<'PY' ×2"])
})

test("branches of a `case` are not programs", () => {
  expect(
    told([
      { text: "*) echo none", times: 9 },
      { text: "git push -u origin", times: 2 },
    ]),
  ).toEqual(["git push ×2"])
})
