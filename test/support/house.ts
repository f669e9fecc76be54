/** The house in figures: files, lines, and what they export. Run by itself, it prints them. */
import { readFileSync } from "node:fs"
import { basename, dirname, join, normalize } from "node:path"

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
  /** Of these, how many one file of src imports, and how many none: a test does, a bench, or the build. */
  readonly once: number
  readonly never: number
  /** Those that nobody imports at all: `path name`. */
  readonly unused: readonly string[]
}

const EXPORTED =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:const|let|function\*?|class|interface|type|enum) ([\w$]+)/gm
/** `export { a, b as c }` of a file's own names. */
const LISTED = /^export (?:type )?\{([^}]*)\}(?! from)/gm
const IMPORTED = /^(?:import|export)\s+(?:type\s+)?\{([^}]*)\}\s+from\s+"(\.[^"]+)"/gm
const WHOLE = /^import\s+(?:type\s+)?(?:\*|[\w$]+)[^"{]*from\s+"(\.[^"]+)"/gm
const LAZY = /\{([^{}]*)\}\s*=\s*await import\("(\.[^"]+)"\)/g
/** What has a module whole takes names out of it with a dot, itself or whoever it hands the module to. */
const LATE = /\b(?:import|require)\(\s*"(\.[^"]+)"/g

const namesIn = (list: string, side: 0 | 1): string[] =>
  list
    .split(",")
    .map((one) => one.trim().replace(/^type\s+/, ""))
    .filter((one) => one !== "")
    .map((one) => one.split(/\s+as\s+|\s*:\s*/).at(side === 0 ? 0 : -1)!)

/** Folders whose files import some of src, too. */
const BESIDE = ["test", "bench", "build", "docs"]

/** @param root absolute path of the repository */
export function houseIn(root: string): House {
  const paths = ["src", ...BESIDE].flatMap((folder) => [...new Bun.Glob(`${folder}/**/*.ts`).scanSync(root)])
  const texts = new Map(
    paths
      .filter((path) => !path.endsWith(".d.ts"))
      .map((path) => [path, readFileSync(join(root, path), "utf8")]),
  )
  const sources = new Map([...texts].filter(([path]) => path.startsWith("src/")))
  const byName = new Map([...sources.keys()].map((path) => [basename(path, ".ts"), path]))
  /** build/bundles.ts makes a module of a file and all that it imports. */
  const targetOf = (path: string, from: string): string => {
    const target = normalize(join(dirname(path), from))
    return target.startsWith("dist/") ? (byName.get(basename(target, ".js")) ?? target) : target
  }
  const exportedBy = new Map(
    Array.from(sources, ([path, source]) => [
      path,
      [
        ...Array.from(source.matchAll(EXPORTED), ([, name]) => name!),
        ...[...source.matchAll(LISTED)].flatMap(([, list]) => namesIn(list!, 1)),
      ],
    ]),
  )
  const users = new Map(
    [...exportedBy].flatMap(([path, names]) => names.map((name) => [`${path} ${name}`, new Set<string>()])),
  )
  const importers = new Map<string, Set<string>>()
  const wholeBy = new Map<string, Set<string>>()
  const note = (where: Map<string, Set<string>>, target: string, path: string): void => {
    where.set(target, (where.get(target) ?? new Set()).add(path))
  }
  for (const [path, source] of texts) {
    for (const [, list, from] of [...source.matchAll(IMPORTED), ...source.matchAll(LAZY)]) {
      const target = targetOf(path, from!)
      note(importers, target, path)
      for (const name of namesIn(list!, 0)) users.get(`${target} ${name}`)?.add(path)
    }
    for (const [, from] of [...source.matchAll(LATE), ...source.matchAll(WHOLE)])
      note(wholeBy, targetOf(path, from!), path)
  }
  for (const [target, askers] of wholeBy) {
    const all = new Set([...askers, ...[...askers].flatMap((path) => [...(importers.get(path) ?? [])])])
    for (const name of exportedBy.get(target) ?? []) {
      const taken = new RegExp(`\\.${RegExp.escape(name)}\\b`)
      for (const path of all) if (taken.test(texts.get(path)!)) users.get(`${target} ${name}`)!.add(path)
    }
  }
  const lengths = [...sources.values()].map((source) => source.split("\n").length - 1).sort((a, b) => a - b)
  const counts = Array.from(users.values(), (all) => [...all].filter((path) => sources.has(path)).length)
  return {
    files: lengths.length,
    lines: lengths.reduce((sum, n) => sum + n, 0),
    median: lengths[Math.floor(lengths.length / 2)]!,
    longest: lengths.at(-1)!,
    short: lengths.filter((n) => n < 40).length,
    exported: counts.length,
    once: counts.filter((n) => n === 1).length,
    never: counts.filter((n) => n === 0).length,
    unused: [...users].filter(([, all]) => all.size === 0).map(([name]) => name),
  }
}

if (import.meta.main) {
  const house = houseIn(process.argv[2] ?? join(import.meta.dir, "../.."))
  const share = ((100 * house.once) / house.exported).toFixed(1)
  console.log(JSON.stringify({ ...house, onceShare: `${share} %` }, null, 2))
}
