/** Private keys in other forms than PEM. */
import { describe, expect, test } from "bun:test"
import { FILTERED, filterLines, filterText } from "../../../src/secrets/filter.ts"
import { Noise, privateKey } from "../../support/planted.ts"

const line = (text: string): string => `${JSON.stringify({ type: "user", message: { content: text } })}\n`
const filtered = (text: string): string =>
  Buffer.from(filterLines(Buffer.from(text), 0, FILTERED).content).toString()

const noise = new Noise(5)
const lines = (count: number): string[] => Array.from({ length: count }, () => noise.alnum(64))

describe("PuTTY", () => {
  const open = lines(3)
  const secret = [...lines(3), "7abcd=="]
  const key = [
    "PuTTY-User-Key-File-3: ssh-ed25519",
    "Encryption: none",
    "Comment: me@harbour",
    "Public-Lines: 3",
    ...open,
    "Private-Lines: 4",
    ...secret,
    "Private-MAC: 5ad0c7",
  ]

  for (const [name, written] of [
    ["", key.join("\n")],
    [" with carriage returns", key.join("\r\n")],
    [" with line numbers", key.map((one, n) => `${String(n + 1).padStart(6)}→${one}`).join("\n")],
    [" within JSON", JSON.stringify({ file: key.join("\n") })],
  ] as const) {
    test(`its private lines are filled, its public ones not${name}`, () => {
      for (const result of [filtered(line(`before\n${written}\nafter`)), filterText(written, FILTERED)]) {
        for (const one of secret) expect(result).not.toContain(one)
        for (const one of open) expect(result).toContain(one)
        expect(result).toContain("Private-MAC: 5ad0c7")
      }
    })
  }
})

describe("SSH2", () => {
  const secret = lines(4)
  const mark = (word: string): string => `---- ${word} SSH2 ENCRYPTED PRIVATE ${"KEY"} ----`
  const key = [mark("BEGIN"), 'Comment: "rsa-key-2026"', ...secret, mark("END")].join("\n")

  test("is filled between its marks", () => {
    for (const result of [
      filtered(line(`before\n${key}\nafter`)),
      filterText(`before\n${key}\nafter`, FILTERED),
    ]) {
      for (const one of secret) expect(result).not.toContain(one.slice(8))
      expect(result).toContain("before")
      expect(result).toContain(mark("END"))
      expect(result).toContain("after")
    }
  })
})

describe("JSON Web Key", () => {
  const open = { kid: "key-of-2026-07", n: noise.url(342), e: "AQAB", x: noise.url(43) }
  const secret = Object.fromEntries(
    ["d", "p", "q", "dp", "dq", "qi", "k"].map((name) => [name, noise.url(name === "d" ? 342 : 43)]),
  )

  for (const [name, written] of [
    ["", JSON.stringify({ ...open, ...secret, kty: "RSA" })],
    [" whose type comes first", JSON.stringify({ kty: "RSA", key_ops: ["sign"], ...secret, ...open })],
    [" over several lines", JSON.stringify({ kty: "RSA", ...secret, ...open }, null, 2)],
    [" in a set", JSON.stringify({ keys: [{ a: 1 }, { kty: "RSA", ...secret, ...open }] })],
    [" in a string", JSON.stringify(JSON.stringify({ kty: "oct", ...secret, ...open }))],
    [" in Python", JSON.stringify({ kty: "RSA", ...secret, ...open }).replaceAll('"', "'")],
  ] as const) {
    test(`its private members are filled, its public ones not${name}`, () => {
      const result = filtered(line(`The key: ${written} and so on`))
      for (const value of Object.values(secret)) expect(result).not.toContain(value)
      for (const value of Object.values(open)) expect(result).toContain(value)
    })
  }

  test("members of another object stay", () => {
    const other = JSON.stringify({ d: open.n, p: open.x, kind: "path" })
    expect(filtered(line(other))).toBe(line(other))
    const beside = JSON.stringify([{ kty: "RSA", e: "AQAB" }, { d: open.n }])
    expect(filtered(line(beside))).toBe(line(beside))
  })
})

test("a private key in strings that code joins is filled", () => {
  const { text, lines } = privateKey(new Noise(5))
  const code = text
    .trim()
    .split("\n")
    .map((one) => `  "${one}"`)
  for (const joint of [" +\n", "\n", ",\n"]) {
    const result = filtered(line(`const key =\n${code.join(joint)};\nconst next = "kept as it is"`))
    for (const one of lines) expect(result).not.toContain(one)
    expect(result).toContain("kept as it is")
  }
})
