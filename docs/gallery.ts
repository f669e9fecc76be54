/**
 * `bun docs/gallery.ts [NAME…]` makes the pictures of docs/gallery.md, after a build, from made-up sessions: what a
 * terminal shows as SVG, what a browser shows as PNG. Needs tmux, chromium and pngquant.
 */
import { mkdirSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import { FakeTranscript, type Step } from "../src/claude/fake/transcript.ts"
import { textDiff } from "../src/views/edit-diff.ts"
import { run } from "../test/support/binary.ts"
import { Browser } from "../test/support/browser.ts"
import { Machine } from "../test/support/machine.ts"
import { runAtTerminal } from "../test/support/terminal.ts"
import { writeSessions } from "./made-up-sessions.ts"
import { svgOf } from "./terminal-svg.ts"

const ROOT = join(import.meta.dir, "..")
const PICTURES = join(ROOT, "docs/images/gallery")
const exe = join(ROOT, "dist/ctxbridge")
const HOUR = 3_600_000
const COLUMNS = 96

const SESSION = "5e551019-0000-4000-8000-000000000001"
const FILE = "src/rate-limit.ts"
const STATES = [
  "export interface Bucket {\n  tokens: number\n  filled: number\n}\n\nexport const allowed = (bucket: Bucket): boolean => bucket.tokens >= 0\n",
  "export interface Bucket {\n  tokens: number\n  filled: number\n}\n\n/** Five tries a minute. */\nexport const LIMIT = 5\n\nexport const allowed = (bucket: Bucket): boolean => bucket.tokens >= 0\n",
  "export interface Bucket {\n  tokens: number\n  filled: number\n}\n\n/** Five tries a minute. */\nexport const LIMIT = 5\n\nexport const allowed = (bucket: Bucket): boolean => bucket.tokens >= 1\n",
] as const

const SUMMARY =
  "A rate limiter for the login endpoint of a link shortener was written in src/rate-limit.ts and wired into src/server.ts."

/** With what Claude Code notes of a write and of an edit, which proves a file's states. */
function changed(path: string, before: string | null, content: string): Step {
  const told = { filePath: path, content, userModified: false, originalFile: before }
  if (before === null) {
    const input = { file_path: path, content }
    return { tool: "Write", input, output: "ok", told: { type: "create", structuredPatch: [], ...told } }
  }
  const hunks = textDiff(before, content)
  const side = (mark: string): string =>
    hunks
      .flat()
      .filter((line) => line.mark === mark || line.mark === " ")
      .map(({ text }) => text)
      .join("\n")
  const [oldString, newString] = [side("-"), side("+")]
  const structuredPatch = hunks.map((lines) => ({
    newStart: content.slice(0, content.indexOf(newString)).split("\n").length,
    lines: lines.map(({ mark, text }) => mark + text),
  }))
  return {
    tool: "Edit",
    input: { file_path: path, old_string: oldString, new_string: newString },
    output: "ok",
    told: { ...told, oldString, newString, structuredPatch },
  }
}

const ran = (command: string, output: string, isError = false): Step => ({
  tool: "Bash",
  input: { command },
  output,
  isError,
})

/** A session that is compacted, with our hooks as Claude Code calls them. */
async function compacted(machine: Machine, project: string): Promise<void> {
  const folder = join(machine.home, ".claude/projects", project.replaceAll(/[^A-Za-z0-9]/g, "-"))
  const path = join(folder, `${SESSION}.jsonl`)
  const file = join(project, FILE)
  const start = Date.now() - HOUR
  const transcript = new FakeTranscript({ session: SESSION, cwd: project, version: "2.1.112", start })
  transcript
    .turn(
      "Write a token bucket for the login endpoint. Never store an IP address in plain text.",
      [changed(file, null, STATES[0])],
      "I decided on a token bucket instead of a fixed window, because a window lets bursts through at its edge.",
    )
    .turn("Five tries a minute, as a constant.", [changed(file, STATES[0], STATES[1])], "LIMIT is five.")
    .turn(
      "The sixth request passes. Why?",
      [
        ran(
          "npm test -- rate-limit",
          "Exit code 1\nAssertionError: expected 5 requests to pass, got 6",
          true,
        ),
        changed(file, STATES[1], STATES[2]),
        ran("npm test -- rate-limit", "5 passed"),
      ],
      "A bucket with **no token left** still let one request through:\n\n- `allowed` compared with 0,\n- so the sixth request passed.\n\nIt compares with 1 now.",
    )
  mkdirSync(folder, { recursive: true })
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, STATES[2])
  const hook = (name: string, fields: object) =>
    run(["hook", name], {
      env: machine.env,
      cwd: project,
      stdin: JSON.stringify({ session_id: SESSION, transcript_path: path, cwd: project, ...fields }),
    })
  let text = transcript.take()
  writeFileSync(path, text)
  await hook("stop", { hook_event_name: "Stop" })
  await hook("pre-compact", { hook_event_name: "PreCompact", trigger: "auto", custom_instructions: "" })
  transcript.boundary("auto", 152_300).summary(SUMMARY)
  text += transcript.take()
  writeFileSync(path, text)
  await hook("session-start", { hook_event_name: "SessionStart", source: "compact" })
}

interface World {
  readonly machine: Machine
  readonly project: string
  readonly browser: Browser
  /** Of a turn with an edit, an error and an answer. */
  readonly handle: string
}

const pictured = (name: string, command: string, lines: readonly string[], columns: number): void =>
  writeFileSync(join(PICTURES, `${name}.svg`), svgOf([{ command, lines }], columns))

/** @param most lines */
const terminal =
  (command: string, { columns = COLUMNS, most = 40 } = {}) =>
  async ({ machine, project, handle }: World, name: string): Promise<void> => {
    const typed = command.replace("HANDLE", handle)
    const shown = await runAtTerminal(machine, [], {
      cols: columns,
      env: {},
      command: ["sh", "-c", `cd '${project}' && '${exe}' ${typed}`],
    })
    if (shown.code !== 0) throw new Error(`${command}: ${shown.text}`)
    // A progress bar draws over itself, and leaves nothing.
    const text = shown.text.replaceAll("\r\n", "\n").replaceAll(machine.home, "~").trimEnd()
    const lines = text.split("\n").map((line) => line.split("\r").at(-1)!)
    const plain = lines.map((line) => line.replaceAll(/\x1b\]8;[^\x1b\x07]*(?:\x1b\\|\x07)/g, ""))
    pictured(name, `ctxbridge ${typed}`, plain.slice(0, most), columns)
  }

/** @param keys typed one after the other, as tmux names them; others are text */
const screen =
  (columns: number, rows: number, keys: readonly string[], isEmpty = false) =>
  async ({ machine, project }: World, name: string): Promise<void> => {
    const env = { PATH: process.env["PATH"]!, ...machine.env, LC_ALL: "C.UTF-8", TERM: "xterm-256color" }
    const more = isEmpty ? { CTXBRIDGE_HOME: join(machine.root, "nothing") } : {}
    const tmux = (...args: string[]): string => {
      const done = Bun.spawnSync(["tmux", "-u", "-S", join(machine.root, "tmux"), ...args], {
        env: { ...env, ...more },
        cwd: project,
      })
      return done.stdout.toString()
    }
    tmux("-f", "/dev/null", "new-session", "-d", "-x", `${columns}`, "-y", `${rows}`, exe)
    try {
      tmux("set", "-g", "status", "off")
      tmux("resize-window", "-x", `${columns}`, "-y", `${rows}`)
      await Bun.sleep(2000)
      for (const key of keys) {
        tmux("send-keys", ...(/^[A-Z]/.test(key) ? [key] : ["-l", key]))
        await Bun.sleep(1500)
      }
      const lines = tmux("capture-pane", "-ep").trimEnd().replaceAll(machine.home, "~").split("\n")
      pictured(name, "ctxbridge", lines, columns)
    } finally {
      tmux("kill-server")
    }
  }

interface Shot {
  readonly width?: number
  readonly height?: number
  readonly dark?: boolean
  readonly phone?: boolean
  /** JavaScript that the page runs before. */
  readonly script?: string
}

/** @param file of the folder that `open` makes; with a star: the largest that is named so */
const browserShot =
  (file: string, { width = 1280, height = 800, dark = false, phone = false, script }: Shot = {}) =>
  async ({ machine, project, browser }: World, name: string): Promise<void> => {
    const folder = join(machine.root, "pages")
    const made = await run(["open", "-a", "-o", folder, "--force"], { env: machine.env, cwd: project })
    if (made.code !== 0) throw new Error(made.stderr)
    const sizeOf = (one: string): number => statSync(join(folder, one)).size
    const [found] = [...new Bun.Glob(file).scanSync(folder)].toSorted((a, b) => sizeOf(b) - sizeOf(a))
    if (found === undefined) throw new Error(`${file} is not in ${folder}`)
    const page = await browser.page({ width, height, dark, phone })
    await page.open(pathToFileURL(join(folder, found)).href)
    await page.ask(
      `document.body.innerHTML.includes(${JSON.stringify(machine.home)}) && document.querySelectorAll('code').forEach((one) => { one.textContent = one.textContent.replaceAll(${JSON.stringify(machine.home)}, '~') })`,
    )
    if (script !== undefined) await page.ask(script)
    await Bun.sleep(800)
    const whole = join(machine.root, `${name}.png`)
    await Bun.write(whole, await page.picture())
    await page.close()
    const out = join(PICTURES, `${name}.png`)
    Bun.spawnSync(["pngquant", "--force", "--speed", "1", "--output", out, "64", whole])
  }

const typing = (text: string): string =>
  `(() => { const box = document.querySelector('#search'); box.value = ${JSON.stringify(text)}; box.dispatchEvent(new Event('input', { bubbles: true })) })()`

const MAKERS: Readonly<Record<string, (world: World, name: string) => Promise<void>>> = {
  "first-look": screen(80, 8, [], true),
  picker: screen(104, 26, ["rate limit"]),
  "picker-small": screen(40, 10, ["rate limit"]),
  receipts: terminal("receipts"),
  undo: terminal(`undo ${FILE}`),
  why: terminal(`why ${FILE}:9`),
  show: terminal("show HANDLE"),
  search: terminal("search -a 'rate limit'"),
  sessions: terminal("sessions -a"),
  stats: terminal("stats -a"),
  blocks: terminal("stats --blocks"),
  prune: terminal("prune"),
  config: terminal("config list", { most: 24 }),
  "open-sessions": browserShot("index.html"),
  "open-search": browserShot("index.html", { script: typing("rate limit") }),
  "open-session": browserShot(`${SESSION}.html`, { dark: true }),
  "open-file": browserShot("file-*.html", { script: "location.hash = 'L9'" }),
  "open-phone": browserShot("index.html", { width: 360, height: 720, phone: true }),
}

mkdirSync(PICTURES, { recursive: true })
using machine = new Machine()
const project = join(machine.home, "linkbox")
writeSessions(machine.home)
await run(["import", "-q"], { env: machine.env, cwd: machine.cwd })
await compacted(machine, project)
const { stdout } = await run(["search", "--json", "-n", "1", "the sixth request passes, why"], {
  env: machine.env,
  cwd: project,
})
const { handle } = JSON.parse(stdout).hits[0] as { handle: string }
await using browser = await Browser.start()
const wanted = process.argv.slice(2)
for (const [name, make] of Object.entries(MAKERS)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  await make({ machine, project, browser, handle }, name)
  console.log(name)
}
