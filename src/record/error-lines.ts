/**
 * Finds lines of output that name an error. Goes by their shape, since files, logs and listings mention errors as well.
 * Pure. docs/measurements/restore.md tells how often this is right.
 */

// Words with which programs name errors, in many languages. Sources of case-insensitive regular expressions.

/** Labels of messages, followed by a colon. */
const ERROR_WORD =
  "(?:fatal|panic|error|err!|failure|failed|critical|exception|fehler|schwerwiegend|schwerer fehler|erreur|échec|hata|erro|errore|fallo|fout|ошибка|сбой|错误|錯誤|失败|失敗|异常|例外|エラー|오류|실패)"

/** What systems say about a file, a command or a host, after its name and a colon. */
const SYSTEM = [
  "no such (?:file or directory|table|column|host|service|image|process)",
  "(?:command )?not found",
  "permission denied",
  "access denied",
  "is a directory",
  "not a directory",
  "file exists",
  "operation not permitted",
  "no space left on device",
  "connection (?:refused|reset by peer|timed out)",
  "(?:operation|request|command) timed out",
  "address already in use",
  "(?:device|resource) busy",
  "directory not empty",
  "too many open files",
  "broken pipe",
  "exec format error",
  "name or service not known",
  "could not resolve host",
  "segmentation fault",
  "undefined reference to",
  "undefined:",
  "invalid (?:value|argument|option|syntax|reference)",
  "cannot find (?:symbol|package|module|name)",
  "Datei oder Verzeichnis nicht gefunden",
  "(?:Kommando|Befehl) nicht gefunden",
  "Keine Berechtigung",
  "No existe el (?:archivo|fichero) o el directorio",
  "(?:orden|comando) no encontrad[ao]",
  "Permiso denegado",
  "Aucun fichier ou dossier de ce (?:type|nom)",
  "commande introuvable",
  "Permission non accordée",
  "Нет такого файла или каталога",
  "команда не найдена",
  "Отказано в доступе",
  "Böyle bir dosya ya da dizin yok",
  "komut bulunamadı",
  "没有那个文件或目录",
  "未找到命令",
  "权限不够",
  "そのようなファイルやディレクトリはありません",
  "コマンドが見つかりません",
  "그런 파일이나 디렉터리가 없습니다",
].join("|")

const LOOKED_AT = 20_000
const SHORTEST = 8
const LONGEST = 200
const MOST = 24

/** Words before a message that give its program and place: `ls: `, `src/a.ts:3:5: `, `a.cs(3,5): `, `line 4: `. */
const PLACE = String.raw`(?:(?:line |sh: )?(?:[A-Za-z]:\\)?[^\s:,;"'${"`"}{}<>=|]+(?:\(\d+(?:,\d+)?\))?(?::\d+){0,2}(?: ?:| -)\s){0,3}`
/** What precedes them when a test, a tool or a log draws a frame. */
const FRAME = /^(?:[│|├╰└─▶►>•\s]+(?=\S)|E +(?=\S))/u

/** A line of any of these shapes names an error, whichever program prints it. */
const SHAPES: readonly RegExp[] = [
  // `error: …`, `fatal: …`, `error[E0308]: …`, `error CS0117: …`, `Assert.Equal() Failure: …`, `错误：…`
  new RegExp(
    String.raw`^${PLACE}(?:\*{3} )?\[?(?:(?:[\w.]+\(\)|\p{L}{2,20}) ){0,2}${ERROR_WORD}(?:\[[\w-]+\]|\]| [A-Z]{0,4}\d+| \([^()]{1,40}\))*\s?[:：]\s?[^\s=].{3}`,
    "iu",
  ),
  // `TypeError: …`, `a.b.SomeException: …`, `Caused by: …`, `Error [ERR_X]: …`, `Exception in thread "main" …`
  new RegExp(
    String.raw`^${PLACE}(?:Caused by: )?(?:Uncaught (?:\(in promise\) )?|Unhandled |Exception in thread "[^"]+" )?(?:[\w$-]+[./:]{1,2})*[A-Z]\w*(?:Error|Exception)(?: \[\w+\])?: [^\s=].{2}`,
  ),
  /^\*\* \(\w[\w.]*\) \S/,
  /^\S.* \((?:\w+::)*[A-Z]\w*(?:Error|Exception)\)$/,
  // Levels of logs and tools: `ERROR …`, `mise ERROR …`, `npm ERR! …`
  /^(?:[\w.-]+ |\[[^\]]{1,30}\] ){0,2}\[?(?:ERROR|FATAL|CRITICAL|SEVERE|PANIC|ERR!)(?:\]|:|!)?(?: in | -)? *[\p{L}'"(./\d[][^=]{4}/u,
  /^npm error \S/,
  /^(?:An )?[Ee]rror (?:response from|from server|occurred|in prepare)\b.{5}/,
  // Tests: pytest, Go, Bun, TAP, cargo, xUnit, Jest, and runners that print a cross
  /^(?:FAIL(?:ED|URE)?|--- FAIL):? +\S{3}/,
  /^\(fail\) \S/,
  /^not ok \d+ \S/,
  /^test \S+ \.\.\. FAILED$/,
  /^\S.* \[FAIL\]$/,
  /^● \S.* › \S/,
  /^[✗✘✖×❌]\uFE0F? \S{2}/u,
  // Messages of the system, after the name of a command, file or host and a colon
  new RegExp(`^.{2,200}: (?:${SYSTEM})`, "iu"),
  /^\(eval\):\S* \S/,
  /^[\w.@/-]+ (?:command )?not found$/,
  // Sentences of tools
  new RegExp(
    String.raw`^"?${PLACE}(?:\(\d+\) )?(?:Failed to|Could not|Couldn['’]t|Cannot|Can['’]t|Unable to|Command timed out|Segmentation fault|Host key verification failed|Permission denied|Connection refused)\b.{3}`,
  ),
  /^[\w.@+-]+: (?:(?:[\w-]+ ){0,3}(?:failed|refused|denied|rejected)\b|failed to|could not|couldn['’]t|cannot|can['’]t|unable to|unknown|unrecogni[sz]ed|invalid|unexpected|missing|illegal|no such)\b.{3}/i,
  /^CONFLICT \(/,
  /^! \[(?:remote )?rejected\]/,
  /^make(?:\[\d+\])?: \*\*\* /,
  /^thread '[^']*' (?:\(\d+\) )?panicked at /,
  /^terminate called after /,
  /^HTTP(?:\/[\d.]+)? [45]\d\d\b/,
]

/** Every line of these shapes has one of these words or letters beyond ASCII. Hardly any other line does. */
const HINT =
  /err|fail|fatal|panic|xcept|annot|can't|could|unable|no such|not |found|denied|refused|rejected|timed out|invalid|unknown|unrecogni|unexpected|missing|illegal|directory|exists|busy|permi|broken|reset by|space left|address already|too many|undefined|severe|critical|traceback|terminate|segmentation|conflict|http|\*\* |nicht|keine|schwerwie|fehler|existe|encontrad|aucun|introuvable|hata|fallo|fout|dizin yok/i
const BEYOND_ASCII = /[^\x00-\x7f]/

/** More shapes for failed calls: findings of linters and compilers that do not give their own name. */
const FAILED_SHAPES: readonly RegExp[] = [
  /^\S+\.\w{1,6}:\d+:\d+:? \S/,
  /^\d+:\d+ +error +\S/,
  /^[A-Z]{1,4}\d{3,4} (?:\[\*\] )?[A-Z`]\S* \S/,
]

/** `path::test FAILED [ 83%]`: the end of the output names the same test, in reverse order. */
const TEST_LAST = /^(\S+::\S+) FAILED(?: \[ *\d+%\])?$/
/** Printed before or beside the error itself, and meaningless alone. */
const HEADING =
  /^(?:Traceback \(most recent call last\)|The above exception was|During handling of the above|\S+ ERROR (?:Run with|Version:|For more)|For (?:further|more) information)|^(?:##)?\[error\]\s?Process completed with exit code|\bA complete log of this run\b/i
const TRACEBACK = /^(\s*)Traceback \(most recent call last\):$/
/** `a.b.Name: message`, `KeyboardInterrupt` */
const THROWN = /^(?:\w+\.)*[A-Z]\w*(?:$|: )/
/** A count of zero, which mentions errors nevertheless; the type or value of a field; a warning. */
const NONE =
  /\b(?:0|no) (?:errors?|fail)|\b(?:errors?|fail\w*)["']? ?[=:] ?(?:0|null|none|false|\[\])(?!\w)|^\S*(?:error|fail|exception)\w*["']? ?[=:] ?(?:true|string|str|bool(?:ean)?|number|int|any|unknown|object|list|dict|Error)\b *(?:$|[|=#,;[(<])|^(?:\S+ )?(?:warn(?:ing)?|note|hint|info)\b/i
const CODE =
  /[{};,\\]$|\($|^["'`].*["'`] *[+)]|^(?:if|else|return|raise|except|throw|catch|const|let|var|def|import|from|for|class|async|await|fn|func|pub|use|self|print|echo|grep|case)\b(?!:)|\w\((?:\w+=|["'`{[])/
/** Words that speak of errors. If no line of a failed call has a shape, the first with such a word is taken. */
const SPEAKS =
  /\b(?:errors?|fail(?:ed|ure|s)?|exception|panic(?:ked)?|fatal|cannot|can['’]t|could not|not found|denied|undefined|unexpected|invalid|no such|refused|timed out|unable|rejected|unknown|none of|must|required|not an?|does not|doesn't|did not|no [\w ]+ found)\b|未|不能|无法|できません|nicht|не /iu
/** Programs are brief: a line with more words is prose, as is a full sentence with half as many. */
const MOST_WORDS = 30
const SENTENCE = /^["“]?\p{Lu}.*\p{Ll}\.$/u
/** Lines that report or list: running tests, steps, changes, branches, commits, settings, searches. */
const REPORT =
  /^\w+ ?=|^[=~#*_+!-]{2,}|^[0-9a-f]{7,40} |^\d+[:\-\s]|^\d+%|^On branch |^Your branch |^[MADRCU?]{1,2} \S+$|^\S+:\S*[^\s\d:]*:|\.\.\.$|…$|^\S+$| \| +\d+ |\b(?:pass(?:ed|ing)?|pending|success(?:ful\w*)?|skipped|resolved|installed|downloaded)\b|^(?:WARN(?:ING)?|INFO|DEBUG|NOTE|usage|warning|hint|note)\b|https?:\/\/|^[-•]|^[bcdlps-][rwxst-]{9}|^["'`]|\w+\(|->|=>/i
/** A failed call with more lines of output had been working before it failed, so its first line tells nothing. */
const BRIEF = 3

/** What Claude Code puts around or before the output of a failed call, or in its place when a human refused. */
const HOST_TAG = /<\/?tool_use_error>/g
const STATUS = /^(?:Error: )?(Exit code -?\d{1,3})$/
const REFUSED = /^\s*The user (?:doesn't|does not) want to /
const ESCAPE = "\u001b"
const COLOURS = /\u001b\[[0-9;?]*[A-Za-z]|\u001b\]8;;[^\u0007\u001b]*(?:\u0007|\u001b\\)/g
/** Time of logging, preceded by job and step. */
const LOGGED =
  /^(?:[^\t]*\t[^\t]*\t|\s+)?\S*\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*\s+|^\s*\[[^\]]*\d\d:\d\d[:.]\d\d[^\]]*\]\s+/

/**
 * Lines of output that name an error, with white space folded, without colours and times.
 *
 * @param failed whether the call failed; if no line names an error, one that gives the reason is returned, if any
 */
export function errorLinesIn(output: string, failed = false): string[] {
  if (latest?.output !== output || latest.failed !== failed)
    latest = { output, failed, lines: linesNaming(output, failed) }
  return latest.lines
}

/** Output is looked at for a failure, then for what is to be remembered of it. */
let latest: { readonly output: string; readonly failed: boolean; readonly lines: string[] } | undefined

function linesNaming(output: string, failed: boolean): string[] {
  if (failed && REFUSED.test(output)) return []
  const found = new Set<string>()
  const lines = withoutColours(output.slice(0, LOOKED_AT).replace(HOST_TAG, "")).split("\n")
  let traced: string | undefined
  for (const raw of lines) {
    if (raw.length > 4 * LONGEST || found.size >= MOST) continue
    if (!failed && traced === undefined && !HINT.test(raw) && !BEYOND_ASCII.test(raw)) continue
    const line = cleaned(raw)
    const trace = TRACEBACK.exec(raw)?.[1]
    // The line that a traceback leads to is indented like its title, whatever it says.
    const isEnd =
      traced !== undefined && line !== "" && raw.startsWith(traced) && /^\S/.test(raw.slice(traced.length))
    if (isEnd || trace !== undefined) traced = trace
    if (line.length < SHORTEST || line.length > LONGEST || HEADING.test(line)) continue
    if ((isEnd && THROWN.test(line)) || namesError(line, failed))
      found.add(line.replace(TEST_LAST, "FAILED $1"))
  }
  if (found.size === 0 && failed) return reason(lines)
  return [...found]
}

/**
 * Output of a failed call from the line that names its error on; all of it if none does.
 *
 * @param named that line, if it is known
 */
export function fromError(output: string, named = errorLinesIn(output, true)[0]): string {
  if (named === undefined) return output
  const lines = output.split("\n")
  const word = named.slice(named.lastIndexOf(" ") + 1)
  const mayBe = (line: string): boolean => line.includes(word) || line.includes(ESCAPE)
  const at = lines.findIndex((line) => mayBe(line) && cleaned(withoutColours(line)).endsWith(named))
  return at < 0 ? named : lines.slice(at).join("\n")
}

/** How a failed command ended, in Claude Code's words: `Exit code 2`. */
export const exitStatusIn = (output: string): string | undefined =>
  STATUS.exec(output.slice(0, 40).split("\n", 1)[0]!.trim())?.[1]

export const withoutColours = (text: string): string =>
  text.includes(ESCAPE) ? text.replace(COLOURS, "") : text

function cleaned(raw: string): string {
  return raw.replace(LOGGED, "").replace(/\s+/g, " ").trim()
}

function namesError(line: string, failed: boolean): boolean {
  if (TEST_LAST.test(line)) return true
  const said = line.replace(FRAME, "").replace(/^(?:##)?\[error\]\s?/, "error: ")
  if (NONE.test(said) || CODE.test(said) || HEADING.test(said) || isProse(said)) return false
  return (
    SHAPES.some((shape) => shape.test(said)) || (failed && FAILED_SHAPES.some((shape) => shape.test(said)))
  )
}

/** Why a call failed whose output names no error. */
function reason(lines: readonly string[]): string[] {
  const all = lines.map(cleaned).filter((line) => line !== "")
  const isCommand = all[0] !== undefined && STATUS.test(all[0])
  const said = isCommand ? all.slice(1) : all
  const mayTell = (line: string): boolean =>
    line.length >= SHORTEST && line.length <= LONGEST && !HEADING.test(line)
  const isBrief = said.length <= BRIEF
  // Claude Code's own tools print nothing except the reason.
  if (isBrief && !isCommand) return said.slice(0, 1).filter(mayTell)
  const candidates = said.filter(
    (line) => mayTell(line) && !REPORT.test(line) && !CODE.test(line) && !NONE.test(line),
  )
  const speaking = candidates.find((line) => SPEAKS.test(line) && !isProse(line))
  const one = speaking ?? (isBrief ? candidates[0] : undefined)
  return one === undefined ? [] : [one]
}

function isProse(line: string): boolean {
  const words = line.split(" ").length
  return words > MOST_WORDS || (words > MOST_WORDS / 2 && SENTENCE.test(line))
}
