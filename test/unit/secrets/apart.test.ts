/** Values that stand apart from the name that tells what they are, and what must not be taken for one. */
import { expect, test } from "bun:test"
import { Dice } from "../../../src/cli/bench/seeded-random.ts"
import { FILTERED, filterLines, filterText } from "../../../src/secrets/filter.ts"

const dice = new Dice(Math.floor(Math.random() * 1_000_000))
const ALPHABET = "abcdef0123456789"
const made = (length: number): string =>
  Array.from({ length }, () => ALPHABET[dice.between(0, ALPHABET.length - 1)]).join("")
const KEY = `7c4${made(17)}a9f${made(17)}`

const inText = (text: string): string => filterText(text, FILTERED)
const inRecord = (text: string): string => {
  const line = Buffer.from(`${JSON.stringify({ message: { content: text } })}\n`)
  return JSON.parse(Buffer.from(filterLines(line, 0, FILTERED).content).toString()).message.content
}

const FOUND: readonly string[] = [
  "<name>fs.acme.api.key</name>\n  <value>VALUE</value>",
  'variable "acme_token" {\n  type    = string\n  default = "VALUE"\n}',
  "    apiKey:\n      type: string\n      example: VALUE\n",
  "$ printenv ACME_API_KEY\nVALUE\n$",
  "Created acme api key.\nCopy it now, it is not shown again:\n\n    VALUE\n",
  '  ["api_key"]=>\n  string(40) "VALUE"',
  'expect(config.apiKey).toBe("VALUE")',
  "gh secret set ACME_API_KEY --body 'VALUE' --repo acme/web",
  "curl -u :VALUE https://api.example.com/",
  'local api_key = [["VALUE"]]'.replaceAll('"', ""),
  "my %opt = (user => 'ops', api_key => q{VALUE});",
  'c = new NetworkCredential("noreply@example.com", "VALUE");',
  "401: Incorrect API key provided: VALUE. Check it.",
  'error: invalid token "VALUE" for user ci',
  "VALUE is the api key we use.",
  "retries: 3  # VALUE is the password",
  "@jon api key → VALUE (delete after)",
  "> API key - VALUE\n> Regards",
  "ACME_API_KEYは「VALUE」です。",
  "api key是 VALUE ，请保密。",
  "a senha do acme é VALUE ok?",
  "La clave de acme es: VALUE",
  "пароль от acme: VALUE",
  "17,acme_api_key,VALUE,2025-01-09",
  "login: admin / VALUE",
  "sonar.login=VALUE",
  ":api key: ``VALUE``",
  "secretKeyBase: 'VALUE'",
]

test.each(FOUND)("%s", (place) => {
  const text = place.replace("VALUE", KEY)
  const filled = place.replace("VALUE", "*".repeat(KEY.length))
  expect(inText(text)).toBe(filled)
  expect(inRecord(text)).toBe(filled)
})

test.each(["smtp_password = zqhv kxwb jpfd rmtc", 'const smtpPassword = "zqhv kxwb jpfd rmtc"'])(
  "words of random letters: %s",
  (text) => {
    expect(inText(text)).not.toContain("zqhv")
    expect(inText(text)).not.toContain("rmtc")
  },
)

test.each([
  "the token\nreturned by the server2 is\nkept",
  "This is the key. It is the password of the day",
  "password - base64-encoded, 20 characters",
  "API key provided: use the console",
  "f(key,value,token,e1,password,b2)",
  'expect(session.token).toBe("test-token")',
  'new Credential("user", "name")',
  "sonar.login=admin",
  "the slave is: db1-replica",
  'invalid token "function" in line 3',
  "UNRESERVED_PAT = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._!-~'",
  "password: this will have that name here",
  // biome-ignore lint/suspicious/noTemplateCurlyInString: code that prints a key
  "log(`API key \\x1b[32m${apiKey}\\x1b[0m`)",
])("stays: %s", (text) => {
  expect(inText(text)).toBe(text)
  expect(inRecord(text)).toBe(text)
})

test("time in proportion to the text", () => {
  for (const part of [
    "key\n\n ",
    "token {\n type = x",
    " is the key",
    "key: a b c:\n",
    "auth(a, ",
    "login     ",
  ]) {
    const cpu = (times: number): number => {
      const text = part.repeat(times)
      const before = process.cpuUsage()
      inText(text)
      const { user, system } = process.cpuUsage(before)
      return user + system
    }
    cpu(1000)
    expect(cpu(40_000)).toBeLessThan(40 * Math.max(cpu(4000), 5000))
  }
})
