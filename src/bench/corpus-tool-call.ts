/** Tool calls for the corpus, each with the two forms of its result that the host keeps. */
import { capital, FILE_LINES, type Project } from "./corpus-project.ts"
import { type Dice, quantiles } from "./seeded-random.ts"

/** Characters of a result. */
const RESULT = quantiles("0 16, 0.25 240, 0.5 900, 0.75 2300, 0.9 5500, 0.99 26000, 0.9985 70000, 1 400000")
/** Characters of a command. */
const INPUT = quantiles("0 18, 0.25 90, 0.5 190, 0.75 420, 0.9 1200, 1 6000")

export interface Call {
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
