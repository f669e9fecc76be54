/**
 * How long a large session takes as a page: `bun bench/open.ts [--sizes 1,10,30] [--rounds N] [--exe PATH]`, sizes in MB of
 * transcript. `open` is measured as a whole process, the page in Chromium from the click on a link until it is drawn and
 * its script has run, and until a search in it has hidden what it does not mean. Needs chromium.
 */
import { mkdirSync } from "node:fs"
import { join, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { parseArgs } from "node:util"
import { markdownTable } from "../src/base/text.ts"
import { writeTranscript } from "../src/cli/bench/corpus.ts"
import { importTranscripts } from "../src/job/import-transcripts.ts"
import { FILTERED } from "../src/secrets/filter.ts"
import { Browser } from "../test/support/browser.ts"
import { tempFolder } from "../test/support/temp.ts"

const { values } = parseArgs({
  options: {
    sizes: { type: "string", default: "1,10,30" },
    rounds: { type: "string", default: "5" },
    exe: { type: "string", default: join(import.meta.dir, "..", "dist", "ctxbridge") },
  },
})
const exe = resolve(values.exe)
const rounds = Number(values.rounds)
const MB = 1e6

interface Opened {
  /** ms until the document is parsed and its script has run. */
  readonly ready: number
  /** ms until something is drawn. */
  readonly drawn: number
  /** ms of CPU that the page's process has used by then. */
  readonly cpu: number
  /** ms from the last letter of a search to the next drawing, without its pause for more letters. */
  readonly searched: number
}

const SEARCH = `new Promise((done) => {
  const search = document.getElementById("search")
  search.value = "error"
  const started = performance.now() + 120
  new MutationObserver(() => requestAnimationFrame(() => done(performance.now() - started)))
    .observe(document.getElementById("found"), { childList: true })
  search.dispatchEvent(new Event("input"))
})`
const TIMES = `new Promise((done) => {
  const look = () => {
    const [drawn] = performance.getEntriesByName("first-contentful-paint")
    const [{ domContentLoadedEventEnd }] = performance.getEntriesByType("navigation")
    if (drawn && domContentLoadedEventEnd > 0) done({ drawn: drawn.startTime, ready: domContentLoadedEventEnd })
    else requestAnimationFrame(look)
  }
  look()
})`

async function open(browser: Browser, address: string): Promise<Opened> {
  const page = await browser.page({ width: 1440, height: 900 })
  await page.open(address)
  const times = await page.ask<{ drawn: number; ready: number }>(TIMES)
  await page.send("Performance.enable")
  const { metrics } = (await page.send("Performance.getMetrics")) as {
    metrics: { name: string; value: number }[]
  }
  const cpu = metrics.find(({ name }) => name === "ProcessTime")!.value * 1000
  const searched = await page.ask<number>(SEARCH)
  await page.close()
  return { ...times, cpu, searched }
}

using folder = tempFolder()
const dataHome = join(folder.path, "archive")
const env = { HOME: folder.path, CTXBRIDGE_HOME: dataHome }
const pages = values.sizes.split(",").map((size, n) => {
  const id = `5e551011-0000-4000-8000-${String(n).padStart(12, "0")}`
  const projects = join(folder.path, ".claude", "projects", "-bench")
  mkdirSync(projects, { recursive: true })
  const path = join(projects, `${id}.jsonl`)
  const made = writeTranscript(path, {
    seed: n + 1,
    bytes: Number(size) * MB,
    sessionId: id,
    cwd: "/bench",
    version: "2.1.229",
  })
  importTranscripts(
    { dataHome, home: folder.path, stateHome: join(dataHome, "state"), secrets: FILTERED, exclude: [] },
    [path],
    { dryRun: false, check: false },
  )
  return { id, made, file: join(folder.path, `${size}.html`) }
})
await using browser = await Browser.start()
const least = (all: readonly number[]): string => Math.min(...all).toFixed(0)
const rows: string[][] = []
for (const { id, made, file } of pages) {
  const exported: number[] = []
  const worked: number[] = []
  const opened: Opened[] = []
  for (let round = 0; round < rounds; round++) {
    const started = performance.now()
    const { exitCode, stderr, resourceUsage } = Bun.spawnSync(
      [exe, "open", id, "--output", file, "--force"],
      { env },
    )
    if (exitCode !== 0) throw new Error(stderr.toString())
    exported.push(performance.now() - started)
    worked.push(Number(resourceUsage.cpuTime.total) / 1000)
    opened.push(await open(browser, pathToFileURL(file).href))
  }
  rows.push([
    (made.bytes / MB).toFixed(1),
    String(made.turns),
    (Bun.file(file).size / MB).toFixed(1),
    least(exported),
    least(worked),
    least(opened.map(({ drawn }) => drawn)),
    least(opened.map(({ ready }) => ready)),
    least(opened.map(({ cpu }) => cpu)),
    least(opened.map(({ searched }) => searched)),
  ])
}
const head = ["MB", "turns", "page, MB", "`open`", "CPU", "drawn", "ready", "CPU", "search"]
console.log(`ms, the least of ${rounds} rounds\n\n${markdownTable(head, rows).join("\n")}`)
