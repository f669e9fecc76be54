/**
 * `bun docs/recording.ts` writes docs/images/tour.svg: commands of the built binary over the session of
 * `ctxbridge demo`, as a terminal shows them. The same binary gives the same picture: what differs each time (ids,
 * handles, ages, folders) is replaced.
 */
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { type Block, svgOf } from "./terminal-svg.ts"

const ROOT = join(import.meta.dir, "..")
export const COLUMNS = 104

export const TOUR = join(ROOT, "docs/images/tour.svg")

const COMMANDS = [
  ["search", "--error", "requests"],
  ["receipts"],
  ["resume", "--dry-run", "token", "bucket"],
] as const

/**
 * A restore names the program and folders by their paths, and tells how long it is: so these are always as long, and
 * nothing in them looks like an identifier.
 */
const ROOT_LENGTH = 60

/** @param built absolute path of a ctxbridge */
export async function recorded(built: string): Promise<Block[]> {
  const name = join(tmpdir(), "ctxbridge-tour-")
  const root = name + String(process.pid).padStart(ROOT_LENGTH - name.length, "0")
  mkdirSync(root, { mode: 0o700 })
  const settings = {
    PATH: process.env["PATH"] ?? "",
    TMPDIR: root,
    HOME: root,
    TERM: "xterm",
    LC_ALL: "C.UTF-8",
  }
  try {
    const binary = join(root, ".local/bin/ctxbridge")
    mkdirSync(dirname(binary), { recursive: true })
    copyFileSync(built, binary)
    const demo = Bun.spawn([binary, "demo", "--keep", "--json"], { env: settings, cwd: root })
    const { folder } = (await new Response(demo.stdout).json()) as { folder: string }
    const env = { ...settings, HOME: folder, CTXBRIDGE_HOME: join(folder, "archive") }
    const project = join(folder, "linkbox")
    const blocks: Block[] = []
    for (const args of COMMANDS) {
      const output = await shown([binary, ...args], project, env)
      blocks.push({ command: ["ctxbridge", ...args].join(" "), lines: steady(output, project) })
    }
    return blocks
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

/** What the terminal gets on stdout; progress goes to stderr. */
async function shown(
  command: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const decoder = new TextDecoder()
  let text = ""
  const child = Bun.spawn(["sh", "-c", 'exec "$@" 2>/dev/null', "sh", ...command], {
    cwd,
    env,
    terminal: {
      cols: COLUMNS,
      rows: 40,
      data: (_terminal, data) => (text += decoder.decode(data, { stream: true })),
    },
  })
  const code = await child.exited
  if (code !== 0) throw new Error(`${command.slice(1).join(" ")}: exit ${code}: ${text}`)
  return text
}

const SESSION = "5e551011-0000-4000-8000-000000000001"
const AGE = /(?<!\d)\d+ (?:min|h) ago|just now/g
const UUID = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g

/** The lines, without what differs from one recording to the next. */
function steady(output: string, project: string): string[] {
  const handles = new Map<string, string>()
  return output
    .replaceAll("\r\n", "\n")
    .trimEnd()
    .replaceAll(project, "~/linkbox")
    .replace(UUID, SESSION)
    .replace(/(?<= of |, session |^\x1b\[1m)[0-9a-f]{8}(?= |\x1b|$)/gm, SESSION.slice(0, 8))
    .replace(/ctx:[0-9a-z]+/g, (handle) => {
      if (!handles.has(handle)) handles.set(handle, `ctx:ab12c${handles.size + 1}`)
      return handles.get(handle)!
    })
    .replace(AGE, "1 h ago")
    .split("\n")
    .flatMap((line) => Bun.wrapAnsi(line, COLUMNS, { hard: true, trim: false }).split("\n"))
}

if (import.meta.main) {
  const svg = svgOf(await recorded(join(ROOT, "dist/ctxbridge")), COLUMNS)
  mkdirSync(dirname(TOUR), { recursive: true })
  writeFileSync(TOUR, svg)
  console.log(`docs/images/tour.svg: ${svg.length} bytes`)
}
