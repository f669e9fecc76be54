/**
 * The known formats of tokens. Pure.
 *
 * Almost every format is a short word, a separator and a long rest. `GATES.separated` finds separators followed by such
 * a rest (one position in a thousand), the word before the separator selects the rules, and only those are compiled.
 * The other formats begin with two characters that rarely occur together. No rule matches across a line break: the
 * filter works on whole lines, so it makes no difference how they arrive.
 *
 * Here and in the neighbouring files, tables and regular expressions are wrapped in functions: most hooks find no
 * candidate and need none of them (docs/adr/0013).
 */

/** Raised whenever the filter finds something new: the vault's notes record which rules filtered a frame. */
export const RULES_NUMBER = 3

/** Regular expressions that find where tokens may be, by their `lastIndex`. */
export const GATES = {
  /**
   * Matches up to the separator. The groups of a UUID are the most common long rest and no token; a rest without a
   * digit or capital is a name or a path.
   */
  separated: () => /[_.:$~-](?![0-9a-f]{4}-)(?=[\w.$+/-]{14})(?=[a-z_.:$~+/-]{0,48}[A-Z0-9])/g,
  /** Matches up to the first two characters of a token without a separator. */
  plain: () => /[^A-Za-mo-qsu-z0-9][ABEGLS][A-Z3](?=[\w+/:-]{10})/g,
} as const

/** Words before the first separator, and what follows them. A word may be in several rows. */
const separatedRules = (): readonly (readonly [words: string, rest: string])[] => [
  // model APIs
  ["sk", "-(?:ant-)?(?:api|admin|oat|ort|sid)\\d\\d-[\\w-]{20,}"],
  ["sk", "-(?:proj|svcacct|admin|or-v1|lf|None|service|live|test)-[\\w-]{20,}"],
  ["sk", "-[A-Za-z0-9]{20,}(?:-[\\w-]+)?"],
  ["hf|api", "_(?:org_)?[A-Za-z0-9]{30,}"],
  ["gsk|r8|fw|jina", "_[A-Za-z0-9]{20,}"],
  ["pplx|xai|nvapi|tvly|csk", "-[\\w-]{24,}"],
  ["tgp", "_v1_[\\w-]{30,}"],
  ["pcsk|lsv2|phx|phc", "_[\\w-]{24,}"],
  ["bedrock", "-api-key-[A-Za-z0-9+/]{20,}={0,2}"],
  // source code
  ["ghp|gho|ghu|ghs|ghr", "_[A-Za-z0-9_]{30,}"],
  ["github", "_pat_[A-Za-z0-9_]{30,}"],
  [
    "glpat|gldt|glrt|glcbt|glptt|glft|glsoat|glimt|glagent|glffct|gloas|glwt",
    "-(?:t\\d_)?[\\w-]{18,}(?:\\.[\\w.-]{4,})?",
  ],
  ["sntrys|sntryu", "_[\\w+/-]{30,}={0,2}"],
  ["squ|sqp|sqa", "_[a-f0-9]{40}"],
  ["bkua|pnu|rdme|frp", "_[A-Za-z0-9]{30,}"],
  ["CCIPAT|CCIPRJ", "_[\\w-]{20,}"],
  // packages
  ["npm|rubygems|CLOJARS", "_[A-Za-z0-9]{30,}"],
  ["pypi", "-[\\w-]{40,}"],
  ["dckr", "_(?:pat|oat)_[\\w-]{20,}"],
  ["PMAK", "-[a-f0-9]{24}-[a-f0-9]{34}"],
  // clouds and platforms
  ["ya29", "\\.[\\w.-]{20,}"],
  ["GOCSPX", "-[\\w-]{20,}"],
  ["amzn", "\\.(?:mws|oa2-cs\\.v1)\\.[\\w-]{20,}"],
  ["dop|doo|dor", "_v1_[a-f0-9]{40,}"],
  ["HRKU", "-[\\w-]{30,}"],
  ["fo1|fm1|fm2", "_[\\w+/-]{20,}={0,2}"],
  ["v1", "\\.0-[a-f0-9]{24}-[a-f0-9]{64,}"],
  ["vcp|vci|vck|vca", "_[A-Za-z0-9]{20,}"],
  ["vercel", "_(?:blob_rw|ec|token)_[\\w-]{20,}"],
  ["nfp|rnd|sbp", "_[A-Za-z0-9]{20,}"],
  ["sb", "_secret_[\\w-]{20,}"],
  ["pscale", "_(?:tkn|pw|oauth)_[\\w.-]{24,}={0,2}"],
  ["dp", "\\.(?:pt|st|ct|sa|scim|audit)\\.(?:[\\w-]+\\.)?[A-Za-z0-9]{30,}"],
  ["hvs|hvb|hvr", "\\.[\\w-]{20,}"],
  ["pul", "-[a-f0-9]{40}"],
  ["dt0c01", "\\.[A-Z0-9]{20,}\\.[A-Z0-9]{60,}"],
  ["glc|glsa", "_[\\w+/]{24,}={0,2}"],
  ["NRAK|NRJS|NRII|NRIQ", "-[A-Za-z0-9_-]{19,}"],
  ["sdk|mob", "-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"],
  ["tskey", "-[a-z]+-[A-Za-z0-9]{10,}(?:-[A-Za-z0-9]{10,})?"],
  ["tk", "-us-[\\w-]{40,}"],
  ["ico", "-[A-Za-z0-9]{32}"],
  // chat and mail
  ["xoxa|xoxb|xoxc|xoxd|xoxe|xoxo|xoxp|xoxr|xoxs|xoxx", "[-.][\\w.+/-]{14,}(?:%[0-9A-F]{2}[\\w.+/-]*)*"],
  ["xapp|xwfp", "-[\\w-]{20,}"],
  ["SG", "\\.[\\w-]{16,32}\\.[\\w-]{16,64}"],
  ["key", "-[0-9a-f]{32}"],
  ["xkeysib|xsmtpsib", "-[a-f0-9]{40,}(?:-[A-Za-z0-9]+)?"],
  ["re", "_[A-Za-z0-9]{6,}_[A-Za-z0-9]{16,}"],
  // payment
  ["sk|rk", "_(?:live|test|prod)_[A-Za-z0-9]{10,}"],
  ["sk", "_[a-f0-9]{40,}"],
  ["whsec", "_[A-Za-z0-9+/]{24,}={0,2}"],
  ["sq0atp|sq0csp|sq0idp", "-[\\w-]{22,}"],
  ["access", "_token\\$(?:production|sandbox)\\$[a-z0-9]{10,}\\$[a-f0-9]{20,}"],
  ["access", "-(?:sandbox|development|production)-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"],
  ["rzp", "_(?:live|test)_[A-Za-z0-9]{14,}"],
  ["shpat|shpca|shppa|shpss", "_[a-fA-F0-9]{32}"],
  ["FLWSECK", "(?:_TEST)?-[A-Za-z0-9]{12,}(?:-X)?"],
  // tools
  ["lin", "_(?:api|oauth)_[A-Za-z0-9]{30,}"],
  ["secret|ntn", "_[A-Za-z0-9]{40,}"],
  ["figd|figo", "_[\\w-]{30,}"],
  ["tfp", "_[\\w-]{40,}"],
  ["sl", "\\.[\\w-]{40,}"],
  ["fio", "-u-[\\w-]{60,}={0,2}"],
  ["CFPAT", "-[\\w-]{40,}"],
  ["ops", "_eyJ[A-Za-z0-9+/]{100,}={0,2}"],
  ["AGE", "-SECRET-KEY-1[A-Z0-9]{50,}"],
  ["age", "-secret-key-1[a-z0-9]{50,}"],
  ["duffel", "_(?:live|test)_[\\w-]{40,}"],
  ["shippo", "_(?:live|test)_[a-f0-9]{40}"],
  // formats without a fixed word
  ["#telegram", ":AA[\\w-]{30,}"],
  ["#discord", "\\.[\\w-]{6,7}\\.[\\w-]{27,}"],
  ["#airtable", "\\.[a-f0-9]{64}"],
  ["#terraform", "\\.atlasv1\\.[\\w-]{60,}"],
  ["#azure", "~[\\w.~-]{31,}"],
]

/** Tokens without a separator, by their first character. */
const plainRules = (): Readonly<Record<string, readonly string[]>> => ({
  A: [
    "A(?:KIA|SIA|BIA|CCA|3T[A-Z0-9])[A-Z0-9]{16}(?![A-Za-z0-9])",
    "ABSK[A-Za-z0-9+/]{60,}={0,2}",
    "AIza[\\w-]{35}",
    "AKID[A-Za-z0-9]{32}(?![A-Za-z0-9])",
    "AKCp[A-Za-z0-9]{40,}",
    "AT(?:ATT3|CTT3)[\\w-]{60,}(?:=[0-9A-F]{8})?",
    "ATBB[A-Za-z0-9]{24,}",
    "AAAA[\\w-]{7}:[\\w-]{100,}",
    "AC[0-9a-f]{32}(?![A-Za-z0-9])",
  ],
  E: ["(?<![+/])EAAA[\\w-]{56,}", "(?<![+/])EAA[A-Z][A-Za-z0-9]{60,}", "EZ[AT]K[A-Za-z0-9]{54,}"],
  G: ["GR1348941[\\w-]{20,}"],
  L: ["LTAI[A-Za-z0-9]{16,26}(?![A-Za-z0-9])"],
  B: ["BBDC-[A-Za-z0-9+/_-]{40,}"],
  S: ["SK[0-9a-f]{32}(?![A-Za-z0-9])"],
})

/** Tokens that begin with a rare sequence of letters, which is searched for directly. */
export const LITERALS: Readonly<Record<string, readonly string[]>> = {
  eyJ: [
    "eyJ[\\w-]{8,}\\.eyJ[\\w-]{8,}\\.[\\w-]*",
    "eyJ[\\w-]{8,}\\.[\\w-]*\\.[\\w-]{8,}\\.[\\w-]{8,}\\.[\\w-]{8,}",
  ],
  dapi: ["dapi[a-f0-9]{32}(?:-\\d)?"],
  oy2: ["oy2[a-z0-9]{43}(?![A-Za-z0-9])"],
  cio: ["cio[A-Za-z0-9]{32}(?![A-Za-z0-9])"],
}

let plain: ReturnType<typeof plainRules> | undefined
let compiled: Map<string, RegExp> | undefined

function end(pattern: string, text: string, start: number): number {
  compiled ??= new Map()
  let regex = compiled.get(pattern)
  if (regex === undefined) {
    regex = new RegExp(pattern, "y")
    compiled.set(pattern, regex)
  }
  regex.lastIndex = start
  return regex.test(text) ? regex.lastIndex : -1
}

export const isAlphanumeric = (code: number): boolean =>
  (code > 47 && code < 58) || (code > 64 && code < 91) || (code > 96 && code < 123)

/**
 * Every word in the table. Most candidates end differently, or do not begin as in BEGINNINGS. Then no function is
 * called and the tables are not even built: calling ten functions for the first time costs a hook as much as reading 20
 * KB.
 */
export const WORDS =
  " AGE CCIPAT CCIPRJ CFPAT CLOJARS FLWSECK GOCSPX HRKU NRAK NRII NRIQ NRJS PMAK access age amzn api bedrock bkua csk dckr doo dop dor dt0c01 duffel figd figo fio fm1 fm2 fo1 frp gho ghp ghr ghs ghu github glagent glc glcbt gldt glffct glft glimt gloas glpat glptt glrt glsa glsoat glwt gsk hvb hvr hvs ico jina key lin lsv2 mob nfp npm ntn nvapi ops pcsk phc phx pnu pplx pscale pul pypi rdme rnd rubygems rzp sbp sdk secret shippo shpat shpca shppa shpss sntrys sntryu sq0atp sq0csp sq0idp sqa sqp squ tfp tgp tskey tvly vca vci vck vcp vercel whsec xai xapp xkeysib xoxa xoxb xoxc xoxd xoxe xoxo xoxp xoxr xoxs xoxx xsmtpsib xwfp ya29 "
export const SHORT_WORDS = " SG dp fw hf r8 re rk sb sk sl tk v1 "

/** The first three characters of tokens without a separator. */
export const BEGINNINGS = " AKI ASI ABI ACC A3T ABS AIz AKC ATA ATC ATB AAA EAA EZA EZT GR1 LTA BBD "

let byWord: Map<string, string[]> | undefined

function restsOf(known: string): readonly string[] | undefined {
  const word = WORDS.includes(` ${known} `) || SHORT_WORDS.includes(` ${known} `) ? known : kindOf(known)
  if (word === "") return undefined
  if (byWord === undefined) {
    byWord = new Map()
    for (const [words, rest] of separatedRules()) {
      for (const one of words.split("|")) {
        const known = byWord.get(one)
        if (known === undefined) byWord.set(one, [rest])
        else known.push(rest)
      }
    }
  }
  return byWord.get(word)
}

/** Formats whose word is a number or random. */
function kindOf(word: string): string {
  const { length } = word
  if (length < 5) return ""
  if (length === 5) return /[78]Q$/.test(word) ? "#azure" : ""
  if (length === 14) return "#terraform"
  if (length === 17) return word.startsWith("pat") ? "#airtable" : ""
  if (length > 7 && length < 11 && /^\d+$/.test(word)) return "#telegram"
  return length >= 23 && /^[MNO][DTjz]/.test(word) ? "#discord" : ""
}

/**
 * Where the token ends that has this word before its separator.
 *
 * @param at index of the separator
 * @returns -1 when there is no token
 */
export function separatedEnd(text: string, word: string, at: number): number {
  for (const rest of restsOf(word) ?? []) {
    const found = end(rest, text, at)
    if (found >= 0) return found
  }
  return -1
}

/** Where the token without a separator that begins at `start` ends; -1 when there is none. */
export function plainEnd(text: string, start: number, literal?: string): number {
  plain ??= plainRules()
  for (const pattern of (literal === undefined ? plain[text[start]!] : LITERALS[literal]) ?? []) {
    const found = end(pattern, text, start)
    if (found >= 0) return found
  }
  return -1
}

/** Every rule as one expression per word, so that tests miss none. */
export const tokenRules = (): string[] => [
  ...separatedRules().flatMap(([words, rest]) => words.split("|").map((word) => word + rest)),
  ...Object.values(plainRules()).flat(),
  ...Object.values(LITERALS).flat(),
]
