/**
 * Makes the pictures of docs/images, after a build, by hand: `bun docs/pictures.ts picker` from made-up sessions, which
 * needs tmux, `bun docs/pictures.ts sessions` from the same, and `bun docs/pictures.ts page` from the session of `ctxbridge
 * demo`, which need chromium, and pngquant to make them small. No two browsers draw the same.
 */
import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { Browser } from "../test/support/browser.ts"
import { Machine } from "../test/support/machine.ts"
import { writeSessions } from "./made-up-sessions.ts"
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

const COLUMNS = 104
const ROWS = 26

/** Archives the sessions on a machine of their own. */
function archived(machine: Machine): void {
  writeSessions(machine.home)
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
