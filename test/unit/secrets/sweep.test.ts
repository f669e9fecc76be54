/** The pass that finds all sequences at once finds what searches for each of them find. */
import { expect, test } from "bun:test"
import { Dice } from "../../../src/cli/bench/seeded-random.ts"
import { FILTERED, filterLines, hurried } from "../../../src/secrets/filter.ts"
import { type SequencePlaces, seekEach } from "../../../src/secrets/seek.ts"
import { SOUGHT_SEQUENCES, sweep } from "../../../src/secrets/sweep.ts"

const WORDS =
  "pass password Passwort passwd PASSPHRASE passcode passe pw PWD secret Token key keyBase keystring keyprivate auth " +
  "Authorization api_hash apihash credential credentials cookie kennwort JWT pat session= sessionId= sid= sig= signature= " +
  "passProd pass_dev passlive requirepass pin PSK salt seed nvalue authz authTok auth_code authxcode AppId app_id " +
  "appCertificate cred creds Creds"
const PIECES = [
  ...SOUGHT_SEQUENCES,
  ...WORDS.split(" "),
  ...'= : _x= s . \n " ) < a A1b2C3d4e5 K9'.split(" "),
  " ",
  "\xc3",
]

function textOf(dice: Dice, pieces: number): string {
  let text = ""
  for (let n = 0; n < pieces; n++) text += dice.pick(PIECES).slice(dice.chance(0.1) ? 1 : 0)
  return text
}

const wordsIn = (sought: SequencePlaces): number[] => {
  const found: number[] = []
  sought.eachWord((start, end) => {
    found.push(start, end)
    return start + 3
  })
  return found
}

test("every sequence and every word, at the same places", () => {
  const dice = new Dice(7)
  let places = 0
  let words = 0
  for (let n = 0; n < 300; n++) {
    const text = textOf(dice, 400)
    const bytes = Buffer.from(text, "latin1")
    const [once, each] = [sweep(bytes, text), seekEach(bytes, text)]
    for (const sequence of SOUGHT_SEQUENCES) {
      expect(once.places(sequence)).toEqual([...each.places(sequence)])
      places += each.places(sequence).length
    }
    expect(wordsIn(once)).toEqual(wordsIn(each))
    words += wordsIn(each).length / 2
  }
  expect(places).toBeGreaterThan(20_000)
  expect(words).toBeGreaterThan(5_000)
})

test("a sequence that is not in its lists is refused, not missed", () => {
  expect(() => sweep(Buffer.from("abc"), "abc").places("abc")).toThrow("no search for abc")
})

test("whether somebody waits makes no difference to what is filled", () => {
  const dice = new Dice(8)
  let filled = 0
  for (let n = 0; n < 200; n++) {
    const secret = `${dice.pick(["ghp_", "password=", "api_key: ", "eyJ"])}${dice.base64(40)}`
    const content = JSON.stringify({ text: `${textOf(dice, 60)} ${secret} ${textOf(dice, 60)}` })
    const lines = Buffer.from(`${content}\n`)
    const patient = filterLines(lines, 0, FILTERED)
    expect(filterLines(lines, 0, FILTERED, hurried(performance.now() + 600_000))).toEqual(patient)
    if (patient.content !== lines) filled++
  }
  expect(filled).toBeGreaterThan(100)
})
