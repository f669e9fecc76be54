import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import fc from "fast-check"
import { Dice } from "../../../src/cli/bench/seeded-random.ts"
import { FILTERED, filterLines, filterText } from "../../../src/secrets/filter.ts"
import { FORMATS } from "../../../src/secrets/formats/all-formats.ts"
import { anchorsOf, parseShape, shapeExpression } from "../../../src/secrets/formats/shape.ts"
import { finderOf, problemOf } from "../../../src/secrets/patterns.ts"
import { RULES_NUMBER } from "../../../src/secrets/rules.ts"
import { seekEach } from "../../../src/secrets/seek.ts"
import { findTokens } from "../../../src/secrets/tokens.ts"
import { conditionsOf } from "../../support/conditions.ts"
import { type Length, Samples, SURROUNDINGS } from "../../support/format-samples.ts"
import { filledPrint, patternsPrint, ruleSources } from "../../support/rules-print.ts"

/** The tables of formats: what they describe is found, whole, wherever it stands. */
describe("formats", () => {
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
    const { stdout, stderr } = Bun.spawnSync([process.execPath, "-e", script], {
      cwd: import.meta.dir,
      stdin,
    })
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
})

/** The user's own patterns: they mean what they mean in JavaScript, and take time in proportion to the text. */
describe("patterns", () => {
  const found = (pattern: string, text: string): string[] => {
    const all: string[] = []
    finderOf([pattern])(text, (start, end) => void all.push(`${start}-${end}`))
    return all
  }

  const native = (pattern: string, text: string): string[] =>
    [...text.matchAll(new RegExp(pattern, "g"))]
      .filter(([match]) => match !== "")
      .map(({ 0: match, index }) => `${index}-${index + match.length}`)

  describe("are refused, with the reason", () => {
    test.each([
      ["(", "not a regular expression"],
      ["(x)\\1", "back-references take too long"],
      ["(?<a>x)\\k<a>", "back-references take too long"],
      ["x*", "it matches the empty text"],
      ["\\b", "it matches the empty text"],
      ["a".repeat(301), "longer than 300 characters"],
      ["(?:\\w{1,40}-){40}", "too large"],
      ["a(?:(?:(?:){9999}){9999}){9999}", "too large"],
      ["a{0,99999}b", "too large"],
      ["(?=a(?!b))a", "a look-around within a look-around"],
    ])("%s", (pattern, problem) => {
      expect(problemOf(pattern)).toStartWith(problem)
    })
  })

  test.each([
    ["ACME-\\d+", "x ACME-12 ACME- ACME-3"],
    ["\\bint-[a-z]{4,}\\b", "int-abcd xint-abcd int-abc int-abcde1 int-wxyz"],
    ["[\\w.]+@example\\.com", "a.b@example.com, c@example.org @example.com"],
    ["(?:ab)+", "ababab a abab"],
    ["(?<=id: )(?:-x)+(a|b)?(?!c+)", "id: -x-xa id: -xac id:-x"],
    ["(?=.*9)\\d{3}", "123 456 789 012"],
    ["(?<!no )secret", "no secret, but secret"],
    ["token=.*?;", "token=abc; token=def;"],
    ["(?i:acme)-[[\\]x-z]", "AcMe-y acme-] ACME-a"],
    ["a{2}|b{1,3}?|c{2,}|{x|}", "aaaa bbb cccc {x }"],
    ["[^\\]\\w]\\x41\\u0042", "-AB ]AB aAB"],
    ["^a|b$|\\Bc", "a b cc b"],
    ["(a|ab)(c|bcd)(d*)", "abcd"],
    ["(a+)+$", "aaaa aaa"],
  ])("%s finds what the engine finds", (pattern, text) => {
    expect(problemOf(pattern)).toBeUndefined()
    expect(found(pattern, text)).toEqual(native(pattern, text))
    expect(native(pattern, text)).not.toEqual([])
  })

  const atom = fc.constantFrom(
    "a",
    "b",
    "c",
    "[ab]",
    "[^a]",
    ".",
    "\\w",
    "\\b",
    "^",
    "$",
    "(?=a)",
    "(?!b)",
    "(?<=a)",
    "(?<!ab|c)",
  )
  const quantifier = fc.constantFrom("", "", "*", "+", "?", "{2}", "{1,3}", "{2,}", "*?", "+?", "??")
  const { expression } = fc.letrec<{ expression: string; group: string; part: string }>((tie) => ({
    expression: fc.array(tie("part"), { minLength: 1, maxLength: 4 }).map((parts) => parts.join("")),
    group: fc
      .array(tie("expression"), { minLength: 1, maxLength: 3 })
      .map((choices) => `(?:${choices.join("|")})`),
    part: fc.oneof(
      { depthSize: "small" },
      fc.tuple(atom, quantifier).map(([one, sign]) => (/^[\^$]|^\\b|^\(\?/.test(one) ? one : one + sign)),
      // How often a group that may be empty is repeated, and with what, is not defined in the same way.
      fc
        .tuple(tie("group"), quantifier)
        .map(([one, sign]) => (problemOf(one) === undefined ? one + sign : one)),
    ),
  }))

  test("random patterns find what the engine finds", () => {
    let compared = 0
    fc.assert(
      fc.property(
        expression,
        fc.string({ unit: fc.constantFrom("a", "b", "c", " "), maxLength: 12 }),
        (pattern, text) => {
          if (problemOf(pattern) !== undefined) return
          compared++
          expect(found(pattern, text)).toEqual(native(pattern, text))
        },
      ),
      { numRuns: 3000 },
    )
    expect(compared).toBeGreaterThan(500)
  })

  /** ms of CPU time. */
  function cost(work: () => void): number {
    const before = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000
  }

  const SIZE = 64 << 10
  const HARD = ["a", "ab", "a ", "x1", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", "-"]

  test.each([
    ["[a-z]+[a-z]+[a-z]+\\d"],
    ["\\w{1,99}\\w{1,99}\\w{1,99}\\w{1,99}!"],
    [`${"a?".repeat(28)}${"a".repeat(28)}`],
    ["[^x]*[^y]*[^z]*q"],
    ["(a+)+$"],
    ["(?:a|aa)*b"],
    ["a(?:.*b)?"],
    ["(?=.*x)a(?<=a.*)"],
  ])("%s takes time in proportion", (pattern) => {
    expect(problemOf(pattern)).toBeUndefined()
    const find = finderOf([pattern])
    for (const piece of HARD) {
      const text = piece.repeat(SIZE / piece.length)
      expect(cost(() => find(text, () => {}))).toBeLessThan(5000)
    }
  })

  test("random patterns take bounded time on any of these texts", () => {
    fc.assert(
      fc.property(expression, fc.constantFrom(...HARD), (pattern, piece) => {
        if (problemOf(pattern) !== undefined) return
        const text = piece.repeat(8192 / piece.length)
        expect(cost(() => finderOf([pattern])(text, () => {}))).toBeLessThan(1000)
      }),
      { numRuns: 300 },
    )
  })
})

/** RULES_NUMBER goes up when the rules change: otherwise what was archived before is not filtered again. */
describe("rules number", () => {
  const GOLDEN = "test/golden/rules.tsv"

  const lines = readFileSync(join(import.meta.dir, "../../..", GOLDEN), "utf8")
    .trimEnd()
    .split("\n")
  const numberOf = (line: string): number => Number(line.split("\t")[0])

  test("each number has one line, and the last is that of RULES_NUMBER", () => {
    expect(lines[0]).toBe("number\tpatterns\tfilled")
    const numbers = lines.slice(1).map(numberOf)
    expect(numbers).toEqual(numbers.map((_, n) => numbers[0]! + n))
    expect(numbers.at(-1)).toBe(RULES_NUMBER)
  })

  test("the rules are those of RULES_NUMBER", () => {
    const prints = `${patternsPrint()}\t${filledPrint()}`
    const line = `${RULES_NUMBER}\t${prints}`
    if (lines.at(-1) === line) return
    throw new Error(
      `The rules for secrets have changed since ${GOLDEN} was written.

Do they find anything that they did not find before? Then raise RULES_NUMBER (src/secrets/rules.ts) to ${RULES_NUMBER + 1}, so that
what was archived before is filtered again, and add this line to ${GOLDEN}:
${RULES_NUMBER + 1}\t${prints}

Do they find the same, or less? Then leave the number, and put this line in place of the last:
${line}
`,
    )
  })

  describe("what tells rules apart", () => {
    const source = `
    /** Words. */
    import { other } from "./other.ts"
    const WORDS: readonly string[] = ["harbour", 'quay']
    export function find(text: string): number {
      if (text.length < 20) throw new Error("too short")
      return text.search(/\\bpier{2,}/) + \`of \${text}\`.length + 1
    }`

    test("not comments, names, types, errors, order nor imports", () => {
      const same = `
      import { another } from "./another.ts"
      export const seek = (it: string): number => {
        const at = it.search(/\\bpier{2,}/)
        if (it.length < 20) throw new RangeError("not long enough")
        return 1 + at + (\`of \${it}\`).length
      }
      const NAMES = ["harbour", "quay"] // as they are said`
      expect(conditionsOf(same)).toEqual(conditionsOf(source))
      expect(conditionsOf(source)).toEqual([
        '"harbour"',
        '"of "',
        '"quay"',
        "+",
        "+",
        "/\\bpier{2,}/",
        "20",
        "<",
      ])
    })

    test.each([
      ["a word", '"harbour"', '"haven"'],
      ["a word more", "'quay'", "'quay', 'dock'"],
      ["an expression", "pier{2,}", "pier{3,}"],
      ["a number", "20", "18"],
      ["a template", "`of ", "`from "],
      ["a comparison", "length < 20", "length <= 20"],
    ])("%s", (_, before, after) => {
      expect(source).toContain(before)
      expect(conditionsOf(source.replace(before, after))).not.toEqual(conditionsOf(source))
    })

    test("a format, whichever table it is in, and whatever its service is called", () => {
      const sources = ruleSources()
      const shapes = FORMATS.map(([, shape]) => shape)
      const usual = patternsPrint(sources, shapes)
      expect(patternsPrint(sources, shapes.toReversed())).toBe(usual)
      expect(patternsPrint(sources, [...shapes, "harbour_{an 20}"])).not.toBe(usual)
      expect(patternsPrint(sources, shapes.with(0, `${shapes[0]!}!`))).not.toBe(usual)
      expect(sources.join("")).not.toContain(shapes[0]!)
    })

    test("what they fill", () => {
      expect(filledPrint((text) => text)).not.toBe(filledPrint())
    })
  })
})

/** Values that stand apart from the name that tells what they are, and what must not be taken for one. */
describe("apart", () => {
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
})
