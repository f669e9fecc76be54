/** What is asked before the gate for words is made: it never keeps a match from being found. */
import { expect, test } from "bun:test"
import { Dice } from "../../../src/bench/dice.ts"
import { wordGate } from "../../../src/secrets/introductions.ts"
import { joinEnd, mayHoldNames } from "../../../src/secrets/words.ts"

const WORDS =
  "pass password Passwort passwd passwt PASSPHRASE passcode passe pw PWD secret Token key keyBase keystring KeyPrivate auth " +
  "Authorization api_hash apihash ApiXHash credential Credentials cookie kennwort JWT pat session sessionId sid sig " +
  "Signature passProd pass_dev pass-stag passlive requirepass StorePass keypass pin PSK salt seed authz authTok " +
  "auth_code authxcode authCode AppId app_id app.certificate appCertificate cred creds Creds keys author passed path pinned"
const JOINTS = [
  ...'_ - . _x -prod .base .private .basement \\ " \' ` [ ] } * " \\n \\t = : => > , | ? ( ) < { ! ) ?'.split(
    " ",
  ),
  ...[
    " ",
    "  ",
    "\n",
    "\t",
    "\v",
    ") ?",
    ").",
    ") o",
    ").",
    ".\n",
    ".\\",
    "\xc3",
    "\xe4",
    "\xa0",
    "n",
    "T",
    "",
    "",
  ],
  ...[" encoding", "value", "--v", "--bv", '","', "aaaaaaaaaaaaaaaaaaaaaaaa", "123", "/"],
]

const words = WORDS.split(" ")
const textOf = (dice: Dice): string => {
  let text = dice.pick(["", " ", "x", '"', "re"])
  for (let n = dice.between(1, 3); n > 0; n--) {
    text += dice.pick(words)
    for (let joints = dice.between(0, 4); joints > 0; joints--) text += dice.pick(JOINTS)
  }
  return text
}

/** Matches of the gate, wherever it is begun. */
function matchesIn(text: string): [start: number, end: number][] {
  const found: [number, number][] = []
  const gate = new RegExp(wordGate(), "iy")
  for (let at = 0; at < text.length; at++) {
    gate.lastIndex = at
    if (gate.test(text)) found.push([at, gate.lastIndex])
  }
  return found
}

test("the gate is made wherever it matches", () => {
  const dice = new Dice(3)
  let matched = 0
  let passed = 0
  for (let n = 0; n < 100_000; n++) {
    const text = textOf(dice)
    const matches = matchesIn(text)
    if (matches.length === 0) {
      if (!mayHoldNames(text, () => true)) passed++
      continue
    }
    matched++
    expect([text, mayHoldNames(text, () => true)]).toEqual([text, true])
    // A value near any of them suffices, and it is asked for by the same places.
    for (const [start, end] of matches)
      expect([text, mayHoldNames(text, (_, from, to) => from === start && to === end)]).toEqual([text, true])
  }
  expect(matched).toBeGreaterThan(30_000)
  expect(passed).toBeGreaterThan(15_000)
})

test("a text without its words is passed over", () => {
  for (const text of ["", "Run the tests again, please.", "It passed the keys to the author of the path."])
    expect(mayHoldNames(text, () => true)).toBe(false)
})

test("what joins a name to its value ends where the gate says", () => {
  expect(joinEnd("key_id = 5", 3)).toBe(7)
  expect(joinEnd("key.base: x", 3)).toBe(9)
  expect(joinEnd("key of", 3)).toBe(4)
  expect(joinEnd("key;", 3)).toBe(0)
})
