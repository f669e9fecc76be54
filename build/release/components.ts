/** What is inside a binary besides our own code, from the bundler's reports, the packages and bun.lock. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

export interface Component {
  readonly name: string
  readonly version: string
  /** SPDX expression. */
  readonly licence: string
  /** Of its licence files; empty if the package has none. */
  readonly texts: readonly string[]
  /** `sha512-…` of the package, as in bun.lock. */
  readonly integrity: string | undefined
}

const REPORTS = ["meta.json", "hook/meta.json", "reply/meta.json", "search/meta.json", "mcp/meta.json"]

/** What build/runtime.ts takes out of packages, and what these packages have in them. */
const MADE = [
  "@huggingface/transformers",
  "@huggingface/jinja",
  "@huggingface/tokenizers",
  "onnxruntime-node",
  "onnxruntime-web",
]

/** @param inputs paths of files, as in the bundler's reports */
export function packagesOf(inputs: Iterable<string>): string[] {
  const names = new Set<string>()
  for (const input of inputs) {
    const [, name] = /.*(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input) ?? []
    if (name !== undefined) names.add(name)
  }
  return [...names]
}

/** @param dist where the build has left its reports */
export function componentsOf(root: string, dist: string): Component[] {
  const inputs = REPORTS.flatMap((file) => Object.keys(readJson(join(dist, file)).inputs))
  const names = [...new Set([...packagesOf(inputs), ...MADE, "bun"])].sort()
  const lock = readFileSync(join(root, "bun.lock"), "utf8")
  return names.map((name) => {
    const folder = join(root, "node_modules", name)
    const { version, license } = readJson(join(folder, "package.json"))
    if (typeof license !== "string") throw new Error(`${name} does not say its licence`)
    return {
      name,
      version,
      licence: license,
      texts: licenceTexts(folder),
      integrity: integrityOf(lock, name),
    }
  })
}

const readJson = (file: string) => JSON.parse(readFileSync(file, "utf8"))

function licenceTexts(folder: string): string[] {
  if (!existsSync(folder)) return []
  const names = readdirSync(folder).filter((name) => /^(licen[cs]e|copying|notice|thirdparty)/i.test(name))
  return names.sort().map((name) => readFileSync(join(folder, name), "utf8").trim())
}

export function integrityOf(lock: string, name: string): string | undefined {
  const line = new RegExp(`^ *${RegExp.escape(JSON.stringify(name))}: \\[.*"(sha512-[\\w+/=]+)"\\],?$`, "m")
  return line.exec(lock)?.[1]
}
