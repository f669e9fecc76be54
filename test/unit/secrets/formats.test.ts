/** The tables of formats: what they describe is found, whole, wherever it stands. */
import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import { FILTERED, filterLines, filterText } from "../../../src/secrets/filter.ts"
import { FORMATS } from "../../../src/secrets/formats/all-formats.ts"
import { anchorsOf, parseShape, shapeExpression } from "../../../src/secrets/formats/shape.ts"
import { seekEach } from "../../../src/secrets/seek.ts"
import { findTokens } from "../../../src/secrets/tokens.ts"
import { type Length, Samples, SURROUNDINGS } from "../../support/format-samples.ts"

const stars = (n: number): string => "*".repeat(n)
const line = (text: string): string => `${JSON.stringify({ type: "user", message: { content: text } })}\n`
const filtered = (text: string): string =>
  Buffer.from(filterLines(Buffer.from(text), 0, FILTERED).content).toString()

const LENGTHS: readonly Length[] = ["least", "greatest", "longer"]

/** Every format with tokens of each length. */
const tokens = FORMATS.flatMap(([service, shape], n) =>
  LENGTHS.flatMap((length) =>
    [1, 2].map((k) => ({
      name: `${service} ${shape} ${length}`,
      token: new Samples(n * 10 + k).token(shape, length),
    })),
  ),
)

describe("every format, at its least and greatest length, is filled whole and alone", () => {
  for (const [where, surrounding] of Object.entries(SURROUNDINGS)) {
    test(where, () => {
      const wrong = tokens.flatMap(({ name, token }) => {
        const text = line(surrounding.replaceAll("@", () => token))
        const wanted = text.replaceAll(token, stars(token.length))
        return filtered(text) === wanted
          ? []
          : [`${name}: ${token.slice(0, 90)} → ${filtered(text).slice(39, 160)}`]
      })
      expect(wrong).toEqual([])
    })
  }
})

test("a dot that ends a sentence belongs to no token", () => {
  const wrong = tokens.flatMap(({ name, token }) => {
    const text = `\nIt is ${token}. As you know`
    const ends: number[] = []
    let first = text.length
    findTokens(text, seekEach(Buffer.from(text), text), (start, end) => {
      first = Math.min(first, start)
      ends.push(end)
    })
    return first === 7 && Math.max(...ends) === 7 + token.length ? [] : [[name, token.slice(0, 90), ends]]
  })
  expect(wrong).toEqual([])
})

describe("what services hand out, apart from what a row says", () => {
  test.each([
    ["Twitter", "AAAAAAAAAAAAAAAAAAAAA{an 2}AAAAAAA{an 2}%2B{an 5}%2B{an 19}%3D{an 50}"],
    ["Adyen, whose last part has any character", "AQE{low 1}hmf{b64 90}-{b64 43}=-W+t5NF;s4:%=kUSD"],
    ["Azure storage, 64 bytes", "{b64 76}+ASt{b64 5}A=="],
    ["Cosmos DB, 64 bytes", "{b64 76}ACDb{b64 5}Q=="],
    ["Azure event hub, 32 bytes", "{b64 33}+AEh{b64 5}U="],
    ["DigitalOcean Spaces", "DO00{up 16}"],
    ["DigitalOcean Spaces", "DO801{up 15}"],
    ["GoCardless", "live_{an 34}-{an 5}"],
    ["Lob", "live_{hex 35}"],
    ["LinkedIn, short", "WPL_AP1.{an 16}.{an 6}=="],
    ["Slack configuration", "xoxe.xoxp-1-{b64 40}+{b64 60}/{b64 60}=="],
    ["Stytch", "secret-live-{an 18}_{an 16}="],
    ["Aiven", "aivenv1 {b64 372}"],
    ["Asana", "2/{d 16}/{d 16}:{hex 32}"],
    ["Asana, old", "0/{d 16}:{hex 32}"],
  ])("%s: %s", (_, shape) => {
    for (const seed of [1, 2, 3, 4]) {
      const token = new Samples(seed).token(shape, "least")
      for (const surrounding of ["It is @, here", '"@"', "f(@)", "VALUE=@", "a\n@\nb"]) {
        const text = surrounding.replaceAll("@", () => token)
        expect(filterText(text, FILTERED)).toBe(surrounding.replaceAll("@", stars(token.length)))
      }
    }
  })
})

describe("what only resembles a token stays", () => {
  const md5 = "9e107d9d372bb6826bd81d3542a419d6"
  const sha1 = "2fd4e1c67a2d28fced849ee1bb76e7391b93eb12"
  const uuid = "0c9d1c50-6bc6-4d2a-9e6b-6f0d1f2a3b4c"
  test.each([
    `favicon.ico-${md5}`,
    `cache-key-${md5} of node-modules-key-${md5}`,
    `commit ${sha1}`,
    `id ${uuid}, request-${uuid}`,
    "integrity sha512-x7Zz0cX6vHkS6GqS4sN2p1O6Q2mJm3fH5kq0l9bVx0eQK1u4nS3w7aVb2g==",
    "lodash@4.17.21, @scope/package-name-of-things@1.2.3-alpha.20260101120000",
    "v1.22.0-alpha.3.20260101120000+abcdef1234567",
    "test_handles_utf8_in_2_of_3_cases_without_failing",
    "test_SomethingLongWithManyWordsIn1Name",
    "created_at_Z8f2Kd93Lq_7hG5fD3sA1qW9eR7tY5uI3oP1aS9dF7gH5jK",
    "live_update_of_2_tables_and_3_views_without_locks",
    "secret-test-of-the-vault-v2-provider-with-2-stores",
    "dev:happy-animal-123 | prod:happy-animal-124",
    "aivenv1 TOKEN, with the token from the console",
    "sk_CMS_RevocationInfoChoice_find2",
    "sk-loading-indicator-wrapper-2",
    "AWS.STS.assumeRoleWithWebIdentity",
    "this.secret_keyOfTheUserInTheDatabase2",
    "as-described-in-section-2-of-the-document",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
    "GOOGLE_APPLICATION_CREDENTIALS2=/etc/harbour/google.json",
    "src/components/app-Header2AndFooter3.module.css",
    "0.30000000000000004 and 1.7976931348623157e+308",
    "EAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    `EAA${"A".repeat(90)}2`,
    '"signature":"CAIS7gQKhwEIEBgCKkCOw6K0a6cm018OomV1aKcM6j4UITasSZowUXXP2B7gQKhwEIEBgCKkCOw6K0a6cm018OomV1aKcM6j4UI"',
  ])("%s", (text) => {
    expect(filtered(line(text))).toBe(line(text))
  })

  test("the first nine characters of a token, and the text of its row", () => {
    for (const { token } of tokens) {
      const text = line(`It is "${token.slice(0, 9)}" here`)
      expect(filtered(text)).toBe(text)
    }
    for (const [, shape] of FORMATS) expect(filtered(line(shape))).toBe(line(shape))
  })
})

test("however the lines come: the same", () => {
  const all = tokens.map(({ token }, n) =>
    line(Object.values(SURROUNDINGS)[n % 17]!.replaceAll("@", () => token)),
  )
  const pieces: string[] = []
  for (let at = 0; at < all.length; at += (at % 7) + 1)
    pieces.push(filtered(all.slice(at, at + (at % 7) + 1).join("")))
  expect(pieces.join("")).toBe(filtered(all.join("")))
})

describe("the tables", () => {
  test("name more than 380 formats, each with a source, none twice", () => {
    const shapes = FORMATS.map(([, shape]) => shape)
    expect(shapes.length).toBeGreaterThan(380)
    expect(shapes.filter((one, n) => shapes.indexOf(one) !== n)).toEqual([])
    expect(FORMATS.filter(([service, , source]) => service.length < 2 || source.length < 4)).toEqual([])
  })

  test("a row that cannot be read is refused", () => {
    for (const wrong of ["a_{nothing 3}", "a_{an}", "a_)", "a_(b", "{an 3}{hex 4}", "x{an 30}"])
      expect(() => anchorsOf(parseShape(wrong)), wrong).toThrow()
  })

  test("a row becomes an expression and what it is found by", () => {
    const shape = parseShape("(gha|ghb)_{an 36..255}(.{low 2})?")
    expect(shapeExpression(shape)).toBe("(?:gha|ghb)_[A-Za-z0-9]{36,}(?:\\.[a-z0-9]{2,})?")
    expect(anchorsOf(shape).map(({ text }) => text)).toEqual(["gha_", "ghb_"])
    expect(shapeExpression(parseShape("^AK{up 16..20}!"))).toBe("AK[A-Z0-9]{16,20}(?![A-Za-z0-9])")
    expect(anchorsOf(parseShape("AKIA{up 16}!"))).toEqual([{ kind: "head", text: "AKIA" }])
    expect(anchorsOf(parseShape("{an 14}.word.{an 20}"))).toEqual([{ kind: "word", text: "word." }])
    expect(anchorsOf(parseShape("{an 52}JQ99{an 20}"))).toEqual([{ kind: "middle", text: "JQ99" }])
  })

  test("no expression repeats without end before its end, but those of JWT, which the search skips", () => {
    const unbounded = FORMATS.filter(([, written]) => {
      const needed = shapeExpression(parseShape(written)).replace(
        /(?:\(\?:[^()]*(?:\([^()]*\)[^()]*)*\)\?)+$/,
        "",
      )
      return /\{\d+,\}(?!(?:=\{0,2\})?\)*$)/.test(needed)
    })
    expect(unbounded.filter(([, written]) => !written.startsWith("eyJ"))).toEqual([])
  })
})

describe("text made to be slow", () => {
  const SMALL = 8 << 10
  const LARGE = 128 << 10
  const repeated = (text: string, length: number): Buffer =>
    Buffer.from(line(text.repeat(Math.ceil(length / text.length)).slice(0, length)))
  const cpu = (bytes: Buffer): number => {
    const start = process.cpuUsage()
    filterLines(bytes, 0, FILTERED)
    const { user, system } = process.cpuUsage(start)
    return (user + system) / 1000
  }

  // Quadratic, 16 times as much text takes 256 times as long.
  test("takes a time proportional to its length, for the beginnings of every format", () => {
    const slow: string[] = []
    for (const { name, token } of tokens.filter((_, n) => n % 6 === 0)) {
      for (const text of [
        token.slice(0, 6),
        token.slice(0, -1),
        `${token.slice(0, -1)}-`,
        token.slice(0, 12).toUpperCase(),
      ]) {
        const small = Math.max(0.5, Math.min(cpu(repeated(text, SMALL)), cpu(repeated(text, SMALL))))
        let large = cpu(repeated(text, LARGE))
        // Once may be the engine's own work, such as collecting what earlier tests have left.
        for (let again = 0; large > 64 * small && again < 3; again++)
          large = Math.min(large, cpu(repeated(text, LARGE)))
        if (large > 64 * small) slow.push(`${name}, ${text.slice(0, 40)}: ${small} ms, then ${large} ms`)
      }
    }
    expect(slow).toEqual([])
  }, 300_000)
})

test("in a new process, which makes no sets of words, every format is found, too", () => {
  const script = `
    const { filterText, FILTERED } = await import(${JSON.stringify(join(import.meta.dir, "../../../src/secrets/filter.ts"))})
    const left = JSON.parse(await Bun.stdin.text()).filter((one) =>
      ["It is ", "first\\\\n", "\\x1b[32m"].some((before) => filterText(before + one, FILTERED).includes(one)))
    console.log(JSON.stringify(left))
  `
  const stdin = Buffer.from(JSON.stringify(tokens.map(({ token }) => token)))
  const { stdout, stderr } = Bun.spawnSync([process.execPath, "-e", script], { cwd: import.meta.dir, stdin })
  expect({ stdout: String(stdout), stderr: String(stderr) }).toEqual({ stdout: "[]\n", stderr: "" })
})

test("ordinary lines need no tables: these are not even loaded", () => {
  const script = `
    const { filterLines, FILTERED } = await import(${JSON.stringify(join(import.meta.dir, "../../../src/secrets/filter.ts"))})
    const loaded = () => Object.keys(require.cache).some((path) => /formats\\/(?!anchors)/.test(path))
    const lines = (text) => Buffer.from((JSON.stringify({ type: "user", text }) + "\\n").repeat(100))
    filterLines(lines("Ordinary words, someIdentifier, src/a/file.ts:12, v1.2.3 and ${"2fd4e1c67a2d28fced849ee1bb76e739"}"), 0, FILTERED)
    const before = loaded()
    filterLines(lines("gh" + "p_7abcdefghijklmnopqrstuvwxyz0123456789"), 0, FILTERED)
    console.log(before, loaded())
  `
  const { stdout, stderr } = Bun.spawnSync([process.execPath, "-e", script], { cwd: import.meta.dir })
  expect({ stdout: String(stdout), stderr: String(stderr) }).toEqual({ stdout: "false true\n", stderr: "" })
})
