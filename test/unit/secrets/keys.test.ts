/** Private keys of every kind, whatever prints them, whole or cut off; and what resembles them and stays. */
import { describe, expect, test } from "bun:test"
import { FILTERED, filterLines, filterText } from "../../../src/secrets/filter.ts"
import { KEY_KINDS, leftOf, WRAPPINGS } from "../../support/key-wrappings.ts"
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

/** Where a text stands in a transcript. */
const PLACES: readonly (readonly [name: string, record: (text: string) => unknown])[] = [
  ["a prompt", (text) => ({ type: "user", message: { role: "user", content: `Look:\n${text}\nand so on` } })],
  [
    "a patch",
    (text) => ({
      type: "user",
      toolUseResult: {
        filePath: "/src/shop/site.conf",
        structuredPatch: [
          { oldStart: 4, newStart: 4, lines: text.split("\n").map((one, n) => "+- "[n % 3] + one) },
        ],
      },
    }),
  ],
  [
    "a command",
    (text) => ({
      type: "assistant",
      message: { content: [{ type: "tool_use", id: "toolu_01", name: "Bash", input: { command: text } }] },
    }),
  ],
  [
    "a tool's result",
    (text) => ({
      type: "user",
      message: { content: [{ type: "tool_result", tool_use_id: "toolu_01", content: text }] },
      toolUseResult: { stdout: text, stderr: "" },
    }),
  ],
  [
    "a result within a string",
    (text) => ({
      type: "user",
      message: { content: [{ type: "text", text: JSON.stringify({ out: text }) }] },
    }),
  ],
  ["a waiting prompt", (text) => ({ type: "queue-operation", operation: "enqueue", content: text })],
  [
    "an attachment",
    (text) => ({ type: "attachment", attachment: { type: "file", content: { file: { content: text } } } }),
  ],
]

const recordOf = (record: unknown): string => `${JSON.stringify(record)}\n`

/** What is wrong with a text once it is filtered; empty if nothing is. */
function faults(before: string, secret: readonly string[]): string[] {
  const after = filtered(before)
  const found = leftOf(after, secret).map((one) => `left: ${one}`)
  if (Buffer.byteLength(after) !== Buffer.byteLength(before)) found.push("not as long")
  for (const one of after.trimEnd().split("\n")) if (!isJson(one)) found.push("no JSON")
  if (filtered(after) !== after) found.push("not the same twice")
  return found
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

describe("private keys, whatever prints them", () => {
  test.each(WRAPPINGS)("%s", (name, wrap) => {
    const found: string[] = []
    for (const [n, [kind, make]] of KEY_KINDS.entries()) {
      for (const [m, [place, record]] of PLACES.entries()) {
        // Every wrapping with every kind and in every place, but not each with both.
        if (m > 1 && (n + m + name.length) % 3 !== 0) continue
        const key = make(new Noise(7 + n * 31 + m))
        for (const one of faults(recordOf(record(wrap(key.lines))), key.secret))
          found.push(`${kind} in ${place}: ${one}`)
      }
    }
    expect(found).toEqual([])
  })
})

describe("a part of a private key", () => {
  // A short last line alone is told from a word only where nothing but the key is in its line.
  const cuts: readonly (readonly [name: string, cut: (lines: readonly string[]) => readonly string[]])[] = [
    ["its beginning", (lines) => lines.slice(0, 4)],
    ["its end", (lines) => lines.slice(-4)],
    ["its first line", (lines) => lines.slice(0, 2)],
    ["all but its end", (lines) => lines.slice(0, -1)],
    ["all but its beginning", (lines) => lines.slice(1)],
  ]
  // Without breaks, the short last line has nothing that tells it from a word. Nor has a wide one far from its mark.
  const broken = WRAPPINGS.filter(([name]) => !/breaks|quote|joined|narrower|form|in HTML/.test(name))
  test.each(cuts)("%s", (_name, cut) => {
    const found: string[] = []
    for (const [kind, make] of KEY_KINDS) {
      for (const [name, wrap] of broken) {
        if (kind.endsWith("on one line") && name.includes("much")) continue
        const key = make(new Noise(71 + kind.length))
        const text = recordOf({ type: "user", message: { role: "user", content: wrap(cut(key.lines)) } })
        for (const one of faults(text, key.secret)) found.push(`${kind}, ${name}: ${one}`)
      }
    }
    expect(found).toEqual([])
  })

  test("in the hunks of a patch, of which one has the beginning and one the end", () => {
    const { text, lines } = privateKey(new Noise(9))
    const all = text.trim().split("\n")
    const hunk = (from: number, some: readonly string[]): unknown => ({
      oldStart: from,
      oldLines: some.length,
      newStart: from,
      newLines: some.length,
      lines: some.map((one) => ` ${one}`),
    })
    const record = recordOf({
      type: "user",
      toolUseResult: { filePath: "/a/b", structuredPatch: [hunk(1, all.slice(0, 4)), hunk(9, all.slice(8))] },
    })
    expect(faults(record, [...lines.slice(0, 3), ...lines.slice(7)])).toEqual([])
  })

  test("in several blocks of a message", () => {
    const { text, lines } = privateKey(new Noise(10))
    const content = text
      .trim()
      .split("\n")
      .map((one) => ({ type: "text", text: one }))
    expect(faults(recordOf({ type: "user", message: { role: "user", content } }), lines)).toEqual([])
  })

  test("does not lend its marks to another record", () => {
    const { text, lines } = privateKey(new Noise(11))
    const [begin] = text.split("\n")
    const other = recordOf({ type: "user", message: { content: `${lines[0]}\n${lines[1]}` } })
    expect(filtered(recordOf({ type: "user", message: { content: begin } }) + other)).toEndWith(other)
  })
})

test("what stands around the lines of a key stays", () => {
  const { text, lines } = privateKey(new Noise(12))
  const log = text
    .trim()
    .split("\n")
    .map((one, n) => `2026-03-04T09:30:${10 + n}.5Z shop-1  | ${one} (${n})`)
    .join("\n")
  const stars = lines.reduce((one, secret) => one.replace(secret, "*".repeat(64)), log)
  expect(filterText(log, FILTERED)).toBe(stars)
})

describe("what is no private key stays", () => {
  const noise = new Noise(77)
  const base64 = (length: number): string =>
    noise.of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", length)
  const block = (what: string): string =>
    [
      `-----BEGIN ${what}-----`,
      ...Array.from({ length: 9 }, () => base64(64)),
      `${base64(30)}==`,
      `-----END ${what}-----`,
    ].join("\n")
  const mark = (word: string): string => `-----${word} RSA PRIVATE ${"KEY"}-----`
  const image = Array.from({ length: 12 }, () => base64(76)).join("\n")
  const hashes = Array.from({ length: 6 }, (_, n) => `${noise.hex(64)}  dist/part-${n}.tar.gz`).join("\n")

  const others: readonly (readonly [name: string, text: string])[] = [
    ["a public key", block("PUBLIC KEY")],
    ["a public key of RSA", block("RSA PUBLIC KEY")],
    ["a certificate", block("CERTIFICATE")],
    ["a request for one", block("CERTIFICATE REQUEST")],
    ["parameters", block("DH PARAMETERS")],
    ["a public key of PGP", block("PGP PUBLIC KEY BLOCK")],
    ["a signature of PGP", block("PGP SIGNATURE")],
    ["a message", block("PGP MESSAGE")],
    ["a line of authorized_keys", `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA${base64(44)} ada@quill`],
    ["an image", `data:image/png;base64,${base64(3000)}`],
    ["an image over lines", image],
    ["hashes", hashes],
    ["a lock file", `"integrity": "sha512-${base64(86)}==",\n"resolved": "https://registry.example/a.tgz"`],
  ]

  test.each(others)("%s", (_name, text) => {
    for (const [, wrap] of WRAPPINGS.filter(([name]) => !name.startsWith("base64"))) {
      const record = recordOf({ type: "user", message: { content: wrap(text.split("\n")) } })
      expect(filtered(record)).toBe(record)
    }
  })

  test.each(others.filter(([name]) => name !== "an image over lines"))(
    "%s behind the end of a private key, or a mention of one",
    (_name, text) => {
      const key = privateKey(new Noise(13))
      expect(filtered(line(`${key.text}${text}`))).toContain(JSON.stringify(text).slice(1, -1))
      const mentioned = line(
        `It begins with ${mark("BEGIN")} and this does not:\n${text}\nIt ends with ${mark("END")}.`,
      )
      expect(filtered(mentioned)).toBe(mentioned)
      const open = line(`A file with ${mark("BEGIN")} is refused.\n${text}`)
      expect(filtered(open)).toBe(open)
    },
  )

  test.each([
    [
      "prose",
      `The file has to BEGIN with ${mark("BEGIN")} and to END with ${mark("END")}, says the manual of 2026.`,
    ],
    ["a template", `${mark("BEGIN")}\n...\n${mark("END")}`],
    ["a template with a name", `${mark("BEGIN")}\n<your key here>\n${mark("END")}`],
    [
      "code",
      `if (!pem.startsWith("${mark("BEGIN")}")) throw new TypeError("invalidPkcs8FormatOfKey2")\nconst end = pem.indexOf("${mark("END")}")`,
    ],
    [
      "a list of files",
      `${mark("BEGIN")}\n/home/Ada/Projects2/Shop/src/Main2Activity.java\n/home/Ada/Projects2/Shop/src/Base64Util.java`,
    ],
    ["words with capitals", `${mark("BEGIN")}\ngetSubjectPublicKeyInfoAsDerBytes\n${mark("END")}`],
    ["a heading", "-----BEGIN REPORT-----\nThe PRIVATE KEY is not here\n-----END REPORT-----"],
  ])("%s", (_name, text) => {
    expect(filtered(line(text))).toBe(line(text))
    expect(filterText(text, FILTERED)).toBe(text)
  })

  test("the signature of a thought and the ids beside a mention", () => {
    const record = recordOf({
      type: "assistant",
      message: {
        content: [
          { type: "thinking", thinking: `It ends with ${mark("BEGIN")}`, signature: `Eq${base64(400)}==` },
          { type: "tool_use", id: `toolu_01${noise.alnum(22)}`, name: "Read", input: { file_path: "k.pem" } },
        ],
      },
      requestId: `req_011${noise.alnum(21)}`,
    })
    expect(filtered(record)).toBe(record)
  })
})
