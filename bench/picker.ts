/**
 * How long somebody waits for the picker, through a real terminal: `bun bench/picker.ts [--size 100000] [--rounds N]
 * [--dir DIR] [--exe PATH] [--beside PATH] [--model DIR]`. The archive is that of bench/search.ts, and is kept in DIR.
 * `--beside`: another build that takes turns with this one, and by how much this one is slower.
 *
 * `start`: from before the process is started until its first picture, until the newest turns are shown, and until a
 * search as a command has printed; beside an empty Bun program's whole life. `key`: from a letter that is typed until
 * it is shown, until the results are, and until the preview is; with a folder of the model's two files, also from the
 * preview until what is alike in meaning has joined, a pause included. All take turns in the same rounds. `cpu` is what all
 * threads have computed by then (Linux): on a busy machine only that can be believed.
 */
import { mkdirSync, readdirSync, readFileSync, realpathSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { buildEmpty } from "../src/cli/bench/bench-hooks.ts"
import { embeddedArchive, seededArchive } from "./seeded-archive.ts"
import { common, middling, rare } from "./seeded-words.ts"

const { values } = parseArgs({
  options: {
    size: { type: "string", default: "100000" },
    rounds: { type: "string", default: "20" },
    dir: { type: "string", default: join(tmpdir(), "ctxbridge-search-bench") },
    exe: { type: "string", default: join(import.meta.dir, "..", "dist", "ctxbridge") },
    beside: { type: "string" },
    model: { type: "string" },
  },
})
mkdirSync(values.dir, { recursive: true })
const dir = realpathSync(values.dir)
const exe = resolve(values.exe)
const rounds = Number(values.rounds)
const { model } = values
const size = Number(values.size)
const home = model === undefined ? seededArchive(dir, size) : embeddedArchive(exe, dir, size, resolve(model))
const empty = buildEmpty(exe, dir)

/** Words of which no message has all. */
const OPEN = `${middling(1)} ${middling(2)} ${middling(3)}`
/** Typed letter by letter: a rare word, three words of which many messages have some, a phrase of common ones. */
const QUERIES = [rare(3), OPEN, `"${common(0)} ${common(1)}"`]
/** With it each picture ends. */
const PICTURE_END = "\x1b[?2026l"

/** A program at a terminal of 120×36, and all that it has written. */
class AtTerminal {
  readonly #child: ReturnType<typeof Bun.spawn>
  #text = ""
  #wake = (): void => {}

  constructor(argv: readonly string[]) {
    const decoder = new TextDecoder()
    this.#child = Bun.spawn([...argv], {
      cwd: dir,
      env: { HOME: home, CTXBRIDGE_HOME: join(home, "archive"), TERM: "xterm-256color", LC_ALL: "C.UTF-8" },
      terminal: {
        cols: 120,
        rows: 36,
        data: (_terminal, data) => {
          this.#text += decoder.decode(data, { stream: true })
          this.#wake()
        },
      },
    })
  }

  /** ms that all threads that still live have computed; undefined where the system does not tell. */
  cpu(): number | undefined {
    try {
      const tasks = `/proc/${this.#child.pid}/task`
      const spent = readdirSync(tasks).map((task) =>
        Number(readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(" ")[0]),
      )
      return spent.reduce((sum, ns) => sum + ns, 0) / 1e6
    } catch {
      return undefined
    }
  }

  /** Forgets what was written, and types. */
  type(text: string): void {
    this.#text = ""
    this.#child.terminal!.write(text)
  }

  /** ms of performance.now() at which it has written so. */
  async until(holds: (text: string) => boolean): Promise<number> {
    while (!holds(this.#text)) {
      const { promise, resolve: wake } = Promise.withResolvers<void>()
      this.#wake = wake
      await promise
    }
    return performance.now()
  }

  /** @returns ms that it has computed in all */
  async ended(): Promise<number> {
    await this.#child.exited
    return Number(this.#child.resourceUsage()?.cpuTime.total ?? 0) / 1000
  }

  async end(): Promise<void> {
    this.#child.kill()
    await this.ended()
  }
}

const pictures =
  (n: number) =>
  (text: string): boolean =>
    text.split(PICTURE_END).length > n

const samples = new Map<string, number[]>()
const note = (name: string, ms: number): void => {
  samples.set(name, [...(samples.get(name) ?? []), ms])
}

async function start(name: string, argv: readonly string[], holds: (text: string) => boolean): Promise<void> {
  const began = performance.now()
  const program = new AtTerminal(argv)
  note(name, (await program.until(holds)) - began)
  const cpu = program.cpu()
  if (cpu !== undefined) note(`${name}, cpu`, cpu)
  await program.end()
}

async function keys(program: string, suffix: string): Promise<void> {
  const picker = new AtTerminal([program])
  await picker.until((text) => text.includes("ctx:"))
  for (const query of QUERIES) {
    for (const letter of query) {
      const began = performance.now()
      const before = picker.cpu()
      picker.type(letter)
      // One picture with the letter, one with what was found, one with the turn's preview.
      note(`key: shown${suffix}`, (await picker.until(pictures(1))) - began)
      note(`key: results${suffix}`, (await picker.until(pictures(2))) - began)
      if (before !== undefined) note(`key: results${suffix}, cpu`, picker.cpu()! - before)
      note(`key: preview${suffix}`, (await picker.until(pictures(3))) - began)
    }
    if (model !== undefined && query === OPEN) {
      const began = performance.now()
      note(`pause: meaning${suffix}`, (await picker.until(pictures(4))) - began)
    }
    picker.type("\x15")
    await picker.until(pictures(3))
  }
  await picker.end()
}

const OTHER = ", other build"
const builds: readonly (readonly [program: string, suffix: string])[] = [
  [exe, ""],
  ...(values.beside === undefined ? [] : [[resolve(values.beside), OTHER] as const]),
]
const EMPTY = "start: empty program"
const hasTurn = (text: string): boolean => text.includes("ctx:")
for (let round = 0; round < rounds; round++) {
  const began = performance.now()
  const cpu = await new AtTerminal([empty]).ended()
  note(EMPTY, performance.now() - began)
  note(`${EMPTY}, cpu`, cpu)
  for (const [program, suffix] of builds) {
    await start(`start: first picture${suffix}`, [program], pictures(1))
    await start(`start: newest turns${suffix}`, [program], hasTurn)
    await keys(program, suffix)
  }
  await start("start: a search as a command", [exe, "search", "--all-projects", middling(1)], hasTurn)
}

const at = (of: readonly number[], share: number): number => of[Math.floor(share * (of.length - 1))]!
console.log(`${values.size} messages, ${rounds} rounds`)
for (const [name, ms] of samples) {
  const base = samples.get(name.endsWith("cpu") ? `${EMPTY}, cpu` : EMPTY)!.toSorted((a, b) => a - b)
  const sorted = ms.toSorted((a, b) => a - b)
  const ratio = [0, 0.5].map((share) => (at(sorted, share) / at(base, share)).toFixed(1))
  const [least, median, p95] = [0, 0.5, 0.95].map((share) => at(sorted, share).toFixed(1).padStart(6))
  console.log(
    `${name.padEnd(33)} min ${least}  median ${median}  p95 ${p95} ms  ${ratio[0]} x, median ${ratio[1]} x an empty program`,
  )
}
for (const [name, ms] of samples) {
  const other = samples.get(name.replace(/(?=, cpu$)|(?<!, cpu)$/, OTHER))
  if (other === undefined) continue
  const [mine, theirs] = [ms, other].map((all) => all.toSorted((a, b) => a - b))
  const ratio = [0, 0.5].map((share) => (at(mine!, share) / at(theirs!, share)).toFixed(2))
  console.log(`${name.padEnd(33)} ${ratio[0]} x the other build, median ${ratio[1]} x`)
}
