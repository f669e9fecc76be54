/**
 * How much of ordinary files the filter for secrets fills. Nearly all of it is a false alarm; the rest are the made-up
 * secrets of tests and examples.
 *
 *     bun bench/secret-alarms.ts [--show] [--tokens] <folder>…
 *
 * `--show` lists what is filled, `--tokens` considers only what its own form reveals.
 */
import { readFileSync, statSync } from "node:fs"
import { parseArgs } from "node:util"
import { findSecrets } from "../src/secrets/find.ts"
import { seekEach } from "../src/secrets/seek.ts"
import { findTokens } from "../src/secrets/tokens.ts"

const LARGEST = 16 << 20
/** Mean length of a line from which on a program counts as minified. */
const LONG_LINES = 200

type Kind = "source" | "minified" | "documents" | "data" | "source maps"

const EXTENSIONS: readonly (readonly [Kind, RegExp])[] = [
  ["source maps", /\.map$/],
  ["minified", /[.-]min\.(?:js|mjs|cjs|css)$/],
  [
    "source",
    /\.(?:[cm]?[jt]sx?|vue|svelte|css|scss|less|py|pyi|c|h|cc|cpp|hpp|go|rs|java|rb|php|pl|pm|sh|lua|swift|kt)$/,
  ],
  [
    "documents",
    /\.(?:md|mdx|txt|rst|html?|xml|tex|adoc)$|(?:^|\/)(?:README|LICENSE|CHANGELOG|copyright|NEWS|changelog)$/,
  ],
  ["data", /\.(?:json|ya?ml|toml|lock|ini|cfg|conf|csv|svg)$/],
]

interface Total {
  files: number
  bytes: number
  spans: number
  filled: number
}

const { values, positionals } = parseArgs({
  args: process.argv.slice(2),
  allowPositionals: true,
  options: { show: { type: "boolean" }, tokens: { type: "boolean" } },
})

function kindOf(path: string, content: Buffer): Kind | undefined {
  const kind = EXTENSIONS.find(([, pattern]) => pattern.test(path))?.[0]
  if (kind !== "source" || !/\.(?:[cm]?js|css)$/.test(path)) return kind
  const lines = content.toString("latin1").split("\n").length
  return content.length / lines > LONG_LINES ? "minified" : "source"
}

/** What would be filled, without overlaps. */
function spansOf(content: Buffer): { start: number; end: number }[] {
  // Like the text outside transcripts, with a line break before it.
  const bytes = Buffer.concat([Buffer.from("\n"), content])
  const text = bytes.toString("latin1")
  const found: { start: number; end: number }[] = []
  const add = (start: number, end: number): void => void found.push({ start, end })
  if (values.tokens) findTokens(text, seekEach(bytes, text), add)
  else findSecrets(bytes, text, "text", seekEach, add)
  let last = 0
  return found
    .sort((a, b) => a.start - b.start)
    .flatMap(({ start, end }) => {
      const from = Math.max(start, last)
      last = Math.max(last, end)
      return from < end ? [{ start: from - 1, end: end - 1 }] : []
    })
}

const totals = new Map<Kind, Total>()
for (const folder of positionals) {
  for (const path of new Bun.Glob("**/*").scanSync({ cwd: folder, absolute: true, dot: true })) {
    if (statSync(path).size > LARGEST) continue
    const content = readFileSync(path)
    const kind = kindOf(path, content)
    if (kind === undefined || content.subarray(0, 1024).includes(0)) continue
    const total = totals.get(kind) ?? { files: 0, bytes: 0, spans: 0, filled: 0 }
    totals.set(kind, total)
    total.files++
    total.bytes += content.length
    for (const { start, end } of spansOf(content)) {
      total.spans++
      total.filled += end - start
      if (values.show) {
        const before = content.toString("latin1", Math.max(0, start - 30), start)
        const shown = content.toString("latin1", start, Math.min(end, start + 90))
        console.log(JSON.stringify([kind, end - start, before, shown, path.slice(folder.length)]))
      }
    }
  }
}

console.log("kind          files      MB    spans    bytes filled per MB")
for (const [kind, { files, bytes, spans, filled }] of [...totals].sort()) {
  const perMB = (filled / (bytes / 1e6)).toFixed(1)
  console.log(
    `${kind.padEnd(12)} ${String(files).padStart(6)} ${(bytes / 1e6).toFixed(1).padStart(7)} ${String(spans).padStart(8)} ${perMB.padStart(10)}`,
  )
}
