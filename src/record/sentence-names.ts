/**
 * Which names of files and of code could be read as a sentence. Anybody may have named a file: what is given back to the
 * model without being asked for must not hold an order of theirs. Pure.
 *
 * The rule is about form, so it holds in any language: no more than a few words in a row. Words by which orders address
 * their reader lower that number. A name that is left out can still be found by a search.
 */

/** Words in a part of a path that has blanks, and in all such parts of a path. */
const SPACED_WORDS = 4
const ALL_SPACED_WORDS = 10
/** Words in a part without blanks: `0013-what-a-start-costs.md`, `test_that_a_user_can_sign_in`. */
const JOINED_WORDS = 9
/** In a folder that Claude Code calls after the path of another: `-home-me-code-kiln`. */
const PATH_WORDS = 16
const AFTER_PATH = /^-(?:home|Users|private|tmp|root|var|mnt|opt|srv|work)-|^[A-Z]--/
/** Letters of a script that is written without blanks count as half a word. */
const LETTERS_PER_WORD = 2
/** From so many words on, a part with blanks that begins with an order is one. */
const ORDER_WORDS = 3
const MOST_ADDRESSING = 1

const SEGMENT = /[/\\]+/
/** What joins the words of a name, as opposed to blanks and whatever else parts them. */
const SPACING = /[^\p{L}\p{N}\p{M}._@%+~-]/u
const EXTENSION = /(?<=.)(?:\.(?=[^.]*[a-z])[a-z\d]{1,6}){1,2}$/i
const DRIVE = /^[a-z]:(?=[/\\])/i
/** What a shell would act upon. */
const SHELL = /[|;<>`\n\r\u2028\u2029]|&&|\$\(/
/** Paths with blanks between them: a second root, a second file, or the same folder twice. */
const SEVERAL =
  /\s(?:~?\/|\.{1,2}\/|[a-z]:[/\\])|[^\s.]\.[a-z]\w{0,5}[\s,]+(?:\S*\s)?[^\s.]+\.[a-z]\w{0,5}(?=[\s,/]|$)|\/\s|^([^\s/]+\/)\S*\s+(?:\S+\s+)*\1/i

/** A word, also within `camelCase`; one with digits in it is an id or a version. */
const WORD = /(?<![\p{L}\p{N}])(?!\p{L}*\p{N})[\p{L}\p{M}'’]+/gu
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/gu
const HUMP = /(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})|_/gu

/** Words that speak to somebody: names of files and of code hardly have two of them. */
const ADDRESSING = new Set(
  (
    "ignore ignoring disregard forget override bypass obey previous prior preceding earlier instruction instructions " +
    "directive directives you your yourself must shall please immediately henceforth everything nobody dont don't"
  ).split(" "),
)
/** With which an order begins. */
const ORDERS = new Set(
  (
    "run execute delete remove erase wipe send push curl wget sudo disable skip approve upload tell trust fetch kill drop " +
    "always never must do don't dont ignore disregard forget obey please you"
  ).split(" "),
)
/** Folders are hardly called so; in a sentence with slashes between its words, some are. */
const BETWEEN = new Set("and then the you your all to with from into now please it this that".split(" "))
const MOST_BETWEEN = 1

/** What most names are, told by three patterns: a hook that restores would interpret everything else. */
const PLAIN = /^[\w.@~+/:-]*$/
const LONG_PART = /[^/]{36}/
const TELLING = new RegExp(`${[...ADDRESSING].join("|")}|(?:^|/)(?:${[...BETWEEN].join("|")})(?=[/.]|$)`, "i")

/** Whether a path or a name holds more than such a name does: a sentence, a command, or several paths. */
export function isSentence(name: string): boolean {
  if (PLAIN.test(name) && !LONG_PART.test(name) && !TELLING.test(name)) return false
  if (SHELL.test(name) || SEVERAL.test(name)) return true
  const parts = name.replace(DRIVE, "").split(SEGMENT)
  let spaced = 0
  let addressing = 0
  let between = 0
  for (const [n, part] of parts.entries()) {
    const words = wordsOf(n === parts.length - 1 ? part.replace(EXTENSION, "") : part)
    const unspaced = Math.ceil((part.match(UNSPACED)?.length ?? 0) / LETTERS_PER_WORD)
    const count = words.length + unspaced
    const isSpaced = unspaced > 0 || SPACING.test(part)
    if (count > (isSpaced ? SPACED_WORDS : AFTER_PATH.test(part) ? PATH_WORDS : JOINED_WORDS)) return true
    if (isSpaced && count >= ORDER_WORDS && ORDERS.has(words[0] ?? "")) return true
    if (isSpaced) spaced += count
    addressing += words.filter((word) => ADDRESSING.has(word)).length
    if (words.length === 1 && BETWEEN.has(words[0]!)) between++
  }
  return spaced > ALL_SPACED_WORDS || addressing > MOST_ADDRESSING || between > MOST_BETWEEN
}

/** In lower case. Letters of scripts without blanks are counted by themselves. */
const wordsOf = (part: string): string[] =>
  (part.replace(UNSPACED, " ").replace(HUMP, " ").match(WORD) ?? []).map((word) => word.toLowerCase())

/** A word of a command, with what is quoted in it, also if the quotation was cut off; or what ends a command. */
const TOKEN = /[;|&\n()]+|(?:"(?:[^"\\]|\\.)*(?:"|$)|'[^']*(?:'|$)|\\[^\n]|[^\s"'\\;|&()])+/g
/** Programs whose words are files, whatever they look like. */
const OF_FILES =
  /^(?:cat|head|tail|less|more|bat|ls|tree|cd|pushd|cp|mv|rm|rmdir|mkdir|touch|ln|stat|file|wc|chmod|chown|source|\.|open|code|vi|vim|nvim|nano|emacs|du|diff|sort|uniq|cut|tar|zip|unzip|sha256sum|md5sum|bash|sh|zsh|node|bun|deno|python3?|ruby|perl)$/
/** Options whose value is somebody's own words, or a program. */
const OF_WORDS =
  /^(?:-[a-zA-Z]*[mcetbFd]|--(?:message|body|title|notes|command|eval|execute|data|grep|author|arg|jq))$/
const UNQUOTED = /[^\p{L}\p{N}\p{M}._@%+~/-]+/gu
const LEFT_OUT = "…"

/** A command without the paths in it that could be read as a sentence. */
export function withoutSentences(command: string): string {
  let program = ""
  let before = ""
  return command.replace(TOKEN, (token) => {
    const plain = token.replace(/^(?:--?[\w-]+=|\w+=|\d*[<>]+)/, "").replace(/\\(.)|["']/g, "$1")
    const former = before
    before = token
    if (/^[;|&\n()]/.test(token)) {
      program = ""
      return token
    }
    if (program === "") {
      if (!/^\w+=/.test(token)) program = plain.slice(plain.lastIndexOf("/") + 1)
      return token
    }
    if (token.startsWith("-") && !token.includes("=")) return token
    if (OF_WORDS.test(former)) return token
    const isFile = /^[^\s]*\//.test(plain) || EXTENSION.test(plain) || OF_FILES.test(program)
    if (!isFile || /:\/\/|\n/.test(plain)) return token
    // Outside quotation marks, what a shell acts upon is no part of a name.
    const name = /["'\\]/.test(token) ? plain : plain.replace(UNQUOTED, "/")
    return isSentence(name) ? LEFT_OUT : token
  })
}

/** `cat: FILE: No such file or directory`, and what stands in quotation marks. */
const COMPLAINT = /(?<=^(?:[\w./-]+: ){1,2}(?:line \d+: )?)[^:"'‘`]+(?=: [A-Z][a-z]+(?: [a-z]+){0,5}\.?$)/
const MENTIONED = /(["'`‘])([^"'`‘’]{12,}?)(["'`’])/g

/** An error line without the paths in it that could be read as a sentence. */
export const withoutNamedSentences = (line: string): string =>
  line
    .replace(COMPLAINT, (file) => (isSentence(file) ? LEFT_OUT : file))
    .replace(MENTIONED, (all, open: string, name: string, close: string) =>
      (name.includes("/") || EXTENSION.test(name)) && isSentence(name) ? open + LEFT_OUT + close : all,
    )
