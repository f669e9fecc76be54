/** The house in figures: files, lines, and what they export. Run by itself, it prints them. */
import { readFileSync } from "node:fs"
import { dirname, join, normalize } from "node:path"

export interface House {
  readonly files: number
  readonly lines: number
  /** Of a file, in lines. */
  readonly median: number
  readonly longest: number
  /** Files of fewer than 40 lines. */
  readonly short: number
  /** Exported names, types included; one that has several overloads counts once. */
  readonly exported: number
  /** Of these, how many one file of src imports, and how many none. */
  readonly once: number
  readonly never: number
}

const EXPORTED =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:const|let|function\*?|class|interface|type|enum) ([\w$]+)/gm
/** `export { a, b as c }` of a file's own names. */
const LISTED = /^export (?:type )?\{([^}]*)\}(?! from)/gm
const IMPORTED = /^(?:import|export)\s+(?:type\s+)?\{([^}]*)\}\s+from\s+"(\.[^"]+)"/gm
const LAZY = /\{([^{}]*)\}\s*=\s*await import\("(\.[^"]+)"\)/g
/** `(await import("./a.ts")).b`, `(require("./a.ts") as A).b` */
const ASKED = /\((?:await import|require)\("(\.[^"]+)"\)[^()]*(?:\("[^"]*"\))?\)\.(\w+)/g

const namesIn = (list: string, side: 0 | 1): string[] =>
  list
    .split(",")
    .map((one) => one.trim().replace(/^type\s+/, ""))
    .filter((one) => one !== "")
    .map((one) => one.split(/\s+as\s+|\s*:\s*/).at(side === 0 ? 0 : -1)!)

/** @param src absolute path of the sources */
export function houseIn(src: string): House {
  const paths = [...new Bun.Glob("**/*.ts").scanSync(src)].filter((path) => !path.endsWith(".d.ts"))
  const sources = new Map(paths.map((path) => [path, readFileSync(join(src, path), "utf8")]))
  const users = new Map<string, Set<string>>()
  for (const [path, source] of sources) {
    for (const [, name] of source.matchAll(EXPORTED)) users.set(`${path} ${name}`, new Set())
    for (const [, list] of source.matchAll(LISTED))
      for (const name of namesIn(list!, 1)) users.set(`${path} ${name}`, new Set())
  }
  for (const [path, source] of sources) {
    for (const [, list, from] of [...source.matchAll(IMPORTED), ...source.matchAll(LAZY)]) {
      const target = normalize(join(dirname(path), from!))
      for (const name of namesIn(list!, 0)) users.get(`${target} ${name}`)?.add(path)
    }
    for (const [, from, name] of source.matchAll(ASKED))
      users.get(`${normalize(join(dirname(path), from!))} ${name}`)?.add(path)
  }
  const lengths = [...sources.values()].map((source) => source.split("\n").length - 1).sort((a, b) => a - b)
  const counts = [...users.values()].map(({ size }) => size)
  return {
    files: lengths.length,
    lines: lengths.reduce((sum, n) => sum + n, 0),
    median: lengths[Math.floor(lengths.length / 2)]!,
    longest: lengths.at(-1)!,
    short: lengths.filter((n) => n < 40).length,
    exported: counts.length,
    once: counts.filter((n) => n === 1).length,
    never: counts.filter((n) => n === 0).length,
  }
}

if (import.meta.main) {
  const house = houseIn(process.argv[2] ?? join(import.meta.dir, "../../src"))
  const share = ((100 * house.once) / house.exported).toFixed(1)
  console.log(JSON.stringify({ ...house, onceShare: `${share} %` }, null, 2))
}
