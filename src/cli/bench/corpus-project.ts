/** A made-up software project for the corpus: its names, files, prose, and what its commands print. */
import { type Dice, quantiles } from "./seeded-random.ts"

const FILE_LINES = quantiles("0 8, 0.25 45, 0.5 95, 0.75 190, 0.95 420, 1 900")

const words = (text: string): readonly string[] => text.trim().split(/\s+/)

/** Ordered by frequency; see `Dice.skewed`. */
const PROSE = words(`
the to a of and is in it that for this not with on as be from so are the by now which was an then only file
test line when one read if at but run all no same error before after call value more where because two still
there every first last does new function case already into has what makes each would cannot path since both
returns without them its write should fails between instead over check change other than once also build
second wrong while next passes add here time state names used keeps remove found type result right whole
again config looks default argument missing branch output exactly follow way left how set small expected
means request empty list part rather below directory across holds leave gives current process nothing reason
behaviour until own number rule another later limit under real order loop key string field even open point
size earlier through most buffer handler worker message session token queue stream lock cursor entry index
schema migration client server response header cache commit merge retry timeout deadline signal parser record
frame column table query row page chunk segment module import export package version release flag option
command shell script log trace stack warning snapshot fixture assertion coverage suite regression bug fix
race leak flush append rename truncate rewrite resume verify compare measure estimate compress decode encode
escape quote split join sort filter reduce collect validate normalise resolve connect close wait poll spawn
deliberately presumably currently probably quietly eagerly lazily twice neither either though whether despite
`)
const VERBS = words(`
read write parse load open close find list merge apply build check count create decode delete encode fetch
flush format get handle index insert join limit map match normalise parse pick queue rank rebuild record
reduce remove render replace report reset resolve restore resume retry run save scan send set sort split start
stop store stream sync track trim update validate verify wait walk watch wrap
`)
const NOUNS = words(`
entry file line path name value state config user session token queue stream lock cursor row page chunk
segment module package version option command log trace snapshot message header body request response cache
commit branch node edge graph tree leaf key index schema column table query result error reason limit budget
deadline timer clock buffer reader writer parser lexer scanner worker job task event handler hook filter rule
policy role account invoice order payment product cart price currency address region tenant project team
member invite role permission scope secret certificate digest signature checksum archive backup
`)
const AREAS = words("api auth billing cache cli core db events ingest jobs search storage sync ui util web")
const PACKAGES = words("node:fs node:path zod hono pino kysely undici vitest commander fast-glob yaml ws")

export const capital = (word: string): string => word[0]!.toUpperCase() + word.slice(1)

interface SourceFile {
  readonly path: string
  readonly language: string
  lines: string[]
}

/** A project of about sixty files. Tools read, search and edit it, so contents recur as they do in the field. */
export class Project {
  readonly root: string
  readonly files: SourceFile[] = []
  readonly #dice: Dice
  /** The names in this project. They make it compress like one project and not like a dictionary. */
  readonly #names: readonly string[]

  constructor(dice: Dice, root: string) {
    this.#dice = dice
    this.root = root
    const names: string[] = []
    for (let i = 0; i < 260; i++) names.push(dice.pick(VERBS) + capital(dice.pick(NOUNS)))
    this.#names = names
    for (let i = 0; i < 60; i++) this.files.push(this.#makeFile())
  }

  file(): SourceFile {
    return this.#dice.skewed(this.files)
  }

  name(): string {
    return this.#dice.skewed(this.#names)
  }

  #makeFile(): SourceFile {
    const d = this.#dice
    const language = d.pick(["ts", "ts", "ts", "ts", "py", "go", "md", "yaml", "json"])
    const folder = d.chance(0.3) ? "test" : "src"
    const path = `${this.root}/${folder}/${d.skewed(AREAS)}/${d.pick(NOUNS)}-${d.pick(VERBS)}.${language}`
    const file: SourceFile = { path, language, lines: [] }
    const count = d.sample(FILE_LINES)
    for (let i = 0; i < count; i++) file.lines.push(this.codeLine(language))
    return file
  }

  newFile(lines: number): SourceFile {
    const file = this.#makeFile()
    file.lines = file.lines.slice(0, Math.max(1, lines))
    this.files[this.#dice.between(0, this.files.length - 1)] = file
    return file
  }

  codeLine(language: string): string {
    const d = this.#dice
    const indent = "  ".repeat(d.between(0, 3))
    const noun = d.skewed(NOUNS)
    const other = d.skewed(NOUNS)
    if (d.chance(0.1)) return ""
    switch (language) {
      case "py":
        switch (d.between(0, 7)) {
          case 0:
            return `def ${d.skewed(VERBS)}_${noun}(self, ${other}: str, ${d.skewed(NOUNS)}: int = ${d.between(0, 99)}) -> None:`
          case 1:
            return `${indent}${noun} = self.${other}.${d.skewed(VERBS)}(${d.skewed(NOUNS)})`
          case 2:
            return `${indent}if ${noun} is None or len(${other}) == ${d.between(0, 9)}:`
          case 3:
            return `${indent}raise ValueError(f"${this.phrase(5)}: {${noun}}")`
          case 4:
            return `${indent}# ${capital(this.phrase(d.between(4, 11)))}.`
          case 5:
            return `${indent}for ${noun} in self.${other}s:`
          case 6:
            return `${indent}return {"${noun}": ${noun}, "${other}": self._${other}}`
          default:
            return `from .${noun}_${d.skewed(VERBS)} import ${capital(noun)}${capital(other)}`
        }
      case "go":
        switch (d.between(0, 5)) {
          case 0:
            return `func (s *${capital(noun)}Store) ${capital(d.skewed(VERBS))}${capital(other)}(ctx context.Context, id string) error {`
          case 1:
            return `\t${noun}, err := s.${this.name()}(ctx, ${other})`
          case 2:
            return "\tif err != nil {"
          case 3:
            return `\t\treturn nil, fmt.Errorf("${this.phrase(4)}: %w", err)`
          case 4:
            return `\t// ${capital(this.phrase(d.between(4, 11)))}.`
          default:
            return "\t}"
        }
      case "md":
        return d.chance(0.15) ? `## ${capital(this.phrase(4))}` : `${capital(this.phrase(d.between(9, 26)))}.`
      case "yaml":
        return d.chance(0.3)
          ? `${noun}:`
          : `${indent}${noun}_${other}: ${d.chance(0.5) ? d.between(1, 5000) : `"${this.name()}"`}`
      case "json":
        return `${indent}"${noun}${capital(other)}": ${d.chance(0.4) ? d.between(1, 90_000) : `"${this.phrase(2)}"`},`
      default:
        return indent + this.#typescript(noun, other)
    }
  }

  #typescript(noun: string, other: string): string {
    const d = this.#dice
    switch (d.between(0, 13)) {
      case 0:
        return `import { ${this.name()}, ${this.name()} } from "${d.chance(0.4) ? d.pick(PACKAGES) : `../${noun}/${other}.ts`}"`
      case 1:
        return `export async function ${this.name()}(${noun}: ${capital(noun)}, ${other}: string): Promise<${capital(other)}> {`
      case 2:
        return `const ${noun} = await this.${this.name()}(${other}, { ${d.skewed(NOUNS)}: ${d.between(1, 5000)} })`
      case 3:
        return `if (${noun} === undefined) return undefined`
      case 4:
        return `throw new ${capital(noun)}Error("${this.phrase(d.between(3, 7))}", { cause: error })`
      case 5:
        return `// ${capital(this.phrase(d.between(5, 14)))}.`
      case 6:
        return `for (const ${noun} of ${other}.${this.name()}()) {`
      case 7:
        return `${noun}.set(${other}.id, { ...${other}, ${d.skewed(NOUNS)}: ${d.skewed(NOUNS)}.length })`
      case 8:
        return `expect(${this.name()}(${noun})).toEqual(${d.chance(0.5) ? `"${other}"` : d.between(0, 400)})`
      case 9:
        return `test("${this.phrase(d.between(4, 9))}", async () => {`
      case 10:
        return `return ${noun}.map((${other}) => ${this.name()}(${other})).filter((x) => x !== ${d.skewed(NOUNS)})`
      case 11:
        return `readonly ${noun}${capital(other)}: ${d.pick(["string", "number", "boolean", `${capital(noun)}[]`])}`
      default:
        return d.pick(["}", "})", "} catch (error) {", "},", "} else {", ")"])
    }
  }

  phrase(count: number): string {
    let text = this.#dice.skewed(PROSE)
    for (let i = 1; i < count; i++) text += ` ${this.#dice.skewed(PROSE)}`
    return text
  }

  /** Sentences that contain names of the project. */
  prose(length: number): string {
    const d = this.#dice
    let text = ""
    while (text.length < length) {
      const sentence = capital(this.phrase(d.between(5, 18)))
      const name = d.chance(0.4)
        ? ` \`${d.chance(0.5) ? this.name() : this.file().path.slice(this.root.length + 1)}\``
        : ""
      text += `${sentence}${name}.${d.chance(0.15) ? "\n\n" : d.chance(0.1) ? "\n- " : " "}`
    }
    return text.slice(0, length)
  }

  /** What a command printed. */
  output(length: number): string {
    const d = this.#dice
    const style = d.between(0, 5)
    let file = this.file()
    let text = ""
    while (text.length < length) {
      if (d.chance(0.04)) file = this.file()
      const at = d.between(0, file.lines.length - 1)
      const relative = file.path.slice(this.root.length + 1)
      switch (style) {
        case 0:
          text += `${relative}:${at + 1}:${file.lines[at]}\n`
          break
        case 1:
          text += `(${d.chance(0.96) ? "pass" : "fail"}) ${relative} > ${this.phrase(d.between(4, 9))} [${d.between(0, 90)}.${d.between(10, 99)}ms]\n`
          break
        case 2:
          text += `${d.pick([" ", " ", " ", "+", "-"])}${file.lines[at]}\n`
          break
        case 3:
          text += `${d.hex(8)} ${this.phrase(d.between(4, 9))}\n`
          break
        case 4:
          text += `-rw-r--r-- 1 dev dev ${d.between(100, 90_000)} Mar ${d.between(1, 28)} ${d.between(10, 23)}:${d.between(10, 59)} ${relative}\n`
          break
        default:
          text += file.lines.slice(at, at + d.between(4, 20)).join("\n")
          text += "\n"
      }
    }
    return text.slice(0, length)
  }
}

/* Tool calls for the corpus, each with the two forms of its result that Claude Code keeps. */

/** Characters of a result. */
const RESULT = quantiles("0 16, 0.25 240, 0.5 900, 0.75 2300, 0.9 5500, 0.99 26000, 0.9985 70000, 1 400000")
/** Characters of a command. */
const INPUT = quantiles("0 18, 0.25 90, 0.5 190, 0.75 420, 0.9 1200, 1 6000")

interface Call {
  readonly id: string
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
  readonly content: string | readonly Record<string, unknown>[]
  readonly detail: unknown
  readonly failed?: boolean
}

/** One tool call and its answer; tools occur as often as they do in the field. */
export function makeCall(d: Dice, project: Project, room: number, largest: number): Call {
  const id = d.id("toolu")
  const size = Math.min(d.sample(RESULT), Math.floor(room / 2), largest)
  const file = project.file()
  const u = d.unit()
  if (u < 0.18) {
    const at = d.between(0, file.lines.length - 1)
    const count = d.between(1, 6)
    const before = file.lines.join("\n")
    const old = file.lines.slice(at, at + count)
    const fresh = Array.from({ length: d.between(1, 8) }, () => project.codeLine(file.language))
    if (d.chance(0.04)) {
      const content = "<tool_use_error>String to replace not found in file.</tool_use_error>"
      return {
        id,
        name: "Edit",
        input: { file_path: file.path, old_string: old.join("\n") },
        content,
        detail: "",
        failed: true,
      }
    }
    file.lines = [...file.lines.slice(0, at), ...fresh, ...file.lines.slice(at + count)]
    const input = {
      replace_all: false,
      file_path: file.path,
      old_string: old.join("\n"),
      new_string: fresh.join("\n"),
    }
    const lines = [...old.map((line) => `-${line}`), ...fresh.map((line) => `+${line}`)]
    const detail = {
      filePath: file.path,
      oldString: input.old_string,
      newString: input.new_string,
      originalFile: before.length < room && before.length <= largest ? before : null,
      structuredPatch: [
        { oldStart: at + 1, oldLines: old.length, newStart: at + 1, newLines: fresh.length, lines },
      ],
      userModified: false,
      replaceAll: false,
    }
    return {
      id,
      name: "Edit",
      input,
      content: `The file ${file.path} has been updated successfully.`,
      detail,
    }
  }
  if (u < 0.29) {
    if (size > 60_000 && d.chance(0.5)) return picture(d, project, id, size)
    // As many lines as make up the sampled size; if the file is shorter, its lines repeat.
    const numbered: string[] = []
    const plain: string[] = []
    for (let i = 0, length = 0; length < size; i++) {
      const line = file.lines[i % file.lines.length]!
      plain.push(line)
      numbered.push(`${i + 1}\t${line}`)
      length += line.length + 6
    }
    const detail = {
      type: "text",
      file: {
        filePath: file.path,
        content: plain.join("\n"),
        numLines: plain.length,
        startLine: 1,
        totalLines: Math.max(file.lines.length, plain.length),
      },
    }
    return { id, name: "Read", input: { file_path: file.path }, content: numbered.join("\n"), detail }
  }
  if (u < 0.34) {
    const fresh = project.newFile(Math.min(d.sample(FILE_LINES), Math.floor(size / 30)))
    const content = fresh.lines.join("\n")
    const detail = {
      type: "create",
      filePath: fresh.path,
      content,
      structuredPatch: [],
      originalFile: null,
    }
    const input = { file_path: fresh.path, content }
    return { id, name: "Write", input, content: `File created successfully at: ${fresh.path}`, detail }
  }
  if (u < 0.38) {
    const content = project.output(Math.min(size, 8_000))
    const filenames = content.split("\n").slice(0, 20)
    const input = { pattern: project.name(), path: project.root, output_mode: "content" }
    return {
      id,
      name: "Grep",
      input,
      content,
      detail: { mode: "content", numFiles: 0, filenames, content },
    }
  }
  if (u < 0.44) {
    const taskId = String(d.between(1, 30))
    const input = { taskId, status: d.pick(["in_progress", "completed"]) }
    const detail = { success: true, taskId, updatedFields: ["status"] }
    return { id, name: "TaskUpdate", input, content: `Updated task #${taskId} status`, detail }
  }
  const inputSize = Math.min(d.sample(INPUT), room)
  const command =
    inputSize < 120
      ? d.pick([
          `cd ${project.root} && git diff --stat`,
          `rg -n ${project.name()} src test`,
          `npm test -- ${file.path.slice(project.root.length + 1)}`,
          `sed -n '${d.between(1, 90)},${d.between(91, 300)}p' ${file.path}`,
        ])
      : `cat > /tmp/check.py <<'EOF'\n${project.output(inputSize)}\nEOF\npython3 /tmp/check.py`
  const input = { command, description: capital(project.phrase(5)) }
  const stdout = project.output(size)
  if (d.chance(0.06))
    return { id, name: "Bash", input, content: `Exit code 1\n${stdout}`, detail: "", failed: true }
  const detail = { stdout, stderr: "", interrupted: false, isImage: false, noOutputExpected: false }
  return { id, name: "Bash", input, content: stdout, detail }
}

function picture(d: Dice, project: Project, id: string, size: number): Call {
  const data = d.base64(size)
  const input = { file_path: `${project.root}/docs/screen-${d.between(1, 40)}.png` }
  const content = [{ type: "image", source: { type: "base64", data, media_type: "image/png" } }]
  const detail = {
    type: "image",
    file: { base64: "", type: "image/png", originalSize: Math.floor(size * 0.75) },
  }
  return { id, name: "Read", input, content, detail }
}
