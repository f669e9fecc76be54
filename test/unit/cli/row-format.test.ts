/** `--format`: rows for scripts. */
import { expect, test } from "bun:test"
import { documentFormatter } from "../../../src/cli/row-format.ts"

const ROWS = { list: "found", columns: ["name", "turns"], others: ["tokens", "takenBack"] }
const document = {
  found: [
    { name: "a\tb\nc\\d\u001b[2J\u202e", turns: 3, tokens: { input: 5 } },
    { name: null, turns: 0, tokens: null },
  ],
}

const printed = (format: string): string[] => documentFormatter(format, ROWS)(document)

test("tsv: the columns, without a head, each row on a line", () => {
  expect(printed("tsv")).toEqual(["a\\tb\\nc\\\\d\\u001b[2J\\u202e\t3", "\t0"])
})

test("a template: fields and their parts, tabs and line breaks", () => {
  expect(printed("{turns}:{tokens.input}\\t{takenBack}|{tokens}\\n")).toEqual([
    '3:5\t|{"input":5}\n',
    "0:\t|\n",
  ])
})

test.each([
  ["{nam}", "there is no field {nam}", "did you mean {name}? fields: name, turns, tokens, takenBack"],
  ["{constructor}", "there is no field {constructor}", "fields: name, turns, tokens, takenBack"],
  ["csv", '--format names no field: "csv"', "tsv, or '{name}'; fields: name, turns, tokens, takenBack"],
])("%s is refused", (format, message, hint) => {
  expect(() => printed(format)).toThrow(expect.objectContaining({ message, hint, exit: 64 }))
})
