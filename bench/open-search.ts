/**
 * What searching many sessions in the browser costs: `bun bench/open-search.ts [--sessions N] [--size MB] [--rounds N]
 * [--archive DIR] [--words "a,b c"] [--exe PATH]`. Makes N sessions of a seeded corpus, or takes an archive that is there;
 * measures `open -a` at first, again, and how long the first hit of a search takes in a page that has just been opened and
 * in one that has searched before. Needs chromium.
 */
import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs"
import { join, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { parseArgs } from "node:util"
import { markdownTable } from "../src/base/text.ts"
import { writeTranscript } from "../src/cli/bench/corpus.ts"
import { Browser, type Page } from "../test/support/browser.ts"
import { tempFolder } from "../test/support/temp.ts"

const { values } = parseArgs({
  options: {
    sessions: { type: "string", default: "100" },
    size: { type: "string", default: "1" },
    rounds: { type: "string", default: "5" },
    archive: { type: "string" },
    words: { type: "string", default: "error,test fail,retry timeout,conf" },
    exe: { type: "string", default: join(import.meta.dir, "..", "dist", "ctxbridge") },
  },
})
const exe = resolve(values.exe)
const rounds = Number(values.rounds)
const MB = 1e6

using folder = tempFolder()
const dataHome = values.archive === undefined ? join(folder.path, "archive") : resolve(values.archive)
const env = { HOME: folder.path, CTXBRIDGE_HOME: dataHome, XDG_STATE_HOME: join(folder.path, "state") }

interface Ran {
  readonly wall: number
  readonly cpu: number
  readonly memory: number
}

function ran(...args: string[]): Ran {
  const started = performance.now()
  const { exitCode, resourceUsage, stderr } = Bun.spawnSync([exe, ...args], { env, cwd: folder.path })
  if (exitCode !== 0) throw new Error(`${args.join(" ")}: ${stderr}`)
  return {
    wall: performance.now() - started,
    cpu: Number(resourceUsage!.cpuTime.total) / 1000,
    memory: resourceUsage!.maxRSS / MB,
  }
}

if (values.archive === undefined) {
  const projects = join(folder.path, ".claude", "projects", "-bench")
  mkdirSync(projects, { recursive: true })
  for (let n = 0; n < Number(values.sessions); n++) {
    const sessionId = `5e551011-0000-4000-8000-${String(n).padStart(12, "0")}`
    const path = join(projects, `${sessionId}.jsonl`)
    writeTranscript(path, {
      seed: n + 1,
      bytes: Number(values.size) * MB,
      sessionId,
      cwd: "/bench",
      version: "2.1.229",
    })
  }
  ran("import")
}

/** ms from a letter to the first hit that is drawn, the pause for more letters included. */
const search = (page: Page, words: string): Promise<number> =>
  page.ask(`new Promise((done) => {
    const field = document.getElementById("search")
    document.getElementById("results").replaceChildren()
    field.value = ${JSON.stringify(words)}
    const started = performance.now()
    new MutationObserver((_, watcher) => {
      if (!document.querySelector(".result")) return
      watcher.disconnect()
      requestAnimationFrame(() => done(performance.now() - started))
    }).observe(document.getElementById("results"), { childList: true })
    field.dispatchEvent(new Event("input"))
  })`)

/** MB that the page's JavaScript holds. */
async function heap(page: Page): Promise<number> {
  await page.send("HeapProfiler.enable")
  await page.send("HeapProfiler.collectGarbage")
  return (await page.ask<number>("performance.memory.usedJSHeapSize")) / MB
}

rmSync(join(dataHome, "pages"), { recursive: true, force: true })
const first = ran("open", "-a", "--no-open")
const again = Array.from({ length: rounds }, () => ran("open", "-a", "--no-open")).sort(
  (a, b) => a.cpu - b.cpu,
)[0]!
const sizeOf = (path: string, test: RegExp): number =>
  readdirSync(path)
    .filter((name) => test.test(name))
    .reduce((sum, name) => sum + statSync(join(path, name)).size, 0) / MB
const pages = join(dataHome, "pages")
const made = (one: Ran): string =>
  `${one.wall.toFixed(0)} ms, ${one.cpu.toFixed(0)} ms CPU, ${one.memory.toFixed(0)} MB`
console.log(
  `pages ${sizeOf(pages, /\.html$/).toFixed(1)} MB, texts ${sizeOf(join(pages, "search"), /^d-/).toFixed(1)} MB, words ${sizeOf(join(pages, "search"), /^[ct]-/).toFixed(1)} MB`,
)
console.log(`first: ${made(first)}\nagain: ${made(again)}`)

await using browser = await Browser.start()
const address = pathToFileURL(join(pages, "index.html")).href
const rows: string[][] = []
const least = (all: readonly number[]): string => Math.min(...all).toFixed(0)
const median = (all: readonly number[]): string => all.toSorted((a, b) => a - b)[all.length >> 1]!.toFixed(0)
for (const words of values.words.split(",")) {
  const cold: number[] = []
  const warm: number[] = []
  const held: number[] = []
  let counted = ""
  for (let round = 0; round < rounds; round++) {
    const page = await browser.page({ width: 1280, height: 900 })
    await page.open(address)
    await page.ask("document.getElementById('search').focus()")
    cold.push(await search(page, words))
    warm.push(await search(page, words))
    counted = await page.ask("document.getElementById('counted').textContent")
    held.push(await heap(page))
    await page.close()
  }
  rows.push([
    words,
    counted,
    `${least(cold)} (${median(cold)})`,
    `${least(warm)} (${median(warm)})`,
    median(held),
  ])
}
console.log(markdownTable(["words", "found", "first search, ms", "again, ms", "heap, MB"], rows).join("\n"))
