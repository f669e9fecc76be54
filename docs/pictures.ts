/**
 * Makes the pictures of docs/images, after a build, by hand: `bun docs/pictures.ts picker` from made-up sessions, which
 * needs tmux, `bun docs/pictures.ts sessions` from the same, and `bun docs/pictures.ts page` from the session of `ctxbridge
 * demo`, which need chromium, and pngquant to make them small. No two browsers draw the same.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { FakeTranscript, type Step } from "../src/claude/fake/transcript.ts"
import { Browser } from "../test/support/browser.ts"
import { Machine } from "../test/support/machine.ts"
import { svgOf } from "./terminal-svg.ts"

const ROOT = join(import.meta.dir, "..")
const exe = join(ROOT, "dist/ctxbridge")

function ran(command: readonly string[], env: Record<string, string> = {}, cwd = ROOT): Buffer {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], {
    env: { PATH: process.env["PATH"]!, ...env },
    cwd,
  })
  if (exitCode !== 0) throw new Error(`${command.join(" ")}: ${stderr.toString()}`)
  return stdout
}

/** Into docs/images, with few colours. */
function makeSmall(picture: string, name: string): void {
  const options = ["--force", "--speed", "1", "--output", join(ROOT, "docs/images", name), "64"]
  ran(["pngquant", ...options, picture])
}

async function page(): Promise<void> {
  const { folder, session } = JSON.parse(ran([exe, "demo", "--keep", "--json"]).toString())
  try {
    const made = join(folder, "page.html")
    ran([exe, "open", session, "--output", made], { HOME: folder, CTXBRIDGE_HOME: join(folder, "archive") })
    await using browser = await Browser.start()
    const shown = await browser.page({ width: 1280, height: 1250 })
    await shown.open(pathToFileURL(made).href)
    // Instead of a folder with a name of chance.
    await shown.ask("document.querySelector('.about code').textContent = '~/linkbox'")
    await Bun.write(join(folder, "view.png"), await shown.picture())
    makeSmall(join(folder, "view.png"), "view.png")
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const HOUR = 3_600_000
const COLUMNS = 104
const ROWS = 26

const run = (command: string, output: string, isError = false): Step => ({
  tool: "Bash",
  input: { command },
  output,
  isError,
})
const edit = (path: string, before: string, after: string): Step => ({
  tool: "Edit",
  input: { file_path: path, old_string: before, new_string: after },
  output: "ok",
})

/** Project, hours ago, and what was said and done. */
const SESSIONS: readonly (readonly [project: string, ago: number, write: (to: FakeTranscript) => void])[] = [
  [
    "linkbox",
    3,
    (to) =>
      to
        .turn(
          "Add rate limiting to the login endpoint: five tries a minute.",
          [
            edit("src/server.ts", "router.post('/login', login)", "router.post('/login', limited(login))"),
            run(
              "npm test -- rate-limit",
              "Exit code 1\nAssertionError: expected 5 requests to pass, got 6",
              true,
            ),
          ],
          "The limiter is wired in; the sixth request still passes.",
        )
        .turn(
          "Why does the sixth one pass?",
          [edit("src/rate-limit.ts", "bucket.tokens < 0", "bucket.tokens < 1")],
          "A bucket with no token left still let one request through. The rate limit test passes now.",
        ),
  ],
  [
    "linkbox",
    30,
    (to) =>
      to.turn(
        "The short links should expire after 90 days, but never those of paying customers.",
        [run("npx tsc --noEmit", "")],
        "Expiry is a column; a nightly job removes what is past it, at a limited rate.",
      ),
  ],
  [
    "shipping-api",
    52,
    (to) =>
      to.turn(
        "The carrier answers 429 when we ask for too many labels.",
        [
          run("curl -si https://carrier.test/labels", "HTTP/1.1 429 Too Many Requests\nretry-after: 12"),
          edit("lib/carrier.ts", "await fetch(url)", "await withRetry(() => fetch(url))"),
        ],
        "Their rate limit is 40 labels a minute. Requests wait for retry-after now.",
      ),
  ],
  [
    "infra",
    120,
    (to) =>
      to.turn(
        "Put nginx in front and limit each address there as well.",
        [
          edit(
            "nginx.conf",
            "server {",
            "limit_req_zone $binary_remote_addr zone=login:10m rate=5r/m;\nserver {",
          ),
        ],
        "limit_req keeps the rate at five a minute for each address.",
      ),
  ],
]

/** Archives the sessions on a machine of their own. */
function archived(machine: Machine): void {
  for (const [n, [project, ago, write]] of SESSIONS.entries()) {
    const cwd = join(machine.home, project)
    mkdirSync(cwd, { recursive: true })
    const session = `5e55101${n}-0000-4000-8000-000000000001`
    const transcript = new FakeTranscript({
      session,
      cwd,
      version: "2.1.112",
      start: Date.now() - ago * HOUR,
    })
    write(transcript)
    const folder = join(machine.home, ".claude/projects", cwd.replaceAll(/[^A-Za-z0-9]/g, "-"))
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, `${session}.jsonl`), transcript.take())
  }
  ran([exe, "import", "-q"], machine.env)
}

async function sessions(): Promise<void> {
  using machine = new Machine()
  archived(machine)
  const folder = join(machine.root, "pages")
  ran([exe, "open", "-a", "--output", folder], machine.env)
  await using browser = await Browser.start()
  const shown = await browser.page({ width: 1180, height: 700 })
  await shown.open(`${pathToFileURL(join(folder, "index.html")).href}#q=rate+limit`)
  while ((await shown.ask("document.querySelectorAll('.result').length")) === 0) await Bun.sleep(50)
  await Bun.write(join(machine.root, "open.png"), await shown.picture())
  makeSmall(join(machine.root, "open.png"), "open.png")
}

async function picker(): Promise<void> {
  using machine = new Machine()
  archived(machine)
  const env = { ...machine.env, LC_ALL: "C.UTF-8", TERM: "xterm-256color" }
  const tmux = (...args: string[]): string =>
    ran(
      ["tmux", "-u", "-S", join(machine.root, "tmux"), ...args],
      env,
      join(machine.home, "linkbox"),
    ).toString()
  tmux("-f", "/dev/null", "new-session", "-d", "-x", `${COLUMNS}`, "-y", `${ROWS}`, `${exe}`)
  try {
    tmux("set", "-g", "status", "off")
    tmux("resize-window", "-x", `${COLUMNS}`, "-y", `${ROWS}`)
    await Bun.sleep(1500)
    tmux("send-keys", "-l", "rate limit")
    await Bun.sleep(1500)
    const lines = tmux("capture-pane", "-ep").trimEnd().replaceAll(machine.home, "~").split("\n")
    const svg = svgOf([{ command: "ctxbridge", lines }], COLUMNS)
    writeFileSync(join(ROOT, "docs/images/picker.svg"), svg)
    console.log(lines.join("\n"))
  } finally {
    tmux("kill-server")
  }
}

const MAKERS: Readonly<Record<string, () => Promise<void>>> = { picker, page, sessions }
for (const name of process.argv.slice(2)) await MAKERS[name]!()
