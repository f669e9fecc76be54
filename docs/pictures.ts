/**
 * Makes the pictures of docs/images from the session of `ctxbridge demo`: `bun docs/pictures.ts`. Needs chromium, and
 * pngquant to make them small. Run by hand, after a build: no two browsers draw the same.
 */
import { rmSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { Browser } from "../test/support/browser.ts"

const ROOT = join(import.meta.dir, "..")
const exe = join(ROOT, "dist/ctxbridge")

function ran(command: readonly string[], env: Record<string, string> = {}): Buffer {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], {
    env: { PATH: process.env["PATH"]!, ...env },
  })
  if (exitCode !== 0) throw new Error(`${command.join(" ")}: ${stderr.toString()}`)
  return stdout
}

const { folder, session } = JSON.parse(ran([exe, "demo", "--keep", "--json"]).toString())
try {
  const page = join(folder, "page.html")
  ran([exe, "view", session, "--output", page], { HOME: folder, CTXBRIDGE_HOME: join(folder, "archive") })
  await using browser = await Browser.start()
  const shown = await browser.page({ width: 1280, height: 1250 })
  await shown.open(pathToFileURL(page).href)
  // Instead of a folder with a name of chance.
  await shown.ask("document.querySelector('.about code').textContent = '~/linkbox'")
  await Bun.write(join(folder, "view.png"), await shown.picture())
  const small = ["pngquant", "--force", "--speed", "1", "--output", join(ROOT, "docs/images/view.png"), "64"]
  ran([...small, join(folder, "view.png")])
} finally {
  rmSync(folder, { recursive: true, force: true })
}
