/** Where the fixed sequences of characters stand that the filter looks for. Pure. */

export interface SequencePlaces {
  /** Where each occurrence of the sequence begins, in order. Sequences are those of the lists that sweep.ts names. */
  places(sequence: string): readonly number[]
  /** Calls `examine` with start and end of each match of the gate for words; it returns where to look for the next. */
  eachWord(examine: (start: number, end: number) => number): void
}

/** @param bytes what `text` was made from, one character per byte */
export type Seek = (bytes: Buffer, text: string) => SequencePlaces

/**
 * @param isValue whether it is a password, key or token by itself, in plain text, rather than something that holds or
 * surrounds one
 */
export type AddSpan = (start: number, end: number, isValue?: boolean) => void

/** What separates the sequences of a list. */
export const BETWEEN = "|"

/**
 * Calls `use` with each sequence of a list, which is one string: the engine would take a block of 16 kB for arrays of
 * each length (docs/adr/0013).
 */
export function eachIn(list: string, use: (sequence: string) => void): void {
  for (let from = 0; from < list.length; ) {
    const end = list.indexOf(BETWEEN, from)
    const to = end < 0 ? list.length : end
    use(list.slice(from, to))
    from = to + 1
  }
}

const NONE: readonly number[] = []
let gate: RegExp | undefined

/** Looks for each sequence by itself, which needs no preparation. Searching bytes is five times as fast as text. */
export const seekEach: Seek = (bytes, text) => ({
  places(sequence) {
    let at = bytes.indexOf(sequence, 0, "latin1")
    if (at < 0) return NONE
    const found: number[] = []
    for (; at >= 0; at = bytes.indexOf(sequence, at + 1, "latin1")) found.push(at)
    return found
  },
  eachWord(examine) {
    gate ??= wordGate()
    gate.lastIndex = 0
    for (let match = gate.exec(text); match !== null; match = gate.exec(text))
      gate.lastIndex = examine(match.index, gate.lastIndex)
  },
})

/**
 * What introduces secrets, with one character per byte of UTF-8: words at the end of names, options and headers, words
 * of sentences, addresses. Hooks search for these; what stands behind them is examined by files that load late
 * (rules.ts). Pure.
 */

/*
 * What introduces secrets, with one character per byte of UTF-8: words at the end of names, options and headers, words
 * of sentences, addresses. Hooks search for these; what stands behind them is examined by files that load late
 * (rules.ts).
 */

/** Finds words for secrets at the end of a name, before what may join them to a value, which joint.ts examines. */
export const wordGate = (): RegExp =>
  /(?:pass(?:w(?:or)?[dt]|phrase|code|e|(?=[\\"'`\]]{0,8} {0,24}(?:[:=>,"']|\\{1,7}["']|--[bv])| encoding)|[_.-]?(?:prod|dev|stag|live)|(?<=(?:require|store|key|_|-)pass)(?=[ \\\n]))|(?:p(?:in|sk)|s(?:alt|eed))(?=[\\"'`\]]{0,8} {0,24}(?:[:=>,<"']|--[bv]|words)|[\s\\n"',]{1,16}value| \\{0,7}["']?(?=\S{0,32}\d))|pwd?(?![^\w/]{1,20}\/)|secret|token|key(?:base|string|private)?|auth(?:orization|z|tok|.?code)?|ap(?:i.?hash|p.?(?:id|certificate))|c(?:red(?:ential)?s?|ookie)|kennwort|jwt|pat|(?:session(?:id)?|sid|sig(?:nature)?)(?==))(?![a-z])(?:[_-][\w-]{0,20}|\.(?:base|private)(?![\w.]))?[\\"'`[\]}*]{0,14}(?:[\s:=>,|?(<{!\xe2-\xefnt]|\) ?[?|o,.]|\.[\n\\]|$)/gi

// Lists of sequences are strings with `|` between them: eachIn says why.

/** Parts of words, rare elsewhere and with a rare pair of letters, of commands, headers and statements that take a secret without a name. */
export const INTRODUCTIONS =
  "earer |asic |-u |--user |--pass|sshpass|mysql|mongosh|mongodump|ogin|OGIN|eporter|EPORTER|lave|enha|redis-cli|htpasswd|net use |SecureString|DENTIFIED BY |dentified by |:5432:|*:*:|mariadb|ssh-keygen|nssl|--from-literal|-u\"|-u\\|-u'|--user\"|--user\\|--user'|--user=|WIFI:|ifi:|mnemonic|Mnemonic|MNEMONIC|hrase|HRASE|BIP39"

type OneOf<List extends string> = List extends `${infer First}|${infer Rest}` ? First | OneOf<Rest> : List
export type Introduction = OneOf<typeof INTRODUCTIONS>

/** What takes the password that an `echo` before it prints. */
export const ECHOED = "--password-stdin|sudo -S|--passphrase-fd"

/** What a third of the formats' middles (dist/formats/anchors.js) begin with. */
export const PLUS = "+A"

/** What introduces a secret in an address, keys in blocks, and the manifest of a secret. */
export const OTHERS = ["://", "PRIVATE", "Private-", "kty", "Secret"] as const

/**
 * Words for passwords and for keys in languages that have none of the gate's. Stems, since the languages inflect, with
 * one character per byte, as the text has, and without the first letter, which may be a capital.
 */
export const SPOKEN = {
  // арол, АРОЛ, ontraseña, 密码, 密碼, 口令, パスワード
  passwords:
    "\xd0\xb0\xd1\x80\xd0\xbe\xd0\xbb|\xd0\x90\xd0\xa0\xd0\x9e\xd0\x9b|ontrase\xc3\xb1a|\xe5\xaf\x86\xe7\xa0\x81|\xe5\xaf\x86\xe7\xa2\xbc|\xe5\x8f\xa3\xe4\xbb\xa4|\xe3\x83\x91\xe3\x82\xb9\xe3\x83\xaf\xe3\x83\xbc\xe3\x83\x89",
  // окен, люч, chlüssel, 密钥, 令牌, トークン
  keys: "\xd0\xbe\xd0\xba\xd0\xb5\xd0\xbd|\xd0\xbb\xd1\x8e\xd1\x87|chl\xc3\xbcssel|\xe5\xaf\x86\xe9\x92\xa5|\xe4\xbb\xa4\xe7\x89\x8c|\xe3\x83\x88\xe3\x83\xbc\xe3\x82\xaf\xe3\x83\xb3",
} as const
