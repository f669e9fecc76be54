/** Secrets of no known format, told by what introduces them: how many are found, and that none is filled in part. */
import { describe, expect, test } from "bun:test"
import { FILTERED, filterLines, filterText } from "../../../src/secrets/filter.ts"
import { type Case, casesOf, type Group, outcomeOf, PLACES } from "../../support/contexts.ts"

/** Anew in each run; a failure names it. */
const SEED = Math.floor(Math.random() * 1_000_000)
const CASES = 24

/** As it stands in a file, in a record of a transcript, and in a document that is a string in a record. */
const ENCLOSED: Readonly<Record<string, (text: string) => string>> = {
  "a file": (text) => filterText(text, FILTERED),
  "a record": (text) => throughLines(text, (content) => ({ message: { content } })).message.content,
  "a string in a record": (text) =>
    JSON.parse(
      throughLines(JSON.stringify({ stdout: text }), (toolUseResult) => ({ toolUseResult })).toolUseResult,
    ).stdout,
}

function throughLines<T>(text: string, record: (text: string) => T): T {
  const line = Buffer.from(`${JSON.stringify(record(text))}\n`)
  const { content } = filterLines(line, 0, FILTERED)
  expect(content.length).toBe(line.length)
  return JSON.parse(Buffer.from(content).toString())
}

/** Shares of the values that must be filled, over all places of a group. */
const WANTED: Readonly<Record<Group, number>> = { strong: 0.985, weak: 0.97 }
/** The share in any single place, where the values of a few cases may all look like words. */
const WANTED_ANYWHERE = 0.65

for (const [name, filtered] of Object.entries(ENCLOSED)) {
  for (const group of ["strong", "weak"] as const) {
    test(`${group} places in ${name}`, () => {
      const missed: string[] = []
      const parts: string[] = []
      const poor: string[] = []
      let all = 0
      for (const [n, place] of PLACES.entries()) {
        if (place.group !== group) continue
        const cases = casesOf(place, SEED + 1000 * n, CASES)
        const failed = (which: string) => (one: Case) => outcomeOf(one, filtered(one.text)) === which
        const here = cases.filter(failed("missed"))
        missed.push(...here.map(({ text }) => text))
        parts.push(...cases.filter(failed("part")).map(({ text }) => text))
        if (here.length > CASES * (1 - WANTED_ANYWHERE))
          poor.push(`${place.name}: ${here.length} of ${CASES}`)
        all += CASES
      }
      const found = 1 - (missed.length + parts.length) / all
      expect({ seed: SEED, poor }).toEqual({ seed: SEED, poor: [] })
      // A value that ends like the text behind it cannot always be told from it.
      expect(parts.length, `seed ${SEED}: ${parts.join("\n")}`).toBeLessThanOrEqual(all * 0.005)
      expect(found, `seed ${SEED}: ${missed.join("\n")}`).toBeGreaterThanOrEqual(WANTED[group])
    })
  }
}

describe("what is no secret stays", () => {
  test.each([
    // other names
    ['"passport": "^0.7.0", "passport-local": "1.0.0-rc12"'],
    ['const primaryKey = "a81f93kq204lmpz77a12"'],
    ['publicKey: "x81f93Kq204LmPz77a90qZ"'],
    ['cache_key = "user7:page12:sort3a9f8e7d"'],
    ['nextToken: "eyx81f93Kq204LmPz77a90qZ"'],
    ['csrf_token: "x81f93Kq204LmPz77a90qZ"'],
    ['hotkey: "ctrl+shift+7a9"'],
    ['monkey="x81f93Kq204LmPz77a90qZ"'],
    ['"AWS::ApiGateway::ApiKey": "48205d4ffd7feba3"'],
    ['secretName: "db7-credentials-prod2"'],
    // code
    ["token: this.props.token2"],
    ["apiKey: config.apiKey2,"],
    ["password: req.body.password1"],
    ["password = getPassword2(user)"],
    ["const token = await client.fetch2(url)"],
    ["private key: PrivateKeyTypes2 | None"],
    ["let apiKey: string | undefined = undefined"],
    ["password: z.string().min(8),"],
    ["input.password = !!options.password1;"],
    ["url.password = utf8PercentEncodeString(password, isUserInfo)"],
    ["writeString('mysql_native_password', 'latin1')"],
    ["pass: src/step1.test.ts"],
    ['token: "comment.line2"'],
    ['token: "keyword.operator"'],
    ['key: "Enter", keyCode: 13'],
    ["#define PASS_DEPTH 0x0B96"],
    ['password: "current-password"'],
    ['password: "Enter your password, please"'],
    ['<input type="password" class="form-control2">'],
    ["jwt: /^[A-Za-z0-9-_]+$/,"],
    // stand-ins
    ["API_KEY=<YOUR_API_KEY>"],
    ["API_KEY=xxxxxxxxxxxxxxxxxxxx"],
    ["API_KEY=your-token-here-123"],
    ["DB_PASSWORD=changeme"],
    [`API_KEY=\${API_KEY_2}`],
    ["password: {{ db_password1 }}"],
    [`token: \${{ secrets.TOKEN_1 }}`],
    ["password: $(cat /run/secrets/db1)"],
    // sentences
    ["the password is required"],
    ["my password is not working since 2024"],
    ["the token is base64 encoded"],
    ["The password must have 12-characters or more"],
    ["the key is 256-bit"],
    ["Passwort: erforderlich"],
    ["пароль должен быть длинным"],
    ["密码是必填项"],
    ["use the token to log in, see step2"],
    // addresses
    ["http://localhost:5173/@vite/client"],
    ["https://user:password@example.com"],
    ["postgres://localhost:5432/shop"],
  ])("%s", (text) => {
    expect(filterText(text, FILTERED)).toBe(text)
    expect(throughLines(text, (content) => ({ content })).content).toBe(text)
  })
})

/** Each introduction, repeated: examined from each, and what follows once. */
const REPEATED = [
  "sig=",
  "_auth=",
  "key:",
  "://x.logic.azure.com/a?sig=",
  'token=\\"',
  "password = ",
  "api_key=a1",
  "secret>",
  "pass=",
  "-u a:",
  "mysql -",
  "://a:b",
  "пароль ",
  "key: string | ",
  "key=a&b=",
  "earer ",
  "kind: Secret\n",
  "kind: Secret\ndata:\n  a: b\n",
  '{"kind":"Secret","data":{',
  '"kind":"Secret"}',
  '["mysql","-u",',
  "mysql a ",
  "curl -u a:b ",
  "openssl -k a -pass ",
  "--from-literal secret=",
  "WIFI:T:a;S:b;",
  "mnemonic able ",
  "seed phrase: ",
  'password":{"a":"b",',
  '"value":"abcd","name":"password",',
  "password:\n  type: a\n",
  "A/AKIA",
]

test("takes time in proportion to the text, whatever is repeated in it", () => {
  const time = (piece: string, size: number): number => {
    const text = piece.repeat(size / piece.length)
    let least = Number.POSITIVE_INFINITY
    for (let n = 0; n < 3; n++) {
      const start = process.cpuUsage()
      filterText(text, FILTERED)
      const { user, system } = process.cpuUsage(start)
      least = Math.min(least, user + system)
    }
    return least / 1000
  }
  for (const piece of REPEATED) time(piece, 1 << 12)
  // Quadratic would be 16 times 16 ms; these take some hundred at worst.
  const slow = REPEATED.map((piece) => ({ piece, ms: time(piece, 1 << 18), before: time(piece, 1 << 16) }))
  expect(slow.filter(({ ms, before }) => ms > 2000 || ms > 12 * Math.max(before, 10))).toEqual([])
}, 120_000)
