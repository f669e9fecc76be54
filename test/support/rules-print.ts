/** What tells one state of the rules for secrets from another: one line of test/golden/rules.tsv. */
import { readFileSync } from "node:fs"
import { basename, join } from "node:path"
import { SET_1 } from "../../bench/secrets/set-1.ts"
import { SET_2 } from "../../bench/secrets/set-2.ts"
import { SET_3 } from "../../bench/secrets/set-3.ts"
import { SET_4 } from "../../bench/secrets/set-4.ts"
import { SET_5 } from "../../bench/secrets/set-5.ts"
import { secretOf } from "../../bench/secrets/value.ts"
import { Dice } from "../../src/cli/bench/seeded-random.ts"
import { FILTERED, filterLines } from "../../src/secrets/filter.ts"
import { FORMATS } from "../../src/secrets/formats/all-formats.ts"
import { conditionsOf } from "./conditions.ts"

const SECRETS = join(import.meta.dir, "../../src/secrets")
/** The number itself, and how long a search may take. */
const NO_RULES = ["rules.ts", "clock.ts"]
/** Of formats/, what reads the tables; of these, only the shapes count. */
const READERS = ["formats/shape.ts", "formats/table.ts"]

/** The sources of all rules. */
export function ruleSources(): string[] {
  const own = [...new Bun.Glob("*.ts").scanSync(SECRETS)].filter((path) => !NO_RULES.includes(basename(path)))
  return [...own.sort(), ...READERS].map((path) => readFileSync(join(SECRETS, path), "utf8"))
}

const print = (texts: readonly string[]): string =>
  new Bun.CryptoHasher("sha256").update(texts.join("\n")).digest("hex").slice(0, 12)

/**
 * What the rules are made of.
 *
 * @param shapes as in the tables of formats, in any order
 */
export const patternsPrint = (
  sources: readonly string[] = ruleSources(),
  shapes: readonly string[] = FORMATS.map(([, shape]) => shape),
): string => print([...sources.flatMap(conditionsOf).sort(), ...shapes.toSorted()])

/** What they fill of the sets of bench/secrets/, with values from a seed. */
export function filledPrint(filter: (lines: Uint8Array) => Uint8Array = filtered): string {
  const dice = new Dice(1)
  const filled: string[] = []
  for (const { services, places, barePlaces } of [SET_1, SET_2, SET_3, SET_4, SET_5]) {
    for (const [row, { variable, shape, isPrefixed }] of services.entries()) {
      // A quarter of the places for each service: each place with a quarter of the services.
      const texts = (isPrefixed ? [...places, ...barePlaces] : places)
        .filter((_, n) => n % 4 === row % 4)
        .map((place) => place.write(variable, secretOf(shape, dice).text))
      const lines = texts.map((text) => `${JSON.stringify({ type: "user", message: { content: text } })}\n`)
      filled.push(Buffer.from(filter(Buffer.from(lines.join("")))).toString())
    }
  }
  return print(filled)
}

const filtered = (lines: Uint8Array): Uint8Array => filterLines(lines, 0, FILTERED).content
