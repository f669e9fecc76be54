/**
 * What a terminal sends when keys are pressed: letters, control characters, escape sequences, pasted text, the mouse
 * (xterm's control sequences; SGR coordinates). Pure.
 */

/** A mouse's button or wheel; places count from 0. */
export interface MouseInput {
  readonly kind: "mouse"
  readonly action: "press" | "wheel-up" | "wheel-down"
  readonly column: number
  readonly row: number
}

export type KeyInput =
  /** Typed or pasted, without control characters. */
  | { readonly kind: "text"; readonly text: string }
  /** A key by its name: `enter`, `ctrl-y`, `alt-b`, `shift-up`. */
  | { readonly kind: "key"; readonly name: string }
  | MouseInput

const FINALS: Readonly<Record<string, string>> = {
  ...{ A: "up", B: "down", C: "right", D: "left", H: "home", F: "end", Z: "shift-tab" },
  ...{ P: "f1", Q: "f2", R: "f3", S: "f4" },
}
/** Of sequences that end in `~`. */
const NUMBERS: Readonly<Record<string, string>> = {
  ...{ 1: "home", 2: "insert", 3: "delete", 4: "end", 5: "page-up", 6: "page-down", 7: "home", 8: "end" },
  ...{ 11: "f1", 12: "f2", 13: "f3", 14: "f4" },
}
const CONTROLS: Readonly<Record<string, string>> = {
  ...{ "\r": "enter", "\t": "tab", "\b": "backspace", "\x7f": "backspace", "\0": "ctrl-space" },
}

const ESC = "\x1b"
const PASTE_END = "\x1b[201~"
/** UTF-16 units of a paste that are kept, and after which an unfinished sequence is none. */
const LONGEST_PASTE = 10_000
const LONGEST_SEQUENCE = 64
const LONGEST_REPLY = 4096

const CSI = /\x1b\[(\[[A-E]|[<-?]?[\d;:]*[ -/]*[@-~])/y
const CSI_BEGUN = /^\x1b\[[0-?]*[ -/]*\[?$/
/** Replies of the terminal: OSC, DCS and the like, up to their end. */
const REPLY = /\x1b[\]P^_X][^\x07\x1b]*(?:\x07|\x1b\\)/y
const REPLY_BEGUN = /^\x1b[\]P^_X][^\x07\x1b]*\x1b?$/
const TEXT = /[^\x00-\x1f\x7f]+/y

/** Keeps what is not finished: a sequence may come in several reads. */
export class KeyDecoder {
  #rest = ""
  #pasted: string | undefined

  /** Whether an escape waits for what follows. A paste waits as long as it takes. */
  get isWaiting(): boolean {
    return this.#rest !== "" && this.#pasted === undefined
  }

  decode(text: string): KeyInput[] {
    this.#rest += text
    const keys: KeyInput[] = []
    while (this.#rest !== "" && this.#takeOne(keys)) {}
    return keys
  }

  /** Nothing more came: an escape alone, or with a letter, is a key. A sequence that has only begun is dropped. */
  flush(): KeyInput[] {
    const rest = this.#rest
    this.#rest = ""
    if (rest === ESC) return [{ kind: "key", name: "esc" }]
    return rest.length === 2 ? [{ kind: "key", name: altName(rest[1]!) }] : []
  }

  /** @returns false if more must come first */
  #takeOne(keys: KeyInput[]): boolean {
    if (this.#pasted !== undefined) return this.#takePasted(keys)
    const rest = this.#rest
    if (rest[0] !== ESC) {
      const text = matchAt(TEXT, rest)
      // C1 controls are no text either.
      const plain = text?.replace(/[\x80-\x9f]/g, "") ?? ""
      if (plain !== "") keys.push({ kind: "text", text: plain })
      if (text === undefined) keys.push({ kind: "key", name: controlName(rest[0]!) })
      return this.#drop(text?.length ?? 1)
    }
    const sequence = matchAt(CSI, rest)
    if (sequence !== undefined) {
      if (sequence === "\x1b[200~") this.#pasted = ""
      else keys.push(...keyOf(sequence.slice(2)))
      return this.#drop(sequence.length)
    }
    const reply = matchAt(REPLY, rest)
    if (reply !== undefined) return this.#drop(reply.length)
    if (REPLY_BEGUN.test(rest)) {
      if (rest.length > LONGEST_REPLY) return this.#drop(rest.length)
      return false
    }
    if (rest.length === 1 || (CSI_BEGUN.test(rest) && rest.length < LONGEST_SEQUENCE)) return false
    if (rest[1] === "O") {
      if (rest.length === 2) return false
      const name = FINALS[rest[2]!]
      if (name !== undefined) keys.push({ kind: "key", name })
      return this.#drop(3)
    }
    if (rest[1] === ESC) {
      keys.push({ kind: "key", name: "esc" })
      return this.#drop(1)
    }
    const letter = String.fromCodePoint(rest.codePointAt(1)!)
    keys.push({ kind: "key", name: altName(letter) })
    return this.#drop(1 + letter.length)
  }

  #takePasted(keys: KeyInput[]): boolean {
    const end = this.#rest.indexOf(PASTE_END)
    // The mark of the end may be split between two reads.
    const taken = end < 0 ? Math.max(0, this.#rest.length - PASTE_END.length) : end
    this.#pasted = (this.#pasted! + this.#rest.slice(0, taken)).slice(0, LONGEST_PASTE)
    if (end < 0) {
      this.#drop(taken)
      return false
    }
    const text = this.#pasted.replace(/[\x00-\x1f\x7f-\x9f]+/g, " ")
    if (text !== "") keys.push({ kind: "text", text })
    this.#pasted = undefined
    return this.#drop(end + PASTE_END.length)
  }

  #drop(length: number): true {
    this.#rest = this.#rest.slice(length)
    return true
  }
}

function matchAt(pattern: RegExp, text: string): string | undefined {
  pattern.lastIndex = 0
  return pattern.exec(text)?.[0]
}

const controlName = (unit: string): string =>
  CONTROLS[unit] ?? `ctrl-${String.fromCharCode(unit.charCodeAt(0) + 0x60)}`

const altName = (letter: string): string =>
  `alt-${letter < " " || letter === "\x7f" ? controlName(letter) : letter.toLowerCase()}`

/** @param body what follows `ESC [` */
function keyOf(body: string): KeyInput[] {
  const final = body.at(-1)!
  if (body[0] === "<" && (final === "M" || final === "m")) return mouseOf(body)
  // The Linux console's first function keys.
  if (body[0] === "[") return [{ kind: "key", name: `f${final.charCodeAt(0) - 0x40}` }]
  const [first = "", modifiers = ""] = body.slice(0, -1).split(";")
  const name = final === "~" ? NUMBERS[first] : FINALS[final]
  return name === undefined ? [] : [{ kind: "key", name: `${modifiersOf(modifiers)}${name}` }]
}

/** xterm's number: 1 and a bit each for Shift, Alt and Ctrl. */
function modifiersOf(number: string): string {
  const bits = Math.max(0, Number(number || 1) - 1)
  return `${bits & 4 ? "ctrl-" : ""}${bits & 2 ? "alt-" : ""}${bits & 1 ? "shift-" : ""}`
}

function mouseOf(body: string): MouseInput[] {
  const [button = 0, column = 1, row = 1] = body.slice(1, -1).split(";").map(Number)
  const place = { kind: "mouse", column: column - 1, row: row - 1 } as const
  if (button === 64) return [{ ...place, action: "wheel-up" }]
  if (button === 65) return [{ ...place, action: "wheel-down" }]
  return button === 0 && body.endsWith("M") ? [{ ...place, action: "press" }] : []
}
